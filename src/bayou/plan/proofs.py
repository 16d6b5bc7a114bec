# SPDX-License-Identifier: Apache-2.0
"""Prove from the log that a predicate is true for every row of a file, so that a DELETE can remove the file without reading it.

A wrong proof loses rows. So the bounds must be tight, the row count must be stated, and no NULL may make the predicate NULL. Data
skipping then proves that no row makes the predicate false. It allows for NaN, truncated strings and timestamps, and rounded
decimals.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.predicates import exact
from bayou.plan.predicates.predicate import And, Boolean, Comparison, In, IsNotNull, IsNull, Not, Or, StartsWith, Unknown
from bayou.plan.skipping import may_match
from bayou.plan.statistics.bounds import constant_mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.plan.predicates.predicate import Path, Predicate
    from bayou.plan.skipping import Partitions
    from bayou.plan.statistics.columns import FileStatistics


def must_match(predicate: Predicate, statistics: FileStatistics, partitions: Partitions) -> pa.BooleanArray:
    """Return one bool per file: true only if the predicate is true for every row of the file."""
    size = len(statistics.num_records)
    try:
        if _may_be_null_anyway(predicate):
            return constant_mask(size, truth=False)
        known = pc.and_(statistics.tight_bounds, pc.is_valid(statistics.num_records))
        without_null = (_has_no_null(path, statistics, partitions) for path in sorted(set(_null_makes_null(predicate))))
        candidates = reduce(pc.and_, without_null, known)
        return pc.and_(candidates, pc.invert(may_match(Not(predicate), statistics, partitions)))
    except RecursionError:
        return constant_mask(size, truth=False)


def _may_be_null_anyway(predicate: Predicate) -> bool:
    """Return whether the predicate can be NULL for a row without NULLs, because a constant is NULL or a part is unknown."""
    match predicate:
        case And(children) | Or(children):
            return any(map(_may_be_null_anyway, children))
        case Not(child):
            return _may_be_null_anyway(child)
        case Unknown() | Boolean(None):
            return True
        case Comparison(op, _, literal):
            return literal.value is None and op != "<=>"
        case In(_, values):
            return any(literal.value is None for literal in values)
        case _:
            return False


def _null_makes_null(predicate: Predicate) -> Iterator[Path]:
    """Yield the columns whose NULL makes a part of the predicate NULL."""
    match predicate:
        case And(children) | Or(children):
            for child in children:
                yield from _null_makes_null(child)
        case Not(child):
            yield from _null_makes_null(child)
        case Comparison("<=>", _, _) | IsNull() | IsNotNull() | Unknown() | Boolean():
            return
        case Comparison(_, column, _) | In(column, _) | StartsWith(column, _):
            yield column.path


def _has_no_null(path: Path, statistics: FileStatistics, partitions: Partitions) -> pa.Array:
    values = partitions.get(path)
    if values is not None:
        return pc.is_valid(exact.plain(values))
    column = statistics.columns.get(path)
    if column is None or column.null_count is None:
        return constant_mask(len(statistics.num_records), truth=False)
    return pc.fill_null(pc.equal(column.null_count, 0), False)
