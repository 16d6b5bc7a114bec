# SPDX-License-Identifier: Apache-2.0
"""A client or a server of Spark Connect that lacks what bayou needs, such as those of Spark 3.5, is refused at once."""

from __future__ import annotations

import pytest

pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio")

from pyspark.errors import PySparkException

import bayou
from bayou.errors import SessionError
from bayou.spark.portable import backend
from bayou.spark.portable.needs import check_client, check_server


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


class Server:
    """A session, and what its server says of a query that holds relations."""

    version = "3.5.7"

    def __init__(self, error: str | None) -> None:
        self._error = error

    @property
    def schema(self) -> None:
        if self._error is not None:
            raise PySparkException(self._error)


@pytest.fixture
def server_that_says(monkeypatch):
    def made(error):
        monkeypatch.setattr("bayou.spark.portable.requests.frames.frame_of", lambda spark, _: spark)
        return Server(error)

    return made


def test_an_old_server_is_refused(server_that_says):
    server = server_that_says("(java.lang.IndexOutOfBoundsException) Expected Relation to be set, but is empty.")
    with pytest.raises(SessionError, match=r"server of Spark 3\.5\.7 is too old for bayou.*Next: Use a server of Spark 4\.0"):
        check_server(server)


@pytest.mark.parametrize("error", [None, "[UNSUPPORTED_FEATURE] SQL"])
def test_another_server_is_not_refused(server_that_says, error):
    check_server(server_that_says(error))
