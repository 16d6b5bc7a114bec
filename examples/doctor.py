# SPDX-License-Identifier: Apache-2.0
"""The part of the demo without Spark: the health of a table, and a broken copy that is diagnosed and repaired."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from screen import console, show, step

import bayou

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BROKEN = 2


def doctor(spark: SparkSession, table: str, copy: str) -> None:
    """Show the health of a table, break a copy of it, and repair the copy."""
    run("health", table)
    with step("a copy of the table, and damage to three of its files"):
        bayou.DeltaTable.forPath(spark, table).clone(copy, isShallow=False)
        damage(copy)
    console.print()
    run("check", copy, "--files", expected=BROKEN)
    run("repair", copy, "--allow-loss")
    run("repair", copy, "--allow-loss", "--yes")
    run("check", copy, "--files")


def damage(table: str) -> None:
    """Damage a table as a full disk or a careless script does."""
    opened = bayou.open(table)
    opened.checkpoint()
    opened.store.put("_delta_log/_last_checkpoint", b'{"version": 12')
    opened.store.put(f"_delta_log/{opened.version():020}.crc", b'{"numFiles": 3}')
    opened.store.delete(opened.snapshot().files(["path"])["path"][0].as_py())


def run(command: str, *arguments: str, expected: int = 0) -> None:
    """Run a command of `bayou` in a process without Spark, and show what it prints."""
    show(" ".join(("bayou", command, *arguments)), "bash")
    sys.stdout.flush()
    done = subprocess.run([sys.executable, "-m", "bayou", command, *arguments], check=False)
    if done.returncode != expected:
        message = f"bayou {command} ended with exit code {done.returncode}, and the demo expects {expected}"
        raise RuntimeError(message)
    console.print()
