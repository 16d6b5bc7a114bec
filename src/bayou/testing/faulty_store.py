# SPDX-License-Identifier: Apache-2.0
r"""A log store that fails, waits or stops where a test says so, and counts what is asked of it.

Example:
    lost_answer = Fault("put_if_absent", r"00000000000000000005\.json$", "after")
    store = FaultyStore(MemoryStore(), [lost_answer])
"""

from __future__ import annotations

import io
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, TypeAlias, TypeVar, cast

from bayou.errors import StorageError
from bayou.storage.store import FileStatus, LogStore
from bayou.storage.trees import Deletions, Folder, TreeStore

CallName: TypeAlias = Literal[
    "list_from", "read", "open", "size", "put_if_absent", "put", "delete", "sync", "list_folders", "delete_many"
]
FaultKind: TypeAlias = Literal["before", "after", "delay", "hook", "hook_after"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, and when.

    Attributes:
        call: the method; None for every one.
        path: a regular expression that is found in the path; for a call with several paths, in one of them. Empty: any path.
        kind: `before` fails and nothing has happened; `after` fails though it has happened, so that the answer is lost;
            `delay` waits for `seconds` first; `hook` and `hook_after` call `hook` before and after the call.
        nth: the first matching call that it strikes, from 1 on.
        times: how many matching calls it strikes from there; None for all of them, as if the store were gone.
        error: what `before` and `after` raise; None for a StorageError that names the call.
        seconds: how long `delay` waits.
        hook: what to call, for example the `wait` of a `threading.Barrier`.
    """

    call: CallName | None = None
    path: str = ""
    kind: FaultKind = "before"
    nth: int = 1
    times: int | None = 1
    error: BaseException | None = None
    seconds: float = 0.0
    hook: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        if self.kind.startswith("hook") != (self.hook is not None):
            message = f"a fault of the kind {self.kind!r} {'needs' if self.hook is None else 'has no'} hook"
            raise ValueError(message)

    def matches(self, call: str, paths: Iterable[str]) -> bool:
        """Whether the fault is about such a call."""
        return self.call in {None, call} and any(re.search(self.path, path) for path in paths)

    def strikes(self, count: int) -> bool:
        """Whether it strikes the matching call of that number."""
        return count >= self.nth and (self.times is None or count < self.nth + self.times)


class FaultyStore:
    """Another store behind a plan of faults; threads may share it.

    Every call is recorded before anything else happens to it. Faults are tried in the plan's order, each with a count of its
    own; one that fails hides the later ones.

    Attributes:
        inner: the wrapped store, which has the actual files.
    """

    def __init__(self, inner: LogStore, plan: Iterable[Fault] = (), *, maps_files: bool = False) -> None:
        """Put a plan before a store.

        Args:
            inner: the store that keeps the files.
            plan: the faults; `add` adds to them.
            maps_files: whether `local_path` returns the inner store's paths. Reads by a local path bypass the faults and the
                counts, so by default it returns None.
        """
        self.inner = inner
        self._maps_files = maps_files
        self._lock = threading.Lock()
        self._plan: list[tuple[Fault, Counter[None]]] = []
        self._trace: list[tuple[str, str]] = []
        self._bytes_read: Counter[str] = Counter()
        for fault in plan:
            self.add(fault)

    def __repr__(self) -> str:
        return f"FaultyStore({self.inner!r})"

    def add(self, fault: Fault) -> None:
        """Add a fault to the plan; calls that were made already do not count for it."""
        with self._lock:
            self._plan.append((fault, Counter()))

    def reset(self) -> None:
        """Forget the plan and all counts."""
        with self._lock:
            self._plan.clear()
            self._trace.clear()
            self._bytes_read.clear()

    @property
    def trace(self) -> tuple[tuple[str, str], ...]:
        """Every call so far as its name and path, in order, failed ones too; one with several paths has one entry a path."""
        with self._lock:
            return tuple(self._trace)

    @property
    def calls(self) -> Counter[tuple[str, str]]:
        """How often each method was called with each path."""
        return Counter(self.trace)

    def count(self, call: CallName | None = None, path: str = "") -> int:
        """How many calls match a method and a regular expression for the path, as in a fault."""
        wanted = Fault(call, path)
        return sum(wanted.matches(name, [where]) for name, where in self.trace)

    @property
    def bytes_read(self) -> Counter[str]:
        """How many bytes were handed out for each path, by `read` and by the files that `open` gave."""
        with self._lock:
            return Counter(self._bytes_read)

    def list_from(self, path: str) -> Iterator[FileStatus]:
        """See LogStore."""
        return self._call("list_from", [path], lambda: self.inner.list_from(path))

    def read(self, path: str) -> bytes:
        """See LogStore."""
        data = self._call("read", [path], lambda: self.inner.read(path))
        self._count_bytes(path, len(data))
        return data

    def open(self, path: str) -> BinaryIO:
        """See LogStore."""
        file = self._call("open", [path], lambda: self.inner.open(path))
        return cast("BinaryIO", _CountedFile(file, lambda count: self._count_bytes(path, count)))

    def size(self, path: str) -> int:
        """See LogStore."""
        return self._call("size", [path], lambda: self.inner.size(path))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """See LogStore."""
        return self._call("put_if_absent", [path], lambda: self.inner.put_if_absent(path, data))

    def put(self, path: str, data: bytes) -> None:
        """See LogStore."""
        self._call("put", [path], lambda: self.inner.put(path, data))

    def delete(self, path: str) -> None:
        """See LogStore."""
        self._call("delete", [path], lambda: self.inner.delete(path))

    def sync(self, paths: Iterable[str]) -> None:
        """See LogStore."""
        files = list(paths)
        self._call("sync", files, lambda: self.inner.sync(files))

    def list_folders(self, folders: Sequence[str], shown: tuple[str, ...]) -> list[Folder]:
        """See TreeStore."""
        inner = cast("TreeStore", self.inner)
        return self._call("list_folders", list(folders), lambda: inner.list_folders(folders, shown))

    def delete_many(self, paths: Sequence[str]) -> Deletions:
        """See TreeStore."""
        return self._call("delete_many", list(paths), lambda: cast("TreeStore", self.inner).delete_many(paths))

    def local_path(self, path: str) -> str | None:
        """See LogStore; None unless `maps_files` was asked for."""
        return self.inner.local_path(path) if self._maps_files else None

    def _call(self, name: CallName, paths: list[str], call: Callable[[], _T]) -> _T:
        struck = self._record(name, paths)
        for fault in struck:
            match fault.kind:
                case "before":
                    raise _error(fault, name, paths)
                case "delay":
                    time.sleep(fault.seconds)
                case "hook":
                    _run(fault)
        answer = call()
        for fault in struck:
            if fault.kind == "hook_after":
                _run(fault)
            elif fault.kind == "after":
                if isinstance(answer, io.IOBase):  # nobody else can close it
                    answer.close()
                raise _error(fault, name, paths)
        return answer

    def _record(self, name: str, paths: list[str]) -> list[Fault]:
        struck = []
        with self._lock:
            self._trace.extend((name, path) for path in paths)
            for fault, count in self._plan:
                if fault.matches(name, paths):
                    count[None] += 1
                    if fault.strikes(count[None]):
                        struck.append(fault)
        return struck

    def _count_bytes(self, path: str, count: int) -> None:
        with self._lock:
            self._bytes_read[path] += count


def _error(fault: Fault, name: str, paths: list[str]) -> BaseException:
    if fault.error is not None:
        return fault.error
    when = "before anything happened" if fault.kind == "before" else "after it was done"
    return StorageError(f"a fault was planned for this {name}: it failed {when}", file=next(iter(paths), None))


def _run(fault: Fault) -> None:
    if fault.hook is not None:
        fault.hook()


class _CountedFile(io.RawIOBase):
    """A file for reading that reports how many bytes were read from it."""

    def __init__(self, file: BinaryIO, report: Callable[[int], None]) -> None:
        super().__init__()
        self._file = file
        self._report = report

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int | None = -1, /) -> bytes:
        return self._counted(self._file.read(-1 if size is None else size))

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._counted(self._file.readline(-1 if size is None else size))

    def close(self) -> None:
        self._file.close()
        super().close()

    def _counted(self, data: bytes) -> bytes:
        self._report(len(data))
        return data
