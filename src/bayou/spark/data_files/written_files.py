# SPDX-License-Identifier: Apache-2.0
"""What an operation has written and not yet committed: the actions that add its files."""

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
    """Files that are written and not yet committed.

    Attributes:
        files: the actions that add them.
        num_rows: the rows in all of them.
        num_bytes: the size of all of them.
        head: the actions beside these, where they are others than the target's because of what was written.
        changes: the actions that add the files of change rows; their rows and their size are not counted above.
        observed: what the observations of the rows saw that were asked for, by their names.
        read_by_tasks: for each task the URIs of the files that it read, in that order, where tasks were made for files.
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
        """The actions of all files that were written."""
        return [*self.files, *self.changes]

    @property
    def relative_paths(self) -> list[str]:
        """The paths of all files that were written, under the table's root, decoded."""
        return [paths.decode(file.path) for file in self.actions]


NO_FILES: Final = NewFiles([], 0, 0)
"""What was written where nothing was."""
