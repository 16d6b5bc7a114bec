# SPDX-License-Identifier: Apache-2.0
"""The command that prints what to paste into a bug report."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Final

import click

from bayou.cli.output import print_facts, print_json
from bayou.cli.tables import example
from bayou.version import __version__

_PACKAGES: Final = ("pyspark", "delta-spark", "py4j", "pyarrow", "numpy", "pandas", "obstore", "rich", "click")
_SECONDS: Final = 10
"""The time after which the command stops waiting for `java`."""


@click.command(epilog=example("bayou versions"))
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def versions(*, as_json: bool) -> None:
    """Print the versions of bayou and of its surroundings, to paste into a bug report. Works without PySpark."""
    facts = {
        "bayou": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        **{name: _installed(name) for name in _PACKAGES},
        "java": java_version(),
        "os": platform.platform(),
    }
    (print_json if as_json else print_facts)(facts)


def java_version() -> str | None:
    """Return the version of the Java that Spark would use, as `java` states it; None if it is not found or does not answer."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if program is None:
        return None
    try:
        # `java -version` writes to standard error.
        run = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    # The JVM's notes about its options come first.
    lines = [line for line in run.stderr.splitlines() if " version " in line]
    return lines[0].strip() if lines else None


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
