# SPDX-License-Identifier: Apache-2.0
"""Statements that newer Sparks parse: constraints of a new table, COMMENT ON COLUMN, INSERT ... REPLACE USING and REPLACE ON.

bayou parses the last two on older Sparks.
"""

from __future__ import annotations

import pyspark
import pytest
from pyspark.errors import AnalysisException
from tests.spark.sql import statement_tables
from tests.spark.sql.statement_tables import snapshot

import bayou
from bayou.errors import ConstraintViolationError, DeltaError, InvalidSchemaError, UnsupportedFeatureError

table = statement_tables.table
VERSION = tuple(map(int, pyspark.__version__.split(".")[:2]))
declares = pytest.mark.skipif(VERSION < (4, 1), reason="Spark's parser knows constraints of new tables from 4.1 on")
comments = pytest.mark.skipif(VERSION < (4, 3), reason="Spark's parser knows COMMENT ON COLUMN from 4.3 on")


def checks(path):
    prefix = "delta.constraints."
    return {key.removeprefix(prefix): text for key, text in snapshot(path).properties.items() if key.startswith(prefix)}


@declares
@pytest.mark.parametrize("begin", ["CREATE TABLE", "CREATE TABLE IF NOT EXISTS", "CREATE OR REPLACE TABLE"])
def test_the_checks_of_a_new_table_are_those_of_alter_table(spark, name, table_path, begin):
    spark.sql(
        f"{begin} {name} (id INT CHECK (id>0), v STRING, CONSTRAINT `Of Both` CHECK (id < 10 /* few */ OR v IS NULL)) "
        f"USING delta LOCATION '{table_path}' TBLPROPERTIES ('a' = 'b') COMMENT 'c'"
    )
    found = checks(table_path)
    assert found.pop("of both") == "id < 10 OR v IS NULL"
    assert list(found.values()) == ["id > 0"]
    assert snapshot(table_path).properties["a"] == "b"
    assert snapshot(table_path).version == 0
    for row in ("(0, NULL)", "(10, 'x')"):
        with pytest.raises(ConstraintViolationError):
            spark.sql(f"INSERT INTO {name} VALUES {row}")
    spark.sql(f"INSERT INTO {name} VALUES (10, NULL), (1, 'x')")
    spark.sql(f"ALTER TABLE {name} DROP CONSTRAINT `of BOTH`")
    assert len(checks(table_path)) == 1


@declares
def test_a_replaced_table_has_the_checks_of_its_own_statement(spark, table, table_path):
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT old CHECK (id > 0)")
    at = "" if table.startswith("delta") else f"LOCATION '{table_path}'"
    spark.sql(f"REPLACE TABLE {table} (n INT, CONSTRAINT new CHECK (n > 1)) USING delta {at}")
    assert checks(table_path) == {"new": "n > 1"}


BROKEN = {
    "id INT CHECK (nobody > 0)": InvalidSchemaError,
    "id INT CHECK (id)": InvalidSchemaError,
    "id INT CHECK (id IN (SELECT 1))": InvalidSchemaError,
    "id INT, CONSTRAINT a CHECK (id > 0), CONSTRAINT A CHECK (id > 1)": DeltaError,
    "id INT CHECK (id > 0) RELY": UnsupportedFeatureError,
    "id INT PRIMARY KEY": UnsupportedFeatureError,
    "id INT UNIQUE": UnsupportedFeatureError,
    "id INT, CONSTRAINT k PRIMARY KEY (id)": UnsupportedFeatureError,
    "id INT, FOREIGN KEY (id) REFERENCES other (id)": UnsupportedFeatureError,
    "id INT CHECK (id > 0), CONSTRAINT u UNIQUE (id) RELY": UnsupportedFeatureError,
}


@declares
@pytest.mark.parametrize(("columns", "error"), BROKEN.items(), ids=BROKEN)
def test_what_no_table_can_have_makes_no_table(spark, name, columns, error):
    with pytest.raises(error):
        spark.sql(f"CREATE TABLE {name} ({columns}) USING delta")
    assert not spark.catalog.tableExists(name)


@declares
@pytest.mark.parametrize("key", ["PRIMARY KEY (id)", "CONSTRAINT k UNIQUE (id)", "FOREIGN KEY (id) REFERENCES {t} (id)"])
def test_keys_are_refused_by_name(spark, table, table_path, key):
    with pytest.raises(UnsupportedFeatureError) as caught:
        spark.sql(f"ALTER TABLE {table} ADD {key.format(t=table)}")
    assert caught.value.features[0] in key
    assert snapshot(table_path).version == 1


@declares
def test_constraints_of_tables_of_other_kinds_are_sparks(spark, other_name):
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"CREATE TABLE {other_name} (id INT CHECK (id > 0)) USING parquet")
    assert not isinstance(caught.value, DeltaError)
    spark.sql(f"CREATE TABLE {other_name} (id INT) USING parquet")
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"ALTER TABLE {other_name} ADD PRIMARY KEY (id)")
    assert not isinstance(caught.value, DeltaError)


@declares
def test_a_script_declares_checks(spark, name):
    spark.sql(f"BEGIN CREATE TABLE {name} (id INT CHECK (id > 0)) USING delta; INSERT INTO {name} VALUES (1); END")
    with pytest.raises(ConstraintViolationError):
        spark.sql(f"INSERT INTO {name} VALUES (-1)")


def comment_of(path, *names):
    kind = snapshot(path).schema
    for each in names:
        field = kind.field(each)
        kind = field.type
    return field.metadata.get("comment")


@comments
def test_columns_and_nested_fields_get_comments(spark, table, table_path):
    for text, shown in {"'a'": "a", r"'it''s \\ \'x\''": r"it's \ 'x'", "'ü -- /* */'": "ü -- /* */"}.items():
        spark.sql(f"COMMENT ON COLUMN {table}.id IS {text}")
        assert comment_of(table_path, "id") == shown
        spark.sql(f"COMMENT ON COLUMN {table}.s.x IS {text}")
        assert comment_of(table_path, "s", "x") == shown
    spark.sql(f"COMMENT ON COLUMN {table}.id IS NULL")
    assert not comment_of(table_path, "id")
    assert comment_of(table_path, "s", "x") == "ü -- /* */"
    with pytest.raises(AnalysisException):
        spark.sql(f"COMMENT ON COLUMN {table}.nobody IS 'x'")
    spark.sql(f"BEGIN COMMENT ON COLUMN {table}.name IS 'in a script'; END")
    assert comment_of(table_path, "name") == "in a script"
    assert {each.operation for each in bayou.open(table_path).history()} >= {"CHANGE COLUMN"}


@comments
def test_a_name_of_several_parts_is_the_longest_table(spark, name, table_path):
    spark.sql(f"CREATE TABLE {name} (id INT, s STRUCT<x: STRUCT<y: INT>>) USING delta LOCATION '{table_path}'")
    spark.sql(f"COMMENT ON COLUMN default.{name}.s.x.y IS 'deep'")
    spark.sql(f"COMMENT ON COLUMN spark_catalog.default.{name}.s.x IS 'less'")
    spark.sql(f"COMMENT ON COLUMN {name}.`s` IS 'top'")
    assert [comment_of(table_path, *each) for each in (("s",), ("s", "x"), ("s", "x", "y"))] == ["top", "less", "deep"]


@comments
def test_comments_of_other_tables_are_sparks(spark, other_name):
    spark.sql(f"CREATE TABLE {other_name} (id INT) USING parquet")
    spark.sql(f"COMMENT ON COLUMN {other_name}.id IS 'x'")
    assert spark.sql(f"DESCRIBE {other_name}").first().comment == "x"


@pytest.fixture
def pairs(spark, name, table_path):
    spark.sql(f"CREATE TABLE {name} (id INT, v STRING) USING delta LOCATION '{table_path}'")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return name


def rows(spark, path):
    return sorted(tuple(row) for row in spark.read.format("delta").load(path).collect())


REPLACING = {
    "INSERT INTO {t} REPLACE USING (id) VALUES (1, 'A'), (9, 'z')": [(1, "A"), (2, "b"), (3, "c"), (9, "z")],
    "INSERT INTO {t} REPLACE USING (id, v) VALUES (1, 'A'), (2, 'b')": [(1, "A"), (1, "a"), (2, "b"), (3, "c")],
    "INSERT INTO {t} BY NAME REPLACE USING (ID) SELECT 'B' AS v, 2 AS id": [(1, "a"), (2, "B"), (3, "c")],
    "WITH q AS (SELECT 3 AS k, 'w' AS w) INSERT INTO {t} REPLACE USING (id) SELECT * FROM q": [(1, "a"), (2, "b"), (3, "w")],
    "INSERT INTO {t} REPLACE USING (id) SELECT id + 1, v FROM {t}": [(1, "a"), (2, "a"), (3, "b"), (4, "c")],
    "INSERT INTO {t} AS a REPLACE ON a.id = s.id AND a.id > 1 (SELECT 3 AS id, 'on' AS v) AS s": [(1, "a"), (2, "b"), (3, "on")],
    "INSERT INTO {t} AS a REPLACE ON a.id >= s.id (SELECT 2 AS id, 'on' AS v) AS s": [(1, "a"), (2, "on")],
    "BEGIN INSERT INTO {t} REPLACE USING (id) VALUES (1, 'A'); END": [(1, "A"), (2, "b"), (3, "c")],
    "INSERT INTO {t} AS a BY NAME REPLACE ON a.id = s.id (SELECT 's' AS v, 1 AS id) AS s": [(1, "s"), (2, "b"), (3, "c")],
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("text", "expected"), REPLACING.items(), ids=REPLACING)
@pytest.mark.parametrize("by", ["name", "path"])
def test_rows_that_match_are_replaced(spark, pairs, table_path, text, expected, by):
    if text.startswith("BEGIN") and VERSION < (4, 2):
        pytest.skip("Spark's parser reads the whole script, and knows REPLACE USING from 4.2 on")
    spark.sql(text.format(t=pairs if by == "name" else f"delta.`{table_path}`"))
    assert rows(spark, table_path) == expected
    assert spark.table(pairs).count() == len(expected)
    assert snapshot(table_path).version == 2


def test_the_sessions_mode_for_partitions_makes_no_difference(session, pairs, table_path):
    session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    session.sql(f"INSERT INTO {pairs} REPLACE USING (id) VALUES (1, 'A')")
    assert rows(session, table_path) == [(1, "A"), (2, "b"), (3, "c")]


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO {t} REPLACE USING (nobody) VALUES (1, 'A')",
        "INSERT INTO {t} REPLACE USING (id) VALUES (1)",
        "INSERT INTO {t} REPLACE ON {t}.id = s.k (SELECT 1 AS k, 'x' AS w) AS s",
        "INSERT INTO {t} REPLACE ON nobody = 1 (SELECT 1 AS id, 'x' AS v) AS s",
        "EXPLAIN INSERT INTO {t} REPLACE USING (id) VALUES (1, 'A')",
    ],
)
def test_what_cannot_be_replaced_changes_nothing(spark, pairs, table_path, text):
    if text.startswith("EXPLAIN"):
        assert "REPLACE USING" in spark.sql(text.format(t=pairs)).first()[0]
    else:
        with pytest.raises((DeltaError, AnalysisException)):
            spark.sql(text.format(t=pairs))
    assert snapshot(table_path).version == 1


def test_replacing_inserts_into_other_tables_are_sparks(spark, other_name):
    spark.sql(f"CREATE TABLE {other_name} (id INT) USING parquet")
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"INSERT INTO {other_name} REPLACE USING (id) VALUES (1)")
    assert not isinstance(caught.value, DeltaError)
