# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE, COMMENT ON and TRUNCATE TABLE by path on Spark Connect."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException

import bayou
from bayou.errors import (
    DeltaError,
    InvalidOptionError,
    InvalidSchemaError,
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
)

PROPERTIES = (
    "'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true', 'delta.feature.allowColumnDefaults' = 'supported'"
)


@pytest.fixture
def name(spark, table_path):
    name = f"delta.`{table_path}`"
    spark.sql(f"create table {name} (id int comment 'key', s string, n struct<x: int>) using delta tblproperties ({PROPERTIES})")
    spark.sql(f"insert into {name} values (1, 'a', struct(1)), (2, 'b', struct(2))")
    return name


def schema(path):
    return bayou.open(path).update().schema


def last(spark, name):
    return spark.sql(f"describe history {name}").first().operation


def test_columns_are_added_renamed_and_dropped(spark, name, table_path):
    spark.sql(f"alter table {name} add columns (x int comment 'x' first, `y y` string after id, n.z double)")
    assert list(schema(table_path).names) == ["x", "id", "y y", "s", "n"]
    assert schema(table_path).field("x").metadata["comment"] == "x"
    assert list(schema(table_path).field("n").type.names) == ["x", "z"]
    spark.sql(f"alter table {name} rename column `y y` to y")
    spark.sql(f"alter table {name} rename column n.z to w")
    spark.sql(f"alter table {name} drop columns (x, n.w)")
    spark.sql(f"alter table {name} drop column if exists x")
    assert list(schema(table_path).names) == ["id", "y", "s", "n"]
    assert last(spark, name) == "DROP COLUMNS"
    assert [row.id for row in spark.read.table(name).orderBy("id").collect()] == [1, 2]


def test_columns_change(spark, name, table_path):
    spark.sql(f"alter table {name} alter column id type bigint")
    spark.sql(f"alter table {name} alter column s first")
    spark.sql(f"alter table {name} alter column id comment 'one', s comment 'two'")
    assert last(spark, name) == "CHANGE COLUMNS"
    spark.sql(f"alter table {name} change column n n struct<x: int> comment 'three' after s")
    spark.sql(f"alter table {name} alter column s set default concat('no', 'ne')")
    assert list(schema(table_path).names) == ["s", "n", "id"]
    assert [each.metadata.get("comment") for each in schema(table_path).fields] == ["two", "three", "one"]
    spark.sql(f"insert into {name} (id) values (3)")
    spark.sql(f"alter table {name} alter column s drop default")
    spark.sql(f"insert into {name} (id) values (4)")
    assert [row.s for row in spark.read.table(name).orderBy("id").collect()] == ["a", "b", "none", None]


def test_columns_are_replaced(spark, name, table_path):
    spark.sql(f"alter table {name} replace columns (id int, s string comment 'new', n struct<x: int>, z int)")
    assert list(schema(table_path).names) == ["id", "s", "n", "z"]
    assert last(spark, name) == "REPLACE COLUMNS"


def test_properties_and_comments(spark, name, table_path):
    spark.sql(f"alter table {name} set tblproperties ('k' = 'v', delta.appendOnly = false)")
    assert spark.sql(f"show tblproperties {name} ('k')").first().value == "v"
    spark.sql(f"alter table {name} unset tblproperties ('k')")
    spark.sql(f"alter table {name} unset tblproperties if exists ('k', 'l')")
    assert "k" not in bayou.open(table_path).update().metadata.configuration
    spark.sql(f"comment on table {name} is 'about it'")
    assert bayou.open(table_path).update().metadata.description == "about it"
    spark.sql(f"comment on column {name}.n.x is 'nested'")
    assert schema(table_path).field("n").type.field("x").metadata["comment"] == "nested"
    spark.sql(f"comment on column {name}.id is null")
    assert "comment" not in schema(table_path).field("id").metadata


def test_constraints(spark, name, table_path):
    spark.sql(f"alter table {name} add constraint pos check (id   > 0\n and s is not null)")
    assert bayou.open(table_path).update().metadata.configuration["delta.constraints.pos"] == "id > 0 and s is not null"
    with pytest.raises(bayou.errors.ConstraintViolationError):
        spark.sql(f"alter table {name} add constraint two check (id > 1)")
    with pytest.raises(UnsupportedFeatureError, match="PRIMARY KEY"):
        spark.sql(f"alter table {name} add constraint pk primary key (id)")
    spark.sql(f"alter table {name} drop constraint pos")
    spark.sql(f"alter table {name} drop constraint if exists pos")
    with pytest.raises(InvalidSchemaError, match="DELTA_CONSTRAINT_DOES_NOT_EXIST"):
        spark.sql(f"alter table {name} drop constraint pos")


def test_clustering_and_features(spark, name):
    spark.sql(f"alter table {name} cluster by (id, n.x)")
    assert spark.sql(f"describe detail {name}").first().clusteringColumns == ["id", "n.x"]
    spark.sql(f"alter table {name} cluster by none")
    assert spark.sql(f"describe detail {name}").first().clusteringColumns == []
    with pytest.raises(UnsupportedFeatureError, match="DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"):
        spark.sql(f"alter table {name} drop feature allowColumnDefaults")


@pytest.mark.parametrize(
    ("rest", "error"),
    [
        ("add column", ParseException),
        ("frob", ParseException),
        ("change column s s2 string", ParseException),
        ("add column s int", InvalidSchemaError),
        ("add column w int not null", InvalidSchemaError),
        ("add column w int default 5", InvalidSchemaError),
        ("add column w string collate utf8_lcase", InvalidSchemaError),
        ("rename column nope to z", SchemaMismatchError),
        ("drop column nope", SchemaMismatchError),
        ("alter column n.nope comment 'x'", DeltaError),
        ("alter column s set not null", InvalidSchemaError),
        ("alter column s type int", InvalidSchemaError),
        ("set tblproperties ('delta.nope' = 'v')", InvalidOptionError),
        ("set location '/elsewhere'", InvalidOptionError),
        ("rename to other", UnsupportedFeatureError),
        ("add partition (p = 5)", UnsupportedFeatureError),
        ("recover partitions", UnsupportedFeatureError),
    ],
)
def test_what_is_not_possible(spark, name, table_path, rest, error):
    with pytest.raises(error):
        spark.sql(f"alter table {name} {rest}")
    assert bayou.open(table_path).update().version == 1


def test_a_table_that_does_not_exist(spark, table_path):
    name = f"delta.`{table_path}`"
    for text in ("alter table {t} add column x int", "truncate table {t}", "comment on table {t} is 'x'", "drop table {t}"):
        with pytest.raises(TableNotFoundError, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.sql(text.format(t=name))
    with pytest.raises(AnalysisException):  # as programs catch it
        spark.sql(f"drop table {name}")
    spark.sql(f"drop table if exists {name}")


def test_truncate(spark, name):
    spark.sql(f"truncate table {name}")
    assert spark.read.table(name).count() == 0
    assert last(spark, name) == "TRUNCATE"
    with pytest.raises(UnsupportedFeatureError, match="Use DELETE FROM"):
        spark.sql(f"truncate table {name} partition (id = 1)")


def test_the_sessions_settings_decide_about_names(spark, name, table_path):
    spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    try:
        spark.sql(f'alter table {name} rename column "s" to "s t"')
    finally:
        spark.conf.unset("spark.sql.ansi.doubleQuotedIdentifiers")
    assert list(schema(table_path).names) == ["id", "s t", "n"]
