# SPDX-License-Identifier: Apache-2.0
"""How many files a batch takes."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from bayou.log.streaming.request.limits import Admission, ReadLimits


def admitted(limits, *groups):
    admission = Admission(limits)
    return [admission.admit(pa.array(sizes, pa.int64())) for sizes in groups]


def test_without_limits_everything_is_taken():
    assert admitted(None, [1, 2, 3], [], [4]) == [3, 0, 1]


def test_files_are_counted_over_commits():
    assert admitted(ReadLimits(3), [1, 1], [1, 1], [1]) == [2, 1, 0]


def test_bytes_are_a_soft_limit_that_one_file_may_pass():
    assert admitted(ReadLimits(None, 10), [6, 6, 6]) == [2]
    assert admitted(ReadLimits(None, 10), [100, 1]) == [1]
    assert admitted(ReadLimits(None, 10), [10, 1]) == [1]
    assert admitted(ReadLimits(None, 10), [4], [4, 4, 4]) == [1, 2]


def test_of_two_limits_the_one_that_is_reached_first_counts():
    assert admitted(ReadLimits(2, 100), [1, 1, 1]) == [2]
    assert admitted(ReadLimits(9, 5), [3, 3, 3]) == [2]


def test_files_that_belong_together_are_taken_together_or_not_at_all():
    admission = Admission(ReadLimits(3, 100))
    assert admission.admit_together(5, 500)
    assert not admission.admit_together(1, 1)
    admission = Admission(ReadLimits(3, 100))
    assert admission.admit(pa.array([1], pa.int64())) == 1
    assert not admission.admit_together(3, 3)
    assert not admission.admit_together(2, 100)
    assert admission.admit_together(2, 99)
    assert admission.admit_together(0, 0)


@given(
    st.lists(st.integers(0, 20), max_size=30),
    st.one_of(st.none(), st.integers(1, 10)),
    st.one_of(st.none(), st.integers(1, 50)),
    st.integers(0, 30),
)
def test_a_file_is_taken_where_there_is_room_before_it(sizes, max_files, max_bytes, cut):
    expected, files, size = 0, 0, 0
    for each in sizes:
        if (max_files is not None and files >= max_files) or (max_bytes is not None and size >= max_bytes):
            break
        expected, files, size = expected + 1, files + 1, size + each
    limits = ReadLimits(max_files, max_bytes)
    assert admitted(limits, sizes) == [expected]
    first, second = admitted(limits, sizes[:cut], sizes[cut:])
    assert first + second == expected
