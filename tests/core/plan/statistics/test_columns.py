# SPDX-License-Identifier: Apache-2.0
"""Statistics texts become aligned columns, and an odd text costs only its own file."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.plan.statistics.columns import FileStatistics, coalesce, concat, from_json, from_struct
from bayou.protocol.types.schema import ArrayType

GOOD = '{"numRecords":3,"minValues":{"c":1},"maxValues":{"c":5},"nullCount":{"c":0}}'
ODD = [
    None,
    "",
    "  ",
    "oops",
    "{",
    "}",
    "[1]",
    "null",
    "{}{}",
    GOOD + GOOD,
    GOOD[:-1],
    "{" + GOOD,
    '{"numRecords":1,"numRecords":2}',
    '{"numRecords":"3"}',
    '{"numRecords":99999999999999999999}',
    '{"minValues":5}',
    '{"minValues":{"c":"5"}}',
    '{"minValues":{"c":[1]}}',
    '{"a":"' + "x" * 3_000_000 + '"}',
    '{"a":' + "[" * 50_000 + "}",
    '{"a":"\x00"}',
    "{}\x00",
    '{"minValues":{"c":1e999999999}}',
    '{"numRecords":' + "9" * 5_000 + "}",
    '{"a":[{}',
    '{},{"a":{}',
    "{}]}",
]


def read(texts, data_type="long", path=("c",)):
    return from_json(pa.array(texts, pa.string()), {path: data_type})


def bounds(texts, data_type):
    column = read(texts, data_type).columns[("c",)]
    return column.min.to_pylist(), column.max.to_pylist()


@in_one_test("odd", ODD)
def test_an_odd_text_costs_only_its_own_file(odd):
    statistics = read([GOOD, odd, GOOD])
    assert statistics.num_records.to_pylist()[::2] == [3, 3]
    assert statistics.columns[("c",)].min.to_pylist() == [1, None, 1]
    assert statistics.tight_bounds.to_pylist() == [True] * 3


@given(st.lists(st.sampled_from([*[odd for odd in ODD if odd is None or len(odd) < 1000], GOOD, " " + GOOD + "\n"])))
def test_any_mixture_of_texts_stays_aligned(texts):
    statistics = read(texts)
    is_good = [text is not None and text.strip() == GOOD for text in texts]
    assert [value == 1 for value in statistics.columns[("c",)].min.to_pylist()] == is_good


def test_many_odd_texts_among_many_stay_aligned():
    texts = [GOOD if i % 7 else ODD[i % len(ODD)] for i in range(3_000)]
    texts = [text for text in texts if text is None or len(text) < 1000]
    found = read(texts).columns[("c",)].min
    assert [value == 1 for value in found.to_pylist()] == [text == GOOD for text in texts]


def test_line_breaks_inside_of_a_text_are_white_space():
    assert read([json.dumps(json.loads(GOOD), indent=2), GOOD]).num_records.to_pylist() == [3, 3]


def test_no_texts_give_empty_columns():
    statistics = from_json(pa.chunked_array([], pa.string()), {("c",): "long"})
    assert len(statistics.num_records) == 0
    assert statistics.columns[("c",)].min.type == pa.int64()


def test_numbers_keep_every_digit():
    digits = "123456789012345678901234567890123456.12"
    texts = [f'{{"minValues":{{"c":{digits}}},"maxValues":{{"c":{digits}}}}}']
    assert bounds(texts, "decimal(38,2)") == ([Decimal(digits)],) * 2
    assert bounds(['{"minValues":{"c":9223372036854775807}}'], "long")[0] == [2**63 - 1]


@pytest.mark.parametrize("next_to", ["{}", '{"numRecords":"3"}'], ids=["texts that Arrow reads", "one that it does not read"])
def test_a_decimal_has_38_digits_at_most(next_to):
    for most, more, scale in (("9" * 38, "1" + "0" * 38, 0), ("9" * 36 + ".99", "1" + "0" * 36 + ".00", 2)):
        texts = [f'{{"minValues":{{"c":{digits}}}}}' for digits in (most, f"-{most}", more)] + [next_to]
        assert bounds(texts, f"decimal(38,{scale})")[0] == [Decimal(most), Decimal(f"-{most}"), None, None]


def test_decimals_may_be_written_in_other_ways():
    texts = [f'{{"minValues":{{"c":{text}}}}}' for text in ("1", "1.5", "1.500", "1.5E+2", '"1.5"', "1.50000000000000001")]
    found = [None if value is None else str(value) for value in bounds(texts, "decimal(10,2)")[0]]
    assert found[:4] == ["1.00", "1.50", "1.50", "150.00"]
    assert found[5] == "1.50"


def test_whole_numbers_may_have_a_point():
    assert bounds(['{"minValues":{"c":5.0},"maxValues":{"c":5.5}}'], "long") == ([5], [None])


@pytest.mark.parametrize("text", ["9007199254740992.0", "9.007199254740992E15", "-9007199254740992.0", "1e18", "1e300"])
def test_a_whole_number_that_was_rounded_to_a_double_is_no_bound(text):
    assert bounds([f'{{"minValues":{{"c":{text}}},"maxValues":{{"c":{text}}}}}'], "long") == ([None], [None])


@pytest.mark.parametrize("number", [2**53 - 1, 1 - 2**53])
def test_a_whole_number_that_a_double_tells_from_its_neighbours_is_a_bound(number):
    assert bounds([f'{{"minValues":{{"c":{number}.0}},"maxValues":{{"c":{number}}}}}'], "long") == ([number], [number])


def test_special_floats_in_quotes_cost_only_their_bound():
    texts = ['{"minValues":{"c":1.5},"maxValues":{"c":"NaN"}}', '{"minValues":{"c":"-Infinity"},"maxValues":{"c":2.5}}']
    assert bounds(texts, "double") == ([1.5, None], [None, 2.5])


def test_a_string_that_looks_special_stays_itself():
    texts = ['{"minValues":{"c":"a:\\"NaN\\""},"maxValues":{"c":"NaN"}}']
    assert bounds(texts, "string") == (['a:"NaN"'], ["NaN"])


def test_instants_are_read_in_every_zone_and_year():
    texts = [
        f'{{"minValues":{{"c":"{text}"}}}}'
        for text in (
            "1970-01-01T00:00:00.001Z",
            "1970-01-01T01:00:00.001+01:00",
            "+10000-01-01T00:00:00Z",
            "oops",
            "1970",
        )
    ]
    found = read(texts, "timestamp").columns[("c",)].min.cast(pa.int64()).to_pylist()
    assert found == [1_000, 1_000, 253_402_300_800_000_000, None, None]


def test_null_counts_of_arrays_count_only_where_they_are_zero():
    texts = ['{"nullCount":{"c":0}}', '{"nullCount":{"c":3}}']
    column = read(texts, ArrayType("long")).columns[("c",)]
    assert column.null_count.to_pylist() == [0, None]
    assert column.min is None


def test_null_counts_of_a_struct_are_not_taken_for_a_leaf():
    assert read(['{"nullCount":{"c":{"x":1}}}']).columns[("c",)].null_count.to_pylist() == [None]


STRUCT = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("tightBounds", pa.bool_()),
        ("minValues", pa.struct([("c", pa.int32()), ("s", pa.struct([("x", pa.float32())]))])),
        ("maxValues", pa.struct([("c", pa.int32()), ("s", pa.struct([("x", pa.float32())]))])),
        ("nullCount", pa.struct([("c", pa.int64())])),
    ]
)


def test_parsed_statistics_give_the_same_columns():
    rows = [json.loads(GOOD), None, {"minValues": {"s": {"x": 0.5}}, "tightBounds": False}]
    fields = {("c",): "integer", ("s", "x"): "float", ("other",): "string"}
    parsed = from_struct(pa.array(rows, STRUCT), fields)
    text = from_json(pa.array([None if row is None else json.dumps(row) for row in rows]), fields)
    assert parsed == text
    assert parsed.columns[("s", "x")].min.to_pylist() == [None, None, 0.5]
    assert parsed.columns[("other",)].min.type == pa.string()


@pytest.mark.parametrize(("kind", "limit"), [(pa.float64(), 2**53), (pa.float32(), 2**24)])
def test_parsed_bounds_of_whole_numbers_that_a_float_may_have_rounded_are_not_used(kind, limit):
    bounds = pa.StructArray.from_arrays([pa.array([1, limit - 1, limit, -limit], kind)], ["c"])
    found = from_struct(pa.StructArray.from_arrays([bounds], ["maxValues"]), {("c",): "long"})
    assert found.columns[("c",)].max.to_pylist() == [1, limit - 1, None, None]


def test_parsed_timestamps_in_nanoseconds_are_not_used():
    stats = pa.StructArray.from_arrays([pa.StructArray.from_arrays([pa.array([1], pa.timestamp("ns"))], ["c"])], ["minValues"])
    assert from_struct(stats, {("c",): "timestamp"}).columns[("c",)].min.to_pylist() == [None]


def test_coalesce_fills_what_the_first_does_not_say():
    first, second = read([GOOD, None]), read([None, '{"numRecords":7,"minValues":{"c":9},"tightBounds":false}'])
    both = coalesce(first, second)
    assert both.num_records.to_pylist() == [3, 7]
    assert both.columns[("c",)].min.to_pylist() == [1, 9]
    assert both.tight_bounds.to_pylist() == [True, False]
    assert coalesce(from_json(pa.array([None], pa.string()), {}), read([GOOD])).columns[("c",)].min.to_pylist() == [1]


def test_concat_lines_files_up():
    joined = concat([read([GOOD]), from_json(pa.array([GOOD]), {}), read([None, GOOD])])
    assert joined.num_records.to_pylist() == [3, 3, None, 3]
    assert joined.columns[("c",)].min.to_pylist() == [1, None, None, 1]
    assert len(concat([]).num_records) == 0


def test_filter_takes_the_same_files_of_every_column():
    chosen = read([GOOD, None, GOOD]).filter(pa.array([False, True, True]))
    assert chosen.num_records.to_pylist() == [None, 3]
    assert chosen.columns[("c",)].max.to_pylist() == [None, 5]
    assert isinstance(chosen, FileStatistics)


def test_large_strings_and_chunks_are_read():
    texts = pa.chunked_array([pa.array([GOOD], pa.large_string()), pa.array([None, GOOD], pa.large_string())])
    assert from_json(texts, {("c",): "long"}).num_records.to_pylist() == [3, None, 3]
    encoded = pa.chunked_array([pc.dictionary_encode(pa.array([GOOD, GOOD]))])
    assert from_json(encoded, {("c",): "long"}).num_records.to_pylist() == [3, 3]
