# SPDX-License-Identifier: Apache-2.0
"""The transactions that the running code is inside of: what it reads of their tables, it reads through them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.read_set import ReadSet


class OpenTransaction(Protocol):
    """What code that runs inside of a transaction can see of it."""

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
        """The state that it reads; None where it creates the table."""
        ...

    @property
    def read_version(self) -> int:
        """The version that it reads; -1 where it creates the table."""
        ...

    @property
    def reads(self) -> ReadSet:
        """What it has read."""
        ...

    def read_whole_table(self) -> None:
        """Note that the commit depends on every row that the table has, and on there being no others."""
        ...


_ACTIVE: Final[ContextVar[tuple[OpenTransaction, ...]]] = ContextVar("bayou_transactions", default=())
_BY_ID: Final[WeakValueDictionary[str, OpenTransaction]] = WeakValueDictionary()
_WATCHERS: Final[list[Callable[[str], None]]] = []


def active_transaction(table_uri: str, ids: str = "") -> OpenTransaction | None:
    """The innermost transaction on a table that this code runs inside of, or None.

    Args:
        ids: the ids of the transactions that the code runs inside of, as `watch` told them; for code that is called from
            elsewhere, on a thread of its own.
    """
    inside_of = _ACTIVE.get() or [found for each in ids.split() if (found := _BY_ID.get(each)) is not None]
    return next((each for each in reversed(inside_of) if each.log.table_uri == table_uri), None)


def watch(watcher: Callable[[str], None]) -> Callable[[], None]:
    """Have a function called in each thread that enters or leaves a transaction, with the ids of those it is inside of then.

    Returns:
        A function that ends this.
    """
    _WATCHERS.append(watcher)
    return lambda: _WATCHERS.remove(watcher)


@contextlib.contextmanager
def inside(transaction: OpenTransaction) -> Iterator[None]:
    """Run the block inside of a transaction."""
    _BY_ID[transaction.txn_id] = transaction
    token = _ACTIVE.set((*_ACTIVE.get(), transaction))
    _tell()
    try:
        yield
    finally:
        _ACTIVE.reset(token)
        _tell()


def _tell() -> None:
    ids = " ".join(each.txn_id for each in _ACTIVE.get())
    for watcher in tuple(_WATCHERS):
        watcher(ids)
