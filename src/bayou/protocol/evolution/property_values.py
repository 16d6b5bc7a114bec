# SPDX-License-Identifier: Apache-2.0
"""Check the values of table properties that users set.

Reading is lenient: in `bayou.protocol.properties` a wrong value counts as unset. All values that pass here are also valid for
delta-spark, which neither trims strings nor accepts underscores in numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from bayou.errors import InvalidOptionError, reason
from bayou.protocol import properties
from bayou.protocol.properties import interval_ms
from bayou.protocol.stats.file_stats import parse_column_list

Check = Callable[[str], None]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT_BITS: Final = 32
_LONG_BITS: Final = 64
_FORMAT_VERSION = re.compile(r"1\.0\.0|2\.[0-9]+\.[0-9]+")
_CODECS: Final = ("uncompressed", "none", "snappy", "gzip", "lzo", "brotli", "lz4", "lz4_raw", "zstd")
_UNIFORM_FORMATS: Final = ("iceberg", "hudi")
_MONTHS = re.compile(r"\b(?:months?|years?)\b", re.IGNORECASE)
_INTERVAL_NEEDS: Final = (
    "needs to be provided as a calendar interval such as '2 weeks'. Months and years are not accepted. "
    "You may specify '365 days' for a year instead."
)


class InvalidValueError(ValueError):
    """A property cannot have a value.

    Attributes:
        needs: what the property needs, as the end of a sentence.
        error_class: the error class, or None for the usual one.
        next_step: what the user can do, or None for the usual one.
    """

    def __init__(self, needs: str, error_class: str | None = None, next_step: str | None = None) -> None:
        super().__init__(needs)
        self.needs = needs
        self.error_class = error_class
        self.next_step = next_step


def read_boolean(text: str) -> bool:
    """Whether a value is `true`, in any case."""
    return text.lower() == "true"


def _boolean(text: str) -> None:
    if text.lower() not in {"true", "false"}:
        raise InvalidValueError("needs to be a boolean.")


def _auto_compact(text: str) -> None:
    if text.lower() not in {"true", "false"}:
        needs = "needs to be true or false."
        raise InvalidValueError(needs, "DELTA_INVALID_AUTO_COMPACT_TYPE", "Allowed values are: (true,false).")


def _integer(needs: str, low: int, high: int | None = None, bits: int = _INT_BITS) -> Check:
    top = 2 ** (bits - 1) - 1 if high is None else high

    def check(text: str) -> None:
        if _INTEGER.fullmatch(text) is None or not low <= int(text) <= top:
            raise InvalidValueError(needs)

    return check


def _interval(text: str) -> None:
    if not text.strip():
        needs = "needs to be an interval, and the text is blank."
        raise InvalidValueError(needs, "DELTA_INVALID_CALENDAR_INTERVAL_EMPTY")
    try:
        duration_ms = interval_ms(text)
    except ValueError:
        if _MONTHS.search(text):
            raise InvalidValueError(_INTERVAL_NEEDS) from None
        raise InvalidValueError(_INTERVAL_NEEDS, "DELTA_INVALID_INTERVAL") from None
    if duration_ms < 0:
        raise InvalidValueError(f"is no time before now; it {_INTERVAL_NEEDS}")


def _one_of(*allowed: str) -> Check:
    def check(text: str) -> None:
        if text.lower() not in {each.lower() for each in allowed}:
            raise InvalidValueError(f"can be one of the following: {', '.join(allowed)}.")

    return check


def _isolation_level(text: str) -> None:
    if text.lower() == "snapshotisolation":
        raise InvalidValueError("must be Serializable or WriteSerializable; snapshot isolation is for commits that change no rows.")
    if text.lower() not in {"serializable", "writeserializable"}:
        needs = "must be Serializable or WriteSerializable."
        raise InvalidValueError(needs, "DELTA_INVALID_ISOLATION_LEVEL")


def _columns(text: str) -> None:
    try:
        paths = [tuple(part.lower() for part in path) for path in parse_column_list(text)]
    except InvalidOptionError as error:
        raise InvalidValueError(
            f"is a comma-separated list of columns: {reason(error)}.", next_step=error.next_step or None
        ) from error
    if not paths:
        raise InvalidValueError("is a comma-separated list of columns, and names none.")
    twice = sorted({".".join(path) for path in paths if paths.count(path) > 1})
    if twice:
        needs = f"names these columns twice: {', '.join(twice)}."
        raise InvalidValueError(needs, "DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS")


def _formats(text: str) -> None:
    named = [] if not text else text.split(",")
    if len(set(named)) < len(named) or not set(named) <= set(_UNIFORM_FORMATS):
        raise InvalidValueError(f"must be a comma-separated list of formats from the list: {{{','.join(_UNIFORM_FORMATS)}}}.")


def _format_version(text: str) -> None:
    if _FORMAT_VERSION.fullmatch(text) is None:
        raise InvalidValueError("needs to be 1.0.0, or 2.x.y for data pages of version 2.")


def _size(text: str) -> None:
    try:
        size = properties.byte_size(text)
    except ValueError as error:
        raise InvalidValueError("needs to be a number of bytes, such as 104857600 or 100mb.") from error
    if not 0 < size < 1 << (_LONG_BITS - 1):
        raise InvalidValueError("needs to be a positive number of bytes.")


def _anything(_text: str) -> None:
    return


_LONG: Final = _integer("needs to be a whole number from 0 on.", 0, bits=_LONG_BITS)
_POSITIVE: Final = _integer("needs to be a positive integer.", 1)

CHECKS: Final[Mapping[str, Check]] = {
    properties.MIN_READER_VERSION.key: _integer("needs to be one of 1, 2, 3.", 1, 3),
    properties.MIN_WRITER_VERSION.key: _integer("needs to be one of 1, 2, 3, 4, 5, 6, 7.", 1, 7),
    **{
        each.key: _interval
        for each in (
            properties.CHECKPOINT_RETENTION_MS,
            properties.DELETED_FILE_RETENTION_MS,
            properties.DROP_FEATURE_RETENTION_MS,
            properties.LOG_RETENTION_MS,
            properties.SAMPLE_RETENTION_MS,
            properties.SET_TRANSACTION_RETENTION_MS,
        )
    },
    properties.CHECKPOINT_INTERVAL.key: _POSITIVE,
    properties.RANDOM_PREFIX_LENGTH.key: _integer("needs to be greater than 0.", 1),
    properties.STRING_PREFIX_LENGTH.key: _integer("needs to be greater than or equal to 0.", 0),
    properties.NUM_INDEXED_COLUMNS.key: _integer("needs to be larger than or equal to -1.", -1),
    properties.CHECKPOINT_PROTECTION_VERSION.key: _LONG,
    properties.ICT_ENABLEMENT_VERSION.key: _LONG,
    properties.ICT_ENABLEMENT_TIMESTAMP.key: _LONG,
    properties.MAX_COLUMN_ID.key: _LONG,
    properties.CHECKPOINT_POLICY.key: _one_of("classic", "v2"),
    properties.COLUMN_MAPPING_MODE.key: _one_of("none", "name", "id"),
    properties.PARQUET_COMPRESSION_CODEC.key: _one_of(*_CODECS),
    properties.PARQUET_FORMAT_VERSION.key: _format_version,
    properties.ISOLATION_LEVEL.key: _isolation_level,
    properties.STATS_COLUMNS.key: _columns,
    properties.UNIFORM_FORMATS.key: _formats,
    properties.AUTO_COMPACT.key: _auto_compact,
    properties.TARGET_FILE_SIZE.key: _size,
    **{
        each.key: _anything
        for each in (
            properties.COMMIT_COORDINATOR,
            properties.COMMIT_COORDINATOR_CONF,
            properties.COORDINATED_TABLE_CONF,
            properties.MATERIALIZED_ROW_COMMIT_VERSION,
            properties.MATERIALIZED_ROW_ID,
            properties.REDIRECT_READER_WRITER,
            properties.REDIRECT_WRITER_ONLY,
        )
    },
    **{
        each.key: _boolean
        for each in (
            properties.APPEND_ONLY,
            properties.AUTO_OPTIMIZE,
            properties.CAST_ICEBERG_TIME_TYPE,
            properties.CHECKPOINT_STATS_AS_JSON,
            properties.CHECKPOINT_STATS_AS_STRUCT,
            properties.ENABLE_CHANGE_DATA_CAPTURE,
            properties.ENABLE_CHANGE_DATA_FEED,
            properties.ENABLE_DELETION_VECTORS,
            properties.ENABLE_EXPIRED_LOG_CLEANUP,
            properties.ENABLE_FULL_RETENTION_ROLLBACK,
            properties.ENABLE_ICEBERG_COMPAT_V1,
            properties.ENABLE_ICEBERG_COMPAT_V2,
            properties.ENABLE_ICEBERG_COMPAT_V3,
            properties.ENABLE_IN_COMMIT_TIMESTAMPS,
            properties.ENABLE_ROW_TRACKING,
            properties.ENABLE_TYPE_WIDENING,
            properties.ENABLE_VARIANT_SHREDDING,
            properties.ICEBERG_ATOMIC_CONVERSION,
            properties.IGNORE_ICEBERG_BUCKET_PARTITION,
            properties.IGNORE_PROTOCOL_DEFAULTS,
            properties.MATERIALIZE_PARTITION_COLUMNS,
            properties.OPTIMIZE_WRITE,
            properties.RANDOMIZE_FILE_PREFIXES,
            properties.ROW_TRACKING_SUSPENDED,
            properties.SYMLINK_MANIFEST,
            properties.WRITE_PARTITION_COLUMNS,
        )
    },
}
"""The check of each property's value, by key; it raises `InvalidValueError`."""

ENUM_SPELLINGS: Final[Mapping[str, Mapping[str, str]]] = {
    properties.CHECKPOINT_POLICY.key: {"classic": "classic", "v2": "v2"},
    properties.COLUMN_MAPPING_MODE.key: {"none": "none", "name": "name", "id": "id"},
    properties.ISOLATION_LEVEL.key: {"serializable": "Serializable", "writeserializable": "WriteSerializable"},
}
"""The stored form of case-insensitive values, by key and lower-case value."""
