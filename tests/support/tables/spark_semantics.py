# SPDX-License-Identifier: Apache-2.0
"""Spark's truth of a predicate for one row, in plain Python: what skipping is judged by.

A row is a mapping from physical path to value. Nothing here is shared with the code under test but the predicates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bayou.plan.predicates.predicate import And, Boolean, Comparison, In, IsNotNull, IsNull, Not, Or, StartsWith, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.plan.predicates.predicate import Path, Predicate


def truth(predicate: Predicate, row: Mapping[Path, Any], *, unknown: bool | None) -> bool | None:
    """True, False or None for NULL; `unknown` is what everything that skipping does not understand gives."""
    match predicate:
        case Unknown():
            return unknown
        case Boolean(value):
            return value
        case Not(child):
            inner = truth(child, row, unknown=unknown)
            return None if inner is None else not inner
        case And(children):
            return _kleene([truth(child, row, unknown=unknown) for child in children], absorbing=False)
        case Or(children):
            return _kleene([truth(child, row, unknown=unknown) for child in children], absorbing=True)
        case _:
            return _leaf(predicate, row[predicate.column.path])


def order_key(value: Any) -> Any:
    """A key that sorts values of one type as Spark does."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) or value == 0 else value)
    return value.encode() if isinstance(value, str) else value


def _kleene(values: list[bool | None], *, absorbing: bool) -> bool | None:
    if absorbing in values:
        return absorbing
    return None if None in values else not absorbing


def _leaf(leaf: Any, value: Any) -> bool | None:
    match leaf:
        case IsNull():
            return value is None
        case IsNotNull():
            return value is not None
        case StartsWith(_, prefix):
            return None if value is None else value.encode().startswith(prefix.encode())
        case In(_, literals):
            return _kleene([_compare("=", value, literal.value) for literal in literals], absorbing=True)
        case Comparison("<=>", _, literal):
            same = _compare("=", value, literal.value)
            return (value is None and literal.value is None) if same is None else same
        case Comparison(op, _, literal):
            return _compare(op, value, literal.value)
    raise AssertionError(leaf)


def _compare(op: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    a, b = order_key(left), order_key(right)
    return {"=": a == b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
