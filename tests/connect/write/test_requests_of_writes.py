# SPDX-License-Identifier: Apache-2.0
"""The requests that a write sends to the server: how many for the session's settings, and nothing secret."""

from __future__ import annotations

import pytest

import bayou
from bayou.spark.portable.client import effective_settings
from bayou.spark.portable.settings.pins import pinned


@pytest.fixture
def sent(spark):
    """The names of the service's methods that reach the server, with their requests."""
    stub, seen = spark.client._stub, []
    inner = stub.inner

    class Recorder:
        def __getattr__(self, name):
            def call(request, **options):
                # A stream of requests can be read only once; the server gets it.
                seen.append((name, request.SerializeToString() if hasattr(request, "SerializeToString") else b""))
                return getattr(inner, name)(request, **options)

            return call

    stub.inner = Recorder()
    yield seen
    stub.inner = inner


@pytest.mark.parametrize("write", ["bayou.write", "df.write"])
def test_storage_options_stay_in_the_client(spark, tmp_path, sent, write):
    path, options = str(tmp_path / "table"), {"fs.s3a.secret.key": "HIDDEN"}
    if write == "bayou.write":
        bayou.write(spark.range(3), path, **options)
        assert bayou.read(spark, path, **options).count() == 3
    else:
        spark.range(3).write.format("delta").options(**options).save(path)
        assert spark.read.format("delta").options(**options).load(path).count() == 3
    assert {"ExecutePlan", "AnalyzePlan"} <= {name for name, _ in sent}
    assert not [name for name, request in sent if b"HIDDEN" in request]


def test_settings_that_have_their_value_cost_one_request(spark, sent):
    names = {"spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "FALSE", "spark.sql.nobody.has.this": "1"}
    with pinned(spark, names):
        pass
    # The client releases the responses of earlier requests in threads.
    assert [name for name, _ in sent if name != "ReleaseExecute"] == ["Config"]


def test_a_pinned_setting_is_as_before_after_the_last_block(spark):
    name = "spark.sql.caseSensitive"
    with pinned(spark, {name: "true"}):
        with pinned(spark, {name: "true"}):
            assert effective_settings(spark, [name]) == {name: "true"}
        assert effective_settings(spark, [name]) == {name: "true"}
    assert effective_settings(spark, [name]) == {name: "false"}
    assert name not in spark.conf.getAll


def test_a_cached_frame_has_the_rows_of_the_sessions_own_commits(spark, tmp_path):
    path = str(tmp_path / "table")
    bayou.write(spark.range(3), path)
    frame = spark.read.format("delta").load(path).cache()
    assert frame.count() == 3
    bayou.write(spark.range(3, 5), path, mode="append")
    assert frame.count() == 5
    assert frame.storageLevel.useMemory
    frame.unpersist()
    assert frame.count() == 5
