# SPDX-License-Identifier: Apache-2.0
"""The conditions of a SQL text leave out files of the tables that they certainly apply to, and of no others."""

from __future__ import annotations

import datetime as dt

from tests.connect.pruning.conftest import rows
from tests.support.cases import in_one_test

ALL = {0, 1, 2, 3}
NONE: set[int] = set()

TEXTS = {
    "select * from {a} where id = 12": ({1}, NONE),
    "select * from {a} where ID = 12 and S > 'a'": ({1}, NONE),
    "select * from {a} t where t.id = 12 and t.st.f > 0": ({1}, NONE),
    "select * from {a} as t where id = 12 or t.id = 13": ({1}, NONE),
    "select * from {a} where {a}.id = 12": (ALL, NONE),
    "select x, count(*) from {a} where id >= 30 group by x having count(*) > 1 order by x limit 3": ({3}, NONE),
    "select * from {a} where id between 12 and 13 union all select * from {b} where y < 50": ({1}, {0}),
    "select * except (y) from {a} where id = 12": ({1}, NONE),
    "select t.id from {a} t, {b} u where t.id = 12 and u.y < 50": ({1}, {0}),
    "select t.id from {a} t join {b} u on t.id = u.id where t.id = 12 and u.y < 150": ({1}, {0, 1}),
    "select t.id from {a} t join {b} u on t.id = u.id and t.id = 12 and u.y < 50": ({1}, {0}),
    "select t.id from {a} t join {b} u using (x) where t.id = 12 and u.id = 3": ({1}, {0}),
    "select id from {a} t join {b} u using (id) where id = 12": ({1}, ALL),
    "select t.id, u.id from {a} t left join {b} u on t.id = u.id where t.id = 12": ({1}, ALL),
    "select t.id, u.id from {a} t left join {b} u on t.id = u.id and u.id = 12 and t.y > 0": (ALL, {1}),
    "select t.id, u.id from {a} t right join {b} u on t.id = u.id and t.id = 12 where u.id = 12": ({1}, {1}),
    "select t.id, u.id from {a} t full join {b} u on t.id = u.id and t.id = 12 where u.id = 12": (ALL, ALL),
    "select t.id from {a} t left semi join {b} u on t.id = u.id and u.y < 50 and t.y < 250 where t.id = 3": ({0}, {0}),
    "select t.id from {a} t anti join {b} u on t.id = u.id and u.y < 50 and t.y < 20 where t.id > 22": ({2, 3}, {0}),
    "select t.id from {a} t left join {b} u on t.id = u.id where u.id = 12 or u.id is null": (ALL, ALL),
    "select t.id from ({a} t join {b} u on t.x = u.x) where t.id = 12 and u.id = 3": ({1}, {0}),
    "select t.id from {a} t join range(3) r on t.x = r.id where t.id = 12": ({1}, NONE),
    "select t.id from {a} t join (select * from {b} where id = 3) u on t.x = u.x where t.id = 12": ({1}, {0}),
    "select * from (select * from {a} where id = 12) where x = 0": ({1}, NONE),
    "with c as (select * from {a} where id = 12) select c.x from c join {b} u on c.x = u.x where u.id = 3": ({1}, {0}),
    "select id from {a} t where exists (select 1 from {b} u where u.id = t.id and u.id = 12)": (ALL, {1}),
    "select id from {a} where id in (select id from {b} where id = 12)": (ALL, {1}),
    "select id from {a} version as of 3 where id = 12": ({1}, NONE),
    "select id from {a} where id = 12 and rand() < 2": ({1}, NONE),
    "select id, row_number() over (order by y) from {a} where id = 12": ({1}, NONE),
    "select t.id from {a} t, lateral (select u.x from {b} u where u.id = 3 and u.x = t.x) where t.id = 13": ({1}, {0}),
    "select /*+ broadcast(u) */ t.id from {a} t cross join {b} u where t.id = 12 and u.id = 3": ({1}, {0}),
    # conditions on the rows of inner blocks
    "select * from (select * from {a}) where id = 12": ({1}, NONE),
    "select t.k from (select id as k, x from {a} where y > 0) t join {b} u on t.x = u.x where t.k = 12 and u.id = 3": ({1}, {0}),
    "select * from (select y as id, id as y from {a}) where id = 120": ({1}, NONE),
    "select * from (select t.* from {a} t join {b} u on t.id = u.id and u.id = 13) where id = 13": ({1}, {1}),
    "select * from {b} u left join (select id, x from {a}) t on t.x = u.x and t.id = 12 where u.id = 4": ({1}, {0}),
    "with c as (select * from {a}) select x from c where id = 12": ({1}, NONE),
    "with c as (select id as k from {a}), d as (select k from c) select d.k from d join {b} u on d.k = u.id where d.k = 12": (
        {1},
        ALL,
    ),
    "select count(*) from (with c as (select * from {a}) select * from c) where id = 12": ({1}, NONE),
    # what keeps all files
    "with c as (select * from {a}) select t.id from c t join c u on t.x = u.x where t.id = 12 and u.id = 13": (ALL, NONE),
    "select * from (select id from {a} union all select id from {b}) where id = 12": (ALL, ALL),
    "select t.id from {b} u left join (select * from {a}) t on t.id = u.id where t.id = 12 or t.id is null": (ALL, ALL),
    "select * from (select * from {a} limit 25) where id = 12": (ALL, NONE),
    "select * from (select x, max(id) as id from {a} group by x) where id = 12": (ALL, NONE),
    "select id from {a} tablesample (100 percent) where id = 12": (ALL, NONE),
    "select id from {a} lateral view explode(array(1)) e as z where id = 12": (ALL, NONE),
    "select u.k from {a} as u(k, x, id, s, st, n) where id = 120": (ALL, NONE),
    "select t.id from {a} t join {b} u on t.id = u.id where T.id = 12": ({1}, ALL),
    "select id from {a} where rand() < 2 and id = 12": (ALL, NONE),
    "select id from {a} natural join {b} where id = 12": (ALL, ALL),
    "select id from {b} t join {a} u using (id) where id = 12": (ALL, {1}),
    "from {a} select id where id = 12": (ALL, NONE),
    "select id from {a} |> where id = 12": (ALL, NONE),
    "select * from {a} pivot (max(id) for x in (1, 2)) where y = 50": (ALL, NONE),
    "select t.id from {a} t where exists (select 1 from {b} u where t.id = 12)": (ALL, ALL),
    "select u.id from {a} t right join {b} u on t.id = u.id where t.id = 12 or u.id = 3": (ALL, ALL),
    "select t.id from {a} t left join {b} u on t.id = u.id left join {b} w on u.id = w.id and u.id = 3 and w.id = 3": (ALL, ALL),
    "select t.id from {a} t left join {b} u on t.id = u.id join range(40) r on r.id = t.id and u.id is null": (ALL, ALL),
}


@in_one_test("text", TEXTS)
def test_a_query_reads_the_files_that_its_conditions_leave(spark, tables, text):
    a, b = tables
    text, (of_a, of_b) = text.format(a=f"delta.`{a.path}`", b=f"delta.`{b.path}`"), TEXTS[text]
    frame = spark.sql(text)
    assert (a.read_by(frame), b.read_by(frame)) == (of_a, of_b)
    expected = rows(frame)
    with a.only(of_a), b.only(of_b):
        assert rows(spark.sql(text)) == expected


SUBQUERIES = (
    "select id from {a} where id = 12 and exists (select 1 from {b} u where u.id = 13)",
    "select (select max(y) from {b} where id = 13) as m, id from {a} where id = 12",
)


@in_one_test("text", SUBQUERIES)
def test_a_subquery_is_a_block_of_its_own(spark, tables, text):
    a, b = tables
    text = text.format(a=f"delta.`{a.path}`", b=f"delta.`{b.path}`")
    with a.only({1}), b.only({1}):
        assert spark.sql(text).count() == 1


@in_one_test(
    "text", ("select * from {a}", "select t.id, x from {a} t where y > 0", "with c as (select * from {a}) select * from c")
)
def test_conditions_above_a_text_leave_out_files(spark, tables, text):
    a = tables[0]
    frame = spark.sql(text.format(a=f"delta.`{a.path}`"))
    for found in (frame.where("id = 12"), frame.alias("f").where("f.id = 12"), frame.where(frame.id == 12).select("x")):
        assert a.read_by(found) == {1}
        with a.only({1}):
            assert found.count() == 1
    assert a.read_by(frame.limit(20).where("id = 12")) == ALL


def test_conditions_above_a_text_with_arguments(spark, tables):
    a = tables[0]
    frame = spark.sql(f"select * from delta.`{a.path}` where x >= :x", args={"x": 0}).where("id = 12")
    assert a.read_by(frame) == {1}
    assert frame.count() == 1


def test_arguments_are_conditions(spark, tables):
    a, text = tables[0], f"select id from delta.`{tables[0].path}` where id = "
    for frame in (spark.sql(f"{text}:id", args={"id": 12}), spark.sql(f"{text}?", args=[12])):
        assert a.read_by(frame) == {1}
        assert rows(frame) == ["Row(id=12)"]
    assert rows(spark.sql(f"{text}extract(second from :id)", args={"id": dt.timedelta(seconds=12)})) == ["Row(id=12)"]


def test_a_statement_with_a_query_reads_few_files(spark, tables, tmp_path):
    a, path = tables[0], str(tmp_path / "t")
    with a.only({1}):
        spark.sql(f"create table delta.`{path}` using delta as select id from delta.`{a.path}` where id = 12")
        spark.sql(f"insert into delta.`{path}` select id from delta.`{a.path}` where id = 13")
        spark.sql(f"create temporary view pruned as select id from delta.`{a.path}` where id = 14")
        assert spark.table("pruned").count() == 1
        assert spark.read.format("delta").load(path).where(f"id in (select id from delta.`{a.path}` where id = 13)").count() == 1
    spark.catalog.dropTempView("pruned")
    assert rows(spark.read.format("delta").load(path)) == ["Row(id=12)", "Row(id=13)"]


def test_names_that_differ_in_upper_and_lower_case_are_different(spark, tables):
    a, b = (f"delta.`{each.path}`" for each in tables)
    try:
        spark.conf.set("spark.sql.caseSensitive", "true")
        text = f"select t.id from {a} t join (select y as ID, x as q from {b}) u on t.x = u.q where ID = 10"
        assert spark.sql(text).count() == 10
        inner = f"select 1 from {b} u where u.id = o.k and ID = 120"
        assert spark.sql(f"select 1 from (select y as ID, id as k from {a}) o where exists ({inner})").count() == 1
        assert spark.sql(f"select T.y from {a} t join {b} T on t.x = T.x where T.id = 1").count() == 10
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
