# SPDX-License-Identifier: Apache-2.0
"""The two kinds of batches of a stream, rows or changes, which are read in the same order between offsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from bayou.log.streaming.batches.commits import StreamCommit, read_commit
from bayou.log.streaming.batches.files import InitialPart, StreamFiles
from bayou.log.streaming.batches.indexed_files import STREAM_FILES, IndexedFiles
from bayou.log.streaming.batches.stops import check_changes

if TYPE_CHECKING:
    from bayou.log.actions.action_files import ActionFile, Header
    from bayou.log.changes.feed import ChangeFeed
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.streaming.request.offsets import SourceOffset
    from bayou.log.streaming.request.options import StreamOptions
    from bayou.log.streaming.request.path_filter import PathFilter
    from bayou.protocol.actions.actions import Metadata
    from bayou.protocol.types.schema import StructType

_FEW: Final = 8


class ReadCommit(Protocol):
    """One commit, read."""

    @property
    def version(self) -> int:
        """Its version."""
        ...

    @property
    def header(self) -> Header:
        """Its protocol and metadata, if it has any."""
        ...

    @property
    def info(self) -> Mapping[str, Any]:
        """Its `commitInfo`; empty if it has none."""
        ...

    @property
    def indexed(self) -> IndexedFiles:
        """Those of its files that the stream reads."""
        ...

    @property
    def is_atomic(self) -> bool:
        """Whether all its files belong in one batch."""
        ...


@dataclass(frozen=True, slots=True)
class BatchParts:
    """What lies between two offsets.

    Attributes:
        initial: the files of the first snapshot, or None.
        commits: each commit with the range of positions of its files; the end is excluded.
    """

    begin: SourceOffset
    end: SourceOffset
    initial: InitialPart | None
    commits: Iterator[tuple[Any, int, int]]


class Batches(Protocol):
    """Reads commits and builds batches for one kind of stream."""

    @property
    def schema(self) -> StructType:
        """The columns of its rows."""
        ...

    def read(self, file: ActionFile, timestamp: int) -> ReadCommit:
        """Read a commit with a modification time, in ms since the epoch."""
        ...

    def check(self, commit: Any) -> None:
        """Raise if the stream cannot read a commit."""
        ...

    def check_metadata(self, metadata: Metadata, version: int) -> None:
        """Raise if the table's properties do not allow the stream."""
        ...

    def empty(self, at: SourceOffset) -> StreamFiles | ChangeFeed:
        """Return a batch without files."""
        ...

    def batch(self, parts: BatchParts) -> StreamFiles | ChangeFeed:
        """Return the files of a batch."""
        ...


class RowBatches:
    """A stream of the rows that commits add."""

    def __init__(self, snapshot: Snapshot, options: StreamOptions, exclude: PathFilter | None) -> None:
        self._snapshot = snapshot
        self._options = options
        self._exclude = exclude

    @property
    def schema(self) -> StructType:  # noqa: D102  (of Batches, as all below)
        return self._snapshot.schema

    def read(self, file: ActionFile, timestamp: int) -> StreamCommit:  # noqa: D102
        del timestamp
        return read_commit(file, self._exclude, skip_changes=self._options.skip_change_commits)

    def check(self, commit: StreamCommit) -> None:  # noqa: D102
        check_changes(commit, self._options, self._snapshot.table_uri)

    def check_metadata(self, metadata: Metadata, version: int) -> None:  # noqa: D102
        del metadata, version

    def empty(self, at: SourceOffset) -> StreamFiles:  # noqa: D102
        del at
        return StreamFiles(self._snapshot, STREAM_FILES.empty_table())

    def batch(self, parts: BatchParts) -> StreamFiles:  # noqa: D102
        initial = parts.initial
        tables = [STREAM_FILES.empty_table()] if initial is None else [initial.files.table(initial.places)]
        tables += [commit.files(start, end) for commit, start, end in parts.commits]
        files = pa.concat_tables(tables)
        # One chunk per commit would make every later step slow.
        return StreamFiles(self._snapshot, files.combine_chunks() if len(tables) > _FEW else files, initial)
