# SPDX-License-Identifier: Apache-2.0
"""What the demo shows on the terminal, and how."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

console = Console()


@contextmanager
def step(what: str) -> Iterator[None]:
    """Show what goes on, and how long it took."""
    started = time.perf_counter()
    with console.status(what):
        yield
    console.print(f"[green]\u2713[/] {what} [dim]({time.perf_counter() - started:.1f} s)[/]", highlight=False)


def indented(thing: object) -> str:
    return "\n".join(f"  {line}" for line in str(thing).splitlines()) + "\n"


def show(code: str, language: str = "python") -> None:
    console.print(Syntax(code, language, background_color="default"))


def show_rows(frame: DataFrame) -> None:
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for name in frame.columns:
        table.add_column(name)
    for row in frame.collect():
        table.add_row(*(str(value) for value in row))
    console.print(table)
