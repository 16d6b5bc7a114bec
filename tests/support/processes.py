# SPDX-License-Identifier: Apache-2.0
"""Sessions that cannot run in the tests' own process: a script is started once, and each of its facts becomes a test.

A script builds a session and hands it, with its named functions, to `answer`; a test gets at what they returned by `Answers`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MARK = "ANSWER "
ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("programs")
"""Programs that tests of several rooms start."""


class UnavailableError(Exception):
    """This machine or this PySpark cannot run such a session; the text says why."""


@dataclass(frozen=True)
class Answers:
    """What a script's functions returned.

    Attributes:
        found: for each function what it returned, as JSON, or the trace of its error, and how long it took.
        log: what the process wrote on stderr.
    """

    found: Mapping[str, Mapping[str, Any]]
    log: str

    def __getitem__(self, name: str) -> Any:
        found = self.found[name]
        assert "error" not in found, found["error"]
        return found["value"]


def ask(
    script: str,
    *arguments: str,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    seconds: float = 300,
) -> Answers:
    """Runs a script of this folder or another in a process of its own; skips the test where its session cannot run."""
    import pytest  # the script's Python need not have it

    given = {**os.environ, "PYSPARK_PYTHON": python, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    given.pop("SPARK_HOME", None)
    done = subprocess.run(
        [python, script, *arguments],
        env={**given, **(environment or {})},
        cwd=arguments[0],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            said = json.loads(line.removeprefix(MARK))
            if "unavailable" in said:
                pytest.skip(said["unavailable"])
            return Answers(said, done.stderr)
    raise AssertionError(f"{Path(script).name} ended with {done.returncode}: {done.stderr[-3000:]}")


def answer(start: Callable[[], Any], functions: Sequence[Callable[[Any], Any]]) -> None:
    """Starts a session, calls the functions with it, in their order, and prints what they return."""
    try:
        spark = start()
    except UnavailableError as error:
        _say({"unavailable": str(error)})
        return
    said: dict[str, dict[str, Any]] = {}
    for function in functions:
        started = time.monotonic()
        try:
            said[function.__name__] = {"value": function(spark)}
        except Exception:  # noqa: BLE001  (told to the test)
            said[function.__name__] = {"error": traceback.format_exc()}
        said[function.__name__]["seconds"] = round(time.monotonic() - started, 1)
    _say(said)
    spark.stop()


def _say(what: Mapping[str, Any]) -> None:
    sys.stdout.write("\n" + MARK + json.dumps(what) + "\n")
    sys.stdout.flush()
