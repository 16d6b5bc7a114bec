# SPDX-License-Identifier: Apache-2.0
"""A family of cases in one test: all of them run, and those that fail are named."""

from __future__ import annotations

import inspect

import pytest
from tests.support.cases import LONGEST_NAME, check_each, in_one_test


def failing(test, **fixtures):
    with pytest.raises(pytest.fail.Exception) as caught:
        test(**fixtures)
    return str(caught.value).splitlines()


def test_every_case_runs_and_each_that_fails_is_named():
    seen = []

    @in_one_test(("a", "b"), [(1, 1), (1, 2), (3, 3)])
    @in_one_test("kind", [int, "x"])
    def test(a, b, kind, found):
        found.append((a, b, kind))
        assert a == b

    assert list(inspect.signature(test).parameters) == ["found"]
    assert failing(test, found=seen)[:3] == ["2 of 6 cases failed:", "  a=1, b=2, kind=int", "  a=1, b=2, kind='x'"]
    assert seen == [(a, b, kind) for a, b in ((1, 1), (1, 2), (3, 3)) for kind in (int, "x")]


def test_an_error_that_is_not_raised_is_a_failure_with_its_place():
    @in_one_test("text", ["7", "x" * 200])
    def test(text):
        with pytest.raises(ValueError):
            int(text)

    lines = failing(test)
    assert lines[:2] == ["1 of 2 cases failed:", "  text='7'"]
    assert any("DID NOT RAISE" in line for line in lines)
    assert any(__file__ in line for line in lines)


def test_a_case_that_cannot_be_shown_has_a_name():
    class Unshown:
        def __repr__(self):
            raise RuntimeError

    @in_one_test("value", [Unshown(), "x" * 200])
    def test(value):
        raise AssertionError

    assert failing(test)[1:3] == ["  value=a value of type Unshown", "  value='" + "x" * (LONGEST_NAME - 1) + "..."]


def test_where_all_cases_hold_nothing_is_said_and_no_case_is_none():
    check_each([1, 2], lambda _: None, name_of=str)
    with pytest.raises(AssertionError, match="without a case"):
        check_each([], lambda _: None, name_of=str)
