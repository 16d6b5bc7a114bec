# SPDX-License-Identifier: Apache-2.0
"""Read many files of a store concurrently."""

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
    """Call a function that reads a file for each item, concurrently unless the store is a local disk.

    Args:
        store: the store that the function reads from.
        items: what to read.
        read: reads one item.

    Yields:
        The results in the order of the items. At most 32 results are waiting at any time.
    """
    if len(items) <= 1 or store.local_path("") is not None:
        yield from map(read, items)
        return
    yield from in_chunks(items, read, readers=_READERS, at_once=_READERS)


def in_chunks(items: Sequence[S], read: Callable[[S], T], *, readers: int, at_once: int) -> Iterator[T]:
    """Call a function for each item on several threads.

    Args:
        items: the items.
        read: the function.
        readers: the maximum number of threads.
        at_once: how many results are computed before the first of them is yielded.

    Yields:
        The results in the order of the items.
    """
    for start in range(0, len(items), at_once):
        # No pool waits for the consumer to take the next item. If the consumer stops, the garbage collector would end the pool,
        # on any thread and while that thread starts another one: Python 3.11 then holds a lock that joining a pool's thread needs.
        chunk = items[start : start + at_once]
        with ThreadPoolExecutor(min(readers, len(chunk)), thread_name_prefix="bayou-read") as pool:
            found = list(pool.map(read, chunk))
        yield from found
