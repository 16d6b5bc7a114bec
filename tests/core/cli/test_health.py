# SPDX-License-Identifier: Apache-2.0
"""`bayou health`: bars on a terminal, shares in a pipe, JSON, and a page."""

from __future__ import annotations

import re

import pytest

from bayou.testing.table_builder import TableBuilder, add


def test_a_pipe_gets_numbers(table, bayou_command):
    result = bayou_command("health", table)
    assert (result.code, result.err) == (0, "")
    assert "File sizes" in result.lines
    assert not set(result.out) & set("█▏▎▍▌▋▊▉")


def test_a_pipe_gets_shares(bayou_command, tmp_path):
    builder = TableBuilder(tmp_path / "t").create({"id": "long", "p": "string"}, partition_by=["p"])
    sizes = (1, 1, 2 << 20)
    builder.commit(*(add(f"f{number}", size=size, partitionValues={"p": str(number)}) for number, size in enumerate(sizes)))
    lines = [line.split() for line in bayou_command("health", str(tmp_path / "t")).lines]
    (classes,) = [number for number, line in enumerate(lines) if line[:2] == ["size", "share"]]
    assert [line[-3:-1] for line in lines[classes + 1 : classes + 3]] == [["0.667", "2"], ["0.333", "1"]]
    assert ["p=0", "0.333", "1", "1", "1"] in lines
    assert [line for line in lines if line[0:1] in (["p"], ["id"])] == [
        ["p", "0.333", "1.0", "1", "0"],
        ["id", "1.0", "3.0", "3", "3"],
    ]


def test_a_terminal_gets_bars_in_80_columns(table, bayou_command, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    result = bayou_command("health", table)
    assert "████" in result.out
    calls = ("  OPTIMIZE", "  ANALYZE", "  VACUUM", "  REORG", "  bayou.")
    assert [line for line in result.lines if len(re.sub(r"\x1b\[[0-9;]*m", "", line)) > 80 and not line.startswith(calls)] == []


def test_json_is_one_document(table, bayou_command):
    (document,) = bayou_command("health", table, "--json").json
    assert document["sizes"]["files"] == 3
    assert document["advice"]


def test_a_page_is_written_and_nothing_is_printed(table, bayou_command, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    page = tmp_path / "health.html"
    result = bayou_command("health", table, "--html", str(page))
    assert (result.code, result.out) == (0, "")
    assert "<svg" in page.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_an_error(table, bayou_command, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    result = bayou_command("health", table, "--html", str(tmp_path / "none" / "health.html"))
    assert result.code != 0
    assert "--html: the file cannot be written" in result.err


def test_a_missing_table_is_an_error(bayou_command, tmp_path):
    result = bayou_command("health", str(tmp_path / "none"))
    assert result.code == 1
    assert "Next:" in result.err
