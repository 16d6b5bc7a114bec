# SPDX-License-Identifier: Apache-2.0
"""Operations of maintenance that fail, or whose process is killed: the table opens with each row once, and they can run again."""

from __future__ import annotations

import json
import sys

import pytest
from tests.scenarios.core.maintenance_cases import CASES, FULL, WRITES, Trial, prepare

from bayou.log.commit import attempts
from bayou.testing.faulty_store import Fault

SIZES = [0, 300, 900, 1 << 20]
"""Shorter than a commit, than a data file, and longer than any."""


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch):
    monkeypatch.setattr(attempts, "_LONGEST_PAUSE", 0.0)


def fail_everywhere(case, folder, step, **fault):
    """Fail at each call of the store in turn; returns how many calls there were."""
    prepared = prepare(case, folder)
    nth = 1
    while Trial(CASES[case], prepared, folder / f"trial{nth}").fail(Fault(nth=nth, **fault)):
        nth += step
    return nth - 1


FAULTS = {
    "before": {"kind": "before"},
    "after": {"kind": "after"},
    "the store is gone": {"kind": "before", "times": None},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.in_turn(2)
def test_a_store_that_fails_at_any_call_loses_no_row(tmp_path, case, fault):
    assert fail_everywhere(case, tmp_path, 3, **FAULTS[fault]) > 3


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_store_that_fails_at_each_call_loses_no_row(tmp_path, case, fault):
    assert fail_everywhere(case, tmp_path, 1, **FAULTS[fault]) > 3


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("call", WRITES)
@pytest.mark.in_turn(2)
def test_a_full_disk_loses_no_row(tmp_path, case, call):
    fail_everywhere(case, tmp_path, 1, call=call, times=None, error=FULL)


@pytest.fixture
def kill(interpreters, tmp_path):
    def run(case, step, sizes):
        order = {"folder": str(tmp_path), "case": case, "step": step, "sizes": sizes}
        code = "from tests.scenarios.core.maintenance_cases import main; main()"
        done = interpreters.run(code, given=json.dumps(order))
        assert not done.code, done.err
        answer = json.loads(done.out)
        assert not answer["failures"], "\n".join(answer["failures"][:3])
        return answer["kills"]

    return run


@pytest.mark.skipif(sys.platform == "win32", reason="forks, and is killed by a signal")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.in_turn(2)
def test_a_process_that_is_killed_loses_no_row(kill, case):
    assert kill(case, 4, SIZES) > 0


@pytest.mark.soak
@pytest.mark.skipif(sys.platform == "win32", reason="forks, and is killed by a signal")
@pytest.mark.parametrize("case", CASES)
def test_a_process_that_is_killed_at_each_call_loses_no_row(kill, case):
    assert kill(case, 1, [*range(0, 2000, 100)]) > 4
