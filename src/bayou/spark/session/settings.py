# SPDX-License-Identifier: Apache-2.0
"""What the session's settings say of writes, under delta-spark's names for them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, Protocol

from bayou.errors import InvalidOptionError
from bayou.protocol import properties
from bayou.protocol.properties import byte_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

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
"""Why an operation whose batch was committed before commits nothing."""


class Finished(Protocol):
    """What an operation did, as far as its batch is concerned."""

    @property
    def committed(self) -> bool:
        """Whether there is a new version."""
        ...

    @property
    def reason(self) -> str:
        """Why there is none."""
        ...


def illegal_option(name: str, text: str, needs: str, table: str) -> InvalidOptionError:
    """The error of an option with a value that is not one of its values."""
    return InvalidOptionError(
        f"Invalid value '{text}' for option '{name}', {needs}.",
        table=table,
        error_class="DELTA_ILLEGAL_OPTION",
        option=name,
        value=text,
        needs=needs,
    )


def txn_of(app_id: str | None, version: str | None, table: str) -> tuple[str, int] | None:
    """An application's id and version from the texts of options or settings; None where neither is given.

    Raises:
        InvalidOptionError: one of them is missing, or the version is no number from 0 on.
    """
    if app_id is None and version is None:
        return None
    if app_id and version is not None and (not version.strip().isdecimal() or int(version) >= 1 << 63):
        raise illegal_option("txnVersion", version, "must be a non-negative integer", table)
    if not app_id or version is None:
        raise InvalidOptionError(
            f"txnAppId is {app_id!r} and txnVersion is {version!r}; an idempotent write needs an id and a number from 0 on.",
            table=table,
            error_class="DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS",
            option="txnVersion",
            next_step="give both, with a higher version for each run.",
        )
    return app_id, int(version)


def batch_of(settings: Mapping[str, str], table: str) -> tuple[str, int] | None:
    """The application's id and version for which the session writes once; None where it names none.

    Raises:
        InvalidOptionError: there is one without the other, or the version is no number from 0 on.
    """
    return txn_of(settings.get(_TXN_APP_ID), settings.get(_TXN_VERSION), table)


def spend_batch(spark: SparkSession, settings: Mapping[str, str], given: tuple[str, int] | None, done: Finished) -> None:
    """The session's version is spent, where its settings say so: without that a further write would be taken for a replay.

    So it is by a replay too: what comes next is something else. Source: delta-spark's `hasBeenExecuted`.

    Args:
        given: the batch that the operation was given for itself; then it did not ask the session for one.
    """
    if given is None and (done.committed or done.reason == REPLAYED) and is_on(settings, _TXN_AUTO_RESET):
        spark.conf.unset(_TXN_VERSION)


def user_metadata_of(settings: Mapping[str, str]) -> str | None:
    """The user's own note for the history."""
    return settings.get(_USER_METADATA)


def merges_schemas(settings: Mapping[str, str]) -> bool:
    """Whether writes may change the schemas of tables."""
    return is_on(settings, _AUTO_MERGE)


def optimizes_writes(settings: Mapping[str, str]) -> bool | None:
    """Whether rows are gathered into files of a good size; None where the session does not say."""
    return is_on(settings, _OPTIMIZE_WRITE) if _OPTIMIZE_WRITE in settings else None


def allows_downgrade(settings: Mapping[str, str]) -> bool:
    """Whether RESTORE and CLONE may take features from the protocol of a table that is there."""
    return is_on(settings, _DOWNGRADE)


def compacts_by_itself(settings: Mapping[str, str], configuration: Mapping[str, str]) -> bool:
    """Whether auto compaction follows a write.

    Args:
        settings: the session's settings, which come first.
    """
    if _AUTO_COMPACT in settings:
        return is_on(settings, _AUTO_COMPACT)
    wanted = (each.read(configuration) for each in (properties.AUTO_OPTIMIZE, properties.AUTO_COMPACT))
    return next((each for each in wanted if each is not None), False)


def bins_of(settings: Mapping[str, str], table: str) -> tuple[int | None, int | None]:
    """How rows are gathered: the size in bytes of a file's shuffled rows, or into how many partitions they are shuffled first.

    Spark puts small partitions together and splits large ones, to a size. It takes a size or a number, so the number comes into
    it only where it is less than the one that Spark would take.

    Returns:
        Both; None for one that Spark decides.

    Raises:
        InvalidOptionError: a setting is not a number of bytes, or of partitions.
    """
    size = bytes_of(settings, _BIN_SIZE, table, least=1)
    text = settings.get(_MOST_PARTITIONS)
    if text is None:
        return size, None
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 31):
        raise _wrong_setting(_MOST_PARTITIONS, text, "a number of partitions from 1 on", table)
    usual = next((settings[name] for name in _USUAL_PARTITIONS if name in settings), _DEFAULT_PARTITIONS)
    return (None, int(text)) if int(text) < int(usual) else (size, None)


def string_prefix_of(settings: Mapping[str, str], table: str) -> int | None:
    """How many characters of a text statistics keep, where the table does not say; None where the session does not either.

    Raises:
        InvalidOptionError: it is no number from 0 on.
    """
    text = settings.get(_STRING_PREFIX)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise _wrong_setting(_STRING_PREFIX, text, "a number of characters", table)
    return int(text)


def bytes_of(settings: Mapping[str, str], name: str, table: str, *, least: int = 0) -> int | None:
    """The number of bytes in a setting; None if the setting is not set.

    Raises:
        InvalidOptionError: the setting is not a number of bytes, or less than `least`.
    """
    text = settings.get(name)
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        if (size := byte_size(text)) >= least:
            return size
    raise _wrong_setting(name, text, f"a number of bytes from {least} on", table)


def count_of(settings: Mapping[str, str], name: str, table: str) -> int | None:
    """The whole number in a setting; None if the setting is not set.

    Raises:
        InvalidOptionError: the setting is no whole number from 0 on.
    """
    text = settings.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise _wrong_setting(name, text, "a whole number from 0 on", table)
    return int(text)


def share_of(settings: Mapping[str, str], name: str, table: str) -> float | None:
    """The share from 0 to 1 that a setting says; None where it is not set.

    Raises:
        InvalidOptionError: it says no such share.
    """
    text = settings.get(name)
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        if 0 <= float(text) <= 1:
            return float(text)
    raise _wrong_setting(name, text, "a share from 0 to 1", table)


def _wrong_setting(name: str, text: str, wanted: str, table: str) -> InvalidOptionError:
    message = f"The session's setting {name} is {text!r}, which is not {wanted}."
    return InvalidOptionError(message, table=table, option=name, value=text, next_step="set it to one, or unset it.")


def is_on(settings: Mapping[str, str], name: str) -> bool:
    """Whether a setting that is false by default is true."""
    return settings.get(name, "").lower() == "true"
