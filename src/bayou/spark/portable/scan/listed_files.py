# SPDX-License-Identifier: Apache-2.0
"""The files of a scan: those of a snapshot, or others of the same table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.spark.portable.scan.vectors import vectors_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.deletion_vectors.roaring import Bitmap


@dataclass(frozen=True)
class ListedFiles:
    """An ordered list of files, in which no file occurs twice, because Spark would read it once.

    Attributes:
        snapshot: the version whose schema, partition columns and column mapping apply to the files.
        table: `path` as in the log, and `size` in bytes; None for the files of the snapshot. Files of a table have no deletion
            vectors.
        name: distinguishes the table from others of the same version. Empty for the files of the snapshot.
    """

    snapshot: Snapshot
    table: pa.Table | None = None
    name: str = ""

    @property
    def count(self) -> int:
        """The number of files."""
        return int(self.facts(["path"]).num_rows)

    def facts(self, columns: Sequence[str]) -> pa.Table:
        """Return facts about the files."""
        return self.snapshot.files(list(columns)) if self.table is None else self.table.select(list(columns))

    def vectors(self, positions: pa.Array | None, storage_options: Mapping[str, str] | None) -> list[Bitmap | None]:
        """Return the deletion vectors of some files; an empty list if no file has one.

        Raises:
            DeletionVectorError: a vector's file is missing or does not fit its descriptor.
        """
        return vectors_of(self.snapshot, positions, storage_options) if self.table is None else []
