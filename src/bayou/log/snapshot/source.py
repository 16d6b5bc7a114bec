# SPDX-License-Identifier: Apache-2.0
"""The source of a snapshot: the opened checkpoint and commits of a segment, and the state replayed from them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property

from bayou.errors import StorageError, failed, reason
from bayou.log.actions.action_files import ActionFile, DerivedFileError, Header, file_actions
from bayou.log.actions.commit_info import read_commit_info
from bayou.log.segment.commit_times import InCommitTimestamps
from bayou.log.segment.segment import LogSegment, find_segment
from bayou.log.snapshot.checkpoint_reader import Checkpoint
from bayou.log.snapshot.checksum_file import VersionChecksum, read_checksum
from bayou.log.snapshot.replay import FileState
from bayou.protocol.actions.actions import DomainMetadata, Metadata, Protocol, SetTransaction
from bayou.protocol.features.features import check_readable
from bayou.storage.parallel import read_each
from bayou.storage.store import FileStatus, LogStore


class SnapshotSource:
    """The contents of one segment. Each part is read once, on first use."""

    def __init__(
        self,
        segment: LogSegment,
        store: LogStore,
        table_uri: str,
        *,
        checkpoint: Checkpoint | None,
        header: Header,
        pending: Sequence[ActionFile],
        base: FileState,
        unreadable: frozenset[str] = frozenset(),
        before: tuple[Protocol, Metadata] | None = None,
    ) -> None:
        self.segment = segment
        self.store = store
        self.table_uri = table_uri
        self._checkpoint = checkpoint
        self._header = header
        self._pending = tuple(pending)
        self._state = base
        self._unreadable = unreadable
        self._before = before
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls,
        segment: LogSegment,
        store: LogStore,
        table_uri: str,
        *,
        unreadable: frozenset[str] = frozenset(),
        written: Mapping[str, bytes] | None = None,
    ) -> SnapshotSource:
        """Read the commits of a segment; its checkpoint is opened on first use.

        Args:
            unreadable: checkpoints and compacted files that could not be read.
            written: the content of files that this process has just written, by path.

        Raises:
            CorruptLogError: a commit cannot be read.
        """
        checkpoint = None
        if segment.checkpoint is not None:
            found = segment.checkpoint
            checkpoint = Checkpoint(found.files, found.version, store, table_uri)
        commits = _read_all(store, segment.deltas, table_uri, written or {})
        return cls(
            segment,
            store,
            table_uri,
            checkpoint=checkpoint,
            header=_fold(Header(), commits),
            pending=commits,
            base=FileState.initial(checkpoint),
            unreadable=unreadable,
        )

    def extend(
        self, segment: LogSegment, protocol: Protocol, metadata: Metadata, written: Mapping[str, bytes] | None = None
    ) -> SnapshotSource:
        """Return the source of a later version, for a segment from `extend_segment`: it shares everything but the new commits."""
        new = segment.deltas[len(self.segment.deltas) :]
        commits = _read_all(self.store, new, self.table_uri, written or {})
        with self._lock:
            return SnapshotSource(
                segment,
                self.store,
                self.table_uri,
                checkpoint=self._checkpoint,
                header=_fold(self._header, commits),
                pending=(*self._pending, *commits),
                base=self._state,
                unreadable=self._unreadable,
                before=(protocol, metadata),
            )

    def without(self, path: str | None) -> SnapshotSource:
        """Return the source without an unreadable file, or raise DeltaError if the commits that the file repeated are gone."""
        unreadable = self._unreadable | ({path} if path else set())
        if unreadable == self._unreadable:
            raise failed("DELTA_STATE_RECOVER_ERROR/skipped", table=self.table_uri, file=path)
        segment = find_segment(self.store, self.table_uri, self.segment.version, unreadable=unreadable)
        return SnapshotSource.open(segment, self.store, self.table_uri, unreadable=unreadable)

    def checked_header(self) -> tuple[Protocol, Metadata]:
        """Return the protocol and the metadata, if bayou can read the table.

        Raises:
            CorruptLogError: the log sets no protocol, or no metadata.
            UnsupportedFeatureError: bayou cannot read the table.
        """
        before = self._before or (None, None)
        protocol, metadata = self._header.protocol or before[0], self._header.metadata or before[1]
        if protocol is None or metadata is None:
            known = self.checksum
            protocol = protocol or (known.protocol if known else None)
            metadata = metadata or (known.metadata if known else None)
        if protocol is None or metadata is None:
            protocol, metadata = self.replayed_header()
        if protocol is not None:
            check_readable(protocol, self.table_uri, self.segment.version)
        if protocol is None or metadata is None:
            missing = [name for name, found in (("protocol", protocol), ("metaData", metadata)) if found is None]
            raise failed(
                "DELTA_STATE_RECOVER_ERROR/header",
                table=self.table_uri,
                version=self.segment.version,
                file=self.segment.files[-1].path,
                missing=missing,
            )
        return protocol, metadata

    def replayed_header(self) -> tuple[Protocol | None, Metadata | None]:
        """Return the protocol and the metadata from the log only, without a checksum."""
        base = self._checkpoint.header() if self._checkpoint else Header()
        merged = base.later(self._header)
        return merged.protocol, merged.metadata

    def transactions(self) -> dict[str, SetTransaction]:
        """Return the latest `txn` of each application."""
        base = self._checkpoint.transactions() if self._checkpoint else {}
        return {**base, **self._header.transactions}

    def domains(self) -> dict[str, DomainMetadata]:
        """Return the latest `domainMetadata` of each domain, removed ones included."""
        base = self._checkpoint.domains() if self._checkpoint else {}
        return {**base, **self._header.domains}

    def state(self) -> FileState:
        """Return the live files, replaying the pending commits."""
        with self._lock:
            if self._pending:
                self._state = self._state.advance(file_actions(self._pending), self.table_uri)
                self._pending = ()
            return self._state

    def tail(self) -> FileState:
        """Return the file actions of the commits after the checkpoint, without reading the checkpoint."""
        with self._lock:
            return self._state.without_checkpoint().advance(file_actions(self._pending), self.table_uri)

    def with_state(self, state: FileState) -> SnapshotSource:
        """Return a source of the same version with other live files, such as those of one query."""
        return SnapshotSource(
            self.segment,
            self.store,
            self.table_uri,
            checkpoint=self._checkpoint,
            header=self._header,
            pending=(),
            base=state,
            unreadable=self._unreadable,
        )

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The opened checkpoint from which the replay starts."""
        return self._checkpoint

    @property
    def has_state(self) -> bool:
        """Whether the live files are already replayed, so that reading them costs nothing."""
        base = self._state.checkpoint
        return not self._pending and (base is None or base.nbytes > 0)

    @cached_property
    def checksum(self) -> VersionChecksum | None:
        """The version's checksum file; None if none can be read."""
        return read_checksum(self.store, self.segment.checksum)

    def timestamp(self, metadata: Metadata) -> int:
        """Return when the version was committed, in ms since the epoch."""
        commit = self.segment.last_commit
        if not InCommitTimestamps.of(metadata.configuration).covers(self.segment.version):
            return (commit or self.segment.files[-1]).modification_time
        if commit is None:
            known = self.checksum
            if known is not None and known.in_commit_timestamp is not None:
                return known.in_commit_timestamp
            return self.segment.files[-1].modification_time
        info = read_commit_info(self.store, commit, self.segment.version, self.table_uri)
        if info is None or info.in_commit_timestamp is None:
            raise failed("DELTA_MISSING_COMMIT_TIMESTAMP", table=self.table_uri, version=self.segment.version, file=commit.path)
        return info.in_commit_timestamp

    @property
    def nbytes(self) -> int:
        """The memory of the source."""
        return self._state.nbytes + sum(commit.nbytes for commit in self._pending)


def _read_all(
    store: LogStore, files: Sequence[tuple[int, FileStatus]], table_uri: str, written: Mapping[str, bytes]
) -> list[ActionFile]:
    """Read commits and compacted files, in their order; remote ones concurrently.

    Args:
        written: the content of files that this process has just written, by path. They are not read again.
    """

    def read(file: tuple[int, FileStatus]) -> ActionFile:
        version, status = file
        known = written.get(status.path)
        # A file of another size was replaced since, for example because the table was recreated.
        if known is not None and len(known) == status.size:
            return ActionFile(known, table=table_uri, path=status.path, version=version)
        return _read(store, version, status, table_uri)

    return list(read_each(store, files, read))


def _read(store: LogStore, version: int, status: FileStatus, table_uri: str) -> ActionFile:
    derived = status.name.endswith(".compacted.json")
    try:
        data = store.read(status.path)
    except (OSError, StorageError) as error:
        if derived:
            text = f"A file of the log cannot be read: {reason(error)}."
            raise DerivedFileError(text, table=table_uri, version=version, file=status.path) from error
        if not isinstance(error, FileNotFoundError):
            raise
        raise failed("DELTA_STATE_RECOVER_ERROR/listed-commit", table=table_uri, version=version, file=status.path) from error
    return ActionFile(data, table=table_uri, path=status.path, version=version, derived=derived)


def _fold(header: Header, commits: Sequence[ActionFile]) -> Header:
    for commit in commits:
        header = header.later(commit.header())
    return header
