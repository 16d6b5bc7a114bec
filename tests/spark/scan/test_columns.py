# SPDX-License-Identifier: Apache-2.0
"""Columns that are not simply there: renamed, missing, void, of fixed length, or with the name of a hidden one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.support.observing import plan_of
from tests.support.tables.built import file_of, ids, numbers_table, without_rows

import bayou
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType
from bayou.testing.table_builder import TableBuilder

MAPPING = Protocol(2, 5)


def mapped(name, kind, identity, physical=None, **metadata):
    names = {"delta.columnMapping.id": identity, "delta.columnMapping.physicalName": physical or f"col-{identity}"}
    return StructField(name, kind, metadata={**names, **metadata})


def with_id(name, kind, identity):
    return pa.field(name, kind, metadata={b"PARQUET:field_id": str(identity).encode()})


NESTED = StructType(
    (
        mapped("id", "long", 1),
        mapped("the map", MapType("string", ArrayType(StructType((mapped("x y", "long", 3), mapped("z", "string", 4))))), 2),
        mapped("s", StructType((mapped("inner", StructType((mapped("deep", "long", 7),)), 6), mapped("other", "long", 8))), 5),
        mapped("p,q", "string", 9),
    )
)


def physical_rows(by_id):
    """Rows of NESTED as the files hold them; where ids decide, the names are others again."""
    name = (lambda identity: f"any{identity}") if by_id else (lambda identity: f"col-{identity}")
    point = pa.struct([with_id(name(3), pa.int64(), 3), with_id(name(4), pa.string(), 4)])
    deep = pa.struct([with_id(name(6), pa.struct([with_id(name(7), pa.int64(), 7)]), 6), with_id(name(8), pa.int64(), 8)])
    schema = pa.schema(
        [with_id(name(1), pa.int64(), 1), with_id(name(2), pa.map_(pa.string(), pa.list_(point)), 2), with_id(name(5), deep, 5)]
    )
    ids_, maps, structs = schema.names
    rows = [
        {
            ids_: 1,
            maps: [("k", [{name(3): 10, name(4): "a"}, {name(3): None, name(4): "b"}])],
            structs: {name(6): {name(7): 100}, name(8): 1},
        },
        {ids_: 2, maps: None, structs: None},
        {ids_: 3, maps: [("k", None)], structs: {name(6): None, name(8): 3}},
    ]
    return pa.Table.from_pylist(rows, schema=schema)


@pytest.fixture(params=["name", "id", "name with vectors", "id with vectors"])
def renamed(request, spark, table_path):
    """A table with column mapping, in which each column was renamed at every depth."""
    mode, _, vectors = request.param.partition(" ")
    configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "9"}
    builder = TableBuilder(table_path).create(NESTED, partition_by=["p,q"], configuration=configuration, protocol=MAPPING)
    rows = physical_rows(by_id=mode == "id")
    fields = without_rows([3]) if vectors else {}
    if vectors:
        rows = pa.concat_tables([rows, rows.slice(0, 1)])
    builder.commit(file_of(table_path, "a.parquet", rows, partitionValues={"col-9": "x"}, **fields))
    return bayou.read(spark, table_path)


def test_renamed_columns_have_their_values_at_every_depth(renamed):
    rows = sorted(renamed.collect(), key=lambda row: row.id)
    assert renamed.columns == ["id", "the map", "s", "p,q"]
    assert [row["the map"] for row in rows] == [{"k": [(10, "a"), (None, "b")]}, None, {"k": None}]
    assert [row.s for row in rows] == [((100,), 1), None, (None, 3)]
    assert [row["p,q"] for row in rows] == ["x"] * 3
    assert renamed.schema["s"].dataType.simpleString() == "struct<inner:struct<deep:bigint>,other:bigint>"


def test_renamed_columns_are_filtered_and_pruned(renamed):
    assert ids(renamed.where("s.inner.deep = 100")) == [1]
    assert ids(renamed.where("s.inner is null")) == [2, 3]
    assert ids(renamed.where("s is null")) == [2]
    assert ids(renamed.where("element_at(`the map`['k'], 1).`x y` > 5")) == [1]
    assert ids(renamed.where("`p,q` = 'x' and id > 1")) == [2, 3]
    deep = renamed.select("s.inner.deep")
    assert sorted(row.deep for row in deep.collect() if row.deep) == [100]
    assert renamed.selectExpr("`the map`['k'].z as z").where("z is not null").collect() == [(["a", "b"],)]
    assert "other" not in plan_of(renamed.select("s.inner.deep")).partition("ReadSchema")[2]


def test_a_column_that_was_dropped_and_added_again_has_no_old_values(spark, table_path):
    schema = StructType((mapped("id", "long", 1), mapped("name", "string", 3)))
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    builder = TableBuilder(table_path).create(schema, configuration=configuration, protocol=MAPPING)
    builder.commit(file_of(table_path, "old.parquet", {"col-1": [1], "col-2": ["old"], "name": ["not this"]}))
    builder.commit(file_of(table_path, "new.parquet", {"col-1": [2], "col-3": ["new"]}))
    assert sorted(bayou.read(spark, table_path).collect()) == [(1, None), (2, "new")]


def test_names_that_are_each_others_physical_names_are_not_mixed_up(spark, table_path):
    schema = StructType((mapped("a", "long", 1, physical="b"), mapped("b", "long", 2, physical="a")))
    for mode in ("name", "id"):
        path = f"{table_path}-{mode}"
        builder = TableBuilder(path).create(schema, configuration={"delta.columnMapping.mode": mode}, protocol=MAPPING)
        rows = pa.table([[1], [2]], schema=pa.schema([with_id("b", pa.int64(), 1), with_id("a", pa.int64(), 2)]))
        builder.commit(file_of(path, "x.parquet", rows, **without_rows([5])))
        frame = bayou.read(spark, path)
        assert frame.collect() == [(1, 2)]
        assert frame.where("a = 1").select("b").collect() == [(2,)]
        assert frame.where("a = 2").collect() == []


@pytest.mark.smoke
def test_columns_that_a_file_lacks_are_null(spark, table_path):
    schema = StructType(
        (
            StructField("id", "long"),
            StructField("s", StructType((StructField("a", "long"), StructField("b", "string")))),
            StructField("l", ArrayType(StructType((StructField("x", "long"), StructField("y", "long"))))),
            StructField("must", "string", nullable=False),
        )
    )
    builder = TableBuilder(table_path).create(schema)
    builder.commit(file_of(table_path, "a.parquet", {"id": [1], "s": pa.array([{"a": 1}]), "l": pa.array([[{"x": 1}]])}))
    builder.commit(file_of(table_path, "b.parquet", {"id": [2], "must": ["here"]}))
    frame = bayou.read(spark, table_path)
    rows = sorted(frame.collect())
    assert [row.asDict(recursive=True) for row in rows] == [
        {"id": 1, "s": {"a": 1, "b": None}, "l": [{"x": 1, "y": None}], "must": None},
        {"id": 2, "s": None, "l": None, "must": "here"},
    ]
    assert frame.schema["must"].nullable is False
    assert frame.where("s.b is null and id = 1").count() == 1


def test_columns_of_the_file_that_the_table_lacks_are_not_seen(spark, table_path):
    builder = TableBuilder(table_path).create()
    builder.commit(file_of(table_path, "a.parquet", {"other": ["x"], "id": [1]}))
    assert bayou.read(spark, table_path).collect() == [(1,)]


def test_columns_match_whatever_their_case(spark, table_path):
    builder = TableBuilder(table_path).create({"Id": "long"})
    builder.commit(file_of(table_path, "a.parquet", {"iD": [1]}))
    frame = bayou.read(spark, table_path)
    assert frame.select("ID").where("id = 1").collect() == [(1,)]
    assert frame.columns == ["Id"]


@pytest.mark.parametrize("vectors", [False, True])
def test_void_columns_are_null(spark, table_path, vectors):
    schema = StructType(
        (StructField("id", "long"), StructField("v", "void"), StructField("s", StructType((StructField("w", "void"),))))
    )
    builder = TableBuilder(table_path).create(schema)
    builder.commit(file_of(table_path, "a.parquet", {"id": [1, 2]}, **(without_rows([1]) if vectors else {})))
    frame = bayou.read(spark, table_path)
    assert frame.columns == ["id", "v", "s"]
    assert frame.select("id", "v").first() == (1, None)
    assert frame.where("v is null").count() == (1 if vectors else 2)
    assert dict(frame.dtypes)["v"] == "void"


@pytest.mark.smoke
def test_char_and_varchar_columns_are_strings_that_compare_padded(spark, table_path):
    def text(name, kind):
        return StructField(name, "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": kind})

    schema = StructType((StructField("id", "long"), text("c", "char(5)"), text("v", "varchar(5)")))
    builder = TableBuilder(table_path).create(schema)
    builder.commit(file_of(table_path, "a.parquet", {"id": [1, 2], "c": ["a    ", "b"], "v": ["a", "b"]}))
    frame = bayou.read(spark, table_path)
    assert frame.dtypes[1:] == [("c", "string"), ("v", "string")]
    assert ids(frame.where("c = 'a'")) == [1]
    assert ids(frame.where("v = 'b'")) == [2]
    assert {row.c for row in frame.collect()} == {"a    ", "b    "}


HIDDEN = ["file_path", "file_name", "file_size", "file_block_start", "file_block_length", "file_modification_time", "row_index"]


@pytest.mark.smoke
@pytest.mark.parametrize("vectors", [False, True])
def test_the_metadata_column_says_where_a_row_comes_from(spark, table_path, vectors):
    rows = {"id": [10, 11, 12], "name": ["a", "b", "c"]}
    builder = TableBuilder(table_path).create({"id": "long", "name": "string", "p": "integer"}, partition_by=["p"])
    fields = without_rows([1]) if vectors else {}
    builder.commit(file_of(table_path, "sub dir/a.parquet", rows, partitionValues={"p": "1"}, **fields))
    frame = bayou.read(spark, table_path)
    found = frame.select("id", "_metadata.row_index", "_metadata.file_name", "_metadata.file_path", "_metadata.file_size").collect()
    live = [(10, 0), (12, 2)] if vectors else [(10, 0), (11, 1), (12, 2)]
    assert [(row.id, row.row_index) for row in found] == live
    assert {row.file_name.replace("%20", " ") for row in found} == {"a.parquet"}
    assert all(row.file_path.replace("%20", " ").endswith(f"{table_path}/sub dir/a.parquet") for row in found)
    assert ids(frame.where("_metadata.row_index = 2")) == [12]
    assert frame.where("_metadata.file_size > 0 and p = 1").count() == len(live)
    assert frame.select("_metadata").first()[0].asDict().keys() == set(HIDDEN)
    assert frame.columns == ["id", "name", "p"]
    assert frame.select("_metadata.row_index").orderBy("row_index").first() == (0,)
    assert frame.groupBy("_metadata.file_name").count().first()[1] == len(live)


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("name", ["dv", "file", "row_index", "file_path", "input_file_name", "__file", "_change_type"])
def test_a_users_column_with_the_name_of_a_hidden_one_is_the_users(spark, table_path, name, vectors):
    builder = TableBuilder(table_path).create({"id": "long", name: "string"})
    rows = {"id": [1, 2, 3], name: ["a", "b", "c"]}
    builder.commit(file_of(table_path, "a.parquet", rows, **(without_rows([1]) if vectors else {})))
    frame = bayou.read(spark, table_path)
    live = [(1, "a"), (3, "c")] if vectors else [(1, "a"), (2, "b"), (3, "c")]
    assert sorted(frame.collect()) == live
    assert frame.where(f"`{name}` = 'c'").select("id").collect() == [(3,)]
    assert frame.columns == ["id", name]


def test_a_users_column_with_the_name_of_sparks_file_facts_is_the_users(spark, table_path):
    builder = TableBuilder(table_path).create({"id": "long", "_metadata": "string"})
    builder.commit(file_of(table_path, "a.parquet", {"id": [1, 2], "_metadata": ["a", "b"]}))
    frame = bayou.read(spark, table_path)
    assert sorted(frame.collect()) == [(1, "a"), (2, "b")]
    assert frame.where("`_metadata` = 'b'").select("id").collect() == [(2,)]
    facts = frame.select("id", "__metadata.row_index")
    assert sorted(map(tuple, facts.collect())) == [(1, 0), (2, 1)]
    builder.commit(file_of(table_path, "b.parquet", {"id": [3, 4], "_metadata": ["c", "d"]}, **without_rows([0])))
    found = bayou.read(spark, table_path)
    assert sorted(found.collect()) == [(1, "a"), (2, "b"), (4, "d")]
    facts = found.select("id", "_metadata", "__metadata.row_index")
    assert sorted(map(tuple, facts.collect())) == [(1, "a", 0), (2, "b", 1), (4, "d", 1)]


@pytest.mark.parametrize("case_sensitive", ["true", "false"])
@pytest.mark.parametrize("columns", [("_metadata",), ("_METADATA",), ("_metadata", "__metadata", "__bayou_x")])
def test_sparks_file_facts_make_way_for_columns_in_any_case(spark, table_path, columns, case_sensitive):
    builder = TableBuilder(table_path).create({"id": "long", **dict.fromkeys(columns, "string")}, partition_by=["id"])
    rows = {name: [f"{name} {row}" for row in range(3)] for name in columns}
    builder.commit(file_of(table_path, "a.parquet", rows, partitionValues={"id": "7"}, **without_rows([1])))
    spark.conf.set("spark.sql.caseSensitive", case_sensitive)
    try:
        found = sorted(map(tuple, bayou.read(spark, table_path).collect()))
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert found == [(7, *(f"{name} {row}" for name in columns)) for row in (0, 2)]


def test_input_file_name_says_the_file(spark, table_path):
    numbers_table(table_path, [1], [2])
    rows = bayou.read(spark, table_path).selectExpr("id", "input_file_name() as f").collect()
    assert {row.id: row.f.rpartition("/")[2] for row in rows} == {1: "0.parquet", 2: "1.parquet"}
