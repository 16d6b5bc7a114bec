# SPDX-License-Identifier: Apache-2.0
"""A checkpoint as it was read: its files, its small actions, and the rows of its file actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from bayou.checks.file_rows import EMPTY
from bayou.protocol.actions.file_names import LogFileKind

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.checks.log_file import Action, LogFile

_UNREADABLE: Final = frozenset({"parquet", "json"})


@dataclass(slots=True, eq=False)
class Checkpoint:
    """A checkpoint: its files, and the rows of its file actions.

    Attributes:
        version: the table version.
        kind: how it is named.
        files: the top-level file, or the parts.
        parts: the number of parts that the names state; 1 for others.
        sidecars: the sidecar files that were found, by decoded name.
        rows: the file actions, those of sidecars included.
    """

    version: int
    kind: LogFileKind
    files: list[LogFile]
    parts: int = 1
    sidecars: dict[str, LogFile] = field(default_factory=dict)
    rows: pa.Table = field(default_factory=lambda: EMPTY)

    @property
    def all_files(self) -> list[LogFile]:
        """The files, those of sidecars included."""
        return [*self.files, *self.sidecars.values()]

    @property
    def is_complete(self) -> bool:
        """Whether all parts exist and could be parsed."""
        return (
            len(self.files) == self.parts
            and all(each in self.sidecars for each in self.sidecar_names)
            and not any(each.kind in _UNREADABLE for file in self.all_files for each in file.problems)
        )

    @property
    def sidecar_names(self) -> list[str]:
        """The decoded names of the sidecar files that the checkpoint refers to."""
        paths = (each.value.get("path") for each in self.actions if each.kind == "sidecar")
        return [unquote(each).rpartition("/")[2] for each in paths if isinstance(each, str)]

    @property
    def is_v2(self) -> bool:
        """Whether the checkpoint follows the V2 spec."""
        return self.kind is LogFileKind.V2_CHECKPOINT or any(each.kind == "checkpointMetadata" for each in self.actions)

    @property
    def actions(self) -> list[Action]:
        """The actions that are not file actions."""
        return [each for file in self.files for each in file.actions]
