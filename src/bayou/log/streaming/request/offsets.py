# SPDX-License-Identifier: Apache-2.0
"""The offset of a stream, as delta-spark keeps it in a query's checkpoint.

Source: delta-spark's `DeltaSourceOffset`; the strings are the same to the byte, so that a query may change engines.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from bayou.errors import DeltaError, failed

BASE_INDEX: Final = -100
"""The index before everything in a version; a checkpoint holds -1 for it."""
END_INDEX: Final = (1 << 63) - 1 - 100
"""The index after everything in a version; a checkpoint holds the next version's BASE_INDEX for it."""
METADATA_CHANGE_INDEX: Final = -20
"""The index of a metadata change: after all earlier versions, before the version's files."""
POST_METADATA_CHANGE_INDEX: Final = -19
"""The index right after a metadata change."""
_WRITTEN_BASE_INDEX: Final = -1
_CURRENT_VERSION: Final = 3
_RESERVED_VERSION: Final = 2
_WITH_METADATA_CHANGES: Final = 3
_OF_CONNECT: Final = "logOffset"
"""The only field of an offset of Spark's file source."""
_BARRIERS: Final = (METADATA_CHANGE_INDEX, POST_METADATA_CHANGE_INDEX)


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """A position in a table's history, between two files. Offsets of one table are ordered by version and index.

    Attributes:
        version: the version that is being read.
        index: the index of the last file read in the version, from 0; BASE_INDEX if none was.
        is_starting_version: whether the files of the version's snapshot are read instead of those that its commit added.
    """

    table_id: str
    version: int
    index: int = BASE_INDEX
    is_starting_version: bool = False

    def __lt__(self, other: SourceOffset) -> bool:
        return self._place < other._place

    def __le__(self, other: SourceOffset) -> bool:
        return self._place <= other._place

    def __gt__(self, other: SourceOffset) -> bool:
        return self._place > other._place

    def __ge__(self, other: SourceOffset) -> bool:
        return self._place >= other._place

    @property
    def _place(self) -> tuple[int, int]:
        return self.version, self.index

    @property
    def is_metadata_change(self) -> bool:
        """Whether the offset is at a metadata change or right after it."""
        return self.index in _BARRIERS

    def to_json(self) -> str:
        """Return the offset as a checkpoint holds it."""
        if self.index == END_INDEX:
            return SourceOffset(self.table_id, self.version + 1).to_json()
        document = {
            "sourceVersion": _WITH_METADATA_CHANGES if self.is_metadata_change else 1,
            "reservoirId": self.table_id,
            "reservoirVersion": self.version,
            "index": _WRITTEN_BASE_INDEX if self.index == BASE_INDEX else self.index,
            "isStartingVersion": self.is_starting_version,
        }
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def parse(cls, text: str, table_id: str, table: str) -> SourceOffset:
        """Parse the offset that a checkpoint holds.

        Raises:
            StreamingSourceError: the string is not an offset, a later version of Delta wrote it, or it belongs to another table.
        """
        document = _document(text, table)
        if _OF_CONNECT in document:
            raise failed("DELTA_INVALID_SOURCE_OFFSET_FORMAT/of-connect", table=table, offset=text)
        version = _integer(document, "sourceVersion", table, missing=0)
        if version > _CURRENT_VERSION:
            raise failed("DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION", table=table, expected=_CURRENT_VERSION, found=version)
        if version < 1 or version == _RESERVED_VERSION:
            raise failed("DELTA_INVALID_SOURCE_VERSION", table=table, found=version, offset=text)
        found = document.get("reservoirId")
        if found != table_id:
            raise failed("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", table=table, new_id=table_id, old_id=str(found))
        index = _integer(document, "index", table)
        if version < _WITH_METADATA_CHANGES and index == _WRITTEN_BASE_INDEX:
            index = BASE_INDEX
        if index in (_WRITTEN_BASE_INDEX, END_INDEX):
            raise _invalid(text, table)
        is_starting = document.get("isStartingVersion")
        if not isinstance(is_starting, bool):
            raise _invalid(text, table)
        return cls(table_id, _integer(document, "reservoirVersion", table), index, is_starting)


def check_order(previous: SourceOffset, current: SourceOffset, table: str) -> None:
    """Raise StreamingSourceError if an offset goes back, which would read rows twice."""
    if not previous.is_starting_version and current.is_starting_version:
        what = "'isInitialSnapshot' flipped incorrectly"
    elif previous.version > current.version:
        what = "'reservoirVersion' moved back"
    elif previous > current:
        what = "'index' moved back"
    else:
        return
    raise failed(
        "DELTA_INVALID_SOURCE_OFFSET_FORMAT/order-of-offsets",
        table=table,
        version=current.version,
        problem=what,
        previous=previous.to_json(),
        current=current.to_json(),
    )


def _document(text: str, table: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid(text, table) from error
    if not isinstance(document, dict):
        raise _invalid(text, table)
    return document


def _integer(document: dict[str, Any], name: str, table: str, *, missing: int | None = None) -> int:
    value = document.get(name, missing)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _invalid(json.dumps(document), table)
    return value


def _invalid(text: str, table: str) -> DeltaError:
    return failed("DELTA_INVALID_SOURCE_OFFSET_FORMAT", table=table, offset=text)
