# SPDX-License-Identifier: Apache-2.0
"""Rows are changed through a view only where the view is the table, and never through its change feed."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, PySparkException

import bayou

COMPUTED = {
    "another value": "SELECT id + 1 AS id, v FROM {}",
    "exchanged": "SELECT v AS id, id AS v FROM {}",
    "another text": "SELECT id, upper(v) AS v FROM {}",
    "a constant": "SELECT 3 AS id, v FROM {}",
    "some rows": "SELECT * FROM {} WHERE id > 1",
}
ON_VIEWS = (
    "DELETE FROM {} WHERE id = 3",
    "UPDATE {} SET v = 'x' WHERE id = 3",
    "MERGE INTO {} t USING (SELECT 3 i) s ON t.id = s.i WHEN MATCHED THEN DELETE",
)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("statement", ON_VIEWS, ids=["delete", "update", "merge"])
@pytest.mark.parametrize("view", COMPUTED)
@pytest.mark.parametrize("is_cached", [False, True], ids=["", "cached"])
def test_a_view_whose_columns_are_not_the_tables_is_refused_though_they_are_called_so(
    spark, table_path, statement, view, is_cached
):
    """What the condition says of the view's columns would be asked of the table's."""
    bayou.write(spark.sql("select * from values ('1', 'a'), ('2', 'b'), ('3', 'c') t(id, v)"), table_path)
    spark.sql(f"CREATE OR REPLACE TEMP VIEW computed AS {COMPUTED[view].format(f'delta.`{table_path}`')}")
    if is_cached:
        spark.catalog.cacheTable("computed")
    try:
        with pytest.raises(PySparkException):
            spark.sql(statement.format("computed"))
    finally:
        spark.sql("UNCACHE TABLE IF EXISTS computed")
        spark.catalog.dropTempView("computed")
    assert sorted(tuple(row) for row in bayou.read(spark, table_path).collect()) == [("1", "a"), ("2", "b"), ("3", "c")]


def test_a_view_that_leaves_each_column_as_it_is_is_its_table(spark, table_path):
    bayou.write(spark.sql("select * from values (1, 'a'), (2, 'b') t(id, v)"), table_path)
    spark.sql(f"CREATE OR REPLACE TEMP VIEW plain AS SELECT id AS id, v FROM delta.`{table_path}`")
    spark.sql("UPDATE plain SET v = 'x' WHERE id = 1")
    spark.sql("DELETE FROM plain WHERE id = 2")
    assert [tuple(row) for row in bayou.read(spark, table_path).collect()] == [(1, "x")]
    spark.catalog.dropTempView("plain")


@pytest.mark.parametrize("statement", ON_VIEWS, ids=["delete", "update", "merge"])
def test_the_change_feed_of_a_table_is_not_its_rows(spark, table_path, statement):
    """What the condition says of rows of the feed would be asked of the table's."""
    bayou.write(spark.sql("select * from values ('3', 'c') t(id, v)"), table_path, **{"delta.enableChangeDataFeed": "true"})
    bayou.read(spark, table_path, changes=(0, None)).createOrReplaceTempView("fed")
    try:
        with pytest.raises(PySparkException, match="DELTA_OPERATION_NOT_ALLOWED"):
            spark.sql(statement.format("fed"))
    finally:
        spark.catalog.dropTempView("fed")
    assert [tuple(row) for row in bayou.read(spark, table_path).collect()] == [("3", "c")]


@pytest.mark.parametrize("statement", ON_VIEWS, ids=["delete", "update", "merge"])
@pytest.mark.parametrize("by_path", [True, False], ids=["path", "view"])
def test_an_older_version_is_not_changed(spark, table_path, statement, by_path):
    for value in "ab":
        bayou.write(spark.sql(f"select '{value}' id, 'v' v"), table_path, mode="append")
    spark.read.format("delta").option("versionAsOf", 0).load(table_path).createOrReplaceTempView("as_it_was")
    try:
        with pytest.raises(AnalysisException, match="found a historical scan of version 0") as caught:
            spark.sql(statement.format(f"delta.`{table_path}@v0`" if by_path else "as_it_was"))
    finally:
        spark.catalog.dropTempView("as_it_was")
    assert caught.value.getErrorClass() == "DELTA_FAILED_SCAN_WITH_HISTORICAL_VERSION"
    assert bayou.open(table_path).version() == 1


def test_a_table_whose_path_looks_like_a_version_is_changed(spark, tmp_path):
    bayou.write(spark.sql("select 1 id"), f"{tmp_path}/t@v0")
    spark.sql(f"update delta.`{tmp_path}/t@v0` set id = 2")
    assert [row.id for row in spark.sql(f"select id from delta.`{tmp_path}/t@v0`").collect()] == [2]
