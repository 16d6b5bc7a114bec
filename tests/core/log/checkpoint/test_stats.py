# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from random import Random

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.tables.checkpoints import BEYOND_PRECISION, shown
from tests.support.tables.random_tables import PATHS, any_table

from bayou.log.actions.stats_texts import stats_texts, to_texts
from bayou.log.checkpoint.stats import parsed_stats, stats_type
from bayou.plan.statistics.columns import from_json, from_struct
from bayou.protocol.stats.file_stats import indexed_leaves
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType

UTC = pa.timestamp("us", "UTC")


def schema(**types):
    return StructType(tuple(StructField(name, kind) for name, kind in types.items()))


def target(found, *, tight_bounds=False, **properties):
    return stats_type(indexed_leaves(found, properties), tight_bounds=tight_bounds)


def texts(*values):
    return pa.array([json.dumps(value) if isinstance(value, dict) else value for value in values], pa.string())


def lows(kind, *values):
    """What becomes of minima of a column of one type."""
    wanted = target(schema(c=kind))
    documents = [f'{{"numRecords":1,"minValues":{{"c":{value}}}}}' for value in values]
    return [row["minValues"]["c"] for row in parsed_stats(texts(*documents), None, wanted).to_pylist()]


def test_each_indexed_leaf_has_a_null_count_and_each_that_can_be_compared_has_bounds():
    found = schema(
        b="byte", s="short", i="integer", l="long", f="float", d="double", n="decimal(10,2)", t="timestamp",
        z="timestamp_ntz", day="date", x="string", v="varchar(3)", flag="boolean", raw="binary", a=ArrayType("long"),
        m=MapType("string", "long"), inner=schema(y="long", flag="boolean"), w=schema(flag="boolean"), q="void",
    )  # fmt: skip
    bounds = pa.struct(
        [
            ("b", pa.int8()), ("s", pa.int16()), ("i", pa.int32()), ("l", pa.int64()), ("f", pa.float32()),
            ("d", pa.float64()), ("n", pa.decimal128(10, 2)), ("t", UTC), ("z", pa.timestamp("us")), ("day", pa.date32()),
            ("x", pa.string()), ("v", pa.string()), ("inner", pa.struct([("y", pa.int64())])),
        ]
    )  # fmt: skip
    flags = pa.struct([("flag", pa.int64())])
    plain = ("b", "s", "i", "l", "f", "d", "n", "t", "z", "day", "x", "v", "flag", "raw", "a", "m")
    counts = [*((name, pa.int64()) for name in plain), ("inner", pa.struct([("y", pa.int64()), *flags])), ("w", flags)]
    members = [("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds), ("nullCount", pa.struct(counts))]
    assert target(found) == pa.struct(members)
    assert target(found, tight_bounds=True) == pa.struct([*members, ("tightBounds", pa.bool_())])


def test_columns_without_statistics_and_tables_without_columns_leave_their_members_out():
    found = schema(a="long", b="long")
    one = pa.struct([("a", pa.int64())])
    members = [("numRecords", pa.int64()), ("minValues", one), ("maxValues", one), ("nullCount", one)]
    assert target(found, **{"delta.dataSkippingNumIndexedCols": "1"}) == pa.struct(members)
    assert target(found, **{"delta.dataSkippingNumIndexedCols": "0"}) == pa.struct(members[:1])


def test_a_value_that_does_not_fit_is_null_and_nothing_else_is():
    assert lows("byte", 1, 300, -128, '"x"', 2.5) == [1, None, -128, None, None]
    assert lows("long", 2**63 - 1, 2**63, "null") == [2**63 - 1, None, None]
    assert lows("long", f"{2**53 - 1}.0", f"{2**53}.0") == [2**53 - 1, None]
    assert lows("decimal(4,2)", "99.99", "100", "1.234", '"x"') == [Decimal("99.99"), None, Decimal("1.23"), None]
    assert lows("decimal(38,10)", "9" * 28, "-1e28", "1e28", "1e40") == [Decimal("9" * 28), None, None, None]
    assert lows("date", '"2024-02-29"', '"2024-02-30"', 5) == [dt.date(2024, 2, 29), None, None]
    assert lows("string", '"x"', 5) == ["x", None]
    assert lows("float", 0.1, "1e300") == [pytest.approx(0.1), float("inf")]


def test_timestamps_are_read_as_the_log_writes_them():
    day = dt.datetime(2024, 2, 29, 1, 2, 3, 456_000)  # noqa: DTZ001  (a wall clock)
    assert lows("timestamp", '"2024-02-29T01:02:03.456Z"') == [day.replace(tzinfo=dt.timezone.utc)]
    assert lows("timestamp", '"2024-02-29T03:02:03.456+02:00"', '"2024-02-29T01:02:03"') == [
        day.replace(tzinfo=dt.timezone.utc),
        None,
    ]
    assert lows("timestamp_ntz", '"2024-02-29T01:02:03.456"', '"2024-02-29 01:02:03.456"') == [day, day]


def test_a_text_that_is_no_statistics_gives_a_null_struct():
    wanted = target(schema(c="long"))
    found = parsed_stats(texts(None, "", "oops", "[1]", "{}", '{"other":1}', {"numRecords": 3}), None, wanted)
    assert [row and row["numRecords"] for row in found.to_pylist()] == [None] * 6 + [3]


def test_an_older_struct_is_reused_where_it_has_every_column():
    wanted = target(schema(c="long"))
    old = parsed_stats(texts({"numRecords": 1, "minValues": {"c": 4}}), None, wanted)
    found = parsed_stats(texts({"numRecords": 99}), old, wanted)
    assert found.equals(old)


def test_a_text_is_parsed_where_the_older_struct_lacks_a_column_or_a_row():
    old = parsed_stats(texts({"numRecords": 1, "minValues": {"c": 4}}, None, {"numRecords": 3}), None, target(schema(c="long")))
    known = texts({"numRecords": 1, "minValues": {"c": 4, "d": 5}}, {"numRecords": 2, "minValues": {"d": 6}}, None)
    found = parsed_stats(known, old, target(schema(c="long", d="long"))).to_pylist()
    assert [row["numRecords"] for row in found] == [1, 2, 3]
    assert [row["minValues"] for row in found] == [{"c": 4, "d": 5}, {"c": None, "d": 6}, None]
    same = parsed_stats(known, old, target(schema(c="long"))).to_pylist()
    assert [(row["numRecords"], row["minValues"]) for row in same] == [(1, {"c": 4}), (2, {"c": None}), (3, None)]


def test_an_older_struct_is_brought_to_the_types_of_the_table():
    kinds = {"i": pa.int32(), "f": pa.float64(), "t": pa.timestamp("us"), "s": pa.large_string()}
    bounds = pa.struct(list(kinds.items()))
    day = dt.datetime(2024, 1, 1)  # noqa: DTZ001  (INT96 has no zone)
    old = pa.array([{"numRecords": 1, "minValues": {"i": 5, "f": 0.5, "t": day, "s": "x"}, "more": 1}], pa.struct([
        ("numRecords", pa.int32()), ("minValues", bounds), ("more", pa.int8()),
    ]))  # fmt: skip
    found = parsed_stats(texts(None), old, target(schema(i="long", f="float", t="timestamp", s="string"))).to_pylist()
    expected = {"i": 5, "f": 0.5, "t": day.replace(tzinfo=dt.timezone.utc), "s": "x"}
    assert (found[0]["numRecords"], found[0]["minValues"], found[0]["maxValues"]) == (1, expected, None)


def test_an_older_struct_of_doubles_gives_no_bound_that_may_have_been_a_neighbour():
    old = pa.array([{"minValues": {"c": float(value)}} for value in (2**53 - 1, 2**53)], pa.struct([
        ("minValues", pa.struct([("c", pa.float64())])),
    ]))  # fmt: skip
    found = parsed_stats(texts(None, None), old, target(schema(c="long"))).to_pylist()
    assert [row["minValues"]["c"] for row in found] == [2**53 - 1, None]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [("decimal(4,2)", "decimal(6,2)", "99.99"), ("decimal(4,2)", "decimal(6,3)", "99.99"), ("decimal(4,2)", "decimal(3,2)", None)],
)
def test_a_decimal_column_whose_type_changed_keeps_the_bounds_that_fit(old, new, expected):
    known = parsed_stats(texts({"numRecords": 1, "minValues": {"c": 99.99}}), None, target(schema(c=old)))
    found = parsed_stats(texts(None), known, target(schema(c=new)))
    assert found[0]["minValues"]["c"].as_py() == (expected and Decimal(expected))


def test_an_int96_timestamp_is_no_reason_to_parse_the_text():
    wanted = target(schema(t="timestamp"))
    bounds = pa.struct([("t", pa.timestamp("us"))])
    counts = pa.struct([("t", pa.int64())])
    kind = pa.struct([("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds), ("nullCount", counts)])
    old = pa.array([{"numRecords": 1, "minValues": {"t": 5}}], kind)
    found = parsed_stats(texts({"numRecords": 99}), old, wanted)
    assert found.type == wanted
    assert found[0]["minValues"]["t"].value == 5


def random_stats(seed, count):
    """Statistics of random files under one schema, with the type of their struct."""
    table = any_table(Random(seed))
    leaf = {path: table.types[path] for path in PATHS}
    found = StructType(
        (
            StructField("a", leaf["a",]),
            StructField("s", schema(x=leaf["s", "x"], t=StructType((StructField("y.z", leaf["s", "t", "y.z"]),)))),
        )
    )
    return leaf, pa.array([file.stats for file in table.files][:count], pa.string()), target(found, tight_bounds=True)


@given(st.integers(0, 10**9), st.integers(0, 4))
def test_a_struct_says_what_its_text_says(seed, count):
    fields, known, wanted = random_stats(seed, count)
    assume(not any(BEYOND_PRECISION in str(text) for text in known))
    assert shown(from_struct(parsed_stats(known, None, wanted), fields)) == shown(from_json(known, fields))


@given(st.integers(0, 10**9))
def test_a_text_made_of_a_struct_says_what_the_struct_says(seed):
    fields, known, wanted = random_stats(seed, 4)
    struct = parsed_stats(known, None, wanted)
    wall_clocks = frozenset(path for path, kind in fields.items() if kind == "timestamp_ntz")
    made = to_texts(struct, wall_clocks)
    assert all(text is None or isinstance(json.loads(text), dict) for text in made.to_pylist())
    # NaN and infinities are read as unknown where many texts are read at once, and before the first microsecond that
    # 64 bits hold there is no whole millisecond.
    assume(not any(special in str(text) for text in made for special in ('"NaN"', 'Infinity"', "-290308-12-21T19:59:05.224")))
    again = parsed_stats(made, None, wanted)
    # The log cuts timestamps to milliseconds, some writers do not.
    assert to_texts(again, wall_clocks).equals(made)
    assert again.field("numRecords").equals(struct.field("numRecords"))
    if not any(str(kind).startswith("timestamp") for kind in fields.values()):
        assert again.equals(struct)


def test_texts_are_made_where_there_is_none_alone():
    wanted = target(schema(c="long"))
    old = parsed_stats(texts({"numRecords": 1}, {"numRecords": 2, "minValues": {"c": 7}}, None), None, wanted)
    found = stats_texts(texts("kept", None, None), old, frozenset())
    assert found.to_pylist() == ["kept", '{"numRecords":2,"minValues":{"c":7}}', None]
    assert stats_texts(texts("kept", None), None, frozenset()).to_pylist() == ["kept", None]


def test_values_of_every_type_are_written_as_the_log_writes_them():
    columns = {
        "i": pa.array([-5], pa.int16()),
        "d": pa.array([Decimal("1.50")]),
        "flag": pa.array([True]),
        "f": pa.array([0.5]),
        "nan": pa.array([float("nan")]),
        "inf": pa.array([float("-inf")], pa.float32()),
        "s": pa.array(['é"\\\n\x00']),
        "day": pa.array([dt.date(2024, 2, 29)]),
        "old": pa.array([-719_528], pa.int32()).cast(pa.date32()),
        "t": pa.array([-1], UTC),
        "far": pa.array([253_402_300_800_000_000], UTC),
        "int96": pa.array([1_500], pa.timestamp("us")),
        "ntz": pa.array([1_500], pa.timestamp("us")),
        "raw": pa.array([b"x"]),
        "none": pa.array([None], pa.int64()),
    }
    bounds = pa.StructArray.from_arrays(list(columns.values()), list(columns))
    text = to_texts(pa.StructArray.from_arrays([bounds], ["minValues"]), frozenset({("ntz",)}))[0].as_py()
    assert json.loads(text)["minValues"] == {
        "i": -5,
        "d": 1.5,
        "flag": True,
        "f": 0.5,
        "nan": "NaN",
        "inf": "-Infinity",
        "s": 'é"\\\n\x00',
        "day": "2024-02-29",
        "old": "0000-01-01",
        "t": "1969-12-31T23:59:59.999Z",
        "far": "+10000-01-01T00:00:00.000Z",
        "int96": "1970-01-01T00:00:00.001Z",
        "ntz": "1970-01-01T00:00:00.001",
    }
    assert '"d":1.50' in text
