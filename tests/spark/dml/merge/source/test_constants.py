# SPDX-License-Identifier: Apache-2.0
"""MERGE from rows that are in the statement's text: nothing is computed of those that no clause takes."""

from __future__ import annotations

import pytest
from tests.support.observing import physical_plans

import bayou
from bayou.errors import CastOverflowError

LARGE = 5_000_000_000
KEPT = {
    "one that matches": (
        f"select 1 k, {LARGE} v union all select 2, 8",
        "when not matched then insert *",
        [(1, 1), (2, 8), (3, 3)],
    ),
    "a text that matches": (
        "select 1 k, 'no' v union all select 2, '8'",
        "when not matched then insert *",
        [(1, 1), (2, 8), (3, 3)],
    ),
    "the only one": (f"select 1 k, {LARGE} v", "when not matched then insert *", [(1, 1), (3, 3)]),
    "two of one key": (
        *(f"select 1 k, {LARGE} v union all select 1, {LARGE} union all select 2, 8", "when not matched then insert *"),
        [(1, 1), (2, 8), (3, 3)],
    ),
    "one that a condition leaves out": (
        *(f"select 4 k, {LARGE} v union all select 2, 8", "when not matched and s.v < 100 then insert *"),
        [(1, 1), (2, 8), (3, 3)],
    ),
    "a divisor of one that matches": (
        *("select 1 k, 0 v union all select 2, 8", "when not matched then insert (k, v) values (s.k, 80 div s.v)"),
        [(1, 1), (2, 10), (3, 3)],
    ),
    "an array of one that matches": (
        *("select 1 k, array() v union all select 2, array(8)", "when not matched then insert (k, v) values (s.k, s.v[0])"),
        [(1, 1), (2, 8), (3, 3)],
    ),
    "one that is updated by another value": (
        *(
            f"select 1 k, {LARGE} v union all select 2, 8",
            "when matched then update set v = t.v + 1 when not matched then insert *",
        ),
        [(1, 2), (2, 8), (3, 3)],
    ),
    "one that is deleted": (
        *(f"select 1 k, {LARGE} v union all select 2, 8", "when matched then delete when not matched then insert *"),
        [(2, 8), (3, 3)],
    ),
    "one that is not updated": (
        *(f"select 1 k, {LARGE} v union all select 3, 8", "when matched and s.v < 100 then update set *"),
        [(1, 1), (3, 8)],
    ),
    "a key": (
        *(f"select {LARGE} k, 8 v union all select 2, 8", "when not matched and s.k < 100 then insert *"),
        [(1, 1), (2, 8), (3, 3)],
    ),
    "a value that Spark replaces": ("select 1 k, ifnull(null, 'no') v", "when not matched then insert *", [(1, 1), (3, 3)]),
    "a row behind a filter": ("select 1 k, 'no' v where true", "when not matched then insert *", [(1, 1), (3, 3)]),
    "a row of another one": ("select 1 k, 'no' v from (select 0)", "when not matched then insert *", [(1, 1), (3, 3)]),
    "a row beside VALUES": ("select 1 k, 'no' v from values (1)", "when not matched then insert *", [(1, 1), (3, 3)]),
    "a row of a range": ("select id k, 'no' v from range(1, 2)", "when not matched then insert *", [(1, 1), (3, 3)]),
    "a row with a query in it": ("select 1 k, (select 'no') v", "when not matched then insert *", [(1, 1), (3, 3)]),
    "rows of one WITH, twice": (
        *("with c as (select 1 k, 'no' v) select * from c union all select * from c", "when not matched then insert *"),
        [(1, 1), (3, 3)],
    ),
    "one beside rows without a match": (
        f"select 1 k, {LARGE} v union all select 2, 8",
        "when not matched then insert * when not matched by source then update set v = 0",
        [(1, 1), (2, 8), (3, 0)],
    ),
}


@pytest.fixture
def table(spark, table_path, way):
    bayou.write(spark.sql("select * from values (1, 1), (3, 3) as (k, v)"), table_path, **way)
    return f"delta.`{table_path}`"


@pytest.mark.in_turn(4)
@pytest.mark.smoke
@pytest.mark.parametrize("name", KEPT)
def test_a_row_that_no_clause_takes_may_have_values_that_do_not_fit(spark, table, name):
    source, clauses, expected = KEPT[name]
    spark.sql(f"merge into {table} t using ({source}) s on s.k = t.k {clauses}")
    assert sorted(map(tuple, spark.sql(f"select * from {table}").collect())) == expected


def test_a_column_that_the_search_looks_at_may_have_such_a_value(spark, table):
    source = f"select 1 k, {LARGE} v union all select 2, 8"
    spark.sql(f"merge into {table} t using ({source}) s on s.k = t.k and s.v > 0 when not matched then insert *")
    assert sorted(map(tuple, spark.sql(f"select * from {table}").collect())) == [(1, 1), (2, 8), (3, 3)]


def test_a_constant_beside_the_columns_of_a_table_may_not_fit_where_all_rows_match(spark, table):
    spark.sql(f"merge into {table} t using (select k, {LARGE} v from {table}) s on s.k = t.k when not matched then insert *")
    assert spark.sql(f"select * from {table}").count() == 2


def test_a_row_that_is_written_may_not(spark, table):
    with pytest.raises(CastOverflowError):
        spark.sql(f"merge into {table} t using (select 7 k, {LARGE} v) s on s.k = t.k when not matched then insert *")
    assert spark.sql(f"select * from {table}").count() == 2


@pytest.mark.parametrize("source", ["select 3 k, 9 v", "select id k, 9 v from (select cast(3 as smallint) id)"])
def test_the_reader_of_files_looks_for_a_key_in_the_text(spark, table, source):
    with physical_plans(spark) as plans:
        spark.sql(f"merge into {table} t using ({source}) s on s.k = t.k when matched then update set *")
    assert any("EqualTo(k,3)" in plan for plan in plans)
