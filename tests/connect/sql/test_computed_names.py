# SPDX-License-Identifier: Apache-2.0
"""Names of tables that a statement computes, versions and times in arguments, and subqueries over paths in expressions."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.sql import functions as F  # noqa: N812

import bayou


@pytest.fixture
def path(spark, tmp_path):
    path = str(tmp_path / "table")
    bayou.write(spark.range(5).selectExpr("id", "cast(id as string) as s"), path)
    return path


@pytest.fixture
def keys(spark, tmp_path):
    keys = str(tmp_path / "keys")
    bayou.write(spark.range(1, 3), keys)
    return keys


def ids(frame):
    return sorted(row.id for row in frame.collect())


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("select id from identifier('delta.`{path}`') where id > 2", None),
        ("select t.id from identifier('del' || 'ta.`{path}`') t where id > 2", None),
        ("select id from identifier(:name) where id > :least", {"name": "delta.`{path}`", "least": 2}),
        ("select id from identifier(?) where id > ?", ["delta.`{path}`", 2]),
        ("select id from range(0) where id > ? union all select id from identifier(?) where id > ?", [9, "delta.`{path}`", 2]),
    ],
)
def test_queries_name_tables_by_expressions(spark, path, text, args):
    given = [each.format(path=path) if isinstance(each, str) else each for each in args] if isinstance(args, list) else args
    if isinstance(args, dict):
        given = {key: each.format(path=path) if isinstance(each, str) else each for key, each in args.items()}
    assert ids(spark.sql(text.format(path=path), given) if given else spark.sql(text.format(path=path))) == [3, 4]


def test_statements_name_tables_by_expressions(spark, path):
    name = f"delta.`{path}`"
    spark.sql("insert into identifier(:t) values (:id, 'new')", {"t": name, "id": 9})
    spark.sql("update identifier(?) set s = ? where id = ?", [name, "changed", 9])
    spark.sql("delete from identifier(:t) where id < 4", {"t": name})
    spark.sql("alter table identifier(:t) set tblproperties ('a' = 'b')", {"t": name})
    assert spark.sql("describe history identifier(:t)", {"t": name}).count() == 5
    assert sorted(spark.read.table(name).collect()) == [(4, "4"), (9, "changed")]
    assert spark.sql("show tblproperties identifier(?) ('a')", [name]).collect() == [("a", "b")]


def test_a_name_that_is_no_path_is_the_servers(spark):
    spark.range(3).createOrReplaceTempView("of_server")
    assert ids(spark.sql("select id from identifier(:name)", {"name": "of_server"})) == [0, 1, 2]


def test_versions_and_times_are_arguments(spark, path):
    before = bayou.open(path).update().timestamp
    spark.sql(f"delete from delta.`{path}` where id > 0")
    text = f"select id from delta.`{path}`"
    assert ids(spark.sql(f"{text} version as of :v", {"v": 0})) == list(range(5))
    assert ids(spark.sql(f"{text} version as of ? where id < ?", [0, 2])) == [0, 1]
    time = dt.datetime.fromtimestamp(before / 1000, dt.timezone.utc)
    assert ids(spark.sql(f"{text} timestamp as of :t", {"t": time.strftime("%Y-%m-%d %H:%M:%S.%f")})) == list(range(5))
    assert ids(spark.sql(f"{text} timestamp as of :t", {"t": time})) == list(range(5))
    micros = int(before * 1000)
    assert ids(spark.sql(f"{text} timestamp as of timestamp_micros({micros} + 0)")) == list(range(5))


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("id in (select id from delta.`{keys}`)", [1, 2]),
        ("id not in (select k.id from delta.`{keys}` k) and id < 4", [0, 3]),
        ("id > (select max(id) from delta.`{keys}`)", [3, 4]),
        ("exists (select 1 from delta.`{keys}` k where k.id = t.id)", [1, 2]),
        ("id in (select id from delta.`{keys}` version as of 0)", [1, 2]),
        ("id in (with k as (select * from delta.`{keys}`) select id + 1 from k)", [2, 3]),
    ],
)
def test_subqueries_name_paths(spark, path, keys, condition, found):
    condition = condition.format(keys=keys)
    frame = spark.read.format("delta").load(path).alias("t")
    assert ids(frame.where(condition)) == found
    assert ids(frame.filter(F.expr(condition))) == found
    assert ids(spark.sql(f"select id from delta.`{path}` t where {condition}")) == found


def test_a_subquery_follows_its_table(spark, path, keys):
    frame = spark.read.format("delta").load(path).where(f"id in (select id from delta.`{keys}`)")
    assert ids(frame) == [1, 2]
    bayou.write(spark.range(4, 5), keys, mode="append")
    assert ids(frame) == [1, 2, 4]
    assert frame.selectExpr(f"(select count(*) from delta.`{keys}`) as n").first().n == 3


def test_row_changes_have_subqueries_over_paths(spark, path, keys):
    name = f"delta.`{path}`"
    assert spark.sql(f"delete from {name} where id in (select id from delta.`{keys}`)").collect() == [(2,)]
    assert spark.sql(f"update {name} set s = 'x' where id > (select max(id) from delta.`{keys}`)").collect() == [(2,)]
    bayou.DeltaTable.forPath(spark, path).delete(f"id = (select max(id) + 1 from delta.`{keys}`)")
    assert sorted(spark.read.table(name).collect()) == [(0, "0"), (4, "x")]


def test_values_and_sources_have_subqueries_over_paths(spark, path, keys):
    name = f"delta.`{path}`"
    spark.sql(f"insert into {name} select (select max(id) + 10 from delta.`{keys}`), 'new'")
    spark.sql(f"update {name} set s = (select cast(count(*) as string) from delta.`{keys}`) where id = 0")
    merge = "merge into identifier(:t) t using (select * from identifier(:k)) k on t.id = k.id when matched then delete"
    assert spark.sql(merge, {"t": name, "k": f"delta.`{keys}`"}).first().num_deleted_rows == 2
    assert sorted(spark.read.table(name).collect()) == [(0, "2"), (3, "3"), (4, "4"), (12, "new")]


def test_a_table_has_the_rows_of_a_dataframe(spark, path, tmp_path):
    name = f"delta.`{tmp_path / 'copy'}`"
    rows = spark.read.format("delta").load(path).where("id > 2")
    spark.sql(f"create table {name} using delta as select id from {{rows}} where id < :most", {"most": 4}, rows=rows)
    assert ids(spark.read.table(name)) == [3]


def test_rows_of_a_path_go_into_other_tables(spark, path):
    try:
        spark.sql(f"create table of_parquet using parquet as select * from delta.`{path}` where id > 2")
        spark.sql(f"with t as (select * from delta.`{path}`) insert into of_parquet select id + 10, s from t where id = 0")
        spark.sql(f"insert into of_parquet select id, s from delta.`{path}` where id = 1")
        assert ids(spark.table("of_parquet")) == [1, 3, 4, 10]
    finally:
        spark.sql("drop table if exists of_parquet")
