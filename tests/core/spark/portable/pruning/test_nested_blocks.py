# SPDX-License-Identifier: Apache-2.0
"""The conditions of outer blocks on the tables of inner ones, found in SQL without Spark."""

from __future__ import annotations

import pytest

from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.portable.pruning.blocks import blocks_in
from bayou.spark.portable.pruning.texts import TextConditions
from bayou.spark.portable.text.queries import read_query
from bayou.spark.portable.text.tokens import words

SCHEMA = StructType(tuple(StructField(name, "long") for name in ("id", "x", "y")))


def columns(text):
    """The columns of the table `a` that conditions are on, with those that bayou may leave out files by."""
    query = read_query(text)
    blocks = blocks_in(text, words(text), query)
    (table,) = (each for each in query.tables if each.parts == ("a",))
    placed = blocks.get(table.start)
    if placed is None:
        return []
    conditions = TextConditions(placed, placed.alias or "a", lambda start, end: text[start:end]).on(SCHEMA, dict)
    return [sorted(each.columns) for each in conditions]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("select * from (select * from a) where id = 1", [["id"]]),
        ("select * from (select * from a where x = 1) t where t.id = 1", [["x"], ["id"]]),
        ("select * from (select id as k, x from a) where k = 1 and x = 2", [["id"], ["x"]]),
        ("select * from (select y as id, id as y from a) where id = 1", [["y"]]),
        ("select * from (select a.* from a) t where t.id = 1", [["id"]]),
        ("select * from (select u.* from a t join b u) where id = 1", []),
        ("select * from (select t.* from a t join b u on t.x = u.x) where id = 1", [["x"], ["id"]]),
        ("select * from (select *, x + 1 as z from a) where id = 1 and z = 2", [["id"], []]),
        ("select * from (select cast(id as string), x from a) where id = '1' and x = 1", [[], ["x"]]),
        ("select * from (select id, id from a) where id = 1", [[]]),
        ("select * from (select id from (select id from a where x = 1) where y = 1) where id = 2", [["x"], [], ["id"]]),
        ("select * from b u left join (select * from a) t on t.id = u.id and t.x = 1", [["id"], ["x"]]),
        ("select * from b u left join (select * from a) t on t.id = u.id where t.x = 1", [["id"]]),
        ("select * from b u join lateral (select * from a where a.x = u.x) t where t.id = 1", [["x"], ["id"]]),
        ("select * from (select t.id from b u left join a t on t.x = u.x) where id = 1", [["x"]]),
        ("select * from (select * from a) t, b u where t.id = 1 and id = u.id", [["id"], ["id"]]),
        ("with c as (select * from a) select * from c where id = 1", [["id"]]),
        ("with c as (select id as k from a) select * from c t where t.k = 1", [["id"]]),
        ("with c as (select * from a) select * from c where c.id = 1", [["id"]]),
        ("with c as (select * from a), d as (select * from c where x = 1) select * from d where id = 1", [["x"], ["id"]]),
        ("with c as (select * from a where x = 1) select * from b where y in (select y from c where id = 1)", [["x"], ["id"]]),
        ("with d as (select 1) select * from (with c as (select * from a) select * from c) where id = 1;", [["id"]]),
    ],
)
def test_conditions_go_down_to_the_table(text, found):
    assert columns(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "select * from (select * from a) t(x, y, id) where id = 1",
        "select * from (select distinct id from a) where id = 1",
        "select * from (select all id from a) where id = 1",
        "select * from (select /*+ coalesce(1) */ id from a) where id = 1",
        "select * from (select id from a limit 3) where id = 1",
        "select * from (select id from a order by x limit 3) where id = 1",
        "select * from (select id from a group by id) where id = 1",
        "select * from (select max(id) as id from a) where id = 1",
        "select * from (select id, row_number() over (order by x) as n from a) where id = 1",
        "select * from (select id, rand() as r from a) where id = 1",
        "select * from (select id, my_function(x) as r from a) where id = 1",
        "select * from (select explode(array(id)) as id from a) where id = 1",
        "select * from (select * except (id), x as id from a) where id = 1",
        "select * from (select id from a union all select x from b) where id = 1",
        "select * from (select x from b union all select id from a) where id = 1",
        "select * from (select id from a having id > 0) where id = 1",
        "select * from (select id from a) tablesample (10 percent) where id = 1",
        "select * from (select id from a) limit 1",
        "with c as (select * from a) select * from c t join c u on t.id = u.id where t.id = 1 and u.id = 1",
        "with c as (select * from a) select * from c where id = 1 union all select * from c where id = 1",
        "with c(x, y, id) as (select * from a) select * from c where id = 1",
        "with recursive c as (select * from a) select * from c where id = 1",
        "with c as (select * from a) select * from (with c as (select * from b) select * from c) where id = 1",
        "with c as (select * from a) select * from c as t(x, y, id) where id = 1",
        "with c as (select * from a) select * from c pivot (max(x) for y in (1, 2)) where id = 1",
        "select 1 from b where exists (select 1 from (select id from a limit 1) t where t.id = 1)",
    ],
)
def test_conditions_stay_above_what_is_not_certain(text):
    assert [each for each in columns(text) if each] == []


def test_a_condition_that_is_not_certain_keeps_those_above_it():
    assert columns("select * from (select * from a where rand() < 1) where id = 1") == []
    assert columns("select * from (select * from a where x = 1 and rand() < 1) where id = 1") == [["x"]]
    assert columns("select * from (select * from a where x = ${x}) where id = 1") == []
