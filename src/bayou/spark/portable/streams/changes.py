# SPDX-License-Identifier: Apache-2.0
"""The rows of a stream of changes, as in the change data feed.

Spark reads each file of a batch once. Each of its rows is then repeated for each change of the file, before the rows that a change
does not contain are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.log.changes.feed import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, FEED_COLUMNS
from bayou.spark.portable.scan.vectors import bit_at
from bayou.spark.portable.streams.rows import StreamedRows
from bayou.spark.scan.row_ids import FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.protocol.types.schema import StructField

_ROW: Final = "__bayou_row"
_CHANGE: Final = "__bayou_change"


@dataclass(frozen=True)
class StreamedChanges(StreamedRows):
    """How a query gets the changed rows and their facts."""

    _noted: ClassVar[Mapping[str, str]] = {
        "of_files": "array<array<int>>",
        "kinds": "array<string>",
        "versions": "array<bigint>",
        "times": "array<bigint>",
        "wanted": "array<int>",
    }

    @property
    def further_fields(self) -> Sequence[StructField]:
        """The column that change data files have."""
        return FEED_COLUMNS[:1]

    def chosen(self, rows: DataFrame, metadata: str) -> DataFrame:
        """Return the rows of each change. The query fails if the file of a row is not in the lists of the run."""
        position, note = self._position(metadata), self._note
        changes = F.explode(F.get(note["of_files"], position)).alias(_CHANGE)
        rows = rows.where(self._is_listed(metadata))
        rows = rows.select("*", position.alias(FILE), F.col(f"{metadata}.row_index").alias(_ROW), changes)
        change = F.col(_CHANGE)
        return rows.where(bit_at(F.get(note["words"], change), F.col(_ROW)) == F.get(note["wanted"], change))

    def partition(self, name: str, metadata: str) -> Column:
        """Return the value of a partition column, by its physical name."""
        del metadata
        return self._partition(name, F.col(FILE))

    def further_columns(self) -> Sequence[Column]:
        """Return the columns of the feed."""
        note, change = self._note, F.col(_CHANGE)
        # Other files than change data files may have a column of this name that the table does not have.
        kind = F.coalesce(F.get(note["kinds"], change), F.col(CHANGE_TYPE))
        return (
            kind.alias(CHANGE_TYPE),
            F.get(note["versions"], change).alias(COMMIT_VERSION),
            F.timestamp_millis(F.get(note["times"], change)).alias(COMMIT_TIMESTAMP),
        )
