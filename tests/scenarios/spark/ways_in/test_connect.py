# SPDX-License-Identifier: Apache-2.0
"""A Spark Connect session has no JVM in this process: each function that needs one says so, and the others work."""

from __future__ import annotations

import warnings

import pytest
from tests.support.tables.built import numbers_table

import bayou
from bayou.errors import DeltaError, SessionError


class StandIn:
    """What bayou recognises a Connect session by, for when its dependencies are not installed: the module of its class."""

    __module__ = "pyspark.sql.connect.session"

    def range(self, *_):
        return self

    @property
    def sparkSession(self):  # noqa: N802  (PySpark's name)
        return self


def real_session():
    """A session of Spark Connect that talks to no server."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from pyspark.sql.connect.session import SparkSession
        except (ImportError, SystemExit) as error:  # PySpark 4.3 exits where it takes the main module for its own tests
            why = str(error).splitlines()[0] if isinstance(error, ImportError) else "PySpark exits"
            pytest.skip(f"Spark Connect's dependencies are not installed: {why}")
        return SparkSession("sc://localhost:1")


@pytest.fixture(params=["stand-in", "real"])
def connect(request):
    if request.param == "stand-in":
        yield StandIn()
        return
    session = real_session()
    yield session
    session.client.close()


CALLS = {
    "enable": lambda session, _: bayou.enable(session),
    "read": bayou.read,
    "write": lambda session, path: bayou.write(session.range(3), path, mode="append"),
    "DeltaTable.forPath": bayou.DeltaTable.forPath,
}


@pytest.mark.smoke
@pytest.mark.parametrize("call", CALLS)
def test_what_needs_a_jvm_says_that_a_connect_session_has_none(connect, table_path, call):
    numbers_table(table_path, [1, 2])
    with pytest.raises(SessionError, match="Spark Connect") as caught:
        CALLS[call](connect, table_path)
    assert isinstance(caught.value, DeltaError)
    assert "classic session" in caught.value.next_step
    assert "classic session" in str(caught.value)
    assert bayou.open(table_path).version() == 1


@pytest.mark.smoke
def test_what_needs_no_jvm_works_on_a_connect_session(connect, table_path, tmp_path):
    numbers_table(table_path, [1, 2])
    assert bayou.DeltaTable.isDeltaTable(connect, table_path)
    assert not bayou.DeltaTable.isDeltaTable(connect, str(tmp_path / "nothing"))
