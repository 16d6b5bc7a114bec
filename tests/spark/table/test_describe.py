# SPDX-License-Identifier: Apache-2.0
"""The history and the details of a table have delta-spark's columns and cost no job."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.observing import jobs
from tests.support.tables.built import commit_at, moment, numbers, numbers_table, three_versions

import bayou
from bayou.testing.table_builder import TableBuilder

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


def test_no_commits_of_the_history_are_a_frame_without_rows(spark, table_path):
    bayou.write(spark.range(1), table_path)
    found = bayou.DeltaTable.forPath(spark, table_path).history(0)
    assert (found.count(), found.columns[0]) == (0, "version")
