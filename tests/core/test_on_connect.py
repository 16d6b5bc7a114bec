# SPDX-License-Identifier: Apache-2.0
"""The tables of tests that some sessions cannot run name tests that exist, and their reasons are documented."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.on_connect import TABLE, TABLE_ON_CLASSIC, left_out, why_left_out

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("table", [TABLE, TABLE_ON_CLASSIC])
def test_each_entry_names_a_test(table):
    entries = [each for each in left_out(table) if not each.startswith("fixture:")]
    assert entries
    for entry in entries:
        file, _, function = entry.partition("[")[0].partition("::")
        path = ROOT / "tests" / "spark" / file
        if path.name == "*":
            assert path.parent.is_dir(), entry
            continue
        text = path.read_text()
        assert not function or f"def {function}(" in text, entry


@pytest.mark.parametrize("table", [TABLE, TABLE_ON_CLASSIC])
def test_each_reason_is_documented(table):
    page = (ROOT / "docs" / "connect.md").read_text()
    assert [reason for reason in set(left_out(table).values()) if reason not in page] == []


def test_entries_are_found_by_test_function_and_fixture():
    reason = why_left_out("tests/spark/read/test_freshness.py::test_a_column_that_joins_leaves_the_dataframe_as_it_was", ())
    assert reason is not None
    assert why_left_out("tests/spark/read/test_freshness.py::test_other[name]", ("spark",)) is None
    assert why_left_out("tests/spark/jvm/core/test_callbacks.py::test_other", ("spark",)) is not None
    assert why_left_out("tests/connect/test_reads.py::test_other", ("name",)) is None
