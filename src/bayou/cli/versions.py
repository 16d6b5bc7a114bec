# SPDX-License-Identifier: Apache-2.0
"""The command that prints what to paste into a bug report."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Final

import click

from bayou.cli.output import print_facts, print_json
from bayou.cli.tables import example
from bayou.report.java import java_version
from bayou.version import __version__

_PACKAGES: Final = ("pyspark", "delta-spark", "py4j", "pyarrow", "numpy", "pandas", "obstore", "rich", "click")


@click.command(epilog=example("bayou versions"))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def versions(*, as_json: bool) -> None:
    """Show the installed versions, for a bug report.

    These are the versions of bayou, Python, Java, the operating system and the packages that bayou uses. PySpark is optional.
    """
    facts = {
        "bayou": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        **{name: _installed(name) for name in _PACKAGES},
        "java": java_version(),
        "os": platform.platform(),
    }
    (print_json if as_json else print_facts)(facts)


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
