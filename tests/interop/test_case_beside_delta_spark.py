# SPDX-License-Identifier: Apache-2.0
"""Names in another case, in sessions where case matters and where it does not: both engines take them or refuse them alike."""

from __future__ import annotations

import re

import pytest
from tests.interop.sampled import sampled

pytestmark = pytest.mark.oracle

CASE = "spark.sql.caseSensitive"
MERGE = "merge into {t} t using (select 1L as id, 'm' as v union all select 7L, 'n') s on t.id = s.id"
STATEMENTS = {
    "read": "select ID from {t}",
    "filter": "select id from {t} where V = 'a'",
    "insert by name": "insert into {t} by name select 3L as ID, 'c' as V",
    "insert columns": "insert into {t} (ID, V) values (3, 'c')",
    "insert by position": "insert into {t} select 3L as ID, 'c' as V",
    "update": "update {t} set V = 'u' where id = 1",
    "update where": "update {t} set v = 'u' where ID = 1",
    "update a field": "update {t} set s.X = 5",
    "delete": "delete from {t} where ID = 1",
    "merge": f"{MERGE} when matched then update set V = s.v when not matched then insert (id, v) values (s.id, s.v)",
    "merge star": f"{MERGE.replace('as v', 'as V')} when matched then update set * when not matched then insert *",
    "replace": "insert into {t} replace where ID = 1 select 1L as id, 'r' as v, null as s",
    "add a column": "alter table {t} add column (ID int)",
    "rename": "alter table {t} rename column V to w",
    "drop": "alter table {t} drop column V",
    "check": "alter table {t} add constraint c check (ID > 0)",
    "comment": "alter table {t} alter column V comment 'text'",
}
TWICE = "create table {t} (a int, A int) using delta"
WRITES = {
    "append": ("select 3L as ID, 'c' as V", "append", {}),
    "append and merge": ("select 3L as ID, 'c' as V, 1 as NEW", "append", {"mergeSchema": "true"}),
    "twice": ("select 3L as id, 4L as ID, 'c' as v", "append", {"mergeSchema": "true"}),
    "a field": ("select 3L as id, 'c' as v, named_struct('X', 2) as s", "append", {}),
    "overwrite": ("select 3L as ID, 'c' as V", "overwrite", {"overwriteSchema": "true"}),
    "replaceWhere": ("select 1L as id, 'c' as v", "overwrite", {"replaceWhere": "ID = 1"}),
}


def tried(run):
    """What the engine says to it, or None."""
    try:
        run()
    except Exception as error:  # noqa: BLE001  (compared)
        return str(error)
    return None


@pytest.fixture(params=["true", "false"], ids=["case matters", "case does not matter"])
def tables(request, spark, delta_spark, tmp_path):
    """A table of either engine, in sessions of both that compare names in the same way."""
    found = {}
    for name, run in (("ours", spark.sql), ("theirs", delta_spark.sql)):
        path = found[name] = str(tmp_path / name)
        mapped = "tblproperties ('delta.columnMapping.mode' = 'name')"
        run(f"create table delta.`{path}` (id bigint, v string, s struct<x: int>) using delta {mapped}")
        run(f"insert into delta.`{path}` values (1, 'a', struct(1)), (2, 'b', null)")
    spark.conf.set(CASE, request.param)
    delta_spark.sql(f"set {CASE} = {request.param}")
    yield found
    spark.conf.unset(CASE)
    delta_spark.sql(f"set {CASE} = false")


def compare(delta_spark, tables, ours, theirs, what):
    assert (ours is None) == (theirs is None), (what, ours, theirs)
    read = "select to_json(struct(*)) from delta.`{}`"
    assert sorted(delta_spark.sql(read.format(tables["ours"]))) == sorted(delta_spark.sql(read.format(tables["theirs"]))), what


@pytest.mark.parametrize("what", sampled(STATEMENTS, 5))
def test_statements_find_the_same_names(spark, delta_spark, tables, what):
    statement = STATEMENTS[what]
    ours = tried(lambda: spark.sql(statement.format(t=f"delta.`{tables['ours']}`")).collect())
    theirs = delta_spark.tried(statement.format(t=f"delta.`{tables['theirs']}`"))
    if what == "insert by name" and spark.conf.get(CASE) == "true":
        assert "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS" in ours  # docs/differences.md
        assert theirs is None
        return
    compare(delta_spark, tables, ours, theirs, what)


@pytest.mark.parametrize("what", sampled(WRITES, 3))
def test_rows_find_the_same_columns(spark, delta_spark, tables, what):
    query, mode, options = WRITES[what]
    ours = tried(lambda: spark.sql(query).write.format("delta").mode(mode).options(**options).save(tables["ours"]))
    compare(delta_spark, tables, ours, delta_spark.write(query, tables["theirs"], mode, options, []), what)


def test_no_table_has_two_columns_whose_names_differ_in_case(spark, delta_spark, tables, tmp_path):
    ours = tried(lambda: spark.sql(TWICE.format(t=f"delta.`{tmp_path}/a`")))
    theirs = delta_spark.tried(TWICE.format(t=f"delta.`{tmp_path}/b`"))
    assert re.search(r"DELTA_DUPLICATE_COLUMNS_FOUND|COLUMN_ALREADY_EXISTS", ours), ours
    assert re.search(r"DELTA_DUPLICATE_COLUMNS_FOUND|COLUMN_ALREADY_EXISTS", theirs), theirs
