# SPDX-License-Identifier: Apache-2.0
"""Reading many files of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from bayou.storage.store import LogStore

S = TypeVar("S")
T = TypeVar("T")

_READERS: Final = 32


def read_each(store: LogStore, items: Sequence[S], read: Callable[[S], T]) -> Iterator[T]:
    """Call a function that reads a file for each item; where each read is a request, many run at a time.

    Args:
        store: what the function reads from.
        items: what to read.
        read: reads one of them.

    Yields:
        What the function gives, in the order of the items. At most 32 results wait to be taken.
    """
    if len(items) <= 1 or store.local_path("") is not None:
        yield from map(read, items)
        return
    yield from in_chunks(items, read, readers=_READERS, at_once=_READERS)


def in_chunks(items: Sequence[S], read: Callable[[S], T], *, readers: int, at_once: int) -> Iterator[T]:
    """Call a function for each item, on several threads.

    Args:
        items: the items.
        read: the function.
        readers: how many threads there are, at most.
        at_once: how many results are made before the first of them is taken.

    Yields:
        What the function gives, in the order of the items.
    """
    for start in range(0, len(items), at_once):
        # No pool waits for the next item to be taken. If nobody takes it, the garbage collector would end the pool, on any thread
        # and while that starts another thread: Python 3.11 holds a lock there that joining a thread of the pool asks for.
        chunk = items[start : start + at_once]
        with ThreadPoolExecutor(min(readers, len(chunk)), thread_name_prefix="bayou-read") as pool:
            found = list(pool.map(read, chunk))
        yield from found
