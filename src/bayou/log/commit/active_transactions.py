# SPDX-License-Identifier: Apache-2.0
"""The open transactions of the running code. Reads of their tables go through them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.read_set import ReadSet
    from bayou.plan.predicates.predicate import Predicate


class OpenTransaction(Protocol):
    """The part of a transaction that code inside its block uses."""

    @property
    def log(self) -> LogReader:
        """The table's log."""
        ...

    @property
    def txn_id(self) -> str:
        """The transaction's unique name."""
        ...

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot that it reads; None if it creates the table."""
        ...

    @property
    def read_version(self) -> int:
        """The version that it reads; -1 if it creates the table."""
        ...

    @property
    def reads(self) -> ReadSet:
        """What it has read."""
        ...

    def read_whole_table(self) -> None:
        """Record that the commit depends on all rows of the table."""
        ...


_ACTIVE: Final[ContextVar[tuple[OpenTransaction, ...]]] = ContextVar("bayou_transactions", default=())
_BY_ID: Final[WeakValueDictionary[str, OpenTransaction]] = WeakValueDictionary()
_WATCHERS: Final[list[Callable[[str], None]]] = []


def active_transaction(table_uri: str, ids: str = "") -> OpenTransaction | None:
    """Return the innermost open transaction on a table, or None.

    Args:
        ids: the ids of the open transactions, as `watch` reported them, for code on another thread.
    """
    inside_of = _ACTIVE.get() or [found for each in ids.split() if (found := _BY_ID.get(each)) is not None]
    return next((each for each in reversed(inside_of) if each.log.table_uri == table_uri), None)


def note_read(
    snapshot: Snapshot, predicate: Predicate | None, chosen: Callable[[], pa.Array | None], transactions: str = ""
) -> None:
    """Note a read of a table in the transaction around it, if that reads the same version.

    Args:
        snapshot: the version that is read.
        predicate: the filter, over physical paths, or None without any.
        chosen: returns the positions of the files that the filter leaves, or None for all. It is called if the read is noted.
        transactions: the ids of the transactions around the query, if it runs on another thread.
    """
    transaction = active_transaction(snapshot.table_uri, transactions)
    if transaction is None or transaction.read_version != snapshot.version:
        return
    paths, positions = snapshot.files(["path"])["path"], chosen()
    transaction.reads.note_scan(predicate, paths if positions is None else paths.take(positions))


def watch(watcher: Callable[[str], None]) -> Callable[[], None]:
    """Call a function in each thread that enters or leaves a transaction, with the ids of its open transactions.

    Returns:
        A function that stops this.
    """
    _WATCHERS.append(watcher)
    return lambda: _WATCHERS.remove(watcher)


@contextlib.contextmanager
def inside(transaction: OpenTransaction) -> Iterator[None]:
    """Make a transaction active within the block."""
    _BY_ID[transaction.txn_id] = transaction
    token = _ACTIVE.set((*_ACTIVE.get(), transaction))
    _notify()
    try:
        yield
    finally:
        _ACTIVE.reset(token)
        _notify()


def _notify() -> None:
    ids = " ".join(each.txn_id for each in _ACTIVE.get())
    for watcher in tuple(_WATCHERS):
        watcher(ids)
