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
    options, statement, stream = request.options, request.context.statement, request.context.stream
    operation = "WRITE"
    parameters: dict[str, object] = {"mode": _MODE_NAMES[options.mode], "partitionBy": list(options.partition_by or ())}
    if options.cluster_by is not None:
        parameters["clusterBy"] = names_of(options.cluster_by)
    if options.replace_where is not None:
        parameters["predicate"] = options.replace_where
    if options.replace_on is not None:
        parameters["replaceOnCond"] = options.replace_on
    if options.replace_using is not None:
        parameters["replaceUsingCols"] = f"({','.join(options.replace_using)})"
    parameters |= how_written(request, snapshot)
    if stream is not None:
        operation = "STREAMING UPDATE"
        parameters = {"outputMode": stream.output_mode, "queryId": stream.query_id, "epochId": str(stream.epoch)}
    if statement is not None:
        operation = statement.operation
    transaction = session_transaction(
        application,
        spark,
        log,
        snapshot,
        operation,
        parameters,
        settings=settings,
        user_metadata=options.user_metadata,
        txn=options.txn,
        replaces_table=snapshot is not None and request.replaces_table,
    )
    creates_all = snapshot is None and options.mode == "overwrite" and not options.replaces_a_part
    if creates_all or (stream is not None and stream.reads_itself):
        transaction.read_whole_table()
    return transaction


def how_written(request: WriteRequest, snapshot: Snapshot | None) -> dict[str, object]:
    """Return the write mode for the history.

    Args:
        snapshot: the table; None if it does not exist.
    """
    options, statement = request.options, request.context.statement
    if options.mode == "error":
        return {}
    has_partitions = options.partition_by or (snapshot is not None and snapshot.partition_columns)
    facts = {
        "isV1SaveAsTableOverwrite": statement is not None and statement.overwrites,
        "isDynamicPartitionOverwrite": options.dynamic_partitions and has_partitions and not request.replaces_table,
        "canOverwriteSchema": options.overwrite_schema,
        "canMergeSchema": options.merge_schema,
    }
    return {name: True for name, is_so in facts.items() if is_so}
