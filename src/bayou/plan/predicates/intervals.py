# SPDX-License-Identifier: Apache-2.0
"""Intervals of whole numbers that contain a column's values in all rows that a predicate keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.plan.predicates.predicate import And, Boolean, Comparison, In, Or

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayou.plan.predicates.predicate import Path, Predicate


@dataclass(frozen=True, slots=True)
class Interval:
    """Whole numbers between two bounds, both included; None means unbounded. It is empty if the first is greater."""

    first: int | None = None
    last: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it contains no number."""
        return self.first is not None and self.last is not None and self.first > self.last

    def both(self, other: Interval) -> Interval:
        """Return the intersection with another interval."""
        return Interval(_greatest((self.first, other.first)), _least((self.last, other.last)))

    def hull(self, other: Interval) -> Interval:
        """Return the smallest interval that contains this one and another."""
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        first = None if self.first is None or other.first is None else min(self.first, other.first)
        return Interval(first, None if self.last is None or other.last is None else max(self.last, other.last))


EVERYTHING = Interval()
NOTHING = Interval(1, 0)


def interval_of(predicate: Predicate, column: Path) -> Interval:
    """Return an interval that contains the column in every row for which the predicate is true.

    Args:
        column: a column of whole numbers, or of dates or timestamps, which are whole numbers in predicates.
    """
    found = EVERYTHING
    match predicate:
        case And(children):
            for child in children:
                found = found.both(interval_of(child, column))
        case Or(children):
            found = NOTHING
            for child in children:
                found = found.hull(interval_of(child, column))
        case Boolean(value):
            found = EVERYTHING if value else NOTHING
        case Comparison(op, compared, literal) if compared.path == column:
            found = _compared(op, literal.value)
        case In(compared, literals) if compared.path == column:
            found = _among([literal.value for literal in literals if literal.value is not None])
    return found


def _compared(op: str, value: object) -> Interval:
    if value is None:
        return EVERYTHING if op == "<=>" else NOTHING
    if type(value) is not int:
        return EVERYTHING
    known = {
        "=": Interval(value, value),
        "<=>": Interval(value, value),
        "<": Interval(None, value - 1),
        "<=": Interval(None, value),
        ">": Interval(value + 1),
        ">=": Interval(value),
    }
    return known.get(op, EVERYTHING)


def _among(values: list[object]) -> Interval:
    numbers = [value for value in values if type(value) is int]
    if len(numbers) < len(values):
        return EVERYTHING
    return Interval(min(numbers), max(numbers)) if numbers else NOTHING


def _greatest(given: Iterable[int | None]) -> int | None:
    return max((each for each in given if each is not None), default=None)


def _least(given: Iterable[int | None]) -> int | None:
    return min((each for each in given if each is not None), default=None)
