# SPDX-License-Identifier: Apache-2.0
"""Counts and extremes come from the log where it knows them, and a limit reads only the files that it needs."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.spark.scan.files_of_hundreds import wide_table
from tests.support.observing import files_read, jobs
from tests.support.tables.built import file_of, numbers, numbers_table, without_rows

import bayou
from bayou.testing.table_builder import TableBuilder, remove


@pytest.mark.smoke
def test_counts_and_extremes_come_from_the_log_without_a_job(spark, table_path):
    wide_table(table_path)
    frame = bayou.read(spark, table_path)
    with jobs(spark) as ran:
        assert frame.count() == 400
        assert frame.agg(F.count(F.lit(1)), F.min("id"), F.max("id")).first() == (400, 0, 399)
        assert spark.sql(f"select count(1) from delta.`{table_path}@v2`").first() == (200,)
    assert ran.value == 0


def test_an_aggregate_of_which_nothing_is_used_is_one_row(spark, table_path):
    wide_table(table_path)
    table = f"delta.`{table_path}`"
    assert spark.sql(f"select count(1) from (select max(id) m from {table})").first() == (1,)
    assert spark.sql(f"select 7 from (select count(*), min(id) from {table})").collect() == [(7,)]


QUERIES = {
    "count(*)": 1,
    "count(id)": 1,
    "min(id)": 1,
    "max(id + 1)": 1,
    "count(distinct id)": 1,
    "sum(id)": 1,
    "count(*) filter (where id > 2)": 1,
    "min(name)": 1,
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("state", ["plain", "vectors", "no statistics", "nulls", "wide"])
def test_an_aggregate_is_right_whether_or_not_the_log_answers_it(spark, table_path, query, state):
    builder = TableBuilder(table_path).create({"id": "long", "name": "string"})
    rows = {"id": [5, 1, 9], "name": ["b", "a", "c"]}
    stats = {
        "numRecords": 3,
        "minValues": {"id": 1, "name": "a"},
        "maxValues": {"id": 9, "name": "c"},
        "nullCount": {"id": 0, "name": 0},
    }
    fields = {"stats": stats}
    if state == "vectors":
        fields |= without_rows([1, 2])
    if state == "wide":
        fields = {"stats": {**stats, "tightBounds": False}, **without_rows([1, 2])}
    if state == "no statistics":
        fields = {"stats": None}
    if state == "nulls":
        rows = {"id": pa.array([None, None], pa.int64()), "name": pa.array([None, None], pa.string())}
        fields = {"stats": {"numRecords": 2, "nullCount": {"id": 2, "name": 2}}}
    builder.commit(file_of(table_path, "a.parquet", rows, **fields))
    live = [(5, "b"), (1, "a"), (9, "c")]
    live = {"vectors": live[:1], "wide": live[:1], "nulls": [(None, None)] * 2}.get(state, live)
    expected = spark.createDataFrame(live, "id long, name string").selectExpr(query).first()
    assert bayou.read(spark, table_path).selectExpr(query).first() == expected


def test_an_aggregate_over_a_filter_or_a_limit_is_not_the_tables(spark, table_path):
    wide_table(table_path)
    frame = bayou.read(spark, table_path)
    assert frame.where("id < 7").count() == 7
    assert frame.limit(7).count() == 7
    assert frame.sample(fraction=0.0).count() == 0
    assert frame.select(F.explode(F.array(F.lit(1), F.lit(2)))).count() == 800
    assert frame.selectExpr("id % 2 as id").agg(F.max("id")).first() == (1,)
    assert frame.groupBy("name").count().count() == 400


@pytest.mark.smoke
def test_a_limit_reads_only_the_files_that_it_needs(spark, table_path):
    wide_table(table_path)
    frame = bayou.read(spark, table_path)
    for limited, wanted, files in ((frame.limit(5), 5, 1), (frame.limit(150).select("name"), 150, 2), (frame.limit(1000), 400, 4)):
        assert len(limited.collect()) == wanted
        assert files_read(limited) == files
    assert len(frame.head(3)) == 3
    filtered = frame.where("id >= 250").limit(60)
    assert len(filtered.collect()) == 60


def test_a_limit_counts_rows_that_vectors_leave(spark, table_path):
    builder = numbers_table(table_path, [1, 2, 3], [4, 5, 6])
    builder.commit(remove("0.parquet"), numbers(table_path, "0.parquet", [1, 2, 3], **without_rows([0, 1])))
    assert len(bayou.read(spark, table_path).limit(3).collect()) == 3
    assert len(bayou.read(spark, table_path).limit(4).collect()) == 4
