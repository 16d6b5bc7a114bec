# SPDX-License-Identifier: Apache-2.0
"""mutants.py [OPTION...] [FILE:LINE...]: which small faults in the code that decides about correctness no test notices.

Draws mutants of the code for data skipping, of the conflict check and of `protocol/`, as many of each, and runs for each one
the tests of `tests/core` that execute its line: first those that mirror its folder, then the others, then those that read the
sources. A mutant of a constant outside functions meets all of `tests/core`. All happens in a copy of the checkout. Fails if
too many mutants survive.

`--seed` repeats a draw. `FILE:LINE` runs all mutants of a line.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from changed_tests import suites_of
from coverage import CoverageData
from mutations import Mutation, mutations

ROOT = Path(__file__).resolve().parent.parent
AREAS = {
    "skipping": ("plan/skipping.py", "plan/predicates/*.py", "plan/statistics/*.py"),
    "conflict": ("log/conflict/*.py",),
    "protocol": ("protocol/**/*.py",),
}
"""What is mutated, below `src/bayou`."""

MEMORY_BYTES = 8 << 30
"""What one run of tests may map: a mutant may collect without end."""

TEST_SECONDS = 120
"""How long one test may take."""

PYTEST = f"-m pytest -q -n 0 -k test -p no:cacheprovider -p no:randomly --timeout={TEST_SECONDS}".split()
"""Asked for by a name that all have, tests run whole, and have no budgets of time."""

NOTICED_BY = re.compile(r"^(?:FAILED|ERROR|ImportError while loading) (\S+)", re.MULTILINE)
"""What pytest says of a test that fails, and of one that cannot be imported."""

CRASHES = {int(each): each.name for each in (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)}
"""Signals of a process that its own work has ended; another one has come from outside, and says nothing of the mutant."""


class Mutant(NamedTuple):
    """A mutation of one file."""

    path: str
    mutation: Mutation

    def __str__(self) -> str:
        original, mutant = (" ".join(text.split()) for text in (self.mutation.original, self.mutation.mutant))
        return f"{self.path}:{self.mutation.line}  {original} -> {mutant}"


def main() -> int:
    options = _options()
    drawn = mutants_at(options.places) if options.places else draw(options.count, random.Random(options.seed))  # noqa: S311  (no secret)
    print(f"{len(drawn)} mutants, " + ("of the lines given" if options.places else f"seed {options.seed}"), flush=True)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with tempfile.TemporaryDirectory(prefix="bayou-mutants-") as folder:
        copied = Copy(Path(folder) / "bayou", options.tests)
        copied.measure()
        fates = [(mutant, _run(copied, mutant, f"{number}/{len(drawn)}")) for number, mutant in enumerate(drawn, 1)]
    return _report(fates, options.allowed)


def draw(count: int, random_: random.Random) -> list[Mutant]:
    """Mutants of all areas, as many of each."""
    drawn = []
    for number, patterns in enumerate(AREAS.values()):
        paths = sorted({path for pattern in patterns for path in (ROOT / "src/bayou").glob(pattern)})
        every = [mutant for path in paths for mutant in _mutants_of(path)]
        drawn += random_.sample(every, min(len(every), (count + number) // len(AREAS)))
    return drawn


def mutants_at(places: list[str]) -> list[Mutant]:
    """All mutants of lines: each is given as FILE:LINE."""
    at = [place.rpartition(":")[::2] for place in places]
    return [each for path, line in at for each in _mutants_of((ROOT / path).resolve()) if each.mutation.line == int(line)]


def _mutants_of(path: Path) -> list[Mutant]:
    return [Mutant(str(path.relative_to(ROOT)), mutation) for mutation in mutations(path.read_bytes())]


class Copy:
    """A copy of the checkout, and which of its tests execute which lines."""

    def __init__(self, root: Path, tests: list[str]) -> None:
        self._root = root
        self._tests = tests
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        for file in filter(None, files):
            if (ROOT / file).is_file():
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, root / file)
        shared = os.environ.get("BAYOU_SHARED", str(ROOT.parent / "shared"))
        self._environment = os.environ | {"PYTHONPATH": str(root / "src"), "BAYOU_SHARED": shared, "COVERAGE_CORE": "ctrace"}
        self._lines: dict[str, dict[int, list[str]]] = {}
        self._seconds = 0.0

    def measure(self) -> None:
        """Run the tests once, without a mutant: they must pass, and the lines that each one executes are kept."""
        print("which tests execute which lines:", flush=True)
        began = time.monotonic()
        command = [sys.executable, *PYTEST, "--cov=bayou", "--cov-context=test", "--cov-report=", *self._tests]
        if subprocess.run(command, cwd=self._root, env=self._environment, check=False).returncode:
            sys.exit("the tests fail without a mutant")
        self._seconds = time.monotonic() - began
        data = CoverageData(str(self._root / ".coverage"))
        data.read()
        for file in data.measured_files():
            self._lines[str(Path(file).relative_to(self._root))] = data.contexts_by_lineno(file)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The test files that can notice a mutant, those of its own folder first."""
        lines = self._lines[mutant.path]
        mutated = range(mutant.mutation.line, mutant.mutation.last_line + 1)
        contexts = {context for line in mutated for context in lines.get(line, [])}
        executing = _files(contexts)
        if not mutant.mutation.in_function or (contexts and not executing):
            # An import executes it.
            executing = {file for each in self._lines.values() for found in each.values() for file in _files(found)}
        mirrors = tuple(suites_of([mutant.path], self._root))
        # Tests that read the sources as texts lie in no folder, and execute nothing.
        readers = [str(file.relative_to(self._root)) for suite in self._tests for file in (self._root / suite).glob("test_*.py")]
        return sorted({*executing, *readers}, key=lambda file: (not file.startswith(mirrors), file in readers, file))

    def run(self, mutant: Mutant, tests: list[str]) -> str:
        """What became of a mutant."""
        path = self._root / mutant.path
        shutil.copy2(path, original := path.with_suffix(".original"))
        path.write_bytes(mutant.mutation.applied(path.read_bytes()))
        try:
            # Byte code of a mutant must not outlive it.
            environment = self._environment | {"PYTHONDONTWRITEBYTECODE": "1"}
            command = [sys.executable, *PYTEST, "-x", *tests]
            run = subprocess.run(
                command,
                cwd=self._root,
                env=environment,
                capture_output=True,
                text=True,
                timeout=self._seconds * 2 + 60,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "timed out"
        finally:
            original.replace(path)
        if run.returncode == 0:
            return "SURVIVED"
        if "Failed: Timeout" in run.stdout:
            return "timed out"
        if -run.returncode in CRASHES:
            return f"killed by a crash ({CRASHES[-run.returncode]})"
        noticed_by = NOTICED_BY.search(run.stdout + run.stderr)
        if noticed_by is None:
            sys.exit(f"{mutant}: no test failed, and pytest did not end well:\n{run.stdout}{run.stderr}")
        return f"killed by {noticed_by[1]}"


def _files(contexts: Iterable[str]) -> set[str]:
    """The test files of what coverage calls `tests/core/plan/test_x.py::test_y|run`, and an import an empty text."""
    return {context.partition("::")[0] for context in contexts if context}


def _run(copied: Copy, mutant: Mutant, number: str) -> str:
    began = time.monotonic()
    tests = copied.tests_of(mutant)
    fate = copied.run(mutant, tests)
    print(f"{number}  {mutant}\n        {fate} ({time.monotonic() - began:.0f} s)", flush=True)
    return fate


def _report(fates: list[tuple[Mutant, str]], allowed: float) -> int:
    print("\n", dict(Counter(fate.partition(" by ")[0] for _, fate in fates)), sep="")
    survivors = [mutant for mutant, fate in fates if fate == "SURVIVED"]
    print(*survivors, sep="\n")
    if len(survivors) > allowed * len(fates):
        print(f"no test notices {len(survivors)} of {len(fates)} mutants, and {allowed:.0%} is allowed", file=sys.stderr)
        return 1
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("places", nargs="*", metavar="FILE:LINE")
    parser.add_argument("--count", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--allowed", type=float, default=0.15, help="the share that may survive: one in twelve changes nothing")
    parser.add_argument("--tests", action="append", help="a folder of tests to use (default: tests/core)")
    options = parser.parse_args()
    options.tests = options.tests or ["tests/core"]
    return options


if __name__ == "__main__":
    sys.exit(main())
