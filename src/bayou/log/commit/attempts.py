# SPDX-License-Identifier: Apache-2.0
"""The commit loop: put the next version if absent; if it is taken, read the winning commits and decide; repeat."""

from __future__ import annotations

import contextlib
import enum
import random
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import ConcurrentModificationError, CorruptLogError, DeltaError, StorageError, TableNotFoundError, failed, reason
from bayou.log import events
from bayou.log.actions.commit_info import read_commit_info
from bayou.log.commit.outcomes import CommitOutcome, Committed, Conflicted, Unchanged, Unknown
from bayou.log.conflict.checker import resolve
from bayou.log.conflict.winning_commits import CommitsGoneError, WinningCommit, read_winning_commits
from bayou.log.segment.listing import LogListing, list_versions
from bayou.log.segment.segment import earliest_version
from bayou.protocol.actions.file_names import commit_path
from bayou.storage.store import FileStatus

if TYPE_CHECKING:
    from bayou.log.commit.prepared import PreparedCommit
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot

_STORE_ATTEMPTS: Final = 3
"""The most retries of a put that failed and did not land."""
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.2
# The facts of a conflict with no single winning commit.
_NO_ONE_TO_BLAME: Final[Mapping[str, Any]] = {
    "conflicting_version": None,
    "conflicting_operation": None,
    "conflicting_timestamp": None,
    "conflicting_commit": {},
    "files": (),
    "num_files": 0,
}


class CommitLoop:
    """The attempts of one commit.

    Attributes:
        is_abandoned: whether the loop gave up while certainly no commit of it was in the log.
    """

    def __init__(self, log: LogReader, commit: PreparedCommit, txn: tuple[str, int] | None) -> None:
        """Prepare the attempts. `txn` is an application id and a version, for which there is only one commit."""
        self.is_abandoned = False
        self._is_unanswered = False  # whether a put for this version failed without an answer, so that it may have landed
        self._log = log
        self._commit = commit
        self._provenance = commit.provenance
        self._txn = txn
        self._started = time.monotonic()
        # The fields of every event of this commit.
        self._facts: dict[str, Any] = {
            "table": log.table_uri,
            "operation": commit.provenance.operation,
            "txn_id": commit.provenance.txn_id,
        }

    def run(self, max_attempts: int, metrics: Mapping[str, object] | None) -> CommitOutcome:
        """Try until there is an outcome."""
        state = self._commit.base
        for attempt in range(1, max_attempts + 1):
            version = state.version + 1
            try:
                data = self._commit.encode(state, version, metrics)
            except BaseException:
                self.is_abandoned = True  # every put so far was answered
                raise
            winning_commits = self._race(version, data, attempt)
            if not isinstance(winning_commits, list):
                return winning_commits
            self._emit_winning_commit(winning_commits[0], attempt)
            try:
                state = resolve(self._commit.intent, state, winning_commits)
            except ConcurrentModificationError as error:
                if self._is_replay(winning_commits):
                    return Unchanged(winning_commits[-1].version, "replayed")
                return self._conflicted(error, attempt)
            except BaseException:
                # No other put was started: no commit can name the files that were written for this one.
                self.is_abandoned = True
                raise
            if attempt < max_attempts:
                self._pause(state.version + 1, attempt, "nothing that matters was changed")
        return self._conflicted(self._too_many(max_attempts), max_attempts)

    def _race(self, version: int, data: bytes, attempt: int) -> list[WinningCommit] | CommitOutcome:
        """Try to commit a version. Return the outcome, or the winning commits if it is taken."""
        try:
            # A version that this process has seen is taken, even if log cleanup has deleted its file.
            won = version > self._log.known_version and self._put(version, data)
            winning_commits = [] if won else self._winning_commits(version)
        except CommitsGoneError as error:
            if self._is_unanswered:  # the file that exists may be ours
                return self._unknown(version, failed("commits-cleaned-up", table=self._log.table_uri, latest=error.latest), attempt)
            return self._conflicted(self._cleaned_up(version, error.latest), attempt)
        except StorageError as error:
            if error.facts.get("is_refused") and not self._is_unanswered:
                self.is_abandoned = True  # the store says that it did nothing
                raise
            return self._unknown(version, error, attempt)
        ours = next((each.version for each in winning_commits if each.info.txn_id == self._provenance.txn_id), None)
        if won or ours is not None:
            return self._landed(version if ours is None else ours, attempt, data, won=won)
        self._is_unanswered = False
        return winning_commits

    def _put(self, version: int, data: bytes) -> bool:
        """Put the commit if its version is free. Return False if a file has this version.

        After a put without an answer, that file may be ours. Such a put is retried only while the version stays free.
        """
        failures = 0
        while True:
            try:
                return self._log.store.put_if_absent(commit_path(version), data)
            except StorageError as error:
                # The store certainly wrote nothing, now and before. An earlier put without an answer may still arrive.
                if error.facts.get("is_refused") and not failures:
                    raise
                failures += 1
                self._is_unanswered = True
                try:
                    # Reading an existing version shows whether it is ours.
                    self._log.store.size(commit_path(version))
                except FileNotFoundError:
                    if failures >= _STORE_ATTEMPTS:
                        raise error from None
                    self._pause(version, failures, "the store failed")
                else:
                    return False

    def _winning_commits(self, version: int) -> list[WinningCommit]:
        try:
            winning_commits = read_winning_commits(self._log, version)
        except (CorruptLogError, FileNotFoundError) as error:
            raise failed("commits-unreadable", table=self._log.table_uri, first=version, reason=reason(error)) from error
        if not winning_commits:
            raise failed("commit-not-listed", table=self._log.table_uri, version=version, file=commit_path(version))
        return winning_commits

    def _landed(self, version: int, attempt: int, data: bytes, *, won: bool) -> CommitOutcome:
        """Return the outcome of a commit whose file the store has created.

        The store's answer is not sufficient: log cleanup may have deleted the version before the put (LATE) or after it (GONE).

        Args:
            won: whether the put was answered. Otherwise a listing showed that the commit is in the log.

        Raises:
            DeltaError: the commit is final, but the store does not list it.
        """
        status, latest = Standing.HELD, -1
        try:
            found = self._log.update({commit_path(version): data} if won else None)
            latest = found.version
            status = standing(self._log, found, version)
        except TableNotFoundError:  # the listing is empty: reported below
            pass
        except Exception:  # noqa: BLE001  (the commit is final; the next reader of the log reports the problem)
            return self._committed(version, attempt, data)
        if status is Standing.LATE:
            remove_late(self._log, version, self._provenance.txn_id)
            if self._is_unanswered:  # an earlier put may have landed in time, and cleanup may have deleted it since
                return self._unknown(version, failed("commit-after-cleanup", table=self._log.table_uri), attempt)
            return self._conflicted(self._cleaned_up(version, latest), attempt)
        if status is Standing.GONE:
            return self._unknown(version, failed("commit-gone", table=self._log.table_uri, version=version), attempt)
        committed = self._committed(version, attempt, data)
        if latest < version:
            raise self._not_listed(version, latest)
        return committed

    def _committed(self, version: int, attempt: int, data: bytes) -> Committed:
        events.emit(
            events.CommitEvent(
                **self._facts,
                version=version,
                read_version=self._commit.read_version,
                attempts=attempt,
                duration_seconds=time.monotonic() - self._started,
                num_actions=data.count(b"\n") - 1,
                size_bytes=len(data),
            )
        )
        return Committed(version, attempt, self._commit.metrics)

    def _not_listed(self, version: int, latest: int) -> DeltaError:
        return failed(
            "DELTA_INVALID_COMMITTED_VERSION",
            table=self._log.table_uri,
            version=version,
            file=commit_path(version),
            listing="is empty" if latest < 0 else f"ends at version {latest}",
            outcome="committed",
            txn_id=self._provenance.txn_id,
        )

    def _cleaned_up(self, version: int, latest: int) -> DeltaError:
        return failed(
            "DELTA_CONCURRENT_WRITE/commits-gone",
            table=self._log.table_uri,
            version=latest,
            operation=self._provenance.operation,
            taken=version,
            **_NO_ONE_TO_BLAME,
        )

    def _is_replay(self, winning_commits: list[WinningCommit]) -> bool:
        """Whether a winning commit has the same application's version, or a later one."""
        if self._txn is None:
            return False
        app_id, version = self._txn
        done = (winning.header.transactions.get(app_id) for winning in winning_commits)
        return any(each is not None and each.version >= version for each in done)

    def _emit_winning_commit(self, winning: WinningCommit, attempt: int) -> None:
        events.emit(
            events.WinningCommitEvent(
                **self._facts,
                version=winning.version,
                attempt=attempt,
                winning_operation=winning.info.operation,
                winning_txn_id=winning.info.txn_id,
            )
        )

    def _conflicted(self, error: DeltaError, attempts: int) -> Conflicted:
        events.emit(
            events.ConflictEvent(
                **self._facts,
                version=error.version,
                attempts=attempts,
                error_class=error.error_class,
                reason=error.message,
                winning_operation=error.facts.get("conflicting_operation"),
                duration_seconds=time.monotonic() - self._started,
            )
        )
        return Conflicted(error)

    def _unknown(self, version: int, error: DeltaError, attempts: int) -> Unknown:
        events.emit(events.UnknownOutcomeEvent(**self._facts, version=version, attempts=attempts, error=error.message))
        unknown = failed(
            "outcome-unknown",
            table=self._log.table_uri,
            version=version,
            file=commit_path(version),
            reason=reason(error),
            outcome="unknown",
            txn_id=self._provenance.txn_id,
        )
        unknown.__cause__ = error
        return Unknown(unknown)

    def _too_many(self, attempts: int) -> DeltaError:
        return failed(
            "DELTA_MAX_COMMIT_RETRIES_EXCEEDED",
            table=self._log.table_uri,
            operation=self._provenance.operation,
            attempts=attempts,
            **_NO_ONE_TO_BLAME,
        )

    def _pause(self, version: int, attempt: int, reason: str) -> None:
        wait = random.uniform(0, min(_FIRST_PAUSE * 2 ** min(attempt, 16), _LONGEST_PAUSE))  # noqa: S311  (jitter needs no secret source)
        events.emit(events.RetryEvent(**self._facts, version=version, attempt=attempt + 1, wait_seconds=wait, reason=reason))
        time.sleep(wait)


class Standing(enum.Enum):
    """The status of a commit after its put."""

    HELD = "a version of the table"
    LATE = "a file that no version of the table holds"
    GONE = "not there any more, and older than every version that can be recreated"


def standing(log: LogReader, latest: Snapshot, version: int) -> Standing:
    """Return the status of a commit after its put. Log cleanup may have deleted its version if the writer was suspended for long.

    The file of a late commit is in the log's folder, but in no version of the table: it is newer than a checkpoint of a later
    version. A listing before the put is not sufficient: the process may be suspended between the two, the store may answer the put
    late, and the clock of the cleanup may be wrong. Only times of the store are compared.

    Lists the log only if a checkpoint of this or a later version exists, which is rare right after the commit.

    Args:
        latest: the table's latest version, as listed after the put.
    """
    checkpoint = latest.segment.checkpoint
    if checkpoint is None or checkpoint.version < version:
        return Standing.HELD
    listing = list_versions(log.store)
    first, ours = earliest_version(listing), listing.commits.get(version)
    if first is None or version >= first:
        return Standing.HELD
    if ours is None:
        return Standing.GONE
    return Standing.LATE if _is_newer(ours, listing, version) else Standing.HELD


def remove_late(log: LogReader, version: int, txn_id: str) -> None:
    """Delete the commit of a version if it is the given one. Readers ignore it if it stays."""
    with contextlib.suppress(DeltaError, OSError):
        path = commit_path(version)
        info = read_commit_info(log.store, FileStatus(path, 0, 0), version, log.table_uri)
        if info is not None and info.txn_id == txn_id:
            log.store.delete(path)


def _is_newer(commit: FileStatus, listing: LogListing, version: int) -> bool:
    """Whether a commit is newer than a checkpoint of its version or a later one."""
    later = (found for found in listing.checkpoints if found.version >= version)
    return any(max(each.modification_time for each in found.files) < commit.modification_time for found in later)
