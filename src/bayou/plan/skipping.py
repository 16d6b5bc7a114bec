# SPDX-License-Identifier: Apache-2.0
"""Data skipping: evaluate a predicate with partition values and statistics to find the files that may hold a matching row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.predicates import exact
from bayou.plan.predicates.comparisons import NEGATED
from bayou.plan.predicates.predicate import And, Boolean, Comparison, In, IsNotNull, IsNull, Not, Or, StartsWith, Unknown
from bayou.plan.statistics.bounds import ColumnBounds, constant_mask
from bayou.plan.statistics.columns import ColumnStatistics

if TYPE_CHECKING:
    from bayou.plan.predicates.predicate import Path, Predicate
    from bayou.plan.statistics.columns import FileStatistics

Partitions: TypeAlias = Mapping[tuple[str, ...], pa.Array]


def may_match(predicate: Predicate, statistics: FileStatistics, partitions: Partitions) -> pa.BooleanArray:
    """Return one bool per file: false only if the predicate is true for no row of the file.

    A comparison prunes no file if its column is neither a partition column nor in the statistics, or if its constant has another
    type than the column.
    """
    files = _Files(statistics, partitions)
    try:
        return files.may_be(predicate, truth=True)
    except RecursionError:
        # The predicate is nested thousands of levels deep. Data skipping is optional, so read all files.
        return constant_mask(files.size, truth=True)


@dataclass(frozen=True, slots=True)
class _Files:
    """Evaluates predicates for some files."""

    statistics: FileStatistics
    partitions: Partitions

    @property
    def size(self) -> int:
        return len(self.statistics.num_records)

    def may_be(self, predicate: Predicate, *, truth: bool) -> pa.Array:
        """Return for each file whether the predicate may have a truth value for one of its rows; NULL is neither true nor false.

        NOT must not invert the mask of its child: a file may hold rows for which the child is true, and rows for which it is
        false. Instead NOT evaluates its child for the opposite truth value.
        """
        match predicate:
            case Unknown():
                return constant_mask(self.size, truth=True)
            case Boolean(value):
                return constant_mask(self.size, truth=value is truth)
            case Not(child):
                return self.may_be(child, truth=not truth)
            case And(children):
                return self._combined(children, truth=truth, needs_all=truth)
            case Or(children):
                return self._combined(children, truth=truth, needs_all=not truth)
            case _:
                return self._leaf(predicate, truth=truth)

    def _combined(self, children: tuple[Predicate, ...], *, truth: bool, needs_all: bool) -> pa.Array:
        masks = (self.may_be(child, truth=truth) for child in children)
        return reduce(pc.and_ if needs_all else pc.or_, masks, constant_mask(self.size, truth=needs_all))

    def _leaf(self, leaf: Comparison | In | IsNull | IsNotNull | StartsWith, *, truth: bool) -> pa.Array:
        """Return for each file whether a leaf may have the truth value for one of its rows."""
        if isinstance(leaf, In) and not leaf.values:
            # IN with an empty list is false for every row, even for NULL. Such a leaf may only be false.
            return constant_mask(self.size, truth=not truth)
        path: Path = leaf.column.path
        values = self.partitions.get(path)
        if values is not None:
            return _exactly(leaf, exact.plain(values), truth=truth)
        column = self.statistics.columns.get(path, ColumnStatistics())
        return _possibly(leaf, ColumnBounds(column, self.statistics.num_records), truth=truth)


def _possibly(leaf: Comparison | In | IsNull | IsNotNull | StartsWith, bounds: ColumnBounds, *, truth: bool) -> pa.Array:
    """Evaluate a leaf with statistics: return for each file whether it may have the truth value for a row."""
    match leaf:
        case IsNull():
            return bounds.has_null() if truth else bounds.has_value()
        case IsNotNull():
            return bounds.has_value() if truth else bounds.has_null()
        case In(_, values):
            return bounds.may_equal_any(values) if truth else bounds.may_differ_from_all(values)
        case StartsWith(_, text):
            return bounds.may_start_with(text) if truth else bounds.may_start_otherwise(text)
        case Comparison("<=>", _, literal):
            return _possibly_same(bounds, leaf, truth=truth)
        case Comparison(op, _, literal):
            return bounds.may(op if truth else NEGATED[op], literal)


def _possibly_same(bounds: ColumnBounds, leaf: Comparison, *, truth: bool) -> pa.Array:
    if leaf.literal.value is None:
        return bounds.has_null() if truth else bounds.has_value()
    if truth:
        return bounds.may("=", leaf.literal)
    return pc.or_(bounds.has_null(), bounds.may("!=", leaf.literal))


def _exactly(leaf: Comparison | In | IsNull | IsNotNull | StartsWith, values: pa.Array, *, truth: bool) -> pa.Array:
    """Evaluate a leaf with partition values, exactly, because all rows of a file have the same value."""
    held = exact.truth(leaf, values)
    if held is None:
        return constant_mask(len(values), truth=True)
    return pc.fill_null(held if truth else pc.invert(held), False)
