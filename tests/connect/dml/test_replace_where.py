# SPDX-License-Identifier: Apache-2.0
"""Overwrites with `replaceWhere` on a Connect session, read back by delta-rs."""

from __future__ import annotations

import pytest
from tests.connect.dml.conftest import FEED, VECTORS, WAYS, all_rows

import bayou
from bayou.errors import ConstraintViolationError, InvalidOptionError, SchemaMismatchError, UnsupportedFeatureError


def new_rows(spark, *ids):
    return spark.createDataFrame([(each, "a" if each < 10 else "b", "new") for each in ids], "id long, part string, v string")


def replace_rows(frame, path, condition):
    frame.write.format("delta").mode("overwrite").option("replaceWhere", condition).save(path)


@WAYS
def test_rows_that_match_are_replaced(spark, make, rows, table_path, ways):
    make(ways)
    replace_rows(new_rows(spark, 3, 103), table_path, "id in (3, 4) or id > 100")
    assert rows() == sorted([*all_rows(3, 4), (3, "a", "new"), (103, "b", "new")])


def test_whole_partitions_are_replaced(spark, make, rows, table_path):
    make()
    replace_rows(new_rows(spark, 10), table_path, "part = 'b'")
    assert rows() == sorted([*all_rows(*range(10, 20)), (10, "b", "new")])


@WAYS
def test_the_feed_has_deleted_and_inserted_rows(spark, make, rows, changes, table_path, ways):
    make(ways | FEED)
    replace_rows(new_rows(spark, 3), table_path, "id in (3, 4)")
    assert rows() == sorted([*all_rows(3, 4), (3, "a", "new")])
    feed = changes(bayou.DeltaTable.forPath(spark, table_path).history(1).collect()[0]["version"])
    assert feed == [(3, "new", "insert"), (3, "v3", "delete"), (4, "v4", "delete")]


def test_insert_replace_where(spark, make, rows, table_path):
    make(VECTORS)
    spark.sql(f"INSERT INTO delta.`{table_path}` REPLACE WHERE id >= 18 SELECT 30L, 'b', 'new'").collect()
    assert rows() == [*all_rows(18, 19), (30, "b", "new")]


def test_the_history_has_the_condition(spark, make, table_path):
    make()
    replace_rows(new_rows(spark, 3), table_path, "id = 3")
    last = bayou.DeltaTable.forPath(spark, table_path).history(1).collect()[0]
    assert (last["operation"], last["operationParameters"]["predicate"]) == ("WRITE", "id = 3")
    metrics = last["operationMetrics"]
    assert (metrics["numDeletedRows"], metrics["numCopiedRows"], metrics["numOutputRows"]) == ("1", "4", "5")


def test_new_rows_must_match(spark, make, rows, table_path):
    make()
    with pytest.raises(ConstraintViolationError):
        replace_rows(new_rows(spark, 5), table_path, "id = 3")
    assert rows() == all_rows()


@pytest.mark.parametrize(
    ("condition", "error"),
    [
        ("id = ", InvalidOptionError),
        ("id", SchemaMismatchError),
        ("id in (select 1)", UnsupportedFeatureError),
        ("x = 1", SchemaMismatchError),
    ],
)
def test_invalid_conditions(spark, make, rows, table_path, condition, error):
    make()
    with pytest.raises(error):
        replace_rows(new_rows(spark, 3), table_path, condition)
    assert rows() == all_rows()
