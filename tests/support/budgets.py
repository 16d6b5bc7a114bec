# SPDX-License-Identifier: Apache-2.0
"""No file of tests takes long: a run fails that has one over its budget of seconds, and says which.

The time of a file is that of its tests, their fixtures included. What a whole process shares is left out: fixtures of the scope
`session`, and what the last test of a process ends.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from tests.slow_files import SLOW_FILES

BUDGET_SECONDS: Final = 20.0
"""What a file may take on a machine of the usual pace."""
HEADROOM: Final = 3.0
"""How many times its budget a file may take before a run fails: the processes of a run share the machine's cores."""
SECONDS_BETWEEN_LOOKS: Final = 20.0
"""So often the pace is measured: whatever else the machine does begins and ends during a run."""
USUAL_SECONDS: Final = 0.2
"""How long `piece_of_work` takes on such a machine, with nothing else to do: two cores of an EPYC of 2021."""


def piece_of_work() -> float:
    """Does what takes a while in Python alone, and returns the seconds of it."""
    start = time.perf_counter()
    texts: dict[int, str] = {}
    for number in range(900_000):
        texts[number % 1000] = str(number)
    return time.perf_counter() - start


def over_budget(seconds: Mapping[str, float], pace: float, slow_files: Mapping[str, tuple[float, str]] = SLOW_FILES) -> list[str]:
    """The files that took longer than they may, the slowest first.

    Args:
        seconds: what each file took.
        pace: how many times longer than usual this machine takes for a piece of work.
        slow_files: those that may take longer than others.
    """
    allowed = {file: pace * slow_files.get(file, (BUDGET_SECONDS, ""))[0] for file in seconds}
    wrong = sorted((file for file in seconds if seconds[file] > allowed[file]), key=lambda file: -seconds[file])
    return [f"{file} took {seconds[file]:.1f} s, and may take {allowed[file]:.1f} s" for file in wrong]


def chooses_tests(config: pytest.Config) -> bool:
    """Whether a run is not of whole files as `make test` runs them."""
    by_name = config.option.keyword or any("::" in each for each in config.args)
    by_mark = config.option.markexpr != "not soak"
    return bool(by_name or by_mark or config.getoption("hypothesis_profile", None))


class Stopwatch:
    """Measures in the process of the tests what they share. Its reports say it to whoever runs them."""

    def __init__(self) -> None:
        self._shared = 0.0
        self._is_sharing = False
        self._is_last = False

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        if fixturedef.scope != "session" or self._is_sharing:
            return (yield)
        self._is_sharing = True
        start = time.perf_counter()
        try:
            return (yield)
        finally:
            self._is_sharing = False
            self._shared += time.perf_counter() - start

    def pytest_runtest_teardown(self, nextitem: pytest.Item | None) -> None:
        self._is_last = nextitem is None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[None]:
        report: Any = yield
        report.shared_seconds = call.duration if call.when == "teardown" and self._is_last else self._shared
        self._shared = 0.0
        return report


class Budgets:
    """Adds up in the process that reports what each file took, and fails the run if one took too long."""

    def __init__(self, usual_seconds: float = USUAL_SECONDS) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._usual = usual_seconds
        self._slowest = piece_of_work()
        self._looked_at = time.perf_counter()
        self._found: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        shared = getattr(report, "shared_seconds", 0.0)
        self._seconds[report.nodeid.partition("::")[0]] += max(0.0, report.duration - shared)
        if time.perf_counter() - self._looked_at > SECONDS_BETWEEN_LOOKS:
            self._look()

    def _look(self) -> None:
        self._slowest = max(self._slowest, piece_of_work())
        self._looked_at = time.perf_counter()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._look()
        self._found = over_budget(self._seconds, HEADROOM * max(1.0, self._slowest / self._usual))
        if self._found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._found:
            terminalreporter.section("files that took too long", red=True)
            for line in self._found:
                terminalreporter.write_line(line)
            terminalreporter.write_line("Make them quicker, or name them with a reason in tests/slow_files.py.")
