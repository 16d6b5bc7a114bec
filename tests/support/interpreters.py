# SPDX-License-Identifier: Apache-2.0
"""Processes of Python that start at once, because they are forks of one that has loaded PyArrow, PySpark and bayou's log."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
SECONDS: Final = 300
"""After so long a process hangs."""


@dataclass(frozen=True)
class Ended:
    """What a process left.

    Attributes:
        code: its exit code; negative where a signal ended it.
        out: what it wrote on standard output, where that went nowhere else.
        err: the same for standard error.
    """

    code: int
    out: str
    err: str


class Interpreters:
    """Runs code as `python -c` does, one process after the other. For what a process loads, start one of your own."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._answers = orders.makefile("r", encoding="ascii")
        assert self._answers.readline() == "ready\n", "the process that is forked did not start"

    def run(
        self,
        code: str,
        *arguments: str,
        streams: Mapping[int, int | None] | None = None,
        given: str = "",
        environment: Mapping[str, str] | None = None,
        folder: Path = ROOT,
    ) -> Ended:
        """Runs code in a process of its own, and waits for its end.

        Args:
            code: the program.
            arguments: those of the program.
            streams: descriptors in the place of standard streams, by their numbers; None for a stream that is closed.
            given: what there is to read on standard input.
            environment: variables that are added.
            folder: the one in which it runs.
        """
        with contextlib.ExitStack() as files:
            own = [files.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            own[0].write(given.encode())
            own[0].seek(0)
            all_streams = {number: file.fileno() for number, file in enumerate(own)} | dict(streams or {})
            there = {number: each for number, each in all_streams.items() if each is not None}
            order: dict[str, Any] = {"code": code, "arguments": arguments, "folder": str(folder), "streams": list(there)}
            line = json.dumps({**order, "environment": dict(environment or {})}).encode() + b"\n"
            sent = socket.send_fds(self._orders, [line], list(there.values()))
            self._orders.sendall(line[sent:])
            answer = self._answers.readline()
            assert answer, "the process that is forked ended"
            texts = []
            for file in own[1:]:
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return Ended(int(answer), *texts)

    def close(self) -> None:
        self._answers.close()


@contextlib.contextmanager
def interpreters() -> Iterator[Interpreters]:
    """Starts the process that is forked, and ends it with the block."""
    ours, theirs = socket.socketpair()
    ours.settimeout(SECONDS)
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    # Threads do not survive a fork.
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    program = Path(__file__).with_name("programs") / "interpreters.py"
    with ours:
        with theirs:
            command = [sys.executable, str(program), str(theirs.fileno())]
            process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()])
        made = Interpreters(ours)
        try:
            yield made
        finally:
            made.close()
    process.wait(SECONDS)
