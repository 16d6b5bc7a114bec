# SPDX-License-Identifier: Apache-2.0
"""Read the winning commits after a snapshot, each once, and return their file actions as Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.action_files import ActionFile, Header
from bayou.log.actions.columns import ADD_SCHEMA, BROKEN_ACTION, REMOVE_SCHEMA, TEXT_MAP, actions_table
from bayou.log.segment.listing import list_versions
from bayou.protocol.actions.actions import CommitInfo
from bayou.storage.parallel import read_each

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader

_REMOVES: Final = REMOVE_SCHEMA.append(pa.field("tags", TEXT_MAP))
_READERS: Final = 16
_FEW: Final = 8


class CommitsGoneError(Exception):
    """Log cleanup deleted winning commits that a writer must check; `latest` is the table's latest version."""

    def __init__(self, latest: int) -> None:
        self.latest = latest
        super().__init__(latest)


@dataclass(frozen=True, slots=True)
class WinningCommit:
    """One winning commit.

    Attributes:
        header: its actions that are not about files.
        info: its `commitInfo`; empty if its writer left it out.
        file_time: the modification time of its file, in ms since the epoch.
    """

    file: ActionFile
    header: Header
    info: CommitInfo
    file_time: int

    @classmethod
    def of(cls, file: ActionFile, file_time: int) -> WinningCommit:
        """Read a winning commit from its file, or raise CorruptLogError if it is not a commit."""
        return cls(file, file.header(), file.commit_info() or CommitInfo({}), file_time)

    @property
    def version(self) -> int:
        """The version of the commit."""
        return self.file.version

    @property
    def is_blind_append(self) -> bool:
        """Whether its writer states that it is a blind append."""
        return self.info.is_blind_append is True

    def may_have_read(self, version: int) -> bool:
        """Return whether its snapshot may have included a version; true for a later commit that does not state its snapshot."""
        read_version = self.info.read_version
        return self.version > version and (read_version is None or read_version >= version)


@dataclass(frozen=True, slots=True)
class WinningFiles:
    """The file actions of some winning commits.

    Attributes:
        add_commit: for each row of `adds`, the position of its commit among the winning commits, from 0 on.
        remove_commit: the same for `removes`.
    """

    adds: pa.Table
    removes: pa.Table
    add_commit: pa.Array
    remove_commit: pa.Array

    def between(self, first: int, end: int | None) -> WinningFiles:
        """Return the file actions of the commits from position `first` on, up to but not including `end` (None: all of them)."""
        masks = []
        for owners in (self.add_commit, self.remove_commit):
            mask = pc.greater_equal(owners, first)
            masks.append(mask if end is None else pc.and_(mask, pc.less(owners, end)))
        adds, removes = masks
        return WinningFiles(
            self.adds.filter(adds), self.removes.filter(removes), self.add_commit.filter(adds), self.remove_commit.filter(removes)
        )

    def moved_only(self) -> pa.Array:
        """Return the positions of the commits that removed files and changed no row, such as an OPTIMIZE."""
        changes = [
            owners.filter(data_changes(actions["data_change"]))
            for actions, owners in ((self.adds, self.add_commit), (self.removes, self.remove_commit))
        ]
        changed = pa.concat_arrays(changes)
        removing = self.remove_commit.unique()
        return removing.filter(pc.invert(pc.is_in(removing, value_set=changed)))


def data_changes(column: pa.ChunkedArray) -> pa.Array:
    """Return for each action whether it may have changed rows; true if its writer left out `dataChange`."""
    return pc.fill_null(pa.concat_arrays([pa.array([], pa.bool_()), *column.chunks]), True)


def read_winning_commits(log: LogReader, first: int) -> list[WinningCommit]:
    """Read every commit from a version on, in order. Cost: one listing, and one read for each commit.

    Raises:
        CommitsGoneError: the commit of that version does not exist, but its checkpoint or later files do.
    """
    listing = list_versions(log.store, first)
    if listing.latest is not None and listing.latest >= first and first not in listing.commits:
        raise CommitsGoneError(listing.latest)
    versions: list[int] = []
    while first + len(versions) in listing.commits:
        versions.append(first + len(versions))

    def read(version: int) -> WinningCommit:
        file = ActionFile.of_commit(log.store, version, log.table_uri)
        return WinningCommit.of(file, listing.commits[version].modification_time)

    return list(read_each(log.store, versions, read))


def winning_files(winning_commits: Sequence[WinningCommit]) -> WinningFiles:
    """Return the file actions of some winning commits, or raise CorruptLogError if one is malformed."""
    adds: list[Mapping[str, Any]] = []
    removes: list[Mapping[str, Any]] = []
    add_commit: list[int] = []
    remove_commit: list[int] = []
    for position, winning in enumerate(winning_commits):
        for action in winning.file.actions():
            if (value := action.get("add")) is not None:
                adds.append(value)
                add_commit.append(position)
            elif (value := action.get("remove")) is not None:
                removes.append(value)
                remove_commit.append(position)
    return WinningFiles(
        _table(adds, "add", add_commit, winning_commits, ADD_SCHEMA),
        _table(removes, "remove", remove_commit, winning_commits, _REMOVES),
        pa.array(add_commit, pa.int32()),
        pa.array(remove_commit, pa.int32()),
    )


def _table(
    values: Sequence[Mapping[str, Any]],
    kind: str,
    owners: Iterable[int],
    winning_commits: Sequence[WinningCommit],
    schema: pa.Schema,
) -> pa.Table:
    try:
        return actions_table(values, schema)
    except BROKEN_ACTION:
        for place, (value, owner) in enumerate(zip(values, owners, strict=True), 1):
            winning_commits[owner].file.check_action(value, kind, place, schema)
        raise
