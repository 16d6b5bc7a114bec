# SPDX-License-Identifier: Apache-2.0
"""The page of a health report: one file, with plots, in which no name of a table is HTML."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET

import pytest

import bayou
from bayou.testing.table_builder import TableBuilder, add


@pytest.fixture
def health(tmp_path):
    name = "<script>$a_b$ \u0007"
    statistics = {"numRecords": 1, "minValues": {name: 1}, "maxValues": {name: 2}, "nullCount": {name: 0}}
    builder = TableBuilder(tmp_path / "table").create({name: "long", "p": "string"}, partition_by=["p"])
    builder.commit(*(add(f"f{value}", partitionValues={"p": value}, stats=statistics) for value in ("<b>", "x", None)), add("g"))
    return bayou.health(tmp_path / "table")


def test_the_page_has_plots_and_needs_no_other_file(health):
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    page = health.to_html()
    plots = [f"<svg{each.partition('</svg>')[0]}</svg>" for each in page.split("<svg")[1:]]
    assert len(plots) == 4
    texts = [text for plot in plots for text in ET.fromstring(plot).itertext()]
    assert {"p=<b>", "p=NULL", "`<script>$a_b$ \\x07`"} <= set(texts)
    assert "<script" not in page
    assert "<link" not in page
    assert "src=" not in page
    assert all(plot in health.to_html() for plot in plots), "equal reports have equal plots"


def test_an_empty_table_has_a_page_without_plots(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    TableBuilder(tmp_path / "table").create()
    page = bayou.health(tmp_path / "table").to_html()
    assert "<svg" not in page
    assert "in good health" in page
    assert "<th>checkpoint</th><td>none</td>" in page
    page = bayou.health(TableBuilder(tmp_path / "other").create().checkpoint("v2-json").uri).to_html()
    assert "<th>checkpoint</th><td>version 0, " in page
    assert "in 1 file and 2 sidecar files</td>" in page


def test_without_matplotlib_the_error_says_what_to_install(health, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'bayou\[report\]'"):
        health.to_html()


def test_json_has_the_facts_and_text_the_advice(health):
    document = health.to_json()
    assert (document["version"], document["sizes"]["files"], document["sizes"]["numPartitions"]) == (1, 4, 2 + 1)
    assert document["columns"][0]["averageReads"] == 1.0
    assert "OPTIMIZE delta.`" in str(health)
    assert "&lt;b&gt;" not in repr(health)
    assert "What helps" in health._repr_html_()
