# SPDX-License-Identifier: Apache-2.0
"""`bayou diff`: facts, partitions, files and operations that differ."""

from __future__ import annotations


def test_two_versions(table, bayou_command):
    result = bayou_command("diff", table, "0", "1", "--files")
    assert (result.code, result.err) == (0, "")
    headers = [line.split() for line in result.lines]
    assert ["added", "removed", "changed", "rows", "bytes", "partition"] in headers
    assert ["change", "rows", "size", "path"] in headers
    assert ["version", "timestamp", "operation", "metrics"] in headers
    assert result.lines[-1].endswith("files differ.")


def test_files_are_listed_on_request(table, bayou_command):
    assert ["change", "rows", "size", "path"] not in [line.split() for line in bayou_command("diff", table, "0", "1").lines]
    (document,) = bayou_command("diff", table, "0", "1", "--json").json
    assert "files" not in document
    (document,) = bayou_command("diff", table, "0", "1", "--json", "--files").json
    assert document["files"]


def test_a_table_does_not_differ_from_itself(table, bayou_command):
    (line,) = bayou_command("diff", table, table).lines
    assert line.endswith(": 0 facts and 0 files differ.")


def test_a_version_that_does_not_exist_is_an_error(table, bayou_command):
    result = bayou_command("diff", table, "99")
    assert result.code == 1
    assert "Next:" in result.err


def test_the_help_has_an_example(bayou_command):
    assert "Example: bayou diff" in bayou_command("diff", "--help").out
