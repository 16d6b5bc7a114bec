# SPDX-License-Identifier: Apache-2.0
"""Compute the version checksum of a commit from the previous checksum, without the file list.

Fields and limits follow delta-spark, because delta-spark trusts checksums. Uncertain fields are omitted, and a checksum with
uncertain numbers is not written. `checksum_of` adds missing fields at the next checkpoint, when the whole state is loaded.

Source: PROTOCOL.md, "Version Checksum File"; delta-spark, Checksum.scala.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import CorruptLogError, StorageError, failed, reason
from bayou.log.actions.commit_info import MAY_DO_ANYTHING
from bayou.log.checksum.state import (
    MOST_FILES,
    MOST_TRANSACTIONS,
    ChecksumState,
    DeletionVectorFacts,
    FileNumbers,
    file_key,
    forgets_transactions,
    lists_files,
    supports_deletion_vectors,
)
from bayou.log.segment.commit_times import InCommitTimestamps
from bayou.log.snapshot.checksum_file import VersionChecksum, parse_checksum
from bayou.log.snapshot.file_size_histogram import DELETED_RECORD_BOUNDARIES, FileSizeHistogram, changed_record_counts
from bayou.protocol import properties
from bayou.protocol.actions.actions import AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.actions.file_names import checksum_path
from bayou.storage.store import LogStore

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot

# Operations whose adds are of live files, or whose removes are of other files. They change no count.
# Source: delta-spark, RecordChecksum.
_ADDS_CHANGE_NOTHING: Final = frozenset({"COMPUTE STATS", "ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL", "DROP FEATURE"})
_REMOVES_CHANGE_NOTHING: Final = frozenset({"Deletion Vector Tombstones"})

_KINDS: Final = ("commitInfo", "protocol", "metaData", "txn", "domainMetadata", "add", "remove")

_NO_FILES: Final = VersionChecksum(
    path="",
    num_files=0,
    size_bytes=0,
    protocol=None,
    metadata=None,
    in_commit_timestamp=None,
    histogram=FileSizeHistogram.of(pa.array([], pa.int64())),
    transactions=(),
    domains=(),
)


def next_checksum(
    previous: Mapping[str, Any] | None,
    actions: Iterable[Mapping[str, Any]],
    *,
    version: int,
    txn_id: str | None,
    in_commit_timestamp: int | None,
    table: str,
    countable: bool = True,
    more_added: pa.Table | None = None,
    more_removed: pa.Table | None = None,
) -> dict[str, Any] | None:
    """Compute the checksum of a version from the previous checksum and the commit.

    The numbers are certain if each `add` is of a file that is not live, and each `remove` of a live file. Other commits are legal,
    too. If the previous checksum lists the files, each action is checked there; otherwise the caller has to know.

    Args:
        previous: the checksum of `version - 1`, as `VersionChecksum.document` has it. Not used for version 0.
        actions: the commit's actions as in the log, such as `{"add": {...}}`, including `commitInfo`.
        in_commit_timestamp: the in-commit timestamp in ms, or None.
        table: the table's URI, not percent-encoded.
        countable: whether all adds are known to be new files, and all removes to be of live files.
        more_added: further added files, with the columns `size` and `deletion_vector`: more than a checksum lists. `more_removed`
            likewise.

    Returns:
        The JSON object of the file. None if it is uncertain: the previous checksum is missing or incomplete, a `remove` has no
        size, or the commit adds live files or removes files that are not live, or may do so.
    """
    try:
        base = _NO_FILES if version == 0 else parse_checksum(previous or {}, checksum_path(version - 1))
        commit = _Commit.of(actions).with_more(more_added, more_removed)
        state = _after(base, commit, table, countable=countable)
    except (_UnknownError, CorruptLogError, ValueError):
        return None
    return state.document(txn_id=txn_id, in_commit_timestamp=in_commit_timestamp)


def checksum_of(snapshot: Snapshot, *, txn_id: str | None = None) -> dict[str, Any]:
    """Compute the checksum of a version from its state. Reads sizes and deletion vectors of all live files.

    Args:
        txn_id: the unique id of its commit.

    Raises:
        CorruptLogError: the log cannot be read.
    """
    state = ChecksumState.of(snapshot)
    has_own_time = InCommitTimestamps.of(state.metadata.configuration).enabled
    return state.document(txn_id=txn_id, in_commit_timestamp=snapshot.timestamp if has_own_time else None)


def write_checksum(store: LogStore, table: str, version: int, document: Mapping[str, Any]) -> bool:
    """Write the checksum of a committed version, unless one exists.

    Returns:
        True if it was written, False if the version has one.

    Raises:
        StorageError: the store failed. The commit is valid without a checksum.
    """
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"
    path = checksum_path(version)
    try:
        return store.put_if_absent(path, text.encode("utf-8"))
    except StorageError as error:
        raise failed("checksum-not-written", table=table, version=version, file=path, reason=reason(error)) from error


class _UnknownError(Exception):
    """The checksum of a version cannot be derived from the previous one."""


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit's actions by kind.

    Attributes:
        files: adds and removes in order, except those of which only numbers are known.
        added: the sizes and deletion vectors of the adds; empty unless `adds_are_new`.
        removed: the same of the removes; empty unless `removes_are_live`.
        adds_are_new: whether the adds are of new files, so that they change the counts.
        removes_are_live: whether the removes are of live files, so that they change the counts.
        kinds_without_objects: the kinds of file actions that `with_more` added as columns, which `files` lacks.
    """

    protocol: Protocol | None
    metadata: Metadata | None
    transactions: list[SetTransaction]
    domains: list[DomainMetadata]
    files: list[tuple[str, Mapping[str, Any]]]
    added: FileNumbers
    removed: FileNumbers
    adds_are_new: bool
    removes_are_live: bool
    kinds_without_objects: frozenset[str] = frozenset()

    @classmethod
    def of(cls, actions: Iterable[Mapping[str, Any]]) -> _Commit:
        """Sort a commit's actions by kind.

        Raises:
            _UnknownError: the operation may change any count, or a size or a cardinality is missing.
        """
        found: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in _KINDS}
        files = []
        for name, value in (pair for action in actions for pair in action.items()):
            if name in found and value is not None:
                found[name].append(value)
                if name in {"add", "remove"}:
                    files.append((name, value))
        operation = found["commitInfo"][-1].get("operation") if found["commitInfo"] else None
        if operation in MAY_DO_ANYTHING:
            raise _UnknownError
        adds_are_new = operation not in _ADDS_CHANGE_NOTHING
        removes_are_live = operation not in _REMOVES_CHANGE_NOTHING
        return cls(
            Protocol.from_json(found["protocol"][-1]) if found["protocol"] else None,
            Metadata.from_json(found["metaData"][-1]) if found["metaData"] else None,
            [SetTransaction.from_json(value) for value in found["txn"]],
            [DomainMetadata.from_json(value) for value in found["domainMetadata"]],
            files,
            _numbers(found["add"] if adds_are_new else []),
            _numbers(found["remove"] if removes_are_live else []),
            adds_are_new,
            removes_are_live,
        )

    def with_more(self, added: pa.Table | None, removed: pa.Table | None) -> _Commit:
        """Return the commit with further files, as columns."""
        kinds = {kind for kind, files in (("add", added), ("remove", removed)) if files is not None}
        return replace(
            self,
            added=self.added if added is None or not self.adds_are_new else self.added.plus(_numbers_of(added)),
            removed=self.removed if removed is None or not self.removes_are_live else self.removed.plus(_numbers_of(removed)),
            kinds_without_objects=frozenset(kinds),
        )

    @property
    def kinds(self) -> set[str]:
        """The kinds of file actions in the commit: `add`, `remove`."""
        return {*self.kinds_without_objects, *(name for name, _ in self.files)}


def _numbers_of(files: pa.Table) -> FileNumbers:
    found = FileNumbers.of_columns(files)
    for column in (found.sizes, found.cardinalities):
        if column.null_count or (pc.min(column).as_py() or 0) < 0:
            raise _UnknownError
    return found


def _numbers(values: Sequence[Mapping[str, Any]]) -> FileNumbers:
    sizes = [value.get("size") for value in values]
    vectors = [value.get("deletionVector") for value in values]
    deleted = [0 if vector is None else vector.get("cardinality") for vector in vectors]
    if any(type(number) is not int or number < 0 for column in (sizes, deleted) for number in column):
        raise _UnknownError
    return FileNumbers(pa.array(sizes, pa.int64()), pa.array(deleted, pa.int64()), len(vectors) - vectors.count(None))


def _after(base: VersionChecksum, commit: _Commit, table: str, *, countable: bool) -> ChecksumState:
    """Return what the checksum after a commit states, by the previous checksum.

    Raises:
        _UnknownError: a number is uncertain.
    """
    protocol, metadata = commit.protocol or base.protocol, commit.metadata or base.metadata
    if protocol is None or metadata is None:
        raise _UnknownError
    num_files = _changed(base.num_files, len(commit.added.sizes) - len(commit.removed.sizes))
    size_bytes = _changed(base.size_bytes, commit.added.size_bytes - commit.removed.size_bytes)
    live = _listed_files(base, commit, table)
    if live is None and commit.kinds and not countable:
        raise _UnknownError
    files = _files_after(live, base, commit, num_files, table)
    if files is not None and (len(files), sum(file.size for file in files)) != (num_files, size_bytes):
        # The list of files and the counts of the previous checksum disagree.
        raise _UnknownError
    histogram = base.histogram and _certain(base.histogram.changed(commit.added.sizes, commit.removed.sizes))
    return ChecksumState(
        num_files,
        size_bytes,
        protocol,
        metadata,
        histogram,
        _transactions_after(base, commit),
        _domains_after(base, commit),
        files,
        _vectors_after(base, commit, protocol, metadata),
    )


def _transactions_after(base: VersionChecksum, commit: _Commit) -> list[SetTransaction] | None:
    """Return the latest `txn` of each application; None if they are unknown, expire, or are too many for a checksum."""
    if any(forgets_transactions(found) for found in (base.metadata, commit.metadata) if found is not None):
        return None
    if base.transactions is None or max(len(base.transactions), len(commit.transactions)) > MOST_TRANSACTIONS:
        return None
    return list({each.app_id: each for each in (*base.transactions, *commit.transactions)}.values())


def _domains_after(base: VersionChecksum, commit: _Commit) -> list[DomainMetadata] | None:
    """Return the domains after a commit, without removed ones; None if the previous checksum does not list them."""
    if base.domains is None:
        return None
    latest = {each.domain: each for each in (*base.domains, *commit.domains)}
    return [each for each in latest.values() if not each.removed]


def _vectors_after(base: VersionChecksum, commit: _Commit, protocol: Protocol, metadata: Metadata) -> DeletionVectorFacts:
    """Return what the checksum states about deletion vectors after a commit.

    It states nothing if the table does not support them. A number that the previous checksum lacks stays unknown.

    Raises:
        _UnknownError: the commit contradicts the previous numbers.
    """
    if not supports_deletion_vectors(protocol):
        return DeletionVectorFacts()
    records, vectors, counts = base.num_deleted_records, base.num_deletion_vectors, base.deleted_record_counts
    if base.protocol is None or not supports_deletion_vectors(base.protocol):
        if not properties.ENABLE_DELETION_VECTORS.read(metadata.configuration):
            return DeletionVectorFacts()
        # The commit adds the feature, so the table had no deletion vectors before: each file has 0 deleted records.
        records, vectors, counts = 0, 0, (base.num_files or 0, *(0 for _ in DELETED_RECORD_BOUNDARIES[1:]))
    added, removed = commit.added, commit.removed
    return DeletionVectorFacts(
        None if records is None else _changed(records, added.num_deleted_records - removed.num_deleted_records),
        None if vectors is None else _changed(vectors, added.num_vectors - removed.num_vectors),
        counts and _certain(changed_record_counts(counts, added.cardinalities, removed.cardinalities)),
    )


def _listed_files(base: VersionChecksum, commit: _Commit, table: str) -> dict[tuple[str, str | None], AddFile] | None:
    """Return the live files before a commit, if the previous checksum lists them.

    Raises:
        _UnknownError: the commit adds a live file, or removes one that is not live.
    """
    known = base.document.get("allFiles") if base.num_files else []
    if not isinstance(known, list):
        return None
    if not known:  # no file is live, so no object per file of the commit is needed
        if ("add" in commit.kinds and not commit.adds_are_new) or ("remove" in commit.kinds and commit.removes_are_live):
            raise _UnknownError
        return {}
    if commit.kinds_without_objects:
        return None
    live = {file_key(file, table): file for file in map(AddFile.from_json, known)}
    for name, value in commit.files:
        action = AddFile.from_json(value) if name == "add" else RemoveFile.from_json(value)
        expected = commit.removes_are_live if name == "remove" else not commit.adds_are_new
        if (file_key(action, table) in live) is not expected:
            raise _UnknownError
    return live


def _files_after(
    live: Mapping[tuple[str, str | None], AddFile] | None, base: VersionChecksum, commit: _Commit, num_files: int, table: str
) -> list[AddFile] | None:
    """Return the live files after a commit for the checksum to list; None if it does not list them.

    An empty list costs nothing, so that a table without files always has one.

    Args:
        live: the live files before the commit; None if the previous checksum does not list them.
        num_files: the number of live files after the commit.
    """
    metadata = base.metadata or commit.metadata
    few = max(num_files, base.num_files or 0) <= MOST_FILES
    if live is None or not few or metadata is None or not lists_files(metadata):
        return None if num_files else []
    after = dict(live)
    for name, value in commit.files:
        if name == "add":
            file = AddFile.from_json(value)
            after[file_key(file, table)] = file
        else:
            after.pop(file_key(RemoveFile.from_json(value), table), None)
    return list(after.values())


def _changed(number: int | None, change: int) -> int:
    """Return a count after a change. Raise _UnknownError if it is unknown or would be negative."""
    if number is None or number + change < 0:
        raise _UnknownError
    return number + change


def _certain(value: Any) -> Any:
    """Return a value. Raise _UnknownError if it is None."""
    if value is None:
        raise _UnknownError
    return value
