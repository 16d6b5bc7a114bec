# SPDX-License-Identifier: Apache-2.0
"""Tables that SQL calls by their paths, and tables that take rows of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from tests.support.tables.built import ids

import bayou
from bayou.errors import InvalidOptionError


def test_sql_by_path_has_the_same_verbs(spark, table_path):
    spark.sql(f"CREATE TABLE delta.`{table_path}` (id BIGINT, p STRING) USING delta PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO delta.`{table_path}` VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"INSERT OVERWRITE delta.`{table_path}` PARTITION (p = 'a') SELECT 3")
    spark.sql("select 4L id, 'c' p").writeTo(f"delta.`{table_path}`").append()
    spark.sql("select 5L id, 'c' p").write.format("delta").mode("append").saveAsTable(f"delta.`{table_path}`")
    assert ids(spark.table(f"delta.`{table_path}`")) == [2, 3, 4, 5]
    with pytest.raises(AnalysisException):
        spark.sql(f"CREATE TABLE delta.`{table_path}` (id BIGINT) USING delta")
    spark.sql(f"CREATE OR REPLACE TABLE delta.`{table_path}` USING delta AS SELECT 9L AS id")
    assert ids(spark.table(f"delta.`{table_path}`")) == [9]


def test_a_write_to_a_path_where_no_table_is_says_so(spark, table_path):
    with pytest.raises(AnalysisException):
        spark.range(1).writeTo(f"delta.`{table_path}`").append()
    assert not Path(table_path).exists()


@pytest.mark.smoke
@pytest.mark.parametrize("partitions", ["", "partitioned by (p)"])
@pytest.mark.parametrize("by_name", [True, False])
def test_a_table_takes_rows_of_its_own(spark, tmp_path, partitions, by_name):
    path = str(tmp_path / "table")
    table = "own_rows" if by_name else f"delta.`{path}`"
    spark.sql(f"create table {table} (id bigint, p string) using delta {partitions}" + (f" location '{path}'" if by_name else ""))
    try:
        spark.sql(f"insert into {table} values (1, 'a'), (2, null)")
        spark.sql(f"insert into {table} select * from {table}")
        spark.sql(f"with own as (select id + 10 as id, p from {table}) insert into {table} (id) select id from own where p = 'a'")
        spark.sql(f"/* half of it */ insert overwrite {table} select id, p from {table} where id <> 2")
        rows = [(1, "a"), (1, "a"), (11, None), (11, None)]
        assert sorted(map(tuple, spark.table(table).collect()), key=str) == rows
        assert [row.operation for row in bayou.DeltaTable.forPath(spark, path).history().select("operation").collect()] == [
            *["WRITE"] * 4,
            "CREATE TABLE",
        ]
    finally:
        spark.sql("drop table if exists own_rows")


@pytest.mark.smoke
def test_rows_of_its_own_get_what_a_table_fills_in(spark, table_path):
    table = f"delta.`{table_path}`"
    (
        bayou.DeltaTable.create(spark)
        .location(table_path)
        .addColumn("id", "bigint")
        .addColumn("number", "bigint", generatedByDefaultAs=bayou.IdentityGenerator())
        .addColumn("twice", "bigint", generatedAlwaysAs="id * 2")
        .addColumn("c", "int")
        .property("delta.feature.allowColumnDefaults", "supported")
        .execute()
    )
    bayou.DeltaTable.forPath(spark, table_path).setDefault("c", "7")
    spark.sql(f"insert into {table} (id, c) values (1, 1)")
    spark.sql(f"insert into {table} (id) select id + 10 from {table}")
    assert sorted(map(tuple, spark.table(table).collect())) == [(1, 1, 2, 1), (11, 2, 22, 7)]


def test_partitions_are_pruned_by_a_join_in_an_insert_too(spark, tmp_path):
    facts, names, into = (f"delta.`{tmp_path / name}`" for name in ("facts", "names", "into"))
    spark.sql(f"create table {facts} (id bigint, p int) using delta partitioned by (p)")
    spark.sql(f"create table {names} (p int, name string) using delta")
    spark.sql(f"create table {into} (id bigint) using delta")
    spark.sql(f"insert into {facts} select id, id % 5 from range(50)")
    spark.sql(f"insert into {names} select id, concat('n', id) from range(5)")
    query = f"insert into {into} select f.id from {facts} f join {names} n on f.p = n.p where n.name = 'n4'"
    assert "dynamicpruning" in spark.sql(f"explain extended {query}").first()[0]


def test_a_statement_that_names_two_folders_is_refused(spark, table_path):
    with pytest.raises(InvalidOptionError) as caught:
        spark.sql(f"CREATE TABLE delta.`{table_path}` (id BIGINT) USING delta LOCATION '{table_path}x'")
    assert caught.value.error_class == "DELTA_AMBIGUOUS_PATHS_IN_CREATE_TABLE"


def test_sql_by_path_can_be_turned_off(spark, table_path):
    bayou.enable(spark)
    spark.range(1).write.format("delta").save(table_path)
    spark.conf.set("spark.sql.runSQLOnFiles", "false")
    try:
        for statement in (f"SELECT * FROM delta.`{table_path}`", f"DELETE FROM delta.`{table_path}`"):
            with pytest.raises(AnalysisException):
                spark.sql(statement).collect()
    finally:
        spark.conf.unset("spark.sql.runSQLOnFiles")
    assert spark.sql(f"SELECT * FROM delta.`{table_path}`").count() == 1


@pytest.mark.smoke
def test_spark_is_told_whether_there_is_a_table_at_a_path(spark, tmp_path):
    bayou.write(spark.range(1), str(tmp_path / "table"))
    (tmp_path / "folder").mkdir()
    found = {each: spark.catalog.tableExists(f"delta.`{tmp_path / each}`") for each in ("table", "folder", "nothing")}
    assert found == {"table": True, "folder": False, "nothing": False}


@pytest.mark.smoke
def test_a_path_with_capitals_shows_the_columns_that_the_table_has_now(spark, tmp_path):
    """Spark forgets what it keeps of a table by its name in lower case."""
    upper, lower = f"delta.`{tmp_path}/Some/Table`", f"delta.`{tmp_path}/some/table`"
    for table, column in ((upper, "a"), (lower, "b")):
        spark.sql(f"create table {table} ({column} int) using delta tblproperties ('delta.columnMapping.mode' = 'name')")
        spark.sql(f"insert into {table} values (1), (2)")
        assert spark.table(table).columns == [column]
    spark.sql(f"alter table {upper} rename column a to c")
    spark.sql(f"delete from {upper} where c = 1")
    assert [tuple(row) for row in spark.sql(f"select c from {upper}").collect()] == [(2,)]
    spark.sql("select 3 c, 4 d").write.format("delta").mode("append").option("mergeSchema", "true").save(f"{tmp_path}/Some/Table")
    assert spark.sql(f"select d from {upper} where c = 3").first().d == 4
    assert spark.sql(f"select x.c, y.b from {upper} x join {lower} y on x.c = y.b").collect() == [(2, 2)]
