# SPDX-License-Identifier: Apache-2.0
"""A stream of the changes of commits, as in the change data feed.

Source: delta-spark's `DeltaSourceCDCSupport`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bayou.errors import VersionNotFoundError, failed
from bayou.log.actions.columns import ADD_SCHEMA, BROKEN_ACTION, actions_table
from bayou.log.changes.checks import records_changes
from bayou.log.changes.feed import ChangeFeed, feed_schema
from bayou.log.changes.files import CHANGE_FILES, INSERT, FeedCommit, change_files, changed_nothing, moves_only
from bayou.log.changes.removed_file_facts import FACTS, with_file_facts
from bayou.log.streaming.batches.indexed_files import IndexedFiles
from bayou.protocol.actions.actions import CommitInfo

if TYPE_CHECKING:
    from bayou.log.actions.action_files import ActionFile, Header
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.streaming.batches.batches import BatchParts
    from bayou.log.streaming.batches.files import InitialPart
    from bayou.log.streaming.request.offsets import SourceOffset
    from bayou.log.streaming.request.path_filter import PathFilter
    from bayou.protocol.actions.actions import Metadata
    from bayou.protocol.types.schema import StructType

_FACTS = pa.schema([ADD_SCHEMA.field(name) for name in FACTS])


@dataclass(frozen=True, slots=True)
class ChangeCommit:
    """One commit, read.

    Attributes:
        header: its protocol and metadata, if it has any.
        info: its `commitInfo`; empty if it has none.
        timestamp: when it was made, in ms since the epoch.
        changes: the file actions that hold its changes, each an object with one key, in their order.
        indexed: those that the stream reads, by their positions in `changes`.
        is_atomic: whether they belong in one batch, as change data files and files with deletion vectors do.
    """

    file: ActionFile
    header: Header
    info: Mapping[str, Any]
    timestamp: int
    changes: Sequence[Mapping[str, Any]]
    indexed: IndexedFiles
    is_atomic: bool

    @property
    def version(self) -> int:
        """The version that the commit made."""
        return self.file.version

    def part(self, start: int, end: int) -> FeedCommit:
        """Return the changes at a range of positions in `indexed`; the end is excluded."""
        places = range(start, end) if self.indexed.indices is None else self.indexed.indices.slice(start, end - start).to_pylist()
        info = CommitInfo(self.info) if self.info else None
        return FeedCommit(_Part(self.file, [self.changes[place] for place in places]), info, self.timestamp)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some actions of a commit, in the form that `change_files` takes."""

    file: ActionFile
    chosen: Sequence[Mapping[str, Any]]

    @property
    def version(self) -> int:
        return self.file.version

    def actions(self) -> Sequence[Mapping[str, Any]]:
        return self.chosen

    def check_action(self, value: Mapping[str, Any], kind: str, place: int, schema: pa.Schema) -> None:
        self.file.check_action(value, kind, place, schema)


class ChangeBatches:
    """A stream of changes. It reads the rows of the first snapshot as inserts of its version."""

    def __init__(self, log: LogReader, snapshot: Snapshot, exclude: PathFilter | None) -> None:
        """Begin with the version that the query was analysed at, or raise InvalidSchemaError if it has columns of the feed."""
        self._log = log
        self._snapshot = snapshot
        self._exclude = exclude
        self._schema = feed_schema(snapshot)

    @property
    def schema(self) -> StructType:  # noqa: D102  (of Batches, as all below)
        return self._schema

    def read(self, file: ActionFile, timestamp: int) -> ChangeCommit:
        """Read a commit with a modification time, in ms since the epoch; an in-commit timestamp takes precedence.

        Change data files have all changes of a commit. Without any, the changes are its other file actions.
        """
        actions = file.actions()
        info = next((value for action in actions if isinstance(value := action.get("commitInfo"), dict)), {})
        changes = [action for action in actions if action.get("cdc") is not None]
        is_atomic = bool(changes)
        if not changes and not changed_nothing(CommitInfo(info)):
            changes = [action for action in actions if _changes_rows(action)]
            is_atomic = any(_of(action).get("deletionVector") for action in changes)
        sizes = pa.array([_size(action) for action in changes], pa.int64())
        paths = pa.array([str(_of(action).get("path")) for action in changes], pa.string())
        own = CommitInfo(info).in_commit_timestamp if info else None
        indexed = IndexedFiles.of(sizes, paths, self._exclude)
        return ChangeCommit(file, file.header(), info, timestamp if own is None else own, changes, indexed, is_atomic)

    def check(self, commit: ChangeCommit) -> None:  # noqa: D102
        del commit

    def check_metadata(self, metadata: Metadata, version: int) -> None:  # noqa: D102
        if not records_changes(metadata):
            raise failed(
                "DELTA_MISSING_CHANGE_DATA",
                table=self._log.table_uri,
                version=version,
                start=version,
                end=max(version, self._log.known_version),
            )

    def empty(self, at: SourceOffset) -> ChangeFeed:  # noqa: D102
        return self._feed(at.version, at.version - 1, CHANGE_FILES.empty_table())

    def batch(self, parts: BatchParts) -> ChangeFeed:  # noqa: D102
        commits = [(commit, start, end) for commit, start, end in parts.commits if end > start]
        tables = [] if parts.initial is None else [_inserts(parts.initial)]
        tables.append(change_files((commit.part(start, end) for commit, start, end in commits), self._log.table_uri))
        files = with_file_facts(
            pa.concat_tables(tables),
            self._sources_of_facts(parts.begin, [commit for commit, _, _ in commits]),
            self._log.table_uri,
            is_partitioned=bool(self._snapshot.partition_columns),
        )
        last = parts.end.version if parts.end.index >= 0 else parts.end.version - 1
        return self._feed(parts.begin.version, last, files)

    def _sources_of_facts(self, begin: SourceOffset, commits: Sequence[ChangeCommit]) -> Iterator[pa.Table]:
        """Yield tables of FACTS that may hold what the `remove` actions of a batch lack.

        A removed file was added either by a commit of the batch or before the batch. Commits come first: the snapshot costs more.
        """
        for commit in commits:
            adds = [value for action in commit.file.actions() if (value := action.get("add")) is not None]
            # `change_files` raises for malformed actions in the batch. Others only matter if a fact is missing at the end.
            with contextlib.suppress(*BROKEN_ACTION):
                yield actions_table(adds, _FACTS)
        # The files before the batch. The initial snapshot is a version that the batch reads itself, without its commit.
        version = begin.version if begin.is_starting_version else begin.version - 1
        if version >= 0:
            with contextlib.suppress(VersionNotFoundError):
                yield self._log.snapshot(version).files(FACTS)

    def _feed(self, first: int, last: int, files: pa.Table) -> ChangeFeed:
        return ChangeFeed(first, last, self._schema, self._snapshot, files, self._log.store)


def _inserts(part: InitialPart) -> pa.Table:
    snapshot = part.files.snapshot
    found = part.files.table(part.places)
    rows = found.num_rows
    constants: Mapping[str, Any] = {"kind": INSERT, "commit_timestamp": snapshot.timestamp, "is_difference": False}
    columns = []
    for each in CHANGE_FILES:
        if each.name in found.column_names:
            columns.append(found[each.name])
        elif each.name in constants:
            columns.append(pa.repeat(pa.scalar(constants[each.name], each.type), rows))
        else:
            columns.append(pa.nulls(rows, each.type))
    return pa.Table.from_arrays(columns, schema=CHANGE_FILES)


def _changes_rows(action: Mapping[str, Any]) -> bool:
    """Return whether an action adds or removes a file with `dataChange`."""
    return any((value := action.get(kind)) is not None and not moves_only(value) for kind in ("add", "remove"))


def _of(action: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the value of a file action; empty if it is malformed, which raises when its files are read."""
    value = next((value for kind in ("cdc", "add", "remove") if (value := action.get(kind)) is not None), None)
    return value if isinstance(value, dict) else {}


def _size(action: Mapping[str, Any]) -> int:
    value = _of(action).get("size")
    return value if type(value) is int else 0
