# SPDX-License-Identifier: Apache-2.0
"""Statements that change rows are read into their parts. A test with a session checks that Spark reads the same texts."""

from __future__ import annotations

import pytest
from tests.core.spark.portable.text.statement_texts import OTHERS, UNREADABLE
from tests.support.cases import in_one_test

from bayou.spark.portable.text.queries import Part
from bayou.spark.portable.text.row_changes import Assignment, Delete, Insert, Merge, Update, row_change
from bayou.spark.portable.text.tree import UnreadableTextError


def read(text):
    """A statement whose parts are checked to be at their places."""
    found = row_change(text)
    for part in parts_of(found):
        assert text[part.start : part.end] == part.text
    return found


def parts_of(node):
    if isinstance(node, Part):
        yield node
    elif isinstance(node, tuple):
        for each in node:
            yield from parts_of(each)
    elif hasattr(node, "__slots__"):
        for name in node.__slots__:
            yield from parts_of(getattr(node, name))


def set_of(assignments):
    return {".".join(each.target): each.value.text for each in assignments}


def test_a_delete_is_read():
    found = read("DELETE FROM delta.`/a` AS t WHERE a = ';' and b in (select 1) ;")
    assert isinstance(found, Delete)
    assert (found.table.path, found.alias, found.condition.text) == ("/a", "t", "a = ';' and b in (select 1)")
    found = read("with s as (select 1 where x), u as (select 2) delete from t x")
    assert (found.alias, found.condition, found.with_clause.text) == ("x", None, "with s as (select 1 where x), u as (select 2)")
    assert read("delete from identifier(:a) where b").table.computed.text == ":a"


def test_an_update_is_read():
    found = read("update a.b t set t.`x y` = case when a then 1 else 2 end, z = DEFAULT, w == f(a, b)[1] where c = 1")
    assert isinstance(found, Update)
    assert (found.table.parts, found.alias, found.condition.text) == (("a", "b"), "t", "c = 1")
    assert set_of(found.assignments) == {"t.x y": "case when a then 1 else 2 end", "z": "DEFAULT", "w": "f(a, b)[1]"}
    assert found.assignments[0].target == ("t", "x y")


MERGE = """
merge with schema evolution into t as a using (select * from s where x > 1) as b(x, y)
on a.x = b.x and case when a.y then true else b.y end
when matched and a.z = case b.z when 1 then 2 end then delete
when matched then update set *
when not matched by target and b.x > 1 then insert (x, a.y) values (b.x, f(1, 2))
when not matched then insert *
when not matched by source then update set x = 1, a.y.z = a.x + 1
when not matched by source and x then delete
"""


def test_a_merge_is_read():
    found = read(MERGE)
    assert isinstance(found, Merge)
    assert found.with_schema_evolution
    assert (found.table.parts, found.alias, found.source.text) == (("t",), "a", "select * from s where x > 1")
    assert (found.source_alias, found.source_columns) == ("b", ("x", "y"))
    assert found.condition.text == "a.x = b.x and case when a.y then true else b.y end"
    shown = [(each.kind, each.condition and each.condition.text, each.action, each.is_star) for each in found.clauses]
    assert shown == [
        ("matched", "a.z = case b.z when 1 then 2 end", "delete", False),
        ("matched", None, "update", True),
        ("not matched", "b.x > 1", "insert", False),
        ("not matched", None, "insert", True),
        ("not matched by source", None, "update", False),
        ("not matched by source", "x", "delete", False),
    ]
    assert [set_of(each.assignments) for each in found.clauses] == [
        *({}, {}, {"x": "b.x", "a.y": "f(1, 2)"}, {}, {"x": "1", "a.y.z": "a.x + 1"}, {})
    ]


def test_the_source_of_a_merge_may_be_a_table():
    found = read("merge into t using delta.`/s@v1` s on t.a = s.a when not matched then insert (a) values (1)")
    assert (found.source.path, found.source_alias, found.alias, found.with_schema_evolution) == ("/s@v1", "s", None, False)


@in_one_test(
    ("text", "facts"),
    [
        ("insert into t values (1), (2)", {"query": "values (1), (2)"}),
        ("insert into table t (a, `b c`) select * from u", {"columns": ("a", "b c"), "query": "select * from u"}),
        ("insert into t (select 1)", {"query": "(select 1)"}),
        (
            "insert overwrite t partition (p = 1, q) if not exists table u",
            {"is_overwrite": True, "partition": "p = 1, q", "if_not_exists": True, "query": "table u"},
        ),
        ("insert into t by name from u select a", {"by_name": True, "query": "from u select a"}),
        (
            "insert into t replace where a > 1 and b in (1, 2) select 1;",
            {"replace_where": "a > 1 and b in (1, 2)", "query": "select 1"},
        ),
        (
            "insert into t as x replace on x.a <=> s.a (select 1) s",
            {"alias": "x", "replace_on": "x.a <=> s.a", "query": "select 1", "query_alias": "s"},
        ),
        (
            "insert into t x replace on x.a = s.a with s as (select 1) table s",
            {"alias": "x", "replace_on": "x.a = s.a", "query": "with s as (select 1) table s"},
        ),
        ("insert into t replace using (a, b) values (1, 2)", {"replace_using": ("a", "b"), "query": "values (1, 2)"}),
        (
            "insert with schema evolution into t by name select 1 a",
            {"with_schema_evolution": True, "by_name": True, "query": "select 1 a"},
        ),
        ("with s as (select 1) insert into t table s", {"with_clause": "with s as (select 1)", "query": "table s"}),
    ],
)
def test_an_insert_is_read(text, facts):
    found = read(text)
    assert isinstance(found, Insert)
    assert found.table.parts == ("t",)
    empty = dict.fromkeys(Insert.__slots__) | {
        "is_overwrite": False,
        "if_not_exists": False,
        "by_name": False,
        "columns": (),
        "replace_using": (),
        "with_schema_evolution": False,
    }
    values = {name: getattr(found, name) for name in Insert.__slots__ if name != "table"}
    assert {name: each.text if isinstance(each, Part) else each for name, each in values.items()} == {
        **{name: value for name, value in empty.items() if name != "table"},
        **facts,
    }


@in_one_test("text", OTHERS)
def test_other_statements_are_none(text):
    assert row_change(text) is None


@in_one_test("text", UNREADABLE)
def test_what_is_no_statement_is_an_error(text):
    with pytest.raises(UnreadableTextError):
        row_change(text)


def test_assignments_are_values():
    assert read("update t set a = 1").assignments == (Assignment(("a",), Part("1", 17, 18)),)
