# SPDX-License-Identifier: Apache-2.0
"""error_catalogue.py: writes docs/errors.md, the page of all errors in the catalogue."""

from __future__ import annotations

import re
from pathlib import Path

from bayou.errors import states
from bayou.errors.catalogue import AREAS, Row, rows_of

PAGE = Path(__file__).parent.parent / "docs" / "errors.md"
COMMAND = "python scripts/error_catalogue.py"
_HEAD = f"""# Errors

Each error is an exception of `bayou.errors`. This page lists the messages of the catalogue in `src/bayou/errors/catalogue`, by area
and error class; `{COMMAND}` writes it. Words in braces are facts of the case, and attributes of the error.
[Contributing](https://github.com/bayou-lake/bayou/blob/main/CONTRIBUTING.md#errors) says how to add one.
"""


def page() -> str:
    """Return the content of the page."""
    return "\n".join([_HEAD, *(part for title, text in AREAS.items() for part in _area(title, text))])


def _area(title: str, text: str) -> list[str]:
    shown = sorted(rows_of(text), key=lambda row: (row.error_class or "", row.key))
    return [f"## {title}\n", "| Error class | Exception | Message | What to do |", "|---|---|---|---|", *map(_line, shown), ""]


def _line(row: Row) -> str:
    state = states.state_of(row.error_class)
    shown = f"`{row.error_class}`" + (f" ({state})" if state else "") if row.error_class else ""
    return f"| {shown} | `{row.exception}` | {_cell(row.message)} | {_cell(row.next_step)} |"


def _cell(text: str) -> str:
    """Return a text with the names of facts alone in braces, and without Markdown in it."""
    return re.sub(r"\{(\w+)[^}]*\}", r"{\1}", text).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
