# SPDX-License-Identifier: Apache-2.0
"""The Python blocks of the documentation, for the tests that run them.

The blocks of a page run in order, with the names of the earlier ones. The pages work below `/tmp`, which a test replaces by a
folder of its own. A page skips a block that needs a service by a comment before it: `<!-- not run: the reason -->`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```python" in page.read_text(encoding="utf-8"))
_BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of a page.

    Attributes:
        line: how many lines of the page are before its first one.
        reason: why it is not run; None if it is.
        code: its text.
        printed: what the page shows below it; None if it shows nothing.
    """

    line: int
    reason: str | None
    code: str
    printed: str | None


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(text.count("\n", 0, found.start(2)), *found.groups()) for found in _BLOCK.finditer(text)]


def name_of(page: Path) -> str:
    """Return a page's path in the repository."""
    return str(page.relative_to(ROOT))


def check_blocks(page: Path, folder: Path, capsys: Any) -> None:
    """Run the blocks of a page in a folder, and compare what they print with what the page shows."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.reason:
            continue
        code = block.code.replace("/tmp/", f"{folder}/")
        exec(compile("\n" * block.line + code, name_of(page), "exec"), names)
        printed = capsys.readouterr().out.replace(str(folder), "/tmp")
        if block.printed is not None:
            assert printed.rstrip() == block.printed.rstrip(), f"{name_of(page)}, line {block.line}"
