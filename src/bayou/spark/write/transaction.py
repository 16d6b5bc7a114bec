# SPDX-License-Identifier: Apache-2.0
"""Begin the transaction of a write: its operation in the history, and what it reads of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.protocol.columns.clustering import names_of
from bayou.spark.session.session_transaction import session_transaction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from bayou.log.commit.transaction import Transaction
    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.data_files.request import WriteRequest
    from bayou.spark.session.application import Application

_MODE_NAMES: Final = {"append": "Append", "overwrite": "Overwrite", "error": "ErrorIfExists", "ignore": "Ignore"}


def begin_write(
    application: Application,
    spark: SparkSession,
    settings: Mapping[str, str],
    request: WriteRequest,
    log: DeltaLog,
    snapshot: Snapshot | None,
) -> Transaction:
    """Begin the transaction of a write, with its operation and parameters for the history.

    Args:
        snapshot: the table; None if the write creates it.
    """
    parameters: dict[str, object] = {"mode": _MODE_NAMES[request.mode], "partitionBy": list(request.partition_by or ())}
    if request.cluster_by is not None:
        parameters["clusterBy"] = names_of(request.cluster_by)
    if request.replace_where is not None:
        parameters["predicate"] = request.replace_where
    if request.replace_on is not None:
        parameters["replaceOnCond"] = request.replace_on
    if request.replace_using is not None:
        parameters["replaceUsingCols"] = f"({','.join(request.replace_using)})"
    parameters |= how_written(request, snapshot)
    operation = "WRITE"
    if request.stream is not None:
        operation = "STREAMING UPDATE"
        batch = request.stream
        parameters = {"outputMode": batch.output_mode, "queryId": batch.query_id, "epochId": str(batch.epoch)}
    if request.statement is not None:
        operation = request.statement.operation
    transaction = session_transaction(
        application,
        spark,
        log,
        snapshot,
        operation,
        parameters,
        settings=settings,
        user_metadata=request.user_metadata,
        txn=request.txn,
        replaces_table=snapshot is not None and request.replaces_table,
    )
    if (request.stream is not None and request.stream.reads_itself) or (snapshot is None and _replaces_all(request)):
        transaction.read_whole_table()
    return transaction


def _replaces_all(request: WriteRequest) -> bool:
    return request.mode == "overwrite" and not request.replaces_a_part


def how_written(request: WriteRequest, snapshot: Snapshot | None) -> dict[str, object]:
    """Return the write mode for the history.

    Args:
        snapshot: the table; None if it does not exist.
    """
    if request.mode == "error":
        return {}
    has_partitions = request.partition_by or (snapshot is not None and snapshot.partition_columns)
    facts = {
        "isV1SaveAsTableOverwrite": request.statement is not None and request.statement.overwrites,
        "isDynamicPartitionOverwrite": request.dynamic_partitions and has_partitions and not request.replaces_table,
        "canOverwriteSchema": request.overwrite_schema,
        "canMergeSchema": request.merge_schema,
    }
    return {name: True for name, is_so in facts.items() if is_so}
