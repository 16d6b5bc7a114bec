# SPDX-License-Identifier: Apache-2.0
"""The first pass of a MERGE on a classic session: join the table's rows with the source by the resolved condition."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.core.touched_rows import in_few_tasks
from bayou.spark.dml.merge.actions import ACTION, NONE
from bayou.spark.dml.merge.first_pass import error_of_matches, found_in
from bayou.spark.dml.merge.resolution.clauses import Kind
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.relations import plans
from bayou.spark.native.merge.actions import action_of, matched_action_of
from bayou.spark.native.merge.source.source import IN_SOURCE
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.scan.row_ids import FILE, METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame

    from bayou.errors import DeltaError
    from bayou.spark.dml.merge.any_merge import Found
    from bayou.spark.native.merge.target_rows import Merge

_ROW = f"{METADATA}.row_index + 1"


@contextmanager
def pairs_of(merge: Merge) -> Iterator[DataFrame]:
    """Yield one row for each pair, and for each row of the table without a match that a clause changes.

    If the second pass needs the pairs, they are persisted until the end of the context, so that the table's keys are read once.
    Unlike with the source, Spark recomputes lost blocks.
    """
    pairs = _pairs(merge)
    if not merge.strategy.materialises_pairs:
        yield pairs
        return
    pairs.persist()
    try:
        yield pairs
    finally:
        pairs.unpersist()


def find(merge: Merge, joined: DataFrame) -> Found:
    """Find the rows that a MERGE changes. Runs a job.

    Args:
        joined: the rows from `pairs_of`.

    Raises:
        MultipleMatchesError: a row would be changed by several rows of the source.
    """
    found = found_in(merge, joined, lambda: _error(merge))
    if not merge.strategy.materialises_pairs:
        return found
    return replace(found, matches=joined.where(IN_SOURCE).selectExpr(*merge.keys, ACTION))


def _pairs(merge: Merge) -> DataFrame:
    resolution, jvm = merge.resolution, jvm_of(merge.change.target.application)
    rows = merge.rows(merge.change.files.candidates, with_numbers=True)
    how = "left" if resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE) else "inner"
    joined = rows.join(merge.source.marked(), nodes.column(jvm, resolution.condition), how)
    bucket, bit = F.expr(f"bitmap_bucket_number({_ROW}) as bucket"), F.expr(f"bitmap_bit_position({_ROW}) as bit")
    action = matched_action_of(merge) if how == "inner" else action_of(merge)
    keys: list[str | Column] = [IN_SOURCE, *merge.keys_as_named] if merge.strategy.materialises_pairs else []
    pairs = joined.select(FILE, bucket, bit, action.alias(ACTION), *keys).where(f"{ACTION} > {NONE}")
    return in_few_tasks(pairs, merge.change, merge.change.files.candidates) if merge.source.is_small else pairs


def _error(merge: Merge) -> DeltaError:
    """Return the error for rows with several matches.

    If evaluations of the source differ, its queries may not find the rows again.
    """
    jvm, resolution = jvm_of(merge.change.target.application), merge.resolution
    ids = catalyst.ids_of(jvm, resolution.sides.target)
    used = [each for each in nodes.references_of(jvm, resolution.condition) if plans.id_of(each) in ids]
    keys = [nodes.column(jvm, each).alias(plans.name_of(each)) for each in used]
    key = F.to_json(F.struct(*keys), {"ignoreNullFields": "false"}) if keys else None
    rows = merge.rows(merge.change.files.candidates, with_numbers=True)
    joined = rows.join(merge.source.marked(), nodes.column(jvm, resolution.condition), "inner")
    return error_of_matches(merge, joined.where(matched_action_of(merge) >= 0), key)
