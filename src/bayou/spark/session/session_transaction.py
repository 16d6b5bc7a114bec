# SPDX-License-Identifier: Apache-2.0
"""Begin transactions for a Spark session, which read its settings and record the committed version in one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bayou.log.commit.transaction import Transaction
from bayou.spark.errors.failed_calls import is_failed_call
from bayou.spark.session.interrupts import check_interrupted
from bayou.spark.session.settings import user_metadata_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application

LAST_VERSION: Final = "spark.databricks.delta.lastCommitVersionInSession"
"""The setting that contains the version of the session's last commit, as with delta-spark."""


def session_transaction(
    application: Application,
    spark: SparkSession,
    log: DeltaLog,
    snapshot: Snapshot | None,
    operation: str,
    parameters: Mapping[str, Any],
    *,
    settings: Mapping[str, str],
    user_metadata: str | None = None,
    **options: Any,
) -> Transaction:
    """Begin a transaction for a session.

    Args:
        snapshot: the snapshot that the transaction reads; None if it creates the table.
        user_metadata: the user's note in the commit; None for the note in the session's settings.
        options: further arguments of `Transaction`.
    """
    return Transaction(
        log,
        snapshot,
        operation,
        parameters,
        engine_info=application.engine_info,
        user_metadata=user_metadata_of(settings) if user_metadata is None else user_metadata,
        before_commit=check_interrupted,
        on_commit=lambda version: _record_version(spark, version),
        **options,
    )


def _record_version(spark: SparkSession, version: int) -> None:
    # The commit is final. Ignore errors of a session that is stopping and cannot record the version.
    try:
        spark.conf.set(LAST_VERSION, str(version))
    except Exception as error:
        if not is_failed_call(error):
            raise
