# SPDX-License-Identifier: Apache-2.0
"""How many files a point filter reads, against a count of each range for each bound."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.health_report.point_reads import point_reads

VALUES = st.integers(-3, 3)
FILES = st.lists(st.tuples(st.none() | st.tuples(VALUES, VALUES).map(sorted), st.booleans()), max_size=12)


@given(FILES)
def test_the_sums_are_those_of_counting_one_by_one(files):
    low = pa.array([None if bounds is None else bounds[0] for bounds, _ in files], pa.int64())
    high = pa.array([None if bounds is None else bounds[1] for bounds, _ in files], pa.int64())
    found = point_reads(low, high, pa.array([has_value for _, has_value in files], pa.bool_()))
    ranges = [bounds for bounds, has_value in files if has_value and bounds is not None]
    always = sum(has_value and bounds is None for bounds, has_value in files)
    counts = [sum(least <= value <= most for least, most in ranges) for bounds in ranges for value in bounds] or [0]
    assert found.average == pytest.approx(always + sum(counts) / len(counts))
    assert found.most == always + max(counts)


def test_bounds_that_touch_are_both_read():
    found = point_reads(pa.array(["a", "b"]), pa.array(["b", "c"]), pa.array([True, True]))
    assert (found.average, found.most) == (1.5, 2)


def test_nan_equals_nan():
    values = pa.array([float("nan"), 1.0, float("nan"), -0.0, 0.0])
    found = point_reads(values, values, pa.array([True] * 5))
    assert (found.average, found.most) == (9 / 5, 2)
