# SPDX-License-Identifier: Apache-2.0
"""The texts of errors are those that `tests/errors` stores, so that a reviewer sees what a change makes of them."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.errors import mistakes, snapshots
from tests.errors.catalogue import Catalogue
from tests.errors.rendered import EXAMPLES, block, file_name

STORED = snapshots.stored()
CASES = [(theme, name) for theme, examples in EXAMPLES.items() for name in examples]


@cache
def blocks(theme):
    """The stored texts of a theme by the names of their examples."""
    found = STORED.get(file_name(theme), "").split("\n# ")
    return {text.removeprefix("# ").partition("\n")[0].partition(" (")[0]: text for text in found if text}


def test_the_texts_in_the_sources_are_the_stored_ones():
    now = Catalogue().texts()
    before = {name: text for name, text in STORED.items() if "/" not in name}
    shown = [snapshots.difference(name, before.get(name, ""), now.get(name, "")) for name in sorted(before.keys() | now.keys())]
    assert not any(shown), "\n".join(filter(None, shown))


@pytest.mark.parametrize("theme", EXAMPLES)
def test_errors_have_the_stored_texts(theme, tmp_path):
    shown = []
    for number, (name, example) in enumerate(EXAMPLES[theme].items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        before = blocks(theme).get(name, "").removeprefix("# ").rstrip("\n")
        now = block(name, example, folder).removeprefix("# ").rstrip("\n")
        shown.append(snapshots.difference(file_name(theme), before, now))
    assert not any(shown), "\n".join(filter(None, shown))


def test_nothing_else_is_stored():
    """The order too is that of the examples."""
    assert {name for name in STORED if "/" in name} == {*map(file_name, EXAMPLES), mistakes.FILE}
    assert [(theme, name) for theme in EXAMPLES for name in blocks(theme)] == CASES


TEACHES = re.compile(r" Next: [A-Z]|^This works|has the answer: |: call execute\(\)", re.MULTILINE)
RAW = re.compile(r"Py4J|^\tat |Traceback|object at 0x|java\.lang|JVM stacktrace", re.MULTILINE)


def test_each_mistake_is_stored_once_and_in_order():
    assert list(mistakes.MISTAKES) == list(range(1, 68))
    assert list(mistakes.blocks_of(STORED[mistakes.FILE])) == list(mistakes.MISTAKES)
    for number, text in mistakes.blocks_of(STORED[mistakes.FILE]).items():
        assert text.startswith(f"# {mistakes.title(number)}"), number


def test_each_mistake_is_answered_by_what_to_do():
    texts = mistakes.blocks_of(STORED[mistakes.FILE])
    of_others = {number for number, text in texts.items() if not TEACHES.search(text)}
    assert of_others <= set(mistakes.NOT_ASKED)
    assert {number for number, text in texts.items() if mistakes.reason_of(number) in text} == set(texts)
    assert not [number for number, text in texts.items() if RAW.search(text)]
