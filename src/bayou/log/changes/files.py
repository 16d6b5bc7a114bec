# SPDX-License-Identifier: Apache-2.0
"""The files that hold the changes of some commits, as columns.

These are change data files, added and removed files, and files whose deletion vector was replaced.

Sources: PROTOCOL.md, "Add CDC File" and "Change Data Files"; delta-spark's `CDCReader.changesToDF`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.columns import ADD_SCHEMA, BROKEN_ACTION, DELETION_VECTOR, REMOVE_SCHEMA, actions_table
from bayou.log.actions.keys import canonical_paths, vector_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.protocol.actions.actions import CommitInfo

CDC: Final = "cdc"
INSERT: Final = "insert"
DELETE: Final = "delete"

CHANGE_FILES: Final = pa.schema(
    [
        ("kind", pa.string()),
        *(ADD_SCHEMA.field(name) for name in ("path", "partition_values", "size", "modification_time")),
        ("commit_version", pa.int64()),
        ("commit_timestamp", pa.int64()),
        ("deletion_vector", DELETION_VECTOR),
        ("is_difference", pa.bool_()),
        ("except_vector", DELETION_VECTOR),
    ]
)
"""The columns of `ChangeFeed.files`."""

_ADD: Final = pa.schema(
    [ADD_SCHEMA.field(name) for name in ("path", "partition_values", "size", "modification_time", "deletion_vector")]
)
_REMOVE: Final = pa.schema([REMOVE_SCHEMA.field(name) for name in ("path", "partition_values", "size", "deletion_vector")])
_CDC: Final = pa.schema([ADD_SCHEMA.field(name) for name in ("path", "partition_values", "size")])
_FLUSH_FROM: Final = 50_000
"""How many actions are held as Python objects before they are converted to columns."""
_MERGE_METRICS: Final = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


class CommitActions(Protocol):
    """The actions of a commit or of a part of one."""

    @property
    def version(self) -> int:
        """The commit's version."""
        ...

    def actions(self) -> Sequence[Mapping[str, Any]]:
        """Return the parsed actions."""
        ...

    def check_action(self, value: Mapping[str, Any], kind: str, place: int, schema: pa.Schema) -> None:
        """Raise if a file action cannot become a row."""
        ...


@dataclass(frozen=True, slots=True)
class FeedCommit:
    """One commit of the range, its `commitInfo` if it has one, and when it was committed, in ms since the epoch."""

    file: CommitActions
    info: CommitInfo | None
    timestamp: int


def change_files(commits: Iterable[FeedCommit], table_uri: str) -> pa.Table:
    """Return the files to read for the changes of some commits, as CHANGE_FILES, in the order of the versions.

    A commit with change data files is read from these only; any other commit from the files that it adds and removes with
    `dataChange`. A file that a commit removes and adds again changed by the difference of its deletion vectors. A removed file has
    a null size and null partition values if its action has none. Each commit is read when it is reached.

    Raises:
        CorruptLogError: a file action has a field of a wrong type.
    """
    parts = [CHANGE_FILES.empty_table()]
    batch = _Batch()
    for commit in commits:
        batch.take(commit)
        if batch.size >= _FLUSH_FROM:
            parts.append(batch.table(table_uri))
            batch = _Batch()
    parts.append(batch.table(table_uri))
    return pa.concat_tables(parts)


@dataclass(slots=True)
class _Actions:
    """File actions of one kind, and the commit of each."""

    name: str
    schema: pa.Schema
    values: list[Mapping[str, Any]] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)

    def table(self, commits: list[FeedCommit]) -> pa.Table:
        versions = pa.array((each.file.version for each in commits), pa.int64())
        timestamps = pa.array((each.timestamp for each in commits), pa.int64())
        owners = pa.array(self.owners, pa.int64())
        found = self._columns(commits)
        found = found.append_column("commit_version", versions.take(owners))
        return found.append_column("commit_timestamp", timestamps.take(owners))

    def _columns(self, commits: list[FeedCommit]) -> pa.Table:
        try:
            return actions_table(self.values, self.schema)
        except BROKEN_ACTION:
            for place, (value, owner) in enumerate(zip(self.values, self.owners, strict=True), 1):
                commits[owner].file.check_action(value, self.name, place, self.schema)
            raise


class _Batch:
    """The file actions of consecutive commits."""

    def __init__(self) -> None:
        self._commits: list[FeedCommit] = []
        self._kinds = (_Actions("cdc", _CDC), _Actions("add", _ADD), _Actions("remove", _REMOVE))

    @property
    def size(self) -> int:
        return sum(len(each.values) for each in self._kinds)

    def take(self, commit: FeedCommit) -> None:
        actions = commit.file.actions()
        owner = len(self._commits)
        self._commits.append(commit)
        changes = [value for action in actions if (value := action.get("cdc")) is not None]
        if changes:
            self._note(self._kinds[0], changes, owner)
        elif not changed_nothing(commit.info):
            for kind in self._kinds[1:]:
                values = (value for action in actions if (value := action.get(kind.name)) is not None)
                self._note(kind, [each for each in values if not moves_only(each)], owner)

    def table(self, table_uri: str) -> pa.Table:
        changes, adds, removes = (each.table(self._commits) for each in self._kinds)
        parts = [_as_changes(changes, CDC), *_plain_and_replaced(adds, removes, table_uri)]
        return pa.concat_tables(parts).sort_by([("commit_version", "ascending"), ("kind", "ascending")])

    @staticmethod
    def _note(kind: _Actions, values: list[Mapping[str, Any]], owner: int) -> None:
        kind.values.extend(values)
        kind.owners.extend([owner] * len(values))


def moves_only(value: object) -> bool:
    """Return whether a file action changes no row; a value that is not an object is checked later."""
    return isinstance(value, dict) and value.get("dataChange") is False


def changed_nothing(info: CommitInfo | None) -> bool:
    """Return whether a commit is a MERGE that rewrote files without changing a row."""
    if info is None or info.operation != "MERGE":
        return False
    metrics = info.raw.get("operationMetrics")
    return isinstance(metrics, dict) and all(str(metrics.get(name)) == "0" for name in _MERGE_METRICS)


def _plain_and_replaced(adds: pa.Table, removes: pa.Table, table_uri: str) -> list[pa.Table]:
    if not adds.num_rows or not removes.num_rows:
        return [_as_changes(adds, INSERT), _as_changes(removes, DELETE)]
    added, removed = _keys(adds, table_uri), _keys(removes, table_uri)
    places = pc.index_in(added, value_set=removed)
    paired = pc.is_valid(places)
    return [
        _as_changes(adds.filter(pc.invert(paired)), INSERT),
        _as_changes(removes.filter(pc.invert(pc.is_in(removed, value_set=added))), DELETE),
        *_differences(adds.filter(paired), removes.take(places.drop_null())["deletion_vector"]),
    ]


def _differences(files: pa.Table, old: pa.ChunkedArray) -> list[pa.Table]:
    """Return what a commit changed in files that it removed and added again: only the deletion vectors can differ."""
    new = files["deletion_vector"]
    same = pc.fill_null(pc.equal(vector_ids(old), vector_ids(new)), False)
    kinds = {DELETE: (new, old), INSERT: (old, new)}
    found = []
    for kind, (rows, excluded) in kinds.items():
        whole = files.set_column(files.column_names.index("deletion_vector"), "deletion_vector", rows)
        some = pc.and_(pc.is_valid(rows), pc.invert(same))
        found.append(_as_changes(whole.append_column("except_vector", excluded).filter(some), kind, is_difference=True))
    return found


def _keys(actions: pa.Table, table_uri: str) -> pa.Array:
    """Return one key for each file of each commit."""
    paths = canonical_paths(actions["path"], table_uri)
    return pc.binary_join_element_wise(paths, actions["commit_version"].cast(pa.string()), "\0").combine_chunks()


def _as_changes(files: pa.Table, kind: str, *, is_difference: bool = False) -> pa.Table:
    rows = files.num_rows
    known: dict[str, Any] = {name: files[name] for name in files.column_names}
    known["kind"] = pa.array([kind], pa.string()).take(pa.array([0] * rows, pa.int64()))
    known["is_difference"] = pa.array([is_difference] * rows, pa.bool_())
    known.setdefault("modification_time", files["commit_timestamp"])
    columns = [known[each.name] if each.name in known else pa.nulls(rows, each.type) for each in CHANGE_FILES]
    return pa.Table.from_arrays(columns, schema=CHANGE_FILES)
