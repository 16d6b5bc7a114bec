# SPDX-License-Identifier: Apache-2.0
"""Python's functions in conditions and values: Spark's optimizer takes them out of a statement, and bayou puts them back."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, LongType

import bayou


# Spark calls both functions for rows whose value is not used, too: they have to take NULL.
def is_even_function():
    return F.udf(lambda number: number is not None and number % 2 == 0, BooleanType())


def plus_one_function():
    return F.udf(lambda number: None if number is None else number + 1, LongType())


def is_even(number):
    return is_even_function()(number)


def plus_one(number):
    return plus_one_function()(number)


@pytest.fixture(scope="module", autouse=True)
def functions(spark):
    spark.udf.register("is_even", is_even_function())
    spark.udf.register("plus_one", plus_one_function())


@pytest.fixture
def table(spark, table_path, way):
    bayou.write(spark.sql("select id, id v from range(0, 10, 1, 2)"), table_path, **way)
    return bayou.DeltaTable.forPath(spark, table_path)


def rows(spark, path):
    return dict(sorted(map(tuple, bayou.read(spark, path).select("id", "v").collect())))


def numbers():
    return {number: number for number in range(10)}


@pytest.mark.smoke
def test_a_delete_by_a_column(spark, table, table_path):
    assert table.delete(is_even("id") & (F.col("id") > 4)).num_deleted_rows == 2
    assert rows(spark, table_path) == {key: value for key, value in numbers().items() if key not in (6, 8)}


@pytest.mark.smoke
@pytest.mark.parametrize("by_sql", [True, False])
def test_a_delete_by_a_text(spark, table, table_path, by_sql):
    condition = "is_even(plus_one(id)) and id > 4 and not is_even(plus_one(v) + 1)"
    if by_sql:
        spark.sql(f"delete from delta.`{table_path}` where {condition}")
    else:
        table.delete(condition)
    assert rows(spark, table_path) == {key: value for key, value in numbers().items() if key not in (5, 7, 9)}


@pytest.mark.smoke
@pytest.mark.parametrize("by_sql", [True, False])
def test_an_update_of_rows_and_to_values(spark, table, table_path, by_sql):
    if by_sql:
        spark.sql(f"update delta.`{table_path}` set v = plus_one(v) * 10 where is_even(id) and id < 6")
    else:
        table.update(is_even("id") & (F.col("id") < 6), {"v": plus_one("v") * 10})
    assert rows(spark, table_path) == {**numbers(), 0: 10, 2: 30, 4: 50}


@pytest.mark.parametrize("by_sql", [True, False])
def test_an_update_of_all_rows(spark, table, table_path, by_sql):
    if by_sql:
        spark.sql(f"update delta.`{table_path}` set v = plus_one(plus_one(id))")
    else:
        table.update(set={"v": plus_one(plus_one(F.col("id")))})
    assert rows(spark, table_path) == {number: number + 2 for number in range(10)}


@pytest.mark.parametrize("by_sql", [True, False])
def test_a_merge(spark, table, table_path, by_sql):
    source = "select id, id * 100 v from range(8, 12)"
    if by_sql:
        spark.sql(
            f"merge into delta.`{table_path}` t using ({source}) s on t.id = s.id and is_even(s.id) "
            "when matched and is_even(t.v) then update set v = plus_one(s.v) when not matched and s.id > 9 then insert *"
        )
    else:
        merge = table.alias("t").merge(spark.sql(source).alias("s"), (F.col("t.id") == F.col("s.id")) & is_even("s.id"))
        merge = merge.whenMatchedUpdate("is_even(t.v)", {"v": "plus_one(s.v)"})
        merge.whenNotMatchedInsertAll("s.id > 9").execute()
    assert rows(spark, table_path) == {**numbers(), 8: 801, 10: 1000, 11: 1100}


def test_an_overwrite_of_a_part(spark, table, table_path):
    rows_to_come = spark.sql("select 4L id, 0L v")
    rows_to_come.write.format("delta").mode("overwrite").option("replaceWhere", "is_even(id)").save(table_path)
    assert rows(spark, table_path) == {1: 1, 3: 3, 5: 5, 7: 7, 9: 9, 4: 0}


@pytest.mark.smoke
def test_functions_of_partition_columns(spark, table_path, way):
    bayou.write(spark.sql("select id, id v, id % 4 k from range(0, 12, 1, 1)"), table_path, partition_by=("k",), **way)
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.delete("is_even(k) and id > 3")
    table.update("is_even(k)", {"v": "plus_one(k)"})
    source = spark.sql("select explode(array(1L, 3L)) id").alias("s")
    table.alias("t").merge(source, "t.id = s.id and not is_even(t.k) and t.k = 3").whenMatchedDelete().execute()
    assert rows(spark, table_path) == {0: 1, 1: 1, 2: 3, 5: 5, 7: 7, 9: 9, 11: 11}
    spark.sql("select 7L id, 0L v, 3L k").write.format("delta").mode("overwrite").option("replaceWhere", "plus_one(k) = 4").save(
        table_path
    )
    assert rows(spark, table_path) == {0: 1, 1: 1, 2: 3, 5: 5, 7: 0, 9: 9}


@pytest.fixture
def name(spark, name, table_path):
    spark.sql(f"create table {name} (id bigint, v bigint) using delta location '{table_path}'")
    spark.sql(f"insert into {name} values (1, 2)")
    return name


@pytest.mark.smoke
def test_a_merge_that_spark_resolves(spark, table_path, name):
    table = f"default.{name}"
    source = "(select 1L id) s"
    spark.sql(
        f"merge into {table} using {source} on {table}.id = s.id and is_even({table}.v) "
        "when not matched then insert (id, v) values (s.id, 0)"
    )
    assert rows(spark, table_path) == {1: 2}
    spark.sql(
        f"merge into {table} using {source} on {table}.id = s.id and is_even({table}.v) and plus_one({table}.v) = 3 "
        f"when matched and is_even(plus_one({table}.v) + 1) then update set v = plus_one({table}.v) + plus_one(s.id)"
    )
    assert rows(spark, table_path) == {1: 5}


def test_a_source_gets_no_column_of_a_function(spark, table_path, name):
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    try:
        spark.sql(
            f"with s as (select 2L id, 0L v) merge into {name} t using s on t.id = s.id and is_even(s.id) "
            "when matched then update set * when not matched then insert *"
        )
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert spark.table(name).columns == ["id", "v"]
    assert rows(spark, table_path) == {1: 2, 2: 0}


def test_rows_of_a_cached_table(spark, table_path, name):
    spark.sql(f"cache table {name}")
    try:
        spark.sql(f"delete from {name} where is_even(v)")
        assert rows(spark, table_path) == {}
    finally:
        spark.sql(f"uncache table {name}")
