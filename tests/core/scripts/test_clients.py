# SPDX-License-Identifier: Apache-2.0
"""The programs that use Delta tables: what is known of their runs, and the table of the page."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DAY = dt.date(2026, 1, 2)


@pytest.fixture
def clients(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import clients

    return clients


def lines_of(page):
    table = page.split("<!-- clients: begin -->")[1].split("<!-- clients: end -->")[0]
    return [line for line in table.splitlines() if line.startswith("| ")][1:]


def test_counts_of_tests_that_passed(clients):
    result = clients.of_tests(0, ["...s", "3 passed, 1 skipped in 2.53s"])
    assert result == clients.Result(passed=True, text="3 passed, 1 skipped")


def test_counts_of_a_long_run(clients):
    assert clients.of_tests(0, ["== 75 passed, 67 warnings in 276.65s (0:04:36) =="]).text == "75 passed"


def test_a_test_that_failed_is_the_reason(clients):
    lines = ["FAILED tests/test_a.py::TestA::test_b[1-x y] - ValueError: no", "1 failed, 2 passed in 1.00s"]
    assert clients.of_tests(1, lines) == clients.Result(passed=False, text="1 failed, 2 passed: test_b[1-x y]: ValueError: no")


def test_a_run_that_did_not_start_has_its_last_words_as_the_reason(clients):
    result = clients.of_tests(4, ["Traceback:", "ImportError: no module", ""])
    assert result == clients.Result(passed=False, text="no test ran: ImportError: no module")


def test_a_failure_is_shown_as_one_with_its_reason(clients):
    client = clients.Client("some-program==1.2", (), ("tests",), without=(("test_z", "it is slow"),))
    line = clients.row(client, clients.Result(passed=False, text="a | b <c>"), DAY)
    assert "**fails**: a \\| b &lt;c>" in line
    assert "without `test_z` (it is slow)" in line
    assert line.startswith("| some-program 1.2 |")
    assert line.endswith("| 4.2.0 | 2026-01-02 |\n")


def test_a_program_of_ours_that_passed_has_no_counts(clients):
    client = clients.Client("some-program==1.2", (), program="examples/some.py")
    line = clients.row(client, clients.Result(passed=True, text=""), DAY)
    assert line.endswith("examples/some.py) | passes | 4.2.0 | 2026-01-02 |\n")


def test_a_long_reason_is_cut(clients):
    line = clients.row(clients.Client("a==1", ()), clients.Result(passed=False, text="x" * 1000), DAY)
    assert len(line) < 400


def test_a_run_of_one_program_keeps_the_lines_of_others(clients):
    page = clients.PAGE.read_text(encoding="utf-8")
    rewritten = clients.with_rows(page, {"kedro": "| kedro-datasets 0 | new | | | |\n"})
    changed = set(lines_of(rewritten)) - set(lines_of(page))
    assert changed == {"| kedro-datasets 0 | new | | | |"}
    assert len(lines_of(rewritten)) == len(clients.CLIENTS)


def test_a_program_that_left_the_list_leaves_the_page(clients):
    page = f"before\n{clients.BEGIN}\n{clients.HEADER}| gone 1 | x | | | |\n\n{clients.END}after\n"
    rewritten = clients.with_rows(page, {})
    assert "gone" not in rewritten
    assert rewritten.startswith("before\n")
    assert rewritten.endswith("after\n")


def test_the_page_shows_each_release_of_the_list_with_a_result(clients):
    shown = [line.split("|") for line in lines_of(clients.PAGE.read_text(encoding="utf-8"))]
    assert [cells[1].strip() for cells in shown] == [each.release.replace("==", " ") for each in clients.CLIENTS.values()]
    assert all(re.match(r" (passes|\*\*fails\*\*)(: | $)", cells[3]) for cells in shown)


def test_each_program_of_ours_exists(clients):
    assert not [each.program for each in clients.CLIENTS.values() if not (ROOT / each.program).exists()]
    assert not [name for name, each in clients.CLIENTS.items() if not (each.tests or each.program)]
