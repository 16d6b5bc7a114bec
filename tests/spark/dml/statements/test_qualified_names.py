# SPDX-License-Identifier: Apache-2.0
"""Columns that a statement calls by their table's name with those of its database and its catalog, or by its path."""

from __future__ import annotations

import uuid

import pytest
from pyspark.errors import AnalysisException

import bayou
from bayou.errors import UnsupportedFeatureError
from bayou.spark.native.merge import statement


@pytest.fixture
def database(spark):
    name = f"db_{uuid.uuid4().hex[:8]}"
    spark.sql(f"create database {name}")
    yield name
    spark.sql(f"drop database {name} cascade")


@pytest.fixture
def table(spark, database):
    """A table of two rows, and a source with a new column and a new row, both in the database."""
    name = f"{database}.a"
    spark.sql(f"create table {name} (id bigint, v int, s struct<x: int>) using delta")
    spark.sql(f"insert into {name} values (1, 1, struct(1)), (2, 2, struct(2))")
    spark.sql(
        f"create table {database}.b using delta as "
        "select id, cast(id as int) * 10 v, named_struct('x', cast(id as int) * 10) s, 'new' w from range(2, 4)"
    )
    return name


def rows(spark, name, *columns):
    return sorted(tuple(row) for row in spark.table(name).select(*columns).collect())


MERGED = [(1, 1, 1), (2, 20, 20), (3, 30, 30)]
CALLED = ["a", "{database}.a", "spark_catalog.{database}.a", "delta.`{path}`"]


@pytest.mark.parametrize("called", CALLED)
def test_a_merge_takes_the_names_and_adds_the_sources_columns(spark, database, table, called):
    path = bayou.DeltaTable.forName(spark, table).detail().first().location
    called = called.format(database=database, path=path)
    into = called if called.startswith("delta") else table
    has_clause = spark.version >= "4"  # else the session says it
    evolving = "with schema evolution " if has_clause else ""
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", str(not has_clause).lower())
    try:
        spark.sql(
            f"merge {evolving}into {into} using {database}.b s on {called}.id = s.id "
            f"when matched and {called}.v < 100 then update set * when not matched then insert *"
        )
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert rows(spark, table, "id", "v", "s.x") == MERGED
    assert rows(spark, table, "id", "w")[1:] == [(2, "new"), (3, "new")]


def test_a_source_is_called_by_its_full_name_too(spark, database, table):
    spark.sql(
        f"merge into {table} using {database}.b on {table}.id = {database}.b.id "
        f"when matched then update set v = {database}.b.v, {table}.s.x = spark_catalog.{database}.b.v"
    )
    assert rows(spark, table, "id", "v", "s.x") == MERGED[:2]


def test_the_database_in_use_may_stand_before_a_name_without_one(spark, database, table):
    before = spark.catalog.currentDatabase()
    spark.catalog.setCurrentDatabase(database)
    try:
        spark.sql(f"update a set {database}.a.v = {database}.a.v + 1 where {database}.a.id = 1")
        spark.sql(f"merge into a using b s on {database}.a.id = s.id when matched then update set v = s.v, s = s.s")
    finally:
        spark.catalog.setCurrentDatabase(before)
    assert rows(spark, table, "id", "v", "s.x") == [(1, 2, 1), (2, 20, 20)]


def test_methods_of_a_table_that_was_asked_for_by_name_take_its_names(spark, database, table):
    named = bayou.DeltaTable.forName(spark, table)
    source = spark.table(f"{database}.b").alias("s")
    named.merge(source, f"{table}.id = s.id").whenMatchedUpdate(set={f"{table}.v": f"{table}.v + s.v"}).execute()
    named.update(f"spark_catalog.{table}.id = 1", {"a.s.x": f"{table}.s.x + 10"})
    named.delete(f"{table}.id = 3")
    assert rows(spark, table, "id", "v", "s.x") == [(1, 1, 11), (2, 22, 2)]


def test_an_alias_takes_the_place_of_the_name(spark, database, table):
    source = spark.table(f"{database}.b").alias("s")
    aliased = bayou.DeltaTable.forName(spark, table).alias("t")
    with pytest.raises(AnalysisException):
        aliased.merge(source, f"{table}.id = s.id").whenMatchedDelete().execute()


def test_a_statement_that_only_spark_can_resolve_loses_no_column_of_the_source(spark, database, table, monkeypatch):
    """Spark spells `*` out for the columns that the table has."""
    monkeypatch.setattr(statement.catalyst, "parsed_statement", lambda *_: None)
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    spark.sql(f"create table {database}.c using delta as select id, v from {table}")
    merge = f"with q as (select * from {database}.b) merge into {database}.c t using q s on t.id = s.id"
    try:
        with pytest.raises(UnsupportedFeatureError, match="the table would get, s, w"):
            spark.sql(f"{merge} when not matched then insert *")
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
        spark.sql(f"{merge} when matched then update set v = t.v + s.v")
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert rows(spark, f"{database}.c", "*") == [(1, 1), (2, 22)]
