# SPDX-License-Identifier: Apache-2.0
"""The files that an operation writes for its commit: cleanup of these is its only task."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from bayou.errors import DeltaError
from bayou.log.commit.outcomes import Committed
from bayou.spark.backend import JOB_FOLDER
from bayou.spark.data_files.remote_files import files_of_session
from bayou.spark.session.progress import committed, phase
from bayou.storage import delete_many, open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from bayou.log.commit.transaction import Transaction, Unchanged
    from bayou.spark.data_files.placed_files import SplitFolders
    from bayou.spark.data_files.target import HeadAction
    from bayou.spark.data_files.written_files import NewFiles


class UncommittedFiles:
    """The files of one operation that no commit names yet.

    The block of this context manager writes them and commits them. At its end they are deleted, unless the commit is or may be in
    the log. Files that cannot be deleted stay, and VACUUM finds them.
    """

    def __init__(self, path: str, storage_options: Mapping[str, str]) -> None:
        """Begin with no files.

        Args:
            path: the table's URI.
            storage_options: options for the file system, by their Hadoop names.
        """
        self._root = qualify(path)
        self._options = storage_options
        self._paths: dict[str, None] = {}
        self._folders: list[SplitFolders] = []
        self._transaction: Transaction | None = None

    def __enter__(self) -> Self:
        """Return this object."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Delete the files if their commit is certainly not in the log."""
        if self._transaction is None or not self._transaction.may_be_in_log:
            self.delete(list(self._paths))
            for folders in self._folders:
                folders.clear()

    def add(self, paths: Iterable[str]) -> None:
        """Take over files by their paths under the table's root, decoded. A file may be missing."""
        self._paths.update(dict.fromkeys(paths))

    def add_folders(self, folders: SplitFolders) -> None:
        """Take over the folders of one job, with all files in them."""
        self._folders.append(folders)

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files that the commit does not add; paths are as in `add`."""
        for path in paths:
            self._paths.pop(path, None)
        if self._root.local is not None:
            for path in paths:
                _delete_local(self._root.local, path)
            return
        with contextlib.suppress(DeltaError, OSError):
            files = files_of_session(self._root.uri, self._options) if paths else None
            if files is not None:
                files.delete_all([f"{self._root.uri}/{path}" for path in paths])
            elif paths:  # a client of Spark Connect uses its own store
                delete_many(open_store(self._root, self._options), list(paths))

    def commit(
        self,
        transaction: Transaction,
        added: NewFiles,
        metrics: Mapping[str, object],
        *,
        head: Sequence[HeadAction] = (),
        keeps_row_ids: bool = False,
    ) -> Committed | Unchanged:
        """Sync the files and commit them.

        Args:
            transaction: the operation's transaction, with the files that it removes.
            added: the files that the commit adds.
            head: the actions in addition to the files, if `added` has no own head.
            keeps_row_ids: whether files of rows that only move hold the ids of these rows (see `Transaction.commit`).

        Raises:
            ConcurrentModificationError: another commit excludes this one.
            StorageError: the store failed; the commit may be in the log all the same.
        """
        phase("committing")
        transaction.log.store.sync(added.relative_paths)
        self._transaction = transaction
        done = transaction.commit(
            [*(added.head or head), *added.actions], metrics=metrics, new_files=True, keeps_row_ids=keeps_row_ids
        )
        if isinstance(done, Committed):
            committed(done.version, done.metrics or {})
        return done


def _delete_local(root: str, path: str) -> None:
    """Delete a file, the checksum that a Hadoop file system may have put next to it, and the folder of its job if nothing is left.

    The folders of partitions stay, because other writers may use them.
    """
    folder, name = os.path.split(path)
    for each in (path, os.path.join(folder, f".{name}.crc")):  # noqa: PTH118  (the parts are not Path objects)
        with contextlib.suppress(OSError):
            os.remove(os.path.join(root, each))  # noqa: PTH107, PTH118
    while any(part.startswith(JOB_FOLDER) for part in folder.split("/")):
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(root, folder))  # noqa: PTH106, PTH118
        folder = os.path.dirname(folder)  # noqa: PTH120
