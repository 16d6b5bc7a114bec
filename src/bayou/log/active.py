# SPDX-License-Identifier: Apache-2.0
"""The transactions that the running code is inside of: what it reads of their tables, it reads through them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayou.log.transaction import Transaction

_ACTIVE: Final[ContextVar[tuple[Transaction, ...]]] = ContextVar("bayou_transactions", default=())


def active_transaction(table_uri: str) -> Transaction | None:
    """The innermost transaction on a table that this code runs inside of, or None."""
    return next((each for each in reversed(_ACTIVE.get()) if each.log.table_uri == table_uri), None)


@contextlib.contextmanager
def inside(transaction: Transaction) -> Iterator[None]:
    """Run the block inside of a transaction."""
    token = _ACTIVE.set((*_ACTIVE.get(), transaction))
    try:
        yield
    finally:
        _ACTIVE.reset(token)
