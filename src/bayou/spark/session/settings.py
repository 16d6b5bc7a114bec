# SPDX-License-Identifier: Apache-2.0
"""Read the session's settings that control writes, such as auto compaction. They have delta-spark's names."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, Protocol

from bayou.errors import DeltaError, failed
from bayou.protocol import properties
from bayou.protocol.properties import byte_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from bayou.spark.backend import Conf

_TXN_APP_ID: Final = "spark.databricks.delta.write.txnAppId"
_TXN_VERSION: Final = "spark.databricks.delta.write.txnVersion"
_TXN_AUTO_RESET: Final = "spark.databricks.delta.write.txnVersion.autoReset.enabled"
_AUTO_MERGE: Final = "spark.databricks.delta.schema.autoMerge.enabled"
_USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"
_OPTIMIZE_WRITE: Final = "spark.databricks.delta.optimizeWrite.enabled"
_BIN_SIZE: Final = "spark.databricks.delta.optimizeWrite.binSize"
_MOST_PARTITIONS: Final = "spark.databricks.delta.optimizeWrite.maxShufflePartitions"
_USUAL_PARTITIONS: Final = ("spark.sql.adaptive.coalescePartitions.initialPartitionNum", "spark.sql.shuffle.partitions")
_DEFAULT_PARTITIONS: Final = "200"
_DOWNGRADE: Final = "spark.databricks.delta.restore.protocolDowngradeAllowed"
_AUTO_COMPACT: Final = "spark.databricks.delta.autoCompact.enabled"
_STRING_PREFIX: Final = "spark.databricks.io.skipping.stringPrefixLength"

REPLAYED: Final = "replayed"
"""The reason of an operation that commits nothing because an earlier run already committed its batch."""


class Finished(Protocol):
    """The result of an operation: whether it committed, and the reason if not."""

    @property
    def committed(self) -> bool:
        """Whether a new version was committed."""
        ...

    @property
    def reason(self) -> str:
        """The reason why nothing was committed."""
        ...


def illegal_option(name: str, text: str, needs: str, table: str) -> DeltaError:
    """Return the error for an invalid value of an option."""
    return failed("DELTA_ILLEGAL_OPTION/value", table=table, option=name, value=text, needs=needs)


def txn_of(app_id: str | None, version: str | None, table: str) -> tuple[str, int] | None:
    """Parse the application id and version of an idempotent write from options or settings; None if neither is set.

    Raises:
        InvalidOptionError: one of them is missing, or the version is not a non-negative integer.
    """
    if app_id is None and version is None:
        return None
    if app_id and version is not None and (not version.strip().isdecimal() or int(version) >= 1 << 63):
        raise illegal_option("txnVersion", version, "must be a non-negative integer", table)
    if not app_id or version is None:
        raise failed("DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS", table=table, option="txnVersion", app_id=app_id, value=version)
    return app_id, int(version)


def batch_of(settings: Mapping[str, str], table: str) -> tuple[str, int] | None:
    """Return the application id and version in the session's settings; None if they are not set. Raise errors as `txn_of`."""
    return txn_of(settings.get(_TXN_APP_ID), settings.get(_TXN_VERSION), table)


def reset_txn_version(spark: SparkSession, settings: Mapping[str, str], batch: tuple[str, int] | None, done: Finished) -> None:
    """Unset the session's txnVersion after an operation if autoReset is enabled.

    Otherwise the next write would have the same version, and would be skipped as a replay. A skipped write unsets it as well.
    Source: delta-spark's `hasBeenExecuted`.

    Args:
        batch: the application id and version that the user passed to the operation itself. If they are not None, the operation did
            not use the session's, which remain set.
        done: the result of the operation.
    """
    if batch is None and (done.committed or done.reason == REPLAYED) and is_on(settings, _TXN_AUTO_RESET):
        spark.conf.unset(_TXN_VERSION)


def user_metadata_of(settings: Mapping[str, str]) -> str | None:
    """Return the `userMetadata` for commits, a note of the user; None if it is not set."""
    return settings.get(_USER_METADATA)


def merges_schemas(settings: Mapping[str, str]) -> bool:
    """Whether writes may evolve the schemas of tables without an option (`autoMerge`)."""
    return is_on(settings, _AUTO_MERGE)


def optimizes_writes(settings: Mapping[str, str]) -> bool | None:
    """Whether optimized writes are on: Spark shuffles rows before writing, for fewer and larger files. None if not set."""
    return is_on(settings, _OPTIMIZE_WRITE) if _OPTIMIZE_WRITE in settings else None


def allows_downgrade(settings: Mapping[str, str]) -> bool:
    """Whether RESTORE and CLONE may remove features from the protocol of an existing table."""
    return is_on(settings, _DOWNGRADE)


def compacts_by_itself(settings: Mapping[str, str], configuration: Mapping[str, str]) -> bool:
    """Whether auto compaction follows a write. The session's settings take precedence over the table's."""
    if _AUTO_COMPACT in settings:
        return is_on(settings, _AUTO_COMPACT)
    values = (each.read(configuration) for each in (properties.AUTO_OPTIMIZE, properties.AUTO_COMPACT))
    return next((each for each in values if each is not None), False)


def bins_of(settings: Mapping[str, str], table: str) -> tuple[int | None, int | None]:
    """Return the file size in bytes of an optimized write, and its number of partitions. Spark decides what is None.

    Spark merges small partitions and splits large ones to reach a size. It accepts either a size or a number. The setting is a
    maximum, so the number is returned only if it is less than Spark's default.

    Raises:
        InvalidOptionError: a setting is not a number of bytes, or of partitions.
    """
    size = bytes_of(settings, _BIN_SIZE, table, least=1)
    text = settings.get(_MOST_PARTITIONS)
    if text is None:
        return size, None
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 31):
        raise _wrong_setting(_MOST_PARTITIONS, text, "a number of partitions from 1 on", table)
    default_partitions = next((settings[name] for name in _USUAL_PARTITIONS if name in settings), _DEFAULT_PARTITIONS)
    return (None, int(text)) if int(text) < int(default_partitions) else (size, None)


def string_prefix_of(settings: Mapping[str, str], table: str) -> int | None:
    """Return the number of characters of a string that statistics keep; None if it is not set.

    Raises:
        InvalidOptionError: the setting is not a non-negative integer.
    """
    text = settings.get(_STRING_PREFIX)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise _wrong_setting(_STRING_PREFIX, text, "a number of characters", table)
    return int(text)


def bytes_of(settings: Mapping[str, str], name: str, table: str, *, least: int = 0) -> int | None:
    """Return the number of bytes in a setting; None if it is not set.

    Raises:
        InvalidOptionError: the setting is not a number of bytes, or is less than `least`.
    """
    text = settings.get(name)
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        if (size := byte_size(text)) >= least:
            return size
    raise _wrong_setting(name, text, f"a number of bytes from {least} on", table)


def count_of(settings: Mapping[str, str], name: str, table: str) -> int | None:
    """Return the whole number in a setting; None if it is not set. Raise InvalidOptionError if it is negative or not whole."""
    text = settings.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise _wrong_setting(name, text, "a whole number from 0 on", table)
    return int(text)


def share_of(settings: Mapping[str, str], name: str, table: str) -> float | None:
    """Return the fraction in a setting; None if it is not set. Raise InvalidOptionError if it is not a number from 0 to 1."""
    text = settings.get(name)
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        if 0 <= float(text) <= 1:
            return float(text)
    raise _wrong_setting(name, text, "a share from 0 to 1", table)


def _wrong_setting(name: str, text: str, wanted: str, table: str) -> DeltaError:
    return failed("DELTA_ILLEGAL_OPTION/setting", table=table, option=name, value=text, wanted=wanted)


def is_on(settings: Mapping[str, str] | Conf, name: str, *, default: bool = False) -> bool:
    """Whether a setting is true, in any case. Values other than true and false count as the default."""
    return {"true": True, "false": False}.get(settings.get(name, str(default).lower()).strip().lower(), default)
