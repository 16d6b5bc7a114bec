# SPDX-License-Identifier: Apache-2.0
"""Scripts of this folder that run as processes, tell line by line what they have done, and are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.support.processes import ROOT

Kill = Callable[[int, int], None]
KILLS: Sequence[Kill] = (os.killpg, os.kill)
"""The whole process group is killed, or Python alone."""


def start(script: str, *arguments: Any) -> subprocess.Popen[str]:
    """A script of this folder in a process group of its own. Its first line says `ready`."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def kill_all(
    processes: Sequence[subprocess.Popen[str]], kills: Iterator[Kill], random: Random, *, lines: int, seconds: float
) -> list[list[str]]:
    """Kills processes that run side by side, each at a moment of its own; returns what each has told.

    Args:
        processes: the processes.
        kills: how the next one is killed; `cycle(KILLS)` for the ways in turn.
        random: draws the order and the moments.
        lines: how much a process may tell at the most before its last moment begins; the ones after it go on meanwhile.
        seconds: how long that moment is at the most.
    """
    try:
        assert {process.stdout.readline().strip() for process in processes} == {"ready"}
        said = {process.pid: [] for process in processes}
        for process in random.sample(processes, len(processes)):
            said[process.pid] = [process.stdout.readline().strip() for _ in range(random.randint(0, lines))]
            time.sleep(random.uniform(0, seconds))
            end(process, next(kills))
    finally:
        for process in processes:
            end(process, os.killpg)
    for process in processes:
        with process.stdout as rest:
            said[process.pid] += rest.read().splitlines()
    return list(said.values())


def end(process: subprocess.Popen[str], kill: Kill) -> None:
    """Kills a process, and whatever is left of it."""
    if process.returncode is not None:
        return
    kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(1.5)  # Spark's JVM ends by itself when Python is gone; until then it may still write
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
