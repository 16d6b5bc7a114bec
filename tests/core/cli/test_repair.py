# SPDX-License-Identifier: Apache-2.0
"""`bayou repair`: a plan by default, the repair with `--yes`, lost rows only with `--allow-loss`, and exit codes."""

from __future__ import annotations

import pytest


@pytest.fixture
def hint(table, tmp_path):
    """The table with a `_last_checkpoint` that is not right."""
    path = tmp_path / "table" / "_delta_log" / "_last_checkpoint"
    path.write_text("{}", encoding="utf-8")
    return path


def test_a_sound_table_has_nothing_to_repair(table, bayou_command):
    result = bayou_command("repair", table)
    assert (result.code, result.out) == (0, "There is nothing to repair.\n")


def test_without_yes_the_plan_is_printed_and_nothing_is_changed(table, hint, bayou_command):
    result = bayou_command("repair", table)
    assert result.code == 0
    assert result.lines[0].split() == ["step", "state", "rule", "file"]
    assert result.lines[1].split() == ["write-hint", "planned", "hint-json", "_last_checkpoint"]
    assert result.lines[-1] == "Nothing was changed. Add --yes to do it."
    assert hint.read_text(encoding="utf-8") == "{}"


def test_with_yes_the_table_is_sound_afterwards(table, hint, bayou_command):
    result = bayou_command("repair", table, "--yes")
    assert result.code == 0
    assert result.lines[1].split()[:2] == ["write-hint", "done"]
    assert result.lines[-1].endswith("0 broken, 0 risky, 0 odd.")
    assert bayou_command("check", table).code == 0
    assert hint.read_text(encoding="utf-8") != "{}"


def test_missing_files_stay_in_the_log_without_allow_loss(table, bayou_command):
    result = bayou_command("repair", table, "--files", "--yes")
    assert result.code == 2
    assert "would leave the log" in result.out
    assert "--allow-loss" in result.out
    assert bayou_command("check", table, "--files").code == 2


def test_allow_loss_lists_the_lost_files_and_repairs_the_table(table, bayou_command):
    result = bayou_command("repair", table, "--allow-loss", "--yes")
    assert result.code == 0
    assert "left the log" in result.out
    assert "the data file does not exist" in result.out
    assert bayou_command("check", table, "--files").code == 0
    assert bayou_command("history", table, "--limit", "1").lines[1].split()[2] == "FSCK"


def test_json_is_one_document(table, bayou_command):
    (document,) = bayou_command("repair", table, "--files", "--json").json
    assert document["dryRun"]
    assert [each["repair"] for each in document["steps"]] == ["remove-unreadable-files"]
    assert len(document["lostFiles"]) == 3


def test_a_broken_commit_has_no_repair(table, bayou_command, tmp_path):
    (tmp_path / "table" / "_delta_log" / f"{1:020d}.json").unlink()
    result = bayou_command("repair", table, "--yes")
    assert result.code == 2
    assert "These findings have no repair:" in result.lines


def test_the_help_has_an_example(bayou_command):
    assert "Example: bayou repair" in bayou_command("repair", "--help").out


def test_a_repair_that_fails_has_an_exit_code_of_its_own(bayou_command, tmp_path):
    assert bayou_command("repair", str(tmp_path / "nothing")).code == 3
