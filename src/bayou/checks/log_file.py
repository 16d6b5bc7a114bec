# SPDX-License-Identifier: Apache-2.0
"""One file of the log as it was read: its small actions, the rows of its file actions, and what could not be parsed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bayou.protocol.actions.file_names import LogFileName


@dataclass(frozen=True, slots=True, eq=False)
class Action:
    """An action that is not a file action.

    Attributes:
        kind: its name, such as `metaData`.
        value: its fields.
        file: the file that contains it.
        line: the line or the row, counted from one.
    """

    kind: str
    value: Mapping[str, Any]
    file: LogFile
    line: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a file that could not be parsed.

    Attributes:
        kind: what is wrong: "json", "unicode", "action", "type" or "parquet".
        detail: the reason.
        line: the line or the row, counted from one; None for the whole file.
        action: the name of the action, if known.
    """

    kind: str
    detail: str
    line: int | None = None
    action: str | None = None


@dataclass(slots=True, eq=False)
class LogFile:
    """A file of the log.

    Attributes:
        path: relative to the table.
        version: the table version, the last one of a compacted file; -1 for files without a version.
        number: the place in `RawLog.files`, which rows of file actions refer to.
        name: the parsed name; None for a sidecar or the hint.
        actions: the actions that are not file actions.
        columns: the columns of a Parquet file, by action.
    """

    path: str
    version: int
    number: int
    size: int
    modification_time: int
    name: LogFileName | None = None
    actions: list[Action] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    columns: Mapping[str, tuple[str, ...]] | None = None
    writer: str | None = None
    document: Any = None
    file_actions: int = 0

    def of_kind(self, kind: str) -> Iterator[Action]:
        """Yield the actions of a kind."""
        return (each for each in self.actions if each.kind == kind)

    @property
    def is_parquet(self) -> bool:
        """Whether the name says that the file is a Parquet file."""
        return self.path.endswith(".parquet")
