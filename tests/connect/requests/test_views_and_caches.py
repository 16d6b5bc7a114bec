# SPDX-License-Identifier: Apache-2.0
"""Temporary views and cached DataFrames over tables, and what the server keeps of requests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _clean(spark):
    yield
    for name in ("v", "w", "plain"):
        spark.catalog.dropTempView(name)
    spark.catalog.dropGlobalTempView("g")
    spark.catalog.clearCache()


@pytest.fixture
def table(spark, path):
    return spark.read.format("delta").load(path)


def test_a_view_follows_its_table(spark, table, append):
    table.where("id > 0").createOrReplaceTempView("v")
    table.createOrReplaceGlobalTempView("g")
    counts = spark.table("v"), spark.sql("SELECT * FROM v x WHERE x.id > 0"), spark.table("global_temp.g")
    assert [frame.count() for frame in counts] == [2, 2, 3]
    append(3)
    assert [frame.count() for frame in counts] == [3, 3, 4]


def test_a_view_follows_without_reattachable_execution(spark, table, append):
    spark.client.disable_reattachable_execute()
    try:
        table.createOrReplaceTempView("v")
        append(3)
        assert spark.table("v").count() == 4
    finally:
        spark.client.enable_reattachable_execute()


def test_a_view_of_a_query_and_a_view_of_a_view_follow(spark, path, append):
    spark.sql(f"SELECT * FROM delta.`{path}`").createOrReplaceTempView("v")
    spark.table("v").where("v.id > 0").createOrReplaceTempView("w")
    assert spark.table("w").count() == 2
    append(3)
    assert spark.table("w").count() == 3


def test_views_of_the_same_name_in_different_places_are_different(spark, table, append):
    table.createOrReplaceTempView("v")
    spark.range(10, 15).createOrReplaceGlobalTempView("v")
    append(3)
    try:
        spark.table("v").createOrReplaceTempView("w")
        assert (spark.table("v").count(), spark.table("w").count()) == (4, 4)
        spark.table("global_temp.v").createOrReplaceTempView("w")
        assert spark.table("w").count() == 5
    finally:
        spark.catalog.dropGlobalTempView("v")
    append(4)
    assert spark.table("v").count() == 5


def test_a_view_of_the_catalog_does_not_become_a_temporary_one(spark, table):
    spark.sql("CREATE OR REPLACE VIEW default.v AS SELECT 7L AS id")
    try:
        table.createOrReplaceTempView("v")
        spark.table("default.v").createOrReplaceTempView("w")
        assert spark.table("w").collect() == [(7,)]
    finally:
        spark.sql("DROP VIEW default.v")


def test_a_view_stays_and_follows_under_a_view_that_sql_creates(spark, table, append):
    table.createOrReplaceTempView("v")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW w AS SELECT count(*) AS n FROM v")
    append(3)
    assert spark.table("w").collect() == [(4,)]
    assert spark.table("v").count() == 4


def test_a_view_follows_in_the_subquery_of_an_expression(spark, table, append):
    table.createOrReplaceTempView("v")
    append(3)
    assert spark.range(9).where("id IN (SELECT id FROM v)").count() == 4
    append(4)
    assert spark.range(1).selectExpr("(SELECT count(*) FROM v) AS n").collect() == [(5,)]


def test_a_view_over_itself_keeps_its_meaning(spark, table, append):
    table.createOrReplaceTempView("v")
    spark.table("v").where("id > 0").createOrReplaceTempView("v")
    spark.table("v").where("id > 1").createOrReplaceTempView("v")
    append(3)
    assert spark.table("v").count() == 2
    spark.sql("SELECT * FROM v WHERE id > 2").createOrReplaceTempView("v")
    append(4)
    assert spark.sql("SELECT * FROM v").count() in (1, 2)


def test_a_view_that_was_dropped_or_replaced_does_not_come_back(spark, table, append):
    table.createOrReplaceTempView("v")
    spark.range(1).createOrReplaceTempView("v")
    append(3)
    assert spark.table("v").count() == 1
    table.createOrReplaceTempView("v")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1")
    append(4)
    assert spark.table("v").count() == 1
    table.createOrReplaceTempView("v")
    spark.catalog.dropTempView("v")
    append(5)
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table("v").collect()
    table.createOrReplaceTempView("v")
    spark.sql("DROP VIEW v")
    append(6)
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM v").collect()


def test_a_view_that_the_server_refuses_changes_nothing(spark, table, append):
    table.createOrReplaceTempView("v")
    with pytest.raises(Exception, match="ALREADY_EXISTS"):
        table.where("id > 0").createTempView("v")
    append(3)
    assert spark.table("v").count() == 4


def test_a_cached_frame_keeps_its_rows_until_it_is_dropped(spark, table, append):
    table.cache()
    assert table.count() == 3
    assert table.storageLevel.useMemory
    append(3)
    assert table.count() == 3
    assert table.storageLevel.useMemory
    assert "InMemoryTableScan" in table._explain_string()
    table.unpersist()
    assert table.count() == 4
    assert not table.storageLevel.useMemory


@pytest.mark.parametrize("clear", ["catalog", "statement"])
def test_a_frame_follows_again_after_the_cache_was_cleared(spark, table, append, clear):
    table.cache()
    if clear == "catalog":
        spark.catalog.clearCache()
    else:
        spark.sql("CLEAR CACHE")
    append(3)
    assert table.count() == 4


def test_cached_frames_are_renewed_after_a_commit(spark, path, table, append):
    from bayou.spark.portable.requests.installation import requests_of

    text = spark.sql(f"SELECT * FROM delta.`{path}`")
    table.persist()
    text.cache()
    assert (table.count(), text.count()) == (3, 3)
    append(3)
    requests_of(spark).renew_cached()
    assert (table.count(), text.count()) == (4, 4)
    assert table.storageLevel.useMemory
    assert "InMemoryTableScan" in table._explain_string()
    assert "InMemoryTableScan" in text._explain_string()
    table.unpersist()
    text.unpersist()
    assert not table.storageLevel.useMemory


def test_more_versions_than_the_server_keeps_plans_of(spark, path, table, append):
    # The server keeps 16 analysed plans of a session.
    text = spark.sql(f"SELECT * FROM delta.`{path}`")
    for number in range(3, 7):
        append(number)
        for frame in (table, text, spark.sql(f"SELECT * FROM delta.`{path}`")):
            assert frame.columns == ["id", "price"]
            assert frame.count() == number + 1
            assert frame.count() == number + 1


def test_the_same_request_is_the_same_to_the_byte(spark, path, table, append):
    stub = spark.client._stub
    seen = []

    class Recorder:
        def __getattr__(self, name):
            def call(request, **options):
                if name == "ExecutePlan":
                    seen.append(request.plan.SerializeToString(deterministic=True))
                return getattr(inner, name)(request, **options)

            return call

    text = spark.sql(f"SELECT * FROM delta.`{path}`")
    inner, stub.inner = stub.inner, Recorder()
    try:
        for frame in (table, text):
            seen.clear()
            frame.toArrow()
            frame.toArrow()
            append(frame.count())
            seen[2:] = []
            frame.toArrow()
            assert seen[0] == seen[1] != seen[2]
    finally:
        stub.inner = inner


def test_a_query_does_not_drop_cached_rows_of_its_table(spark, path, table):
    text = spark.sql(f"SELECT * FROM delta.`{path}`")
    table.cache()
    text.cache()
    for number in range(20):
        spark.sql(f"SELECT * FROM delta.`{path}`").where(f"id > {number}").collect()
    assert table.storageLevel.useMemory
    assert text.storageLevel.useMemory
    assert "InMemoryTableScan" in text._explain_string()
    assert "InMemoryTableScan" in spark.sql(f"SELECT id FROM delta.`{path}`")._explain_string()
    text.unpersist()
    table.unpersist()
    assert not text.storageLevel.useMemory
    assert not table.storageLevel.useMemory


def test_threads_may_run_a_cached_query_beside_others(spark, path, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    other = str(tmp_path / "other")
    spark.range(50).selectExpr("id", "id AS price").write.format("delta").save(other)
    cached = spark.sql(f"SELECT * FROM delta.`{path}`")
    cached.cache()

    def counts(_):
        return cached.count(), spark.sql(f"SELECT * FROM delta.`{other}`").count()

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(counts, range(24))) == {(3, 50)}
    assert cached.storageLevel.useMemory


def test_the_server_analyses_a_repeated_request_once(spark, path, table):
    import shutil
    from pathlib import Path

    text = spark.sql(f"SELECT * FROM delta.`{path}`")
    assert table.columns == text.columns
    files = list(Path(path, "0").glob("*.parquet"))
    shutil.copy(files[0], files[0].with_name("part-more.parquet"))
    # An analysis lists the files. A new one would find one more.
    assert len(table.inputFiles()) == len(text.inputFiles()) == len(files)
    assert len(spark.read.format("delta").load(path).inputFiles()) == len(files) + 1
