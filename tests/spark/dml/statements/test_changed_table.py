# SPDX-License-Identifier: Apache-2.0
"""Rows are changed through a view that shows columns of one table as they are, and never through the table's change feed."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, PySparkException

import bayou

COMPUTED = {
    "another value": "SELECT id + 1 AS id, v FROM {}",
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


SHOWN = {
    "all columns": "SELECT * FROM {}",
    "as they are": "SELECT id AS id, v, w FROM {}",
    "some columns": "SELECT v, id FROM {}",
    "other names": "SELECT v AS w, id FROM {}",
    "a view of a view": "SELECT v, id FROM (SELECT * FROM {} AS t) AS s",
}


@pytest.mark.parametrize("view", SHOWN)
@pytest.mark.parametrize("is_cached", [False, True], ids=["", "cached"])
def test_rows_are_changed_through_a_view_of_columns_and_counted(spark, table_path, view, is_cached):
    bayou.write(spark.sql("select * from values (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4) t(id, v, w)"), table_path)
    spark.sql(f"CREATE OR REPLACE TEMP VIEW shown AS {SHOWN[view].format(f'delta.`{table_path}`')}")
    text = "w" if view == "other names" else "v"
    if is_cached:
        spark.catalog.cacheTable("shown")
    try:
        assert spark.sql(f"UPDATE shown SET {text} = 'x' WHERE {text} = 'a'").collect() == [(1,)]
        assert spark.sql("DELETE FROM shown AS s WHERE s.id = 2").collect() == [(1,)]
        source = f"(SELECT 3 AS id, 'm' AS {text} UNION ALL SELECT 9, 'n')"
        merge = f"MERGE INTO shown USING {source} s ON shown.id = s.id WHEN MATCHED THEN UPDATE SET {text} = s.{text}"
        counts = spark.sql(f"{merge} WHEN NOT MATCHED THEN INSERT (id, {text}) VALUES (s.id, s.{text})").collect()
        assert counts == [(2, 1, 0, 1)]
        found = sorted(tuple(row) for row in bayou.read(spark, table_path).collect())
        assert found == [(1, "x", 1), (3, "m", 3), (4, "d", 4), (9, "n", None)]
        assert sorted(map(tuple, spark.sql(f"SELECT id, {text} FROM shown").collect())) == [row[:2] for row in found]
    finally:
        spark.sql("UNCACHE TABLE IF EXISTS shown")
        spark.catalog.dropTempView("shown")


def test_a_view_may_exchange_names(spark, table_path):
    bayou.write(spark.sql("select * from values (1, 10), (2, 20) t(a, b)"), table_path)
    spark.sql(f"CREATE OR REPLACE TEMP VIEW exchanged AS SELECT b AS a, a AS b FROM delta.`{table_path}`")
    spark.sql("UPDATE exchanged SET a = a + 1 WHERE b = 1")
    spark.sql("MERGE INTO exchanged e USING (SELECT 20 AS a) s ON e.a = s.a WHEN MATCHED THEN UPDATE SET b = 5")
    assert sorted(tuple(row) for row in bayou.read(spark, table_path).collect()) == [(1, 11), (5, 20)]
    spark.catalog.dropTempView("exchanged")


@pytest.mark.parametrize("view", ["SELECT * FROM {}", "SELECT id AS k, v AS w FROM {}"], ids=["whole", "renamed"])
def test_a_subquery_may_refer_to_the_row_of_a_view(spark, table_path, view):
    bayou.write(spark.sql("select * from values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd') t(id, v)"), table_path)
    spark.sql(f"CREATE OR REPLACE TEMP VIEW shown AS {view.format(f'delta.`{table_path}`')}")
    key, text = ("k", "w") if " AS k" in view else ("id", "v")
    spark.sql(f"DELETE FROM shown s WHERE EXISTS (SELECT 1 FROM values (1), (9) o(n) WHERE o.n = s.{key})")
    spark.sql(f"UPDATE shown SET {text} = 'x' WHERE {key} = (SELECT max(o.n) FROM range(2, 3) o(n) WHERE o.n = shown.{key})")
    spark.sql(f"DELETE FROM shown WHERE {key} IN (SELECT n FROM range(4) o(n) WHERE o.n = shown.{key} AND shown.{text} = 'c')")
    assert sorted(tuple(row) for row in bayou.read(spark, table_path).collect()) == [(2, "x"), (4, "d")]
    spark.catalog.dropTempView("shown")


def test_a_statement_behind_with_gives_its_row_of_counts(spark, table_path):
    table = f"delta.`{table_path}`"
    bayou.write(spark.sql("select * from values (1, 'a'), (2, 'b'), (3, 'c') t(id, v)"), table_path)
    chosen = "WITH s AS (SELECT 1 AS id)"
    assert spark.sql(f"{chosen} UPDATE {table} SET v = 'x' WHERE id IN (SELECT id FROM s)").collect() == [(1,)]
    assert spark.sql(f"{chosen} MERGE INTO {table} t USING s ON t.id = s.id WHEN MATCHED THEN DELETE").collect() == [(1, 0, 1, 0)]
    assert spark.sql(f"{chosen} DELETE FROM {table} WHERE id = (SELECT id + 1 FROM s)").collect() == [(1,)]
    assert [tuple(row) for row in bayou.read(spark, table_path).collect()] == [(3, "c")]


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
