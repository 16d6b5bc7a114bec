# SPDX-License-Identifier: Apache-2.0
"""The transactions that the running code is inside of: what it reads of their tables, it reads through them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from bayou.log.transaction import Transaction

_ACTIVE: Final[ContextVar[tuple[Transaction, ...]]] = ContextVar("bayou_transactions", default=())
_BY_ID: Final[WeakValueDictionary[str, Transaction]] = WeakValueDictionary()
_WATCHERS: Final[list[Callable[[str], None]]] = []


def active_transaction(table_uri: str, ids: str = "") -> Transaction | None:
    """The innermost transaction on a table that this code runs inside of, or None.

    Args:
        table_uri: the table.
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
def inside(transaction: Transaction) -> Iterator[None]:
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
