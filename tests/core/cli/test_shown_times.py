# SPDX-License-Identifier: Apache-2.0
"""What is shown can be given back: a time selects the version that it is shown for, and nothing is cut off a row."""

from __future__ import annotations

import os
import re

import pytest

from bayou.cli import output
from bayou.errors import TimestampOutOfRangeError
from bayou.log.delta_log import open_log
from bayou.log.segment.time_travel import format_timestamp, to_milliseconds

TIMES = [
    [1_700_000_005_678, 1_700_000_005_678, 1_700_000_005_679, 1_700_000_005_999],
    [1_700_000_005_678, 1_700_000_005_001, 1_700_000_004_000, 1_700_000_006_000],
    [0, 1, 999, 1000],
    [-1_500, -1_001, -1, 0],
    [253_402_300_799_999, 253_402_300_800_000, 253_402_300_800_001, 4_102_444_800_000_000],
]
IN_COMMIT = {"delta.enableInCommitTimestamps": "true"}


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def commit_at(writer, times, *, in_commit):
    properties = IN_COMMIT if in_commit else {}
    for version, time in enumerate(times):
        if version == 0:
            writer.create(**properties)
        else:
            writer.commit(version, **({"inCommitTimestamp": time} if in_commit else {}))
        path = writer.folder / "_delta_log" / f"{version:020d}.json"
        if in_commit and version == 0:
            text = path.read_text(encoding="utf-8")
            path.write_text(
                text.replace('{"commitInfo": {', f'{{"commitInfo": {{"inCommitTimestamp": {time}, ', 1), encoding="utf-8"
            )
        os.utime(path, ns=(0, max(time, 0) * 1_000_000))
    return writer.path


# File systems keep no times before 1970, nor any that is far off.
@pytest.mark.parametrize(("in_commit", "times"), [*((True, times) for times in TIMES), *((False, times) for times in TIMES[:2])])
def test_a_shown_time_selects_its_version(bayou_command, writer, times, in_commit):
    path = commit_at(writer, sorted(set(times)) if in_commit else times, in_commit=in_commit)
    for row in bayou_command("history", path, "--json").json:
        found = bayou_command("detail", path, "--timestamp", row["timestamp"], "--json").json[0]
        assert (found["version"], found["lastModified"]) == (row["version"], row["timestamp"])


@pytest.mark.parametrize("times", TIMES[:2])
def test_a_time_on_a_terminal_selects_its_version(terminal, bayou_command, writer, times):
    path = commit_at(writer, times, in_commit=False)
    printed = plain(bayou_command("history", path, "--wide").out)
    shown = re.findall(r"^ *(\d+)  (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S*)", printed, re.MULTILINE)
    assert [version for version, _ in shown] == ["3", "2", "1", "0"]
    for version, time in shown:
        assert bayou_command("detail", path, "--timestamp", time, "--json").json[0]["version"] == int(version)


def test_the_times_in_an_error_select_the_first_and_the_last_version(bayou_command, writer):
    path = commit_at(writer, TIMES[0], in_commit=False)
    message = bayou_command("files", path, "--timestamp", "2000-01-01").err
    first, last = re.search(r"; (.*? UTC) to (.*? UTC) is available", message).groups()
    log = open_log(path)
    assert (log.version_at(first), log.version_at(last)) == (0, 3)
    with pytest.raises(TimestampOutOfRangeError):
        log.version_at("2000-01-01")


@pytest.mark.parametrize("milliseconds", [-(10**15), -1, 0, 1, 253_402_300_800_000, 9 * 10**15])
def test_a_time_of_any_year_is_read_as_it_was_written(milliseconds):
    assert to_milliseconds(output.utc(milliseconds)) == milliseconds
    assert to_milliseconds(output.plain_time(output.utc(milliseconds))) == milliseconds
    assert to_milliseconds(format_timestamp(milliseconds)) == milliseconds


@pytest.mark.parametrize("columns", ["10", "40", "60", "200"])
@pytest.mark.parametrize("command", ["history", "files", "log", "schema", "detail"])
def test_a_wide_table_has_every_cell_on_a_terminal_of_any_width(monkeypatch, terminal, bayou_command, table, command, columns):
    monkeypatch.setattr("bayou.report.units.time.time", lambda: 1e9)
    monkeypatch.setenv("COLUMNS", "500")
    whole = "".join(plain(bayou_command(command, table, "--wide").out).split())
    monkeypatch.setenv("COLUMNS", columns)
    narrow = "".join(plain(bayou_command(command, table, "--wide").out).split())
    assert sorted(narrow) == sorted(whole)


@pytest.mark.parametrize("name", ["f ", "f  ", " f", "f\u3000", "f\u00a0"])
def test_a_pipe_gets_the_blanks_of_a_path(bayou_command, writer, name):
    writer.create().commit(1, {"add": {"path": name, "partitionValues": {}, "size": 1, "modificationTime": 0}})
    assert bayou_command("files", writer.path).out.split("\n")[1].endswith(f"  {output.escape(name)}")
