# SPDX-License-Identifier: Apache-2.0
"""Convert generation expressions in SQL to those of `plan/generated`, with the functions and casts that Spark resolves them to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.plan.generated.expressions import Call, Constant, Reference
from bayou.protocol.types.schema import StructType
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.tree import Call as CallOfText
from bayou.spark.portable.text.tree import Cast, Literal, Name, Operation, UnreadableTextError

if TYPE_CHECKING:
    from bayou.plan.generated.expressions import Expression
    from bayou.spark.portable.text.tree import Expression as Tree

_PARTS: Final = {"year": "Year", "month": "Month", "day": "DayOfMonth", "dayofmonth": "DayOfMonth", "hour": "Hour"}
"""The functions for parts of a time, by their names in SQL."""
_ANY_LENGTH: Final = 2**31 - 1


def generation_expression(text: str, schema: StructType) -> Expression | None:
    """Return a generation expression; None if it has none of the forms from which filters are derived.

    Args:
        text: the expression in SQL.
        schema: the table's columns.
    """
    try:
        tree = read_expression(text)
    except UnreadableTextError:
        return None
    return _Conversion(schema).expression(tree)


class _Conversion:
    def __init__(self, schema: StructType) -> None:
        self._schema = schema

    def expression(self, tree: Tree) -> Expression | None:
        match tree:
            case Name(parts):
                return Reference(parts)
            case Cast(child, kind) if kind.lower() in ("date", "timestamp"):
                return _call(f"Cast to {kind.lower()}", self.expression(child))
            case CallOfText((name,), arguments, False, ()):
                return self._function(name.lower(), arguments)
            case _:
                return None

    def _function(self, name: str, arguments: tuple[Tree, ...]) -> Expression | None:  # noqa: PLR0911  (one return for each kind)
        match name, arguments:
            case ("date" | "to_date", (child,)):
                return self._as_date(child)
            case ("trunc", (child, Literal(str(unit), "string"))):
                return _call("TruncDate", self._as_date(child), Constant(unit))
            case ("date_trunc", (Literal(str(unit), "string"), child)):
                return _call("TruncTimestamp", Constant(unit), self._as_timestamp(child))
            case ("date_format", (child, Literal(str(pattern), "string"))):
                return _call("DateFormatClass", self._as_timestamp(child), Constant(pattern))
            case ("extract", (Literal(str(unit), "string"), child)):
                return self._part(unit.lower(), child)
            case ("left", (child, length)):
                return _call("Substring", self.expression(child), Constant(1), _integer(length))
            case ("substring" | "substr", (child, position, *length)) if len(length) <= 1:
                size = _integer(length[0]) if length else Constant(_ANY_LENGTH)
                return _call("Substring", self.expression(child), _integer(position), size)
            case (_, (child,)):
                return self._part(name, child)
            case _:
                return None

    def _part(self, name: str, child: Tree) -> Expression | None:
        if name not in _PARTS:
            return None
        return _call(_PARTS[name], self._as_timestamp(child) if name == "hour" else self._as_date(child))

    def _as_date(self, child: Tree) -> Expression | None:
        found = self.expression(child)
        return found if isinstance(found, Call) and found.name == "Cast to date" else _call("Cast to date", found)

    def _as_timestamp(self, child: Tree) -> Expression | None:
        found = self.expression(child)
        return _call("Cast to timestamp", found) if isinstance(found, Reference) and self._is_date(found.path) else found

    def _is_date(self, path: tuple[str, ...]) -> bool:
        kind: object = self._schema
        for name in path:
            member = kind.field(name) if isinstance(kind, StructType) else None
            kind = None if member is None else member.type
        return kind == "date"


def _call(name: str, *arguments: Expression | None) -> Expression | None:
    known = tuple(each for each in arguments if each is not None)
    return Call(name, known) if len(known) == len(arguments) else None


def _integer(tree: Tree) -> Expression | None:
    match tree:
        case Operation("negative", (Literal(int(value), "integer"),)):
            return Constant(-value)
        case Literal(int(value), "integer"):
            return Constant(value)
        case _:
            return None
