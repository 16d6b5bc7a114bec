# SPDX-License-Identifier: Apache-2.0
"""A new file's columns against the table's: what a footer can have wrong, type by type and at every depth."""

from __future__ import annotations

import io
import itertools

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.cases import in_one_test

from bayou.log.staging.footer_types import differences
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType

STORED = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(5,2)": pa.decimal128(5, 2),
    "decimal(18,0)": pa.decimal128(18, 0),
    "decimal(38,10)": pa.decimal128(38, 10),
}


def wrapped(depth, kind, stored):
    """A type inside of collections, for the table and for Arrow."""
    return {
        "top": (kind, stored),
        "struct": (StructType((StructField("s", kind),)), pa.struct([("s", stored)])),
        "array": (ArrayType(kind), pa.list_(pa.field("element", stored))),
        "map value": (MapType("string", kind), pa.map_(pa.string(), stored)),
        "map key": (MapType(kind, "string"), pa.map_(stored, pa.string())),
        "array of structs": (
            ArrayType(StructType((StructField("s", kind),))),
            pa.list_(pa.field("element", pa.struct([("s", stored)]))),
        ),
    }[depth]


DEPTHS = ("top", "struct", "array", "map value", "map key", "array of structs")


def footer(*fields, **options):
    sink = io.BytesIO()
    pq.write_table(pa.schema(fields).empty_table(), sink, store_decimal_as_integer=True, **options)
    return pq.read_metadata(io.BytesIO(sink.getvalue()))


def with_id(field, number):
    return field.with_metadata({"PARQUET:field_id": str(number)})


def table_field(name, number, kind="long"):
    return StructField(name, kind, metadata={"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"p{number}"})


@in_one_test("kind", STORED)
@in_one_test("depth", DEPTHS)
def test_a_file_with_the_tables_types_has_no_differences(kind, depth):
    wanted, stored = wrapped(depth, kind, STORED[kind])
    assert not list(differences(footer(pa.field("c", stored)), [StructField("c", wanted)], with_ids=False))


@pytest.mark.parametrize("depth", DEPTHS)
def test_every_other_type_is_a_difference_that_names_the_column(depth):
    for kind, other in itertools.permutations(STORED, 2):
        wanted, _ = wrapped(depth, kind, STORED[kind])
        _, stored = wrapped(depth, other, STORED[other])
        (found,) = differences(footer(pa.field("c", stored)), [StructField("c", wanted)], with_ids=False)
        assert found.startswith("column c")
        assert kind in found


@pytest.mark.parametrize("stored", [pa.timestamp("ms", "UTC"), pa.timestamp("us")])
def test_instants_in_another_form_are_a_difference(stored):
    assert list(differences(footer(pa.field("c", stored)), [StructField("c", "timestamp")], with_ids=False))


def test_instants_as_int96_are_a_difference():
    old = footer(pa.field("c", pa.timestamp("ns")), use_deprecated_int96_timestamps=True)
    (found,) = differences(old, [StructField("c", "timestamp")], with_ids=False)
    assert "INT96" in found


def test_decimals_in_the_legacy_form_are_a_difference():
    sink = io.BytesIO()
    pq.write_table(pa.schema([("c", pa.decimal128(5, 2))]).empty_table(), sink)
    (found,) = differences(pq.read_metadata(io.BytesIO(sink.getvalue())), [StructField("c", "decimal(5,2)")], with_ids=False)
    assert "FIXED_LEN_BYTE_ARRAY" in found


def test_missing_columns_and_other_layouts_are_differences():
    fields = [StructField("a", "long"), StructField("b", ArrayType("long")), StructField("v", "variant")]
    there = footer(pa.field("b", pa.int64()), pa.field("v", pa.struct([("value", pa.binary())])), pa.field("more", pa.int8()))
    assert list(differences(there, fields, with_ids=False)) == [
        "column a is missing, or has another layout",
        "column b.element is missing, or has another layout",
        "column v has no metadata",
    ]


def test_a_type_that_is_not_known_here_only_has_to_be_there():
    assert not list(differences(footer(pa.field("c", pa.int64())), [StructField("c", "time(6)")], with_ids=False))


@pytest.mark.parametrize("number", [None, 8])
def test_a_missing_or_other_field_id_is_a_difference_at_every_depth(number):
    inner = pa.field("p2", pa.int64())
    inner = inner if number is None else with_id(inner, number)
    fields = [
        table_field("c", 1, StructType((table_field("n", 2),))),
        table_field("l", 3, ArrayType(StructType((table_field("n", 2),)))),
    ]
    there = footer(
        with_id(pa.field("p1", pa.struct([inner])), 1),
        with_id(pa.field("p3", pa.list_(pa.field("element", pa.struct([inner])))), 3),
    )
    found = list(differences(there, fields, with_ids=True))
    assert [each.split(" ")[1] for each in found] == ["c.n", "l.element.n"]
    assert all("gives it 2" in each for each in found)
    assert not list(differences(there, fields, with_ids=False))


def test_the_ids_of_the_table_are_no_difference():
    fields = [table_field("c", 1, MapType("string", StructType((table_field("n", 2),))))]
    inner = with_id(pa.field("p2", pa.int64()), 2)
    there = footer(with_id(pa.field("p1", pa.map_(pa.string(), pa.struct([inner]))), 1))
    assert not list(differences(there, fields, with_ids=True))
