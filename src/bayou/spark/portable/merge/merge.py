# SPDX-License-Identifier: Apache-2.0
"""`PortableMerge`: a resolved MERGE with what its steps need."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.merge.actions import ACTION, KEPT, NONE
from bayou.spark.dml.merge.first_pass import clauses_with, error_of_matches, found_in
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.portable.client import kept_rows
from bayou.spark.portable.merge.joins import PAIRED_ROW, JoinedMerge
from bayou.spark.portable.merge.source import SOURCE_ROW
from bayou.spark.portable.merge.values import ClauseValues
from bayou.spark.portable.merge.writer import Writer
from bayou.spark.portable.text.filters import Table
from bayou.spark.portable.text.tree import Name
from bayou.spark.scan.row_ids import FILE, METADATA
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.errors import DeltaError
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.dml.merge.any_merge import Found

_ROW: Final = f"{METADATA}.row_index + 1"


@dataclass(frozen=True)
class PortableMerge(JoinedMerge):
    """An implementation of `AnyMerge`."""

    @property
    def steps(self) -> Sequence[str]:
        """The joins of the MERGE, for its plan."""
        return ()

    @property
    def shown(self) -> tuple[str, Mapping[int, str]]:
        """The search condition and the conditions of the clauses, for the history."""
        conditions = {each.number: each.condition.shown for each in self.resolution.clauses if each.condition is not None}
        return self.resolution.condition.shown, conditions

    def check_values(self) -> None:
        """Let the server check the types of casts, even of clauses without rows."""
        none = self.change.files.candidates.slice(0, 0)
        schema = readable_schema(self.resolution.schema)
        frames = {Kind.MATCHED: self.matched, Kind.NOT_MATCHED: self.new, Kind.NOT_MATCHED_BY_SOURCE: self.unmatched}
        for each in self.resolution.clauses:
            casts = ClauseValues(self, each).casts(schema)
            if casts:
                _ = frames[each.kind](none).select(*casts).schema

    @contextmanager
    def found(self) -> Iterator[Found]:
        """Find the rows that the MERGE changes. Runs a job, or two if the server keeps the pairs.

        It keeps them if a clause inserts, or updates without values of the table: the write then does not read the table again.
        """
        positions = self.change.files.candidates
        bucket, bit = F.expr(f"bitmap_bucket_number({_ROW}) as bucket"), F.expr(f"bitmap_bit_position({_ROW}) as bit")
        joined, kept = self.matched(positions), None
        if self.resolution.of_kind(Kind.NOT_MATCHED) or self.updates_from_source:
            kept = joined = kept_rows(joined.select(FILE, METADATA, ACTION, F.col(SOURCE_ROW).alias(PAIRED_ROW)))
        pairs = joined.select(FILE, bucket, bit, ACTION)
        if self.resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE):
            pairs = pairs.union(self.unmatched(positions).select(FILE, bucket, bit, ACTION).where(f"{ACTION} > {NONE}"))
        yield replace(found_in(self, pairs, self._error), matches=kept)

    def writer(self, found: Found, uncommitted: UncommittedFiles, *, rewrites: bool) -> Writer:
        """Return what writes the rows."""
        return Writer(self, found, uncommitted, rewrites=rewrites)

    def changing_rows(self, later: Change, positions: pa.Array) -> DataFrame:
        """Return the rows of some files that a clause changes. If a clause inserts, return all rows with a match."""
        merge = replace(self, change=later)
        least = KEPT if clauses_with(self, Action.INSERT) else 0
        rows = merge.matched(positions).where(F.col(ACTION) >= least).select(FILE, METADATA)
        if not self.resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE):
            return rows
        return rows.union(merge.unmatched(positions).where(F.col(ACTION) >= 0).select(FILE, METADATA))

    def matching_rows(self, positions: pa.Array) -> DataFrame:
        """Return the rows of some files that match a row of the source."""
        return self._target(positions).join(self.source.frame, self.condition, "left_semi").select(FILE, METADATA)

    def _error(self) -> DeltaError:
        facts = self.resolution.condition.facts
        schema = readable_schema(self.change.snapshot.schema)
        table = Table(schema, [(self.name[-1].lower(),)] if self.name else (), is_alone=False)
        used: list[str] = []
        for path in sorted(facts.parsed.columns) if facts is not None else ():
            own = table.path_of(Name(path))
            if own is None and len(path) == 1 and self.source.schema.field(path[0]) is None:
                own = path
            field = None if own is None else schema.field(own[0])
            used += [] if field is None or field.name in used else [field.name]
        key = F.to_json(F.struct(*(self.old(name).alias(name) for name in used)), {"ignoreNullFields": "false"}) if used else None
        joined = self.matched(self.change.files.candidates)
        return error_of_matches(self, joined.where(F.col(ACTION) >= 0), key)
