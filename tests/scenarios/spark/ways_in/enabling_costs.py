# SPDX-License-Identifier: Apache-2.0
"""`enabling_costs.py FOLDER` says how many calls into the JVM `bayou.enable` takes on a fresh session, and what it imports."""

from __future__ import annotations

import sys
from typing import Any

from tests.support.processes import answer

import bayou
from bayou.testing.session import local_session

RELEASED = "m\nd\n"
"""How py4j tells the JVM that Python let go of an object. It does so at any time."""


def start() -> tuple[int, list[str]]:
    """Enable a fresh session, and count."""
    spark = local_session()
    client = type(spark.sparkContext._gateway._gateway_client)
    send, calls, before = client.send_command, [], set(sys.modules)

    def counted(self: Any, command: str, *arguments: Any, **options: Any) -> Any:
        if not command.startswith(RELEASED):
            calls.append(command)
        return send(self, command, *arguments, **options)

    client.send_command = counted
    bayou.enable(spark)
    client.send_command = send
    return len(calls), sorted({"pyarrow", "numpy", "pandas", "rich"} & (set(sys.modules) - before))


def calls(found: tuple[int, list[str]]) -> int:
    """The calls into the JVM."""
    return found[0]


def loaded(found: tuple[int, list[str]]) -> list[str]:
    """The packages that were imported for it."""
    return found[1]


if __name__ == "__main__":
    answer(start, [calls, loaded])
