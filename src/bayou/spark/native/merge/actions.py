# SPDX-License-Identifier: Apache-2.0
"""Compute the clause that a joined row falls under: the first clause of its kind whose condition is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.merge.actions import KEPT, NONE
from bayou.spark.dml.merge.resolution.clauses import Kind
from bayou.spark.jvm.core import nodes
from bayou.spark.native.merge.source.source import IN_SOURCE
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.scan.row_ids import FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from bayou.spark.native.merge.resolution.resolved import ResolvedClause
    from bayou.spark.native.merge.target_rows import Merge


def action_of(merge: Merge) -> Column:
    """Return the number of the clause that a joined row falls under, or `KEPT` or `NONE`."""
    matched, not_matched, by_source = (_chain(merge, kind) for kind in Kind)
    in_table, in_source = f"{FILE} is not null", f"{IN_SOURCE} is not null"
    return F.when(F.expr(f"{in_table} and {in_source}"), matched).when(F.expr(in_source), not_matched).otherwise(by_source)


def matched_action_of(merge: Merge) -> Column:
    """Return the same for joined rows that are known to match."""
    return _chain(merge, Kind.MATCHED)


def inserted_action_of(merge: Merge) -> Column:
    """Return the same for rows of the source that are known to have no match."""
    return _chain(merge, Kind.NOT_MATCHED)


def _chain(merge: Merge, kind: Kind) -> Column:
    """Return CASE WHEN over the clauses of a kind, in their order."""
    clauses: Sequence[ResolvedClause] = merge.resolution.of_kind(kind)
    otherwise = F.lit(KEPT if kind is Kind.MATCHED else NONE)
    chain = None
    for clause in clauses:
        number = F.lit(clause.number)
        if clause.condition is None:
            return number if chain is None else chain.otherwise(number)
        holds = nodes.column(jvm_of(merge.change.target.application), clause.condition)
        chain = F.when(holds, number) if chain is None else chain.when(holds, number)
    return otherwise if chain is None else chain.otherwise(otherwise)
