# SPDX-License-Identifier: Apache-2.0
"""MERGE as SQL, by path and by name, and as a method of Spark's DataFrames."""

from __future__ import annotations

import uuid

import pyspark
import pytest
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.dml.merge.merges import TEN, make
from tests.support.observing import jobs, last
from tests.support.tables.queried import rows

import bayou
from bayou.errors import UnsupportedFeatureError


def test_merge_as_sql_by_path_and_by_name(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    spark.sql("select id, 7L p, id * 100 v from range(8, 12)").createOrReplaceTempView("news")
    spark.sql(
        f"merge into delta.`{table_path}` as t using news as s on t.id = s.id when matched and s.id = 8 then delete "
        "when matched then update set v = s.v + 1, p = default when not matched and s.id = 10 then insert * "
        "when not matched by target then insert (id, v) values (s.id, default) when not matched by source and id = 0 then delete"
    )
    old = [(i, i % 2, None if i % 5 == 0 else i) for i in range(1, 8)]
    assert rows(table) == sorted([*old, (9, None, 901), (10, 7, 1000), (11, None, None)], key=repr)
    spark.sql(f"create table merged_by_name using delta location '{table_path}'")
    try:
        spark.sql("merge into merged_by_name using news on merged_by_name.id = news.id when matched then update set *")
        using = "using (select * from w) s on t.id = s.id when matched then delete"
        spark.sql(f"with w as (select 10L id) merge into merged_by_name t {using}")
        spark.sql(
            "merge into merged_by_name t using news s on t.id = s.id and s.id = :id when matched then delete", args={"id": 11}
        )
    finally:
        spark.sql("drop table merged_by_name")
    assert [row for row in rows(table) if row[0] > 7] == [(9, 7, 900)]
    assert last(table_path).operation == "MERGE"


def test_structs_and_evolution_in_sql(spark, table_path):
    table = make(spark, table_path, "select 1L id, named_struct('a', 1, 'b', 2) s")
    spark.sql("select 1L id, named_struct('b', 20, 'a', 10) s, 5 w").createOrReplaceTempView("news")
    spark.sql(f"merge into delta.`{table_path}` t using news n on t.id = n.id when matched then update set *")
    assert table.toDF().select("s.a", "s.b").collect()[0] == (10, 20)
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    try:
        spark.sql(f"merge into delta.`{table_path}` t using news n on t.id = n.id when matched then update set *")
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert table.toDF().select("w").collect()[0] == (5,)


def test_explain_of_a_merge_runs_nothing(spark, table_path):
    make(spark, table_path, TEN)
    spark.sql("select 1L id").createOrReplaceTempView("news")
    text = f"merge into delta.`{table_path}` t using news s on t.id = s.id when matched then delete"
    with jobs(spark) as started:
        shown = spark.sql(f"explain {text}").collect()[0][0]
    assert started.value == 0
    assert "MERGE" in shown
    assert bayou.open(table_path).version() == 0


def test_what_is_no_table_is_refused_in_sql(spark, table_path):
    make(spark, table_path, TEN)
    spark.sql("select 1L id").createOrReplaceTempView("news")
    spark.read.format("delta").load(table_path).where("id > 2").createOrReplaceTempView("some_rows")
    with pytest.raises(UnsupportedFeatureError):
        spark.sql("merge into some_rows t using news s on t.id = s.id when matched then delete")
    assert bayou.open(table_path).version() == 0


@pytest.mark.skipif(pyspark.__version__ < "4.0", reason="DataFrame.mergeInto came with Spark 4.0")
def test_merge_into_of_a_data_frame(spark, table_path):
    bayou.enable(spark)
    name = f"t_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE TABLE {name} (k INT, v INT) USING delta LOCATION '{table_path}'")
    try:
        given = spark.sql("select * from values (1, 10), (2, 20) s(k, v)").alias("s")
        same = F.expr(f"s.k = {name}.k")
        given.mergeInto(name, same).whenNotMatched(F.expr("s.k = 1")).insertAll().merge()
        given.mergeInto(name, F.lit(False)).whenNotMatched(F.expr("s.k = 2")).insert({"k": F.lit(9), "v": F.col("s.v")}).merge()
        given.mergeInto(name, same).whenMatched().update({"v": F.col("s.v") + 1}).whenNotMatched().insertAll().merge()
        assert sorted(map(tuple, spark.table(name).collect())) == [(1, 11), (2, 20), (9, 20)]
    finally:
        spark.sql(f"DROP TABLE {name}")
