# SPDX-License-Identifier: Apache-2.0
"""Lists of files that Spark reads: written once for each set of files of a table version, and deleted when nobody uses them.

A list is used while a DataFrame on Spark Connect refers to it, or its snapshot is alive. A list of some files of a snapshot is also
kept while it is among those used last. Deleting waits until the next list is written or the process ends, because the garbage
collector may run inside any call of a store.

The folder of a list has a file that is not Parquet. If Spark ignores the list, it lists the folder, and fails on that file. Spark
reads a list that was cut short after a line, so the client looks at each list again when a query has ended (`guards.py`).
"""

from __future__ import annotations

import atexit
import hashlib
import os
import secrets
import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from bayou.spark.portable.scan.manifest import LIST, Numbers, encoded_list
from bayou.spark.portable.scratch.owners import finish

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.spark.portable.scan.listed_files import ListedFiles
    from bayou.spark.portable.scratch.folders import Scratch

DECOY: Final = "list-of-files-is-missing"
"""The file that makes Spark fail if it lists the folder."""
DECOY_TEXT: Final = b"This folder is read through the list of files in _spark_metadata, which Spark did not find or did not use.\n"
_HELD: Final = "_bayou_carrier"
"""The attribute of a plan with its list."""
_MOST_RECENT: Final = 32
"""So many lists of some files of a snapshot are kept for the next scan of the same files."""

_Key = tuple[str, str, int, str, str]


@dataclass(eq=False)
class Carrier:
    """A list of files in its folder.

    Attributes:
        scratch: the folder that has the list's folder.
        table_uri: the table.
        version: its version.
        name: the name of the list's folder.
        numbers: the numbers of its files.
        size: the size of the list in bytes.
        mark: what the local file system says about the file, besides its size; None elsewhere.
    """

    scratch: Scratch
    table_uri: str
    version: int
    name: str
    numbers: Numbers
    size: int
    mark: object = None
    vectors: list[Bitmap | None] | None = None
    """The deletion vectors of the files, once they are known."""

    def __post_init__(self) -> None:
        """Delete the files once nothing refers to this object."""
        self._lock = threading.Lock()
        self._names = [f"{self.name}/{LIST}", f"{self.name}/{DECOY}"]
        weakref.finalize(self, _discarded.put, (os.getpid(), self.scratch, self._names)).atexit = False
        _all[id(self._names)] = (os.getpid(), self.scratch, self._names)
        _by_folder[self.folder] = self

    @property
    def folder(self) -> str:
        """The folder to pass to Spark's reader."""
        return self.scratch.place(self.name)

    @property
    def list(self) -> str:
        """The list itself, as Spark's readers accept it."""
        return self.scratch.place(self._names[0])

    def is_whole(self) -> bool:
        """Whether the list is still in its folder, as it was written. bayou replaces no list, so it was whole before, too."""
        return self.scratch.has(self._names[0], self.size, self.mark)

    def side_file(self, kind: str, make: Callable[[], bytes]) -> str:
        """Return the place of another file about the same files, which is written on the first call.

        Args:
            kind: the end of its name.
            make: returns its content.
        """
        name = f"{self.name}-{kind}"
        with self._lock:
            if name not in self._names:
                self.scratch.put(name, make())
                self._names.append(name)
        return self.scratch.place(name)

    def keep_with(self, frame: DataFrame) -> None:
        """Keep the list as long as a DataFrame on Spark Connect, or one that was made from it.

        Such a DataFrame is analysed at each action. A classic one never reads the list again.
        """
        plan = getattr(frame, "_plan", None)
        if plan is not None:
            setattr(plan, _HELD, self)  # nothing else of a DataFrame lives as long as its plan


def lists_are_whole(frame: DataFrame) -> bool:
    """Whether all lists of files that a DataFrame on Spark Connect was made with are still in their folders."""
    waiting = [getattr(frame, "_plan", None)]
    while waiting:
        plan = waiting.pop()
        held = getattr(plan, _HELD, None)
        if isinstance(held, Carrier) and not held.is_whole():
            return False
        for value in vars(plan).values() if plan is not None else ():
            waiting += [each for each in (value if isinstance(value, (list, tuple)) else [value]) if hasattr(each, "_child")]
    return True


def carrier_in(folder: str) -> Carrier | None:
    """Return the list that this process wrote into a folder, or None."""
    return _by_folder.get(folder)


_lock: Final = threading.Lock()
_making: Final[dict[_Key, threading.Lock]] = {}
_known: Final[weakref.WeakValueDictionary[_Key, Carrier]] = weakref.WeakValueDictionary()
_by_folder: Final[weakref.WeakValueDictionary[str, Carrier]] = weakref.WeakValueDictionary()
_of_snapshots: Final[weakref.WeakKeyDictionary[Snapshot, set[Carrier]]] = weakref.WeakKeyDictionary()
_recent: Final[OrderedDict[_Key, Carrier]] = OrderedDict()
_discarded: Final[SimpleQueue[tuple[int, Scratch, list[str]]]] = SimpleQueue()
_all: Final[dict[int, tuple[int, Scratch, list[str]]]] = {}


def carrier(scratch: Scratch, files: ListedFiles, positions: pa.Array | None) -> Carrier:
    """Return a list of files, which is written unless it exists. Threads share one.

    Args:
        positions: which files, by their positions; None for all.

    Raises:
        StorageError: it could not be written.
    """
    _delete_discarded()
    chosen = "all" if positions is None else hashlib.sha256(positions.cast(pa.int64()).to_numpy().tobytes()).hexdigest()
    snapshot = files.snapshot
    chosen = f"{files.name} {chosen}"
    key = (scratch.uri, snapshot.table_uri, snapshot.version, snapshot.metadata.id, chosen)
    with _lock:
        making = _making.setdefault(key, threading.Lock())
    with making:
        found = _known.get(key)
        if found is None or not found.is_whole():
            found = _written(scratch, files, positions)
    with _lock:
        _known[key] = found
        if positions is None and files.table is None:
            _of_snapshots.setdefault(snapshot, set()).add(found)
        else:
            _recent[key] = found
            _recent.move_to_end(key)
            while len(_recent) > _MOST_RECENT:
                _recent.popitem(last=False)
        _making.pop(key, None)
    return found


def _written(scratch: Scratch, files: ListedFiles, positions: pa.Array | None) -> Carrier:
    count = files.count if positions is None else len(positions)
    numbers = Numbers.of(count)
    data = encoded_list(files, positions, numbers)
    snapshot = files.snapshot
    name = f"{snapshot.version}-{secrets.token_hex(8)}"
    made = Carrier(scratch, snapshot.table_uri, snapshot.version, name, numbers, len(data))
    scratch.put(f"{made.name}/{DECOY}", DECOY_TEXT)  # before the list, so that no moment has neither
    scratch.put(f"{made.name}/{LIST}", data)
    made.mark = scratch.mark(f"{made.name}/{LIST}")
    return made


def _delete_discarded() -> None:
    while True:
        try:
            discarded = _discarded.get_nowait()
        except Empty:
            return
        _all.pop(id(discarded[-1]), None)
        _delete(*discarded)


def _delete_all() -> None:
    while _all:
        _delete(*_all.popitem()[1])


def _delete(process: int, scratch: Scratch, names: list[str]) -> None:
    """Delete the files of a list. A fork leaves them to the process that wrote them."""
    if process == os.getpid():
        scratch.delete(*names)


atexit.register(finish, _delete_all)
