# SPDX-License-Identifier: Apache-2.0
"""The progress line of a notebook: one output that is updated in place, with a stand-in for IPython."""

from __future__ import annotations

import sys
import types

import pytest

from bayou.spark.task_counts import Tasks


class Output:
    """The output of a cell: what IPython was asked to show, the latest last."""

    def __init__(self):
        self.shown = []

    def display(self, data, *, raw, display_id):
        assert raw
        assert display_id
        self.shown.append(data)
        return self

    def update(self, data, *, raw):
        assert raw
        self.shown.append(data)


@pytest.fixture
def output(monkeypatch):
    output = Output()
    module = types.ModuleType("IPython.display")
    module.display = output.display
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.delitem(sys.modules, "bayou.spark.session.progress_notebook", raising=False)
    yield output
    sys.modules.pop("bayou.spark.session.progress_notebook", None)


@pytest.fixture
def line(output):
    from bayou.spark.session.progress_notebook import NotebookLine

    return NotebookLine("MERGE <orders>")


def test_a_line_is_updated_in_place_and_replaced_by_the_closing_line(line, output):
    line.show("writing", Tasks(1, 4, is_running=True), 1)
    line.show("writing", Tasks(2, 4, is_running=True), 3)
    line.hide()
    line.finish("MERGE <orders>: version 1, 3.1 s")
    first, second, hidden, last = output.shown
    assert "1/4 tasks" in first["text/html"]
    assert "&lt;orders&gt;" in first["text/html"]
    assert "2/4 tasks" in second["text/html"]
    assert hidden["text/plain"] == ""
    assert last["text/plain"] == "MERGE <orders>: version 1, 3.1 s"
    assert "<orders>" not in last["text/html"]


def test_a_browser_gets_one_update_a_second(line, output):
    for tenth in range(25):
        line.show("writing", Tasks(tenth, 40, is_running=True), tenth / 10)
    assert len(output.shown) == 3


def test_a_line_that_was_not_shown_leaves_nothing(line, output):
    line.hide()
    assert not output.shown
