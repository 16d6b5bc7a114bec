# SPDX-License-Identifier: Apache-2.0
"""Columns are added, renamed, dropped, replaced and changed: rows stay readable, files stay, and what cannot be is refused."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T  # noqa: N812
from tests.support.tables.altered import INNER, append, create, files, last, parameter, refused, rows, state, unchanged

from bayou.errors import ConstraintViolationError, InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError
from bayou.protocol.types.schema import ArrayType, MapType, StructField


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
