# SPDX-License-Identifier: Apache-2.0
"""Lines of a commit are parsed as `json.loads` parses them, one by one."""

from __future__ import annotations

import json

import pytest

from bayou.checks.raw_log import read_raw_log
from bayou.storage import MemoryStore

ADD = b'{"add": {"path": "f"}}'
LINES = {
    "an action": ADD,
    "spaces around it": b"  " + ADD + b" \t",
    "a carriage return": ADD + b"\r",
    "a byte order mark": b"\xef\xbb\xbf" + ADD,
    "two actions": ADD + ADD,
    "a comma too much": ADD + b",",
    "half an action": ADD[:-1],
    "a line break in a string": b'{"add": {"path": "f\x0bg"}}',
    "a lone surrogate": b'{"add": {"path": "\xed\xa0\x80"}}',
    "bytes that are not UTF-8": b'{"add": {"path": "\xff"}}',
    "UTF-16": '{"add": {"path": "f"}}'.encode("utf-16-be"),
    "deep": b"[" * 100_000,
    "a value": b"1",
    "a blank line": b" ",
}


def is_json(line):
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


@pytest.mark.parametrize("name", LINES)
def test_a_line_is_valid_if_it_is_json(name):
    line = LINES[name]
    store = MemoryStore()
    store.put("_delta_log/00000000000000000000.json", b"\n".join([ADD, line, ADD]))
    (file,) = read_raw_log("memory://table", store, {}).commits.values()
    is_action = is_json(line) and isinstance(json.loads(line), dict)
    assert file.file_actions == (3 if is_action else 2)
    assert [each.line for each in file.problems if each.kind == "json"] == ([] if is_json(line) or not line.strip() else [2])
