# SPDX-License-Identifier: Apache-2.0
"""A table on a session: its state, transactions on top of it, and its rows as one version has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bayou.errors import redact_uri
from bayou.log.commit.transaction import MAX_ATTEMPTS, Transaction
from bayou.protocol.features.features import check_writable
from bayou.spark.jvm.core.session import refresh_caches, settings_of
from bayou.spark.read.reader import read as read_request
from bayou.spark.read.request import TableRequest
from bayou.spark.session.session_transaction import session_transaction

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.commit.transaction import Action
    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class SessionTable:
    """A table that a session reads and changes.

    Attributes:
        application: the application.
        spark: the session.
        uri: the table's URI.
        options: settings of the file system.
        settings: the session's settings.
        name: its name in the catalog; None if it was asked for by its path.
    """

    application: Application
    spark: SparkSession
    uri: str
    options: Mapping[str, str] = field(repr=False)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    name: str | None = None

    @classmethod
    def of(
        cls, application: Application, spark: SparkSession, uri: str, options: Mapping[str, str], name: str | None = None
    ) -> SessionTable:
        """The table, with the settings that the session has now."""
        return cls(application, spark, uri, dict(options), settings_of(spark), name)

    @property
    def shown(self) -> str:
        """Its name, or its path without secrets."""
        return self.name or redact_uri(self.uri)

    @property
    def log(self) -> DeltaLog:
        """The table's log."""
        return self.application.logs.get(self.uri, self.options)

    def snapshot(self) -> Snapshot:
        """The table's latest state.

        Raises:
            TableNotFoundError: there is no table.
            UnsupportedFeatureError: the table asks its writers for what bayou does not do.
        """
        found = self.log.update()
        check_writable(found.protocol, found.metadata, found.table_uri, found.version)
        return found

    def begin(
        self,
        snapshot: Snapshot,
        operation: str,
        parameters: Mapping[str, Any],
        *,
        max_attempts: int = MAX_ATTEMPTS,
        dropped_features: Collection[str] = (),
    ) -> Transaction:
        """A transaction on top of a state; inside of its block, `rows` are those of that state.

        Args:
            max_attempts: how many versions to try before giving up.
            dropped_features: the features that the commit takes from the protocol.
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
        """Commits actions on top of a state; where there are none, nothing is committed.

        Args:
            reads_table: whether they depend on which files the table has.

        Raises:
            ConcurrentModificationError: another writer committed something that excludes this; the error names it.
        """
        if not actions:
            return
        with self.begin(snapshot, operation, parameters) as transaction:
            if reads_table:
                transaction.read_whole_table()
            transaction.commit(actions, metrics={})
        self.refresh_caches()

    def refresh_caches(self) -> None:
        """Lets cached DataFrames of the table be those of its new version."""
        refresh_caches(self.spark, self.log, self.application.jvm, self.options)

    def rows(self) -> DataFrame:
        """The table's rows; inside of a transaction those that it reads.

        What an alteration does depends on all of them: a file that cannot be read is an error, whatever the session says.
        """
        request = TableRequest(self.uri, None, None, dict(self.options), reads_every_file=True)
        return read_request(self.application, self.spark, request)
