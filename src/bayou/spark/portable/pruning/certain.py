# SPDX-License-Identifier: Apache-2.0
"""Read conditions whose meaning no setting of the session changes, and find the parts of them that files can be left out by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.protocol.columns.expression_functions import COLUMN_DEFAULT_FUNCTIONS
from bayou.spark.portable.text.facts import conjuncts
from bayou.spark.portable.text.literals import Dialect
from bayou.spark.portable.text.protobufs import USERS
from bayou.spark.portable.text.tree import Call, ComputedName, Opaque, Parameter, UnreadableTextError, Window, all_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bayou.spark.portable.text.tree import Expression

_OTHER: Final = Dialect(double_quoted_names=True, escapes=False, doubled_quotes=False, decimal_exponents=True)
"""The dialect that differs from Spark's defaults in everything."""


def in_session(read: Callable[[Dialect], Expression], settings: Callable[[], Mapping[str, str]]) -> Expression:
    """Return an expression as the session means it.

    Args:
        read: reads it in a dialect.
        settings: returns the session's settings. It is called only if they decide what the expression means.

    Raises:
        UnreadableTextError: bayou cannot read it.
    """
    found = read(Dialect())
    try:
        other = read(_OTHER)
    except UnreadableTextError:
        other = None
    return found if found == other else read(Dialect.of(settings()))


def is_certain(tree: Expression) -> bool:
    """Whether an expression has the same value for a row whatever other rows are read: no window, no random or unknown function."""
    for node in all_nodes(tree):
        match node:
            case Window() | Opaque() | ComputedName() | Parameter():
                return False
            case Call((name,)) if name.lower() not in COLUMN_DEFAULT_FUNCTIONS:
                return False
            case Call((_, kind)) if kind != USERS:
                return False
            case Call(name) if len(name) > len(("function", "kind")):
                return False
            case _:
                pass
    return True


def certain_parts(tree: Expression) -> tuple[tuple[Expression, ...], bool]:
    """Return the conditions of a conjunction that Spark may evaluate before all others, and whether these are all of them.

    Spark evaluates no condition before one that stands in front of it and is not deterministic.
    """
    parts = conjuncts(tree)
    for number, part in enumerate(parts):
        if not is_certain(part):
            return parts[:number], False
    return parts, True
