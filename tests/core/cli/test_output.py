# SPDX-License-Identifier: Apache-2.0
"""How commands print: plainly in a pipe, in color on a terminal, errors in one line, and never what a log dictates."""

from __future__ import annotations

import builtins
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.cli import main, output

COMMANDS = ["history", "detail", "schema", "files", "log"]


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_gets_no_colors(bayou_command, table, command):
    assert "\x1b" not in bayou_command(command, table).out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_terminal_gets_colors(terminal, bayou_command, table, command):
    assert "\x1b[" in bayou_command(command, table).out


@pytest.mark.parametrize("command", COMMANDS)
def test_json_has_no_colors_on_a_terminal(terminal, bayou_command, table, command):
    assert "\x1b" not in bayou_command(command, table, "--json").out


def test_a_pipe_gets_long_paths_whole(bayou_command, writer):
    path = "day=2026-01-01/" + "x" * 500 + ".parquet"
    writer.create().commit(1, {"add": {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 0}})
    assert bayou_command("files", writer.path).lines[-1].endswith(path)


def test_a_wide_table_has_long_paths_in_full(terminal, bayou_command, writer):
    writer.create().commit(1, {"add": {"path": "y" * 200, "partitionValues": {}, "size": 1, "modificationTime": 0}})
    assert bayou_command("files", writer.path, "--wide").out.count("y") == 200


def test_a_terminal_is_told_what_is_left_out(terminal, bayou_command, writer):
    adds = [
        {"add": {"path": f"{number}.parquet", "partitionValues": {}, "size": 1, "modificationTime": 0}} for number in range(1_100)
    ]
    writer.create().commit(1, *adds)
    assert "the first 1,000 of 1,100" in bayou_command("files", writer.path).out


def test_what_a_log_says_cannot_drive_the_terminal(terminal, bayou_command, writer):
    writer.create().commit(1, operation="\x1b]0;title\x07\x9b31m [red]x[/red]\nrow \u202egnp")
    printed = bayou_command("history", writer.path, "--wide").out
    assert "\x1b]" not in printed
    assert not {"\x07", "\x9b", "\u202e"} & set(printed)
    assert "[red]" in "".join(printed.split())


@given(st.text())
def test_escaped_text_is_one_line_and_has_no_control_characters(text):
    escaped = output.escape(text)
    assert len(escaped.splitlines()) <= 1
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in escaped)


def test_times_beyond_the_calendar_are_shown_as_numbers():
    assert output.utc(10**18) == f"{10**18} ms"
    assert output.utc(0) == "1970-01-01T00:00:00.000Z"


def is_one_line_error(result):
    return result.code == 1 and not result.out and len(result.err.splitlines()) == 1 and result.err.startswith("bayou: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_that_is_no_table_is_one_line(bayou_command, tmp_path, command):
    result = bayou_command(command, str(tmp_path / "nothing"))
    assert is_one_line_error(result)
    assert str(tmp_path / "nothing") in result.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_version_that_is_not_there_is_one_line_with_the_range(bayou_command, table, command):
    result = bayou_command(command, table, "--version", "9")
    assert is_one_line_error(result)
    assert "0 to 2" in result.err


def test_a_broken_commit_is_one_line_that_names_the_file(bayou_command, table, writer):
    (writer.folder / "_delta_log" / f"{2:020d}.json").write_text('{"add":\n', encoding="utf-8")
    result = bayou_command("files", table)
    assert is_one_line_error(result)
    assert "00000000000000000002.json" in result.err


@pytest.mark.parametrize(
    "arguments",
    [["history"], ["nonsense"], ["files", "t", "--limit", "-1"], ["files", "t", "--version", "x"], ["files", "--what"]],
)
def test_a_wrong_command_line_is_one_line(bayou_command, arguments):
    result = bayou_command(*arguments)
    assert is_one_line_error(result)
    assert "--help" in result.err


@pytest.mark.parametrize("number", ["9223372036854775808", "9" * 30])
def test_numbers_of_any_size_are_numbers(bayou_command, table, number):
    for command in ("files", "history"):
        for options in ((), ("--json",)):
            assert bayou_command(command, table, "--limit", number, *options).out == bayou_command(command, table, *options).out
    assert is_one_line_error(bayou_command("files", table, "--version", number))


def test_a_version_and_a_timestamp_are_one_too_many(bayou_command, table):
    assert is_one_line_error(bayou_command("files", table, "--version", "1", "--timestamp", "2026-01-01"))


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_there_is_a_hint(monkeypatch, capsys, missing):
    real = builtins.__import__

    def refuse(name, *arguments, **more):
        if name.partition(".")[0] == missing:
            raise ModuleNotFoundError(name=missing)
        return real(name, *arguments, **more)

    for name in [name for name in sys.modules if name.startswith(("bayou.cli.", missing))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refuse)
    assert main(["history", "t"]) == 1
    assert "pip install 'bayou[cli]'" in capsys.readouterr().err
