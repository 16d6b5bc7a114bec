# SPDX-License-Identifier: Apache-2.0
"""`bayou.enable` on sessions of Spark Connect."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

import bayou
from bayou.errors import SessionError
from bayou.spark.portable import own_delta
from bayou.spark.portable.requests.installation import requests_of


@pytest.fixture
def other(server):
    from pyspark.sql import SparkSession

    made = SparkSession.builder.remote(server.url).create()
    yield made
    made.stop()


def test_a_stock_server_gets_the_data_source_once(other):
    assert bayou.enable(other) is other
    first = requests_of(other)
    bayou.enable(other)
    assert requests_of(other) == first


def test_a_server_with_a_delta_of_its_own_keeps_it(other, monkeypatch, caplog):
    monkeypatch.setattr(own_delta, "_knows_delta", lambda _: True)
    bayou.enable(other)
    assert requests_of(other) is None
    assert "a data source delta of its own" in caplog.text


def test_bayou_reads_and_writes_beside_a_delta_of_the_server(other, monkeypatch, tmp_path):
    monkeypatch.setattr(own_delta, "_knows_delta", lambda _: True)
    bayou.enable(other)
    path = str(tmp_path / "table")
    bayou.write(other.range(3), path)
    assert sorted(row.id for row in bayou.read(other, path).collect()) == [0, 1, 2]
    bayou.DeltaTable.forPath(other, path).delete("id = 1")
    assert sorted(row.id for row in bayou.read(other, path).collect()) == [0, 2]


def test_a_server_that_reads_files_otherwise_is_named(other, monkeypatch, tmp_path):
    monkeypatch.setattr(own_delta, "_knows_delta", lambda _: True)
    monkeypatch.setattr(own_delta, "_NEEDED", ("_no_metadata.row_index",))
    bayou.enable(other)
    path = str(tmp_path / "table")
    bayou.write(other.range(3), path)
    with pytest.raises(SessionError, match="a data source delta of its own, and does not read"):
        bayou.read(other, path).collect()
    with pytest.raises(SessionError):
        bayou.DeltaTable.forPath(other, path).delete("id = 1")
    assert len(bayou.open(path).history()) == 1


def test_a_failed_question_is_asked_again(other, monkeypatch):
    def unavailable(*_):
        raise PySparkException("the server is starting")

    with monkeypatch.context() as patch:
        patch.setattr(type(other.read), "load", unavailable)
        with pytest.raises(PySparkException, match="starting"):
            bayou.enable(other)
    assert requests_of(bayou.enable(other)) is not None


def test_a_commit_of_another_session_renews_cached_frames(spark, other, table_path):
    bayou.write(spark.range(3), table_path)
    cached = bayou.enable(spark).read.format("delta").load(table_path).cache()
    assert cached.count() == 3
    bayou.write(other.range(3, 5), table_path, mode="append")
    assert cached.count() == 5
    cached.unpersist()
