# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.cases import in_one_test

from bayou.errors import DeltaError, InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError
from bayou.protocol.actions.actions import Metadata, Protocol
from bayou.protocol.evolution.drop_feature import DROPPABLE, PreDowngrade, drop_feature_plan, history_remains, wait_for_retention
from bayou.protocol.features.features import FEATURES
from bayou.protocol.features.protocol_rules import supported_features
from bayou.protocol.types.schema import StructField, StructType, schema_to_json

PLAIN = StructType((StructField("id", "long"),))


def metadata(schema=PLAIN, **configuration):
    return Metadata(
        "x", schema_to_json(schema), configuration={key.replace("__", "."): value for key, value in configuration.items()}
    )


def lists(*names, reader=True):
    return Protocol(3 if reader else 1, 7, tuple(name for name in names if is_read(name)) if reader else None, names)


def is_read(name):
    return name in FEATURES and FEATURES[name].reader_writer


def plan(protocol, name, table_metadata=None, **options):
    return drop_feature_plan(protocol, table_metadata or metadata(), name, table="t", version=9, **options)


def refused(protocol, name, table_metadata=None, **options):
    with pytest.raises(DeltaError) as caught:
        plan(protocol, name, table_metadata, **options)
    assert (caught.value.table, caught.value.version) == ("t", 9)
    return caught.value


def test_a_feature_of_readers_is_dropped_behind_barriers_and_protected_checkpoints():
    found = plan(
        lists("appendOnly", "invariants", "deletionVectors"), "DELETIONVECTORS", metadata(delta__enableDeletionVectors="true")
    )
    assert found.feature == "deletionVectors"
    assert found.unset_first == ("delta.enableDeletionVectors",)
    assert found.actions == (PreDowngrade.PURGE_DELETION_VECTORS,)
    assert (found.barriers, found.protects_checkpoints, found.writes_tombstones) == (3, True, True)
    assert not found.truncates_history
    assert found.protocol == lists("appendOnly", "invariants", "checkpointProtection", reader=False)


def test_with_truncated_history_nothing_stays_behind():
    found = plan(lists("appendOnly", "invariants", "deletionVectors"), "deletionVectors", truncate_history=True)
    assert (found.barriers, found.protects_checkpoints, found.writes_tombstones, found.truncates_history) == (1, False, True, True)
    assert found.protocol == Protocol(1, 2)


def test_a_feature_of_writers_is_dropped_at_once():
    found = plan(lists("domainMetadata", "appendOnly", reader=False), "domainMetadata")
    assert found.actions == (PreDowngrade.REMOVE_DOMAINS,)
    assert (found.barriers, found.protects_checkpoints, found.truncates_history) == (0, False, False)
    assert found.protocol == lists("appendOnly", reader=False)


def test_what_is_off_already_is_not_set():
    assert plan(lists("deletionVectors"), "deletionVectors").set_properties == {}
    assert plan(lists("v2Checkpoint"), "v2Checkpoint").set_properties == {}
    with_policy = plan(lists("v2Checkpoint"), "v2Checkpoint", metadata(delta__checkpointPolicy="v2"))
    assert with_policy.set_properties == {"delta.checkpointPolicy": "classic"}
    assert plan(lists("deletionVectors"), "deletionVectors", metadata(delta__enableDeletionVectors="false")).unset_first == ()


def test_what_is_on_is_unset_first():
    found = plan(lists("deletionVectors"), "deletionVectors", metadata(delta__enableDeletionVectors="true"))
    assert (found.unset_first, found.set_properties) == (("delta.enableDeletionVectors",), {})


def test_row_tracking_is_suspended_until_its_ids_are_gone():
    table = metadata(delta__enableRowTracking="true", delta__rowTracking__materializedRowIdColumnName="c")
    found = plan(lists("rowTracking", "domainMetadata", reader=False), "rowTracking", table)
    assert found.set_properties == {"delta.enableRowTracking": "false", "delta.rowTrackingSuspended": "true"}
    assert found.actions == (PreDowngrade.REMOVE_ROW_IDS,)
    assert found.unset_properties == (
        "delta.enableRowTracking",
        "delta.rowTrackingSuspended",
        "delta.rowTracking.materializedRowIdColumnName",
    )
    assert found.protocol == lists("domainMetadata", reader=False)


@pytest.mark.parametrize("suffix", ["", "-preview"])
def test_the_properties_of_timestamps_go_with_the_feature(suffix):
    enabled, since = f"delta.enableInCommitTimestamps{suffix}", f"delta.inCommitTimestampEnablementVersion{suffix}"
    table = replace(metadata(), configuration={enabled: "true", since: "4"})
    found = plan(lists(f"inCommitTimestamp{suffix}", reader=False), f"inCommitTimestamp{suffix}", table)
    assert found.actions == ()
    assert found.unset_first == (since, enabled)
    assert found.set_properties == {enabled: "false"}


def test_a_legacy_feature_leaves_lists_behind():
    assert plan(Protocol(1, 4), "checkConstraints").protocol == lists(
        "appendOnly", "invariants", "changeDataFeed", "generatedColumns", reader=False
    )
    assert plan(Protocol(1, 3), "checkConstraints").protocol == Protocol(1, 2)
    mapped = plan(Protocol(2, 5), "columnMapping", truncate_history=True)
    assert mapped.protocol == Protocol(1, 4)
    assert mapped.actions == (PreDowngrade.REMOVE_COLUMN_MAPPING,)


def test_unknown_features_stay():
    protocol = Protocol(3, 7, ("vacuumProtocolCheck", "new"), ("vacuumProtocolCheck", "new"))
    assert plan(protocol, "vacuumProtocolCheck", truncate_history=True).protocol == Protocol(3, 7, ("new",), ("new",))


def test_checkpoint_protection_goes_with_the_history_only():
    protocol = lists("checkpointProtection", "appendOnly", "invariants", reader=False)
    error = refused(protocol, "checkpointProtection")
    assert error.error_class == "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION"
    table = metadata(delta__requireCheckpointProtectionBeforeVersion="5")
    found = plan(protocol, "checkpointProtection", table, truncate_history=True)
    assert found.actions == (PreDowngrade.TRUNCATE_PROTECTED_HISTORY,)
    assert found.unset_properties == ("delta.requireCheckpointProtectionBeforeVersion",)
    assert found.protocol == Protocol(1, 2)
    assert history_remains(found, table, table="t").error_class == (
        "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD"
    )


def test_a_table_is_protected_once():
    protocol = lists("checkpointProtection", "vacuumProtocolCheck")
    assert plan(protocol, "vacuumProtocolCheck").protocol == lists("checkpointProtection", reader=False)


@in_one_test("name", sorted(DROPPABLE - {"checkpointProtection"}))
def test_every_droppable_feature_is_gone_afterwards_and_no_other(name):
    protocol = Protocol(3, 7, (name,) if is_read(name) else (), (name, "appendOnly"))
    found = plan(protocol, name)
    expected = {"appendOnly", "checkpointProtection"} if FEATURES[name].reader_writer else {"appendOnly"}
    assert supported_features(found.protocol) == expected
    assert found.protects_checkpoints is FEATURES[name].reader_writer


def test_only_removable_features_are_droppable():
    assert all(FEATURES[name].removable for name in DROPPABLE)


UNIFORM = lists("icebergWriterCompatV1", "icebergCompatV2", "columnMapping")


@pytest.mark.parametrize(
    ("protocol", "name", "error_class", "sql_state"),
    [
        (Protocol(1, 2), "appendOnly", "NONREMOVABLE_FEATURE", "0AKDC"),
        (Protocol(1, 2), "somethingNew", "UNSUPPORTED_CLIENT_FEATURE", "0AKDC"),
        (lists("somethingNew"), "somethingNew", "UNSUPPORTED_CLIENT_FEATURE", "0AKDC"),
        (lists("coordinatedCommits-preview"), "coordinatedCommits-preview", "UNSUPPORTED_CLIENT_FEATURE", "0AKDC"),
        (Protocol(1, 2), "deletionVectors", "FEATURE_NOT_PRESENT", "55000"),
        (Protocol(1, 2), "delta.ENABLEdeletionVectors", "FEATURE_IS_DELTA_PROPERTY", "42000"),
        (lists("rowTracking", "domainMetadata"), "domainMetadata", "DEPENDENT_FEATURE", "55000"),
        (UNIFORM, "columnMapping", "DEPENDENT_FEATURE", "55000"),
    ],
)
def test_what_cannot_be_dropped_is_refused_by_its_class(protocol, name, error_class, sql_state):
    error = refused(protocol, name)
    assert isinstance(error, (UnsupportedFeatureError, InvalidOptionError))
    assert (error.error_class, error.sql_state) == (f"DELTA_FEATURE_DROP_{error_class}", sql_state)


def test_what_needs_a_feature_is_named():
    error = refused(UNIFORM, "columnMapping")
    assert error.features == ("icebergCompatV2", "icebergWriterCompatV1")


def test_the_history_of_a_writers_feature_is_not_truncated():
    error = refused(lists("domainMetadata"), "domainMetadata", truncate_history=True)
    assert error.error_class == "DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED"


def test_constraints_are_dropped_before_their_feature():
    error = refused(Protocol(1, 3), "checkConstraints", metadata(delta__constraints__positive="id > 0"))
    assert error.error_class == "DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE"
    assert "positive" in str(error)


def test_column_mapping_stays_where_names_need_it():
    table = metadata(StructType((StructField("a b", "long"),)), delta__columnMapping__mode="name")
    error = refused(Protocol(2, 5), "columnMapping", table)
    assert isinstance(error, InvalidSchemaError)
    assert error.columns == ("a b",)


@pytest.mark.parametrize(
    ("make", "error_class"),
    [(wait_for_retention, "WAIT_FOR_RETENTION_PERIOD"), (history_remains, "HISTORICAL_VERSIONS_EXIST")],
)
def test_a_truncating_drop_that_has_to_wait_says_how_long(make, error_class):
    found = plan(lists("deletionVectors"), "deletionVectors", truncate_history=True)
    error = make(found, metadata(delta__dropFeatureTruncateHistory__retentionDuration="2 hours"), table="t", version=9)
    assert (error.error_class, error.sql_state) == (f"DELTA_FEATURE_DROP_{error_class}", "22KD0")
    assert "2 hours" in error.next_step
    assert "24 hours" in make(found, metadata(), table="t").next_step
