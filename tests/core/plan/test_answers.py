# SPDX-License-Identifier: Apache-2.0
"""Counts, extremes and limits are answered from the log only where it proves them."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest

from bayou.plan.answers import count_from_log, min_max_from_log, take_until
from bayou.plan.predicates.partition_values import arrow_type
from bayou.plan.statistics.columns import from_json

PATH = ("c",)


def a_file(low=None, high=None, nulls=0, rows=10, **more):
    bounds = {} if low is None else {"minValues": {"c": low}, "maxValues": {"c": high}}
    return json.dumps({"numRecords": rows, **bounds, "nullCount": {"c": nulls}, **more})


def extremes(files, data_type="integer", deleted=None):
    known = from_json(pa.array(files, pa.string()), {PATH: data_type})
    gone = pa.array(deleted or [None] * len(files), pa.int64())
    found = [min_max_from_log(which, PATH, data_type, known, {}, gone) for which in ("min", "max")]
    return [None if each is None else (each.as_py(), each.type) for each in found]


def of_partition(values, rows, deleted, data_type):
    known = from_json(pa.array([json.dumps({"numRecords": n} if n is not None else {}) for n in rows]), {})
    array = pa.array(values, arrow_type(data_type))
    found = [
        min_max_from_log(which, PATH, data_type, known, {PATH: array}, pa.array(deleted, pa.int64())) for which in ("min", "max")
    ]
    return [None if each is None else each.as_py() for each in found]


def test_a_count_is_the_rows_less_the_deleted_ones():
    assert count_from_log(pa.array([10, 5]), pa.array([None, 2], pa.int64())) == 13
    assert count_from_log(pa.array([], pa.int64()), pa.array([], pa.int64())) == 0


def test_a_count_needs_the_rows_of_every_file():
    assert count_from_log(pa.array([10, None]), pa.array([None, None], pa.int64())) is None


def test_more_deleted_rows_than_rows_are_no_count():
    assert count_from_log(pa.array([1]), pa.array([2])) is None


def test_extremes_of_integers_and_dates_come_from_tight_bounds():
    assert extremes([a_file(1, 5), a_file(-3, 2), a_file(nulls=10)]) == [(-3, pa.int32()), (5, pa.int32())]
    assert [str(value) for value, _ in extremes([a_file("2020-01-01", "2021-01-01")], "date")] == [
        "2020-01-01",
        "2021-01-01",
    ]


def test_extremes_of_no_rows_are_null():
    assert extremes([]) == [(None, pa.int32())] * 2
    assert extremes([a_file(nulls=10)]) == [(None, pa.int32())] * 2


@pytest.mark.parametrize(
    "file",
    [
        a_file(1, 5, tightBounds=False),
        a_file(),
        '{"numRecords":10,"minValues":{"c":1},"maxValues":{"c":5}}',
        '{"minValues":{"c":1},"maxValues":{"c":5},"nullCount":{"c":0}}',
        None,
    ],
)
def test_one_file_without_proof_leaves_extremes_to_the_scan(file):
    assert extremes([a_file(1, 5), file]) == [None, None]


def test_a_deletion_vector_leaves_extremes_to_the_scan():
    assert extremes([a_file(1, 5), a_file(1, 5)], deleted=[None, 1]) == [None, None]


@pytest.mark.parametrize(
    ("data_type", "low"),
    [("double", 1.5), ("string", "a"), ("timestamp", "2020-01-01T00:00:00Z"), ("decimal(5,1)", 1.5)],
)
def test_other_types_leave_extremes_to_the_scan(data_type, low):
    assert extremes([a_file(low, low)], data_type) == [None, None]


def test_dates_that_python_cannot_hold_are_left_to_the_scan():
    assert extremes([a_file("2020-01-01", "+10000-01-01")], "date")[1] is None


def test_extremes_of_partition_columns_count_files_with_live_rows():
    assert of_partition(["a", "b", "c", None], [1, 1, 1, 1], [None, 0, 1, None], "string") == ["a", "b"]
    values = [Decimal("1.50"), Decimal("2.50")]
    assert of_partition(values, [1, 1], [None, None], "decimal(5,2)") == values
    assert of_partition([1, 2], [1, None], [None, None], "integer") == [None, None]
    assert of_partition([1.0], [1], [None], "double") == [None] * 2


def test_a_limit_takes_the_first_files_that_hold_enough_live_rows():
    rows, deleted = pa.array([10, None, 5, 0, 7]), pa.array([9, None, None, None, None], pa.int64())
    assert take_until(rows, deleted, 1).to_pylist() == [0]
    assert take_until(rows, deleted, 6).to_pylist() == [0, 2]
    assert take_until(rows, deleted, 7).to_pylist() == [0, 2, 4]
    assert take_until(rows, deleted, 13).to_pylist() == [0, 2, 4]
    assert take_until(rows, deleted, 14) is None
    assert take_until(rows, deleted, 0).to_pylist() == []
    assert take_until(pa.array([], pa.int64()), pa.array([], pa.int64()), 1) is None
