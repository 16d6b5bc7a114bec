# SPDX-License-Identifier: Apache-2.0
"""Tables that a builder makes under a name in the session's catalog, or gives a name there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.on_connect import name_beside

import bayou
from bayou import DeltaTable
from bayou.errors import ConstraintViolationError, DeltaError, InvalidSchemaError, TableExistsError, TableNotFoundError
from bayou.protocol.actions.actions import Protocol


def files(path):
    """Every file in a folder, and when it was written."""
    return {str(file): file.stat().st_mtime_ns for file in Path(path).rglob("*") if file.is_file()}


@pytest.mark.smoke
def test_a_named_table_is_found_by_its_name(spark, name):
    made = DeltaTable.create(spark).tableName(name).addColumn("id", "BIGINT").execute()
    spark.range(3).write.insertInto(name)
    assert spark.table(name).count() == 3
    assert spark.sql(f"SELECT sum(id) s FROM {name}").first().s == 3
    assert DeltaTable.forName(spark, name).toDF().count() == made.toDF().count() == 3
    entry = spark._jsparkSession.sharedState().externalCatalog().getTable("default", name)
    assert entry.provider().get() == "delta"
    assert entry.schema().isEmpty()
    assert entry.tableType().name() == "MANAGED"


def test_a_table_that_is_there_gets_a_name(spark, name, table_path):
    spark.range(3).write.format("delta").save(table_path)
    DeltaTable.createIfNotExists(spark).tableName(name).location(table_path).execute()
    assert spark.table(name).count() == 3
    assert bayou.open(table_path).version() == 0
    other = name_beside(name, "_other")
    with pytest.raises(InvalidSchemaError) as caught:
        DeltaTable.create(spark).tableName(other).location(table_path).addColumn("x", "INT").execute()
    assert caught.value.getErrorClass() == "DELTA_CREATE_TABLE_SCHEME_MISMATCH"
    assert not spark.catalog.tableExists(other)


@pytest.mark.parametrize(
    ("described", "error_class"),
    [
        (lambda builder: builder.partitionedBy("p"), "DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING"),
        (lambda builder: builder.property("owner", "them"), "DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY"),
    ],
)
def test_a_table_that_is_there_gets_no_name_by_another_description(spark, name, table_path, described, error_class):
    DeltaTable.create(spark).location(table_path).addColumn("id", "INT").addColumn("p", "INT").property("owner", "us").execute()
    before = files(table_path)
    same = DeltaTable.create(spark).tableName(name).location(table_path).addColumn("id", "INT").addColumn("p", "INT")
    with pytest.raises(DeltaError) as caught:
        described(same).execute()
    assert caught.value.getErrorClass() == error_class
    assert not spark.catalog.tableExists(name)
    assert files(table_path) == before


def test_a_table_of_another_format_and_a_view_are_not_replaced(spark, other_name):
    for made, gone in (
        (f"CREATE TABLE {other_name} (id INT) USING parquet", f"DROP TABLE {other_name}"),
        (f"CREATE VIEW {other_name} AS SELECT 1 id", f"DROP VIEW {other_name}"),
    ):
        spark.sql(made)
        for builder in (DeltaTable.create(spark), DeltaTable.createIfNotExists(spark), DeltaTable.createOrReplace(spark)):
            with pytest.raises(TableExistsError) as caught:
                builder.tableName(other_name).addColumn("id", "INT").execute()
            assert caught.value.getErrorClass() == "DELTA_NOT_A_DELTA_TABLE"
        assert spark.table(other_name).columns == ["id"]
        spark.sql(gone)


def test_what_exists_is_not_made_again(spark, name, table_path):
    builder = DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT")
    builder.execute()
    with pytest.raises(TableExistsError) as caught:
        builder.execute()
    assert caught.value.getErrorClass() == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert f"delta.`{table_path}`" in str(caught.value)
    DeltaTable.createIfNotExists(spark).location(table_path).addColumn("other", "INT").execute()
    assert bayou.open(table_path).snapshot().schema.names == ("id",)
    DeltaTable.create(spark).tableName(name).addColumn("id", "BIGINT").execute()
    with pytest.raises(TableExistsError, match=f"Cannot create table or view {name.upper()} because it already exists"):
        DeltaTable.create(spark).tableName(name.upper()).addColumn("id", "BIGINT").execute()
    assert bayou.open(table_path).version() == 0


def test_what_is_not_there_is_not_replaced(spark, table_path, name):
    for builder in (DeltaTable.replace(spark).location(table_path), DeltaTable.replace(spark).tableName(name)):
        with pytest.raises(TableNotFoundError) as caught:
            builder.addColumn("id", "INT").execute()
        assert caught.value.getErrorClass() == "TABLE_OR_VIEW_NOT_FOUND"
    DeltaTable.createOrReplace(spark).tableName(name).addColumn("id", "INT").execute()
    assert DeltaTable.forName(spark, name).toDF().columns == ["id"]


def test_views_and_other_tables_are_no_delta_tables(spark, other_name):
    spark.range(1).createOrReplaceTempView("a_view")
    spark.sql(f"CREATE TABLE {other_name} (id INT) USING parquet")
    for other in ("a_view", other_name, "nothing_of_that_name"):
        with pytest.raises(TableNotFoundError) as caught:
            DeltaTable.forName(spark, other)
        assert caught.value.getErrorClass() == "DELTA_MISSING_DELTA_TABLE"


def test_a_table_is_made_with_check_constraints_among_its_properties(spark, table_path, name):
    key = "delta.constraints.Positive"
    table = DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT").property(key, "id > 0").execute()
    assert bayou.open(table_path).snapshot().protocol == Protocol(1, 3)
    with pytest.raises(ConstraintViolationError):
        bayou.write(spark.range(1), table_path, mode="append")
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta TBLPROPERTIES ('{key}' = 'id > 1')")
    with pytest.raises(ConstraintViolationError):
        spark.sql(f"INSERT INTO {name} VALUES (1)")
    table.dropConstraint("positive")
    bayou.write(spark.range(1), table_path, mode="append")
    assert table.toDF().count() == 1


@pytest.mark.parametrize(
    ("column", "generated"), [("BIGINT", "id * 3"), ("BIGINT", None), ("INT", "id * 2")], ids=["expression", "plain", "type"]
)
def test_a_table_gets_a_name_if_its_columns_are_generated_as_described(spark, name, table_path, column, generated):
    def builder(kind, expression, **of):
        made = DeltaTable.createIfNotExists(spark).location(table_path).addColumn("id", "BIGINT")
        made = made.tableName(name) if of else made
        return made.addColumn("twice", kind, generatedAlwaysAs=expression)

    builder("BIGINT", "id * 2").execute()
    with pytest.raises(InvalidSchemaError) as caught:
        builder(column, generated, named=True).execute()
    builder("BIGINT", "id * 2", named=True).execute()
    assert caught.value.error_class == "DELTA_CREATE_TABLE_SCHEME_MISMATCH"
    assert bayou.open(table_path).version() == 0
