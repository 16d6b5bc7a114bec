# SPDX-License-Identifier: Apache-2.0
"""Copy files byte for byte from one table's folder to another's."""

from __future__ import annotations

import contextlib
import shutil
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from bayou.errors import StorageError, failed
from bayou.storage.durable_files import make_folders, publish
from bayou.storage.trees import delete_many

if TYPE_CHECKING:
    from bayou.storage.store import LogStore

_THREADS: Final = 8


@dataclass(frozen=True, slots=True)
class FileCopy:
    """One file to copy.

    Attributes:
        source: the store that has the file.
        source_path: its path in that store.
        target_path: the path of the copy in the target's store.
    """

    source: LogStore
    source_path: str
    target_path: str


@runtime_checkable
class CopyingStore(Protocol):
    """A log store that copies files without passing their bytes through this process."""

    def copy_if_absent(self, source: LogStore, source_path: str, path: str) -> bool | None:
        """Copy a file from another store or from this one. Never replace a file.

        Args:
            source: the store that has the file.
            source_path: its path in that store.
            path: the path of the copy in this store.

        Returns:
            True if the copy was made, False if a file of this name exists, None if this store cannot copy from that one.

        Raises:
            FileNotFoundError: the source does not exist.
            StorageError: a store failed.
        """
        ...


def copy_files(target: LogStore, copies: Sequence[FileCopy]) -> None:
    """Copy files concurrently and make the copies durable. Never replace a file.

    If one copy fails, delete the copies that this call made.

    Args:
        target: the store that gets the copies.
        copies: the files to copy.

    Raises:
        FileNotFoundError: a source does not exist.
        StorageError: a store failed, or the target has a file of this name.
    """
    made: list[str] = []  # the paths to delete after a failure: copies that exist or may exist

    def copy(one: FileCopy) -> None:
        try:
            is_new = _copied(target, one, made.append)
        except (FileNotFoundError, StorageError):
            raise
        except OSError as error:
            raise failed("copy-failed", file=one.target_path, reason=str(error)) from error
        if not is_new:  # the file belongs to another program, and must not be deleted
            while one.target_path in made:
                made.remove(one.target_path)
            raise failed("copy-target-exists", file=one.target_path)

    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            try:
                for done in [pool.submit(copy, each) for each in copies]:
                    done.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)  # copies that start now would only be deleted
                raise
        target.sync(made)
    except BaseException:
        with contextlib.suppress(OSError, StorageError):
            delete_many(target, made)
        raise


def _copied(target: LogStore, copy: FileCopy, begin: Callable[[str], None]) -> bool:
    """Copy a file, and return whether it was new.

    Call `begin` with the path before anything is written there: a store may have made the copy even if it raises an error.
    Until then, a file of this name belongs to another program.
    """
    if isinstance(target, CopyingStore):
        try:
            made = target.copy_if_absent(copy.source, copy.source_path, copy.target_path)
        except StorageError as error:
            if not error.facts.get("is_refused"):
                begin(copy.target_path)
            raise
        if made is not None:
            begin(copy.target_path)
            return made
    source, place = copy.source.local_path(copy.source_path), target.local_path(copy.target_path)
    if source is None or place is None:
        data = copy.source.read(copy.source_path)
        begin(copy.target_path)
        return target.put_if_absent(copy.target_path, data)
    return _copied_on_disk(Path(source), Path(place), lambda: begin(copy.target_path))


def _copied_on_disk(source: Path, target: Path, begin: Callable[[], None]) -> bool:
    """Copy a file without passing its bytes through Python, and return whether it was new.

    The copy gets its name only when it is complete.

    Args:
        begin: called before the copy gets its name.
    """
    make_folders(target.parent)
    temporary = target.parent / f".{uuid.uuid4().hex}.tmp"  # a short name: the file's own may already have the maximum length
    try:
        shutil.copyfile(source, temporary)
        begin()
        return publish(temporary, target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
