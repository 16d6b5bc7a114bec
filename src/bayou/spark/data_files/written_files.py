# SPDX-License-Identifier: Apache-2.0
"""The files that an operation has written and not yet committed, with the actions that add them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bayou.protocol.actions import paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.protocol.actions.actions import AddCDCFile, AddFile
    from bayou.spark.data_files.target import HeadAction


@dataclass(frozen=True, slots=True)
class NewFiles:
    """Uncommitted files.

    Attributes:
        files: the actions that add the data files.
        num_rows: the number of rows in the data files.
        num_bytes: the size of the data files.
        head: the actions that replace the target's head, if the written values changed it; otherwise empty.
        changes: the actions that add the change data files.
        observed: the values of the requested observations, by their names.
        read_by_tasks: for each task the URIs of the files that it read, in that order, if tasks were given.
    """

    files: list[AddFile]
    num_rows: int
    num_bytes: int
    head: tuple[HeadAction, ...] = ()
    changes: Sequence[AddCDCFile] = ()
    observed: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    read_by_tasks: Sequence[Sequence[str]] = ()

    @property
    def actions(self) -> list[AddFile | AddCDCFile]:
        """The actions of all files."""
        return [*self.files, *self.changes]

    @property
    def relative_paths(self) -> list[str]:
        """The decoded paths of all files, relative to the table's root."""
        return [paths.decode(file.path) for file in self.actions]


NO_FILES: Final = NewFiles([], 0, 0)
"""For an operation that wrote no files."""
