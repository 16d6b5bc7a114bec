# SPDX-License-Identifier: Apache-2.0
"""The server that the tests of this folder use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from tests.support.connect_server import ConnectServer


def test_a_session_on_the_server_runs_queries(spark: SparkSession, server: ConnectServer) -> None:
    assert spark.range(3).count() == 3
    assert type(spark).__module__ == "pyspark.sql.connect.session"
    assert server.log.is_file()


def test_the_server_has_no_setting_of_an_extension(spark: SparkSession) -> None:
    assert not spark.conf.get("spark.sql.extensions", "")
    assert not spark.conf.get("spark.connect.extensions.relation.classes", "")
