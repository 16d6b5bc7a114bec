# SPDX-License-Identifier: Apache-2.0
"""Columns that are called like those that are put beside the table's: no table gets them, and none of others loses rows by them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.spark.changes import parquet_files

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidSchemaError, UnsupportedFeatureError
from bayou.protocol.file_names import commit_path
from bayou.spark.application import Application
from bayou.spark.jvm.session import java_session
from bayou.spark.scan import Scan

MAPPED = {"delta.columnMapping.mode": "name", "delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}
FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def session(spark):
    return bayou.enable(spark.newSession())


def renamed(session, path, column, **properties):
    """A table with a column `kind` that the files have under another name."""
    bayou.write(session.sql(f"select id, 'a' `{column}` from range(0, 3, 1, 1)"), path, **properties)
    table = DeltaTable.forPath(session, path)
    table.setProperties(MAPPED)
    table.renameColumn(column, "kind")
    return table


def set_by_others(path, **configuration):
    """Properties that another writer gave to the table."""
    log = bayou.open(path)
    snapshot = log.snapshot()
    metadata = replace(snapshot.metadata, configuration={**snapshot.metadata.configuration, **configuration})
    (Path(path) / commit_path(snapshot.version + 1)).write_text(json.dumps({"metaData": metadata.to_json()}) + "\n")


def test_no_feed_begins_where_the_files_have_a_column_of_its_names(session, table_path):
    table = renamed(session, table_path, "_change_type")
    with pytest.raises(InvalidSchemaError, match="kind, which is _change_type in the files") as caught:
        session.sql(f"alter table delta.`{table_path}` set tblproperties('delta.enableChangeDataFeed' = 'true')")
    assert caught.value.error_class == "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"
    assert "renaming it leaves its name in the files" in str(caught.value)
    table.addColumns("sort string")
    table.update(set={"sort": "kind"})
    table.dropColumns("kind")
    table.setProperties(FEED)
    since = bayou.open(table_path).version()
    table.update("id = 1", {"sort": "'z'"})
    changes = bayou.read(session, table_path, changes=(since, None)).select("id", "sort", "_change_type").collect()
    assert sorted(map(tuple, changes)) == [(1, "a", "update_preimage"), (1, "z", "update_postimage")]


@pytest.mark.parametrize(
    "change",
    [
        "insert into {t} values (7, 'b')",
        "update {t} set kind = 'z' where id = 1",
        "delete from {t} where id = 1",
        "delete from {t}",
        "merge into {t} using (select 1L id) s on {t}.id = s.id when matched then delete",
    ],
    ids=lambda text: text.split()[0],
)
def test_rows_of_a_table_whose_feed_nobody_could_read_stay_as_they_are(session, table_path, change):
    renamed(session, table_path, "_change_type")
    set_by_others(table_path, **FEED)
    files, version = parquet_files(table_path), bayou.open(table_path).version()
    with pytest.raises(InvalidSchemaError) as caught:
        session.sql(change.format(t=f"delta.`{table_path}`"))
    assert (caught.value.error_class, caught.value.columns) == ("RESERVED_CDC_COLUMNS_ON_WRITE", ("kind",))
    assert (parquet_files(table_path), bayou.open(table_path).version()) == (files, version)
    DeltaTable.forPath(session, table_path).setProperties({"delta.enableChangeDataFeed": "false"})
    session.sql(change.format(t=f"delta.`{table_path}`"))


@pytest.mark.parametrize("column", ["_commit_version", "_commit_timestamp"])
def test_changes_whose_values_would_be_those_of_the_feed_are_not_read(session, table_path, column):
    renamed(session, table_path, column)
    set_by_others(table_path, **FEED)
    with pytest.raises(InvalidSchemaError) as caught:
        bayou.read(session, table_path, changes=(bayou.open(table_path).version(), None))
    assert caught.value.error_class == "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"


def test_a_table_that_is_replaced_by_one_with_a_feed_takes_no_name_of_the_feed_over(session, table_path):
    renamed(session, table_path, "_change_type")
    files = parquet_files(table_path)
    with pytest.raises(InvalidSchemaError, match="kind, which is _change_type in the files"):
        session.sql(
            f"create or replace table delta.`{table_path}` using delta tblproperties('delta.enableChangeDataFeed' = 'true', "
            "'delta.columnMapping.mode' = 'name') as select id, 'b' kind from range(2)"
        )
    assert parquet_files(table_path) == files


@pytest.mark.parametrize("column", ["_commit_version", "_COMMIT_VERSION"])
@pytest.mark.parametrize("partitions", [[], ["kind"]], ids=["in the files", "in the log"])
def test_no_scan_takes_a_constant_for_the_values_of_a_column(session, table_path, column, partitions):
    bayou.write(session.sql(f"select id, 'a' `{column}` from range(3)"), table_path, partition_by=[column] if partitions else [])
    table = DeltaTable.forPath(session, table_path)
    table.setProperties(MAPPED)
    table.renameColumn(column, "kind")
    snapshot, application = bayou.open(table_path).snapshot(), Application.of(session)
    fields, constants = snapshot.schema.fields, {"_commit_version": pa.array([7] * snapshot.num_files, pa.int64())}
    scan = Scan(application, java_session(session), snapshot, fields, hidden=constants)
    with pytest.raises(UnsupportedFeatureError, match="'kind' cannot be read") as caught:
        scan.planned()
    assert (caught.value.error_class, caught.value.table) == ("DELTA_OPERATION_NOT_ALLOWED", snapshot.table_uri)
    if not partitions:
        assert replace(scan, fields=fields[:1]).planned().columns == ["id"]
