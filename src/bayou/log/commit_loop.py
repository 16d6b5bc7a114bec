# SPDX-License-Identifier: Apache-2.0
"""The loop of a commit: prepare, put if absent, on a loss read the winners and decide, until there is an outcome."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import (
    ConcurrentModificationError,
    ConcurrentWriteException,
    CorruptLogError,
    StorageError,
    TableNotFoundError,
)
from bayou.log.commit_checks import check_staged
from bayou.log.commit_info import COUNTABLE_TAG
from bayou.log.commit_report import CommitReport
from bayou.log.conflict import CommitIntent, TableState, resolve
from bayou.log.isolation import IsolationLevel
from bayou.log.late_commits import Standing, standing, withdraw
from bayou.log.metadata_tags import metadata_tags
from bayou.log.outcomes import CommitOutcome, Committed, Conflicted, Unchanged, Unknown
from bayou.log.row_tracking import NO_ROW_ID, PRESERVED_TAG, high_water_mark, tracks_rows, with_row_ids
from bayou.log.staged import StagedActions, encode_line
from bayou.log.timestamps import InCommitTimestamps
from bayou.log.winners import CommitsGoneError, Winner, read_winners
from bayou.protocol import properties
from bayou.protocol.features import writer_features
from bayou.protocol.file_names import commit_path
from bayou.protocol.identity_columns import high_water_marks, identity_columns
from bayou.protocol.schema import parse_schema

if TYPE_CHECKING:
    from bayou.log.deleted_rows import DeletedRows
    from bayou.log.delta_log import DeltaLog
    from bayou.log.reads import ReadSet
    from bayou.log.snapshot import Snapshot
    from bayou.protocol.actions import Metadata

_STORE_ATTEMPTS: Final = 3
"""How often a put is tried again that failed and did not land."""
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.2

# The facts of a conflict that no single commit is to blame for.
_NO_ONE_TO_BLAME: Final[Mapping[str, Any]] = {
    "conflicting_version": None,
    "conflicting_operation": None,
    "conflicting_timestamp": None,
    "conflicting_commit": {},
    "files": (),
    "num_files": 0,
}


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who commits what, for the history.

    Attributes:
        operation: the operation's name.
        parameters: its parameters.
        engine_info: who writes.
        user_metadata: the user's own note.
        txn_id: the commit's unique name, by which it is found again.
    """

    operation: str
    parameters: Mapping[str, Any]
    engine_info: str
    user_metadata: str | None
    txn_id: str


class CommitLoop:
    """The attempts of one commit.

    Attributes:
        staged: its actions, as the last attempt wrote them.
        commit_info: its provenance, as the last attempt wrote it.
        configuration: the table's properties, as the last attempt found or set them.
        is_abandoned: whether a race was lost, and what has to be known of the winners could not be found out.
    """

    def __init__(
        self,
        log: DeltaLog,
        snapshot: Snapshot | None,
        reads: ReadSet,
        staged: StagedActions,
        provenance: Provenance,
        *,
        clock: Callable[[], float],
        txn: tuple[str, int] | None,
        new_files: bool = False,
        rows: DeletedRows | None = None,
        dropped_features: Collection[str] = (),
        replaces_table: bool = False,
        keeps_row_ids: bool = False,
    ) -> None:
        # The rules for rows are others than those for files that are removed and added.
        self._beside_rows, self._first_rows, self._rows = staged, rows, rows
        staged = staged if rows is None else rows.applied(staged)
        self.staged = staged
        self.commit_info: dict[str, Any] = {}
        self.configuration: Mapping[str, str] = {}
        self.is_abandoned = False
        self._metrics: Mapping[str, object] | None = None
        self._is_unanswered = False
        self._log = log
        self._snapshot = snapshot
        self._reads = reads
        self._staged = staged
        self._new_files = new_files
        self._keeps_row_ids = keeps_row_ids or not staged.moves_rows_without_ids
        self._provenance = provenance
        self._clock = clock
        self._txn = txn
        self._base = TableState(-1, None, None) if snapshot is None else replace(_state_of(snapshot, staged), rows=rows)
        check_staged(staged, self._base, log.table_uri, dropped_features=dropped_features, replaces_table=replaces_table)
        self._intent = self._made_intent()
        # Files that remove_files takes are live ones, and no winner has removed them; so are those that rows are deleted of.
        self._countable = (new_files or not self._beside_rows.adds) and not self._beside_rows.removes
        self._file_lines = staged.file_lines()
        read_version = None if snapshot is None else snapshot.version
        self._report = CommitReport(log.table_uri, provenance.operation, provenance.txn_id, read_version)

    def run(self, max_attempts: int, metrics: Mapping[str, object] | None) -> CommitOutcome:
        """Try until there is an outcome."""
        state = self._base
        for attempt in range(1, max_attempts + 1):
            version = state.version + 1
            try:
                data = self._encode(state, version, metrics)
            except BaseException:
                self.is_abandoned = True  # no put has begun that is not answered
                raise
            winners = self._race(version, data, attempt)
            if not isinstance(winners, list):
                return winners
            self._report.lost(winners[0], attempt)
            try:
                state = resolve(self._intent, state, winners)
            except ConcurrentModificationError as error:
                if self._is_replay(winners):
                    return Unchanged(winners[-1].version, "replayed")
                return self._conflicted(error, attempt)
            except BaseException:
                # No other put has begun: nothing can name what was written for the commit any more.
                self.is_abandoned = True
                raise
            if attempt < max_attempts:
                self._pause(state.version + 1, attempt, "nothing that matters was changed")
        return self._conflicted(self._too_many(max_attempts), max_attempts)

    def _race(self, version: int, data: bytes, attempt: int) -> list[Winner] | CommitOutcome:
        """Try for a version: the outcome, or those who have won it and what comes behind it."""
        try:
            # A version that this process has seen is taken, though a cleanup may have made its name free again.
            won = version > self._log.known_version and self._put(version, data)
            winners = [] if won else self._winners(version)
        except CommitsGoneError as error:
            if self._is_unanswered:  # what was there may have been ours
                lost = f"the commits from there to {error.latest} were cleaned up before they could be looked at"
                return self._unknown(version, StorageError(lost, table=self._log.table_uri), attempt)
            return self._conflicted(self._cleaned_up(version, error.latest), attempt)
        except StorageError as error:
            return self._unknown(version, error, attempt)
        ours = next((each.version for each in winners if each.info.txn_id == self._provenance.txn_id), None)
        if won or ours is not None:
            return self._landed(version if ours is None else ours, attempt, data)
        self._is_unanswered = False
        return winners

    def _made_intent(self) -> CommitIntent:
        staged, table = self._staged, self._log.table_uri
        metadata = staged.metadata or self._base.metadata
        level = IsolationLevel.of(metadata.configuration if metadata is not None else {})
        return CommitIntent(
            table=table,
            operation=self._provenance.operation,
            reads=self._reads,
            isolation=IsolationLevel.SNAPSHOT if staged.changes_no_data else level,
            changes_protocol=staged.protocol is not None,
            changes_metadata=staged.metadata is not None,
            app_ids=frozenset(self._reads.app_ids).union(each.app_id for each in staged.transactions),
            domains=frozenset(each.domain for each in staged.domains),
            # No other commit can add or remove a file whose name was made for this one.
            added=StagedActions().added_paths(table) if self._new_files else self._beside_rows.added_paths(table),
            removed=self._beside_rows.removed_paths(table),
            generated=_generated(self._base.metadata, staged.metadata),
        )

    def _encode(self, state: TableState, version: int, metrics: Mapping[str, object] | None) -> bytes:
        now = int(self._clock() * 1000)
        if state.rows is not None and state.rows is not self._rows:
            self._rows, self._staged = state.rows, state.rows.applied(self._beside_rows)
            self._file_lines = self._staged.file_lines()
        if metrics is not None and self._rows is not None and self._first_rows is not None:
            metrics = self._rows.corrected(metrics, self._first_rows)
        self._metrics = metrics
        current = self._staged.metadata or state.metadata
        carries = current is not None and InCommitTimestamps.of(current.configuration).enabled
        stamp = max(now, (state.timestamp or 0) + 1) if carries else None
        staged = self._staged if stamp is None else self._staged.enabling_timestamps(self._base, version, stamp)
        staged = staged.noting_type_changes(self._base, version)
        file_lines = self._file_lines
        if tracks_rows(staged.protocol or state.protocol, current):
            staged = with_row_ids(staged, state.row_id_mark, version, self._log.table_uri)
            file_lines = staged.file_lines()
        self.staged = staged
        self.commit_info = self._info(now, stamp, metrics)
        self.configuration = {} if current is None else current.configuration
        lines = [encode_line({"commitInfo": self.commit_info}), *self.staged.header_lines(), *file_lines]
        return b"\n".join([*lines, b""])

    def _info(self, now: int, stamp: int | None, metrics: Mapping[str, object] | None) -> dict[str, Any]:
        provenance = self._provenance
        info: dict[str, Any] = {} if stamp is None else {"inCommitTimestamp": stamp}
        info["timestamp"] = now
        info["operation"] = provenance.operation
        info["operationParameters"] = {name: _parameter(value) for name, value in provenance.parameters.items()}
        if self._snapshot is not None:
            info["readVersion"] = self._snapshot.version
        info["isolationLevel"] = self._intent.isolation.value
        info["isBlindAppend"] = self._rows is None and self._staged.only_adds and not self._reads.has_read_files
        if metrics is not None:
            info["operationMetrics"] = {name: str(value) for name, value in metrics.items()}
        if provenance.user_metadata is not None:
            info["userMetadata"] = provenance.user_metadata
        info |= {"engineInfo": provenance.engine_info, "txnId": provenance.txn_id}
        tags = self._tags()
        return {**info, "tags": tags} if tags else info

    def _tags(self) -> dict[str, str]:
        staged, before = self._staged, self._base.metadata
        tags = {COUNTABLE_TAG: "true"} if (staged.adds or staged.removed_files) and self._countable else {}
        if before is None:
            return tags
        after = staged.metadata or before
        if all(properties.ENABLE_ROW_TRACKING.read(each.configuration) for each in (before, after)):
            tags[PRESERVED_TAG] = "true" if self._keeps_row_ids else "false"
        return tags | metadata_tags(before, after)

    def _put(self, version: int, data: bytes) -> bool:
        """Put the commit if its version is free; a put that failed is looked for in the log, and tried again if it is not there.

        Raises:
            StorageError: it keeps failing.
        """
        failures = 0
        while True:
            try:
                return self._log.store.put_if_absent(commit_path(version), data)
            except StorageError as error:
                failures += 1
                self._is_unanswered = True
                try:
                    # A version that is there is won or lost; reading it tells.
                    self._log.store.size(commit_path(version))
                except FileNotFoundError:
                    if failures >= _STORE_ATTEMPTS:
                        raise error from None
                    self._pause(version, failures, "the store failed")
                else:
                    return False

    def _winners(self, version: int) -> list[Winner]:
        try:
            winners = read_winners(self._log, version)
        except (CorruptLogError, FileNotFoundError) as error:
            raise StorageError(
                f"the commits from version {version} on cannot be read: {error}", table=self._log.table_uri
            ) from error
        if not winners:
            raise StorageError(
                f"the store says that version {version} exists, and does not list it",
                table=self._log.table_uri,
                version=version,
                file=commit_path(version),
            )
        return winners

    def _landed(self, version: int, attempt: int, data: bytes) -> CommitOutcome:
        """What a commit is worth whose file is in the log."""
        size = (data.count(b"\n") - 1, len(data))
        worth, latest, listed = Standing.HELD, version, True
        try:
            found = self._log.update()
            latest, listed = found.version, found.version >= version
            worth = standing(self._log, found, version)
        except TableNotFoundError:
            latest, listed = -1, False
        except Exception:  # noqa: BLE001  (the commit stands; what is wrong is told to whoever reads the log next)
            self._report.committed(version, attempt, *size)
            return Committed(version, attempt, self._metrics)
        if worth is Standing.LATE:
            withdraw(self._log, version, self._provenance.txn_id)
            if self._is_unanswered:  # an earlier put may have been in time, and cleaned up since
                lost = "the log begins after it, and an earlier attempt at it had no answer"
                return self._unknown(version, StorageError(lost, table=self._log.table_uri), attempt)
            return self._conflicted(self._cleaned_up(version, latest), attempt)
        if worth is Standing.GONE:
            gone = f"the log begins after version {version}, and the commit is not there any more"
            return self._unknown(version, StorageError(gone), attempt)
        self._report.committed(version, attempt, *size)
        if not listed:
            raise self._not_listed(version, latest)
        return Committed(version, attempt, self._metrics)

    def _not_listed(self, version: int, latest: int) -> StorageError:
        ends = "is empty" if latest < 0 else f"ends at version {latest}"
        return StorageError(
            f"version {version} was committed and its rows are in the table, but the listing of the log {ends}",
            table=self._log.table_uri,
            version=version,
            file=commit_path(version),
            error_class="DELTA_INVALID_COMMITTED_VERSION",
            sql_state="XXKDS",
            next_step="The commit stands: do not write the rows again. Find out why the store lists old contents first.",
            outcome="committed",
            txn_id=self._provenance.txn_id,
        )

    def _cleaned_up(self, version: int, latest: int) -> ConcurrentModificationError:
        return ConcurrentWriteException(
            f"{self._provenance.operation} was not committed: another commit made version {version}, which the log does not "
            f"hold any more. Whether the versions from there to {latest} matter cannot be known",
            table=self._log.table_uri,
            version=latest,
            next_step="Run the operation again; commit sooner after reading, or raise delta.logRetentionDuration.",
            **_NO_ONE_TO_BLAME,
        )

    def _is_replay(self, winners: list[Winner]) -> bool:
        """Whether one of the winners is the same application's commit of the same version, or of a later one."""
        if self._txn is None:
            return False
        app_id, version = self._txn
        done = (winner.header.transactions.get(app_id) for winner in winners)
        return any(each is not None and each.version >= version for each in done)

    def _conflicted(self, error: ConcurrentModificationError, attempts: int) -> Conflicted:
        self._report.conflicted(error, attempts)
        return Conflicted(error)

    def _unknown(self, version: int, error: StorageError, attempts: int) -> Unknown:
        self._report.unknown(version, error, attempts)
        unknown = StorageError(
            f"the store failed while writing version {version}, and whether it was written is not known: {error.message}",
            table=self._log.table_uri,
            version=version,
            file=commit_path(version),
            next_step=f"Look for txnId {self._provenance.txn_id} in the history; if it is there, the commit succeeded.",
            outcome="unknown",
            txn_id=self._provenance.txn_id,
        )
        unknown.__cause__ = error
        return Unknown(unknown)

    def _too_many(self, attempts: int) -> ConcurrentModificationError:
        return ConcurrentWriteException(
            f"{self._provenance.operation} lost {attempts} races for the next version",
            table=self._log.table_uri,
            error_class="DELTA_MAX_COMMIT_RETRIES_EXCEEDED",
            sql_state="40000",
            next_step="Run it again when fewer writers are at work, or allow more attempts (max_attempts).",
            **_NO_ONE_TO_BLAME,
        )

    def _pause(self, version: int, attempt: int, reason: str) -> None:
        wait = random.uniform(0, min(_FIRST_PAUSE * 2 ** min(attempt, 16), _LONGEST_PAUSE))  # noqa: S311  (jitter is no secret)
        self._report.retried(version, attempt + 1, wait, reason)
        time.sleep(wait)


def _state_of(snapshot: Snapshot, staged: StagedActions) -> TableState:
    configurations = [each.configuration for each in (snapshot.metadata, staged.metadata) if each is not None]
    carries = any(InCommitTimestamps.of(each).enabled for each in configurations)
    timestamp = snapshot.timestamp if carries else None
    # Only a table with the feature has its checkpoint read for the mark.
    tracks = "rowTracking" in writer_features(snapshot.protocol)
    mark = high_water_mark(snapshot.domain_metadata) if tracks else NO_ROW_ID
    return TableState(snapshot.version, snapshot.protocol, snapshot.metadata, timestamp, row_id_mark=mark)


def _generated(before: Metadata | None, after: Metadata | None) -> frozenset[str]:
    """The identity columns that a commit generated numbers for: it moves their marks, in metadata of its own."""
    if before is None or after is None:
        return frozenset()
    schema = parse_schema(after.schema_string)
    old, new = high_water_marks(parse_schema(before.schema_string)), high_water_marks(schema)
    moved = (each for each in identity_columns(schema) if old.get(each.physical_name) != new.get(each.physical_name))
    return frozenset(each.name for each in moved)


def _parameter(value: object) -> object:
    """A parameter as the log has it: plain values as they are, what has an inside as JSON text."""
    plain = value is None or isinstance(value, (str, bool, int))
    return value if plain else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
