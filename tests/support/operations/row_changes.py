# SPDX-License-Identifier: Apache-2.0
"""Operations that delete rows by deletion vectors, on a table whose data files are in memory, begun and run at the same time."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from hypothesis import strategies as st

from bayou.log.actions.columns import ADD_SCHEMA
from bayou.log.checksum.writer import checksum_of, write_checksum
from bayou.log.commit.transaction import Transaction
from bayou.log.rows.deleted_rows import MarkedFile, delete_rows
from bayou.log.rows.moved_rows import MovedRows, with_moves
from bayou.log.rows.vector_writer import VectorFiles
from bayou.log.snapshot.data_skipping import to_predicate
from bayou.log.snapshot.snapshot import Snapshot
from bayou.log.staging.read_set import ReadSet
from bayou.protocol.actions.actions import AddFile, Protocol
from bayou.protocol.actions.file_names import LogFileKind, commit_path, parse_log_file_name
from bayou.protocol.deletion_vectors.descriptor import Bitmap, DeletionVectorDescriptor, read_from_file
from bayou.storage import LogStore, MemoryStore
from bayou.testing.table_builder import TableBuilder

Rows = dict[int, int]
"""The rows of a table: a value for each key."""

Row: TypeAlias = tuple[int, int, int | None]
"""A key, a value, and the row's id: in a new file None for a row that gets one, in a live file None if the table tracks no rows."""


class OvertakenStore(MemoryStore):
    """A store that makes a call before each put of a commit."""

    def __init__(self) -> None:
        super().__init__()
        self.before_put: Callable[[], None] = lambda: None

    def put_if_absent(self, path: str, data: bytes) -> bool:
        found = parse_log_file_name(path.rsplit("/", 1)[-1])
        if found is not None and found.kind is LogFileKind.COMMIT:
            call, self.before_put = self.before_put, lambda: None
            call()
        return super().put_if_absent(path, data)


class RowTable:
    """A table whose data files are lists of keys and values.

    Attributes:
        has_vectors: whether rows are deleted by deletion vectors. Otherwise the files are rewritten.
        clock: the time of its commits, in seconds since the epoch.
    """

    def __init__(
        self,
        isolation: str = "Serializable",
        features: Sequence[str] = (),
        *,
        has_vectors: bool = True,
        properties: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = OvertakenStore()
        self.has_vectors = has_vectors
        self.clock = clock
        builder = TableBuilder(store=self.store)
        both = ("deletionVectors",)
        enabled = {"delta.enableDeletionVectors": str(has_vectors).lower()}
        configuration = {**enabled, "delta.isolationLevel": isolation, **(properties or {})}
        protocol = Protocol(3, 7, both, (*both, *features))
        builder.create({"key": "long", "value": "long"}, configuration=configuration, protocol=protocol)
        self.log = builder.log()
        self.uri = builder.uri
        write_checksum(self.store, self.uri, 0, checksum_of(self.log.snapshot()))
        self._names = itertools.count()

    def new_file(self, rows: Sequence[Any], *, has_bounds: bool = True, data_change: bool = True) -> AddFile:
        """Write a file of rows: keys, values and, for rows that keep one, their ids."""
        path = f"part-{next(self._names)}"
        self.store.put(path, json.dumps(rows).encode())
        keys = [row[0] for row in rows]
        bounds = {"minValues": {"key": min(keys)}, "maxValues": {"key": max(keys)}, "nullCount": {"key": 0}}
        stats = json.dumps({"numRecords": len(rows), **(bounds if has_bounds else {})})
        return AddFile(path, {}, 100, 1, data_change=data_change, stats=stats)

    def append(self, rows: Sequence[tuple[int, int]], **options: Any) -> None:
        with self.log.transaction("WRITE", clock=self.clock) as transaction:
            transaction.commit([self.new_file(rows, **options)], new_files=True)

    def gone(self, vector: Mapping[str, Any] | None) -> list[int]:
        return deleted_positions(self.store, vector)

    def live(self, files: pa.Table) -> list[list[tuple[int, Row]]]:
        """For each file its live rows, with their positions."""
        return live_rows(self.store, files)

    def rows(self) -> Rows:
        return rows_of(self.live(self.log.update().files()))

    def vector_files(self, vectors: Sequence[Mapping[str, Any] | None]) -> set[str]:
        """The files of some deletion vectors."""
        found = {DeletionVectorDescriptor(**each).relative_path for each in vectors if each is not None}
        return {path for path in found if path is not None}

    def unused_vector_files(self) -> set[str]:
        """Deletion vector files that no commit names."""
        written = {each.path for each in self.store.list_from("") if each.path.endswith(".bin")}
        named = set()
        for status in self.store.list_from("_delta_log/"):
            for line in self.store.read(status.path).splitlines() if status.name.endswith(".json") else ():
                for action in json.loads(line).values():
                    if isinstance(action, dict) and "deletionVector" in action:
                        named.add(DeletionVectorDescriptor.from_json(action["deletionVector"]).relative_path)
        return written - named


def deleted_positions(store: LogStore, vector: Mapping[str, Any] | None) -> list[int]:
    """The positions that a deletion vector deletes."""
    if vector is None:
        return []
    descriptor = DeletionVectorDescriptor(**vector)
    path = descriptor.relative_path or descriptor.path_or_inline_dv.rpartition("/")[2]
    return read_from_file(store.read(path), descriptor).to_list()


def rows_with_ids(data: bytes, base_row_id: int | None) -> list[Row]:
    """The rows of a file. A row without an id of its own has one by its position."""
    found = []
    for place, (key, value, *own) in enumerate(json.loads(data)):
        id_by_place = None if base_row_id is None else base_row_id + place
        found.append((key, value, own[0] if own and own[0] is not None else id_by_place))
    return found


def live_rows(store: LogStore, files: pa.Table) -> list[list[tuple[int, Row]]]:
    """For each of some files its live rows, with their positions. The store has files of other folders by their names."""
    found = []
    columns = (files[name].to_pylist() for name in ("path", "deletion_vector", "base_row_id"))
    for path, vector, base in zip(*columns, strict=True):
        gone = deleted_positions(store, vector)
        rows = rows_with_ids(store.read(path.rpartition("/")[2]), base)
        found.append([(place, row) for place, row in enumerate(rows) if place not in gone])
    return found


def rows_of(live: Sequence[Sequence[tuple[int, Row]]]) -> Rows:
    """The rows of some files together."""
    found = [row[:2] for rows in live for _, row in rows]
    assert len(dict(found)) == len(found), "a key is there twice"
    return dict(found)


def looked_through(snapshot: Snapshot, where: Sequence[tuple[str, str, Any]]) -> tuple[pa.Table, ReadSet]:
    """The files that may hold rows that a filter keeps, and what that depends on."""
    files, reads = snapshot.files(where=where), ReadSet(snapshot.table_uri)
    reads.note_scan(to_predicate(where, snapshot.schema), files["path"])
    return files, reads


@dataclass(frozen=True)
class AddedKeys:
    """Answers what the resolution of conflicts asks, for an operation on the rows of some keys."""

    table: RowTable
    keys: frozenset[int]

    def matches_added_rows(self, added: pa.Table, new_rows: Sequence[Bitmap | None]) -> bool:
        assert added.schema == ADD_SCHEMA
        asked = [None if new is None else set(new.to_list()) for new in new_rows]
        live = zip(self.table.live(added), asked, strict=True)
        return any(row[0] in self.keys for rows, new in live for place, row in rows if new is None or place in new)

    def needed_rows(self, paths: Sequence[str]) -> Sequence[MarkedFile]:  # noqa: ARG002
        return ()


@dataclass(frozen=True)
class Operation:
    """An operation on the rows of some keys."""

    keys: frozenset[int]

    def effect(self, rows: Rows) -> Rows:
        raise NotImplementedError

    def stage(self, transaction: Transaction, table: RowTable) -> None:
        raise NotImplementedError

    def _delete(
        self, transaction: Transaction, table: RowTable, deletes: Callable[[int], bool], needs: Callable[[int], bool]
    ) -> list[Row]:
        """Delete the rows of keys; returns those of all its keys that are there."""
        if not table.has_vectors:
            return self._rewrite(transaction, table, deletes)
        snapshot = transaction.log.snapshot(transaction.read_version)
        files, reads = looked_through(snapshot, self._where)
        live = table.live(files)
        chosen = [place for place, rows in enumerate(live) if any(row[0] in self.keys for _, row in rows)]
        rows = [[(place, row) for place, row in live[each] if row[0] in self.keys] for each in chosen]
        deleted = delete_rows(
            snapshot,
            table.store,
            files.take(pa.array(chosen, pa.int64())),
            [Bitmap.from_positions(place for place, row in each if deletes(row[0])) for each in rows],
            VectorFiles(table.store, table.uri, snapshot.properties),
            deletion_timestamp=int(table.clock() * 1000),
            reads=reads,
            needed=[Bitmap.from_positions(place for place, row in each if needs(row[0])) for each in rows],
            oracle=AddedKeys(table, self.keys),
        )
        transaction.delete_rows(deleted)
        return [row for each in rows for _, row in each]

    @property
    def _where(self) -> list[tuple[str, str, int]]:
        return [("key", ">=", min(self.keys)), ("key", "<=", max(self.keys))]

    def _rewrite(self, transaction: Transaction, table: RowTable, deletes: Callable[[int], bool]) -> list[Row]:
        """Like `_delete`, by new files for those that lose rows."""
        files = transaction.files(where=self._where)
        live = [[row for _, row in rows] for rows in table.live(files)]
        left = [[row for row in rows if row[0] not in self.keys or not deletes(row[0])] for rows in live]
        chosen = [place for place, rows in enumerate(live) if len(left[place]) < len(rows)]
        if chosen:
            transaction.remove_files(files.take(pa.array(chosen, pa.int64())))
            transaction.stage(*(table.new_file(left[place]) for place in chosen if left[place]))
        return [row for rows in live for row in rows if row[0] in self.keys]


@dataclass(frozen=True)
class Append(Operation):
    """Adds rows without looking at the table. Keys that are there make a table that has them twice."""

    def effect(self, rows: Rows) -> Rows:
        assert not self.keys & rows.keys()
        return {**rows, **dict.fromkeys(self.keys, 0)}

    def stage(self, transaction: Transaction, table: RowTable) -> None:
        transaction.stage(table.new_file([(key, 0) for key in sorted(self.keys)]))


@dataclass(frozen=True)
class Delete(Operation):
    """DELETE FROM t WHERE key IN (...)."""

    def effect(self, rows: Rows) -> Rows:
        return {key: value for key, value in rows.items() if key not in self.keys}

    def stage(self, transaction: Transaction, table: RowTable) -> None:
        self._delete(transaction, table, lambda _: True, lambda _: False)


@dataclass(frozen=True)
class Update(Operation):
    """UPDATE t SET value = 10 * value + digit WHERE key IN (...)."""

    digit: int = 1

    def effect(self, rows: Rows) -> Rows:
        return {key: 10 * value + self.digit if key in self.keys else value for key, value in rows.items()}

    def stage(self, transaction: Transaction, table: RowTable) -> None:
        found = self._delete(transaction, table, lambda _: True, lambda _: False)
        if found:
            new = [(key, 10 * value + self.digit, row_id) for key, value, row_id in found]
            transaction.stage(table.new_file(new, has_bounds=self.digit > 1))


@dataclass(frozen=True)
class Upsert(Operation):
    """MERGE that updates the rows of even keys, leaves those of odd keys, and inserts the keys that are not there."""

    digit: int = 1

    def effect(self, rows: Rows) -> Rows:
        changed = {key: 10 * rows[key] + self.digit for key in self.keys & rows.keys() if key % 2 == 0}
        return {**rows, **changed, **dict.fromkeys(self.keys - rows.keys(), self.digit)}

    def stage(self, transaction: Transaction, table: RowTable) -> None:
        rows = self._delete(transaction, table, lambda key: key % 2 == 0, lambda key: key % 2 == 1)
        ids = {key: row_id for key, _, row_id in rows}
        after = self.effect({key: value for key, value, _ in rows})
        new = [(key, after[key], ids.get(key)) for key in sorted(after) if key not in ids or key % 2 == 0]
        if new:
            transaction.stage(table.new_file(new))


@dataclass(frozen=True)
class Compact(Operation):
    """OPTIMIZE: the live rows of all files that hold a key go into one.

    Attributes:
        tells: whether its commit says where the rows went.
    """

    tells: bool = True

    def effect(self, rows: Rows) -> Rows:
        return rows

    def stage(self, transaction: Transaction, table: RowTable) -> None:
        files = transaction.files()
        live = table.live(files)
        chosen = [place for place, rows in enumerate(live) if any(row[0] in self.keys for _, row in rows)]
        if chosen:
            rows = [row for place in chosen for _, row in live[place]]
            new = table.new_file(rows, data_change=False)
            counts = [len(live[place]) for place in chosen]
            moves = [MovedRows(new.path, first - count) for first, count in zip(itertools.accumulate(counts), counts, strict=True)]
            old = files.take(pa.array(chosen, pa.int64()))
            transaction.remove_files(with_moves(old, moves) if self.tells else old, data_change=False)
            transaction.stage(new)


KEYS = st.frozensets(st.integers(0, 11), min_size=1, max_size=3)


def keys(*values):
    return frozenset(values)


def table(*files, **options):
    found = RowTable(**options)
    for each in files or (range(6),):
        found.append([(key, 0) for key in each])
    return found


def begin(operation, table):
    transaction = table.log.transaction(type(operation).__name__.upper(), clock=table.clock)
    operation.stage(transaction, table)
    return transaction


def run_all(table, operations):
    """Begin all of them, then commit them one after the other."""
    running = [begin(each, table) for each in operations]
    return [each.try_commit(new_files=True) for each in running]


def actions(table, version, kind):
    lines = map(json.loads, table.store.read(commit_path(version)).splitlines())
    return [line[kind] for line in lines if kind in line]
