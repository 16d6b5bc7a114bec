# SPDX-License-Identifier: Apache-2.0
"""Where a scan has its files from: a snapshot, or anything else that lists files of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bayou.spark.scan import vector_columns
from bayou.spark.scan.vector_loading import load_vectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.predicates.predicate import Predicate


class FileSource(Protocol):
    """Files of a table, in an order; a file may be there more than once."""

    @property
    def key(self) -> str:
        """What tells it from the other sources of files of the same version of the table."""
        ...

    def files(self, columns: Sequence[str]) -> pa.Table:
        """Facts about the files: `path` as in the log, `size` in bytes, `modification_time` in ms."""
        ...

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:
        """The partition values as in the log, by physical name."""
        ...

    def choose(self, predicate: Predicate) -> pa.Array | None:
        """The positions of the files that may have a row for which a predicate is true; None for all of them."""
        ...

    def vectors(self, positions: pa.Array | None, options: Mapping[str, str]) -> dict[str, pa.Array]:
        """The sets of rows of some files as constants of theirs; empty where no file has one.

        Args:
            positions: which files; None for all.
        """
        ...

    def row_condition(self, vectors: dict[str, pa.Array], row: str) -> str:
        """Which rows of a file count, as SQL over these constants.

        Args:
            row: SQL for the number of a row in its file.
        """
        ...


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """The files of a snapshot; rows in their deletion vectors are not read."""

    snapshot: Snapshot

    @property
    def key(self) -> str:  # noqa: D102  (of FileSource, as all below)
        return ""

    def files(self, columns: Sequence[str]) -> pa.Table:  # noqa: D102
        return self.snapshot.files(columns=list(columns))

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:  # noqa: D102
        return self.snapshot.partition_texts()

    def choose(self, predicate: Predicate) -> pa.Array | None:  # noqa: D102
        del predicate  # the files of a table are chosen before its scan is made
        return None

    def vectors(self, positions: pa.Array | None, options: Mapping[str, str]) -> dict[str, pa.Array]:  # noqa: D102
        found = self.snapshot.files(columns=["deletion_vector"])
        descriptors = (found if positions is None else found.take(positions))["deletion_vector"].combine_chunks()
        if descriptors.null_count == len(descriptors):
            return {}
        return vector_columns.to_arrow(load_vectors(self.snapshot, descriptors, lambda: self._num_records(positions), options))

    def _num_records(self, positions: pa.Array | None) -> pa.Array:
        counts = self.snapshot.statistics({}).num_records
        return counts if positions is None else counts.take(positions)

    def row_condition(self, vectors: dict[str, pa.Array], row: str) -> str:  # noqa: D102
        return vector_columns.row_is_live(vectors, row)
