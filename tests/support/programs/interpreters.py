# SPDX-License-Identifier: Apache-2.0
"""Forks an interpreter for each order that comes through a socket: python interpreters.py DESCRIPTOR.

An order is a line of JSON, `{"code": ..., "arguments": [...], "environment": {...}, "folder": ..., "streams": [number, ...]}`, and
comes with a descriptor for each of the streams; the others are closed. The answer is a line with the exit code, of a signal
negative.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
import types
from typing import Any

LOADED = (
    *("bayou.cli.app", "bayou.log.delta_log", "pyarrow.parquet"),
    *("bayou.log.checkpoint.writer", "bayou.log.checksum.writer", "bayou.log.snapshot.data_skipping"),
    *("pyarrow.dataset", "bayou.table"),
)
"""What takes long to load."""


def load() -> None:
    for name in LOADED:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            if name != "bayou.table":  # it needs PySpark
                raise
    sys.modules["pyarrow"].array([1])  # loads pandas where there is one
    # Otherwise each fork copies, and at its end looks through, all that there is.
    gc.collect()
    gc.freeze()


def next_order(orders: socket.socket) -> dict[str, Any] | None:
    """Waits in the parent, and returns in the child; None when nobody can order any more."""
    while True:
        line, descriptors, *_ = socket.recv_fds(orders, 1 << 16, 3)
        while line and not line.endswith(b"\n"):
            line += orders.recv(1 << 16)
        if not line:
            return None
        child = os.fork()
        if not child:
            return {**json.loads(line), "descriptors": descriptors}
        for each in descriptors:
            os.close(each)
        _, status = os.waitpid(child, 0)
        orders.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def become(order: dict[str, Any]) -> None:
    """Makes this process what an interpreter is that begins with such streams."""
    given = dict(zip(order["streams"], order["descriptors"], strict=True))
    for number in range(3):
        if number in given:
            os.dup2(given[number], number)
        else:
            os.close(number)
    for each in given.values():
        os.close(each)
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8") if 0 in given else None  # noqa: SIM115  (descriptors)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8") if 1 in given else None  # noqa: SIM115
    errors = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1) if 2 in given else None  # noqa: SIM115
    sys.stderr = sys.__stderr__ = errors
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    sys.argv = ["-c", *order["arguments"]]
    sys.path[0] = ""


def main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        load()
        orders.sendall(b"ready\n")
        order = next_order(orders)
    if order is not None:
        become(order)
        own = types.ModuleType("__main__")
        sys.modules["__main__"] = own
        exec(compile(order["code"], "<string>", "exec"), vars(own))


if __name__ == "__main__":
    main()
