# SPDX-License-Identifier: Apache-2.0
"""SQL on Spark Connect about tables by path."""

from __future__ import annotations

import pytest

import bayou


@pytest.fixture
def path(spark, tmp_path):
    path = str(tmp_path / "table")
    bayou.write(spark.range(5).selectExpr("id", "cast(id as string) as s"), path)
    return path


def ids(frame):
    return sorted(row.id for row in frame.collect())


def test_queries_name_tables_by_their_paths(spark, path):
    assert ids(spark.sql(f"select id from delta.`{path}` where id > 2")) == [3, 4]
    assert ids(
        spark.sql(f"with t as (select * from delta.`{path}`) select a.id from t a join delta.`{path}` b using (id)")
    ) == list(range(5))
    assert spark.sql(f"select count(*) as n from delta.`{path}` where id < :most", {"most": 3}).collect()[0].n == 3


def test_a_query_follows_the_table_and_travels_in_time(spark, path):
    frame = spark.sql(f"select * from delta.`{path}`")
    spark.sql(f"insert into delta.`{path}` values (5, 'five')")
    assert ids(frame) == list(range(6))
    assert ids(spark.sql(f"select * from delta.`{path}` version as of 0")) == list(range(5))
    assert ids(spark.sql(f"select * from delta.`{path}@v0` t where t.id = 1")) == [1]


def test_inserts(spark, path):
    name = f"delta.`{path}`"
    spark.sql(f"insert into {name} (s, id) select 'x', 7")
    spark.sql(f"insert into {name} by name select 'y' as s, 8L as id")
    spark.sql(f"insert into {name} select id + 100, s from {name} where id = 7")
    assert ids(spark.read.table(name)) == [*range(5), 7, 8, 107]
    spark.sql(f"insert overwrite {name} values (1, 'one')")
    assert spark.read.table(name).collect() == [(1, "one")]


def test_other_statements_are_the_servers(spark):
    assert spark.sql("select 1 as one").collect()[0].one == 1
    spark.sql("set spark.sql.shuffle.partitions = 2")
