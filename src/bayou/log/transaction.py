# SPDX-License-Identifier: Apache-2.0
"""Optimistic commits: write the next version if nobody else has, and see what to do if somebody has."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from bayou.errors import ConcurrentModificationError, CorruptLogError, StorageError
from bayou.log.commits import ActionFile
from bayou.log.delta_log import DeltaLog
from bayou.log.snapshot import Snapshot
from bayou.protocol.actions import AddFile, CommitInfo, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.features import check_writable
from bayou.protocol.file_names import commit_path

Action: TypeAlias = AddFile | RemoveFile | Metadata | Protocol | SetTransaction | DomainMetadata

_NAMES: Final[Mapping[type, str]] = {
    AddFile: "add",
    RemoveFile: "remove",
    Metadata: "metaData",
    Protocol: "protocol",
    SetTransaction: "txn",
    DomainMetadata: "domainMetadata",
}


@dataclass(frozen=True, slots=True)
class Committed:
    """The commit is in the log.

    Attributes:
        version: the version that it made.
        attempts: how many versions were tried.
    """

    version: int
    attempts: int


@dataclass(frozen=True, slots=True)
class Conflicted:
    """The commit is not in the log: another writer's commit excludes it. Its data files may be deleted."""

    error: ConcurrentModificationError


@dataclass(frozen=True, slots=True)
class Unknown:
    """The store failed, and the log cannot be read either: the commit may be there. Its data files must stay."""

    error: StorageError


CommitOutcome: TypeAlias = Committed | Conflicted | Unknown


@dataclass(frozen=True, slots=True)
class Transaction:
    """One commit in the making, on top of a snapshot.

    Construction refuses a table that bayou cannot write to yet.

    Attributes:
        log: the table's log.
        snapshot: the state that the commit is made from; None where it creates the table.
        operation: the operation's name, for the history.
        parameters: its parameters; each value is put into the log as JSON text.
        engine_info: who writes.
        user_metadata: the user's own note.
        max_attempts: how many versions to try before giving up.
        clock: the time in seconds since the epoch.
        txn_id: the commit's unique name, by which it is found again.
    """

    log: DeltaLog
    snapshot: Snapshot | None
    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    engine_info: str = "bayou"
    user_metadata: str | None = None
    max_attempts: int = 1_000
    clock: Callable[[], float] = time.time
    txn_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        if self.snapshot is not None:
            found = self.snapshot
            check_writable(found.protocol, found.metadata, found.table_uri, found.version)

    def commit(
        self, actions: Sequence[Action], *, is_blind_append: bool = False, metrics: Mapping[str, object] | None = None
    ) -> Committed:
        """Put the actions into the log as one version.

        Args:
            actions: the actions, in the order in which they are written.
            is_blind_append: whether they only add files and depend on nothing that the table holds; a blind append goes
                on top of any commit that leaves protocol and metadata alone.
            metrics: what the operation counted.

        Raises:
            ConcurrentModificationError: another writer's commit excludes this one; `conflicting_version` names it.
            StorageError: the store failed; `outcome` is "unknown" where the commit may be in the log all the same.
            UnsupportedFeatureError: the actions' own metadata ask for rules that are not enforced yet.
        """
        outcome = self.try_commit(actions, is_blind_append=is_blind_append, metrics=metrics)
        if isinstance(outcome, Committed):
            return outcome
        raise outcome.error

    def try_commit(
        self, actions: Sequence[Action], *, is_blind_append: bool = False, metrics: Mapping[str, object] | None = None
    ) -> CommitOutcome:
        """Like `commit`, with the outcome as a value."""
        self._check_own_metadata(actions)
        read_version = -1 if self.snapshot is None else self.snapshot.version
        body = [{_NAMES[type(action)]: action.to_json()} for action in actions]
        for attempt in range(1, self.max_attempts + 1):
            version = read_version + attempt
            info = self._commit_info(is_blind_append=is_blind_append, metrics=metrics)
            path = commit_path(version)
            try:
                won = self.log.store.put_if_absent(path, encode_commit([{"commitInfo": info}, *body]))
                winner = None if won else self._read(version)
            except StorageError as error:
                found = self._after_failure(version, error)
                if isinstance(found, Unknown):
                    return found
                winner = found
            if winner is None or _txn_id(winner) == self.txn_id:
                return Committed(version, attempt)
            conflict = self._conflict(version, winner, actions, is_blind_append=is_blind_append)
            if conflict is not None:
                return Conflicted(conflict)
        return Conflicted(self._too_many())

    def _check_own_metadata(self, actions: Iterable[Action]) -> None:
        metadata = next((each for each in actions if isinstance(each, Metadata)), None)
        protocol = next((each for each in actions if isinstance(each, Protocol)), None)
        if self.snapshot is not None:
            metadata = metadata or self.snapshot.metadata
            protocol = protocol or self.snapshot.protocol
        if metadata is None or protocol is None:
            raise ConcurrentModificationError(
                "the first commit of a table must set its protocol and its metadata",
                table=self.log.table_uri,
                version=0,
                error_class="DELTA_METADATA_ABSENT",
                next_step="Add both actions to the commit.",
            )
        version = None if self.snapshot is None else self.snapshot.version
        check_writable(protocol, metadata, self.log.table_uri, version)

    def _commit_info(self, *, is_blind_append: bool, metrics: Mapping[str, object] | None) -> dict[str, Any]:
        info: dict[str, Any] = {
            "timestamp": int(self.clock() * 1000),
            "operation": self.operation,
            "operationParameters": {name: _parameter(value) for name, value in self.parameters.items()},
        }
        if self.snapshot is not None:
            info["readVersion"] = self.snapshot.version
        info["isolationLevel"] = "Serializable"
        info["isBlindAppend"] = is_blind_append
        if metrics is not None:
            info["operationMetrics"] = {name: str(value) for name, value in metrics.items()}
        if self.user_metadata is not None:
            info["userMetadata"] = self.user_metadata
        return {**info, "engineInfo": self.engine_info, "txnId": self.txn_id}

    def _read(self, version: int) -> ActionFile:
        path = commit_path(version)
        return ActionFile(self.log.store.read(path), table=self.log.table_uri, path=path, version=version)

    def _after_failure(self, version: int, error: StorageError) -> ActionFile | Unknown:
        """What the log says after a put that raised: a commit, ours or another's, or nothing that can be relied on."""
        try:
            return self._read(version)
        except (OSError, CorruptLogError):
            unknown = StorageError(
                f"the store failed while writing version {version}, and whether it was written is not known: {error.message}",
                table=self.log.table_uri,
                version=version,
                file=commit_path(version),
                next_step=f"Look for txnId {self.txn_id} in the history; if it is there, the commit succeeded.",
                outcome="unknown",
                txn_id=self.txn_id,
            )
            unknown.__cause__ = error
            return Unknown(unknown)

    def _conflict(
        self, version: int, winner: ActionFile, actions: Sequence[Action], *, is_blind_append: bool
    ) -> ConcurrentModificationError | None:
        header = winner.header()
        if header.protocol is not None:
            return self._lost(version, winner, "changed the table's protocol", "DELTA_PROTOCOL_CHANGED")
        if header.metadata is not None:
            return self._lost(version, winner, "changed the table's metadata", "DELTA_METADATA_CHANGED")
        applications = {each.app_id for each in actions if isinstance(each, SetTransaction)}
        if applications & set(header.transactions):
            why = "committed for the same application id"
            return self._lost(version, winner, why, "DELTA_CONCURRENT_TRANSACTION")
        domains = {each.domain for each in actions if isinstance(each, DomainMetadata)}
        if domains & set(header.domains):
            why = "changed the same domain metadata"
            return self._lost(version, winner, why, "DELTA_CONCURRENT_TRANSACTION")
        if is_blind_append:
            return None
        why = "changed the table after it was read, and this operation depends on what it read"
        return self._lost(version, winner, why, "DELTA_CONCURRENT_WRITE")

    def _lost(self, version: int, winner: ActionFile, why: str, error_class: str) -> ConcurrentModificationError:
        info = winner.commit_info() or CommitInfo({})
        operation = info.operation or "an operation without a name"
        return ConcurrentModificationError(
            f"{self.operation} lost to a concurrent {operation}, version {version}, which {why}",
            table=self.log.table_uri,
            version=version,
            file=commit_path(version),
            error_class=error_class,
            next_step="Run the operation again on the new version.",
            conflicting_version=version,
            conflicting_operation=info.operation,
            conflicting_commit=dict(info.raw),
        )

    def _too_many(self) -> ConcurrentModificationError:
        return ConcurrentModificationError(
            f"{self.operation} lost {self.max_attempts} races for the next version",
            table=self.log.table_uri,
            error_class="DELTA_MAX_COMMIT_RETRIES_EXCEEDED",
            next_step="Run it again when fewer writers are at work.",
            conflicting_version=None,
        )


def encode_commit(actions: Iterable[Mapping[str, Any]]) -> bytes:
    """A commit file: one action a line."""
    lines = (json.dumps(action, separators=(",", ":"), ensure_ascii=False, allow_nan=False) for action in actions)
    return ("\n".join(lines) + "\n").encode("utf-8")


def _parameter(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _txn_id(commit: ActionFile) -> str | None:
    info = commit.commit_info()
    return info.txn_id if info is not None else None
