# SPDX-License-Identifier: Apache-2.0
"""The content of a progress line: its bar never runs backwards, and the facts are for people."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayou.spark.session.progress_state import ProgressState
from bayou.spark.task_counts import Tasks


def test_the_share_does_not_fall_if_spark_plans_more_tasks():
    state = ProgressState()
    shares = [state.advance("finding rows", Tasks(*each), 1).share for each in ((0, 16), (9, 16), (16, 16), (16, 31), (31, 31))]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[2] == shares[3] < shares[4] < 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=20))
def test_the_share_never_falls_and_never_exceeds_the_whole(steps):
    state, done, total, last = ProgressState(), 0, 0, 0.0
    for more_done, more_total in steps:
        total += more_total
        done = min(done + more_done, total)
        share = state.advance("writing", Tasks(done, total), 1).share
        if share is not None:
            assert last <= share <= 1
            last = share


def test_each_phase_has_its_own_share():
    state = ProgressState()
    assert state.advance("finding rows", Tasks(5, 9), 1).share == 0.5
    assert state.advance("writing", Tasks(0, 9), 2).share == 0


def test_a_line_has_tasks_rows_seconds_and_the_time_left():
    state = ProgressState()
    state.advance("writing", Tasks(0, 40), 10)
    shown = state.advance("writing", Tasks(10, 1_040, is_running=True, rows=1_234_567, size_bytes=1), 12)
    assert shown.facts == ("10/1,040 tasks", "1,234,567 rows", "12 s", "about 3 min 26 s left")


def test_a_line_has_bytes_until_rows_are_written():
    shown = ProgressState().advance("reading", Tasks(0, 4, size_bytes=3 * 2**20), 61)
    assert shown.facts == ("0/4 tasks", "3.0 MiB", "1 min 1 s")


def test_unknown_tasks_have_no_share():
    for tasks in (None, Tasks()):
        shown = ProgressState().advance("committing", tasks, 2)
        assert (shown.share, shown.facts) == (None, ("2 s",))
