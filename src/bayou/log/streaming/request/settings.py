# SPDX-License-Identifier: Apache-2.0
"""The session settings that affect streams.

Source: delta-spark's `DeltaSQLConf`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bayou.errors import failed
from bayou.log.changes.range import OUT_OF_RANGE_CONF

UNSAFE_MAPPING_CONF: Final = "spark.databricks.delta.streaming.unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled"
UNSAFE_PARTITIONS_CONF: Final = "spark.databricks.delta.streaming.unsafeReadOnPartitionColumnChanges.enabled"
UNSAFE_START_CONF: Final = "spark.databricks.delta.streaming.unsafeReadOnIncompatibleSchemaChangesDuringStreamStart.enabled"
UNSAFE_NULLS_CONF: Final = "spark.databricks.delta.streaming.unsafeReadOnNullabilityChange.enabled"
TRACKING_CONF: Final = "spark.databricks.delta.streaming.schemaTracking.enabled"
TYPE_CHANGES_CONF: Final = "spark.databricks.delta.typeWidening.allowTypeChangeStreamingDeltaSource"
TYPE_TRACKING_CONF: Final = "spark.databricks.delta.typeWidening.enableStreamingSchemaTracking"
TYPE_BYPASS_CONF: Final = "spark.databricks.delta.typeWidening.bypassStreamingTypeChangeCheck"
MERGE_CHANGES_CONF: Final = "spark.databricks.delta.streaming.schemaTracking.mergeConsecutiveSchemaChanges.enabled"
PATH_CHECK_CONF: Final = "spark.databricks.delta.streaming.schemaTracking.metadataPathCheck.enabled"
OUTSIDE_CHECKPOINT_CONF: Final = "spark.databricks.delta.streaming.allowSchemaLocationOutsideCheckpointLocation"
OFFSET_VALIDATION_CONF: Final = "spark.databricks.delta.streaming.offsetValidation.enabled"


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The session's settings for streams.

    Attributes:
        allows_mapping_changes: whether renamed and dropped columns are allowed.
        allows_partition_changes: whether other partition columns are allowed.
        checks_start: whether the schema of a run's first version is checked.
        checks_nulls: whether a NOT NULL column must not be read from files in which it may be NULL.
        tracks_schemas: whether schema tracking is available.
        allows_widening: whether wider types are allowed after a restart.
        tracks_widening: whether wider types need a schema tracking location.
        checks_types: whether a stream with schema tracking checks changed types.
        merges_changes: whether consecutive schema changes count as one.
        checks_source_path: whether a schema log belongs to one source of one query.
        allows_outside: whether a schema log may be outside the query's checkpoint.
        checks_offsets: whether an offset must not go back.
        allows_out_of_range: whether a stream may start after the latest commit.
    """

    allows_mapping_changes: bool = False
    allows_partition_changes: bool = False
    checks_start: bool = True
    checks_nulls: bool = True
    tracks_schemas: bool = True
    allows_widening: bool = True
    tracks_widening: bool = False
    checks_types: bool = True
    merges_changes: bool = True
    checks_source_path: bool = True
    allows_outside: bool = False
    checks_offsets: bool = True
    allows_out_of_range: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> StreamSettings:
        """Read a session's settings, with delta-spark's defaults; each must be true or false."""

        def flag(name: str, default: bool) -> bool:  # noqa: FBT001  (the value, not a switch)
            text = settings.get(name, str(default)).strip().lower()
            if text not in ("true", "false"):
                raise failed("DELTA_ILLEGAL_OPTION/flag", option=name)
            return text == "true"

        return cls(
            allows_mapping_changes=flag(UNSAFE_MAPPING_CONF, False),
            allows_partition_changes=flag(UNSAFE_PARTITIONS_CONF, False),
            checks_start=not flag(UNSAFE_START_CONF, False),
            checks_nulls=not flag(UNSAFE_NULLS_CONF, False),
            tracks_schemas=flag(TRACKING_CONF, True),
            allows_widening=flag(TYPE_CHANGES_CONF, True),
            tracks_widening=flag(TYPE_TRACKING_CONF, False),
            checks_types=not flag(TYPE_BYPASS_CONF, False),
            merges_changes=flag(MERGE_CHANGES_CONF, True),
            checks_source_path=flag(PATH_CHECK_CONF, True),
            allows_outside=flag(OUTSIDE_CHECKPOINT_CONF, False),
            checks_offsets=flag(OFFSET_VALIDATION_CONF, True),
            allows_out_of_range=flag(OUT_OF_RANGE_CONF, False),
        )
