# SPDX-License-Identifier: Apache-2.0
"""Every way to a table gives the same rows, the same columns, and the version that was asked for."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException
from tests.spark.counting import jobs
from tests.spark.tables import ids, numbers, numbers_table, without_rows

import bayou
from bayou.errors import InvalidOptionError
from bayou.protocol import file_names
from bayou.testing.table_builder import TableBuilder, remove

HISTORY = {
    "version": "bigint",
    "timestamp": "timestamp",
    "userId": "string",
    "userName": "string",
    "operation": "string",
    "operationParameters": "map<string,string>",
    "job": "struct<jobId:string,jobName:string,jobRunId:string,runId:string,jobOwnerId:string,triggerType:string>",
    "notebook": "struct<notebookId:string>",
    "clusterId": "string",
    "readVersion": "bigint",
    "isolationLevel": "string",
    "isBlindAppend": "boolean",
    "operationMetrics": "map<string,string>",
    "userMetadata": "string",
    "engineInfo": "string",
}
DETAIL = {
    "format": "string",
    "id": "string",
    "name": "string",
    "description": "string",
    "location": "string",
    "createdAt": "timestamp",
    "lastModified": "timestamp",
    "partitionColumns": "array<string>",
    "clusteringColumns": "array<string>",
    "numFiles": "bigint",
    "sizeInBytes": "bigint",
    "properties": "map<string,string>",
    "minReaderVersion": "int",
    "minWriterVersion": "int",
    "tableFeatures": "array<string>",
}


def three_versions(path):
    """Version 0 is empty, 1 holds 1 and 2, 2 also 3, 3 has lost 1 to a deletion vector."""
    builder = numbers_table(path, [1, 2]).commit(numbers(path, "more.parquet", [3]))
    return builder.commit(remove("0.parquet"), numbers(path, "0.parquet", [1, 2], **without_rows([0])))


def commit_at(path, version, moment):
    file = Path(path, file_names.commit_path(version))
    os.utime(file, (moment.timestamp(), moment.timestamp()))


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


TRAVEL = {
    "bayou.read": lambda spark, path, v: bayou.read(spark, path, version=v),
    "versionAsOf": lambda spark, path, v: spark.read.format("delta").option("versionAsOf", v).load(path),
    "versionAsOf as text": lambda spark, path, v: spark.read.format("delta").option("versionasof", str(v)).load(path),
    "path@v": lambda spark, path, v: spark.read.format("delta").load(f"{path}@v{v}"),
    "sql path@v": lambda spark, path, v: spark.sql(f"select * from delta.`{path}@v{v}`"),
}


@pytest.mark.smoke
@pytest.mark.parametrize("way", TRAVEL)
def test_every_way_travels_to_a_version(spark, table_path, way):
    three_versions(table_path)
    seen = [ids(TRAVEL[way](spark, table_path, version)) for version in range(4)]
    assert seen == [[], [1, 2], [1, 2, 3], [2, 3]]


def moment(text):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc)


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2026-01-02", [1, 2]),
        ("2026-01-02 23:59:59", [1, 2]),
        ("2026-01-03T00:00:00", [1, 2, 3]),
        (moment("2026-01-02"), [1, 2]),
        (dt.date(2026, 1, 3), [1, 2, 3]),
    ],
    ids=str,
)
def test_a_timestamp_means_the_version_of_its_time(spark, table_path, timestamp, expected):
    three_versions(table_path)
    for version in range(4):
        commit_at(table_path, version, moment(f"2026-01-{version + 1:02}"))
    assert ids(bayou.read(spark, table_path, timestamp=timestamp)) == expected
    if isinstance(timestamp, str):
        assert ids(spark.read.format("delta").option("timestampAsOf", timestamp).load(table_path)) == expected


def test_a_timestamp_is_read_in_the_sessions_zone(spark, table_path):
    three_versions(table_path)
    for version in range(4):
        commit_at(table_path, version, moment(f"2026-01-{version + 1:02}"))
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    frame = session.read.format("delta").option("timestampAsOf", "2026-01-02 20:00:00").load(table_path)
    assert ids(frame) == [1, 2, 3]


def test_a_path_with_a_timestamp_travels(spark, table_path):
    three_versions(table_path)
    for version in range(4):
        commit_at(table_path, version, moment(f"2026-01-{version + 1:02}"))
    assert ids(spark.read.format("delta").load(f"{table_path}@20260103000000000")) == [1, 2, 3]


def test_a_table_whose_name_looks_like_a_version_is_itself(spark, tmp_path):
    path = str(tmp_path / "table@v0")
    numbers_table(path, [5])
    assert ids(spark.read.format("delta").load(path)) == [5]


@pytest.mark.smoke
def test_history_has_delta_sparks_columns_and_runs_no_job(spark, table_path):
    three_versions(table_path)
    frame = bayou.DeltaTable.forPath(spark, table_path).history()
    with jobs(spark) as ran:
        rows = frame.collect()
    assert dict(frame.dtypes) == HISTORY
    assert frame.columns == list(HISTORY)
    assert [row.version for row in rows] == [3, 2, 1, 0]
    assert ran.value == 0
    assert [row.version for row in bayou.DeltaTable.forPath(spark, table_path).history(2).collect()] == [3, 2]


def test_history_shows_what_the_commits_say_of_themselves(spark, table_path):
    info = {
        "operation": "MERGE",
        "operationParameters": {"predicate": "[]", "matched": 3},
        "readVersion": 0,
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {"numFiles": "2"},
        "userMetadata": "note",
        "engineInfo": "test",
        "userName": "somebody",
        "job": {"jobId": "7", "jobName": "nightly"},
        "notebook": {"notebookId": "n"},
    }
    TableBuilder(table_path).create().commit(info=info)
    row = bayou.DeltaTable.forPath(spark, table_path).history(1).first()
    assert row.operationParameters == {"predicate": "[]", "matched": "3"}
    assert row.operationMetrics == {"numFiles": "2"}
    assert (row.readVersion, row.isBlindAppend, row.userMetadata, row.engineInfo) == (0, False, "note", "test")
    assert (row.userName, row.job.jobId, row.job.jobName, row.job.runId, row.notebook.notebookId) == (
        "somebody",
        "7",
        "nightly",
        None,
        "n",
    )


@pytest.mark.smoke
def test_detail_has_delta_sparks_columns_and_runs_no_job(spark, table_path):
    builder = TableBuilder(table_path).create(
        {"id": "long", "day": "date"}, partition_by=["day"], configuration={"delta.appendOnly": "false", "mine": "yes"}
    )
    builder.commit(numbers(table_path, "a.parquet", [1], partitionValues={"day": "2026-01-01"}))
    frame = bayou.DeltaTable.forPath(spark, table_path).detail()
    with jobs(spark) as ran:
        row = frame.first()
    assert dict(frame.dtypes) == DETAIL
    assert frame.columns == list(DETAIL)
    assert ran.value == 0
    assert (row.format, row.partitionColumns, row.clusteringColumns, row.numFiles) == ("delta", ["day"], [], 1)
    assert row.sizeInBytes == Path(table_path, "a.parquet").stat().st_size
    assert row.properties == {"delta.appendOnly": "false", "mine": "yes"}
    assert (row.minReaderVersion, row.minWriterVersion, row.tableFeatures) == (1, 2, ["appendOnly", "invariants"])
    assert row.location == f"file:{table_path}"


def test_times_in_history_are_instants_in_any_session_zone(spark, table_path):
    numbers_table(table_path, [1])
    commit_at(table_path, 0, moment("2026-03-04"))
    commit_at(table_path, 1, moment("2026-03-04T05:06:07"))
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    row = bayou.DeltaTable.forPath(session, table_path).history(1).selectExpr("unix_millis(timestamp) ms").first()
    assert row.ms == int(moment("2026-03-04T05:06:07").timestamp() * 1000)


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


def test_no_commits_of_the_history_are_a_frame_without_rows(spark, table_path):
    bayou.write(spark.range(1), table_path)
    found = bayou.DeltaTable.forPath(spark, table_path).history(0)
    assert (found.count(), found.columns[0]) == (0, "version")
