# SPDX-License-Identifier: Apache-2.0
"""Histories of row changes with OPTIMIZE, RESTORE, VACUUM and CLONE, and the rows that every version has to have.

Time passes between the rounds of a history only, one hour each. The operations of a round overlap.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from tests.support.operations.row_changes import (
    Append,
    Compact,
    Delete,
    Operation,
    Rows,
    RowTable,
    Update,
    Upsert,
    begin,
    live_rows,
    rows_of,
    rows_with_ids,
)

from bayou.errors import ConcurrentModificationError, DataFileNotFoundError
from bayou.log.changes.range import ChangeBounds
from bayou.log.commit.outcomes import Committed
from bayou.log.commit.transaction import Transaction
from bayou.log.delta_log import DeltaLog
from bayou.log.operations.clone import CloneRequest, clone
from bayou.log.operations.restore import RestoreRequest, restore
from bayou.log.operations.vacuum import VacuumRequest, vacuum
from bayou.protocol.actions.file_names import commit_path
from bayou.storage import MemoryStore

HOUR = 3600
CLONE_URI = "file:///memory/clone"
FEED = {"delta.enableChangeDataFeed": "true"}
ROW_IDS = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-1",
}
ROW_ID_FEATURES = ("rowTracking", "domainMetadata")

Ids: TypeAlias = dict[int, int]
"""The row id of each key."""


@dataclass(frozen=True)
class Restore:
    """RESTORE to so many versions before the latest one."""

    back: int


@dataclass(frozen=True)
class Vacuum:
    """VACUUM that keeps what was needed within some hours. Nothing of the present round is older."""

    hours: float
    kind: str = "full"


@dataclass(frozen=True)
class Clone:
    """CLONE of the version that is so many before the latest one; a deep one goes onto the deep clone that is there."""

    back: int = 0
    shallow: bool = False


Step: TypeAlias = Operation | Restore | Vacuum | Clone


class Clock:
    """The time of the process, in hours that pass when the history says so."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self.now = float(int(time.time()))

    def time(self) -> float:
        return self.now

    def time_ns(self) -> int:
        return int(self.now * 1e9)

    @property
    def ms(self) -> int:
        return int(self.now * 1000)


@dataclass
class Version:
    """What a version has to have, and when it was committed, in ms since the epoch."""

    rows: Rows
    ids: Ids
    committed: int


@dataclass
class Model:
    """A table, and what each of its versions has to be.

    Attributes:
        clock: the time, which the store and VACUUM must have too.
        has_vectors: whether rows are deleted by deletion vectors.
        tracks_rows: whether rows have ids.
        has_feed: whether the change data feed is read.
        counts: how many operations of which kind did something.
        restored: to which version each version was restored that a RESTORE made.
    """

    clock: Clock
    has_vectors: bool = True
    tracks_rows: bool = False
    has_feed: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    restored: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        properties = {**(ROW_IDS if self.tracks_rows else {}), **(FEED if self.has_feed else {}), "delta.checkpointInterval": "7"}
        self.table = RowTable(
            features=ROW_ID_FEATURES + (("changeDataFeed",) if self.has_feed else ()) if self.tracks_rows or self.has_feed else (),
            has_vectors=self.has_vectors,
            properties=properties,
            clock=self.clock.time,
        )
        self.log = self.table.log
        self.versions = [Version({}, {}, self.clock.ms)]
        self._given: set[int] = set()
        self._cutoff = 0
        self._clones: list[tuple[int, MemoryStore]] = []
        self._deep = MemoryStore()
        for first in (0, 4):
            self.table.append([(key, 0) for key in range(first, first + 4)])
            self._note(self.log.version(), Append(frozenset(range(first, first + 4))))

    def play(self, steps: Sequence[Step], *, overtaken: bool) -> None:
        """Run operations that overlap; an hour passes first.

        Args:
            steps: the operations. All but the first are begun before the first is committed.
            overtaken: whether the second is committed just before the first one's commit is put, and not after it.
        """
        self.clock.now += HOUR
        done: dict[int, Any] = {}
        ready = [begin(each, self.table) if isinstance(each, Operation) else None for each in steps]

        def run(place: int) -> None:
            step, transaction = steps[place], ready[place]
            if transaction is None:
                version = self._run(step)
            else:
                outcome = transaction.try_commit(new_files=True, keeps_row_ids=self.tracks_rows)
                version = outcome.version if isinstance(outcome, Committed) else None
            if version is not None:
                done[version] = step
                self.counts[type(step).__name__] += 1

        ran = []
        if overtaken and len(steps) > 1:
            self.table.store.before_put = lambda: (ran.append(1), run(1))
        run(0)
        self.table.store.before_put = lambda: None
        for place in range(1, len(steps)):
            if place not in ran:
                run(place)
        latest = self.log.update().version
        for version in range(len(self.versions), latest + 1):
            self._note(version, done.get(version))
        self.check()

    def _transaction(self, *arguments: Any, **options: Any) -> Transaction:
        return Transaction(self.log, *arguments, clock=self.clock.time, **options)

    def _run(self, step: Restore | Vacuum | Clone) -> int | None:
        latest = self.log.update().version
        match step:
            case Restore(back):
                version = max(0, latest - back)
                try:
                    result = restore(self.log, RestoreRequest(version), self._transaction)
                except ConcurrentModificationError:
                    return None
                except DataFileNotFoundError:
                    assert not self._is_kept(version)
                    return None
                if result.version is not None:
                    self.restored[result.version] = version
                return result.version
            case Vacuum(hours, kind):
                self._vacuum(hours, kind)
            case Clone(back, shallow):
                self._clone(max(0, latest - back), shallow=shallow)
        self.counts[type(step).__name__] += 1
        return None

    def _vacuum(self, hours: float, kind: str) -> None:
        cutoff = self.clock.ms - int(hours * HOUR * 1000)
        request = VacuumRequest(hours, kind, check_retention=False)  # type: ignore[arg-type]
        self._cutoff = max(self._cutoff, cutoff)
        vacuum(self.log, request, self._transaction)
        if kind == "full":
            needed = set().union(
                *(self._files(version) for version in range(self.log.version() + 1) if self._is_kept(version, cutoff))
            )
            left = {each.path for each in self.table.store.list_from("") if each.modification_time < cutoff}
            assert left <= needed, f"VACUUM left {left - needed}"

    def _files(self, version: int) -> set[str]:
        snapshot = self.log.snapshot(version)
        found = snapshot.files(["path", "deletion_vector"])
        names = set(found["path"].to_pylist())
        return names | self.table.vector_files(found["deletion_vector"].to_pylist())

    def _is_kept(self, version: int, cutoff: int | None = None) -> bool:
        """Whether a version was the latest one at a time from the cutoff on; from the latest cutoff of a VACUUM if None."""
        following = version + 1
        if following >= len(self.versions):
            return True
        return self.versions[following].committed >= (self._cutoff if cutoff is None else cutoff)

    def _clone(self, version: int, *, shallow: bool) -> None:
        before = self._contents()
        store = MemoryStore() if shallow else self._deep
        target = DeltaLog(CLONE_URI, store)
        request = CloneRequest(shallow=shallow, replace=not shallow)
        try:
            clone(self.log.snapshot(version), self.log, target, request)
        except DataFileNotFoundError:
            assert not self._is_kept(version)
            return
        assert self._contents() == before, "CLONE changed the source"
        self._clones = [each for each in self._clones if each[1] is not store] + [(version, store)]
        if not shallow:
            vacuum(target, VacuumRequest(0, check_retention=False))

    def _contents(self) -> list[str]:
        return sorted(each.path for folder in ("", "_delta_log/") for each in self.table.store.list_from(folder))

    def _note(self, version: int, step: Step | None) -> None:
        """Work out what a version has to be, from the operation that committed it; None for VACUUM's notes."""
        before = self.versions[-1]
        rows, ids = before.rows, before.ids
        if step is None:
            name = json.loads(self.table.store.read(commit_path(version)).splitlines()[0])["commitInfo"]["operation"]
            assert name in {"VACUUM START", "VACUUM END"}, name
        elif isinstance(step, Restore):
            target = self.versions[self.restored[version]]
            rows, ids = target.rows, target.ids
        elif isinstance(step, Operation):
            rows, ids = step.effect(rows), self._ids_after(step, version)
        self.versions.append(Version(rows, ids, self.clock.ms))

    def _ids_after(self, step: Operation, version: int) -> Ids:
        """The ids of a version: rows that stay keep theirs, and new rows have ids that no row had before."""
        if not self.tracks_rows:
            return {}
        before = self.versions[-1].ids
        after = self._found(version)[1]
        kept = before.keys() & after.keys()
        assert {key: after[key] for key in kept} == {key: before[key] for key in kept}, f"{step} changed row ids"
        new = {after[key] for key in after.keys() - kept}
        assert not new & self._given
        self._given |= new
        return after

    def _found(self, version: int) -> tuple[Rows, Ids]:
        live = live_rows(self.table.store, self.log.snapshot(version).files())
        ids = {row[0]: row[2] for rows in live for _, row in rows} if self.tracks_rows else {}
        assert len(set(ids.values())) == len(ids), "two rows have the same id"
        return rows_of(live), ids

    def check(self) -> None:
        """Compare every version that VACUUM had to keep, the feed of the last round, and the clones with the model."""
        for version, expected in enumerate(self.versions):
            if self._is_kept(version):
                assert self._found(version) == (expected.rows, expected.ids), f"version {version}"
        if self.has_feed:
            for version, expected in enumerate(self.versions[1:], 1):
                if expected.committed == self.clock.ms:
                    self._check_feed(version, self.versions[version - 1].rows, expected.rows)
        for version, store in self._clones:
            self._check_clone(version, store)

    def _check_feed(self, version: int, before: Rows, after: Rows) -> None:
        """The changes of a version make its rows of those before; rows that only moved are not among them."""
        feed = self.log.change_feed(ChangeBounds(starting_version=version, ending_version=version))
        changed = feed.changed_rows()
        changes: dict[str, Counter[tuple[int, int]]] = {"insert": Counter(), "delete": Counter()}
        columns = [changed.files[name].to_pylist() for name in ("kind", "path", "is_difference")]
        for kind, path, is_difference, bitmap in zip(*columns, changed.rows, strict=True):
            places = set() if bitmap is None else set(bitmap.to_list())
            rows = rows_with_ids(self.table.store.read(path), None)
            changes[kind] += Counter(row[:2] for place, row in enumerate(rows) if (place in places) == is_difference)
        assert Counter(before.items()) - changes["delete"] + changes["insert"] == Counter(after.items())
        assert changes["delete"] <= Counter(before.items())

    def _check_clone(self, version: int, store: MemoryStore) -> None:
        if store is not self._deep and not self._is_kept(version):
            return  # a shallow clone ends when VACUUM deletes the source's files
        files = DeltaLog(CLONE_URI, store).snapshot().files()
        where = store if store is self._deep else self.table.store
        assert rows_of(live_rows(where, files)) == self.versions[version].rows, f"the clone of version {version}"


def drawn(choose: Callable[[Sequence[Any]], Any], number: int) -> Step:
    """An operation of any kind.

    Args:
        choose: takes one of some values.
        number: makes the key of an append unique.
    """
    match choose(("delete", "update", "upsert", "upsert", "append", "compact", "compact", "untold", "restore", "vacuum", "clone")):
        case "append":
            return Append(frozenset({100 + number}))
        case "restore":
            return Restore(choose(range(1, 7)))
        case "vacuum":
            return Vacuum(choose((0.5, 1.5, 1.5, 3.5, 200.0)), choose(("full", "full", "lite")))
        case "clone":
            return Clone(choose((0, 0, 1, 3)), choose((True, False)))
        case kind:
            keys = frozenset(choose(range(12)) for _ in range(choose((1, 2, 3, 4))))
            return {
                "delete": Delete(keys),
                "update": Update(keys, choose((1, 2))),
                "upsert": Upsert(keys, choose((1, 2))),
                "compact": Compact(keys),
                "untold": Compact(keys, tells=False),
            }[kind]


def run(seed: int, clock: Clock, *, rounds: int = 6, **options: bool) -> Counter[str]:
    """Play a random history, and return how many operations of which kind did something."""
    random = Random(f"{seed} {sorted(options.items())}")
    model = Model(clock, **options)
    for number in range(rounds):
        steps = [drawn(random.choice, 10 * number + place) for place in range(random.choice((1, 1, 2, 2, 3)))]
        model.play(steps, overtaken=random.random() < 0.5)
    return model.counts
