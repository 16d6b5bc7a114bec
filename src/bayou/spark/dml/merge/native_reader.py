# SPDX-License-Identifier: Apache-2.0
"""Resolve a MERGE on a classic session, and read its source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayou.spark.dml.merge.resolution.resolver import Resolver
from bayou.spark.dml.merge.source.latest import latest_rows
from bayou.spark.dml.merge.source.source import refuse_own_names, source_of
from bayou.spark.dml.merge.target_rows import merge_of
from bayou.spark.dml.native.own_columns import columns_of_frames, explaining_dropped_columns
from bayou.spark.jvm.relations.relation import analyzed_plan

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.read_set import ReadSet
    from bayou.spark.dml.merge.execute import MergeRequest
    from bayou.spark.dml.merge.target_rows import Merge


def read(request: MergeRequest, snapshot: Snapshot, reads: ReadSet) -> Merge:
    """Return a resolved MERGE with its source.

    Args:
        reads: what reading the source reads of the table itself.
    """
    target = request.target
    columns = (request.condition, *(each for clause in request.clauses for each in clause.given))
    jvm, source = target.application.jvm, analyzed_plan(request.source)
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
    return merge_of(target, snapshot, resolution, rows, request.settings, request.transaction_id)
