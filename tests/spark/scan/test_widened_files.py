# SPDX-License-Identifier: Apache-2.0
"""Columns whose type was widened: old files hold the narrow type, new ones the wide one, and both are read."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.operations.streams import finish, stream
from tests.support.tables.built import file_of, without_rows

import bayou
from bayou.errors import UnsupportedFeatureError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType
from bayou.testing.table_builder import TableBuilder

WIDENING = Protocol(3, 7, ("typeWidening", "deletionVectors"), ("typeWidening", "deletionVectors"))

# Old files: Arrow type and a value; new files: the same; the type of the table; what the old value reads as.
PAIRS = {
    "byte to long": (pa.int8(), 7, pa.int64(), 1 << 40, "long", 7),
    "integer to long": (pa.int32(), -5, pa.int64(), 1 << 40, "long", -5),
    "float to double": (pa.float32(), 0.5, pa.float64(), 0.1, "double", 0.5),
    "integer to double": (pa.int32(), 3, pa.float64(), 0.25, "double", 3.0),
    "byte to a decimal of few digits": (pa.int8(), 9, pa.decimal128(4, 1), Decimal("1.5"), "decimal(4,1)", Decimal("9.0")),
    "a decimal to a wider one": (
        pa.decimal128(6, 2),
        Decimal("1.25"),
        pa.decimal128(20, 5),
        Decimal("2.00001"),
        "decimal(20,5)",
        Decimal("1.25"),
    ),
    "date to timestamp without zone": (
        pa.date32(),
        dt.date(2024, 1, 2),
        pa.timestamp("us"),
        dt.datetime(2024, 1, 3, 4),  # noqa: DTZ001  (it has no zone)
        "timestamp_ntz",
        dt.datetime(2024, 1, 2),  # noqa: DTZ001
    ),
}
NAMES = {pa.int8(): "byte", pa.int32(): "integer", pa.float32(): "float", pa.date32(): "date", pa.decimal128(6, 2): "decimal(6,2)"}


def changed(name, source, target):
    return StructField(name, target, metadata={"delta.typeChanges": [{"fromType": source, "toType": target}]})


def widened_table(table_path, old, new, source, target, **fields):
    """Two files: the old one with the narrow type, with a row number 1, and the new one, with a row number 2."""
    schema = StructType((StructField("id", "long"), changed("v", source, target)))
    builder = TableBuilder(table_path).create(schema, protocol=WIDENING)
    ids = [pa.array([1], pa.int64()), pa.array([2], pa.int64())]
    builder.commit(file_of(table_path, "old.parquet", pa.table({"id": ids[0], "v": old}), **fields))
    builder.commit(file_of(table_path, "new.parquet", pa.table({"id": ids[1], "v": new})))


@pytest.mark.smoke
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_old_and_new_files_of_a_widened_column_read_as_the_tables_type(spark, table_path, pair):
    stored, value, wide, other, kind, expected = pair
    widened_table(table_path, pa.array([value], stored), pa.array([other], wide), NAMES[stored], kind)
    frame = bayou.read(spark, table_path)
    assert frame.schema["v"].dataType.simpleString() == {"long": "bigint"}.get(kind, kind)
    assert {row.id: row.v for row in frame.collect()} == {1: expected, 2: other}


@pytest.mark.smoke
def test_filters_and_file_metadata_work_on_a_widened_column(spark, table_path):
    widened_table(table_path, pa.array([9], pa.int8()), pa.array([Decimal("1.5")], pa.decimal128(4, 1)), "byte", "decimal(4,1)")
    frame = bayou.read(spark, table_path)
    assert [row.id for row in frame.where("v > 5").collect()] == [1]
    names = frame.where("v < 5").select("_metadata.file_name", "id").collect()
    assert [(row.file_name, row.id) for row in names] == [("new.parquet", 2)]


def test_a_filter_of_a_stream_skips_files_of_each_stored_type(spark, table_path, checkpoint):
    schema = StructType((StructField("id", "long"), changed("v", "byte", "decimal(4,1)")))
    builder = TableBuilder(table_path).create(schema, protocol=WIDENING)
    values = [pa.array([9], pa.int8()), pa.array([9], pa.int8()), pa.array([Decimal("1.5")], pa.decimal128(4, 1))]
    for number, value in enumerate(values):
        stats = {"numRecords": 1, "minValues": {"id": number}, "maxValues": {"id": number}, "nullCount": {"id": 0}}
        builder.commit(file_of(table_path, f"{number}.parquet", {"id": pa.array([number], pa.int64()), "v": value}, stats=stats))
    for number in range(len(values)):
        rows = []
        frame = stream(spark, table_path).where(f"id = {number}")
        writer = frame.writeStream.foreachBatch(lambda batch, _, rows=rows: rows.extend(batch.collect()))
        finish(writer.option("checkpointLocation", f"{checkpoint}{number}").trigger(availableNow=True).start())
        assert [(row.id, row.v) for row in rows] == [(number, Decimal(9) if number < 2 else Decimal("1.5"))]


def test_only_the_columns_that_a_query_uses_are_read_of_each_group(spark, table_path):
    widened_table(table_path, pa.array([9], pa.int8()), pa.array([Decimal("1.5")], pa.decimal128(4, 1)), "byte", "decimal(4,1)")
    plan = bayou.read(spark, table_path).select("v")._jdf.queryExecution().executedPlan().toString()
    assert plan.count("FileScan parquet") == 2
    assert "id#" not in plan


@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_deletion_vectors_apply_to_files_of_the_narrow_type(spark, table_path, vectorised):
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorised)
    old, new = pa.array([9], pa.int8()), pa.array([Decimal("1.5")], pa.decimal128(4, 1))
    widened_table(table_path, old, new, "byte", "decimal(4,1)", **without_rows([0]))
    assert [row.id for row in bayou.read(session, table_path).collect()] == [2]


@pytest.mark.smoke
def test_nested_fields_that_were_widened_are_read(spark, table_path):
    inner = StructType((changed("x", "integer", "long"),))
    schema = StructType(
        (
            StructField("s", inner),
            StructField("a", ArrayType(inner, contains_null=True)),
            StructField("m", MapType("string", inner, value_contains_null=True)),
        )
    )
    builder = TableBuilder(table_path).create(schema, protocol=WIDENING)
    for name, kind in (("old", pa.int32()), ("new", pa.int64())):
        struct = pa.struct([("x", kind)])
        rows = pa.table(
            {
                "s": pa.array([{"x": 1}, None], struct),
                "a": pa.array([[{"x": 2}], None], pa.list_(struct)),
                "m": pa.array([[("k", {"x": 3})], None], pa.map_(pa.string(), struct)),
            }
        )
        builder.commit(file_of(table_path, f"{name}.parquet", rows))
    found = bayou.read(spark, table_path).selectExpr("s.x", "a[0].x", "m['k'].x", "s is null").collect()
    assert sorted(map(tuple, found), key=str) == sorted([(1, 2, 3, False), (None, None, None, True)] * 2, key=str)


@pytest.mark.parametrize(
    ("source", "target", "note"),
    [
        ("string", "long", {"fromType": "string", "toType": "long"}),
        ("long", "integer", {"fromType": "long", "toType": "integer"}),
        ("integer", "decimal(5,1)", {"fromType": "integer", "toType": "decimal(5,1)"}),
        ("long", "integer", "no note"),
    ],
)
def test_a_change_that_is_no_widening_is_refused_by_name_whatever_is_done(spark, table_path, source, target, note):
    widened_table(table_path, [1], [2], source, target)
    commit = Path(table_path, "_delta_log", "00000000000000000000.json")
    quoted = json.dumps(json.dumps([{"fromType": source, "toType": target}], separators=(",", ":")))[1:-1]
    text = commit.read_text().replace(quoted, json.dumps(json.dumps([note], separators=(",", ":")))[1:-1])
    commit.write_text(text)
    for call in (
        lambda: bayou.read(spark, table_path).collect(),
        lambda: bayou.DeltaTable.forPath(spark, table_path).delete("id = 1"),
        lambda: bayou.write(spark.range(1), table_path, mode="append"),
    ):
        with pytest.raises(
            UnsupportedFeatureError, match=r"unsupported type change was applied. Field v was changed from"
        ) as caught:
            call()
        assert caught.value.error_class == "DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA"
    assert bayou.open(table_path).version() == 2
