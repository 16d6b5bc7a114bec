# SPDX-License-Identifier: Apache-2.0
"""DELETE in SQL, and what its callers see of it: its result, DataFrames that are cached, and what it refuses."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from tests.support.observing import jobs, last
from tests.support.on_connect import another_session
from tests.support.tables.queried import FILES, HUNDRED, ids, make_table

import bayou
from bayou.errors import AppendOnlyError, DeltaError, SchemaMismatchError


def test_cached_dataframes_see_the_delete(spark, table_path, way):
    table = make_table(spark, table_path, HUNDRED, **way)
    cached = table.toDF().cache()
    try:
        assert cached.count() == 100
        table.delete("id < 10")
        assert cached.count() == 90
    finally:
        cached.unpersist()


def test_cached_dataframes_of_another_session_and_joins_see_the_delete(spark, table_path, tmp_path, way):
    make_table(spark, table_path, HUNDRED, **way)
    bayou.write(spark.range(50), str(tmp_path / "others"))
    other = bayou.enable(another_session(spark))
    plain = other.read.format("delta").load(table_path).cache()
    joined = other.read.format("delta").load(str(tmp_path / "others")).join(plain.select("id", "v"), "id").cache()
    try:
        assert (plain.count(), joined.count()) == (100, 50)
        bayou.DeltaTable.forPath(spark, table_path).delete("id < 10")
        assert (plain.count(), joined.count()) == (90, 40)
        assert min(row.id for row in joined.collect()) == 10
    finally:
        joined.unpersist()
        plain.unpersist()


def test_a_result_prints_as_a_table_and_converts_to_one_row(spark, table_path):
    table = make_table(spark, table_path, HUNDRED, **FILES)
    result = table.delete("id = 1")
    assert "affected rows" in str(result)
    frame = result.toDF()
    assert frame.schema.simpleString() == "struct<num_affected_rows:bigint>"
    assert [row.num_affected_rows for row in frame.collect()] == [1]


def test_a_result_can_be_used_like_the_dataframe_that_delta_spark_gives(spark, table_path):
    result = make_table(spark, table_path, HUNDRED, **FILES).delete("id < 3")
    assert (result.count(), result.columns, result.first()["num_affected_rows"]) == (1, ["num_affected_rows"], 3)
    assert result.select(result["num_affected_rows"]).collect() == [(3,)]
    assert spark.range(3, 4).subtract(result).count() == 0
    with pytest.raises(AttributeError, match="nothing"):
        _ = result.nothing


@pytest.mark.parametrize(
    "condition", ["rand() > 0.5", "sum(id) > 3", "row_number() over (order by id) = 1", "nope = 1", "t.id = 1"]
)
def test_what_is_no_condition_on_one_row_is_refused_as_spark_refuses_it(spark, table_path, condition):
    table = make_table(spark, table_path, HUNDRED, **FILES)
    with pytest.raises(AnalysisException):
        table.delete(condition)
    assert bayou.open(table_path).version() == 0


def test_a_condition_of_another_type_is_refused(spark, table_path):
    table = make_table(spark, table_path, HUNDRED, **FILES)
    with pytest.raises(SchemaMismatchError, match="not a boolean"):
        table.delete("'text'")
    with pytest.raises(TypeError, match="'condition' must be a Spark SQL Column or a string"):
        table.delete(5)


def test_a_table_that_only_takes_appends_is_refused(spark, table_path):
    table = make_table(spark, table_path, HUNDRED, **{"delta.appendOnly": "true"})
    with pytest.raises(AppendOnlyError):
        table.delete("id = 1")


@pytest.fixture
def named(spark, tmp_path, way):
    """The name of a table in the catalog, and its path."""
    path = str(tmp_path / "named")
    make_table(spark, path, HUNDRED, **way)
    spark.sql(f"create table rows_to_change using delta location '{path}'")
    yield "rows_to_change", path
    spark.sql("drop table rows_to_change")


@pytest.mark.smoke
def test_sql_deletes_by_name_and_by_path(spark, named):
    name, path = named
    assert spark.sql(f"delete from {name} as t where t.v < 50 and t.v is not null").collect() == [(45,)]
    spark.sql(f"delete from delta.`{path}` where id = 99")
    assert ids(spark, path) == sorted({0, 10, 20, 30, 40, *range(50, 99)})
    assert last(path).operation == "DELETE"


def test_sql_on_a_view_that_is_the_whole_table(spark, named):
    name, path = named
    spark.sql(f"create or replace temp view whole as select * from {name}")
    spark.sql(f"create or replace temp view part as select * from {name} where id < 50")
    spark.sql("delete from whole where id = 1")
    with pytest.raises(DeltaError):
        spark.sql("delete from part where id = 2")
    assert ids(spark, path) == [0, *range(2, 100)]


def test_explain_runs_nothing(spark, named):
    name, path = named
    with jobs(spark) as started:
        shown = spark.sql(f"explain delete from {name} where id = 1").collect()[0][0]
    assert "RowChange" in shown
    assert "WHERE (id = " in shown
    assert started.value == 0
    assert bayou.open(path).version() == 0


def test_sql_deletes_where_the_table_is_cached(spark, named):
    name, path = named
    spark.sql(f"cache table {name}")
    try:
        assert spark.table(name).count() == 100
        spark.sql(f"delete from {name} where id < 10")
        assert spark.table(name).count() == 90
        spark.sql(f"delete from delta.`{path}` where id < 20")
        assert spark.table(name).count() == 80
    finally:
        spark.sql(f"uncache table {name}")


def test_sql_changes_a_table_whose_rows_are_cached_as_a_view(spark, named):
    """Views cast each column to its own type."""
    name, path = named
    spark.sql(f"create or replace temp view seen as select * from {name}")
    for number, target in enumerate([name, f"delta.`{path}`", "seen"]):
        spark.sql("cache table seen")
        try:
            assert spark.table("seen").count() == 100 - 10 * number
            spark.sql(f"delete from {target} where id < {10 * number + 10}")
            spark.sql(f"update {target} set id = id + 1000 where id = 99 + {1000 * number}")
            assert spark.table("seen").count() == spark.table(name).count() == 90 - 10 * number
        finally:
            spark.sql("uncache table seen")
    spark.catalog.dropTempView("seen")
    assert spark.table(name).where("id = 3099").count() == 1
