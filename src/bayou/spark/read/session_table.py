# SPDX-License-Identifier: Apache-2.0
"""Provide a table on a session, the object that every operation works on: its snapshots, transactions and rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bayou.errors import redact_uri
from bayou.log.commit.transaction import MAX_ATTEMPTS, Transaction
from bayou.protocol.features.features import check_writable
from bayou.spark.read.file_rows import file_rows
from bayou.spark.read.reader import read as read_request
from bayou.spark.read.request import TableRequest
from bayou.spark.session.session_transaction import session_transaction

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.commit.transaction import Action
    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.own_frames import OwnFrames
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class SessionTable:
    """A table that a session reads and changes.

    Attributes:
        options: settings of the file system.
        settings: the session's settings.
        name: its name in the catalog; None if it was opened by its path.
        frames: the DataFrames that `DeltaTable.toDF` returned, whose columns statements may use; None without a `DeltaTable`.
    """

    application: Application
    spark: SparkSession
    uri: str
    options: Mapping[str, str] = field(repr=False)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    name: str | None = None
    frames: OwnFrames | None = field(default=None, repr=False)

    @classmethod
    def of(cls, application: Application, spark: SparkSession, uri: str, options: Mapping[str, str]) -> SessionTable:
        """Return the table, with the current settings of the session."""
        return cls(application, spark, uri, dict(options), application.backend.settings(spark))

    @property
    def shown(self) -> str:
        """The table's name, or its path without secrets, for messages."""
        return self.name or redact_uri(self.uri)

    @property
    def log(self) -> DeltaLog:
        """The table's log."""
        return self.application.logs.get(self.uri, self.options)

    def snapshot(self) -> Snapshot:
        """Return the table's latest snapshot.

        Raises:
            TableNotFoundError: the table does not exist.
            UnsupportedFeatureError: the table needs a writer feature that bayou does not support.
        """
        snapshot = self.log.update()
        check_writable(snapshot.protocol, snapshot.metadata, snapshot.table_uri, snapshot.version)
        return snapshot

    def begin(
        self,
        snapshot: Snapshot,
        operation: str,
        parameters: Mapping[str, Any],
        *,
        max_attempts: int = MAX_ATTEMPTS,
        dropped_features: Collection[str] = (),
        txn: tuple[str, int] | None = None,
    ) -> Transaction:
        """Begin a transaction on a snapshot. Within its block, `rows` reads that snapshot.

        Args:
            dropped_features: the features that the commit removes from the protocol.
            txn: the application id and version of an idempotent operation (the `txn` action), or None.
        """
        return session_transaction(
            self.application,
            self.spark,
            self.log,
            snapshot,
            operation,
            parameters,
            settings=self.settings,
            max_attempts=max_attempts,
            dropped_features=dropped_features,
            txn=txn,
        )

    def commit(
        self,
        snapshot: Snapshot,
        operation: str,
        parameters: Mapping[str, Any],
        actions: Sequence[Action],
        *,
        reads_table: bool = False,
    ) -> None:
        """Commit actions on a snapshot. A no-op without actions.

        Args:
            reads_table: whether the actions depend on which files the table has.

        Raises:
            ConcurrentModificationError: a winning commit conflicts; the error names it.
        """
        if not actions:
            return
        with self.begin(snapshot, operation, parameters) as transaction:
            if reads_table:
                transaction.read_whole_table()
            transaction.commit(actions, metrics={})
        self.refresh_caches()

    def refresh_caches(self) -> None:
        """Refresh the DataFrames of this table in Spark's cache, so that they show its new version."""
        self.application.backend.refresh_caches(self.spark, self.log, self.options)

    def rows(self) -> DataFrame:
        """Return the table's rows. Inside a transaction, return the rows of the snapshot that the transaction reads.

        Alterations check all rows. Therefore a file that cannot be read is an error, even if the session ignores such files.
        """
        if not self.application.backend.is_native:
            snapshot = self.application.snapshot(self.uri, self.options)
            return file_rows(self.application, self.spark, snapshot, snapshot.schema.fields, options=self.options)
        request = TableRequest(self.uri, None, None, dict(self.options), reads_every_file=True)
        return read_request(self.application, self.spark, request)
