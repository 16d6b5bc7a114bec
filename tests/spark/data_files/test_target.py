# SPDX-License-Identifier: Apache-2.0
"""What a table can take: schemas, partition columns and features; the rest is refused before a file is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, UnsupportedOperationException
from tests.support.operations.writes import data_files
from tests.support.tables.built import ids

import bayou
from bayou.errors import AppendOnlyError, InvalidSchemaError, SchemaMismatchError, UnsupportedFeatureError
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import TableBuilder


def test_columns_match_by_name_in_any_case_and_order(spark, table_path, write):
    write(spark.sql("select 1L as Id, 'a' as Name"), table_path, "error")
    write(spark.sql("select 'b' as NAME, 2L as iD"), table_path, "append")
    write(spark.sql("select 3L as id"), table_path, "append")
    frame = bayou.read(spark, table_path)
    assert frame.columns == ["Id", "Name"]
    assert sorted(frame.collect(), key=str) == [(1, "a"), (2, "b"), (3, None)]


@pytest.mark.smoke
def test_rows_of_another_schema_are_refused_with_the_columns_named(spark, table_path, write):
    write(spark.sql("select 1L as id, 'a' as name"), table_path, "error")
    before = data_files(table_path)
    with pytest.raises(SchemaMismatchError) as caught:
        write(spark.sql("select 'x' as id, 'a' as name, 1 as extra"), table_path, "append")
    assert isinstance(caught.value, AnalysisException)
    assert caught.value.getErrorClass() == "DELTA_FAILED_TO_MERGE_FIELDS"
    assert "'extra'" in str(caught.value)
    assert "id" in str(caught.value)
    for mode in ("append", "overwrite"):
        with pytest.raises(SchemaMismatchError):
            write(spark.sql("select 1L as id, struct(1) as name"), table_path, mode)
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 0


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("select 1 as `a b`", "a b"),
        ("select 1 as a, 2 as A", "more than once: a"),
        ("select struct(1 as `x;y`) as s", "x;y"),
        ("select interval 1 day as i", "interval"),
    ],
)
def test_a_schema_that_no_table_can_have_is_refused(spark, table_path, query, error):
    with pytest.raises(InvalidSchemaError, match=error):
        bayou.write(spark.sql(query), table_path)
    assert not Path(table_path).exists() or data_files(table_path) == []


@pytest.mark.parametrize("columns", [["nothing"], ["id", "ID"], ["id", "p"], ["s"]])
def test_partition_columns_that_cannot_be_are_refused(spark, table_path, columns):
    rows = spark.sql("select 1L as id, 2 as p, struct(1) as s") if columns != ["id", "p"] else spark.sql("select 1L as id, 2 as p")
    with pytest.raises(InvalidSchemaError):
        bayou.write(rows, table_path, partition_by=columns)


def test_other_partition_columns_than_the_tables_are_refused(spark, table_path):
    rows = spark.sql("select 1L as id, 2 as p")
    rows.write.format("delta").partitionBy("p").save(table_path)
    with pytest.raises(SchemaMismatchError, match="Partition columns do not match"):
        rows.write.format("delta").partitionBy("id").mode("append").save(table_path)
    rows.write.format("delta").partitionBy("P").mode("append").save(table_path)
    rows.write.format("delta").mode("append").save(table_path)
    with pytest.raises(SchemaMismatchError, match="'p'"):
        bayou.write(spark.sql("select 1L as id"), table_path, mode="append")
    assert bayou.open(table_path).version() == 2


def feature(name, **configuration):
    return {"protocol": Protocol(1, 7, None, (name,)), "configuration": configuration}


REFUSED = {
    "a newer writer version": ("9", {"protocol": Protocol(1, 9)}),
    "an unknown writer feature": ("fromTheFuture", feature("fromTheFuture")),
    "an unknown reader feature": ("alsoNew", {"protocol": Protocol(3, 7, ("alsoNew",), ("alsoNew",))}),
    "UniForm": ("universalFormat", {"configuration": {"delta.universalFormat.enabledFormats": "iceberg"}}),
    "IcebergCompatV2": ("cebergCompatV2", {"configuration": {"delta.enableIcebergCompatV2": "true"}}),
}


@pytest.mark.smoke
@pytest.mark.parametrize("rule", REFUSED)
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_table_with_a_rule_that_is_not_enforced_is_refused_by_name(spark, table_path, rule, mode):
    name, table = REFUSED[rule]
    TableBuilder(table_path).create(**table)
    with pytest.raises(UnsupportedFeatureError, match=name) as caught:
        spark.range(3).write.format("delta").mode(mode).save(table_path)
    assert isinstance(caught.value, UnsupportedOperationException)
    assert data_files(table_path) == []
    assert bayou.open(table_path).version() == 0


def test_a_new_table_that_asks_for_such_a_rule_is_refused(spark, table_path):
    with pytest.raises(UnsupportedFeatureError, match="cebergCompatV2"):
        bayou.write(spark.range(3), table_path, **{"delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name"})
    assert not Path(table_path).exists() or data_files(table_path) == []


WRITABLE = {
    "deletion vectors": {"protocol": Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))},
    "vacuum protocol check": {"protocol": Protocol(3, 7, ("vacuumProtocolCheck",), ("vacuumProtocolCheck",))},
    "v2 checkpoints": {"protocol": Protocol(3, 7, ("v2Checkpoint",), ("v2Checkpoint",))},
    "features that are off": {"protocol": Protocol(1, 7, None, ("appendOnly", "invariants", "changeDataFeed", "domainMetadata"))},
    "append only, off": {"configuration": {"delta.appendOnly": "false"}},
}


@pytest.mark.parametrize("table", WRITABLE)
def test_a_table_whose_features_ask_nothing_of_an_append_is_written(spark, table_path, table):
    TableBuilder(table_path).create(**WRITABLE[table])
    bayou.write(spark.range(3), table_path, mode="append")
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("key", "value", "feature", "reader"),
    [
        ("delta.enableDeletionVectors", "true", "deletionVectors", 3),
        ("delta.enableInCommitTimestamps", "true", "inCommitTimestamp", 1),
        ("delta.checkpointPolicy", "v2", "v2Checkpoint", 3),
    ],
)
def test_a_property_of_a_new_table_brings_the_feature_that_it_needs(spark, table_path, key, value, feature, reader):
    bayou.write(spark.range(3), table_path, **{key: value})
    bayou.write(spark.range(3, 6), table_path, mode="append")
    snapshot = bayou.open(table_path).snapshot()
    assert feature in snapshot.protocol.writer_features
    assert snapshot.protocol.min_reader_version == reader
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2, 3, 4, 5]


def test_a_table_that_only_takes_appends_is_appended_to_and_not_overwritten(spark, table_path, write):
    write(spark.range(3), table_path, "error", **{"delta.appendOnly": "true"})
    write(spark.range(3, 6), table_path, "append")
    before = data_files(table_path)
    with pytest.raises(AppendOnlyError) as caught:
        write(spark.range(3), table_path, "overwrite")
    assert caught.value.getErrorClass() == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    assert data_files(table_path) == before
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2, 3, 4, 5]
