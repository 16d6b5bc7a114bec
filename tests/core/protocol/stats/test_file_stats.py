# SPDX-License-Identifier: Apache-2.0
"""Statistics of a file: which columns have them, and what is written."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import InvalidOptionError
from bayou.protocol.stats.file_stats import (
    LeafStatistics,
    indexed_leaves,
    parse_column_list,
    skipping_types,
    statistics_type,
    to_json,
    truncate_maximum,
    truncate_minimum,
)
from bayou.protocol.types.partition_values import to_float32
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType

LAST = "\U0010ffff"
PREFIX = "delta.dataSkippingStringPrefixLength"
TEXTS = st.text(st.sampled_from(["a", "~", "\x7e", "\x7f", "é", "\uffff", "\U0001f600", LAST]), max_size=80)


def struct(*fields):
    return StructType(tuple(StructField(*field) if isinstance(field, tuple) else field for field in fields))


def one(data_type, low, high, nulls=0, rows=1):
    return json.loads(to_json(rows, [LeafStatistics(("c",), data_type, low, high, nulls)]), parse_float=str)


def bounds(data_type, low, high):
    found = one(data_type, low, high)
    return found["minValues"].get("c"), found["maxValues"].get("c")


@given(TEXTS, st.sampled_from([32, 32, 0, 1, 8, 1_000]))
def test_cut_bounds_enclose_the_text_and_stay_short(text, length):
    low, high = truncate_minimum(text, length), truncate_maximum(text, length)
    assert low.encode() <= text.encode()
    assert len(low) <= length
    if high is not None:
        assert text.encode() <= high.encode()
        assert len(high) <= 2 * length + 1


@pytest.mark.parametrize(("given", "low", "high"), [({}, "x" * 32, "x" * 32 + "\x7f"), ({PREFIX: "3"}, "xxx", "xxx\x7f")])
def test_a_table_says_how_much_of_a_string_its_bounds_keep(given, low, high):
    (leaf,) = indexed_leaves(struct(("c", "string")), given)
    found = LeafStatistics(leaf.path, "string", "x" * 40, "x" * 40, 0, leaf.string_prefix)
    document = json.loads(to_json(1, [found]))
    assert (document["minValues"]["c"], document["maxValues"]["c"]) == (low, high)


def test_a_text_of_32_code_points_is_its_own_maximum():
    assert truncate_maximum("é" * 32) == "é" * 32


@pytest.mark.parametrize(("following", "tie_breaker"), [("a", "\x7f"), ("\x7f", LAST), ("é", LAST), ("\U0001f600", LAST)])
def test_the_tie_breaker_exceeds_the_character_that_was_cut(following, tie_breaker):
    assert truncate_maximum("x" * 32 + following) == "x" * 32 + tie_breaker


def test_the_last_code_point_is_skipped_over():
    assert truncate_maximum("x" * 32 + LAST + "a") == "x" * 32 + LAST + "\x7f"
    assert truncate_maximum(LAST * 40) == LAST * 40
    assert truncate_maximum(LAST * 64 + "a" * 6) == LAST * 64 + "\x7f"
    assert truncate_maximum(LAST * 65 + "a" * 6) is None
    assert truncate_maximum(LAST * 70) is None


def test_nested_columns_are_mirrored_and_what_is_not_known_is_left_out():
    leaves = [
        LeafStatistics(("s", "x"), "integer", 1, 2, 3),
        LeafStatistics(("s", "y"), "boolean", True, True, 0),
        LeafStatistics(("a",), "array", None, None, None),
        LeafStatistics(("n",), "string", None, None, 4),
    ]
    assert json.loads(to_json(4, leaves, tight_bounds=True)) == {
        "numRecords": 4,
        "minValues": {"s": {"x": 1}},
        "maxValues": {"s": {"x": 2}},
        "nullCount": {"s": {"x": 3, "y": 0}, "n": 4},
        "tightBounds": True,
    }
    assert "tightBounds" not in json.loads(to_json(4, leaves))


def test_special_floats_are_quoted_and_zero_has_no_sign():
    assert to_json(1, [LeafStatistics(("c",), "double", -math.inf, math.nan, 0)]) == (
        '{"numRecords":1,"minValues":{"c":"-Infinity"},"maxValues":{"c":"NaN"},"nullCount":{"c":0}}'
    )
    assert bounds("double", -0.0, -0.0) == ("0.0", "0.0")


def test_floats_have_the_fewest_digits_that_name_them():
    assert bounds("float", to_float32(0.1), to_float32(3.4e38)) == ("0.1", "3.4e+38")
    assert bounds("double", 0.1, 1e22) == ("0.1", "1e+22")


@given(st.floats(allow_nan=False, allow_infinity=False, width=32).filter(bool))
def test_floats_read_back_as_the_same_float(value):
    assert to_float32(float(bounds("float", value, value)[0])) == value


def test_decimals_keep_every_digit():
    widest = Decimal("9" * 28 + "." + "9" * 10)
    assert bounds("decimal(38,10)", widest.copy_negate(), widest) == (f"-{widest}", str(widest))
    assert bounds("decimal(5,2)", Decimal("1.5"), Decimal(2)) == ("1.50", "2.00")
    assert bounds("decimal(12,10)", Decimal("1E-10"), Decimal(0)) == ("0.0000000001", "0.0000000000")


def test_integers_keep_every_digit():
    assert bounds("long", -(2**63), 2**63 - 1) == (-(2**63), 2**63 - 1)


def test_timestamps_are_cut_down_to_milliseconds():
    assert bounds("timestamp", -1, 1_999) == ("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.001Z")
    assert bounds("timestamp_ntz", 0, 0) == ("1970-01-01T00:00:00.000",) * 2


def test_years_have_as_many_digits_as_they_need():
    assert bounds("date", -719_529, 2_932_897) == ("-0001-12-31", "+10000-01-01")
    assert bounds("timestamp", 0, 2**63 - 1)[1] == "+294247-01-10T04:00:54.775Z"


def test_strings_are_valid_json_whatever_is_in_them():
    assert bounds("string", '"\n\\', "\u2028") == ('"\n\\', "\u2028")


def names(leaves):
    return [".".join(leaf.path) for leaf in leaves]


WIDE = struct(*((f"c{i}", "integer") for i in range(40)))
NESTED = struct(
    ("p", "string"),
    ("a", "integer"),
    ("s", struct(("x", "string"), ("y", struct(("z", "long"))))),
    ("l", ArrayType(struct(("q", "integer")))),
    ("m", MapType("string", "string")),
    ("v", "void"),
    ("b", "binary"),
)


def test_the_first_32_leaves_get_statistics():
    assert len(indexed_leaves(WIDE, {})) == 32


def test_leaves_are_counted_in_depth_and_partition_columns_are_not():
    assert names(indexed_leaves(NESTED, {}, ["P"])) == ["a", "s.x", "s.y.z", "l", "m", "b"]
    few = {"delta.dataSkippingNumIndexedCols": "2"}
    assert names(indexed_leaves(NESTED, few, ["p"])) == ["a", "s.x"]


@pytest.mark.parametrize(("text", "count"), [("0", 0), ("1", 1), ("-1", 40), ("100", 40)])
def test_the_number_of_leaves_is_a_table_property(text, count):
    assert len(indexed_leaves(WIDE, {"delta.dataSkippingNumIndexedCols": text})) == count


@pytest.mark.parametrize("text", ["x", "-2", "1.5", ""])
def test_another_number_is_refused(text):
    with pytest.raises(InvalidOptionError):
        indexed_leaves(WIDE, {"delta.dataSkippingNumIndexedCols": text})


def test_named_columns_go_before_the_number_and_a_struct_means_its_leaves():
    named = {"delta.dataSkippingStatsColumns": "S, c", "delta.dataSkippingNumIndexedCols": "1"}
    assert names(indexed_leaves(NESTED, named, ["p"])) == ["s.x", "s.y.z"]
    assert indexed_leaves(NESTED, {"delta.dataSkippingStatsColumns": ""}) == ()


def test_only_some_types_have_bounds():
    has_bounds = {leaf.path[-1]: leaf.has_bounds for leaf in indexed_leaves(NESTED, {})}
    assert has_bounds == {"p": True, "a": True, "x": True, "z": True, "l": False, "m": False, "b": False}


def test_physical_names_key_the_statistics():
    field = StructField("a", "integer", True, {"delta.columnMapping.physicalName": "col-1"})
    (leaf,) = indexed_leaves(StructType((field,)), {"delta.dataSkippingStatsColumns": "a"})
    assert (leaf.logical_path, leaf.path) == (("a",), ("col-1",))


def test_bounds_of_collated_strings_and_of_widened_floats_are_not_used():
    collated = StructField("c", "string", True, {"__COLLATIONS": {"c": "spark.UTF8_LCASE"}})
    widened = StructField("d", "double", True, {"delta.typeChanges": [{"fromType": "float", "toType": "double"}]})
    assert statistics_type(collated) is None
    assert statistics_type(widened) is None
    assert statistics_type(StructField("c", "string collate UNICODE")) is None
    assert statistics_type(StructField("c", "varchar(5)")) == "varchar(5)"
    types = skipping_types(struct(collated, widened, ("i", "integer"), ("l", ArrayType("integer"))))
    assert types == {("c",): "binary", ("d",): "binary", ("i",): "integer", ("l",): ArrayType("integer")}
    assert [leaf.has_bounds for leaf in indexed_leaves(struct(collated, widened), {})] == [False, True]


def test_lists_of_columns_may_be_quoted():
    assert parse_column_list("a, b.c ,`x.y`.`z,``q`") == [("a",), ("b", "c"), ("x.y", "z,`q")]
    assert parse_column_list("  ") == []


@pytest.mark.parametrize("text", ["a,,b", "a,", ".a", "`a", "`a`b", "``"])
def test_a_list_that_is_none_is_refused(text):
    with pytest.raises(InvalidOptionError):
        parse_column_list(text)
