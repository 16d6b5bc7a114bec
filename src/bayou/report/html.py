# SPDX-License-Identifier: Apache-2.0
"""Small HTML tables for notebooks: escaped, without scripts, with colors that fit light and dark themes."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bayou.errors import redact_text

MOST_ROWS: Final = 20
"""The maximum number of rows that a notebook shows; a note counts the others."""
_MOST_CHARACTERS: Final = 200
"""The maximum length of a cell. A longer text ends with an ellipsis."""
# The theme of the notebook gives the color of text and background. Lines are gray, which is visible on both.
_LINE: Final = "1px solid rgba(128,128,128,.35)"
_CELL: Final = "padding:2px 12px 2px 0;vertical-align:top;background:none"


def facts_html(title: str, facts: Mapping[str, Any]) -> str:
    """Return a title and a table with a name and a value in each row. Facts that are None are left out."""
    known = ((name, value) for name, value in facts.items() if value is not None)
    rows = "".join(f"<tr>{_cell(name, 'th')}{_cell(value)}</tr>" for name, value in known)
    return _framed(title, f'<table style="border-collapse:collapse;margin:2px 0"><tbody>{rows}</tbody></table>')


def rows_html(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a title and a table with its first rows. Numbers are aligned to the right."""
    body, count = [], 0
    for count, row in enumerate(rows, start=1):
        if count <= MOST_ROWS:
            body.append(f"<tr>{''.join(map(_cell, row))}</tr>")
    head = "".join(f'<th style="{_CELL};text-align:left;border-bottom:{_LINE}">{html.escape(name)}</th>' for name in columns)
    note = f'<div style="opacity:.7">The first {MOST_ROWS:,} of {count:,} rows.</div>' if count > MOST_ROWS else ""
    table = (
        f'<table style="border-collapse:collapse;margin:2px 0"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    )
    return _framed(title, table + note)


def _framed(title: str, content: str) -> str:
    heading = f'<div style="font-weight:bold">{html.escape(_shortened(title))}</div>'
    return f'<div style="border-left:3px solid rgba(128,128,128,.5);padding-left:10px;overflow-x:auto">{heading}{content}</div>'


def _cell(value: Any, tag: str = "td") -> str:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    text = f"{value:,}" if is_number else _text(value)
    align = "right" if is_number else "left"
    weight = ";font-weight:normal;opacity:.7" if tag == "th" else ""
    return f'<{tag} style="{_CELL};text-align:{align}{weight}">{html.escape(_shortened(text))}</{tag}>'


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={each}" for name, each in value.items() if each is not None)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return str(value)


def _shortened(text: str) -> str:
    text = redact_text(text)  # a saved notebook keeps what it shows: properties and options may hold URIs with passwords
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
