# SPDX-License-Identifier: Apache-2.0
"""Sizes, durations and ages for people."""

from __future__ import annotations

import pytest

from bayou.report.units import age_text, duration_text, size_text

DAY = 86_400


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(None, None), (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 * 2**30, "5.0 GiB"), (2**60, "1048576.0 TiB")],
)
def test_sizes_have_units(size_bytes, text):
    assert size_text(size_bytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (1.44, "1.4 s"), (9.96, "10 s"), (59.7, "1 min 0 s"), (185, "3 min 5 s"), (7_260, "2 h 1 min")],
)
def test_durations_have_units(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s ago"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3_600, "1 hour ago"),
        (7_300, "2 hours ago"),
        (DAY, "1 day ago"),
        (45 * DAY, "1 month ago"),
        (800 * DAY, "2 years ago"),
        (-120, "in 2 min"),
    ],
)
def test_ages_have_one_unit(seconds, text):
    assert age_text((1_000_000_000 - seconds) * 1000, now=1_000_000_000) == text


def test_the_age_of_an_unknown_time_is_unknown():
    assert age_text(None) is None
