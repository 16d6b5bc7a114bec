# SPDX-License-Identifier: Apache-2.0
"""Compute the clause that a joined row falls under: the first clause of its kind whose condition is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.merge.resolution.clauses import Kind
from bayou.spark.dml.merge.source.source import IN_SOURCE
from bayou.spark.jvm.core import nodes
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.scan.row_ids import FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column

    from bayou.spark.dml.merge.resolution.resolved import ResolvedClause
    from bayou.spark.dml.merge.target_rows import Merge

ACTION = "__bayou_action"
"""The column with the number of the clause that a row falls under."""
KEPT = -1
"""The value of `ACTION` for a row of the table that matches and stays unchanged."""
NONE = -2
"""The value of `ACTION` for a row without a match and without a clause: it stays in the table, or it is not inserted."""


def action_of(merge: Merge) -> Column:
    """Return the number of the clause that a joined row falls under, or `KEPT` or `NONE`."""
    matched, not_matched, by_source = (_chain(merge, kind) for kind in Kind)
    in_table, in_source = f"{FILE} is not null", f"{IN_SOURCE} is not null"
    return F.when(F.expr(f"{in_table} and {in_source}"), matched).when(F.expr(in_source), not_matched).otherwise(by_source)


def is_one_of(numbers: Iterable[int]) -> str:
    """Return the SQL condition that a row falls under one of the clauses with these numbers."""
    chosen = ", ".join(map(str, numbers))
    return f"{ACTION} in ({chosen})" if chosen else "false"


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
