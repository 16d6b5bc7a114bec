# SPDX-License-Identifier: Apache-2.0
"""What the steps of a MERGE need from it, whichever kind of session resolved it, and the rows that its first pass finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.log.staging.read_set import ReadSet
    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.dml.core.statement import WatchedFiles
    from bayou.spark.dml.merge.resolution.clauses import Action, Kind

MATERIALIZE: Final = "spark.databricks.delta.merge.materializeSource"
"""The setting that decides whether the rows of the source are materialised: `all`, `none` or `auto`."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of the first pass. A file is identified by its position in `Snapshot.files`.

    Attributes:
        rows: the rows that each clause changes, by the number of the clause and by file.
        kept: the rows that match and that no clause changes, by file.
        overlaps: whether a row of `kept` has several matches. Another match of it may change the row.
        repeats: whether a row that is deleted has several matches.
        matches: one row for each pair: the source's keys, named as in `Merge.keys`, and `ACTION`. None if the pairs are not
            materialised.
        num_pairs: the number of pairs.
    """

    rows: Mapping[int, Mapping[int, Bitmap]] = field(default_factory=dict)
    kept: Mapping[int, Bitmap] = field(default_factory=dict)
    overlaps: bool = False
    repeats: bool = False
    matches: DataFrame | None = None
    num_pairs: int = 0

    def changed(self, clauses: Iterable[int] | None = None) -> dict[int, Bitmap]:
        """Return the rows that some clauses change, by file. None means all clauses."""
        by_file: dict[int, Bitmap] = {}
        for number, files in self.rows.items():
            if clauses is None or number in clauses:
                for file, rows in files.items():
                    by_file[file] = rows if file not in by_file else by_file[file].union(rows)
        return by_file

    def count(self, number: int) -> int:
        """Return the number of rows that a clause changes."""
        return sum(rows.cardinality for rows in self.rows.get(number, {}).values())


class AnyClause(Protocol):
    """A resolved clause."""

    @property
    def number(self) -> int:
        """Its place among all clauses of the MERGE."""
        ...

    @property
    def kind(self) -> Kind:
        """The kind of rows that it applies to."""
        ...

    @property
    def action(self) -> Action:
        """The change that it makes."""
        ...

    @property
    def condition(self) -> Any:
        """The condition for rows of the kind; None for all rows."""
        ...


class AnyResolution(Protocol):
    """The resolved clauses of a MERGE."""

    @property
    def clauses(self) -> Sequence[AnyClause]:
        """All clauses, by their numbers."""
        ...

    def of_kind(self, kind: Kind) -> Sequence[AnyClause]:
        """Return the clauses of a kind, in order."""
        ...

    @property
    def is_insert_only(self) -> bool:
        """Whether all clauses insert, so that existing rows do not change."""
        ...

    @property
    def reads_table(self) -> bool:
        """Whether a subquery in a clause may read the table."""
        ...


class AnySource(Protocol):
    """The source's rows."""

    @property
    def rows(self) -> int:
        """Their number."""
        ...

    @property
    def is_materialised(self) -> bool:
        """Whether they were evaluated once, and are kept until `close`."""
        ...

    @property
    def materialised_in_ms(self) -> int:
        """How long that took, in milliseconds."""
        ...

    @property
    def files(self) -> WatchedFiles | None:
        """The files that they are read from, if these must not change during the MERGE."""
        ...

    @property
    def reads(self) -> ReadSet | None:
        """What reading them read of the table itself."""
        ...

    def close(self) -> None:
        """Drop the materialised rows."""
        ...


class AnyWriter(Protocol):
    """Writes the rows of a MERGE."""

    @property
    def feeds(self) -> bool:
        """Whether deleted rows pass through the job, for the change data feed."""
        ...

    @property
    def counts_rows(self) -> bool:
        """Whether the job counts its rows by kind."""
        ...

    def write(self) -> NewFiles:
        """Write the files."""
        ...


class MergeParts(Protocol):
    """The parts of a resolved MERGE on one snapshot of a table."""

    @property
    def change(self) -> Change:
        """The table, the snapshot, and the files that may contain a match."""
        ...

    @property
    def resolution(self) -> AnyResolution:
        """The resolved clauses."""
        ...

    @property
    def source(self) -> AnySource:
        """The source's rows."""
        ...


class AnyMerge(MergeParts, Protocol):
    """A resolved MERGE, with what its steps need."""

    @property
    def steps(self) -> Sequence[str]:
        """The joins of the MERGE, for its plan."""
        ...

    @property
    def shown(self) -> tuple[str, Mapping[int, str]]:
        """The search condition, and the conditions of the clauses that have one by their numbers, for the history."""
        ...

    def check_values(self) -> None:
        """Check that values fit their columns, even if no row falls under their clause. Runs no job."""
        ...

    def found(self) -> AbstractContextManager[Found]:
        """Find the rows that the MERGE changes, for the time of a block. Runs a job."""
        ...

    def writer(self, found: Found, uncommitted: UncommittedFiles, *, rewrites: bool) -> AnyWriter:
        """Return what writes the rows; see `Writer`."""
        ...

    def changing_rows(self, later: Change, positions: pa.Array) -> DataFrame:
        """Return the rows of some files that a clause changes, with `FILE` and `METADATA`; if a clause inserts, all with a match.

        A match decides whether a row is inserted, even if the match itself stays unchanged.

        Args:
            later: the operation on the latest version.
        """
        ...

    def matching_rows(self, positions: pa.Array) -> DataFrame:
        """Return the rows of some files that match a row of the source, with `FILE` and `METADATA`."""
        ...
