# SPDX-License-Identifier: Apache-2.0
"""A client of Spark Connect that lacks what bayou needs, such as that of PySpark 3.5, is refused at once."""

from __future__ import annotations

import pytest

pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio")

import bayou
from bayou.errors import SessionError
from bayou.spark.portable import backend
from bayou.spark.portable.needs import check_client


@pytest.fixture
def session():
    """A session of Spark Connect that sends nothing."""
    from pyspark.sql.connect.session import SparkSession

    made = object.__new__(SparkSession)
    made._client = type("Client", (), {})()
    return made


@pytest.fixture
def old_client(monkeypatch):
    from pyspark.sql.connect import column, dataframe

    for kind, method in ((column.Column, "try_cast"), (dataframe.DataFrame, "localCheckpoint")):
        for each in kind.__mro__:
            if method in vars(each):
                monkeypatch.delattr(each, method)


def test_the_installed_client_has_all():
    check_client()


@pytest.mark.usefixtures("old_client")
def test_enable_names_what_an_old_client_lacks(session):
    with pytest.raises(SessionError, match=r"has no Column\.try_cast, DataFrame\.localCheckpoint\.") as caught:
        bayou.enable(session)
    assert "pip install 'bayou[connect]'" in str(caught.value)


@pytest.mark.usefixtures("old_client")
def test_an_old_client_is_refused_without_enable(session):
    with pytest.raises(SessionError, match="is too old for bayou"):
        backend.backend_of(session)
