# SPDX-License-Identifier: Apache-2.0
"""Write the tree of an expression as SQL text, for conditions that a DataFrame's client sends as messages."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Final

from bayou.protocol.types.sql_text import column_sql, string_sql
from bayou.spark.portable.text.tree import Call, Cast, Expression, Literal, Name, Operation, UnreadableTextError

_SUFFIXES: Final = {"byte": "Y", "short": "S", "integer": "", "long": "L", "float": "F", "double": "D"}
_COMPLEX: Final = ("array", "map", "struct", "udt")
_BEFORE: Final = {"not": "NOT ", "negative": "- ", "positive": "+ ", "~": "~"}
"""The blank keeps the signs of -(-1) from being a comment."""
_BEHIND: Final = ("is null", "is true", "is false", "is unknown")
_BETWEEN: Final = frozenset(
    {"and", "or", "=", "<=>", "!=", "<", "<=", ">", ">=", "|", "^", "&", "<<", ">>", ">>>", "+", "-", "||", "*", "/", "%", "div"}
    | {"is distinct from", "like", "ilike", "rlike"}
)
_QUANTIFIED: Final = frozenset({"like any", "like all", "ilike any", "ilike all"})
_WITH_ESCAPE: Final = 3
"""The operands of LIKE with ESCAPE."""


def written(node: Expression) -> str:
    """Return the SQL of an expression.

    Raises:
        UnreadableTextError: a part of it has no SQL that means the same, such as a lambda.
    """
    match node:
        case Name(parts):
            return column_sql(parts)
        case Literal():
            return _literal(node)
        case Operation(operator, operands):
            return _operation(operator, [written(each) for each in operands])
        case Call((name,), arguments, is_distinct, ()) if not is_distinct:
            return f"{column_sql((name,))}({', '.join(map(written, arguments))})"
        case Cast(child, kind, cast) if not kind.startswith(_COMPLEX):
            return f"{cast}({written(child)} AS {kind})"
        case _:
            raise UnreadableTextError(f"{type(node).__name__.lower()} in a condition")


def _operation(operator: str, parts: list[str]) -> str:
    if operator in _BEFORE:
        return f"({_BEFORE[operator]}{parts[0]})"
    if operator in _BEHIND:
        return f"({parts[0]} {operator.upper()})"
    if operator == "in":
        return f"({parts[0]} IN ({', '.join(parts[1:])}))"
    if operator == "between":
        return f"({parts[0]} BETWEEN {parts[1]} AND {parts[2]})"
    if operator in _QUANTIFIED:
        return f"({parts[0]} {operator.upper()} ({', '.join(parts[1:])}))"
    if operator not in _BETWEEN or (operator.endswith("like") and len(parts) == _WITH_ESCAPE):
        raise UnreadableTextError(f"{operator.upper()} with {len(parts)} operands in a condition")
    return f"({f' {operator.upper()} '.join(parts)})"


def _literal(literal: Literal) -> str:  # noqa: PLR0911  (one return for each kind of value)
    value, kind = literal.value, literal.type
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            return f"{kind.upper()} '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case str():
            return _string(value, kind)
        case float() if not math.isfinite(value):
            return f"CAST('{value}' AS {kind})"
    if kind.startswith("decimal"):
        return f"CAST('{value}' AS {kind})"
    return f"{value}{_SUFFIXES[kind]}"


def _string(value: str, kind: str) -> str:
    """Return a string, or the literal of another type that the tree has as it was written."""
    if kind == "interval":
        return value
    text = string_sql(value)
    if kind == "string":
        return text
    if not text.startswith("'"):
        raise UnreadableTextError(f"a {kind} with signs that it does not have, in a condition")
    return f"{kind.upper()} {text}"
