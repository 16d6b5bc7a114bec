# SPDX-License-Identifier: Apache-2.0
"""One writer of a table on HDFS, in a process of its own with Hadoop's client; as a program it may be told when to die.

The program takes `{"folder": ..., "adapters": ..., "number": ..., "commits": ..., "task": ..., "dies_at": ..., "after": ...}` on
standard input. It says `ready`, waits for a line, and prints a line for each commit that it knows to be in the log, and at
last what the writer reports.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tests.hadoop.another_process import store_at
from tests.support.programs.many_writers import Writer

from bayou.log.delta_log import DeltaLog

if TYPE_CHECKING:
    from collections.abc import Callable


class Mortal:
    """Hadoop's files, of which one call is the last: the process and its JVM are killed before it, or right after it."""

    def __init__(self, files: Any, dies_at: int, *, after: bool) -> None:
        self._files = files
        self._left = dies_at
        self._after = after

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._files, name)

        def call(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._after:
                _die()
            try:
                return method(*arguments, **options)
            finally:  # a call that raises, as one for a file that is not there, may be the last one too
                if self._left == 0:
                    _die()

        return call


def _die() -> None:
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    order = json.loads(sys.stdin.readline())
    store: Any = store_at(order["folder"], order["adapters"])
    if order.get("dies_at"):
        store._files = Mortal(store._files, order["dies_at"], after=order["after"])
    writer = Writer(DeltaLog(order["folder"], store), order["number"], order["task"])
    _say("ready")
    sys.stdin.readline()
    for serial in range(order["commits"]):
        writer.run(1, serial)
        if writer.report.failure:
            break
        _say(json.dumps({"version": writer.report.versions[-1], "files": writer.report.files}))
    _say(json.dumps(asdict(writer.report)))


if __name__ == "__main__":
    main()
