# SPDX-License-Identifier: Apache-2.0
"""Operations on a table twice: as functions on rows, and as transactions that read and stage files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

from bayou.log.commit.transaction import Action, Transaction
from bayou.protocol.actions.actions import AddFile, RemoveFile
from bayou.protocol.actions.paths import canonical, encode

Row: TypeAlias = tuple[str, str | None, int | None]
"""A key that no other row has, the partition, and a number: the columns `key`, `day` and `x`."""

Where: TypeAlias = tuple[tuple[tuple[Any, ...], ...], ...] | None
"""One of the groups must hold, and of a group every term; None is every row."""

Statistics: TypeAlias = Literal["tight", "wide", "counts", "none"]

SCHEMA = {"key": "string", "day": "string", "x": "long"}


@dataclass(frozen=True)
class State:
    """What a reader sees of a table."""

    rows: frozenset[Row] = frozenset()
    notes: frozenset[tuple[str, str]] = frozenset()
    batches: frozenset[tuple[str, int]] = frozenset()


class DataFiles:
    """The rows of every data file that was ever written; files never change."""

    def __init__(self, table_uri: str) -> None:
        self._table_uri = table_uri
        self._rows: dict[str, tuple[Row, ...]] = {}

    def rows(self, path: str) -> tuple[Row, ...]:
        return self._rows[canonical(path, self._table_uri)]

    def write(self, rows: Iterable[Row], statistics: Statistics, *, data_change: bool = True) -> list[AddFile]:
        """One file for each partition."""
        by_day: dict[str | None, list[Row]] = {}
        for row in sorted(rows, key=repr):
            by_day.setdefault(row[1], []).append(row)
        return [self._file(day, held, statistics, data_change=data_change) for day, held in by_day.items()]

    def _file(self, day: str | None, rows: list[Row], statistics: Statistics, *, data_change: bool) -> AddFile:
        name = f"day={day}/part {len(self._rows)}"
        self._rows[name] = tuple(rows)
        return AddFile(encode(name), {"day": day}, 1, 1, data_change=data_change, stats=_stats(rows, statistics))

    def removal(self, path: str, spelling: int, *, data_change: bool = True) -> RemoveFile:
        """A file's removal, its path spelled in one of the ways that the protocol allows."""
        ways = (path, f"./{path}", f"{self._table_uri}/{path}")
        return RemoveFile(ways[spelling % len(ways)], size=1, data_change=data_change)


def _stats(rows: Sequence[Row], kind: Statistics) -> str | None:
    if kind == "none":
        return None
    numbers = [row[2] for row in rows if row[2] is not None]
    nulls = len(rows) - len(numbers)
    found: dict[str, Any] = {"numRecords": len(rows), "nullCount": {"x": nulls}}
    if kind == "wide":  # as after a deletion vector: bounds and counts are of rows that are gone, too
        found = {"numRecords": len(rows) + 2, "nullCount": {"x": nulls + 1}, "tightBounds": False}
        numbers = [number + way for number in numbers for way in (-1, 1)]
    if kind != "counts" and numbers:
        found |= {"minValues": {"x": min(numbers)}, "maxValues": {"x": max(numbers)}}
    return json.dumps(found)


def matches(where: Where, row: Row) -> bool:
    return where is None or any(all(_holds(term, row) for term in group) for group in where)


def _holds(term: tuple[Any, ...], row: Row) -> bool:
    column, operator, *rest = term
    found = {"key": row[0], "day": row[1], "x": row[2]}[column]
    match operator:
        case "is null":
            return found is None
        case "is not null":
            return found is not None
        case "in":
            return found is not None and found in rest[0]
        case "not in":
            return found is not None and found not in rest[0]
    if found is None:
        return False
    wanted = rest[0]
    answers = {"==": found == wanted, "!=": found != wanted, "<": found < wanted, ">=": found >= wanted}
    return answers[operator]


class Operation(Protocol):
    """One operation of a history."""

    @property
    def batch(self) -> tuple[str, int] | None:
        """The application's id and its version, where it is a batch of one."""

    @property
    def is_blind(self) -> bool:
        """Whether it only adds rows, whatever there is."""

    @property
    def changes_rows(self) -> bool:
        """Whether it may add, change or delete rows; what does not is in any order with what does."""

    def effect(self, state: State) -> State:
        """What it does to the table where it runs alone."""

    def stage(self, transaction: Transaction, files: DataFiles, /) -> list[Action]:
        """Read through the transaction, and write files."""


@dataclass(frozen=True)
class Append:
    """Adds rows; as a batch of an application, once."""

    rows: tuple[Row, ...]
    statistics: Statistics = "tight"
    batch: tuple[str, int] | None = None
    is_blind = True
    changes_rows = True

    def effect(self, state: State) -> State:
        batches = dict(state.batches)
        if self.batch is not None:
            application, version = self.batch
            if batches.get(application, -1) >= version:
                return state
            batches[application] = version
        return replace(state, rows=state.rows | set(self.rows), batches=frozenset(batches.items()))

    def stage(self, _: Transaction, files: DataFiles) -> list[Action]:
        return [*files.write(self.rows, self.statistics)]


@dataclass(frozen=True)
class Rewrite:
    """Deletes the rows that match, or adds to their number; adds rows. DELETE, UPDATE and overwrites are such."""

    where: Where
    add_to_x: int | None = None
    rows: tuple[Row, ...] = ()
    note: tuple[str, str] | None = None
    statistics: Statistics = "tight"
    batch = None
    is_blind = False
    changes_rows = True

    def effect(self, state: State) -> State:
        rows = {new for row in state.rows if (new := self._changed(row)) is not None}
        return replace(_annotated(state, self.note), rows=frozenset(rows | set(self.rows)))

    def stage(self, transaction: Transaction, files: DataFiles) -> list[Action]:
        staged: list[Action] = [*files.write(self.rows, self.statistics)]
        for path in _read(transaction, self.where):
            rows = files.rows(path)
            after = [new for row in rows if (new := self._changed(row)) is not None]
            if after != list(rows):
                staged += [files.removal(path, len(staged)), *files.write(after, self.statistics)]
        if self.note is not None:
            staged.append(_noted(transaction, self.note))
        return staged

    def _changed(self, row: Row) -> Row | None:
        if not matches(self.where, row):
            return row
        key, day, x = row
        return None if self.add_to_x is None else (key, day, (x or 0) + self.add_to_x)


@dataclass(frozen=True)
class InsertFromSelect:
    """Adds a row that tells how many rows match, and the sum of their numbers."""

    where: Where
    key: str
    day: str | None
    statistics: Statistics = "tight"
    batch = None
    is_blind = False
    changes_rows = True

    def effect(self, state: State) -> State:
        return replace(state, rows=state.rows | {self._row(state.rows)})

    def stage(self, transaction: Transaction, files: DataFiles) -> list[Action]:
        rows = [row for path in _read(transaction, self.where) for row in files.rows(path)]
        return [*files.write([self._row(rows)], self.statistics)]

    def _row(self, rows: Iterable[Row]) -> Row:
        found = [row for row in rows if matches(self.where, row)]
        return (self.key, self.day, len(found) + 10 * sum(row[2] or 0 for row in found))


@dataclass(frozen=True)
class Compact:
    """Puts the files that may hold matching rows together, one for each partition: no row changes."""

    where: Where
    statistics: Statistics = "tight"
    batch = None
    is_blind = False
    changes_rows = False

    def effect(self, state: State) -> State:
        return state

    def stage(self, transaction: Transaction, files: DataFiles) -> list[Action]:
        paths = _read(transaction, self.where)
        rows = [row for path in paths for row in files.rows(path)]
        removals = [files.removal(path, place, data_change=False) for place, path in enumerate(paths)]
        return [*removals, *files.write(rows, self.statistics, data_change=False)]


@dataclass(frozen=True)
class Annotate:
    """Sets a property of the table."""

    note: tuple[str, str]
    batch = None
    is_blind = False
    changes_rows = False

    def effect(self, state: State) -> State:
        return _annotated(state, self.note)

    def stage(self, transaction: Transaction, _: DataFiles) -> list[Action]:
        return [_noted(transaction, self.note)]


class Evict:
    """Removes a file that it did not read through the transaction, as a caller may who knows the file by name.

    As a function on rows it deletes those that the file held, whatever has become of them.
    """

    batch = None
    is_blind = False
    changes_rows = True

    def __init__(self, which: int) -> None:
        self._which = which
        self._keys: set[str] = set()

    def __repr__(self) -> str:
        return f"Evict({self._which})"

    def effect(self, state: State) -> State:
        return replace(state, rows=frozenset(row for row in state.rows if row[0] not in self._keys))

    def stage(self, transaction: Transaction, files: DataFiles) -> list[Action]:
        assert transaction.snapshot is not None
        paths = transaction.snapshot.files(["path"])["path"].to_pylist()
        if not paths:
            return []
        path = paths[self._which % len(paths)]
        self._keys = {row[0] for row in files.rows(path)}
        return [files.removal(path, self._which)]


def _read(transaction: Transaction, where: Where) -> list[str]:
    if where is None:
        return list(transaction.files(["path"])["path"].to_pylist())
    return list(transaction.files(["path"], where=[list(group) for group in where])["path"].to_pylist())


def _annotated(state: State, note: tuple[str, str] | None) -> State:
    return state if note is None else replace(state, notes=frozenset({**dict(state.notes), note[0]: note[1]}.items()))


def _noted(transaction: Transaction, note: tuple[str, str]) -> Action:
    assert transaction.snapshot is not None
    metadata = transaction.snapshot.metadata
    return replace(metadata, configuration={**metadata.configuration, f"note.{note[0]}": note[1]})
