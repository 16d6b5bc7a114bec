# SPDX-License-Identifier: Apache-2.0
"""Statements that keep a query under a name, read from their text."""

from __future__ import annotations

import pytest

from bayou.spark.portable.text.tables.views import temporary_view

QUERY = "SELECT * FROM delta.`/a/t`"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (f"CREATE TEMP VIEW v AS {QUERY}", {"name": "v", "replaces": False}),
        (f"create or replace temporary view `a b` as {QUERY};", {"name": "a b", "replaces": True, "is_global": False}),
        (f"CREATE GLOBAL TEMPORARY VIEW v AS {QUERY}", {"is_global": True}),
        (f"CREATE TEMP VIEW v (a COMMENT 'x', b) COMMENT 'c' AS {QUERY}", {"columns": (("a", "x"), ("b", None))}),
        (f"CACHE TABLE v AS {QUERY}", {"name": "v", "caches": True, "is_lazy": False}),
        (f"CACHE LAZY TABLE v OPTIONS ('storageLevel' 'DISK_ONLY') {QUERY}", {"is_lazy": True, "level": "DISK_ONLY"}),
    ],
)
def test_views(text, facts):
    found = temporary_view(text)
    assert found is not None
    assert (found.query.text, found.reads_delta) == (QUERY, True)
    assert {key: getattr(found, key) for key in facts} == facts


def test_a_view_of_other_tables():
    found = temporary_view("CREATE TEMP VIEW v AS SELECT * FROM other")
    assert found is not None
    assert not found.reads_delta


@pytest.mark.parametrize(
    "text",
    [
        *(f"CREATE VIEW v AS {QUERY}", f"CREATE TEMP VIEW IF NOT EXISTS v AS {QUERY}", f"CREATE TEMP VIEW a.v AS {QUERY}"),
        *("CACHE TABLE v", "CACHE TABLE delta.`/a/t`", "CREATE TEMP VIEW v AS", "SELECT 1", "CREATE TEMP VIEW v USING parquet"),
        *("CACHE TABLE v AS SELECT 1 /* not closed", ""),
    ],
)
def test_other_statements(text):
    assert temporary_view(text) is None


def test_a_table_under_a_name():
    found = temporary_view(
        "create or replace temp view v (a int, `b c` string) using DELTA options (path '/t', 'versionAsOf' = 2);"
    )
    assert (found.name, found.query.text, found.replaces, found.reads_delta) == ("v", "(a int, `b c` string)", True, True)
    assert found.options == {"path": "/t", "versionAsOf": "2"}
    assert temporary_view("create temporary view v using delta options (path '/t')").query.text == ""
    assert temporary_view("create temporary view v using delta options (path '/t') as select 1") is None
