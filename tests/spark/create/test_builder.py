# SPDX-License-Identifier: Apache-2.0
"""Tables that are made by a builder at a path, and what no table can be."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import UnsupportedOperationException
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

import bayou
from bayou import DeltaTable, IdentityGenerator
from bayou.errors import ConstraintViolationError, DeltaError, InvalidOptionError, InvalidSchemaError, TableExistsError
from bayou.protocol.actions.actions import Protocol


@pytest.mark.smoke
def test_a_table_at_a_path_has_what_its_builder_was_told(spark, table_path):
    table = (
        DeltaTable.create(spark)
        .location(table_path)
        .addColumn("id", "BIGINT", nullable=False, comment="who")
        .addColumn("at", "TIMESTAMP")
        .addColumn("day", "DATE", generatedAlwaysAs="CAST(at AS DATE)")
        .addColumn("k", LongType(), generatedByDefaultAs=IdentityGenerator(start=5, step=2))
        .addColumn("code", "VARCHAR(3)")
        .addColumns(StructType([StructField("s", StringType()), StructField("n", IntegerType())]))
        .partitionedBy("day")
        .property("delta.enableChangeDataFeed", "true")
        .property("my.own", "x")
        .comment("orders")
        .execute()
    )
    assert table.toDF().columns == ["id", "at", "day", "k", "code", "s", "n"]
    snapshot = bayou.open(table_path).snapshot()
    assert snapshot.partition_columns == ("day",)
    assert snapshot.properties == {"delta.enableChangeDataFeed": "true", "my.own": "x"}
    assert snapshot.metadata.description == "orders"
    assert snapshot.schema.field("id").metadata == {"comment": "who"}
    assert {"generatedColumns", "identityColumns", "changeDataFeed"} <= set(snapshot.protocol.writer_features)
    rows = spark.sql("select 1L id, timestamp'2024-01-02 03:04:05' at, 'abc' code, 'x' s, 1 n")
    rows.write.format("delta").mode("append").save(table_path)
    found = table.toDF().select("id", "day", "k").collect()
    assert [(row.id, str(row.day), row.k) for row in found] == [(1, "2024-01-02", 5)]
    with pytest.raises(ConstraintViolationError):
        rows.selectExpr("id", "at", "'abcd' code").write.format("delta").mode("append").save(table_path)


@pytest.mark.smoke
def test_a_replaced_table_is_another_one_with_the_same_history(spark, table_path):
    writer = spark.range(3).write.format("delta").option("delta.enableDeletionVectors", "true")
    writer.option("delta.checkpointInterval", "20").save(table_path)
    before = bayou.open(table_path).snapshot()
    DeltaTable.replace(spark).location(table_path).addColumn("name", "STRING").execute()
    after = bayou.open(table_path).snapshot()
    assert after.version == 1
    assert after.metadata.id != before.metadata.id
    assert after.schema.names == ("name",)
    assert after.properties == {"delta.enableDeletionVectors": "true"}
    assert after.num_files == 0
    assert after.protocol == Protocol(3, 7, ("deletionVectors",), ("appendOnly", "invariants", "deletionVectors"))
    assert [entry.operation for entry in bayou.open(table_path).history()] == ["REPLACE TABLE", "WRITE"]
    assert bayou.read(spark, table_path, version=0).count() == 3
    DeltaTable.createOrReplace(spark).location(table_path).addColumn("id", "INT").execute()
    assert bayou.open(table_path).snapshot().schema.names == ("id",)


def test_a_folder_with_other_files_becomes_no_table(spark, table_path):
    Path(table_path).mkdir()
    Path(table_path, "notes.txt").write_text("mine")
    with pytest.raises(TableExistsError) as caught:
        DeltaTable.create(spark).location(table_path).addColumn("id", "INT").execute()
    assert caught.value.getErrorClass() == "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
    assert not Path(table_path, "_delta_log").exists()


def test_names_that_are_paths(spark, table_path):
    made = DeltaTable.create(spark).tableName(f"delta.`{table_path}`").addColumn("id", "INT").execute()
    assert made.toDF().columns == ["id"]
    assert DeltaTable.forName(spark, f"delta.`{table_path}`").toDF().columns == ["id"]
    with pytest.raises(InvalidOptionError) as caught:
        DeltaTable.create(spark).tableName(f"delta.`{table_path}`").location(f"{table_path}x").addColumn("a", "INT").execute()
    assert caught.value.getErrorClass() == "DELTA_CREATE_TABLE_IDENTIFIER_LOCATION_MISMATCH"


INTEGERS = ("a", "INT")
BAD = {
    "neither name nor location": (
        "DELTA_CREATE_TABLE_MISSING_TABLE_NAME_OR_LOCATION",
        lambda b, _: b.addColumn(*INTEGERS),
    ),
    "an unknown type": ("PARSE_SYNTAX_ERROR", lambda b, p: b.location(p).addColumn("id", "NUMBER")),
    "an unknown function": (
        "DELTA_UDF_IN_GENERATED_COLUMN",
        lambda b, p: b.location(p).addColumn(*INTEGERS).addColumn("g", "INT", generatedAlwaysAs="my_udf(a)"),
    ),
    "another type than the column's": (
        "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH",
        lambda b, p: b.location(p).addColumn(*INTEGERS).addColumn("g", "INT", generatedAlwaysAs="a + 1L"),
    ),
    "a column that is not there": (
        "DELTA_INVALID_GENERATED_COLUMN_REFERENCES",
        lambda b, p: b.location(p).addColumn("g", "INT", generatedAlwaysAs="b"),
    ),
    "an identity that is no BIGINT": (
        "DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE",
        lambda b, p: b.location(p).addColumn("g", "INT", generatedAlwaysAs=IdentityGenerator()),
    ),
    "two columns of one name": (
        "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE",
        lambda b, p: b.location(p).addColumn(*INTEGERS).addColumn("A", "INT"),
    ),
    "a partition column that is not there": (
        "DELTA_PARTITION_COLUMN_NOT_FOUND",
        lambda b, p: b.location(p).addColumn(*INTEGERS).partitionedBy("x"),
    ),
    "an unknown property": (
        "DELTA_UNKNOWN_CONFIGURATION",
        lambda b, p: b.location(p).addColumn(*INTEGERS).property("delta.nothing", "1"),
    ),
    "a clustering column that is not there": (
        "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
        lambda b, p: b.location(p).addColumn(*INTEGERS).clusterBy("x"),
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_no_table_can_be_is_refused_before_there_is_one(spark, table_path, what):
    error_class, build = BAD[what]
    with pytest.raises(DeltaError) as caught:
        build(DeltaTable.create(spark), table_path).execute()
    assert caught.value.getErrorClass() == error_class
    assert not Path(table_path, "_delta_log").exists()


def test_arguments_of_the_wrong_kind_are_type_errors(spark):
    builder = DeltaTable.create(spark)
    for call in (
        lambda: builder.addColumn(1, "INT"),
        lambda: builder.addColumn("a", 1),
        lambda: builder.addColumn("a", "INT", nullable="no"),
        lambda: builder.addColumns("a INT"),
        lambda: builder.partitionedBy(1),
        lambda: builder.property("a", 1),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="cannot both be set"):
        builder.addColumn("a", "BIGINT", generatedAlwaysAs="1", generatedByDefaultAs=IdentityGenerator())
    with pytest.raises(ValueError, match="non-zero"):
        builder.addColumn("a", "BIGINT", generatedAlwaysAs=IdentityGenerator(step=0))


def test_rows_are_written_into_a_new_table_with_check_constraints(spark, table_path):
    option = "delta.constraints.c"
    bayou.enable(spark)
    rows = spark.range(2).write.format("delta")
    with pytest.raises(ConstraintViolationError):
        rows.option(option, "id > 0").save(table_path)
    assert not Path(table_path, "_delta_log").exists()
    rows.option(option, "id < 2").save(table_path)
    assert bayou.open(table_path).snapshot().properties[option] == "id < 2"


@pytest.mark.parametrize(
    ("condition", "error_class"),
    [
        ("id + 1", "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT"),
        ("nobody > 0", "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES"),
        ("reflect('java.lang.System', 'exit') = 0", "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"),
    ],
)
def test_a_table_is_not_made_with_a_constraint_that_is_no_condition(spark, table_path, condition, error_class):
    builder = DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT").property("delta.constraints.c", condition)
    with pytest.raises(InvalidSchemaError) as caught:
        builder.execute()
    assert caught.value.error_class == error_class
    bayou.enable(spark)
    rows = spark.range(1).write.format("delta").option("delta.constraints.c", condition)
    with pytest.raises(DeltaError) as caught:
        rows.save(table_path)
    assert not Path(table_path).exists() or not list(Path(table_path).rglob("*.parquet"))


def test_a_generated_column_has_no_function_without_a_name(spark, table_path):
    builder = DeltaTable.create(spark).location(table_path).addColumn("a", "ARRAY<INT>")
    with pytest.raises(InvalidSchemaError) as caught:
        builder.addColumn("total", "INT", generatedAlwaysAs="aggregate(a, 0, (x, y) -> x + y)").execute()
    assert caught.value.error_class == "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"


@pytest.mark.parametrize("how", ["generatedAlwaysAs", "generatedByDefaultAs"])
@pytest.mark.parametrize("kind", ["int", "string", StringType()])
def test_an_identity_column_that_is_no_bigint_is_refused_where_it_is_named(spark, how, kind):
    with pytest.raises(UnsupportedOperationException, match="DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE"):
        DeltaTable.create(spark).addColumn("n", kind, **{how: IdentityGenerator()})
