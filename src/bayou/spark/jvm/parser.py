# SPDX-License-Identifier: Apache-2.0
"""SQL expressions taken apart by Spark's own parser, so that what is looked at is what would run; nothing is resolved for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayou.errors import InvalidSchemaError
from bayou.spark.jvm.callbacks import FAILED_CALL, reason_of

if TYPE_CHECKING:
    from bayou.spark.jvm.bridge import JavaObject, Jvm

# What the parser makes of them has no name of a function.
_FORBIDDEN = {
    "ScalarSubquery": "a subquery",
    "Exists": "a subquery",
    "InSubquery": "a subquery",
    "ListQuery": "a subquery",
    "LateralSubquery": "a subquery",
    "WindowExpression": "a window",
    "UnresolvedWindowExpression": "a window",
    "UnresolvedStar": "a star",
    "UnresolvedRegex": "a pattern of columns",
    "UnresolvedTableValuedFunction": "a function that makes a table",
    "NamedParameter": "a parameter",
    "PosParameter": "a parameter",
    "NameParameterizedExpression": "a parameter",
    "VariableReference": "a variable",
}


@dataclass(frozen=True, slots=True)
class ParsedExpression:
    """What an expression is made of.

    Attributes:
        text: the expression.
        functions: the names of the functions it calls, in lower case.
        columns: the columns it uses, by the names that lead to each.
        forbidden: what it has that no stored expression may have.
    """

    text: str
    functions: frozenset[str]
    columns: frozenset[tuple[str, ...]]
    forbidden: tuple[str, ...]


def parsed(jvm: Jvm, session: JavaObject, text: str) -> ParsedExpression:
    """An expression taken apart by the session's parser.

    Args:
        jvm: the bridge.
        session: the JVM session.
        text: the expression.

    Raises:
        InvalidSchemaError: it is no SQL expression.
    """
    try:
        root = session.sessionState().sqlParser().parseExpression(text)
    except FAILED_CALL as error:
        reason = reason_of(error)
        message = f"The expression {text!r} in the table's metadata is no SQL expression: {reason}"
        raise InvalidSchemaError(message, next_step="Correct it with the engine that stored it.") from None
    functions, columns, forbidden = set(), set(), []
    waiting: list[tuple[Any, frozenset[str]]] = [(root, frozenset())]
    while waiting:
        node, variables = waiting.pop()
        name = str(node.getClass().getSimpleName())
        if name in _FORBIDDEN or "Subquery" in name:
            forbidden.append(_FORBIDDEN.get(name, "a subquery"))
        elif name == "UnresolvedFunction":
            functions.add(".".join(jvm.list_of(node.nameParts())).lower().removeprefix("system.").removeprefix("builtin."))
        elif name == "UnresolvedAttribute":
            path = tuple(jvm.list_of(node.nameParts()))
            if path[0].lower() not in variables:
                columns.add(path)
        if name == "LambdaFunction":
            variables |= {str(jvm.list_of(each.nameParts())[0]).lower() for each in jvm.list_of(node.arguments())}
        waiting += [(child, variables) for child in jvm.list_of(node.children())]
    return ParsedExpression(text, frozenset(functions), frozenset(columns), tuple(dict.fromkeys(forbidden)))
