# SPDX-License-Identifier: Apache-2.0
"""Every Python block of the documentation runs as it stands, and prints what the page shows below it.

The blocks of a page run in order, with the names of the earlier ones. The pages work below `/tmp`, which the test replaces by a
folder of its own, and with tables by name in a database of their own. A page skips a block that needs a service by a comment before
it: `<!-- not run: the reason -->`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[4]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```python" in page.read_text(encoding="utf-8"))
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    line: int
    reason: str | None
    code: str
    printed: str | None


def blocks_of(page):
    text = page.read_text(encoding="utf-8")
    return [Block(text.count("\n", 0, found.start(2)), *found.groups()) for found in BLOCK.finditer(text)]


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.fixture
def database(spark):
    """A current database that is the page's own."""
    spark.sql("CREATE DATABASE pages")
    spark.sql("USE pages")
    yield
    spark.sql("USE default")
    spark.sql("DROP DATABASE pages CASCADE")


def run(page, block, names, folder):
    code = block.code.replace("/tmp/", f"{folder}/")
    exec(compile("\n" * block.line + code, name_of(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
@pytest.mark.usefixtures("database")
def test_the_blocks_of_a_page_run_and_print_what_it_shows(page, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.reason:
            continue
        run(page, block, names, tmp_path)
        printed = capsys.readouterr().out.replace(str(tmp_path), "/tmp")
        if block.printed is not None:
            assert printed.rstrip() == block.printed.rstrip(), f"{name_of(page)}, line {block.line}"


def test_there_are_pages_with_blocks():
    assert len(PAGES) > 15
    assert all(blocks_of(page) for page in PAGES)
