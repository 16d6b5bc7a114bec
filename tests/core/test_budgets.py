# SPDX-License-Identifier: Apache-2.0
"""A file of tests that takes too long fails the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.slow_files import SLOW_FILES
from tests.support.budgets import BUDGET_SECONDS, Budgets, Stopwatch, chooses_tests, over_budget

ROOT = Path(__file__).parents[2]
FILE = "tests/core/test_x.py"

pytest_plugins = ["pytester"]


def test_a_file_is_over_its_budget_on_a_machine_of_its_pace():
    slow = {FILE: (30.0, "it waits")}
    assert over_budget({FILE: 20.0}, 1.0, {}) == []
    assert over_budget({FILE: 20.1, "y": 25.0, "z": 1.0}, 1.0, {}) == [
        "y took 25.0 s, and may take 20.0 s",
        f"{FILE} took 20.1 s, and may take 20.0 s",
    ]
    assert over_budget({FILE: 39.0}, 2.0, {}) == over_budget({FILE: 29.0}, 1.0, slow) == []
    assert over_budget({FILE: 31.0}, 1.0, slow) == [f"{FILE} took 31.0 s, and may take 30.0 s"]


def test_each_file_that_may_take_longer_is_there_for_a_reason_and_needs_it():
    for file, (seconds, reason) in SLOW_FILES.items():
        assert (ROOT / file).is_file(), file
        assert seconds > BUDGET_SECONDS, file
        assert reason, file


SLEEPING = """
import time
import pytest

@pytest.fixture(scope="session")
def inner():
    time.sleep(0.5)

@pytest.fixture(scope="session")
def shared(inner):
    time.sleep(0.5)
    yield
    time.sleep(0.5)

def test_it(shared):
    time.sleep({seconds})
"""


@pytest.mark.parametrize(("seconds", "is_over"), [(0, False), (0.7, True)])
def test_a_run_fails_for_the_time_of_a_files_own_tests(pytester, monkeypatch, seconds, is_over):
    monkeypatch.setattr("tests.support.budgets.BUDGET_SECONDS", 0.2)
    pytester.makepyfile(SLEEPING.format(seconds=seconds))
    found = pytester.runpytest_inprocess("-p", "no:randomly", plugins=[Stopwatch(), Budgets(usual_seconds=100)])
    found.assert_outcomes(passed=1)
    assert found.ret == is_over
    assert ("files that took too long" in found.stdout.str()) == is_over


@pytest.mark.parametrize(
    ("arguments", "chooses"),
    [
        (["-m", "not soak"], False),
        (["-m", "not soak", "tests/core"], False),
        (["-m", "soak"], True),
        (["-m", "not soak", "-k", "x"], True),
        (["-m", "not soak", "tests/core/test_x.py::test_y"], True),
        (["-m", "not soak", "--hypothesis-profile=soak"], True),
    ],
    ids=str,
)
def test_whoever_chooses_tests_waits_for_them_as_long_as_they_take(pytester, arguments, chooses):
    config = pytester.parseconfig(*arguments)
    assert chooses_tests(config) == chooses
