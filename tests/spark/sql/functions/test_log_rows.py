# SPDX-License-Identifier: Apache-2.0
"""History, detail and files of a table as functions, built from the log without a job."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.observing import jobs, plan_of

import bayou
from bayou.errors import DeltaError
from bayou.protocol.actions import file_names


@pytest.fixture
def delta(spark, name, table_path):
    """The name of a table with six versions, the last of which has a checkpoint."""
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p STRING) USING delta PARTITIONED BY (p) LOCATION '{table_path}'")
    for start in range(5):
        spark.sql(f"INSERT INTO {name} SELECT id, 'a b' FROM range({start}, {start + 1}, 1, 1)")
    bayou.open(table_path).checkpoint()
    return name


def break_commits(path, *versions):
    """Makes commits unreadable: what reads one fails."""
    for version in versions:
        file = Path(path, file_names.commit_path(version))
        times = file.stat()
        file.write_bytes(b'{"commitInfo":{"operation"')
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def versions(frame):
    return [row.version for row in frame.collect()]


@pytest.mark.smoke
def test_the_rows_are_those_of_the_methods(spark, delta, table_path):
    table = bayou.DeltaTable.forName(spark, delta)
    for name in (delta, f"spark_catalog.default.{delta}", f"delta.`{table_path}`", table_path, f"file:{table_path}"):
        found = spark.sql(f"SELECT * FROM table_history('{name}')")
        assert found.schema == table.history().schema
        assert found.collect() == table.history().collect()
        assert spark.sql(f"SELECT * FROM table_history('{name}', 2)").collect() == table.history(2).collect()
        detail = spark.sql(f"SELECT * FROM table_detail('{name}')")
        assert detail.schema == table.detail().schema
        assert detail.drop("name").collect() == table.detail().drop("name").collect()
        assert spark.sql(f"SELECT * FROM table_files('{name}')").count() == 5
    assert spark.sql(f"SELECT name FROM table_detail('{delta}')").first().name == f"spark_catalog.default.{delta}"


@pytest.mark.smoke
def test_files_are_told_with_their_statistics(spark, delta):
    found = spark.sql(f"SELECT * FROM table_files('{delta}') WHERE minValues['id'] = '3'").collect()
    assert [(row.partitionValues, row.numRecords, row.maxValues, row.nullCount) for row in found] == [
        ({"p": "a b"}, 1, {"id": "3"}, {"id": 0})
    ]
    joined = spark.sql(f"SELECT t.id, f.size FROM {delta} t JOIN table_files('{delta}') f ON t._metadata.file_path = f.path")
    assert sorted(row.id for row in joined.collect()) == [0, 1, 2, 3, 4]
    assert spark.sql(f"SELECT sum(numRecords) n FROM table_files('{delta}')").first().n == 5


def test_rows_are_made_without_a_job(spark, delta):
    with jobs(spark) as ran:
        spark.sql(f"SELECT version, operation FROM table_history('{delta}') WHERE version > 1").collect()
        spark.sql(f"SELECT * FROM table_detail('{delta}')").collect()
        spark.sql(f"SELECT path, size FROM table_files('{delta}') LIMIT 3").collect()
    assert ran.value == 0


def test_rows_are_those_of_the_moment_when_a_query_runs(spark, delta):
    spark.sql(f"CREATE TEMPORARY VIEW h_{delta} AS SELECT * FROM table_history('{delta}')")
    try:
        cached = spark.sql(f"SELECT version FROM table_history('{delta}')").cache()
        assert spark.table(f"h_{delta}").count() == cached.count() == 6
        spark.sql(f"INSERT INTO {delta} VALUES (9, 'c')")
        assert spark.table(f"h_{delta}").count() == 7
        assert spark.sql(f"SELECT version FROM table_history('{delta}')").count() == 7
        assert spark.sql(f"SELECT numFiles FROM table_detail('{delta}')").first().numFiles == 6
        assert spark.sql(f"SELECT * FROM table_files('{delta}')").count() == 6
        cached.unpersist()
    finally:
        spark.sql(f"DROP VIEW h_{delta}")


@pytest.mark.smoke
def test_a_query_reads_the_commits_that_it_needs(spark, delta, table_path):
    third = spark.sql(f"SELECT CAST(timestamp AS STRING) t FROM table_history('{delta}') WHERE version = 3").first().t
    spark.sql(f"INSERT INTO {delta} VALUES (9, 'c')")
    bayou.open(table_path).checkpoint()
    break_commits(table_path, 0, 1, 2)
    call = f"table_history('{delta}')"
    assert versions(spark.sql(f"SELECT version, operation FROM {call} WHERE version BETWEEN 3 AND 4")) == [4, 3]
    assert versions(spark.sql(f"SELECT version, operation FROM {call} WHERE version IN (4, 6) OR version = 3")) == [6, 4, 3]
    assert versions(spark.sql(f"SELECT version, operation FROM {call} WHERE timestamp >= '{third}' AND operation = 'WRITE'")) == [
        6,
        5,
        4,
        3,
    ]
    assert versions(spark.sql(f"SELECT version, operation FROM {call} LIMIT 2")) == [6, 5]
    assert versions(spark.sql(f"SELECT version, operation FROM {call} ORDER BY version DESC LIMIT 3")) == [6, 5, 4]
    assert versions(spark.sql(f"SELECT version, operation FROM table_history('{delta}', 4) WHERE version < 5")) == [4, 3]
    assert versions(spark.sql(f"SELECT version FROM {call} ORDER BY version")) == [0, 1, 2, 3, 4, 5, 6]
    assert spark.sql(f"SELECT min(timestamp) FROM {call}").first()[0] is not None
    for needs in (f"{call} WHERE version < 3", f"{call} ORDER BY version LIMIT 1", f"(SELECT * FROM {call} LIMIT 5)"):
        with pytest.raises(DeltaError, match="JSON"):
            spark.sql(f"SELECT version, operation FROM {needs}").collect()


def test_the_oldest_commits_are_those_of_an_ascending_order(spark, delta, table_path):
    break_commits(table_path, 4, 5)
    found = spark.sql(f"SELECT version, operation FROM table_history('{delta}') ORDER BY version LIMIT 3")
    assert [(row.version, row.operation) for row in found.collect()] == [(0, "CREATE TABLE"), (1, "WRITE"), (2, "WRITE")]


def test_limits_and_filters_give_the_rows_that_they_give_of_all(spark, delta):
    spark.sql(f"CREATE TABLE copy_{delta} USING parquet AS SELECT * FROM table_history('{delta}')")
    try:
        for rest in (
            "WHERE version > 2 AND version < 5",
            "WHERE NOT version > 2 OR operation = 'CREATE TABLE'",
            "WHERE version <=> 3 OR version IS NULL",
            "WHERE version IN (1, 9)",
            "WHERE version > 2.5",
            "WHERE version = (SELECT 2)",
            "WHERE version IN (SELECT id FROM {table})",
            "WHERE timestamp < current_timestamp() AND version % 2 = 0",
            "WHERE timestamp > current_timestamp()",
            "WHERE false",
        ):
            text = rest.format(table=delta)
            found = spark.sql(f"SELECT * FROM table_history('{delta}') {text}").collect()
            wanted = spark.sql(f"SELECT * FROM copy_{delta} {text} ORDER BY version DESC").collect()
            assert sorted(found, key=lambda row: -row.version) == wanted, text
        for rest in ("ORDER BY version DESC LIMIT 2", "ORDER BY version LIMIT 2 OFFSET 1", "ORDER BY operation, version LIMIT 2"):
            found = spark.sql(f"SELECT version FROM table_history('{delta}') {rest}").collect()
            assert found == spark.sql(f"SELECT version FROM copy_{delta} {rest}").collect(), rest
    finally:
        spark.sql(f"DROP TABLE copy_{delta}")


def test_a_row_may_be_used_wherever_a_table_may(spark, delta):
    call = f"table_history('{delta}')"
    assert spark.sql(f"SELECT a.version FROM {call} a JOIN {call} b ON a.version = b.version + 1").count() == 5
    assert spark.sql(f"SELECT * FROM {delta} WHERE id IN (SELECT version FROM {call} WHERE version < 2)").count() == 2
    assert spark.sql(f"SELECT * FROM {delta} WHERE id = (SELECT max(version) - 1 FROM {call})").count() == 1
    assert spark.sql(f"SELECT operation, count(*) n FROM {call} GROUP BY operation ORDER BY n").collect()[1].n == 5
    assert spark.newSession().sql(f"SELECT * FROM {call}").count() == 6
    assert "LocalTableScan" in plan_of(spark.sql(f"SELECT version FROM {call}"))


def test_detail_tells_of_other_tables_and_history_and_files_do_not(spark, name, tmp_path):
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING parquet")
    spark.sql(f"CREATE TEMPORARY VIEW v_{name} AS SELECT 1 id")
    folder = tmp_path / "folder"
    folder.mkdir()
    try:
        assert spark.sql(f"SELECT format FROM table_detail('{name}')").first().format == "parquet"
        assert spark.sql(f"SELECT location FROM table_detail('{folder}')").first().location == str(folder)
        for call, error_class in (
            (f"table_history('{name}')", "DELTA_ONLY_OPERATION"),
            (f"table_files('{name}')", "DELTA_TABLE_ONLY_OPERATION"),
            (f"table_history('{folder}')", "DELTA_TABLE_ONLY_OPERATION"),
            (f"table_files('{folder}')", "DELTA_TABLE_ONLY_OPERATION"),
            (f"table_detail('{folder}/nothing')", "DELTA_FILE_NOT_FOUND"),
            (f"table_history('v_{name}')", "EXPECT_TABLE_NOT_VIEW"),
            (f"table_detail('v_{name}')", "EXPECT_TABLE_NOT_VIEW"),
            (f"table_files('no_{name}')", "TABLE_OR_VIEW_NOT_FOUND"),
            (f"table_history('{name}', rand())", "NON_FOLDABLE_ARGUMENT"),
            (f"table_history('{name}', 'x')", "DELTA_UNSUPPORTED_EXPRESSION"),
            ("table_history()", "INCORRECT_NUMBER_OF_ARGUMENTS"),
        ):
            with pytest.raises(DeltaError) as caught:
                spark.sql(f"SELECT * FROM {call}")
            assert str(caught.value.error_class).startswith(error_class), call
    finally:
        spark.sql(f"DROP VIEW v_{name}")
