# SPDX-License-Identifier: Apache-2.0
"""Print results: tables in color on a terminal, plain aligned columns in a pipe, JSON on request.

The content of a table is untrusted. Control characters are escaped, so that no name in a log can move the cursor, change colors,
or look like another row.
"""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayou.cli.layout import GAP as _GAP
from bayou.cli.layout import Column, breaks_words, fitting_widths, shortened, wrapped
from bayou.cli.tables import is_wide
from bayou.errors import sample
from bayou.log.segment.time_travel import to_milliseconds
from bayou.protocol.actions import exact_json
from bayou.protocol.types.instants import INT64_MAX, INT64_MIN, MICROS_PER_MILLISECOND, format_timestamp
from bayou.report.units import age_text, size_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# Columns of a pipe are aligned by the first rows, so that a table of a million files streams.
_ROWS_THAT_DECIDE_WIDTHS = 1_000
# A terminal is for reading: beyond this, a note says how many rows are left out.
_MOST_ROWS_ON_A_TERMINAL = 1_000


_CONTROL = (*range(0x20), *range(0x7F, 0xA0))
# Unicode's direction and line marks change what a terminal shows around them.
_MARKS = (0x061C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_ESCAPED = {code: f"\\x{code:02x}" for code in _CONTROL} | {code: f"\\u{code:04x}" for code in _MARKS}


def print_rows(columns: Sequence[Column], rows: Iterable[Sequence[Any]], *, total: int | None = None) -> None:
    """Print rows under their headers.

    Args:
        columns: the headers.
        rows: the cells; None for an empty cell.
        total: the number of rows if known, for the note on a terminal.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        columns = columns if is_wide() else [column.unless_wide or column for column in columns]
        _print_table(console, columns, _cells(columns, rows, is_terminal=True), total)
    else:
        _print_plain(columns, _cells(columns, rows, is_terminal=False))


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print one name and value per line. A list gets one line per element. A terminal gets sizes and times for people."""
    rows: list[tuple[str, Any]] = []
    is_terminal = Console().is_terminal
    for name, value in facts.items():
        if is_terminal and name in _FACTS_ON_TERMINAL:
            value = _FACTS_ON_TERMINAL[name](value)  # noqa: PLW2901  (one shape from here on)
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


def age(text: str | None) -> str | None:
    """Return how long ago a time of `utc` was, such as 3 days ago."""
    return text and age_text(to_milliseconds(text))


AGE: Final = Column("age", on_terminal=age)
"""The column that shows times of `utc` to people."""


def time_and_age(text: str | None) -> str | None:
    """Return a time of `utc`, and how long ago it was."""
    return text and f"{plain_time(text)} ({age(text)})"


_FACTS_ON_TERMINAL: Final[Mapping[str, Callable[[Any], str | None]]] = {
    **dict.fromkeys(("createdAt", "lastModified"), time_and_age),
    **dict.fromkeys(("sizeInBytes", "bytes", "sourceTableSize", "tableSizeAfterRestore"), size_text),
    **dict.fromkeys(("removedFilesSize", "restoredFilesSize", "copiedFilesSize"), size_text),
}
"""The format of facts on a terminal, by name."""


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


def _print_table(console: Console, columns: Sequence[Column], rows: Iterator[list[str]], total: int | None) -> None:
    shown = list(itertools.islice(rows, _MOST_ROWS_ON_A_TERMINAL))
    width = None if is_wide() else console.width
    if width is not None and any(column.apart is not None for column in columns) and breaks_words(columns, shown, width):
        _print_blocks(console, columns, shown)
        left_out = []
    else:
        left_out = _print_grid(console, columns, shown, width)
    if next(rows, None) is not None:
        of_total = "" if total is None else f" of {total:,}"
        note = f"the first {_MOST_ROWS_ON_A_TERMINAL:,}{of_total}; in a pipe, or with --json, there are all"
        console.print(Text(note, "dim"))
    if left_out:
        console.print(Text(f"not shown: {sample(left_out)}; --wide shows all", "dim"))


def _print_blocks(console: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print each row as a line with the short columns, and below it a line for each of the others."""
    for row in rows:
        cells = list(zip(columns, row, strict=True))
        console.print(*(Text(cell, column.style) for column, cell in cells if column.apart is None and cell), sep=" " * _GAP)
        for column, cell in cells:
            if column.apart is not None and cell:
                first, *others = wrapped(cell, console.width - 2 * _GAP, column.apart)
                lines = [" " * _GAP + first, *(" " * 2 * _GAP + line for line in others)]
                console.print(Text("\n".join(lines), column.style), crop=False)


def _print_grid(console: Console, columns: Sequence[Column], shown: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """Print rows under their headers, and return the titles of the columns that are left out."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    widths = fitting_widths(columns, shown, width)
    # In a console that is too narrow rich cuts columns off. In a wide one nothing is lost: the terminal breaks the lines.
    console.width = max(console.width, sum(width + _GAP for width in widths.values()))
    for column, column_width in ((columns[index], each) for index, each in widths.items()):
        table.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            style=column.style,
            width=column_width,
            overflow="fold",
            no_wrap=not column.wraps,
        )
    for row in shown:
        table.add_row(
            *(Text(shortened(row[index], each)) if columns[index].shortens else Text(row[index]) for index, each in widths.items())
        )
    console.print(table, crop=False)
    return [column.title for index, column in enumerate(columns) if index not in widths]


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
