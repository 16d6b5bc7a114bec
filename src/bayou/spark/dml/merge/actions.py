# SPDX-License-Identifier: Apache-2.0
"""The clause that a joined row falls under, as a column. The first clause of its kind whose condition is true takes the row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.core.scanned_rows import FILE
from bayou.spark.dml.merge.resolution.clauses import Kind
from bayou.spark.dml.merge.source.source import IN_SOURCE
from bayou.spark.jvm.core import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column

    from bayou.spark.dml.merge.resolution.resolved import ResolvedClause
    from bayou.spark.dml.merge.target_rows import Merge

ACTION = "__bayou_action"
"""The column with the number of the clause that a row falls under."""
KEPT = -1
"""A row of the table that matches and stays unchanged."""
NONE = -2
"""A row without a match that no clause takes: it stays in the table, or it is not inserted."""


def action_of(merge: Merge) -> Column:
    """Return the number of the clause that a joined row falls under, or `KEPT` or `NONE`."""
    matched, inserted, orphaned = (_chain(merge, kind) for kind in Kind)
    in_table, in_source = f"{FILE} is not null", f"{IN_SOURCE} is not null"
    return F.when(F.expr(f"{in_table} and {in_source}"), matched).when(F.expr(in_source), inserted).otherwise(orphaned)


def is_one_of(numbers: Iterable[int]) -> str:
    """Return a SQL condition: the row falls under one of some clauses."""
    chosen = ", ".join(map(str, numbers))
    return f"{ACTION} in ({chosen})" if chosen else "false"


def matched_action_of(merge: Merge) -> Column:
    """Return the same for rows that match for certain."""
    return _chain(merge, Kind.MATCHED)


def inserted_action_of(merge: Merge) -> Column:
    """Return the same for rows of the source that match nothing for certain."""
    return _chain(merge, Kind.NOT_MATCHED)


def _chain(merge: Merge, kind: Kind) -> Column:
    clauses: Sequence[ResolvedClause] = merge.resolution.of_kind(kind)
    otherwise = F.lit(KEPT if kind is Kind.MATCHED else NONE)
    found = None
    for each in clauses:
        number = F.lit(each.number)
        if each.condition is None:
            return number if found is None else found.otherwise(number)
        holds = nodes.column(merge.change.target.application.jvm, each.condition)
        found = F.when(holds, number) if found is None else found.when(holds, number)
    return otherwise if found is None else found.otherwise(otherwise)
