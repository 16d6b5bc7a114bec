# SPDX-License-Identifier: Apache-2.0
"""Statistics of files with deleted rows."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.protocol.stats.wide_stats import num_records, with_wide_bounds

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_NAMES = st.sampled_from(["minValues", "maxValues", "tightBounds", "numRecords"]) | st.text(max_size=4)


@given(st.dictionaries(_NAMES, _VALUES, max_size=5), st.integers(0, 99), st.sampled_from([None, 2]))
def test_all_but_the_count_and_the_bounds_stays_as_it_was(stats, rows, indent):
    wide = json.loads(with_wide_bounds(json.dumps(stats, indent=indent), rows))
    assert wide == {**stats, "numRecords": rows, "tightBounds": False}


def test_numbers_keep_their_digits():
    text = '{"numRecords":3,"minValues":{"d":0.10000000000000000001,"n":"NaN"},"maxValues":{"d":1E+2}}'
    kept = '"minValues":{"d":0.10000000000000000001,"n":"NaN"},"maxValues":{"d":1E+2}'
    assert with_wide_bounds(text, 3) == '{"numRecords":3,' + kept + ',"tightBounds":false}'


@pytest.mark.parametrize("stats", [None, "", "{", "[]", "null", '{"a":1', '{"a" 1}', '{"a":1 "b":2}', '{"a":1}}', "{1:2}", "{,}"])
def test_statistics_that_cannot_be_read_are_left_out(stats):
    assert num_records(stats) is None
    assert with_wide_bounds(stats, 7) == '{"numRecords":7,"tightBounds":false}'


@pytest.mark.parametrize(("stats", "count"), [('{"numRecords":12}', 12), ('{"numRecords":-1}', None), ('{"numRecords":"3"}', None)])
def test_the_number_of_rows_is_read_where_it_is_one(stats, count):
    assert num_records(stats) == count


def test_a_column_of_nulls_among_live_rows_counts_as_one_among_all():
    tight = '{"numRecords":10,"nullCount":{"all":7,"some":3,"none":0,"in":{"all":7}},"tightBounds":true}'
    wide = json.loads(with_wide_bounds(tight, 10, deleted=3))
    assert wide["nullCount"] == {"all": 10, "some": 3, "none": 0, "in": {"all": 10}}


def test_null_counts_of_wide_statistics_count_all_rows_already():
    stats = '{"numRecords":10,"nullCount":{"a":7},"tightBounds":false}'
    assert json.loads(with_wide_bounds(stats, 10, deleted=3))["nullCount"] == {"a": 7}
