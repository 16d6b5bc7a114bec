# SPDX-License-Identifier: Apache-2.0
"""The change data feed is read by Spark's own scans: filters and columns reach them, and files are left out."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import pyarrow as pa
import pytest
from tests.support.observing import files_read, jobs, plan_of
from tests.support.tables.built import file_of
from tests.support.tables.feeds import STORY, at_days, changed, gone, rows, story, table

import bayou
from bayou.protocol.types.schema import StructField, StructType


def partitioned(path, **configuration):
    """A table with two partitions and a change file in each, one of them that of NULL."""
    kind = StructType((StructField("id", "long"), StructField("day", "date")))
    builder = table(path, kind, partition_by=["day"], **configuration)
    first = file_of(path, "a.parquet", {"id": [1, 2]}, partitionValues={"day": "2026-01-01"})
    second = file_of(path, "b.parquet", {"id": [3]}, partitionValues={"day": None})
    builder.commit(first, second)
    update = {"id": pa.array([3, 4], pa.int64()), "_change_type": ["update_preimage", "update_postimage"]}
    builder.commit(
        gone(second),
        gone(first),
        changed(path, "u.parquet", update, partitionValues={"day": None}),
        changed(path, "d.parquet", {"id": [1, 2], "_change_type": ["delete"] * 2}, partitionValues={"day": "2026-01-01"}),
    )
    return builder


def test_partition_values_come_from_the_log(spark, table_path):
    partitioned(table_path)
    day = dt.date(2026, 1, 1)
    assert {tuple(row) for row in bayou.read(spark, table_path, changes=(0, None)).drop("_commit_timestamp").collect()} == {
        (1, day, "insert", 1),
        (2, day, "insert", 1),
        (3, None, "insert", 1),
        (3, None, "update_preimage", 2),
        (4, None, "update_postimage", 2),
        (1, day, "delete", 2),
        (2, day, "delete", 2),
    }


@pytest.mark.parametrize(
    ("condition", "files", "count"),
    [
        ("day = '2026-01-01'", 2, 4),
        ("day is null and _commit_version = 2", 1, 2),
        ("_commit_version = 1", 2, 3),
        ("_commit_version > 1 and id > 2", 2, 2),
        ("_change_type = 'insert'", 4, 3),
        ("_change_type = 'delete' and _commit_version < 2", 0, 0),
        ("_commit_timestamp > '2026-01-02 12:00:00'", 2, 4),
        ("year(day) = 2026 or _commit_version = 2", 3, 6),
    ],
)
def test_filters_on_partitions_and_versions_leave_files_out(spark, table_path, condition, files, count):
    at_days(partitioned(table_path))
    frame = bayou.read(spark, table_path, changes=(0, None)).where(condition)
    assert len(frame.collect()) == count
    assert files_read(frame) == files


def test_filters_and_the_columns_in_use_reach_the_scans(spark, table_path):
    story(table_path)
    frame = bayou.read(spark, table_path, changes=(0, None)).where("id > 2").select("id", "_change_type")
    assert sorted(row[0] for row in frame.collect()) == sorted(each[0] for each in STORY if each[0] > 2)
    plan = plan_of(frame)
    assert plan.count("FileScan parquet") == 3
    assert plan.count("GreaterThan(id,2)") == 3
    assert "name:string" not in plan
    assert "Python" not in plan


def test_a_feed_of_added_files_is_one_plain_scan(spark, table_path):
    table(table_path).commit(rows(table_path, "a.parquet", [1, 2])).commit(rows(table_path, "b.parquet", [3]))
    frame = bayou.read(spark, table_path, changes=(0, None))
    assert frame.where("_commit_version = 2").collect()[0][:4] == (3, "n3", "insert", 2)
    plan = plan_of(frame)
    assert plan.count("FileScan parquet") == 1
    assert "Union" not in plan
    assert "row_index" not in plan


def test_aggregates_limits_and_order_see_the_rows_of_the_feed(spark, table_path):
    story(table_path)
    frame = bayou.read(spark, table_path, changes=(0, None))
    assert frame.count() == len(STORY)
    assert frame.where("_commit_version = 2").count() == 2
    assert frame.selectExpr("min(id)", "max(id)", "max(_commit_version)").first() == (0, 11, 5)
    assert len(frame.limit(3).collect()) == 3
    assert frame.orderBy("_commit_version", "id").first()[:4] == (0, "n0", "insert", 1)
    counts = {row[0]: row[1] for row in frame.groupBy("_change_type").count().collect()}
    assert counts == Counter(each[2] for each in STORY)


def test_spark_knows_the_file_of_each_row(spark, table_path):
    story(table_path)
    frame = bayou.read(spark, table_path, changes=(2, 3)).selectExpr("id", "_metadata.file_name", "_commit_version")
    assert sorted(map(tuple, frame.collect())) == [
        (0, "a.parquet", 2),
        (3, "a.parquet", 2),
        (4, "u.parquet", 3),
        (4, "u.parquet", 3),
    ]


def test_no_job_runs_before_the_rows_are_asked_for_and_then_one(spark, table_path):
    story(table_path)
    with jobs(spark) as made:
        frame = bayou.read(spark, table_path, changes=(0, None)).where("id > 1")
        frame.explain()
    with jobs(spark) as run:
        frame.collect()
    assert (made.value, run.value) == (0, 1)
