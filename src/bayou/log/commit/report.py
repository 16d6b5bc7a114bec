# SPDX-License-Identifier: Apache-2.0
"""The events of one commit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bayou.log import events

if TYPE_CHECKING:
    from bayou.errors import ConcurrentModificationError, StorageError
    from bayou.log.conflict.winning_commits import Winner


class CommitReport:
    """Tells what happens to one commit, from its first attempt on."""

    def __init__(self, table: str, operation: str, txn_id: str, read_version: int | None) -> None:
        self._table = table
        self._operation = operation
        self._txn_id = txn_id
        self._read_version = read_version
        self._started = time.monotonic()

    def committed(self, version: int, attempts: int, num_actions: int, size: int) -> None:
        """The commit is in the log."""
        events.emit(
            events.CommitEvent(
                table=self._table,
                version=version,
                operation=self._operation,
                txn_id=self._txn_id,
                read_version=self._read_version,
                attempts=attempts,
                duration_seconds=self._seconds(),
                num_actions=num_actions,
                size_bytes=size,
            )
        )

    def lost(self, winner: Winner, attempt: int) -> None:
        """Another writer was first."""
        events.emit(
            events.LostRaceEvent(
                table=self._table,
                version=winner.version,
                operation=self._operation,
                txn_id=self._txn_id,
                attempt=attempt,
                winning_operation=winner.info.operation,
                winning_txn_id=winner.info.txn_id,
            )
        )

    def retried(self, version: int, attempt: int, wait_seconds: float, reason: str) -> None:
        """It will be tried again."""
        events.emit(
            events.RetryEvent(
                table=self._table,
                version=version,
                operation=self._operation,
                txn_id=self._txn_id,
                attempt=attempt,
                wait_seconds=wait_seconds,
                reason=reason,
            )
        )

    def conflicted(self, error: ConcurrentModificationError, attempts: int) -> None:
        """It was given up."""
        events.emit(
            events.ConflictEvent(
                table=self._table,
                version=error.version,
                operation=self._operation,
                txn_id=self._txn_id,
                attempts=attempts,
                error_class=error.error_class,
                reason=error.message,
                winning_operation=error.facts.get("conflicting_operation"),
                duration_seconds=self._seconds(),
            )
        )

    def unknown(self, version: int, error: StorageError, attempts: int) -> None:
        """Whether it is in the log is not known."""
        events.emit(
            events.UnknownOutcomeEvent(
                table=self._table,
                version=version,
                operation=self._operation,
                txn_id=self._txn_id,
                attempts=attempts,
                error=error.message,
            )
        )

    def _seconds(self) -> float:
        return time.monotonic() - self._started
