# SPDX-License-Identifier: Apache-2.0
"""Histories of transactions that overlap, and the serial order that must explain each of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

from tests.scenarios.core.operations import SCHEMA, DataFiles, Operation, State

from bayou.log.commit.outcomes import CommitOutcome, Committed, Conflicted, Unchanged
from bayou.log.commit.transaction import Action, Transaction
from bayou.protocol.actions.file_names import LogFileKind, commit_path, parse_log_file_name
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder

_LOGS = 3


@dataclass(eq=False)
class Running:
    """A transaction of a history."""

    operation: Operation
    transaction: Transaction
    staged: list[Action] | None = None


class _OvertakenStore(MemoryStore):
    """A store in memory that makes a call before each put of a commit."""

    def __init__(self) -> None:
        super().__init__()
        self._call: Callable[[], None] = lambda: None

    @contextlib.contextmanager
    def calling(self, call: Callable[[], None]) -> Iterator[None]:
        before, self._call = self._call, call
        try:
            yield
        finally:
            self._call = before

    def put_if_absent(self, path: str, data: bytes) -> bool:
        found = parse_log_file_name(path.rsplit("/", 1)[-1])
        if found is not None and found.kind is LogFileKind.COMMIT:
            self._call()
        return super().put_if_absent(path, data)


@dataclass(frozen=True)
class Order:
    """A table as some serial order leaves it, with the appends that this order has not come to yet."""

    state: State
    waiting: tuple[tuple[int, Operation], ...] = ()

    def final(self) -> State:
        return _after(self.state, self.waiting)


@dataclass
class SerialOrders:
    """Every serial order that the isolation level allows for the commits so far.

    Under Serializable that is the order of the versions. Under WriteSerializable an append may also come later: behind
    operations that did not see it, before those that did.
    """

    appends_may_wait: bool
    orders: set[Order] = field(default_factory=lambda: {Order(State())})

    def commit(self, operation: Operation, version: int, read_version: int) -> None:
        if self.appends_may_wait and operation.is_blind:
            self.orders = {replace(order, waiting=(*order.waiting, (version, operation))) for order in self.orders}
            return
        if not operation.changes_rows:
            self.orders = {replace(order, state=operation.effect(order.state)) for order in self.orders}
            return
        self.orders = {
            Order(operation.effect(_after(order.state, first)), tuple(each for each in order.waiting if each not in first))
            for order in self.orders
            for first in _choices(order.waiting, read_version)
        }

    def final(self) -> set[State]:
        return {order.final() for order in self.orders}


def _choices(waiting: Sequence[tuple[int, Operation]], read_version: int) -> Iterable[tuple[tuple[int, Operation], ...]]:
    """Which appends may come before an operation that saw the table at a version."""
    seen = [each for each in waiting if each[0] <= read_version]
    unseen = [each for each in waiting if each[0] > read_version]
    subsets = chain.from_iterable(combinations(unseen, size) for size in range(len(unseen) + 1))
    return [(*seen, *subset) for subset in subsets]


def _after(state: State, appends: Iterable[tuple[int, Operation]]) -> State:
    for _, operation in appends:
        state = operation.effect(state)
    return state


class History:
    """A table in memory, transactions on it that overlap in any way, and a check after each commit.

    Checked: versions are contiguous; no row is lost or doubled; an outcome that is no commit leaves the table as it was;
    and the rows, the properties and the applications' batches are those that a serial order of the committed operations
    gives.
    """

    def __init__(self, isolation: str, *, checkpoint_interval: int = 4, opens_anew: bool = True) -> None:
        """Make the table.

        Args:
            isolation: the level that it asks for.
            checkpoint_interval: how many versions lie between two checkpoints.
            opens_anew: whether each check opens the table anew; one log that goes along is faster.
        """
        self._store = _OvertakenStore()
        self._builder = TableBuilder(store=self._store)
        properties = {"delta.isolationLevel": isolation, "delta.checkpointInterval": str(checkpoint_interval)}
        self._builder.create(SCHEMA, partition_by=["day"], configuration=properties)
        self._reader = None if opens_anew else self._builder.log()
        self._logs = [self._builder.log() for _ in range(_LOGS)]
        self._files = DataFiles(self._builder.uri)
        self._serial = SerialOrders(appends_may_wait=isolation == "WriteSerializable")
        self.version = 0
        self.committed: list[tuple[int, int, Operation]] = []
        self.outcomes: list[CommitOutcome] = []
        self.state = State()

    def begin(self, operation: Operation, log: int = 0) -> Running:
        name = type(operation).__name__
        return Running(operation, self._logs[log % _LOGS].transaction(name, txn=operation.batch))

    def read(self, running: Running) -> None:
        """Read and write files; before that, a transaction has a snapshot and no more."""
        if running.staged is None:
            running.staged = running.operation.stage(running.transaction, self._files)

    def commit(self, running: Running, overtaking: Sequence[Running] = ()) -> CommitOutcome:
        """Commit a transaction; each of the others commits just before one of its attempts."""
        self.read(running)
        others = iter(overtaking)

        def overtake() -> None:
            other = next(others, None)
            if other is not None:
                self.commit(other)

        with self._store.calling(overtake):
            outcome = running.transaction.try_commit(running.staged or ())
        self.outcomes.append(outcome)
        self._check(running, outcome)
        return outcome

    def _check(self, running: Running, outcome: CommitOutcome) -> None:
        if isinstance(outcome, Committed):
            assert outcome.version == self.version + 1
            self.version += 1
            self.committed.append((outcome.version, running.transaction.read_version, running.operation))
            self._serial.commit(running.operation, outcome.version, running.transaction.read_version)
        else:
            assert isinstance(outcome, (Conflicted, Unchanged))
        before, self.state = self.state, self._read_table()
        if not isinstance(outcome, Committed):
            assert self.state == before
        assert self.state in self._serial.final(), self.committed

    def _read_table(self) -> State:
        snapshot = (self._reader or self._builder.log()).snapshot()
        assert snapshot.version == self.version
        assert {commit_path(version) for version in range(self.version + 1)} <= {
            status.path for status in self._store.list_from("_delta_log/")
        }
        rows = [row for path in snapshot.files(["path"])["path"].to_pylist() for row in self._files.rows(path)]
        assert len({row[0] for row in rows}) == len(rows), "a row is there twice"
        notes = {key[5:]: value for key, value in snapshot.properties.items() if key.startswith("note.")}
        batches = {name: each.version for name, each in snapshot.transactions.items()}
        return State(frozenset(rows), frozenset(notes.items()), frozenset(batches.items()))

    def check_end(self) -> None:
        """The table's checksum, where the last version has one, agrees with its log."""
        self._builder.log().verify_checksum()
