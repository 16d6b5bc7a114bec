# SPDX-License-Identifier: Apache-2.0
"""Every way to a table gives the same rows and the same columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException
from tests.support.tables.built import ids, numbers, numbers_table, three_versions

import bayou
from bayou.errors import InvalidOptionError


def catalog_name(tmp_path):
    return "t_" + "".join(c if c.isalnum() else "_" for c in tmp_path.name)


WAYS = {
    "bayou.read": bayou.read,
    "format": lambda spark, path: spark.read.format("delta").load(path),
    "format in upper case": lambda spark, path: spark.read.format("DELTA").load(path),
    "option path": lambda spark, path: spark.read.format("delta").option("path", path).load(),
    "option PATH": lambda spark, path: spark.read.format("delta").option("PATH", path).load(),
    "file uri": lambda spark, path: spark.read.format("delta").load(f"file://{path}"),
    "trailing slash": lambda spark, path: spark.read.format("delta").load(path + "/"),
    "sql by path": lambda spark, path: spark.sql(f"select * from delta.`{path}`"),
    "sql by path, backquoted": lambda spark, path: spark.sql(f"select * from `delta`.`{path}` as t"),
    "sql by path in upper case": lambda spark, path: spark.sql(f"SELECT * FROM DELTA.`{path}`"),
    "DeltaTable": lambda spark, path: bayou.DeltaTable.forPath(spark, path).toDF(),
}


@pytest.mark.smoke
@pytest.mark.parametrize("way", WAYS)
def test_every_way_reads_the_latest_rows(spark, table_path, way):
    three_versions(table_path)
    frame = WAYS[way](spark, table_path)
    assert ids(frame) == [2, 3]
    assert frame.dtypes == [("id", "bigint")]


@pytest.mark.parametrize("names", [["spark.sql.shuffle.partitions"], ["fs.s3a.impl", "fs", "FS.a"], ["dfs"], ["my.fs.a"]])
def test_settings_for_a_path_are_those_of_the_file_system(spark, table_path, names):
    three_versions(table_path)
    known = {"fs.file.impl.disable.cache": "false", "dfs.blocksize": "1m"}
    assert ids(bayou.DeltaTable.forPath(spark, table_path, known).toDF()) == [2, 3]
    with pytest.raises(InvalidOptionError) as error:
        bayou.DeltaTable.forPath(spark, table_path, known | dict.fromkeys(names, "secret"))
    assert error.value.getErrorClass() == "DELTA_TABLE_FOR_PATH_UNSUPPORTED_HADOOP_CONF"
    assert error.value.getSqlState() == "0AKDC"
    assert isinstance(error.value, IllegalArgumentException)
    assert all(name in str(error.value) for name in names if name != "fs.s3a.impl")
    assert "secret" not in str(error.value)


@pytest.mark.smoke
def test_a_catalog_table_over_a_location_is_the_table(spark, table_path, tmp_path):
    builder = three_versions(table_path)
    name = catalog_name(tmp_path)
    spark.sql(f"create table {name} using delta location '{table_path}'")
    try:
        assert ids(spark.table(name)) == [2, 3]
        assert spark.sql(f"select count(*), max(id) from {name}").first() == (2, 3)
        builder.commit(numbers(table_path, "later.parquet", [9]))
        assert ids(spark.table(name)) == [2, 3, 9]
        spark.catalog.refreshTable(name)
        assert ids(spark.table(name)) == [2, 3, 9]
        assert "id" in {row.col_name for row in spark.sql(f"describe {name}").collect()}
    finally:
        spark.sql(f"drop table {name}")
    assert ids(bayou.read(spark, table_path)) == [2, 3, 9]


@pytest.mark.parametrize("way", ["table", "read.table"])
def test_a_path_is_a_table_name_outside_of_sql_too(spark, table_path, way):
    three_versions(table_path)
    name = f"delta.`{table_path}`"
    assert ids(spark.table(name) if way == "table" else spark.read.table(name)) == [2, 3]


def test_the_catalog_lists_a_tables_columns(spark, table_path, tmp_path):
    three_versions(table_path)
    name = catalog_name(tmp_path)
    spark.sql(f"create table {name} using delta location '{table_path}'")
    try:
        assert [c.name for c in spark.catalog.listColumns(name)] == ["id"]
    finally:
        spark.sql(f"drop table {name}")


def test_a_catalog_table_is_created_by_the_sources_name_in_any_case(spark, table_path, tmp_path):
    three_versions(table_path)
    name = catalog_name(tmp_path)
    spark.sql(f"CREATE TABLE {name} USING DELTA LOCATION '{table_path}'")
    try:
        assert ids(spark.table(name)) == [2, 3]
    finally:
        spark.sql(f"drop table {name}")


def test_a_catalog_table_resolves_on_another_session(spark, table_path, tmp_path):
    three_versions(table_path)
    name = catalog_name(tmp_path)
    spark.sql(f"create table {name} using delta location '{table_path}'")
    try:
        other = spark.newSession()
        assert ids(other.table(name)) == [2, 3]
        assert ids(other.read.format("delta").load(table_path)) == [2, 3]
    finally:
        spark.sql(f"drop table {name}")


@pytest.mark.smoke
def test_a_view_over_a_table_reads_it_anew_each_time(spark, table_path):
    builder = three_versions(table_path)
    bayou.read(spark, table_path).createOrReplaceTempView("numbers_view")
    try:
        assert ids(spark.sql("select * from numbers_view where id > 2")) == [3]
        builder.commit(numbers(table_path, "later.parquet", [9]))
        assert ids(spark.sql("select * from numbers_view where id > 2")) == [3, 9]
    finally:
        spark.catalog.dropTempView("numbers_view")


@pytest.mark.smoke
def test_is_delta_table_tells_tables_from_folders(spark, table_path, tmp_path):
    numbers_table(table_path, [1])
    assert bayou.DeltaTable.isDeltaTable(spark, table_path)
    assert bayou.DeltaTable.isDeltaTable(spark, f"file://{table_path}")
    assert not bayou.DeltaTable.isDeltaTable(spark, str(tmp_path))
    (tmp_path / "empty" / "_delta_log").mkdir(parents=True)
    partition = Path(table_path, "p=1")
    partition.mkdir()
    for folder in (tmp_path / "nothing", tmp_path / "empty"):
        assert not bayou.DeltaTable.isDeltaTable(spark, str(folder))
    assert bayou.DeltaTable.isDeltaTable(spark, str(partition))  # a folder of a table's, to delta-spark, too


def test_a_path_with_odd_characters_is_read(spark, tmp_path):
    path = str(tmp_path / "ü %20 ' {x} #1?")
    three_versions(path)
    assert ids(bayou.read(spark, path)) == [2, 3]
    assert ids(spark.read.format("delta").load(path)) == [2, 3]
    assert bayou.DeltaTable.forPath(spark, path).detail().first().numFiles == 2
