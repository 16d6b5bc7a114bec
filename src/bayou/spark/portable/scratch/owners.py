# SPDX-License-Identifier: Apache-2.0
"""Delete the folders for lists of files whose clients are gone, such as those that were killed.

Each client has a folder of its own with a file `owner`. On a local file system the client holds a lock on that file until it ends,
and the file names the boot of the machine, so that another client of the same machine knows at once. Everywhere else the client
writes the file again each hour, and a folder is deleted if its file is a day older than a file written now. Both times are the
store's, so no clock of a client matters.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import shutil
import threading
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Final

from bayou.errors import DeltaError
from bayou.storage import list_tree
from bayou.storage.trees import EVERY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.storage import LogStore

with contextlib.suppress(ImportError):  # Windows, where only the age counts
    import fcntl

OWNER: Final = "owner"
"""The file in a client's folder that shows that the client runs."""
PREFIX: Final = "bayou-scratch-"
"""The names of the folders begin with this."""
IN_TABLE: Final = "_bayou_scratch"
"""The folder in a table's folder that has the folders of clients."""
_HAS_LOCKS: Final = "fcntl" in globals()
_HOUR: Final = 3600.0
_DAY_MS: Final = 24 * 3600 * 1000

_lock: Final = threading.Lock()
_held: Final[dict[str, IO[bytes]]] = {}
_renewed: Final[list[tuple[int, LogStore, str]]] = []
_serving: Final[set[int]] = set()
_actions: Final[SimpleQueue[Callable[[], object]]] = SimpleQueue()


def own(store: LogStore, folder: str) -> None:
    """Mark a folder as this process's, until the process ends.

    Args:
        folder: its path in the store, with a trailing slash; empty for the store's root.

    Raises:
        StorageError: the mark could not be written.
    """
    name = f"{folder}{OWNER}"
    path = store.local_path(name)
    file = None
    if path is None or not _HAS_LOCKS:
        store.put(name, _machine().encode())
    else:
        file = _put_locked(store, name, path)
    with _lock:
        if path is not None and file is not None:
            before, _held[path] = _held.get(path), file
            if before is not None:
                before.close()
        is_first = os.getpid() not in _serving
        _serving.add(os.getpid())
        _renewed.append((os.getpid(), store, name))
    if is_first:
        threading.Thread(target=_serve, name="bayou-scratch", daemon=True).start()


def _put_locked(store: LogStore, name: str, path: str) -> IO[bytes]:
    """Write a mark that is locked from the beginning, so that no other client gets its lock first. Return it open."""
    temporary = f"{name}-{secrets.token_hex(4)}"
    store.put(temporary, _machine().encode())
    place = Path(path).with_name(temporary.rpartition("/")[2])
    file = place.open("r+b")  # it stays open, and with it the lock
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    place.replace(path)
    return file


def disown(store: LogStore, folder: str) -> None:
    """Delete the mark of a folder of this process."""
    name = f"{folder}{OWNER}"
    with _lock:
        _renewed[:] = [each for each in _renewed if each[1:] != (store, name)]
        file = _held.pop(store.local_path(name) or "", None)
    if file is not None:
        file.close()
    with contextlib.suppress(DeltaError, OSError):
        store.delete(name)


def delete_orphans(store: LogStore, parent: str, own_folder: str) -> None:
    """Delete the folders of clients that are gone, next to the folder of this process. Errors are ignored.

    Args:
        parent: the path of the folder that has the folders of clients, with a trailing slash; empty for the store's root.
        own_folder: the name of this process's folder, which has its mark.
    """
    with contextlib.suppress(DeltaError, OSError):
        local = store.local_path(f"{parent}x")
        found = _clients(store, parent) if local is None else _clients_on_disk(Path(local).parent)
        now = found.pop(own_folder, {}).get(OWNER)
        for folder, files in found.items():
            if now is not None and _is_orphan(store, f"{parent}{folder}/{OWNER}", files, now):
                _delete(store, f"{parent}{folder}/", list(files))


def _clients(store: LogStore, parent: str) -> dict[str, dict[str, int]]:
    """Return the folders of clients, each with the modification times of its files."""
    found: dict[str, dict[str, int]] = {}
    for batch in list_tree(store, EVERY_NAME, parent.rstrip("/")):
        for row in batch.to_pylist():
            folder, _, name = row["path"].removeprefix(parent).partition("/")
            if folder.startswith(PREFIX) and name and not row["is_folder"]:
                found.setdefault(folder, {})[name] = row["modification_time"]
    return found


def _clients_on_disk(parent: Path) -> dict[str, dict[str, int]]:
    """The same, without a look at other folders: the temporary folder of a machine has many."""
    found = {}
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or deleted meanwhile
            files = [file for file in folder.rglob("*") if file.is_file()]
            found[folder.name] = {str(file.relative_to(folder)): _milliseconds(file) for file in files} or {
                "": _milliseconds(folder)
            }
    return found


def _milliseconds(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


def _is_orphan(store: LogStore, name: str, files: dict[str, int], now: int) -> bool:
    is_held = _is_held(store, name) if OWNER in files else None
    if is_held is not None:
        return not is_held
    # A folder without a mark is a client's that is about to write it, or to delete the folder.
    return now - files.get(OWNER, max(files.values())) > _DAY_MS


def _is_held(store: LogStore, name: str) -> bool | None:
    """Whether a client of this machine holds the lock of a mark; None if no lock says it, and only the age counts.

    The age of a mark that is locked says nothing: a machine that sleeps renews no marks.
    """
    path = store.local_path(name)
    if path is None or not _HAS_LOCKS or store.read(name) != _machine().encode():
        return None
    with Path(path).open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks
            return None
        return not os.path.samestat(os.fstat(file.fileno()), Path(path).stat())  # its owner has just written another one


def _delete(store: LogStore, folder: str, names: list[str]) -> None:
    path = store.local_path(f"{folder}x")
    if path is not None:
        shutil.rmtree(Path(path).parent, ignore_errors=True)
        return
    for name in sorted(names, key=lambda each: each == OWNER):  # the mark last, so that the next client goes on
        with contextlib.suppress(DeltaError, OSError):
            store.delete(folder + name)


def finish(action: Callable[[], object], seconds: float = 10) -> None:
    """Run an action at the end of the process. If it takes longer than some seconds, the process ends without its end.

    A store that does not answer is asked again for minutes. What is left is deleted by the next client.
    """
    if os.getpid() not in _serving:  # a fork, or no folder was marked
        action()
        return
    done = threading.Event()

    def run() -> None:
        action()
        done.set()

    _actions.put(run)  # no thread can be started any more
    done.wait(seconds)


def _serve() -> None:
    """Renew the marks each hour, and run what `finish` gets."""
    while True:
        try:
            action = _actions.get(timeout=_HOUR)
        except Empty:
            action = _renew
        with contextlib.suppress(Exception):  # nobody waits for an error
            action()


def _renew() -> None:
    with _lock:
        marks = [(store, name) for process, store, name in _renewed if process == os.getpid()]
    for store, name in marks:
        if store.local_path(name) is not None:  # keeps the file that is locked
            with contextlib.suppress(OSError):
                os.utime(str(store.local_path(name)))
            continue
        with contextlib.suppress(DeltaError, OSError):
            store.put(name, _machine().encode())


@cache
def _machine() -> str:
    """Return what no other machine has, and no other boot of this one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return platform.node()
