# SPDX-License-Identifier: Apache-2.0
"""Resolve a MERGE on a session of Spark Connect, evaluate its source, and choose the files that may contain a match."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from bayou.plan.predicates.predicate import And, Boolean, Or, Predicate, only_about
from bayou.protocol.types.schema import parse_schema
from bayou.spark.dml.core.chosen_files import ChosenFiles
from bayou.spark.dml.core.condition import RowCondition
from bayou.spark.dml.core.row_change import Change
from bayou.spark.dml.core.target import table_columns
from bayou.spark.dml.merge.resolution.clauses import Kind
from bayou.spark.portable.dml.statement import PortableStatement
from bayou.spark.portable.merge.keys import counted_keys
from bayou.spark.portable.merge.latest import latest_rows
from bayou.spark.portable.merge.merge import PortableMerge
from bayou.spark.portable.merge.resolution import MergeResolution
from bayou.spark.portable.merge.sides import Sides
from bayou.spark.portable.merge.source import PortableSource
from bayou.spark.portable.text.filter_values import zone_of
from bayou.spark.portable.text.filters import Table, predicate_of
from bayou.spark.scan.pruning import choose

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.read_set import ReadSet
    from bayou.spark.dml.merge.execute import MergeRequest
    from bayou.spark.portable.dml.expr import PortableExpr
    from bayou.spark.portable.merge.resolved import PortableResolution


def read(request: MergeRequest, snapshot: Snapshot, reads: ReadSet) -> PortableMerge:
    """Return a resolved MERGE with its source. Runs the job that evaluates the source.

    Args:
        reads: what reading the source reads of the table itself.
    """
    target = request.target
    rows = None if request.latest_by is None else latest_rows(request, snapshot)
    source = PortableSource.of(target.application.backend, request.source, snapshot, reads, rows)
    resolving = MergeResolution(request, snapshot, source)
    resolution = resolving.resolve()
    sides = Sides(snapshot.schema, request.name, source.schema, source.alias)
    count, of_keys = counted_keys(resolution.condition, sides, snapshot, source)
    source = replace(source, rows=count)
    predicate = _predicate(request, snapshot, resolution, of_keys if count else None)
    total = snapshot.files(["path"]).num_rows
    every = pa.array(np.arange(total), pa.int64())
    partitions = {field.physical_name for name in snapshot.partition_columns if (field := snapshot.schema.field(name))}
    in_partitions = choose(target.application, target.spark, snapshot, only_about(predicate, partitions))
    candidates = choose(target.application, target.spark, snapshot, predicate)
    in_partitions = every if in_partitions is None else in_partitions
    candidates = in_partitions if candidates is None else candidates
    condition = RowCondition(resolution.condition, False, resolution.condition.shown, predicate)
    files = ChosenFiles(total, in_partitions, candidates.cast(pa.int64()), whole=every.slice(0, 0))
    columns = parse_schema(table_columns(snapshot))
    statement = PortableStatement(columns, request.name, None, is_joined=True, numbers=resolving.numbers)
    change = Change(target, "MERGE", snapshot, statement, condition, files, request.settings, request.transaction_id)
    return PortableMerge(change, resolution, source, request.name)


def _predicate(request: MergeRequest, snapshot: Snapshot, resolution: PortableResolution, of_keys: Predicate | None) -> Predicate:
    """Return a predicate that every row of the table satisfies that the MERGE may have to find.

    Args:
        of_keys: the predicate of the rows with a match, by the source's keys; None if the source has no rows.
    """
    # Only columns with the table's alias are certainly the table's.
    qualifiers = [(request.name[-1].lower(),)] if request.name else []
    table = Table(snapshot.schema, qualifiers, is_alone=False)
    zone = zone_of(request.settings)

    def about(each: PortableExpr | None) -> Predicate:
        return And(()) if each is None or each.tree is None else predicate_of(each.tree, table, time_zone=zone)

    of_matches: Predicate = Boolean(value=False)
    if of_keys is not None:
        of_matches = And((about(resolution.condition), of_keys))
        if not resolution.of_kind(Kind.NOT_MATCHED):
            changed = tuple(about(each.condition) for each in resolution.of_kind(Kind.MATCHED))
            of_matches = And((of_matches, Or(changed)))
    by_source = (about(each.condition) for each in resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE))
    return reduce(lambda first, second: Or((first, second)), by_source, of_matches)
