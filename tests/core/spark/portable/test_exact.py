# SPDX-License-Identifier: Apache-2.0
"""Which conditions Parquet may evaluate differently from Spark."""

from __future__ import annotations

import pytest

from bayou.spark.portable.scan.exact import may_differ
from bayou.spark.portable.text.expressions import read_expression


@pytest.mark.parametrize("text", ["a = 0", "a >= 0.0D", "a in (1, -0.0)", "a = cast(X'FF' as string)", "a = decode(b, 'x')"])
def test_zero_and_unknown_constants_may_differ(text):
    assert may_differ(read_expression(text))


@pytest.mark.parametrize("text", ["a = date'1582-10-10'", "a = '1582-10-10'", "a < timestamp'1500-01-01 00:00:00'"])
def test_old_times_may_differ(text):
    assert may_differ(read_expression(text))


@pytest.mark.parametrize("text", ["a > 5", "5 < a", "a <> 1", "not a <= 1.0D", "not a in (1, null)", "a = 'x' and b > 2.5"])
def test_what_nan_may_satisfy_may_differ(text):
    assert may_differ(read_expression(text))


@pytest.mark.parametrize("text", ["a = 1", "a = 'x' and b = 2.5", "a is null", "a in (1, null)", "a > 'x'", "a = date'2024-01-01'"])
def test_other_literals_do_not(text):
    assert not may_differ(read_expression(text))


def test_a_condition_that_cannot_be_read_may_differ():
    assert may_differ(None)
