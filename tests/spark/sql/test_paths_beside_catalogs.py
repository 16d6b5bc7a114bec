# SPDX-License-Identifier: Apache-2.0
"""A table is called by its path while another catalog is the current one."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.tables.built import ids
from tests.support.tables.queried import OTHER_CATALOG, add_catalog

import bayou

STATEMENTS = {
    "insert into delta.`{path}` values (3)": [1, 2, 3],
    "insert into `DELTA`.`{path}` select id + 5 from delta.`{path}`": [1, 2, 6, 7],
    "insert overwrite delta.`{path}` values (3)": [3],
    "with s as (select 9L id) insert into delta.`{path}` select * from s": [1, 2, 9],
    "from (select 7L id) insert into delta.`{path}` select id insert into delta.`{path}` select id + 1": [1, 2, 7, 8],
    "insert into delta.`{path}` replace where id = 1 select 1L id union all select 1L": [1, 1, 2],
    "truncate table delta.`{path}`": [],
    "create or replace table delta.`{path}` using delta as select 4L id": [4],
    "alter table delta.`{path}` add columns (more string)": [1, 2],
    "alter table delta.`{path}` set tblproperties ('a.b' = 'c')": [1, 2],
    "alter table delta.`{path}` add constraint positive check (id > 0)": [1, 2],
    "comment on table delta.`{path}` is 'x'": [1, 2],
}
COUNTED = {
    "delete from delta.`{path}` where id = 1": ((1,), [2]),
    "update delta.`{path}` set id = 5 where id = 1": ((1,), [2, 5]),
    "merge into delta.`{path}` t using (select 2L id) s on s.id = t.id when matched then update set id = t.id + 1": (
        (1, 1, 0, 0),
        [1, 3],
    ),
    "merge into delta.`{path}` t using delta.`{path}` s on s.id = t.id and s.id = 2 when matched then delete": ((1, 0, 1, 0), [1]),
}
SHOWN = {
    "select id from delta.`{path}` where id = 1": "1",
    "describe delta.`{path}`": "bigint",
    "describe table extended delta.`{path}`": "delta",
    "show columns in delta.`{path}`": "id",
    "show tblproperties delta.`{path}`": "delta.minReaderVersion",
}


@pytest.fixture
def elsewhere(spark):
    session = bayou.enable(spark.newSession())
    add_catalog(session)
    session.sql(f"use {OTHER_CATALOG}")
    return session


@pytest.fixture
def path(spark, table_path):
    bayou.write(spark.range(1, 3), table_path)
    return table_path


def rows_of(session, path):
    return ids(session.read.format("delta").load(path))


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_is_about_the_table_at_a_path(elsewhere, path, statement):
    elsewhere.sql(statement.format(path=path))
    assert rows_of(elsewhere, path) == STATEMENTS[statement]


@pytest.mark.smoke
@pytest.mark.parametrize("statement", COUNTED)
def test_a_statement_that_changes_rows_gives_its_counts(elsewhere, path, statement):
    counts, rows = COUNTED[statement]
    assert tuple(elsewhere.sql(statement.format(path=path)).first()) == counts
    assert rows_of(elsewhere, path) == rows


@pytest.mark.parametrize("statement", SHOWN)
def test_a_statement_shows_the_table_at_a_path(elsewhere, path, statement):
    assert SHOWN[statement] in str(elsewhere.sql(statement.format(path=path)).collect())


def test_writers_and_readers_take_a_path_for_a_name(elsewhere, path):
    name, rows = f"delta.`{path}`", elsewhere.range(3, 4)
    rows.write.format("delta").insertInto(name)  # without the format Spark takes two parts at most
    rows.writeTo(name).append()
    rows.write.format("delta").mode("append").saveAsTable(name)
    assert ids(elsewhere.read.format("delta").load(path)) == [1, 2, 3, 3, 3]
    if hasattr(DataFrame, "mergeInto"):
        rows.alias("s").mergeInto(name, F.expr(f"{name}.id = s.id")).whenMatched().delete().merge()
        assert ids(elsewhere.read.format("delta").load(path)) == [1, 2]


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark has scripts from 4.0 on")
@pytest.mark.usefixtures("scripts")
def test_a_script_that_chooses_another_catalog_writes_to_a_path(spark, elsewhere, path):
    elsewhere.conf.set("spark.sql.scripting.enabled", "true")
    elsewhere.sql("use spark_catalog.default")
    body = f"use {OTHER_CATALOG}; insert into delta.`{path}` values (3); delete from delta.`{path}` where id = 1;"
    elsewhere.sql(f"begin {body} end")
    assert rows_of(elsewhere, path) == [2, 3]


def test_tables_of_the_current_catalog_are_its_own(elsewhere):
    elsewhere.sql(f"create table {OTHER_CATALOG}.APP.OWN (id bigint)")
    try:
        elsewhere.sql("insert into APP.OWN values (1)")
        assert ids(elsewhere.table("APP.OWN")) == [1]
    finally:
        elsewhere.sql(f"drop table {OTHER_CATALOG}.APP.OWN")
