# SPDX-License-Identifier: Apache-2.0
"""Represent the parts of an expression that decide whether a table may store it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParsedExpression:
    """The parts of an expression.

    Attributes:
        text: the expression.
        functions: the names of the functions that it calls, in lower case.
        columns: the paths of the columns that it uses.
        forbidden: the parts that no stored expression may have.
        has_lambda: whether it has a function without a name, as `x -> x + 1`.
    """

    text: str
    functions: frozenset[str]
    columns: frozenset[tuple[str, ...]]
    forbidden: tuple[str, ...]
    has_lambda: bool = False
