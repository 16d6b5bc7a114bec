# SPDX-License-Identifier: Apache-2.0
"""`bayou check`: what it prints, and its exit codes."""

from __future__ import annotations

import json


def test_a_sound_table_has_exit_code_0(table, bayou_command):
    result = bayou_command("check", table)
    assert (result.code, result.err) == (0, "")
    assert result.lines[-1].endswith("0 broken, 0 risky, 0 odd.")


def test_a_broken_table_has_exit_code_2_and_a_row_for_each_finding(table, bayou_command, tmp_path):
    (tmp_path / "table" / "_delta_log" / f"{1:020d}.json").unlink()
    result = bayou_command("check", table)
    assert result.code == 2
    header, finding, *_ = result.lines
    assert header.split() == ["severity", "rule", "place", "action", "writer", "finding"]
    assert finding.split()[:3] == ["broken", "log-contiguous", f"_delta_log/{2:020d}.json"]


def test_a_risky_table_has_exit_code_1(table, bayou_command, tmp_path):
    (tmp_path / "table" / "_delta_log" / "_last_checkpoint").write_text("{}", encoding="utf-8")
    assert bayou_command("check", table).code == 1


def test_json_is_one_document(table, bayou_command):
    result = bayou_command("check", table, "--files", "--json")
    (document,) = result.json
    assert result.code == 2
    assert {each["rule"] for each in document["findings"]} == {"data-file-exists"}
    assert json.dumps(document["counts"]) == '{"broken": 3, "risky": 0, "odd": 0}'


def test_a_missing_table_is_an_error(bayou_command, tmp_path):
    result = bayou_command("check", str(tmp_path / "none"))
    assert result.code == 3
    assert "Next:" in result.err


def test_the_help_has_an_example(bayou_command):
    assert "Example: bayou check" in bayou_command("check", "--help").out
