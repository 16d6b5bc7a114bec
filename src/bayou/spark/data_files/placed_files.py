# SPDX-License-Identifier: Apache-2.0
"""Separate the data files and change data files of one job, and move them to their final folders.

Spark's writer only makes folders of partition columns, so it cannot write into `_change_data/` directly. A leading partition
column, whose name is unique to the job, separates the two kinds of files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bayou.errors import DeltaError, failed, reason
from bayou.protocol.actions.file_names import CHANGES_FOLDER
from bayou.spark.data_files.remote_files import files_of_session
from bayou.storage import delete_many, list_tree, open_store
from bayou.storage.copies import FileCopy, copy_files
from bayou.storage.trees import EVERY_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.spark.data_files.remote_files import RemoteFiles
    from bayou.storage import QualifiedPath

_CHANGES = "true"


@dataclass(frozen=True, slots=True)
class SplitFolders:
    """The temporary folders of one job.

    Attributes:
        root: the table's folder.
        options: options for the file system.
        prefix: the folder of the data files under the root; empty for the root itself.
        column: the name of the partition column that is true for change rows.
        jobs: the folders under the root that contain the temporary folders, if a job writes into a folder of its own.
    """

    root: QualifiedPath
    options: Mapping[str, str] = field(repr=False)
    prefix: str = ""
    column: str = field(default_factory=lambda: f"rows-{uuid.uuid4()}")
    jobs: set[str] = field(default_factory=set, compare=False)

    def place(self, relatives: Sequence[str]) -> list[str]:
        """Move files to their final folders, and delete the temporary folders.

        Returns:
            The new paths, in the same order. Paths of change data files begin with `_change_data/`.

        Raises:
            StorageError: a file could not be moved. Files that were moved before it stay there.
        """
        places = [self._place(relative) for relative in relatives]
        moves = list(zip(relatives, places, strict=True))
        try:
            self._move_locally(moves) if self.root.local is not None else self._move(moves)
        except (OSError, DeltaError) as error:
            raise failed("files-not-moved", table=self.root.uri, reason=reason(error)) from error
        self.clear()
        return places

    def clear(self) -> None:
        """Delete the temporary folders. Files that cannot be deleted stay, and VACUUM finds them."""
        for folder in (f"{job}{self.column}={value}" for job in ("", *sorted(self.jobs)) for value in (_CHANGES, "false")):
            if self.root.local is not None:
                shutil.rmtree(Path(self.root.local, folder), ignore_errors=True)
            else:
                with contextlib.suppress(DeltaError, OSError):
                    self._clear(folder)
        for job in self.jobs if self.root.local is not None else ():
            with contextlib.suppress(OSError):
                Path(str(self.root.local), job).rmdir()

    def _place(self, relative: str) -> str:
        folder, _, rest = relative.partition("/")
        if not folder.startswith(f"{self.column}="):
            self.jobs.add(f"{folder}/")
            folder, _, rest = rest.partition("/")
        if folder != f"{self.column}={_CHANGES}":
            return f"{self.prefix}/{rest}" if self.prefix else rest
        folders, _, name = rest.rpartition("/")
        return "/".join(part for part in (CHANGES_FOLDER, folders, f"cdc-{name.removeprefix('part-')}") if part)

    def _move_locally(self, moves: Sequence[tuple[str, str]]) -> None:
        root = Path(str(self.root.local))
        for folder in {target.rpartition("/")[0] for _, target in moves}:
            (root / folder).mkdir(parents=True, exist_ok=True)
        for source, target in moves:
            os.rename(root / source, root / target)  # noqa: PTH104  (saves a Path object per file)

    def _move(self, moves: Sequence[tuple[str, str]]) -> None:
        files = self._files()
        if files is None:
            store = open_store(self.root, self.options)
            copy_files(store, [FileCopy(store, source, target) for source, target in moves])
            delete_many(store, [source for source, _ in moves])
            return
        uris = [(f"{self.root.uri}/{source}", f"{self.root.uri}/{target}") for source, target in moves]
        files.move_all(uris)

    def _clear(self, folder: str) -> None:
        files = self._files()
        if files is not None:
            files.clear(f"{self.root.uri}/{folder}")
            return
        store = open_store(self.root, self.options)
        for batch in list_tree(store, EVERY_NAME, folder):
            delete_many(store, [row["path"] for row in batch.to_pylist() if not row["is_folder"]])

    def _files(self) -> RemoteFiles | None:
        """Return the file system of the session's JVM; None for a client of Spark Connect, which uses its own store."""
        return files_of_session(self.root.uri, self.options)
