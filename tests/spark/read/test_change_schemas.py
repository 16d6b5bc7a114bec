# SPDX-License-Identifier: Apache-2.0
"""The change data feed of tables with mapped columns, and of tables whose columns changed within the range."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.support.tables.built import file_of, without_rows
from tests.support.tables.feeds import FEED, changed, gone, rows, seen, table

import bayou
from bayou.errors import InvalidOptionError, SchemaChangedError, UnsupportedFeatureError
from bayou.protocol.types.schema import StructField, StructType
from bayou.testing.table_builder import metadata, remove


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_are_found_under_their_physical_names(spark, table_path, mode):
    def column(number, name, kind="long"):
        mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return StructField(name, kind, metadata=mapping)

    inner = StructType((column(4, "x y"),))
    schema = StructType((column(1, "a.b"), column(2, "day", "string"), column(3, "s", inner)))
    mapping = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "4"}
    builder = table(table_path, schema, partition_by=["day"], **mapping)

    def field(name, number, kind):
        return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})

    kind = pa.struct([field("col-4", 4, pa.int64())])
    arrow = pa.schema([field("col-1", 1, pa.int64()), field("col-3", 3, kind)])
    values = pa.table({"col-1": [1, 2], "col-3": [{"col-4": 7}, None]}, schema=arrow)
    where = {"partitionValues": {"col-2": "monday"}}
    first = file_of(table_path, "a.parquet", values, **where)
    second = file_of(table_path, "a.parquet", values, **where, **without_rows([0]))
    builder.commit(first).commit(gone(first), second)
    changes = values.slice(1).append_column("_change_type", pa.array(["delete"]))
    builder.commit(gone(second), changed(table_path, "d.parquet", changes, **where))
    frame = bayou.read(spark, table_path, changes=(1, 3)).drop("_commit_timestamp")
    assert frame.columns == ["a.b", "day", "s", "_change_type", "_commit_version"]
    assert sorted((row[0], row[1], row[2] and row[2]["x y"], row[3], row[4]) for row in frame.collect()) == [
        (1, "monday", 7, "delete", 2),
        (1, "monday", 7, "insert", 1),
        (2, "monday", None, "delete", 3),
        (2, "monday", None, "insert", 1),
    ]
    assert frame.where("s.`x y` = 7").select("s.`x y`", "_commit_version").orderBy("_commit_version").collect() == [(7, 1), (7, 2)]


def test_a_column_that_came_later_is_null_in_older_changes(spark, table_path):
    builder = table(table_path, {"id": "long"}).commit(file_of(table_path, "a.parquet", {"id": [1]}))
    builder.commit(metadata({"id": "long", "more": "string"}, configuration=FEED))
    builder.commit(file_of(table_path, "b.parquet", {"id": [2], "more": ["x"]}))
    assert set(seen(bayou.read(spark, table_path, changes=(1, 3)))) == {(1, None, "insert", 1), (2, "x", "insert", 3)}


def test_files_of_a_narrower_type_are_read_as_the_widened_one(spark, table_path):
    wide = StructType((StructField("id", "long", metadata={"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}),))
    builder = table(table_path, {"id": "integer"})
    old = file_of(table_path, "old.parquet", {"id": pa.array([1, 2], pa.int32())})
    builder.commit(old).commit(metadata(wide, configuration=FEED))
    builder.commit(gone(old), file_of(table_path, "new.parquet", {"id": pa.array([1 << 40], pa.int64())}))
    assert seen(bayou.read(spark, table_path, changes=(2, 3))) == [(1, "delete", 3), (2, "delete", 3), (1 << 40, "insert", 3)]


def test_a_frame_whose_columns_are_gone_says_so(spark, table_path):
    builder = table(table_path).commit(rows(table_path, "a.parquet", [1]))
    frame = bayou.read(spark, table_path, changes=(1, None))
    builder.commit(metadata({"id": "long"}, configuration=FEED), remove("a.parquet", partitionValues={}, size=10))
    with pytest.raises((SchemaChangedError, UnsupportedFeatureError)):
        frame.collect()


def renamed(path):
    """A column is renamed at version 2."""

    def schema(name):
        mapping = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
        return StructType((StructField(name, "long", metadata=mapping),))

    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    builder = table(path, schema("old"), **mapping)
    builder.commit(file_of(path, "a.parquet", {"col-1": [1]}))
    builder.commit(metadata(schema("new"), configuration={**FEED, **mapping}))
    return builder.commit(file_of(path, "b.parquet", {"col-1": [2]}))


def test_a_range_up_to_a_rename_has_the_older_name_and_one_across_it_is_refused(session, table_path):
    renamed(table_path)
    before = bayou.read(session, table_path, changes=(1, 1))
    assert before.columns[0] == "old"
    assert seen(before) == [(1, "insert", 1)]
    assert bayou.read(session, table_path, changes=(2, 3)).columns[0] == "new"
    with pytest.raises(UnsupportedFeatureError) as caught:
        bayou.read(session, table_path, changes=(1, 3))
    assert caught.value.error_class.startswith("DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_")


def test_settings_choose_the_latest_schema_and_let_renames_pass(session, table_path):
    renamed(table_path)
    prefix = "spark.databricks.delta.changeDataFeed"
    session.conf.set(f"{prefix}.unsafeBatchReadOnIncompatibleSchemaChanges.enabled", "true")
    frame = bayou.read(session, table_path, changes=(1, None))
    assert (frame.columns[0], seen(frame)) == ("new", [(1, "insert", 1), (2, "insert", 3)])
    session.conf.set(f"{prefix}.defaultSchemaModeForColumnMappingTable", "latest")
    assert bayou.read(session, table_path, changes=(1, 1)).columns[0] == "new"
    session.conf.set(f"{prefix}.defaultSchemaModeForColumnMappingTable", "newest")
    with pytest.raises(InvalidOptionError, match="endVersion"):
        bayou.read(session, table_path, changes=(1, 1))
