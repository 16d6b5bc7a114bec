# SPDX-License-Identifier: Apache-2.0
"""Print results: tables in color on a terminal, plain aligned columns in a pipe, JSON on request.

The content of a table is untrusted. Control characters are escaped, so that no name in a log can move the cursor, change colors,
or look like another row.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayou.protocol.actions import exact_json
from bayou.protocol.types.instants import INT64_MAX, INT64_MIN, MICROS_PER_MILLISECOND, format_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# Columns of a pipe are aligned by the first rows, so that a table of a million files streams.
_ROWS_THAT_DECIDE_WIDTHS = 1_000
# A terminal is for reading: beyond this, a note says how many rows are left out.
_MOST_ROWS_ON_A_TERMINAL = 1_000

# The blanks between two columns, and how narrow a column gets that breaks its text into lines.
_GAP = 2
_NARROWEST = 16

_CONTROL = (*range(0x20), *range(0x7F, 0xA0))
# Unicode's direction and line marks change what a terminal shows around them.
_MARKS = (0x061C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_ESCAPED = {code: f"\\x{code:02x}" for code in _CONTROL} | {code: f"\\u{code:04x}" for code in _MARKS}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of printed text.

    Attributes:
        title: its header.
        is_number: whether to align it to the right.
        style: its color on a terminal.
        wraps: whether to wrap it on a narrow terminal.
        on_terminal: formats a value for a terminal. A pipe gets the value itself.
    """

    title: str
    is_number: bool = False
    style: str = ""
    wraps: bool = False
    on_terminal: Callable[[Any], str | None] | None = None


def print_rows(
    columns: Sequence[Column], rows: Iterable[Iterable[Any]], *, total: int | None = None, leaves_out_columns: bool = False
) -> None:
    """Print rows under their headers.

    Args:
        columns: the headers.
        rows: the cells; None for an empty cell.
        total: the number of rows if known, for the note on a terminal.
        leaves_out_columns: whether a terminal shows the first columns that fit, and a note names the others.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        _print_table(console, columns, _cells(columns, rows, is_terminal=True), total, leaves_out_columns=leaves_out_columns)
    else:
        _print_plain(columns, _cells(columns, rows, is_terminal=False))


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print one name and value per line. A list gets one line per element."""
    rows: list[tuple[str, Any]] = []
    for name, value in facts.items():
        if isinstance(value, dict):
            value = [f"{key} = {each}" for key, each in value.items()]  # noqa: PLW2901  (one shape from here on)
        if isinstance(value, list):
            rows.extend(zip(itertools.chain([name], itertools.repeat("")), value or [None], strict=False))
        else:
            rows.append((name, value))
    print_rows((Column("name", style="cyan"), Column("value", wraps=True)), rows)


def print_json(document: Any) -> None:
    """Print one JSON document on one line, in ASCII, so that no character can control a terminal."""
    sys.stdout.write(exact_json.dumps(document, separators=(", ", ": ")))
    sys.stdout.write("\n")


def escape(text: str) -> str:
    """Return the string with control characters escaped."""
    return text.translate(_ESCAPED)


def utc(timestamp_ms: int | None) -> str | None:
    """Return milliseconds since the epoch as ISO 8601 in UTC, in a format that `--timestamp` accepts. None stays None."""
    if timestamp_ms is None:
        return None
    micros = timestamp_ms * MICROS_PER_MILLISECOND
    if not INT64_MIN <= micros <= INT64_MAX:
        return f"{timestamp_ms} ms"
    return format_timestamp(micros, fraction_digits=3) + "Z"


def plain_time(text: str | None) -> str | None:
    """Return a time of `utc` in a shorter format for terminals, which `--timestamp` also accepts."""
    return text and text.replace("T", " ").removesuffix("Z")


def size(size_bytes: int | None) -> str | None:
    """Return a number of bytes in a format for terminals, such as 12.3 MiB."""
    if size_bytes is None:
        return None
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":  # noqa: PLR2004  (the step between two units)
            break
        amount /= 1024
    return f"{size_bytes} B" if unit == "B" else f"{amount:.1f} {unit}"


def pairs(values: Mapping[str, Any] | None) -> str | None:
    """Return a small map on one line, such as mode=Append, partitionBy=[]."""
    if not values:
        return None
    return ", ".join(f"{name}={value}" for name, value in values.items() if value is not None)


def _cells(columns: Sequence[Column], rows: Iterable[Iterable[Any]], *, is_terminal: bool) -> Iterator[list[str]]:
    """Return the string of each cell. In a pipe an absent value is a dash, so that every line has every column."""
    for row in rows:
        spelled = (
            column.on_terminal(value) if column.on_terminal and is_terminal else value
            for column, value in zip(columns, row, strict=True)
        )
        yield [("" if is_terminal else "-") if value is None else escape(str(value)) for value in spelled]


def _print_table(
    console: Console, columns: Sequence[Column], rows: Iterator[list[str]], total: int | None, *, leaves_out_columns: bool
) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    shown = list(itertools.islice(rows, _MOST_ROWS_ON_A_TERMINAL))
    left_out = columns[_fitting(columns, shown, console.width) :] if leaves_out_columns else ()
    columns = columns[: len(columns) - len(left_out)]
    shown = [row[: len(columns)] for row in shown]
    # In a console that is too narrow rich cuts columns off. In a wide one nothing is lost: the terminal breaks the lines.
    console.width = max(console.width, _least_width(columns, shown))
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            style=column.style,
            overflow="fold",
            no_wrap=not column.wraps,
        )
    for row in shown:
        table.add_row(*map(Text, row))
    console.print(table, crop=False)
    if next(rows, None) is not None:
        of_total = "" if total is None else f" of {total:,}"
        note = f"the first {_MOST_ROWS_ON_A_TERMINAL:,}{of_total}; in a pipe, or with --json, there are all"
        console.print(Text(note, "dim"))
    if left_out:
        names = ", ".join(column.title for column in left_out)
        console.print(Text(f"columns that do not fit: {names}; choose with --columns", "dim"))


def _fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many of the first columns fit, at least one."""
    counts = range(len(columns), 1, -1)
    return next((n for n in counts if _least_width(columns[:n], [row[:n] for row in rows]) <= width), min(len(columns), 1))


def _least_width(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    """Return the width that a table needs to be printed in full."""
    cells = zip([column.title for column in columns], *rows, strict=True)
    longest = [max(map(cell_len, each)) for each in cells]
    kept = (min(each, _NARROWEST) if column.wraps else each for each, column in zip(longest, columns, strict=True))
    return sum(each + _GAP for each in kept)


def _print_plain(columns: Sequence[Column], rows: Iterator[list[str]]) -> None:
    first = list(itertools.islice(rows, _ROWS_THAT_DECIDE_WIDTHS))
    header = [column.title for column in columns]
    widths = [max(map(len, cells)) for cells in zip(header, *first, strict=True)]
    # Blanks at the end of a line are those of the last cell: only that one is not filled up.
    widths = [*widths[:-1], widths[-1] if columns[-1].is_number else 0]
    for row in itertools.chain([header], first, rows):
        padded = (
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        )
        line = (" " * _GAP).join(padded)
        sys.stdout.write((line if row[-1] else line.rstrip()) + "\n")
