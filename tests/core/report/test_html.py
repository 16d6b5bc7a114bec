# SPDX-License-Identifier: Apache-2.0
"""Tables for notebooks: nothing in them is markup of a table's owner, they run no script, and they stay small."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.report.html import MOST_ROWS, facts_html, rows_html


class Tags(HTMLParser):
    """The elements and the text of a document."""

    def __init__(self, document):
        super().__init__()
        self.tags, self.text, self.attributes = [], "", set()
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data):
        self.text += data


def test_facts_have_a_title_and_leave_out_what_is_unknown():
    found = Tags(facts_html("Table t", {"version": "3", "files": 1_234, "size": None}))
    assert "Table t" in found.text
    assert "1,234" in found.text
    assert "size" not in found.text


def test_rows_beyond_the_first_are_counted():
    found = Tags(rows_html("History", ["version"], [[number] for number in range(MOST_ROWS + 5)]))
    assert found.tags.count("tr") == MOST_ROWS + 1
    assert f"The first {MOST_ROWS} of {MOST_ROWS + 5} rows." in found.text


def test_all_rows_have_no_note():
    assert "first" not in rows_html("History", ["version"], [[1]])


@pytest.mark.parametrize(
    ("value", "text"), [({"a": 1, "b": None}, "a=1"), ((1, 2), "1, 2"), (True, "yes"), (False, "no"), (None, "")]
)
def test_values_are_text_for_people(value, text):
    cells = Tags(rows_html("", [""], [[value]])).text
    assert cells == text


def test_long_texts_end_with_an_ellipsis():
    assert Tags(facts_html("", {"p": "x" * 10_000})).text == "p" + "x" * 199 + "…"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=150))
def test_texts_of_a_table_are_escaped(text):
    documents = [facts_html(text, {text: text}), rows_html(text, [text], [[text]])]
    for document in documents:
        found = Tags(document)
        assert set(found.tags) <= {"div", "table", "thead", "tbody", "tr", "td", "th"}
        assert found.attributes == {"style"}
        assert found.text == text * 3
        ET.fromstring(document)  # well-formed
