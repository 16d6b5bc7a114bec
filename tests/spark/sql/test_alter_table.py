# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE and COMMENT ON TABLE as SQL, on a name and on a path: Spark parses them, the table's log takes them."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.errors import AnalysisException
from tests.spark.sql import statement_tables
from tests.spark.sql.statement_tables import snapshot
from tests.support.tables.built import ids

import bayou
from bayou.errors import DeltaError, InvalidOptionError, InvalidSchemaError

table = statement_tables.table


@pytest.mark.smoke
def test_columns_are_added_renamed_moved_and_dropped(spark, table, table_path):
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (e INT COMMENT 'hi', f VARCHAR(3))")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN s.y STRING FIRST")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN g INT AFTER id")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN name TO called")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN e")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN IF EXISTS nobody")
    schema = snapshot(table_path).schema
    assert list(schema.names) == ["id", "g", "called", "s", "f"]
    assert [f.name for f in schema.field("s").type.fields] == ["y", "x"]
    assert schema.field("f").metadata["__CHAR_VARCHAR_TYPE_STRING"] == "varchar(3)"
    assert spark.table(table).select("id", "called", "s.x", "s.y", "g").collect() == [(1, "a", 1, None, None)]
    assert [each.operation for each in bayou.open(table_path).history()][:5] == [
        "DROP COLUMNS",
        "RENAME COLUMN",
        "ADD COLUMNS",
        "ADD COLUMNS",
        "ADD COLUMNS",
    ]


def test_columns_for_several_places_come_in_one_commit(spark, table, table_path):
    before = snapshot(table_path).version
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (e INT FIRST, s.y STRING FIRST, f INT AFTER id, g INT)")
    found = snapshot(table_path)
    assert found.version == before + 1
    assert list(found.schema.names) == ["e", "id", "f", "name", "s", "g"]
    assert [each.name for each in found.schema.field("s").type.fields] == ["y", "x"]


@pytest.mark.smoke
def test_a_column_gets_a_type_a_comment_a_place_and_a_default(spark, table, table_path):
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN s.x TYPE BIGINT")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN id COMMENT 'key'")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN name FIRST")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN name SET DEFAULT 'none'")
    spark.sql(f"INSERT INTO {table} (id) VALUES (2)")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN name DROP DEFAULT")
    spark.sql(f"INSERT INTO {table} (id) VALUES (3)")
    schema = snapshot(table_path).schema
    assert [f.name for f in schema.fields] == ["name", "id", "s"]
    assert schema.field("s").type.fields[0].type == "long"
    assert schema.field("id").metadata["comment"] == "key"
    assert dict(spark.table(table).select("id", "name").collect()) == {1: "a", 2: "none", 3: None}


@pytest.mark.smoke
def test_properties_and_the_comment_are_set_and_unset(spark, table, table_path):
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('mine' = 'x', 'delta.appendOnly' = 'true')")
    assert snapshot(table_path).properties["mine"] == "x"
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('mine', 'delta.appendOnly')")
    assert {"mine", "delta.appendOnly"}.isdisjoint(snapshot(table_path).properties)
    spark.sql(f"COMMENT ON TABLE {table} IS 'orders'")
    assert snapshot(table_path).metadata.description == "orders"
    with pytest.raises(InvalidOptionError):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.nonsense' = 'x')")
    with pytest.raises(DeltaError):
        spark.sql(f"ALTER TABLE {table} SET LOCATION '/elsewhere'")


def test_columns_are_replaced(spark, table, table_path):
    spark.sql(f"ALTER TABLE {table} REPLACE COLUMNS (name STRING COMMENT 'n', id BIGINT)")
    schema = snapshot(table_path).schema
    assert [(f.name, f.metadata.get("comment")) for f in schema.fields] == [("name", "n"), ("id", None)]
    assert ids(spark.table(table).select("id")) == [1]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {t} ALTER COLUMN id SET NOT NULL",
        "ALTER TABLE {t} ALTER COLUMN id TYPE DATE",
        "ALTER TABLE {t} ADD COLUMN id INT",
        "ALTER TABLE {t} DROP COLUMN nobody",
        "ALTER TABLE {t} ADD PARTITION (id = 1)",
        "ALTER TABLE {t} ADD COLUMN z INT NOT NULL",
    ],
)
def test_a_change_that_no_table_can_have_is_refused_before_a_commit(spark, table, table_path, statement):
    before = bayou.open(table_path).version()
    with pytest.raises((AnalysisException, DeltaError)):
        spark.sql(statement.format(t=table))
    assert bayou.open(table_path).version() == before


def test_an_explained_change_changes_nothing(spark, table, table_path):
    before = bayou.open(table_path).version()
    spark.sql(f"EXPLAIN ALTER TABLE {table} ADD COLUMN z INT").collect()
    assert bayou.open(table_path).version() == before


@pytest.mark.skipif(not pyspark.__version__ >= "4.1", reason="older Sparks change one column in a statement")
def test_several_columns_of_one_statement_change_in_one_commit_or_not_at_all(spark, table, table_path):
    before = snapshot(table_path).version
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN name COMMENT 'two', id COMMENT 'one', s.x TYPE BIGINT")
    after = snapshot(table_path)
    assert after.version == before + 1
    assert [after.schema.field(name).metadata["comment"] for name in ("id", "name")] == ["one", "two"]
    entry = bayou.open(table_path).history()[0]
    assert (entry.operation, len(entry.operation_parameters["columns"]) > 0) == ("CHANGE COLUMNS", True)
    with pytest.raises((AnalysisException, InvalidSchemaError)):
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN id COMMENT 'changed', name TYPE INT")
    with pytest.raises((AnalysisException, InvalidSchemaError)):
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN id SET DEFAULT 5, name TYPE INT")
    assert snapshot(table_path).version == before + 1
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN id SET DEFAULT 5, name COMMENT 'three'")
    after = snapshot(table_path)
    assert (after.version, after.schema.field("id").metadata["CURRENT_DEFAULT"]) == (before + 2, "5")


def test_a_property_may_be_empty(spark, table):
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('zzz' = '')")
    assert ("zzz", "") in {tuple(row) for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}
