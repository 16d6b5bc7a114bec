# SPDX-License-Identifier: Apache-2.0
"""Check for table properties that exclude each other.

Sources: delta-spark's `DeltaConfigs`, `RowTracking`, `GenerateSymlinkManifest` and `DeletionVectorUtils`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayou.errors import failed
from bayou.protocol import properties


def check_combinations(
    configuration: Mapping[str, str],
    *,
    table: str | None,
    version: int | None = None,
    touched: Mapping[str, str] | None = None,
) -> None:
    """Raise InvalidOptionError if two properties exclude each other.

    Args:
        touched: the properties that are set, so that other properties of a table are not checked. None to check all.
    """
    for pair, check in _COMBINATIONS:
        if touched is None or any(each.key in touched for each in pair):
            check(configuration, table, version)


def keep_the_log_long_enough(given: Mapping[str, str]) -> bool:
    """Whether the log is retained at least as long as removed data files, by given or default properties."""
    return properties.LOG_RETENTION_MS.read(given) >= properties.DELETED_FILE_RETENTION_MS.read(given)


def _check_retention(configuration: Mapping[str, str], table: str | None, version: int | None) -> None:
    if not keep_the_log_long_enough(configuration):
        raise failed("DELTA_ILLEGAL_OPTION/retention", table=table, version=version)


def _check_row_tracking(configuration: Mapping[str, str], table: str | None, version: int | None) -> None:
    if properties.ENABLE_ROW_TRACKING.read(configuration) and properties.ROW_TRACKING_SUSPENDED.read(configuration):
        raise failed("DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION", table=table, version=version)


def _check_manifest_and_vectors(configuration: Mapping[str, str], table: str | None, version: int | None) -> None:
    if properties.SYMLINK_MANIFEST.read(configuration) and properties.ENABLE_DELETION_VECTORS.read(configuration):
        raise failed(
            "DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED.PERSISTENT_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION",
            table=table,
            version=version,
        )


def _check_manifest_and_mapping(configuration: Mapping[str, str], table: str | None, version: int | None) -> None:
    mapped = properties.COLUMN_MAPPING_MODE.read(configuration).lower() != "none"
    if mapped and properties.SYMLINK_MANIFEST.read(configuration):
        raise failed("DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING", table=table, version=version)


_COMBINATIONS: Final = (
    ((properties.LOG_RETENTION_MS, properties.DELETED_FILE_RETENTION_MS), _check_retention),
    ((properties.ENABLE_ROW_TRACKING, properties.ROW_TRACKING_SUSPENDED), _check_row_tracking),
    ((properties.SYMLINK_MANIFEST, properties.ENABLE_DELETION_VECTORS), _check_manifest_and_vectors),
    ((properties.SYMLINK_MANIFEST, properties.COLUMN_MAPPING_MODE), _check_manifest_and_mapping),
)
