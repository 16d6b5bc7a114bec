# SPDX-License-Identifier: Apache-2.0
"""Columns that are called like those that are put beside the table's: no table gets them, and none of others loses rows by them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.observing import parquet_files

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidSchemaError, UnsupportedFeatureError
from bayou.protocol.actions.file_names import commit_path
from bayou.spark.jvm.core.session import java_session
from bayou.spark.native.scan.scan import Scan
from bayou.spark.session.application import Application

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
    assert "drop an existing one and add it again under another name" in str(caught.value)
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


HIDDEN = (
    "__bayou_dv",
    "__bayou_is_change",
    "__bayou_image",
    "__bayou_row_action",
    "__bayou_file",
    "__BAYOU_Metadata",
    "__bayou_row_id",
)
VECTORS = {"delta.enableDeletionVectors": "true"}
WRITES = {
    "create": ({}, "create table {t} (id bigint, `{c}` string) using delta"),
    "create with rows": ({}, "create or replace table {t} using delta as select id, 'a' `{c}` from range(2)"),
    "add": ({}, "alter table {t} add columns (`{c}` string)"),
    "rename": (MAPPED, "alter table {t} rename column kind to `{c}`"),
    "evolve by a MERGE": (
        {},
        "merge with schema evolution into {t} using (select 9L id, 'a' `{c}`) s on {t}.id = s.id when not matched then insert *",
    ),
}


@pytest.mark.parametrize("way", WRITES)
def test_no_column_gets_a_name_of_bayous_own(session, table_path, way):
    properties, statement = WRITES[way]
    if "MERGE" in way and session.version < "4":
        pytest.skip("Spark has WITH SCHEMA EVOLUTION from 4.0 on")
    if way != "create":
        bayou.write(session.sql("select id, 'a' kind from range(3)"), table_path, **properties)
    files = parquet_files(table_path)
    with pytest.raises(InvalidSchemaError) as caught:
        session.sql(statement.format(t=f"delta.`{table_path}`", c="__bayou_dv"))
    assert caught.value.error_class == "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED"
    assert parquet_files(table_path) == files


@pytest.mark.parametrize(
    "options", [{}, {"mode": "append", "mergeSchema": "true"}, {"mode": "overwrite", "overwriteSchema": "true"}]
)
def test_no_write_brings_a_column_of_bayous_own_names(session, table_path, options):
    if options:
        bayou.write(session.range(3), table_path)
    with pytest.raises(InvalidSchemaError) as caught:
        bayou.write(session.sql("select id, 'a' `__Bayou_fate` from range(3)"), table_path, **options)
    assert caught.value.error_class == "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED"


def made_by_others(session, path, column, **properties):
    """A table with a column that no table of bayou's gets, of which another writer has deleted a row."""
    bayou.write(session.sql("select id, 'a' other from range(0, 3, 1, 1)"), path, **MAPPED, **properties)
    DeltaTable.forPath(session, path).delete("id = 2")
    log = bayou.open(path)
    snapshot = log.snapshot()
    schema = snapshot.metadata.schema_string.replace('"name":"other"', f'"name":"{column}"')
    document = {"metaData": replace(snapshot.metadata, schema_string=schema).to_json()}
    (Path(path) / commit_path(snapshot.version + 1)).write_text(json.dumps(document) + "\n")


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("column", HIDDEN)
def test_rows_of_a_table_with_a_column_of_bayous_own_names_are_read_and_not_changed(session, table_path, column):
    made_by_others(session, table_path, column, **VECTORS)
    version = bayou.open(table_path).version()
    assert sorted(map(tuple, bayou.read(session, table_path).collect())) == [(0, "a"), (1, "a")]
    table = DeltaTable.forPath(session, table_path)
    for change in (
        lambda: table.update("id = 1", {f"`{column}`": "'z'"}),
        lambda: table.delete("id = 1"),
        lambda: table.merge(session.range(1).alias("s"), "s.id = 0").whenMatchedDelete().execute(),
        lambda: bayou.write(session.sql(f"select 7L id, 'b' `{column}`"), table_path, mode="append"),
        lambda: bayou.write(session.sql("select 7L id"), table_path, mode="append"),
    ):
        with pytest.raises((UnsupportedFeatureError, InvalidSchemaError), match=r"(?i)__bayou"):
            change()
    assert bayou.open(table_path).version() == version
    table.setComment("read by others")
    table.renameColumn(column, "other")
    table.delete("id = 1")
    assert bayou.read(session, table_path).collect() == [(0, "a")]


def test_a_column_that_the_files_call_like_the_vectors_is_refused_where_it_would_be_read_as_one(session, table_path):
    bayou.write(session.sql("select id, 'a' v from range(0, 3, 1, 1)"), table_path, **VECTORS)
    table = DeltaTable.forPath(session, table_path)
    table.delete("id = 2")
    snapshot = bayou.open(table_path).snapshot()
    schema = snapshot.metadata.schema_string.replace('"name":"v"', '"name":"__bayou_dv"')
    document = {"metaData": replace(snapshot.metadata, schema_string=schema).to_json()}
    (Path(table_path) / commit_path(2)).write_text(json.dumps(document) + "\n")
    with pytest.raises(UnsupportedFeatureError, match="'__bayou_dv' cannot be read"):
        bayou.read(session, table_path).collect()


@pytest.mark.parametrize("way", ["statement", "write", "another type later"])
def test_a_table_that_had_a_feed_gets_no_column_that_its_files_hold_as_another_one(session, table_path, way):
    bayou.write(session.sql("select id, 'a' v from range(0, 3, 1, 1)"), table_path, **FEED)
    table = DeltaTable.forPath(session, table_path)
    table.update("id = 1", {"v": "'z'"})
    table.setProperties({"delta.enableChangeDataFeed": "false"})
    if way == "another type later":
        table.addColumns("_change_type void")
    rows = session.sql("select 7L id, 1 _change_type")
    with pytest.raises(InvalidSchemaError) as caught:
        table.addColumns("_change_type int") if way == "statement" else bayou.write(
            rows, table_path, mode="append", mergeSchema="true"
        )
    assert caught.value.error_class == "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED"
    if way == "statement":
        table.addColumns("_change_type string")
    assert sorted(row.v for row in bayou.read(session, table_path).collect()) == ["a", "a", "z"]
