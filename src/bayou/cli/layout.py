# SPDX-License-Identifier: Apache-2.0
"""The columns of a table and their widths on a terminal: words stay whole as long as the terminal has room for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

GAP: Final = 2
"""The number of blanks between two columns."""
_NARROWEST: Final = 16
"""The least width of a column whose words do not fit."""
_SENTENCE: Final = 30
"""The width up to which columns that wrap get room before the others do."""
_SHORTENED: Final = 28
"""The least width of a column whose values can be shortened."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of printed text.

    Attributes:
        title: its header.
        is_number: whether to align it to the right.
        style: its color on a terminal.
        wraps: whether to wrap it on a narrow terminal, between words.
        on_terminal: formats a value for a terminal. A pipe gets the value itself.
        shortens: whether a narrow terminal gets the beginning and the end of a long value.
        is_extra: whether a narrow terminal may leave the column out.
        unless_wide: the column that a terminal shows instead of this one without `--wide`; None for this one.
        apart: what begins the line of this column below the others, if the table would break words; None if it has no such line.
    """

    title: str
    is_number: bool = False
    style: str = ""
    wraps: bool = False
    on_terminal: Callable[[Any], str | None] | None = None
    shortens: bool = False
    is_extra: bool = False
    unless_wide: Column | None = None
    apart: str | None = None


def fitting_widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> dict[int, int]:
    """Return the widths of the columns to show, by index.

    If the table does not fit, extra columns are left out, the last first. If it still does not fit, words break.

    Args:
        columns: the headers.
        rows: the cells.
        width: the width of the terminal; None shows all columns and breaks no line.
    """
    texts = {index: [column.title, *(row[index] for row in rows)] for index, column in enumerate(columns)}
    widest = {index: max(map(cell_len, cells)) for index, cells in texts.items()}
    if width is None:
        return widest
    least = {index: _least(columns[index], cells, widest[index]) for index, cells in texts.items()}
    extras = [index for index, column in enumerate(columns) if column.is_extra]
    while extras and _total(least) > width:
        del least[extras.pop()]
    if _total(least) > width:
        least = {index: min(each, _NARROWEST) if columns[index].wraps else each for index, each in least.items()}
    sentences = {index: min(each, _SENTENCE) if columns[index].wraps else least.get(index, 0) for index, each in widest.items()}
    return _grown(_grown(least, sentences, width), widest, width)


def breaks_words(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> bool:
    """Whether a table of some width breaks words even without its extra columns."""
    widths = fitting_widths(columns, rows, width)
    return any(
        widths[index] < _least(column, cells, max(map(cell_len, cells)))
        for index, column in enumerate(columns)
        if index in widths and column.wraps
        for cells in [[row[index] for row in rows] or [""]]
    )


def wrapped(text: str, width: int, begin: str = "") -> list[str]:
    """Return a string as lines of whole words, after the beginning of the first line. Shorten a word that is longer than a line."""
    first, *others = text.split() or [""]
    lines = [begin + shortened(first, width - cell_len(begin))]
    for word in (shortened(each, width) for each in others):
        if cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def shortened(text: str, width: int) -> str:
    """Return a string that fits: its beginning, an ellipsis and its end if it is too long."""
    if cell_len(text) <= width:
        return text
    tail = (width - 1) // 2
    head = width - 1 - tail
    while cell_len(text[:head]) + cell_len(text[-tail:]) >= width and head > 1:
        head, tail = head - 1, max(tail - 1, 1)
    return f"{text[:head]}…{text[-tail:]}"


def _least(column: Column, cells: Sequence[str], widest: int) -> int:
    if column.shortens:
        return min(widest, _SHORTENED)
    if column.wraps:
        return max(cell_len(word) for cell in cells for word in cell.split(" "))
    return widest


def _grown(least: Mapping[int, int], widest: Mapping[int, int], width: int) -> dict[int, int]:
    """Give the columns the room that is left, one cell at a time to the column that lacks most."""
    widths = dict(least)
    for _ in range(width - _total(widths)):
        index = max(widths, key=lambda each: widest[each] - widths[each])
        if widths[index] >= widest[index]:
            break
        widths[index] += 1
    return widths


def _total(widths: Mapping[int, int]) -> int:
    """Return the width of a line. The last column has no gap."""
    return sum(widths.values()) + GAP * (len(widths) - 1)
