# SPDX-License-Identifier: Apache-2.0
"""Which clause a pair of rows falls under, as a column: clauses of a kind are tried in order, and the first one takes the row."""

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
"""The column that holds the number of the clause that a row falls under."""
KEPT = -1
"""A row of the table that matches and stays as it is."""
NONE = -2
"""A row that no clause is about: one of the table that stays, or one of the source that is not inserted."""


def action_of(merge: Merge) -> Column:
    """The number of the clause that a joined row falls under; `KEPT` or `NONE` where it falls under none."""
    matched, inserted, orphaned = (_chain(merge, kind) for kind in Kind)
    in_table, in_source = f"{FILE} is not null", f"{IN_SOURCE} is not null"
    return F.when(F.expr(f"{in_table} and {in_source}"), matched).when(F.expr(in_source), inserted).otherwise(orphaned)


def is_one_of(numbers: Iterable[int]) -> str:
    """A condition, in SQL: whether a row falls under one of some clauses."""
    chosen = ", ".join(map(str, numbers))
    return f"{ACTION} in ({chosen})" if chosen else "false"


def matched_action_of(merge: Merge) -> Column:
    """The same for rows that are known to match."""
    return _chain(merge, Kind.MATCHED)


def inserted_action_of(merge: Merge) -> Column:
    """The same for rows of the source that are known to match nothing."""
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
