# SPDX-License-Identifier: Apache-2.0
"""The settings of a session that change what a stream does, by the names that delta-spark has for them."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from tests.support.cases import in_one_test

from bayou.errors import InvalidOptionError
from bayou.log.streaming.request.settings import StreamSettings

PREFIX = "spark.databricks.delta."
FIELDS = {
    "streaming.unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled": ("true", "allows_mapping_changes"),
    "streaming.unsafeReadOnPartitionColumnChanges.enabled": ("true", "allows_partition_changes"),
    "streaming.unsafeReadOnIncompatibleSchemaChangesDuringStreamStart.enabled": ("true", "checks_start"),
    "streaming.unsafeReadOnNullabilityChange.enabled": ("true", "checks_nulls"),
    "streaming.schemaTracking.enabled": ("false", "tracks_schemas"),
    "typeWidening.allowTypeChangeStreamingDeltaSource": ("false", "allows_widening"),
    "typeWidening.enableStreamingSchemaTracking": ("true", "tracks_widening"),
    "typeWidening.bypassStreamingTypeChangeCheck": ("true", "checks_types"),
    "streaming.schemaTracking.mergeConsecutiveSchemaChanges.enabled": ("false", "merges_changes"),
    "streaming.schemaTracking.metadataPathCheck.enabled": ("false", "checks_source_path"),
    "streaming.allowSchemaLocationOutsideCheckpointLocation": ("true", "allows_outside"),
    "streaming.offsetValidation.enabled": ("false", "checks_offsets"),
    "changeDataFeed.timestampOutOfRange.enabled": ("true", "allows_out_of_range"),
}


def test_what_is_not_set_is_as_delta_spark_has_it():
    assert StreamSettings.of({"spark.sql.shuffle.partitions": "2"}) == StreamSettings()


@in_one_test("name", FIELDS)
def test_each_setting_changes_what_it_is_for_and_nothing_else(name):
    value, field = FIELDS[name]
    wanted = replace(StreamSettings(), **{field: not getattr(StreamSettings(), field)})
    assert StreamSettings.of({PREFIX + name: value}) == wanted
    assert StreamSettings.of({PREFIX + name: f" {value.upper()} "}) == wanted
    assert StreamSettings.of({PREFIX + name: {"true": "false", "false": "true"}[value]}) == StreamSettings()
    with pytest.raises(InvalidOptionError, match=name):
        StreamSettings.of({PREFIX + name: "maybe"})


def test_there_is_a_setting_for_everything():
    assert {field for _, field in FIELDS.values()} == {each.name for each in fields(StreamSettings)}
