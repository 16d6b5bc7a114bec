# SPDX-License-Identifier: Apache-2.0
"""The rows that a filter keeps, decided exactly: in SQL's three truth values, and in Spark's order of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import Located, failed
from bayou.plan.predicates import exact
from bayou.plan.predicates.predicate import And, Boolean, Comparison, In, Not, Or, Path, Predicate, Unknown

if TYPE_CHECKING:
    from bayou.plan.predicates.literals import Literal

Columns = Callable[[Path], pa.Array]
"""Returns the values of a column by its physical path."""


def check_exact(predicate: Predicate, at: Located) -> None:
    """Raise UnsupportedFeatureError if a filter uses what bayou cannot decide for a row: strings with a collation."""
    match predicate:
        case And(children) | Or(children):
            for each in children:
                check_exact(each, at)
        case Not(child):
            check_exact(child, at)
        case Unknown():
            raise failed("filter-not-exact", at=at)
        case _:
            return


def padded(predicate: Predicate, widths: Mapping[Path, int]) -> Predicate:
    """Return a filter whose constants are padded as the values of CHAR columns are, so that trailing spaces do not count.

    Args:
        predicate: the filter.
        widths: the lengths of the CHAR columns, by physical path.
    """
    match predicate:
        case And(children):
            return And(tuple(padded(each, widths) for each in children))
        case Or(children):
            return Or(tuple(padded(each, widths) for each in children))
        case Not(child):
            return Not(padded(child, widths))
        case Comparison(_, column, literal) if column.path in widths:
            return replace(predicate, literal=_padded(literal, widths[column.path]))
        case In(column, literals) if column.path in widths:
            return replace(predicate, values=tuple(_padded(each, widths[column.path]) for each in literals))
        case _:
            return predicate


def _padded(literal: Literal, width: int) -> Literal:
    value = literal.value
    return replace(literal, value=value.rstrip(" ").ljust(width)) if isinstance(value, str) else literal


def kept(predicate: Predicate, columns: Columns, size: int, at: Located) -> pa.Array:
    """Return whether each row is kept; NULL is not true, and `RecordBatch.filter` drops it.

    Args:
        predicate: the filter.
        columns: the values of the rows.
        size: the number of rows.
        at: the table, for errors.
    """
    match predicate:
        case And(children):
            return reduce(pc.and_kleene, (kept(each, columns, size, at) for each in children), _all(size, value=True))
        case Or(children):
            return reduce(pc.or_kleene, (kept(each, columns, size, at) for each in children), _all(size, value=False))
        case Not(child):
            return pc.invert(kept(child, columns, size, at))
        case Boolean(value):
            return _all(size, value=value)
        case Unknown():
            raise failed("filter-not-exact", at=at)
        case In(_, ()):
            return _all(size, value=False)
        case _:
            found = exact.truth(predicate, columns(predicate.column.path))
            if found is None:
                raise failed("filter-not-exact", at=at)
            return found


def _all(size: int, *, value: bool | None) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.bool_()), size)
