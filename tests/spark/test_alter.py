# SPDX-License-Identifier: Apache-2.0
"""Changes of a table's metadata: what they change, that rows stay readable, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import types as T  # noqa: N812
from tests.spark.counting import jobs
from tests.spark.tables import file_of, without_rows

import bayou
from bayou import DeltaTable
from bayou.errors import (
    ConcurrentAppendException,
    ConstraintViolationError,
    InvalidOptionError,
    InvalidSchemaError,
    MetadataChangedException,
    UnsupportedFeatureError,
)
from bayou.protocol.actions import DomainMetadata, Protocol
from bayou.protocol.schema import ArrayType, MapType, StructField, StructType
from bayou.spark import alter, alter_constraints
from bayou.spark.alter_target import AlterTarget
from bayou.testing.table_builder import TableBuilder

MAPPED = Protocol(2, 5)
INNER = StructType((StructField("x", "integer"), StructField("y", "string")))
IDENTITY = {"delta.identity.start": 10, "delta.identity.step": 5, "delta.identity.allowExplicitInsert": True}


def create(spark, path, *fields, protocol=None, partition_by=(), **configuration):
    names = {name.replace("__", "."): value for name, value in configuration.items()}
    given = {"protocol": protocol} if protocol else {}
    TableBuilder(path).create(schema=StructType(fields), partition_by=partition_by, configuration=names, **given)
    return DeltaTable.forPath(spark, path)


@pytest.fixture
def table(spark, table_path):
    """Three rows of an id, a text and a struct, in one file."""
    found = create(spark, table_path, StructField("id", "integer"), StructField("name", "string"), StructField("s", INNER))
    append(spark.sql("select cast(id as int) id, concat('n', id) name, struct(cast(id as int) x, 'y' y) s from range(3)"), found)
    return found


@pytest.fixture
def mapped(table):
    """The same with column mapping."""
    table.setProperties({"delta.columnMapping.mode": "name"})
    return table


def append(frame, table, **options):
    frame.coalesce(1).write.format("delta").mode("append").options(**options).save(table._path)


def state(table):
    return bayou.open(table._path).snapshot()


def files(table):
    return {str(file) for file in Path(table._path).rglob("*.parquet") if "_delta_log" not in file.parts}


def last(table):
    row = table.history(1).collect()[0]
    return row.operation, row.operationParameters


def parameter(table, name):
    return json.loads(last(table)[1][name])


def rows(table):
    return sorted(tuple(row) for row in table.toDF().collect())


def refused(table, change, error, error_class=None):
    """A change that is refused, and that leaves no commit."""
    version, before = state(table).version, files(table)
    with pytest.raises(error) as caught:
        change()
    assert isinstance(caught.value, PySparkException)
    assert (state(table).version, files(table)) == (version, before)
    if error_class is not None:
        assert caught.value.getErrorClass() == error_class
    return caught.value


def unchanged(table, change):
    """A change that is none commits nothing."""
    version = state(table).version
    change()
    assert state(table).version == version


@pytest.mark.smoke
def test_added_columns_are_null_in_the_rows_that_are_there(spark, table):
    before = files(table)
    table.addColumns(T.StructType([T.StructField("n", T.LongType()), T.StructField("v", T.VarcharType(5))]), after="id")
    assert state(table).schema.names == ("id", "n", "v", "name", "s")
    assert last(table)[0] == "ADD COLUMNS"
    first, second = parameter(table, "columns")
    assert first == {"column": {"name": "n", "type": "long", "nullable": True, "metadata": {}}, "position": "AFTER id"}
    assert second["position"] == "AFTER n"
    assert rows(table) == [(i, None, None, f"n{i}", (i, "y")) for i in range(3)]
    assert files(table) == before
    append(spark.sql("select 9 id, 7L n, 'abc' v, 'n9' name, struct(1 x, 'y' y) s"), table)
    assert (9, 7, "abc", "n9", (1, "y")) in rows(table)
    with pytest.raises(ConstraintViolationError):
        append(spark.sql("select 'too long' v"), table)


def test_fields_are_added_to_structs_in_arrays_and_maps(spark, table_path):
    nested = StructField("m", MapType("string", ArrayType(INNER)))
    table = create(spark, table_path, StructField("id", "integer"), nested, StructField("s", INNER))
    append(spark.sql("select 1 id, map('k', array(struct(1 x, 'a' y))) m, struct(2 x, 'b' y) s"), table)
    table.addColumns([T.StructField("z", T.DoubleType())], parent="m.value.element", first=True)
    assert parameter(table, "columns")[0]["column"]["name"] == "m.value.element.z"
    table.addColumns("w int comment 'new', v string", parent=["s"])
    (row,) = table.toDF().collect()
    assert row.asDict(recursive=True) == {
        "id": 1,
        "m": {"k": [{"z": None, "x": 1, "y": "a"}]},
        "s": {"x": 2, "y": "b", "w": None, "v": None},
    }
    assert table.toDF().schema["s"].dataType["w"].metadata == {"comment": "new"}


def test_columns_that_old_rows_cannot_have_are_not_added(table):
    refused(table, lambda: table.addColumns("n int not null"), InvalidSchemaError, "DELTA_OPERATION_NOT_ALLOWED")
    refused(table, lambda: table.addColumns("NAME string"), InvalidSchemaError, "DELTA_DUPLICATE_COLUMNS_FOUND.ADDING_COLUMNS")
    refused(table, lambda: table.addColumns("n int", parent="id"), InvalidSchemaError, "DELTA_ADD_COLUMN_PARENT_NOT_STRUCT")
    refused(table, lambda: table.addColumns("n int", after="no"), InvalidSchemaError, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA")
    refused(table, lambda: table.addColumns("n interval day"), InvalidSchemaError, "DELTA_UNSUPPORTED_DATA_TYPES")
    refused(table, lambda: table.addColumns("this is no schema"), InvalidSchemaError, "PARSE_SYNTAX_ERROR")
    refused(table, lambda: table.addColumns(["n"]), InvalidOptionError)
    generated = T.StructField("g", T.LongType(), True, {"delta.generationExpression": "id"})
    refused(table, lambda: table.addColumns([generated]), InvalidSchemaError, "DELTA_OPERATION_NOT_ALLOWED")
    by_hand = "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT"
    refused(table, lambda: table.addColumns("t timestamp_ntz"), UnsupportedFeatureError, by_hand)
    table.addFeatureSupport("TIMESTAMPNTZ")
    table.addColumns("t timestamp_ntz")
    assert rows(table)[0] == (0, "n0", (0, "y"), None)


@pytest.mark.smoke
def test_with_column_mapping_columns_are_renamed_and_dropped_and_files_stay(spark, mapped):
    before = files(mapped)
    mapped.renameColumn("name", "full name")
    assert last(mapped) == ("RENAME COLUMN", {"oldColumnPath": "name", "newColumnPath": "full name"})
    mapped.renameColumn(["s", "x"], "a.b")
    assert mapped.toDF().select("full name", "s.`a.b`").orderBy("full name").collect()[1] == ("n1", 1)
    mapped.dropColumns("s.y", "id")
    assert last(mapped)[0] == "DROP COLUMNS"
    assert parameter(mapped, "columns") == ["s.y", "id"]
    assert rows(mapped) == [(f"n{i}", (i,)) for i in range(3)]
    mapped.addColumns("id string")
    assert rows(mapped) == [(f"n{i}", (i,), None) for i in range(3)]
    append(spark.sql("select 'n7' `full name`, struct(7 `a.b`) s, 'seven' id"), mapped)
    assert ("n7", (7,), "seven") in rows(mapped)
    assert before < files(mapped)
    unchanged(mapped, lambda: mapped.renameColumn("id", "id"))


def test_without_column_mapping_columns_keep_their_names(table):
    refused(table, lambda: table.renameColumn("id", "k"), UnsupportedFeatureError, "DELTA_UNSUPPORTED_RENAME_COLUMN")
    refused(table, lambda: table.dropColumns("id"), UnsupportedFeatureError, "DELTA_UNSUPPORTED_DROP_COLUMN")


def test_partition_and_statistics_columns_go_with_the_name_of_their_column(spark, table_path):
    table = create(spark, table_path, StructField("p", "string"), StructField("a", "long"), partition_by=("p",))
    append(spark.sql("select concat('p', id) p, id a from range(3)"), table)
    table.setProperties({"delta.columnMapping.mode": "name", "delta.dataSkippingStatsColumns": "a"})
    table.renameColumn("p", "q")
    table.renameColumn("a", "b")
    assert state(table).partition_columns == ("q",)
    assert state(table).properties["delta.dataSkippingStatsColumns"] == "b"
    assert [tuple(row) for row in table.toDF().where("q = 'p1'").collect()] == [("p1", 1)]
    append(spark.sql("select 'p9' q, 9L b"), table)
    assert table.toDF().where("b = 9").count() == 1
    refused(table, lambda: table.dropColumns("q"), InvalidSchemaError, "DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN")
    table.addColumns("c long")
    table.dropColumns("b")
    assert "delta.dataSkippingStatsColumns" not in state(table).properties
    assert sorted(row.q for row in table.toDF().collect()) == ["p0", "p1", "p2", "p9"]


def test_the_last_column_and_unknown_ones_are_not_dropped(mapped):
    refused(mapped, lambda: mapped.dropColumns("nothing"), InvalidSchemaError, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA")
    everything = ("id", "name", "s")
    refused(mapped, lambda: mapped.dropColumns(*everything), InvalidSchemaError, "DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA")
    refused(mapped, lambda: mapped.renameColumn("id", "NAME"), InvalidSchemaError, "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE")
    refused(mapped, lambda: mapped.renameColumn("a, b", "c"), InvalidOptionError)
    refused(mapped, lambda: mapped.changeColumn([], comment="c"), InvalidOptionError)
    refused(mapped, lambda: mapped.renameColumn("s.x", ""), InvalidSchemaError, "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES")


@pytest.mark.smoke
def test_columns_change_their_comment_place_and_nullability(spark, table_path):
    table = create(spark, table_path, StructField("id", "integer", nullable=False), StructField("s", INNER))
    append(spark.sql("select 1 id, struct(1 x, 'y' y) s"), table)
    table.changeColumn("s.y", comment="a text", first=True)
    assert last(table)[0] == "CHANGE COLUMN"
    assert parameter(table, "column")["name"] == "s.y"
    assert last(table)[1]["position"] == "FIRST"
    assert table.toDF().schema["s"].dataType["y"].metadata == {"comment": "a text"}
    assert rows(table) == [(1, ("y", 1))]
    table.changeColumn("id", nullable=True, after="s")
    append(spark.sql("select struct('y' y, 2 x) s, cast(null as int) id"), table)
    assert table.toDF().columns == ["s", "id"]
    assert sorted(row.s.x for row in table.toDF().collect()) == [1, 2]
    unchanged(table, lambda: table.changeColumn("id", nullable=True, after="s"))
    unsupported = "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"
    refused(table, lambda: table.changeColumn("id", nullable=False), InvalidSchemaError, unsupported)
    refused(table, lambda: table.changeColumn("id", dataType="bigint"), InvalidSchemaError, unsupported)
    refused(table, lambda: table.changeColumn("s", dataType="string"), InvalidSchemaError, "DELTA_CANNOT_UPDATE_STRUCT_FIELD")
    refused(table, lambda: table.changeColumn("id", first=True, after="s"), InvalidOptionError)


@pytest.mark.smoke
def test_types_become_wider_where_the_table_enables_it(spark, table):
    table.setProperties({"delta.enableTypeWidening": "true"})
    assert "typeWidening" in state(table).protocol.writer_features
    before = files(table)
    table.changeColumn("id", dataType=T.LongType())
    table.changeColumn("s.x", dataType="double")
    assert state(table).schema.field("id").metadata["delta.typeChanges"] == [{"fromType": "integer", "toType": "long"}]
    assert files(table) == before
    assert rows(table) == [(i, f"n{i}", (float(i), "y")) for i in range(3)]
    table.addColumns("v void, c char(3), arr array<int>")
    table.changeColumn("v", dataType="date")
    table.changeColumn("c", dataType="varchar(5)")
    table.changeColumn("c", dataType="string")
    table.changeColumn("arr.element", dataType="bigint")
    refused(
        table, lambda: table.changeColumn("arr.element", comment="c"), InvalidSchemaError, "DELTA_UNSUPPORTED_COMMENT_MAP_ARRAY"
    )
    assert table.toDF().select("v", "c", "arr").distinct().collect() == [(None, None, None)]
    table.replaceColumns("id bigint, name string, s struct<x: double, y: string>, v date, c string, arr array<bigint>, d int")
    assert rows(table)[0] == (0, "n0", (0.0, "y"), None, None, None, None)
    append(spark.sql("select shiftleft(1L, 40) id, 'n' name, struct(0.5D x, 'y' y) s"), table)
    assert (1 << 40, "n", (0.5, "y")) in {row[:3] for row in rows(table)}
    refused(table, lambda: table.changeColumn("id", dataType="int"), InvalidSchemaError)


def test_columns_are_replaced_as_far_as_their_rows_fit(table):
    table.replaceColumns("name string comment 'new', id int, more date, s struct<y: string, x: int>")
    assert last(table)[0] == "REPLACE COLUMNS"
    assert state(table).schema.names == ("name", "id", "more", "s")
    assert rows(table) == [(f"n{i}", i, None, ("y", i)) for i in range(3)]
    replaced = "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"
    refused(table, lambda: table.replaceColumns("name string, id int"), InvalidSchemaError, replaced)
    ambiguous = "DELTA_AMBIGUOUS_DATA_TYPE_CHANGE"
    refused(table, lambda: table.replaceColumns("name string, other int"), InvalidSchemaError, ambiguous)


def test_what_expressions_of_the_table_use_is_neither_renamed_nor_dropped_nor_retyped(spark, table_path):
    generated = StructField("g", "integer", True, {"delta.generationExpression": "b + 1"})
    table = create(
        spark,
        table_path,
        StructField("a", "integer"),
        StructField("b", "integer"),
        StructField("s", INNER),
        generated,
        protocol=Protocol(2, 5),
        delta__columnMapping__mode="none",
        delta__enableTypeWidening="false",
    )
    append(spark.sql("select 1 a, 2 b, struct(3 x, 'y' y) s"), table)
    table.setProperties({"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"})
    table.addConstraint("small", "a < 10 and s.x < 10")
    for column in ("a", "s.x", "s"):
        found = refused(
            table, lambda c=column: table.renameColumn(c, "z"), InvalidSchemaError, "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE"
        )
        assert found.dependents == ("small",)
        refused(table, lambda c=column: table.dropColumns(c), InvalidSchemaError, "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE")
    constrained = "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE"
    refused(table, lambda: table.changeColumn("s.x", dataType="bigint"), InvalidSchemaError, constrained)
    dependent = "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE"
    refused(table, lambda: table.renameColumn("b", "z"), InvalidSchemaError, dependent)
    refused(table, lambda: table.dropColumns("b"), InvalidSchemaError, dependent)
    refused(table, lambda: table.changeColumn("b", dataType="bigint"), InvalidSchemaError, dependent)
    of_its_expression = "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH"
    refused(table, lambda: table.changeColumn("g", dataType="bigint"), InvalidSchemaError, of_its_expression)
    table.renameColumn("s.y", "z")
    table.dropColumns("b", "g")
    assert rows(table) == [(1, (3, "y"))]


@pytest.mark.smoke
def test_a_constraint_is_checked_against_all_rows_in_one_query_and_then_holds(spark, table):
    with jobs(spark) as started:
        table.addConstraint("Positive", "id >= 0 and s.x is not null")
    assert started.value <= 2  # one for each stage of the aggregate
    assert state(table).properties["delta.constraints.positive"] == "id >= 0 and s.x is not null"
    assert state(table).protocol == Protocol(1, 3)
    assert last(table) == ("ADD CONSTRAINT", {"name": "Positive", "expr": "id >= 0 and s.x is not null"})
    with pytest.raises(ConstraintViolationError):
        append(spark.sql("select -1 id, 'n' name, struct(1 x, 'y' y) s"), table)
    taken = "DELTA_CONSTRAINT_ALREADY_EXISTS"
    refused(table, lambda: table.addConstraint("POSITIVE", "id < 9"), InvalidSchemaError, taken)
    table.dropConstraint("POSITIVE")
    dropped = {"name": "POSITIVE", "expr": "id >= 0 and s.x is not null", "existed": "true"}
    assert last(table) == ("DROP CONSTRAINT", dropped)
    assert "delta.constraints.positive" not in state(table).properties
    append(spark.sql("select -1 id, 'n' name, struct(1 x, 'y' y) s"), table)
    unchanged(table, lambda: table.dropConstraint("positive", ifExists=True))
    refused(table, lambda: table.dropConstraint("positive"), InvalidSchemaError, "DELTA_CONSTRAINT_DOES_NOT_EXIST")


@pytest.mark.smoke
def test_rows_that_break_a_new_constraint_are_counted_and_some_are_shown(spark, table_path):
    table = create(spark, table_path, StructField("id", "long"), StructField("t", "string"))
    append(spark.range(1000).selectExpr("if(id < 10, null, id) id", "'t' t"), table)
    found = refused(
        table,
        lambda: table.addConstraint("large", "id >= 500 -- NULL breaks it too"),
        ConstraintViolationError,
        "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION",
    )
    assert found.num_violations == 500
    assert "500 rows in" in str(found)
    assert 1 <= len(found.rows) <= 5
    assert all(row["id"] is None or row["id"] < 500 for row in found.rows)
    assert found.constraint == "large"


def test_a_constraint_is_a_condition_on_the_columns_of_a_row(table):
    refused(table, lambda: table.addConstraint("c", "id + 1"), InvalidSchemaError, "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT")
    refused(table, lambda: table.addConstraint("c", "no > 1"), InvalidSchemaError, "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES")
    refused(
        table,
        lambda: table.addConstraint("c", "rand() > 1"),
        InvalidSchemaError,
        "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT",
    )
    subquery = "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"
    refused(table, lambda: table.addConstraint("c", "id in (select 1)"), InvalidSchemaError, subquery)
    refused(table, lambda: table.addConstraint("c", "id >"), InvalidSchemaError)
    refused(table, lambda: table.addConstraint("c", "s.no > 1"), AnalysisException)
    refused(table, lambda: table.setProperties({"delta.constraints.c": "id > 0"}), InvalidOptionError, "DELTA_ADD_CONSTRAINTS")
    table.addConstraint("today", "current_date() > date'2000-01-01'")


def test_rows_that_come_while_a_constraint_is_checked_are_a_conflict(spark, table, monkeypatch):
    original = alter_constraints._refuse_violations

    def late(*arguments):
        original(*arguments)
        append(spark.sql("select -1 id, 'n' name, struct(1 x, 'y' y) s"), table)

    monkeypatch.setattr(alter_constraints, "_refuse_violations", late)
    with pytest.raises(ConcurrentAppendException):
        table.addConstraint("positive", "id >= 0")
    assert "delta.constraints.positive" not in state(table).properties


@pytest.mark.smoke
def test_properties_are_set_and_unset_with_the_features_that_they_need(table):
    table.setProperties({"delta.ENABLECHANGEDATAFEED": "true", "owner": "us", "delta.checkpointInterval": 20})
    assert last(table)[0] == "SET TBLPROPERTIES"
    assert parameter(table, "properties")["owner"] == "us"
    found = state(table)
    assert found.properties == {"delta.enableChangeDataFeed": "true", "owner": "us", "delta.checkpointInterval": "20"}
    assert "changeDataFeed" in found.protocol.writer_features
    unchanged(table, lambda: table.setProperties({"owner": "us"}))
    table.unsetProperties("DELTA.enableChangeDataFeed", "owner")
    assert last(table)[0] == "UNSET TBLPROPERTIES"
    assert parameter(table, "properties") == ["delta.enableChangeDataFeed", "owner"]
    assert state(table).properties == {"delta.checkpointInterval": "20"}
    refused(table, lambda: table.unsetProperties("owner"), InvalidOptionError, "DELTA_UNSET_NON_EXISTENT_PROPERTY")
    unchanged(table, lambda: table.unsetProperties("owner", ifExists=True))
    assert len(rows(table)) == 3


def test_case_counts_for_the_keys_of_users(table):
    table.setProperties({"My.Own": "a", "my.own": "b"})
    table.unsetProperties("My.Own")
    assert state(table).properties == {"my.own": "b"}
    refused(table, lambda: table.unsetProperties("MY.OWN"), InvalidOptionError, "DELTA_UNSET_NON_EXISTENT_PROPERTY")


def test_the_comment_of_the_table_is_its_description(table):
    table.setComment("three rows")
    assert table.detail().collect()[0].description == "three rows"
    assert state(table).properties == {}
    table.unsetProperties("Comment")
    assert table.detail().collect()[0].description is None
    unchanged(table, lambda: table.setComment(None))


def test_properties_that_no_user_sets_are_refused(table):
    for properties, error_class in (
        ({"location": "/x"}, "DELTA_CANNOT_CHANGE_LOCATION"),
        ({"provider": "parquet"}, "DELTA_CANNOT_CHANGE_PROVIDER"),
        ({"delta.feature.clustering": "supported"}, "DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED"),
        ({"delta.columnMapping.maxColumnId": "7"}, "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"),
        ({"delta.columnMapping.mode": "id"}, "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"),
        ({"delta.checkpointIntervall": "7"}, "DELTA_UNKNOWN_CONFIGURATION"),
        ({"delta.dataSkippingStatsColumns": "no"}, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ):
        refused(table, lambda given=properties: table.setProperties(given), (InvalidOptionError, InvalidSchemaError), error_class)
    blocked = {"delta.enableIcebergCompatV2": "true"}
    refused(table, lambda: table.setProperties(blocked), UnsupportedFeatureError)


def test_column_mapping_is_turned_on_and_keeps_its_own_property(mapped):
    found = state(mapped)
    assert found.schema.field("name").physical_name == "name"
    assert found.schema.field("name").field_id == 2
    assert found.properties["delta.columnMapping.maxColumnId"] == "5"
    assert found.protocol.min_reader_version == 2
    assert len(rows(mapped)) == 3
    refused(
        mapped,
        lambda: mapped.unsetProperties("delta.columnMapping.maxColumnId"),
        InvalidOptionError,
        "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
    )


def test_row_tracking_begins_with_a_table_without_files(spark, tmp_path):
    wanted = {"delta.enableRowTracking": "true"}
    empty = create(spark, str(tmp_path / "empty"), StructField("id", "long"))
    empty.setProperties(wanted)
    assert state(empty).properties["delta.rowTracking.materializedRowIdColumnName"].startswith("_row-id-col-")
    append(spark.range(3), empty)
    assert state(empty).files(["base_row_id"])["base_row_id"].to_pylist() == [0]


@pytest.mark.smoke
def test_an_identity_column_goes_on_behind_what_its_writers_brought(spark, table_path):
    table = create(spark, table_path, StructField("k", "long", True, IDENTITY), StructField("v", "long"), protocol=Protocol(1, 6))
    unchanged(table, lambda: table.syncIdentity("k"))
    append(spark.sql("select 42L k, 0L v"), table)
    table.syncIdentity("K")
    assert state(table).schema.field("k").metadata["delta.identity.highWaterMark"] == 45
    assert last(table)[0] == "CHANGE COLUMN"
    unchanged(table, lambda: table.syncIdentity("k"))
    append(spark.sql("select 1L v"), table)
    assert sorted(row.k for row in table.toDF().collect()) == [42, 50]
    not_one = "DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN"
    refused(table, lambda: table.syncIdentity("v"), InvalidSchemaError, not_one)


@pytest.mark.smoke
def test_the_protocol_rises_and_never_falls(table):
    table.upgradeTableProtocol(1, 3)
    assert state(table).protocol == Protocol(1, 3)
    assert last(table)[0] == "SET TBLPROPERTIES"
    assert parameter(table, "properties") == {"delta.minReaderVersion": "1", "delta.minWriterVersion": "3"}
    unchanged(table, lambda: table.upgradeTableProtocol(1, 2))
    unchanged(table, lambda: table.upgradeTableProtocol(3, 7))
    needs_writers = "DELTA_READ_FEATURE_PROTOCOL_REQUIRES_WRITE"
    refused(table, lambda: table.setProperties({"delta.minReaderVersion": "3"}), InvalidOptionError, needs_writers)
    table.addFeatureSupport("rowtracking")
    assert {"rowTracking", "domainMetadata"} <= set(state(table).protocol.writer_features)
    assert last(table)[0] == "SET TBLPROPERTIES"
    unchanged(table, lambda: table.addFeatureSupport("rowTracking"))
    refused(table, lambda: table.upgradeTableProtocol(4, 7), InvalidOptionError)
    refused(table, lambda: table.upgradeTableProtocol(3, 5), InvalidOptionError, needs_writers)
    with pytest.raises(ValueError, match="The readerVersion needs to be an integer but got"):
        table.upgradeTableProtocol("1", 2)
    with pytest.raises(ValueError, match="featureName needs to be a string but got"):
        table.addFeatureSupport(5)
    with pytest.raises(ValueError, match="featureName needs to be a string but got"):
        table.dropFeatureSupport(5)
    with pytest.raises(ValueError, match="truncateHistory needs to be a boolean but got"):
        table.dropFeatureSupport("rowTracking", "yes")
    unknown = "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG"
    refused(table, lambda: table.addFeatureSupport("nothing"), UnsupportedFeatureError, unknown)
    refused(table, lambda: table.addFeatureSupport("icebergCompatV1"), UnsupportedFeatureError)
    assert len(rows(table)) == 3


@pytest.mark.smoke
def test_features_of_writers_are_dropped_in_one_commit(table):
    table.addConstraint("c", "id >= 0")
    left = "DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE"
    refused(table, lambda: table.dropFeatureSupport("checkConstraints"), InvalidOptionError, left)
    table.dropConstraint("c")
    version = state(table).version
    table.dropFeatureSupport("CHECKCONSTRAINTS")
    assert state(table).protocol == Protocol(1, 2)
    assert state(table).version == version + 1
    assert last(table) == ("DROP FEATURE", {"featureName": "checkConstraints", "truncateHistory": "false"})
    absent = "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"
    refused(table, lambda: table.dropFeatureSupport("checkConstraints"), InvalidOptionError, absent)
    assert len(rows(table)) == 3


def test_domains_and_timestamps_go_with_their_feature(spark, table):
    table.addFeatureSupport("domainMetadata")
    with bayou.open(table._path).transaction("Manual Update") as transaction:
        transaction.commit([DomainMetadata("mine", "{}")])
    table.setProperties({"delta.enableInCommitTimestamps": "true"})
    append(spark.sql("select 5 id"), table)
    table.dropFeatureSupport("domainMetadata")
    assert not state(table).domain_metadata
    table.dropFeatureSupport("inCommitTimestamp")
    found = state(table)
    assert found.protocol == Protocol(1, 2)
    assert found.properties == {"delta.enableInCommitTimestamps": "false"}
    append(spark.sql("select 6 id"), table)
    assert table.toDF().count() == 5


@pytest.mark.smoke
def test_features_of_readers_leave_checkpoints_that_old_versions_are_read_by(spark, table):
    table.setProperties({"delta.checkpointPolicy": "v2", "delta.enableTypeWidening": "true"})
    bayou.open(table._path).checkpoint()
    before = state(table).version
    table.dropFeatureSupport("v2Checkpoint")
    found = state(table)
    assert "v2Checkpoint" not in found.protocol.reader_features
    assert "checkpointProtection" in found.protocol.writer_features
    assert found.properties["delta.checkpointPolicy"] == "classic"
    assert found.properties["delta.requireCheckpointProtectionBeforeVersion"] == str(found.version)
    operations = [row.operation for row in table.history(5).collect()]
    assert operations == ["DROP FEATURE", "Empty Commit", "Empty Commit", "Empty Commit", "SET TBLPROPERTIES"]
    assert found.version == before + 5
    table.dropFeatureSupport("typeWidening")
    assert state(table).protocol.reader_features is None
    assert len(rows(table)) == 3
    assert bayou.read(spark, table._path, version=before).count() == 3


def test_deletion_vectors_are_dropped_with_the_files_that_have_some(spark, table, tmp_path):
    table.setProperties({"delta.enableDeletionVectors": "true"})
    table.dropFeatureSupport("deletionVectors")
    assert state(table).protocol.reader_features is None
    assert "delta.enableDeletionVectors" not in state(table).properties
    assert len(rows(table)) == 3
    path = str(tmp_path / "marked")
    has_vectors = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    stats = {"numRecords": 3, "tightBounds": False}
    TableBuilder(path).create(protocol=has_vectors).commit(
        file_of(path, "a.parquet", {"id": pa.array([1, 2, 3], pa.int64())}, stats=stats, **without_rows([1]))
    )
    marked = DeltaTable.forPath(spark, path)
    marked.dropFeatureSupport("deletionVectors")
    assert state(marked).protocol.reader_features is None
    assert sorted(row.id for row in marked.toDF().collect()) == [1, 3]


def test_a_feature_is_dropped_on_top_of_what_came_in_between(spark, table, monkeypatch):
    table.addFeatureSupport("vacuumProtocolCheck")
    original = AlterTarget.begin
    came = []

    def late(self, snapshot, operation, *arguments, **options):
        transaction = original(self, snapshot, operation, *arguments, **options)
        if operation == "DROP FEATURE" and not came:
            came.append(operation)
            append(spark.sql("select 9 id"), table)
        return transaction

    monkeypatch.setattr(AlterTarget, "begin", late)
    table.dropFeatureSupport("vacuumProtocolCheck")
    found = state(table)
    assert found.protocol.reader_features is None
    assert found.properties["delta.requireCheckpointProtectionBeforeVersion"] == str(found.version)
    assert [row.operation for row in table.history(3).collect()] == ["DROP FEATURE", "WRITE", "Empty Commit"]
    assert table.toDF().count() == 4


def test_two_changes_of_the_metadata_at_once_are_a_conflict(table, monkeypatch):
    original = alter.altered

    def late(*arguments):
        monkeypatch.setattr(alter, "altered", original)
        table.setProperties({"other": "1"})
        return original(*arguments)

    monkeypatch.setattr(alter, "altered", late)
    with pytest.raises(MetadataChangedException):
        table.setProperties({"mine": "1"})
    assert state(table).properties == {"other": "1"}


def test_features_that_no_table_can_lose_or_that_others_need_are_not_dropped(mapped):
    nonremovable = "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"
    refused(mapped, lambda: mapped.dropFeatureSupport("appendOnly"), UnsupportedFeatureError, nonremovable)
    property_name = "DELTA_FEATURE_DROP_FEATURE_IS_DELTA_PROPERTY"
    refused(mapped, lambda: mapped.dropFeatureSupport("delta.enableTypeWidening"), InvalidOptionError, property_name)
    mapped.addFeatureSupport("rowTracking")
    needed = "DELTA_FEATURE_DROP_DEPENDENT_FEATURE"
    refused(mapped, lambda: mapped.dropFeatureSupport("domainMetadata"), UnsupportedFeatureError, needed)
