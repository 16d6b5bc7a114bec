# SPDX-License-Identifier: Apache-2.0
"""What the session's settings say of writes, under delta-spark's names for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from bayou.errors import InvalidOptionError
from bayou.spark.write_request import txn_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from bayou.spark.write_request import WriteRequest

_TXN_APP_ID: Final = "spark.databricks.delta.write.txnAppId"
_TXN_VERSION: Final = "spark.databricks.delta.write.txnVersion"
_TXN_AUTO_RESET: Final = "spark.databricks.delta.write.txnVersion.autoReset.enabled"
_AUTO_MERGE: Final = "spark.databricks.delta.schema.autoMerge.enabled"
_USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"
_OPTIMIZE_WRITE: Final = "spark.databricks.delta.optimizeWrite.enabled"
_STRING_PREFIX: Final = "spark.databricks.io.skipping.stringPrefixLength"
_PARTITION_MODE: Final = "spark.sql.sources.partitionOverwriteMode"

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


def batch_of(settings: Mapping[str, str], table: str) -> tuple[str, int] | None:
    """The application's id and version for which the session writes once; None where it names none.

    Args:
        settings: the session's settings.
        table: the table's URI, for errors.

    Raises:
        InvalidOptionError: there is one without the other, or the version is no number from 0 on.
    """
    return txn_of(settings.get(_TXN_APP_ID), settings.get(_TXN_VERSION), table)


def spend_batch(spark: SparkSession, settings: Mapping[str, str], given: tuple[str, int] | None, done: Finished) -> None:
    """The session's version is spent, where its settings say so: without that a further write would be taken for a replay.

    So it is by a replay too: what comes next is something else. Source: delta-spark's `hasBeenExecuted`.

    Args:
        spark: the session.
        settings: its settings.
        given: the batch that the operation was given for itself; then it did not ask the session for one.
        done: what the operation did.
    """
    if given is None and (done.committed or done.reason == REPLAYED) and _is_on(settings, _TXN_AUTO_RESET):
        spark.conf.unset(_TXN_VERSION)


def user_metadata_of(settings: Mapping[str, str]) -> str | None:
    """The user's own note for the history."""
    return settings.get(_USER_METADATA)


def merges_schemas(settings: Mapping[str, str]) -> bool:
    """Whether writes may change the schemas of tables."""
    return _is_on(settings, _AUTO_MERGE)


def optimizes_writes(settings: Mapping[str, str]) -> bool | None:
    """Whether rows are gathered into files of a good size; None where the session does not say."""
    return _is_on(settings, _OPTIMIZE_WRITE) if _OPTIMIZE_WRITE in settings else None


def string_prefix_of(settings: Mapping[str, str], table: str) -> int | None:
    """How many characters of a text statistics keep, where the table does not say; None where the session does not either.

    Raises:
        InvalidOptionError: it is no number from 0 on.
    """
    text = settings.get(_STRING_PREFIX)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        message = f"The session's setting {_STRING_PREFIX} is {text!r}, which is no number of characters."
        raise InvalidOptionError(
            message, table=table, option=_STRING_PREFIX, value=text, next_step="set it to a number, or unset it."
        )
    return int(text)


def with_settings(request: WriteRequest, settings: Mapping[str, str]) -> WriteRequest:
    """The request with what the session's settings say of what it leaves open.

    Args:
        request: what the writer asked for.
        settings: the session's settings.

    Raises:
        InvalidOptionError: the settings contradict the request.
    """
    dynamic = _replaces_partitions(request, settings)
    return replace(
        request,
        txn=request.txn or batch_of(settings, request.path),
        merge_schema=merges_schemas(settings) if request.merge_schema is None else request.merge_schema,
        user_metadata=user_metadata_of(settings) if request.user_metadata is None else request.user_metadata,
        dynamic_partitions=dynamic,
        optimize_write=optimizes_writes(settings) if request.optimize_write is None else request.optimize_write,
        string_prefix=string_prefix_of(settings, request.path),
    )


def _replaces_partitions(request: WriteRequest, settings: Mapping[str, str]) -> bool:
    """Whether the write replaces the partitions that its rows are in, and no others."""
    overwrites = request.mode == "overwrite"
    dynamic = settings.get(_PARTITION_MODE, "").lower() == "dynamic" and not request.replaces_a_part
    if dynamic and overwrites and request.overwrite_schema and request.dynamic_partitions is None:
        message = "'overwriteSchema' cannot be used in dynamic partition overwrite mode, which the session's settings ask for."
        error_class = "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE"
        step = "set the option partitionOverwriteMode to static for this write."
        raise _refused(request, "overwriteSchema", message, error_class, "42613", step)
    dynamic = overwrites and (dynamic if request.dynamic_partitions is None else request.dynamic_partitions)
    if request.keeps_null_partitions and not dynamic:
        message = "The option 'useNullIntolerantEqualityWithDPO' is for overwrites of partitions, and this write is none."
        step = "set partitionOverwriteMode to dynamic and the mode to overwrite, or leave it out."
        raise _refused(request, "useNullIntolerantEqualityWithDPO", message, "DELTA_ILLEGAL_OPTION", "42616", step)
    return dynamic


def _refused(
    request: WriteRequest, option: str, message: str, error_class: str, sql_state: str, next_step: str
) -> InvalidOptionError:
    return InvalidOptionError(
        message, table=request.path, error_class=error_class, sql_state=sql_state, option=option, next_step=next_step
    )


def _is_on(settings: Mapping[str, str], name: str) -> bool:
    return settings.get(name, "").lower() == "true"
