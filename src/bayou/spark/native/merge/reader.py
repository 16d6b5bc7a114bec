# SPDX-License-Identifier: Apache-2.0
"""Resolve a MERGE on a classic session, and read its source."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bayou.spark.dml.merge.actions import KEPT
from bayou.spark.dml.merge.first_pass import clauses_with
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.relations.relation import analyzed_plan
from bayou.spark.native.dml.own_columns import columns_of_frames, explaining_dropped_columns
from bayou.spark.native.merge.actions import action_of, matched_action_of
from bayou.spark.native.merge.first_pass import find, pairs_of
from bayou.spark.native.merge.resolution.resolver import Resolver
from bayou.spark.native.merge.second_pass import Writer
from bayou.spark.native.merge.source.latest import latest_rows
from bayou.spark.native.merge.source.source import refuse_own_names, source_of
from bayou.spark.native.merge.target_rows import Merge, merge_of
from bayou.spark.native.merge.values import check_values
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.read_set import ReadSet
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.dml.merge.any_merge import Found
    from bayou.spark.dml.merge.execute import MergeRequest


@dataclass(frozen=True)
class NativeMerge(Merge):
    """An implementation of `AnyMerge`."""

    @property
    def steps(self) -> Sequence[str]:
        """The joins of the MERGE, for its plan."""
        return tuple(self.strategy.lines())

    @property
    def shown(self) -> tuple[str, Mapping[int, str]]:
        """The search condition and the conditions of the clauses, for the history."""
        conditions = {each.number: nodes.text_of(each.condition) for each in self.resolution.clauses if each.condition is not None}
        return nodes.text_of(self.resolution.condition), conditions

    def check_values(self) -> None:
        """Check that values fit their columns; see `values.check_values`."""
        check_values(self)

    @contextmanager
    def found(self) -> Iterator[Found]:
        """Find the rows that the MERGE changes. The materialised pairs are kept until the end of the block."""
        with pairs_of(self) as pairs:
            yield find(self, pairs)

    def writer(self, found: Found, uncommitted: UncommittedFiles, *, rewrites: bool) -> Writer:
        """Return what writes the rows."""
        return Writer(self, found, uncommitted, rewrites=rewrites)

    def changing_rows(self, later: Change, positions: pa.Array) -> DataFrame:
        """Return the rows of some files that a clause changes. If a clause inserts, return all rows with a match."""
        merge = replace(self, change=later)
        has_by_source = bool(self.resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE))
        rows = merge.rows(positions, with_numbers=True)
        joined = rows.join(self.source.marked(), self._condition, "left" if has_by_source else "inner")
        action = action_of(merge) if has_by_source else matched_action_of(merge)
        return joined.where(action >= (KEPT if clauses_with(self, Action.INSERT) else 0))

    def matching_rows(self, positions: pa.Array) -> DataFrame:
        """Return the rows of some files that match a row of the source."""
        return self.rows(positions, with_numbers=True).join(self.source.marked(), self._condition, "left_semi")

    @property
    def _condition(self) -> Column:
        return nodes.column(jvm_of(self.change.target.application), self.resolution.condition)


def read(request: MergeRequest, snapshot: Snapshot, reads: ReadSet) -> NativeMerge:
    """Return a resolved MERGE with its source.

    Args:
        reads: what reading the source reads of the table itself.
    """
    target = request.target
    columns = (request.condition, *(each for clause in request.clauses for each in clause.given))
    jvm, source = jvm_of(target.application), analyzed_plan(request.source)
    resolver = Resolver(
        jvm,
        target.spark,
        snapshot,
        request.name,
        source,
        evolves=request.may_evolve,
        node=request.node,
        handed_out=columns_of_frames(target, snapshot, *columns),
    )
    with explaining_dropped_columns(target, snapshot, *columns):
        resolution = resolver.resolve(request.condition, request.clauses)
    refuse_own_names(target.application, resolution, snapshot, uses_all=request.latest_by is not None)
    given = request.source
    if request.latest_by is not None:
        given = latest_rows(target.application, given, resolution, snapshot, request.latest_by)
    rows = replace(source_of(target.application, given, resolution, snapshot, request.settings), reads=reads)
    merge = merge_of(target, snapshot, resolution, rows, request.settings, request.transaction_id)
    return NativeMerge(merge.change, merge.resolution, merge.source)
