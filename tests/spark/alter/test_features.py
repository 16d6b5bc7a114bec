# SPDX-License-Identifier: Apache-2.0
"""A table's protocol rises and never falls, but for features that are dropped with their traces."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.support.tables.altered import append, last, parameter, refused, rows, state, unchanged
from tests.support.tables.built import file_of, without_rows

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidOptionError, UnsupportedFeatureError
from bayou.protocol.actions.actions import DomainMetadata, Protocol
from bayou.spark.read.session_table import SessionTable
from bayou.testing.table_builder import TableBuilder


@pytest.mark.smoke
def test_the_protocol_rises_and_never_falls(table):
    table.upgradeTableProtocol(1, 3)
    assert state(table).protocol == Protocol(1, 3)
    assert last(table)[0] == "SET TBLPROPERTIES"
    assert parameter(table, "properties") == {"delta.minReaderVersion": "1", "delta.minWriterVersion": "3"}
    unchanged(table, lambda: table.upgradeTableProtocol(1, 2))
    unchanged(table, lambda: table.upgradeTableProtocol(3, 7))
    needs_writers = "DELTA_READ_FEATURE_PROTOCOL_REQUIRES_WRITE"
    refused(table, lambda: table.setProperties({"delta.minReaderVersion": "3"}), InvalidOptionError, needs_writers)
    table.addFeatureSupport("rowtracking")
    assert {"rowTracking", "domainMetadata"} <= set(state(table).protocol.writer_features)
    assert last(table)[0] == "SET TBLPROPERTIES"
    unchanged(table, lambda: table.addFeatureSupport("rowTracking"))
    refused(table, lambda: table.upgradeTableProtocol(4, 7), InvalidOptionError)
    refused(table, lambda: table.upgradeTableProtocol(3, 5), InvalidOptionError, needs_writers)
    with pytest.raises(ValueError, match="The readerVersion needs to be an integer but got"):
        table.upgradeTableProtocol("1", 2)
    with pytest.raises(ValueError, match="featureName needs to be a string but got"):
        table.addFeatureSupport(5)
    with pytest.raises(ValueError, match="featureName needs to be a string but got"):
        table.dropFeatureSupport(5)
    with pytest.raises(ValueError, match="truncateHistory needs to be a boolean but got"):
        table.dropFeatureSupport("rowTracking", "yes")
    unknown = "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG"
    refused(table, lambda: table.addFeatureSupport("nothing"), UnsupportedFeatureError, unknown)
    refused(table, lambda: table.addFeatureSupport("icebergCompatV1"), UnsupportedFeatureError)
    assert len(rows(table)) == 3


@pytest.mark.smoke
def test_features_of_writers_are_dropped_in_one_commit(table):
    table.addConstraint("c", "id >= 0")
    left = "DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE"
    refused(table, lambda: table.dropFeatureSupport("checkConstraints"), InvalidOptionError, left)
    table.dropConstraint("c")
    version = state(table).version
    table.dropFeatureSupport("CHECKCONSTRAINTS")
    assert state(table).protocol == Protocol(1, 2)
    assert state(table).version == version + 1
    assert last(table) == ("DROP FEATURE", {"featureName": "checkConstraints", "truncateHistory": "false"})
    absent = "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"
    refused(table, lambda: table.dropFeatureSupport("checkConstraints"), InvalidOptionError, absent)
    assert len(rows(table)) == 3


def test_domains_and_timestamps_go_with_their_feature(spark, table):
    table.addFeatureSupport("domainMetadata")
    with bayou.open(table._path).transaction("Manual Update") as transaction:
        transaction.commit([DomainMetadata("mine", "{}")])
    table.setProperties({"delta.enableInCommitTimestamps": "true"})
    append(spark.sql("select 5 id"), table)
    table.dropFeatureSupport("domainMetadata")
    assert not state(table).domain_metadata
    table.dropFeatureSupport("inCommitTimestamp")
    found = state(table)
    assert found.protocol == Protocol(1, 2)
    assert found.properties == {"delta.enableInCommitTimestamps": "false"}
    append(spark.sql("select 6 id"), table)
    assert table.toDF().count() == 5


@pytest.mark.smoke
def test_features_of_readers_leave_checkpoints_that_old_versions_are_read_by(spark, table):
    table.setProperties({"delta.checkpointPolicy": "v2", "delta.enableTypeWidening": "true"})
    bayou.open(table._path).checkpoint()
    before = state(table).version
    table.dropFeatureSupport("v2Checkpoint")
    found = state(table)
    assert "v2Checkpoint" not in found.protocol.reader_features
    assert "checkpointProtection" in found.protocol.writer_features
    assert found.properties["delta.checkpointPolicy"] == "classic"
    assert found.properties["delta.requireCheckpointProtectionBeforeVersion"] == str(found.version)
    operations = [row.operation for row in table.history(5).collect()]
    assert operations == ["DROP FEATURE", "Empty Commit", "Empty Commit", "Empty Commit", "SET TBLPROPERTIES"]
    assert found.version == before + 5
    table.dropFeatureSupport("typeWidening")
    assert state(table).protocol.reader_features is None
    assert len(rows(table)) == 3
    assert bayou.read(spark, table._path, version=before).count() == 3


def test_deletion_vectors_are_dropped_with_the_files_that_have_some(spark, table, tmp_path):
    table.setProperties({"delta.enableDeletionVectors": "true"})
    table.dropFeatureSupport("deletionVectors")
    assert state(table).protocol.reader_features is None
    assert "delta.enableDeletionVectors" not in state(table).properties
    assert len(rows(table)) == 3
    path = str(tmp_path / "marked")
    has_vectors = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    stats = {"numRecords": 3, "tightBounds": False}
    TableBuilder(path).create(protocol=has_vectors).commit(
        file_of(path, "a.parquet", {"id": pa.array([1, 2, 3], pa.int64())}, stats=stats, **without_rows([1]))
    )
    marked = DeltaTable.forPath(spark, path)
    marked.dropFeatureSupport("deletionVectors")
    assert state(marked).protocol.reader_features is None
    assert sorted(row.id for row in marked.toDF().collect()) == [1, 3]


def test_a_feature_is_dropped_on_top_of_what_came_in_between(spark, table, monkeypatch):
    table.addFeatureSupport("vacuumProtocolCheck")
    original = SessionTable.begin
    came = []

    def late(self, snapshot, operation, *arguments, **options):
        transaction = original(self, snapshot, operation, *arguments, **options)
        if operation == "DROP FEATURE" and not came:
            came.append(operation)
            append(spark.sql("select 9 id"), table)
        return transaction

    monkeypatch.setattr(SessionTable, "begin", late)
    table.dropFeatureSupport("vacuumProtocolCheck")
    found = state(table)
    assert found.protocol.reader_features is None
    assert found.properties["delta.requireCheckpointProtectionBeforeVersion"] == str(found.version)
    assert [row.operation for row in table.history(3).collect()] == ["DROP FEATURE", "WRITE", "Empty Commit"]
    assert table.toDF().count() == 4


def test_features_that_no_table_can_lose_or_that_others_need_are_not_dropped(mapped):
    nonremovable = "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"
    refused(mapped, lambda: mapped.dropFeatureSupport("appendOnly"), UnsupportedFeatureError, nonremovable)
    property_name = "DELTA_FEATURE_DROP_FEATURE_IS_DELTA_PROPERTY"
    refused(mapped, lambda: mapped.dropFeatureSupport("delta.enableTypeWidening"), InvalidOptionError, property_name)
    mapped.addFeatureSupport("rowTracking")
    needed = "DELTA_FEATURE_DROP_DEPENDENT_FEATURE"
    refused(mapped, lambda: mapped.dropFeatureSupport("domainMetadata"), UnsupportedFeatureError, needed)
