# SPDX-License-Identifier: Apache-2.0
"""The table properties with a meaning (`delta.*`), their types and defaults.

The defaults are delta-spark's. A value of the wrong type counts as unset, since a reader must not refuse a table because of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from bayou.errors import failed

T = TypeVar("T")

_UNIT_MS: Final = {
    "week": 604_800_000,
    "day": 86_400_000,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1_000,
    "millisecond": 1,
    "microsecond": 0.001,
}
_INTERVAL_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+?)s?(?=\s|$)")
# The longest name of a file or a folder on most file systems.
_LONGEST_NAME: Final = 255
_MAPPING_MODES: Final = ("none", "name", "id")


@dataclass(frozen=True, slots=True)
class TableProperty(Generic[T]):
    """A property: its key, default and parser, and an older key, which is used if the key is not set."""

    key: str
    default: T
    parse: Callable[[str], T]
    older_key: str | None = None

    def read(self, configuration: Mapping[str, str]) -> T:
        """Return the property's value in a table's configuration. Keys are case-insensitive."""
        text = _text(configuration, self.key)
        if text is None and self.older_key is not None:
            text = _text(configuration, self.older_key)
        if text is None:
            return self.default
        try:
            return self.parse(text)
        except ValueError:
            return self.default


def _text(configuration: Mapping[str, str], key: str) -> str | None:
    text = configuration.get(key)
    if text is None:
        wanted = key.lower()
        text = next((value for each, value in configuration.items() if each.lower() == wanted), None)
    return text


def interval_ms(text: str) -> int:
    """Return the milliseconds of a Spark interval such as `interval 30 days` or `1 week 2 hours`.

    Raise ValueError if the string is not an interval, or has months or years.
    """
    words = text.strip().lower().removeprefix("interval").strip()
    total, consumed = 0.0, 0
    # Match each part at the end of the one before it, since a search would take quadratic time.
    while (part := _INTERVAL_PART.match(words, consumed)) is not None and part[2] in _UNIT_MS:
        total += float(part[1]) * _UNIT_MS[part[2]]
        consumed = part.end()
    if not words or words[consumed:].strip() or not math.isfinite(total):
        msg = f"{text!r} is not an interval of weeks, days, hours, minutes or seconds"
        raise ValueError(msg)
    return int(total)


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in {"true", "false"}:
        raise ValueError(text)
    return lowered == "true"


def _name_length(text: str) -> int:
    length = int(text)
    if not 0 < length <= _LONGEST_NAME:
        raise ValueError(text)
    return length


_SIZE = re.compile(r"\s*(\d+)\s*([kmgtp]?)(?:i?b)?\s*", re.IGNORECASE)


def byte_size(text: str) -> int:
    """Parse a number of bytes such as `104857600`, `100mb` or `1 GiB`; units are powers of 1024. Raise ValueError otherwise."""
    found = _SIZE.fullmatch(text)
    if found is None:
        msg = f"{text!r} is not a number of bytes"
        raise ValueError(msg)
    return int(found[1]) << 10 * " kmgtp".index(found[2].lower() or " ")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_DAY_MS: Final = 86_400_000

APPEND_ONLY = TableProperty("delta.appendOnly", default=False, parse=_boolean)
AUTO_COMPACT: TableProperty[bool | None] = TableProperty("delta.autoOptimize.autoCompact", None, _boolean)
AUTO_OPTIMIZE: TableProperty[bool | None] = TableProperty("delta.autoOptimize", None, _boolean)
CAST_ICEBERG_TIME_TYPE = TableProperty("delta.castIcebergTimeType", default=False, parse=_boolean)
CHECKPOINT_INTERVAL = TableProperty("delta.checkpointInterval", 10, int)
CHECKPOINT_POLICY = TableProperty("delta.checkpointPolicy", "classic", str)
CHECKPOINT_PROTECTION_VERSION = TableProperty("delta.requireCheckpointProtectionBeforeVersion", 0, int)
CHECKPOINT_RETENTION_MS = TableProperty("delta.checkpointRetentionDuration", 2 * _DAY_MS, interval_ms)
CHECKPOINT_STATS_AS_JSON = TableProperty("delta.checkpoint.writeStatsAsJson", default=True, parse=_boolean)
CHECKPOINT_STATS_AS_STRUCT = TableProperty("delta.checkpoint.writeStatsAsStruct", default=True, parse=_boolean)
COLUMN_MAPPING_MODE = TableProperty("delta.columnMapping.mode", "none", str)
COMMIT_COORDINATOR: TableProperty[str | None] = TableProperty("delta.coordinatedCommits.commitCoordinator-preview", None, str)
COMMIT_COORDINATOR_CONF = TableProperty("delta.coordinatedCommits.commitCoordinatorConf-preview", "{}", str)
COORDINATED_TABLE_CONF = TableProperty("delta.coordinatedCommits.tableConf-preview", "{}", str)
DELETED_FILE_RETENTION_MS = TableProperty("delta.deletedFileRetentionDuration", 7 * _DAY_MS, interval_ms)
DROP_FEATURE_RETENTION_MS = TableProperty("delta.dropFeatureTruncateHistory.retentionDuration", _DAY_MS, interval_ms)
ENABLE_CHANGE_DATA_CAPTURE = TableProperty("delta.enableChangeDataCapture", default=False, parse=_boolean)
ENABLE_CHANGE_DATA_FEED = TableProperty("delta.enableChangeDataFeed", False, _boolean, ENABLE_CHANGE_DATA_CAPTURE.key)
ENABLE_DELETION_VECTORS = TableProperty("delta.enableDeletionVectors", default=False, parse=_boolean)
ENABLE_EXPIRED_LOG_CLEANUP = TableProperty("delta.enableExpiredLogCleanup", default=True, parse=_boolean)
ENABLE_FULL_RETENTION_ROLLBACK = TableProperty("delta.enableFullRetentionRollback", default=True, parse=_boolean)
ENABLE_ICEBERG_COMPAT_V1 = TableProperty("delta.enableIcebergCompatV1", default=False, parse=_boolean)
ENABLE_ICEBERG_COMPAT_V2 = TableProperty("delta.enableIcebergCompatV2", default=False, parse=_boolean)
ENABLE_ICEBERG_COMPAT_V3 = TableProperty("delta.enableIcebergCompatV3", default=False, parse=_boolean)
ENABLE_IN_COMMIT_TIMESTAMPS = TableProperty("delta.enableInCommitTimestamps", default=False, parse=_boolean)
ENABLE_ROW_TRACKING = TableProperty("delta.enableRowTracking", default=False, parse=_boolean)
ENABLE_TYPE_WIDENING = TableProperty("delta.enableTypeWidening", default=False, parse=_boolean)
ENABLE_VARIANT_SHREDDING = TableProperty("delta.enableVariantShredding", default=False, parse=_boolean)
ICEBERG_ATOMIC_CONVERSION = TableProperty("delta.universalFormat.iceberg.atomicConversion.supported", default=False, parse=_boolean)
ICT_ENABLEMENT_TIMESTAMP: TableProperty[int | None] = TableProperty("delta.inCommitTimestampEnablementTimestamp", None, int)
ICT_ENABLEMENT_VERSION: TableProperty[int | None] = TableProperty("delta.inCommitTimestampEnablementVersion", None, int)
IGNORE_ICEBERG_BUCKET_PARTITION = TableProperty("delta.ignoreIcebergBucketPartition", default=False, parse=_boolean)
IGNORE_PROTOCOL_DEFAULTS = TableProperty("delta.ignoreProtocolDefaults", default=False, parse=_boolean)
ISOLATION_LEVEL = TableProperty("delta.isolationLevel", "Serializable", str)
LOG_RETENTION_MS = TableProperty("delta.logRetentionDuration", 30 * _DAY_MS, interval_ms)
MATERIALIZED_ROW_COMMIT_VERSION: TableProperty[str | None] = TableProperty(
    "delta.rowTracking.materializedRowCommitVersionColumnName", None, str
)
MATERIALIZED_ROW_ID: TableProperty[str | None] = TableProperty("delta.rowTracking.materializedRowIdColumnName", None, str)
MATERIALIZE_PARTITION_COLUMNS = TableProperty("delta.enableMaterializePartitionColumnsFeature", default=False, parse=_boolean)
MAX_COLUMN_ID = TableProperty("delta.columnMapping.maxColumnId", 0, int)
MIN_READER_VERSION = TableProperty("delta.minReaderVersion", 1, int)
MIN_WRITER_VERSION = TableProperty("delta.minWriterVersion", 2, int)
NUM_INDEXED_COLUMNS = TableProperty("delta.dataSkippingNumIndexedCols", 32, int)
OPTIMIZE_WRITE: TableProperty[bool | None] = TableProperty("delta.autoOptimize.optimizeWrite", None, _boolean)
PARQUET_COMPRESSION_CODEC: TableProperty[str | None] = TableProperty("delta.parquet.compression.codec", None, str)
PARQUET_FORMAT_VERSION = TableProperty("delta.parquet.format.version", "1.0.0", str)
RANDOMIZE_FILE_PREFIXES = TableProperty("delta.randomizeFilePrefixes", default=False, parse=_boolean)
RANDOM_PREFIX_LENGTH = TableProperty("delta.randomPrefixLength", 2, _name_length)
REDIRECT_READER_WRITER: TableProperty[str | None] = TableProperty("delta.redirectReaderWriter-preview", None, str)
REDIRECT_WRITER_ONLY: TableProperty[str | None] = TableProperty("delta.redirectWriterOnly-preview", None, str)
ROW_TRACKING_SUSPENDED = TableProperty("delta.rowTrackingSuspended", default=False, parse=_boolean)
SAMPLE_RETENTION_MS = TableProperty("delta.sampleRetentionDuration", 7 * _DAY_MS, interval_ms)
SET_TRANSACTION_RETENTION_MS: TableProperty[int | None] = TableProperty("delta.setTransactionRetentionDuration", None, interval_ms)
STATS_COLUMNS: TableProperty[tuple[str, ...] | None] = TableProperty("delta.dataSkippingStatsColumns", None, _names)
STRING_PREFIX_LENGTH = TableProperty("delta.dataSkippingStringPrefixLength", 32, int)
SYMLINK_MANIFEST = TableProperty("delta.compatibility.symlinkFormatManifest.enabled", default=False, parse=_boolean)
TARGET_FILE_SIZE: TableProperty[int | None] = TableProperty("delta.targetFileSize", None, byte_size)
UNIFORM_FORMATS: TableProperty[tuple[str, ...]] = TableProperty("delta.universalFormat.enabledFormats", (), _names)
WRITE_PARTITION_COLUMNS = TableProperty("delta.writePartitionColumnsToParquet", default=True, parse=_boolean)

PROPERTIES: Final[Mapping[str, TableProperty[Any]]] = {
    found.key: found for found in list(globals().values()) if isinstance(found, TableProperty)
}
"""All properties that bayou knows, by key."""

CONSTRAINT_PREFIX: Final = "delta.constraints."
"""The prefix of CHECK constraints in a table's configuration."""

FEATURE_PREFIX: Final = "delta.feature."
"""The prefix of properties that enable a table feature. Tables do not store them."""


def mapping_mode(configuration: Mapping[str, str]) -> str:
    """Return a table's column mapping mode: none, name or id. Raise InvalidOptionError for another one."""
    mode = COLUMN_MAPPING_MODE.read(configuration).lower()
    if mode not in _MAPPING_MODES:
        raise failed("DELTA_ILLEGAL_OPTION/mapping-mode", mode=mode, known=_MAPPING_MODES)
    return mode
