# SPDX-License-Identifier: Apache-2.0
"""The batches of a stream from a table: each is a folder whose name holds the offsets between which it reads.

Spark keeps these names in the query's checkpoint, in the log of its file source. A query that is started again finds in them how
far it has read. No other state exists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.log.streaming.request.offsets import SourceOffset

if TYPE_CHECKING:
    from typing_extensions import Self

_OFFSET: Final = r"(\d+)\.(-?\d+)([sc])"
_NAME: Final = re.compile(rf"bayou-batch-(\d+)-([0-9a-f]*)-{_OFFSET}-{_OFFSET}")
_SNAPSHOT, _COMMIT = "s", "c"


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """One batch.

    Attributes:
        number: its number in the log of Spark's file source, from 0.
        start: where it begins.
        end: where it ends; the start for a batch without files.
    """

    number: int
    start: SourceOffset
    end: SourceOffset

    @property
    def name(self) -> str:
        """The name of its folder. It has no character that Spark's readers take for a pattern."""
        table = self.start.table_id.encode().hex()
        return f"bayou-batch-{self.number}-{table}-{_text(self.start)}-{_text(self.end)}"

    @classmethod
    def of(cls, name: str) -> Self | None:
        """Return the batch of a folder's name; None if it is not the name of a batch."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        number, table, *offsets = found.groups()
        table_id = bytes.fromhex(table).decode()
        start, end = (_offset(table_id, *offsets[first : first + 3]) for first in (0, 3))
        return cls(int(number), start, end)


def _text(offset: SourceOffset) -> str:
    return f"{offset.version}.{offset.index}{_SNAPSHOT if offset.is_starting_version else _COMMIT}"


def _offset(table_id: str, version: str, index: str, kind: str) -> SourceOffset:
    return SourceOffset(table_id, int(version), int(index), is_starting_version=kind == _SNAPSHOT)
