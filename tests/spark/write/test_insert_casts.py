# SPDX-License-Identifier: Apache-2.0
"""INSERT casts its rows to the table's types at every depth, as the session's store assignment says; what cannot be is refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

COLUMNS = "id BIGINT, d DATE, s STRUCT<x: INT, y: STRING>, a ARRAY<INT>, m MAP<STRING, INT>"
DAY = dt.date(2024, 2, 3)
ROW = (7, DAY, (1, "2"), [3, None], {"k": 4})


@pytest.fixture
def table(spark, table_path):
    spark.sql(f"CREATE TABLE delta.`{table_path}` ({COLUMNS}) USING delta")
    return f"delta.`{table_path}`"


def rows(spark, table):
    return [tuple(tuple(value) if hasattr(value, "asDict") else value for value in row) for row in spark.table(table).collect()]


@pytest.mark.smoke
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {t} VALUES ('7', '2024-02-03', struct('1', 2), array('3', null), map('k', '4'))",
        "INSERT INTO {t} SELECT '7', '2024-02-03', named_struct('p', '1', 'q', 2), array('3', null), map('k', '4')",
        "INSERT INTO {t} (id, d, s, a, m) VALUES ('7', '2024-02-03', struct('1', 2), array('3', null), map('k', '4'))",
        "INSERT INTO {t} (s, id, m, a, d) SELECT struct('1', 2), '7', map('k', '4'), array('3', null), '2024-02-03'",
        "INSERT OVERWRITE {t} SELECT '7', '2024-02-03', named_struct('y', 1, 'x', '2'), array('3', null), map('k', '4')",
    ],
)
def test_text_becomes_what_the_table_has_at_every_depth(spark, table, statement):
    spark.sql(statement.format(t=table))
    assert rows(spark, table) == [ROW]


@pytest.mark.parametrize("how", ["SELECT timestamp'2024-01-01' x", "BY NAME SELECT timestamp'2024-01-01' B"])
def test_a_value_that_does_not_fit_is_told_with_the_tables_column(spark, table_path, how):
    spark.sql(f"CREATE TABLE delta.`{table_path}` (b TINYINT) USING delta")
    with pytest.raises(Exception, match=r"CAST_OVERFLOW_IN_TABLE_INSERT[^`]*`b`"):
        spark.sql(f"INSERT INTO delta.`{table_path}` {how}")


def test_a_query_may_have_a_name_twice(spark, table):
    spark.sql(
        f"INSERT INTO {table} SELECT v, '2024-02-03' d, named_struct('v', v, 'w', v) v, array(v) v, map(v, v) v FROM (SELECT '1' v)"
    )
    assert rows(spark, table) == [(1, DAY, (1, "1"), [1], {"1": 1})]


def test_names_of_a_struct_count_where_one_of_them_is_the_columns(spark, table):
    spark.sql(f"INSERT INTO {table} BY NAME SELECT named_struct('y', 'b', 'X', '1') AS s, '7' AS id")
    assert rows(spark, table) == [(7, None, (1, "b"), None, None)]


@pytest.mark.parametrize(
    "value", ["'x', null, null, null, null", "1, 'no date', null, null, null", "1, null, null, array('x'), null"]
)
def test_a_value_that_cannot_be_cast_is_refused_and_leaves_nothing(spark, table, table_path, value):
    before = sorted(Path(table_path).rglob("*"))
    with pytest.raises(Exception, match=r"CAST_INVALID_INPUT") as caught:
        spark.sql(f"INSERT INTO {table} VALUES ({value})")
    assert "Py4J" not in type(caught.value).__name__
    assert sorted(Path(table_path).rglob("*")) == before


@pytest.mark.parametrize(
    ("policy", "statement", "error"),
    [
        ("STRICT", "INSERT INTO {t} (id) VALUES ('7')", "INCOMPATIBLE_DATA_FOR_TABLE"),
        ("ANSI", "INSERT INTO {t} (d) VALUES (5)", "DATATYPE_MISMATCH"),
        ("ANSI", "INSERT INTO {t} (id) VALUES (array(1))", "DATATYPE_MISMATCH"),
        ("ANSI", "INSERT INTO {t} (s) VALUES (array(1))", "DATATYPE_MISMATCH"),
        ("ANSI", "INSERT INTO {t} (a) SELECT array(map(1, 2))", "DATATYPE_MISMATCH"),
        ("ANSI", "INSERT INTO {t} (s) SELECT struct(1, struct(2, 3))", "INCOMPATIBLE_DATA_FOR_TABLE"),
        ("STRICT", "INSERT INTO {t} (s) SELECT struct(1, array(2))", "INCOMPATIBLE_DATA_FOR_TABLE"),
    ],
)
def test_a_cast_that_the_policy_forbids_is_refused(spark, table, policy, statement, error):
    spark.conf.set("spark.sql.storeAssignmentPolicy", policy)
    try:
        with pytest.raises(AnalysisException) as caught:
            spark.sql(statement.format(t=table))
    finally:
        spark.conf.unset("spark.sql.storeAssignmentPolicy")
    assert str(caught.value).startswith(f"[{error}")


def test_keys_of_a_map_that_become_one_are_refused(spark, table_path):
    spark.sql(f"CREATE TABLE delta.`{table_path}` (m MAP<DATE, INT>) USING delta")
    with pytest.raises(Exception, match=r"DUPLICATED_MAP_KEY"):
        spark.sql(
            f"INSERT INTO delta.`{table_path}` SELECT map(timestamp'2024-01-01 08:00', '1', timestamp'2024-01-01 09:00', '2')"
        )
    assert spark.read.format("delta").load(table_path).count() == 0


def test_a_new_column_keeps_its_comment_beside_one_that_is_cast(spark, table):
    rows = spark.sql("SELECT '7' AS id, 1 AS n").withMetadata("n", {"comment": "why"})
    rows.writeTo(table).option("mergeSchema", "true").append()
    assert spark.table(table).schema["n"].metadata == {"comment": "why"}


def test_legacy_casts_make_null_of_what_cannot_be_cast(spark, table):
    spark.conf.set("spark.sql.storeAssignmentPolicy", "LEGACY")
    try:
        spark.sql(f"INSERT INTO {table} (id, s) VALUES ('x', struct('1', 2))")
    finally:
        spark.conf.unset("spark.sql.storeAssignmentPolicy")
    assert rows(spark, table) == [(None, None, (1, "2"), None, None)]


def test_insert_into_of_a_frame_casts_by_position(spark, table):
    spark.sql(
        "SELECT '7' q, '2024-02-03' w, named_struct('e', '1', 'r', 2) e, array('3', null) r, map('k', '4') t"
    ).write.insertInto(table)
    assert rows(spark, table) == [ROW]
