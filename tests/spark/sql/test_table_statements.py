# SPDX-License-Identifier: Apache-2.0
"""Statements about a table as a whole: what it is called, where it lies, what it is replaced by, and what no table can be."""

from __future__ import annotations

import uuid
from datetime import date
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from tests.support.tables.built import ids, numbers_table

import bayou
from bayou.errors import DeltaError, InvalidOptionError, InvalidSchemaError, TableExistsError, UnsupportedFeatureError
from bayou.protocol.types.schema import StructField, StructType
from bayou.testing.table_builder import TableBuilder, add

DEFAULTS = "spark.databricks.delta.properties.defaults."


@pytest.fixture
def names(spark):
    """Two names in the catalog that nobody has."""
    bayou.enable(spark)
    found = [f"t_{uuid.uuid4().hex[:8]}" for _ in range(2)]
    yield found
    for each in found:
        spark.sql(f"drop table if exists {each}")


def folder_of(spark, name):
    return Path(bayou.DeltaTable.forName(spark, name).detail().first().location.removeprefix("file:"))


@pytest.mark.smoke
@pytest.mark.parametrize("kind", ["managed", "external"])
def test_a_table_that_is_renamed_is_the_same_table(spark, names, tmp_path, kind):
    old, new = names
    place = f"location '{tmp_path / 'table'}'" if kind == "external" else ""
    spark.sql(f"create table {old} (id long) using delta {place}")
    spark.sql(f"insert into {old} values (1)")
    table_id = bayou.open(str(folder_of(spark, old))).snapshot().metadata.id
    spark.sql(f"alter table {old} rename to {new}")
    assert not spark.catalog.tableExists(old)
    spark.sql(f"insert into {new} values (2)")
    assert ids(spark.table(new)) == [1, 2]
    assert ids(spark.sql(f"select * from {new} version as of 1")) == [1]
    table = bayou.DeltaTable.forName(spark, new)
    table.delete("id = 1")
    assert ids(table.toDF()) == [2]
    snapshot = bayou.open(str(folder_of(spark, new))).snapshot()
    assert (snapshot.metadata.id, snapshot.version) == (table_id, 3)
    assert (folder_of(spark, new) == tmp_path / "table") == (kind == "external")


def test_a_table_is_not_renamed_to_a_name_that_is_taken_and_a_path_is_no_name(spark, names, table_path):
    old, new = names
    for each in names:
        spark.sql(f"create table {each} (id long) using delta")
    spark.sql(f"insert into {old} values (1)")
    with pytest.raises(AnalysisException, match="already exists"):
        spark.sql(f"alter table {old} rename to {new}")
    assert (ids(spark.table(old)), ids(spark.table(new))) == ([1], [])
    numbers_table(table_path, [1])
    with pytest.raises(AnalysisException):
        spark.sql(f"alter table delta.`{table_path}` rename to {new}_2")
    assert ids(bayou.read(spark, table_path)) == [1]


@pytest.mark.smoke
@pytest.mark.parametrize("statement", ["drop table delta.`{}`", "drop table if exists delta.`{}`", "drop table delta.`{}` purge"])
def test_dropping_a_table_by_its_path_is_refused_and_deletes_nothing(spark, table_path, statement):
    numbers_table(table_path, [1, 2])
    before = sorted(Path(table_path).rglob("*"))
    with pytest.raises(UnsupportedFeatureError, match="path"):
        spark.sql(statement.format(table_path))
    assert sorted(Path(table_path).rglob("*")) == before
    assert ids(bayou.read(spark, table_path)) == [1, 2]


@pytest.mark.smoke
def test_a_managed_table_is_not_made_in_a_folder_that_holds_something_else(spark, names):
    name = names[0]
    spark.sql(f"create table {name} (id long) using delta")
    folder = folder_of(spark, name)
    spark.sql(f"drop table {name}")
    folder.mkdir()
    (folder / "x.txt").write_text("somebody's")
    for make in (
        lambda: spark.sql(f"create table {name} (id long) using delta"),
        lambda: spark.sql(f"create table {name} using delta as select 1L id"),
        lambda: spark.sql(f"create or replace table {name} (id long) using delta"),
        lambda: spark.range(1).write.format("delta").saveAsTable(name),
        lambda: spark.range(1).writeTo(name).using("delta").create(),
    ):
        with pytest.raises(TableExistsError) as caught:
            make()
        assert caught.value.getErrorClass() == "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
    assert [each.name for each in folder.iterdir()] == ["x.txt"]
    assert not spark.catalog.tableExists(name)
    (folder / "x.txt").unlink()
    spark.sql(f"create table {name} (id long) using delta")


@pytest.mark.parametrize(
    "statement",
    [
        "create table {} (id long, v int) using delta clustered by (id) into 4 buckets",
        "create table {} using delta clustered by (id) into 4 buckets as select 1L id, 2 v",
        "create or replace table {} (id long, v int) using delta clustered by (id) sorted by (v) into 4 buckets",
        "create table {} (id long, v int) using delta partitioned by (bucket(4, id))",
    ],
)
@pytest.mark.parametrize("kind", ["name", "path"])
def test_buckets_are_refused(spark, names, table_path, statement, kind):
    table = names[0] if kind == "name" else f"delta.`{table_path}`"
    with pytest.raises(UnsupportedFeatureError, match="Bucketing is not supported") as caught:
        spark.sql(statement.format(table))
    assert isinstance(caught.value, AnalysisException)
    assert caught.value.getErrorClass() == "DELTA_OPERATION_NOT_ALLOWED_DETAIL"
    assert caught.value.getMessageParameters()["operation"] == "Bucketing"
    assert not spark.catalog.tableExists(names[0])
    assert not Path(table_path).exists()


@pytest.mark.parametrize(
    "statement",
    [
        "create or replace table {} (id long) using delta",
        "replace table {} (id long) using delta",
        "create or replace table {} using delta as select 1L id",
    ],
)
def test_a_table_that_is_replaced_gets_the_session_s_defaults_of_today_and_nothing_of_the_old_ones(spark, names, statement):
    name = names[0]
    spark.sql(f"create table {name} (id long) using delta tblproperties ('delta.checkpointInterval' = '7', 'mine' = 'x')")
    settings = {f"{DEFAULTS}enableChangeDataFeed": "true", f"{DEFAULTS}logRetentionDuration": "interval 40 days"}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        spark.sql(statement.format(name))
        spark.sql(f"alter table {name} set tblproperties ('mine' = 'y')")
    finally:
        for key in settings:
            spark.conf.unset(key)
    snapshot = bayou.open(str(folder_of(spark, name))).snapshot()
    wanted = {"delta.enableChangeDataFeed": "true", "delta.logRetentionDuration": "interval 40 days", "mine": "y"}
    assert snapshot.metadata.configuration == wanted
    spark.sql(statement.format(name))
    assert bayou.open(str(folder_of(spark, name))).snapshot().metadata.configuration == {}


@pytest.mark.parametrize(
    ("statement", "error_class"),
    [
        ("msck repair table {name}", "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE"),
        ("load data local inpath '{folder}' into table {name}", "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE"),
        ("insert overwrite directory '{folder}' using delta select 1L id", "DELTA_OPERATION_NOT_ALLOWED"),
        ("insert overwrite local directory '{folder}' using delta select 1L id", "DELTA_OPERATION_NOT_ALLOWED"),
    ],
)
def test_a_statement_that_goes_past_the_log_is_refused_and_writes_nothing(spark, names, table_path, statement, error_class):
    spark.sql(f"create table {names[0]} (id long, p int) using delta partitioned by (p)")
    with pytest.raises(UnsupportedFeatureError) as caught:
        spark.sql(statement.format(name=names[0], folder=table_path))
    assert caught.value.getErrorClass() == error_class
    assert not Path(table_path).exists()
    assert spark.table(names[0]).count() == 0


def test_a_clustering_column_is_not_moved_out_of_the_columns_with_statistics(spark, names):
    name = names[0]
    spark.sql(
        f"create table {name} (a int, b int, c int) using delta cluster by (a) "
        "tblproperties ('delta.dataSkippingNumIndexedCols' = '2')"
    )
    spark.sql(f"alter table {name} alter column a after b")
    with pytest.raises(InvalidSchemaError) as caught:
        spark.sql(f"alter table {name} alter column a after c")
    assert caught.value.getErrorClass() == "DELTA_CLUSTERING_COLUMN_MISSING_STATS"
    with pytest.raises(DeltaError) as caught:
        spark.sql(f"alter table {name} alter column c first")
    assert caught.value.getErrorClass() == "DELTA_CLUSTERING_COLUMN_MISSING_STATS"
    assert spark.table(name).columns == ["b", "a", "c"]
    spark.sql(f"alter table {name} alter column a first")


@pytest.mark.smoke
def test_show_partitions_lists_those_of_the_log(spark, names, table_path):
    name = names[0]
    spark.sql(f"create table {name} (id long, d date, P string) using delta partitioned by (d, P) location '{table_path}'")
    assert spark.sql(f"show partitions {name}").collect() == []
    spark.sql(f"insert into {name} values (1, date'2026-01-02', 'a/b'), (2, date'2026-01-02', null), (3, null, 'c=d')")
    spark.sql(f"insert into {name} values (4, date'2026-01-02', null)")
    wanted = [(date(2026, 1, 2), "a/b"), (date(2026, 1, 2), None), (None, "c=d")]
    for table in (name, f"delta.`{table_path}`"):
        found = spark.sql(f"show partitions {table}")
        assert found.dtypes == [("d", "date"), ("P", "string")]
        assert sorted(map(tuple, found.collect()), key=str) == sorted(wanted, key=str)
    assert spark.sql(f"show partitions {name} partition (p = 'a/b')").collect() == wanted[:1]
    assert spark.sql(f"show partitions {name} partition (d = '2026-01-02')").count() == 2
    assert spark.sql(f"show partitions {name} partition (d = null)").collect() == wanted[2:]
    spark.sql(f"delete from {name} where p is null")
    assert spark.sql(f"show partitions {name}").count() == 2


def test_show_partitions_gives_each_partition_once(spark, table_path):
    schema = StructType((StructField("id", "long"), StructField("p", "string")))
    builder = TableBuilder(table_path).create(schema, partition_by=["p"])
    builder.commit(*(add(f"{number}.parquet", partitionValues={"p": str(number % 2)}) for number in range(50)))
    assert spark.sql(f"show partitions delta.`{table_path}`").collect() == [("0",), ("1",)]


@pytest.mark.smoke
def test_show_partitions_says_what_is_no_partition(spark, names):
    name, other = names
    spark.sql(f"create table {name} (id long) using delta")
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"show partitions {name}").collect()
    assert isinstance(caught.value, InvalidOptionError)
    assert caught.value.error_class == "DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_TABLE"
    spark.sql(f"create table {other} (id long, p int) using parquet partitioned by (p)")
    spark.sql(f"insert into {other} values (1, 1)")
    assert [row.partition for row in spark.sql(f"show partitions {other}").collect()] == ["p=1"]
