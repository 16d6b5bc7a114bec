# SPDX-License-Identifier: Apache-2.0
"""`DeltaTable.health` is the health of the log, and its calls name the table as the session does."""

from __future__ import annotations

import pytest

from bayou.table import DeltaTable
from bayou.testing.table_builder import TableBuilder, add


@pytest.fixture
def table(tmp_path, monkeypatch):
    builder = TableBuilder(tmp_path / "table").create().commit(add("a"), add("b"))
    found = DeltaTable.__new__(DeltaTable)
    monkeypatch.setattr(DeltaTable, "_log", lambda _: builder.log())
    found._path, found._name = builder.uri, "sales.orders"
    return found


def test_calls_name_the_table(table):
    health = table.health()
    assert health.sizes.files == 2
    assert [each.sql for each in health.advice] == [
        "OPTIMIZE sales.orders",
        "ANALYZE TABLE sales.orders COMPUTE DELTA STATISTICS",
    ]


def test_folders_are_listed_on_request(table):
    assert table.health().removed.listed_files is None
    assert table.health(folders=True).removed.listed_files == 0
