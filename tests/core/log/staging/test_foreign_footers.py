# SPDX-License-Identifier: Apache-2.0
"""Which statistics of a foreign footer hold for a table, and what schema Spark noted in it."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bayou.log.staging.footer_statistics import facts_of, has_old_calendar, stated_statistics
from bayou.log.staging.foreign_footers import shape_of, spark_schema, sure_leaves
from bayou.protocol.stats.file_stats import indexed_leaves
from bayou.protocol.types.schema import StructField, StructType, schema_to_json

SPARKS = "org.apache.spark.sql.parquet.row.metadata"


def footer_of(columns, metadata=None, **options):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), sink, **options)
    return pq.read_metadata(pa.BufferReader(sink.getvalue()))


def struct(**columns):
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


def sure(footer, schema):
    return {leaf.path: leaf.has_bounds for leaf in sure_leaves(footer, indexed_leaves(schema, {}))}


def test_spark_notes_its_schema():
    schema = struct(a="byte")
    assert spark_schema(footer_of({"a": [1]}, {SPARKS: schema_to_json(schema)})) == schema
    assert spark_schema(footer_of({"a": [1]})) is None
    assert spark_schema(footer_of({"a": [1]}, {SPARKS: "StructType(List(StructField(a,LongType,true)))"})) is None


@pytest.mark.parametrize(
    ("values", "kind", "has_bounds"),
    [
        (pa.array([1], pa.int8()), "byte", True),
        (pa.array([1], pa.int8()), "integer", True),
        (pa.array([1], pa.int32()), "integer", True),
        (pa.array([1], pa.int64()), "long", True),
        (pa.array([255], pa.uint8()), "short", False),
        (pa.array([1], pa.uint32()), "long", False),
        (pa.array([1], pa.uint64()), "decimal(20,0)", False),
        (pa.array([Decimal("1.25")]), "decimal(3,2)", True),
        (pa.array([Decimal("1.25")]), "decimal(4,2)", False),
        (pa.array(["x"]), "string", True),
        (pa.array([b"x"]), "string", True),
        (pa.array([b"xx"], pa.binary(2)), "string", False),
        (pa.array([dt.date(2026, 1, 1)]), "date", True),
        (pa.array([1], pa.int32()), "date", False),
        (pa.array([0], pa.timestamp("us", "UTC")), "timestamp", True),
        (pa.array([0], pa.timestamp("us")), "timestamp", False),
        (pa.array([0], pa.timestamp("ms")), "timestamp_ntz", True),
        (pa.array([0], pa.timestamp("ns", "UTC")), "long", False),
        (pa.array([1.0]), "double", True),
        (pa.array([1.0], pa.float32()), "double", False),
        (pa.array([True]), "boolean", False),
    ],
    ids=str,
)
def test_bounds_hold_for_the_same_values_alone(values, kind, has_bounds):
    assert sure(footer_of({"a": values}, store_schema=False), struct(a=kind)) == {("a",): has_bounds}


def test_a_column_of_another_spelling_has_no_statistics_and_a_missing_one_is_null():
    footer = footer_of({"A": [1], "deep": [{"X": 1}]})
    schema = struct(a="long", missing="long", deep=struct(x="long", y="long"))
    assert sure(footer, schema) == {("missing",): True, ("deep", "y"): True}
    stats = json.loads(facts_of(footer, sure_leaves(footer, indexed_leaves(schema, {}))).stats)
    assert stats["nullCount"] == {"missing": 1, "deep": {"y": 1}}


def test_names_with_dots_have_no_statistics():
    footer = footer_of({"a.b": [1], "c": [1]})
    schema = StructType((StructField("a", struct(b="long")), StructField("a.b", "long"), StructField("c", "long")))
    assert sure(footer, schema) == {("c",): True}


def test_files_of_one_shape():
    one, two = footer_of({"a": [1]}), footer_of({"a": [2, 3]})
    assert shape_of(one) == shape_of(two)
    assert shape_of(one) != shape_of(footer_of({"a": pa.array([1], pa.uint64())}))
    assert shape_of(one) != shape_of(footer_of({"a": [1]}, {SPARKS: "x"}))


@pytest.mark.parametrize(
    ("metadata", "is_old"),
    [
        (None, False),
        ({"org.apache.spark.version": "2.4.8"}, True),
        ({"org.apache.spark.version": "3.5.0"}, False),
        ({"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}, True),
        ({"org.apache.spark.version": "x"}, False),
    ],
)
def test_spark_2_counted_days_otherwise(metadata, is_old):
    assert has_old_calendar(footer_of({"a": [1]}, metadata)) == is_old


OLD = {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}


@pytest.mark.parametrize(("metadata", "is_old"), [(None, False), (OLD, True)])
def test_of_an_old_calendar_only_recent_bounds_hold(metadata, is_old):
    schema = struct(old="date", new="date", n="long", at="timestamp")
    columns = {
        "old": [dt.date(1500, 1, 1), dt.date(2026, 1, 1)],
        "new": [dt.date(1600, 1, 1)] * 2,
        "n": [1, 2],
        "at": pa.array([0, -(1 << 52)], pa.timestamp("us", "UTC")),
    }
    footer, leaves = footer_of(columns, metadata), indexed_leaves(schema, {})
    known = {"new", "n"} if is_old else set(columns)
    assert set(json.loads(facts_of(footer, leaves).stats)["minValues"]) == known
    found, unsure = stated_statistics(footer, leaves)
    assert {leaf.path[0] for leaf in found if leaf.min is not None} == known
    assert {path[0] for path in unsure} == set(columns) - known


def test_a_column_of_another_spelling_or_with_a_dot_in_its_name_is_not_told_of():
    footer = footer_of({"A": [1], "b": [2], "s": [{"X": 1, "y": 2}]})
    schema = StructType((*struct(a="long", b="long", c="long").fields, StructField("s", struct(x="long", y="long"))))
    found, unsure = stated_statistics(footer, indexed_leaves(schema, {}))
    assert unsure == {("a",), ("s", "x")}
    assert {leaf.path: leaf.null_count for leaf in found} == {
        ("a",): None,
        ("b",): 0,
        ("c",): 1,
        ("s", "x"): None,
        ("s", "y"): 0,
    }
    _, unsure = stated_statistics(footer_of({"a": [{"b": 1}], "a.b": [5]}), indexed_leaves(struct(**{"a.b": "long"}), {}))
    assert unsure == {("a.b",)}
