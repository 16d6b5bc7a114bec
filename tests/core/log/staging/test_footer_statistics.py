# SPDX-License-Identifier: Apache-2.0
"""Statistics from footers: never inside of the true bounds, whoever wrote the file and in whichever unit."""

from __future__ import annotations

import datetime as dt
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayou
from bayou.errors import ConcurrentAppendException
from bayou.log.staging.footer_statistics import bounds_of, columns_of, facts_of
from bayou.protocol.actions.actions import SetTransaction
from bayou.protocol.stats.file_stats import indexed_leaves
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType

SPARKS = "parquet-mr version 1"
UTC = dt.timezone.utc
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
NOON = dt.datetime(2024, 5, 5, 12, tzinfo=UTC)


def footer(column, *, created_by=None, **options):
    target = io.BytesIO()
    pq.write_table(column if isinstance(column, pa.Table) else pa.table({"c": column}), target, **options)
    found = pq.read_metadata(io.BytesIO(target.getvalue()))
    if created_by is None:
        return found
    # A name of the same length, so that nothing else moves.
    data = target.getvalue().replace(found.created_by.encode(), created_by.ljust(len(found.created_by)).encode())
    return pq.read_metadata(io.BytesIO(data))


def stats(column, kind, **options):
    leaves = indexed_leaves(StructType((StructField("c", kind),)), {})
    return json.loads(facts_of(footer(column, **options), leaves).stats)


@pytest.mark.parametrize(("kind", "zone", "suffix"), [("timestamp", "UTC", "Z"), ("timestamp_ntz", None, "")])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_moments_are_read_in_the_unit_of_the_file(unit, kind, zone, suffix):
    value = NOON if zone else NOON.replace(tzinfo=None)
    found = stats(pa.array([value], pa.timestamp(unit, zone)), kind)
    assert found["minValues"] == found["maxValues"] == {"c": f"2024-05-05T12:00:00.000{suffix}"}


@given(st.sampled_from(["ms", "us", "ns"]), st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=4))
def test_the_bounds_of_moments_hold_every_value(unit, values):
    found = bounds_of(footer(pa.array(values, pa.timestamp(unit, "UTC"))), "c", "timestamp")
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    assert found[0] * per_second <= min(values) * 10**6
    assert found[1] * per_second >= max(values) * 10**6
    assert (found[1] - found[0]) * per_second <= (max(values) - min(values)) * 10**6 + 2 * per_second


def test_moments_without_a_unit_and_those_out_of_range_have_no_bounds():
    assert bounds_of(footer(pa.array([1, 2])), "c", "timestamp") is None
    assert bounds_of(footer(pa.array([2**62], pa.timestamp("ms", "UTC"))), "c", "timestamp") is None
    assert bounds_of(footer(pa.array([1])), "other", "long") is None


@pytest.mark.parametrize("kind", ["float", "double"])
def test_floats_have_bounds_only_of_writers_that_count_nan(kind):
    values = pa.array([1.0, float("nan"), 5.0, None], pa.float32() if kind == "float" else pa.float64())
    found = stats(values, kind)
    assert (found["minValues"], found["maxValues"], found["nullCount"]) == ({}, {}, {"c": 1})
    plain = pa.array([1.0, 5.0], values.type)
    assert stats(plain, kind)["maxValues"] == {}
    assert stats(plain, kind, created_by="parquet-mr version 1.13.1")["maxValues"] == {"c": 5.0}
    assert stats(plain, kind, created_by="parquet-mr version 1.8.3")["maxValues"] == {}
    assert stats(plain, kind, created_by="parquet-rs version 50.0.0")["maxValues"] == {}


def test_bounds_that_python_cannot_hold_are_read_all_the_same():
    day = 3_000_000
    assert bounds_of(footer(pa.array([day], pa.date32())), "c", "date") == (day, day)
    moment = day * 86_400_000
    assert stats(pa.array([moment], pa.timestamp("ms", "UTC")), "timestamp")["maxValues"] == {"c": "+10183-09-21T00:00:00.000Z"}
    broken = pa.array([b"\xff"]).view(pa.binary())
    text = pa.Array.from_buffers(pa.string(), 1, broken.buffers())
    assert stats(text, "string")["maxValues"] == {}


def test_two_columns_of_one_dotted_path_tell_nothing_of_each_other():
    inner = StructType((StructField("b", "integer"),))
    leaves = indexed_leaves(StructType((StructField("a.b", "integer"), StructField("a", inner))), {})
    target = io.BytesIO()
    pq.write_table(pa.table({"a.b": [1, 2], "a": [{"b": 3}, {"b": None}]}), target)
    found = json.loads(facts_of(pq.read_metadata(io.BytesIO(target.getvalue())), leaves).stats)
    assert (found["numRecords"], found["nullCount"], found["minValues"]) == (2, {}, {})


LISTS = st.lists(st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3), min_size=1, max_size=4)


@given(
    LISTS,
    st.lists(st.none() | st.dictionaries(st.integers(0, 9), st.none() | st.integers(0, 9), max_size=2), min_size=1, max_size=4),
)
def test_a_null_count_of_what_holds_values_is_the_true_one_where_it_is_told(lists, maps):
    for values, kind, ours in (
        (lists, pa.list_(pa.int64()), ArrayType("long")),
        (maps, pa.map_(pa.int64(), pa.int64()), MapType("long", "long")),
    ):
        rows = pa.array([list(each.items()) if isinstance(each, dict) else each for each in values], kind)
        assert stats(rows, ours)["nullCount"] == {}  # others than Spark's writer may count otherwise
        found = stats(rows, ours, created_by=SPARKS)
        assert found["nullCount"].get("c", 0) == 0
        if "c" in found["nullCount"]:
            assert None not in values
        elif all(values):  # nothing is NULL or empty
            assert isinstance(ours, ArrayType)
            assert any(None in each for each in values)


def test_an_array_beside_a_column_whose_name_begins_as_its_path_has_no_null_count():
    schema = StructType((StructField("a", ArrayType("long")), StructField("a.b", ArrayType("long"))))
    rows = pa.table({"a": pa.array([None], pa.list_(pa.int64())), "a.b": [[1]]})
    found = json.loads(facts_of(footer(rows, created_by=SPARKS), indexed_leaves(schema, {})).stats)
    assert found["nullCount"] == {}


def test_columns_have_the_types_that_parquet_holds():
    column = pa.array([{"d": "a", "l": [NOON], "m": [("k", NOON)], "t": NOON, "day": NOON.date()}], pa.struct({
        "d": pa.dictionary(pa.int32(), pa.string()),
        "l": pa.list_(pa.timestamp("ns")),
        "m": pa.map_(pa.string(), pa.timestamp("ns")),
        "t": pa.timestamp("ns"),
        "day": pa.date64(),
    }))  # fmt: skip
    found = columns_of(footer(column, use_deprecated_int96_timestamps=True)).field("c").type
    moment = pa.timestamp("us", "UTC")
    assert found.field("d").type == pa.string()
    assert found.field("l").type.value_type == moment
    assert (found.field("m").type.key_type, found.field("m").type.item_type) == (pa.string(), moment)
    assert (found.field("t").type, found.field("day").type) == (moment, pa.date32())
    plain = columns_of(footer(column)).field("c").type
    assert plain.field("t").type == pa.timestamp("ns")


@pytest.fixture
def table(tmp_path):
    log = bayou.open(tmp_path)
    log.create(StructType((StructField("t", "timestamp"),)))
    pq.write_table(pa.table({"t": pa.array([NOON], pa.timestamp("ms", "UTC"))}), tmp_path / "p.parquet")
    return log


def test_skipping_finds_the_rows_of_a_file_with_milliseconds(table):
    table.append(["p.parquet"])
    day = dt.timedelta(days=1)
    for where, files in (
        ([("t", ">=", NOON - day)], 1),
        ([("t", "<=", NOON + day)], 1),
        ([("t", "==", NOON)], 1),
        ([("t", "<", NOON - day)], 0),
        ([("t", ">", NOON + day)], 0),
    ):
        assert table.snapshot().files(["path"], where=where).num_rows == files


def test_an_append_of_milliseconds_conflicts_with_who_should_have_read_it(table):
    transaction = bayou.open(table.table_uri).transaction("DELETE")
    transaction.files(where=[("t", ">=", NOON - dt.timedelta(days=1))])
    table.append(["p.parquet"])
    with pytest.raises(ConcurrentAppendException):
        transaction.commit([SetTransaction("a", 1)])
