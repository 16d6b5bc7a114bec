# SPDX-License-Identifier: Apache-2.0
"""The words of docs/glossary.md: the ones that it replaces do not come back in docstrings, comments and pages."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "bayou"

DIALECT = {
    r"\b(told|tells?)\b": "report, state, show",
    r"\bbeside\b": "next to, in addition to",
    r"\b(is|are) none( of)?\b": "is not a",
    r"\b(is|are) no (?!longer|more\b)": "is not a",
    r"\bby itself\b": "automatically",
    r"\b(take|takes|taken|took|taking) back\b": "clean up, roll back",
    r"\b(goes|go) by\b": "follows, is matched by",
    r"\bwritten again\b": "rewritten",
    r"\bby chance\b": "at random",
    r"\bhas not got\b": "lacks",
    r"\bNone where\b": "None if",
    r"\b(pass|passes|passed) over\b": "skip, ignore",
    r"\banew\b": "again",
    r"\b(let|lets) go of\b": "drop, release",
    r"\bwhoever\b": "a caller that",
    r"\bas it is there\b": "as it is",
    r"\bwhere there is none\b": "otherwise",
    r"\bthere (is|are) none\b": "or None, without any",
    r"\btexts?\b(?= (is|are|that|of) )": "string",
}
"""Each expression of the old dialect, and what the field says."""

# In pages and messages these are plain English.
IN_PROSE = {expression: better for expression, better in DIALECT.items() if "(?!" not in expression and "texts?" not in expression}
PAGES = [*sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("src/bayou/errors/catalogue/*.py"))]


def prose(path):
    """The docstrings and comments of a Python file, each with its first line."""
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str):
                yield each.lineno, each.value.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def dialect(text, words=DIALECT):
    return [(found.group(), better) for pattern, better in words.items() for found in re.finditer(pattern, text)]


def in_sources():
    for path in sorted(SOURCES.rglob("*.py")):
        for line, text in prose(path):
            for found, better in dialect(text):
                yield f"{path.relative_to(ROOT)}:{line}: {found!r} (say: {better})"


def test_docstrings_and_comments_use_the_words_of_the_field():
    assert not list(in_sources())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_and_messages_use_the_words_of_the_field(page):
    text = page.read_text()
    if page.name == "glossary.md":
        text = re.sub(r"\|[^|\n]*\|\s*$", "|", text, flags=re.MULTILINE)  # without the column of old words
    assert not dialect(text, IN_PROSE)


def test_the_list_finds_what_it_is_for():
    assert dialect("The files that are told beside; None where there is none of it.")
    assert not dialect("Return the files to read, or None if the snapshot is empty.")
