# SPDX-License-Identifier: Apache-2.0
"""Writers that come to grief, in a process of its own that forks them.

Takes a JSON document on standard input, `{"folder": ..., "trials": [[method of Trial, {argument: ...}], ...], "repetitions": ...}`,
and prints one: `{"hits": {step: number}, "failures": [text, ...]}`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

from tests.scenarios.core.crash_steps import Stepper
from tests.scenarios.core.row_writer import LONGEST_COMMIT, Writer
from tests.scenarios.core.table_checks import check

from bayou.log.checkpoint import writer as checkpoint_writer  # noqa: F401  (loaded once, before the forks)
from bayou.log.checksum import writer as checksum_writer  # noqa: F401  (loaded once, before the forks)
from bayou.log.commit.outcomes import Committed, Unknown
from bayou.log.snapshot import data_skipping as file_statistics  # noqa: F401  (loaded once, before the forks)
from bayou.protocol.actions.file_names import LOG_FOLDER

_NOBODY: Final = 65534
_ON_A_TABLE: Final = 8
"""So many trials in turn have a table: a look at everything takes longer with each."""


def kill_at(step: str, nth: int) -> Callable[[str], None]:
    """What a stepper does to be killed at a step, the n-th time that it comes to it."""
    left = [nth]

    def act(name: str) -> None:
        if name == step:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    return act


class FailAt:
    """What a stepper does to fail at a step, once or for good: then every write fails, and deletions do not."""

    def __init__(self, step: str, code: int, *, lasts: bool) -> None:
        self.failed = False
        self._step = step
        self._code = code
        self._lasts = lasts

    def __call__(self, name: str) -> None:
        again = self._lasts and not name.startswith("cleanup:")
        if again if self.failed else name == self._step:
            self.failed = True
            raise OSError(self._code, os.strerror(self._code))


def forked(call: Callable[[], None]) -> tuple[int, str]:
    """Run a call in a fork of this process.

    Returns:
        The signal that ended it, or 0, and the text of what it raised.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            call()
            code = 0
        except BaseException:  # noqa: BLE001  (the parent is told)
            os.write(writing, traceback.format_exc()[-10_000:].encode())
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as pipe:  # noqa: PTH123  (a descriptor)
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return (os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0), text


class Trial:
    """Lets writers come to grief in turn, on tables with classic checkpoints and on some with V2.

    After each the table is checked: in the process of the next writer, and at the end in one more.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.failures: list[str] = []
        self.hits: Counter[str] = Counter()
        self._folder = folder
        self._random = Random(seed)
        self._writers = 0
        self._trials = 0
        self._unchecked: dict[Path, str] = {}

    def kill(self, step: str, *, v2: bool) -> None:
        """Kill a writer at a step; one that ended before it came to the step so often is followed by others."""
        for nth in (self._random.randint(1, 3), 1, 1):
            # Only a table that does not exist is made.
            place = self._place(v2=v2, anew=step.startswith("table:"))
            ended = self._try(place, f"killed at {step}, time {nth}", lambda writer: self._run(writer, kill_at(step, nth)))  # noqa: B023
            self.hits[step] += ended == signal.SIGKILL
            if ended:
                return

    def fail(self, step: str, code: int, *, lasts: bool) -> None:
        """Have a step fail, once or from there on, as a disk fails that is full or broken."""
        place = self._place(v2="sidecar" in step, anew=step.startswith("table:"))
        act = FailAt(step, code, lasts=lasts)

        def run(writer: Writer) -> None:
            Stepper(act)
            writer.run_on_a_bad_disk()
            assert act.failed

        self._try(place, f"{step} failed with {code}, lasting: {lasts}", run)

    def limit(self, size: int) -> None:
        """Have no file get longer than a size: a write fails half-way, as on a disk that is full."""

        def run(writer: Writer) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            writer.run_on_a_bad_disk()
            outcome = writer.commit_without_rows()
            assert isinstance(outcome, Committed if size > LONGEST_COMMIT else Unknown), outcome

        self._try(self._place(), f"files no longer than {size}", run)

    def forbid(self) -> None:
        """Have a writer that may read the table's folder and not change it."""
        place = self._place()
        self._try(place, "before the folder is read-only", lambda writer: writer.run(self._random))

        def run(writer: Writer) -> None:
            if not os.geteuid():  # root may write everywhere
                os.setuid(_NOBODY)
            before = writer.log.version()
            writer.run_on_a_bad_disk()
            assert isinstance(writer.commit_without_rows(), Unknown)
            assert writer.log.version() == before

        folders = [place / "table", place / "table" / LOG_FOLDER]
        for folder in folders:
            folder.chmod(0o555)
        try:
            self._run_forked("a read-only folder", lambda: run(self._writer(place)))
        finally:
            for folder in folders:
                folder.chmod(0o755)
        self._unchecked[place] = "a read-only folder"

    def _place(self, *, v2: bool = False, anew: bool = False) -> Path:
        self._trials += 1
        name = f"alone{self._trials}" if anew else f"table{self._trials // _ON_A_TABLE}"
        place = self._folder / ("v2" if v2 else "classic") / name
        place.mkdir(parents=True, exist_ok=True)
        return place

    def finish(self) -> None:
        """Check what no later writer has looked at."""
        for place in list(self._unchecked):
            self._run_forked("the end", lambda: self._check(place))  # noqa: B023  (run at once)

    def _try(self, place: Path, what: str, run: Callable[[Writer], None]) -> int:
        def check_and_run() -> None:
            self._check(place)
            run(self._writer(place))

        ended = self._run_forked(what, check_and_run)
        self._unchecked[place] = what
        return ended

    def _check(self, place: Path) -> None:
        before = self._unchecked.get(place)
        if before is not None:
            try:
                check(place / "table", place / "journal", self._writer(place, "check"))
            except Exception as error:
                raise AssertionError(f"the table is not sound: {before}") from error

    def _run_forked(self, what: str, call: Callable[[], None]) -> int:
        self._writers += 1
        ended, text = forked(call)
        if text or ended not in {0, signal.SIGKILL}:
            self.failures.append(f"{what}, ended by signal {ended}: {text}")
        return ended

    def _writer(self, place: Path, name: str = "") -> Writer:
        return Writer(place / "table", place / "journal", f"{self._writers}{name}", v2="v2" in place.parts)

    def _run(self, writer: Writer, act: Callable[[str], None]) -> None:
        Stepper(act)
        writer.run(self._random)


def main() -> None:
    order = json.load(sys.stdin)
    hits: Counter[str] = Counter()
    failures: list[str] = []
    for number in range(order.get("repetitions", 1)):
        trial = Trial(Path(order["folder"], str(number)), number)
        for method, arguments in order["trials"]:
            getattr(trial, method)(**arguments)
        trial.finish()
        hits += trial.hits
        failures += trial.failures
    json.dump({"hits": hits, "failures": failures}, sys.stdout)


if __name__ == "__main__":
    main()
