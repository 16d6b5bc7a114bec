# SPDX-License-Identifier: Apache-2.0
"""Convert conditions of Catalyst to predicates that prune files, and generation expressions to those of `plan/generated`.

A condition that bayou does not understand becomes `Unknown`, which prunes no file. `plan/generated` decides which generation
expressions it understands.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from bayou.plan.generated.expressions import Call, Constant, Reference
from bayou.plan.predicates.predicate import (
    And,
    Boolean,
    Column,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    StartsWith,
    Unknown,
)
from bayou.protocol.stats.file_stats import is_collated
from bayou.protocol.types import partition_values
from bayou.protocol.types.char_varchar import bounded_length, from_stored
from bayou.protocol.types.schema import StructType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.plan.generated.expressions import Expression
    from bayou.protocol.types.schema import DataType, StructField

    Resolve = Callable[[tuple[str, ...]], tuple[tuple[str, ...], DataType] | None]
    """Maps a column's names in Catalyst to its physical path and type; to None if it is not a column of the table."""

_Operator = OneOf["=", "<=>", "<", "<=", ">", ">="]
_COMPARISONS: dict[str, _Operator] = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_FLIPPED: dict[_Operator, _Operator] = {"=": "=", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INTEGRAL = ("byte", "short", "integer", "long")
_UNDECODABLE = "\ufffd"
"""The replacement character, which Catalyst's JSON has in place of bytes that are not UTF-8. Such strings cannot be compared."""
_MAX_NODES = 200
"""The size of a generation expression above which bayou does not try to understand it."""
_AS_NUMBER = {"timestamp": "long", "date": "integer"}
"""Types whose literals arrive as numbers: microseconds, days."""


def from_catalyst(texts: Sequence[str], resolve: Resolve) -> Predicate:
    """Return the conjunction of some conditions.

    Args:
        texts: the conditions in Catalyst's JSON, which lists all nodes of an expression tree in prefix order.
    """
    parts = [_predicate(_tree(json.loads(text)), resolve) for text in texts]
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def path_of(text: str) -> tuple[str, ...] | None:
    """Return the names that lead to a column or a field of a struct; None if the expression is neither."""
    named = _named(_tree(json.loads(text)))
    return None if named is None else named[0]


def expression_of(text: str) -> Expression | None:
    """Convert a generation expression in Catalyst's JSON. Return None if it is too large."""
    nodes = json.loads(text)
    return _expression(_tree(nodes)) if len(nodes) <= _MAX_NODES else None


def _expression(node: _Node) -> Expression:
    named = _named(node)
    if named is not None:
        return Reference(named[0])
    if node.kind == "Literal":
        value = node.facts["value"]
        return Constant(int(value) if value is not None and node.facts["dataType"] in _INTEGRAL else value)
    name = f"Cast to {node.facts['dataType']}" if node.kind == "Cast" else node.kind
    return Call(name, tuple(map(_expression, node.children)))


class _Node:
    """A node of an expression tree with its children."""

    __slots__ = ("children", "facts", "kind")

    def __init__(self, facts: Mapping[str, Any], children: list[_Node]) -> None:
        self.facts = facts
        self.kind = str(facts["class"]).rpartition(".")[2]
        self.children = children


def _tree(nodes: list[Mapping[str, Any]]) -> _Node:
    """Build the tree of nodes in prefix order. Each states the number of its children."""
    remaining = iter(nodes)

    def build() -> _Node:
        facts = next(remaining)
        return _Node(facts, [build() for _ in range(facts["num-children"])])

    return build()


def _predicate(node: _Node, resolve: Resolve) -> Predicate:
    if node.kind in _CONNECTIVES:
        return _CONNECTIVES[node.kind](tuple(_predicate(child, resolve) for child in node.children))
    if node.kind in _COMPARISONS:
        return _comparison(node, resolve)
    translate = _TESTS.get(node.kind)
    return translate(node, resolve) if translate is not None else Unknown()


def _boolean(node: _Node, _resolve: Resolve) -> Predicate:
    """Convert a literal that is a condition itself: TRUE, FALSE or NULL."""
    if node.facts["dataType"] != "boolean":
        return Unknown()
    value = node.facts["value"]
    return Boolean(None if value is None else value == "true")


def _null_test(node: _Node, resolve: Resolve) -> Predicate:
    column = _column(node.children[0], resolve)
    if column is None:
        return Unknown()
    return IsNull(column[0]) if node.kind == "IsNull" else IsNotNull(column[0])


def _comparison(node: _Node, resolve: Resolve) -> Predicate:
    """Convert the comparison of a column with a literal, in either order."""
    operator = _COMPARISONS[node.kind]
    for side, other, symbol in ((0, 1, operator), (1, 0, _FLIPPED[operator])):
        column = _column(node.children[side], resolve)
        if column is not None:
            literal = _literal(node.children[other], column[1])
            return Unknown() if literal is None else Comparison(symbol, column[0], literal)
    return Unknown()


def _in(node: _Node, resolve: Resolve) -> Predicate:
    column = _column(node.children[0], resolve)
    if column is None:
        return Unknown()
    values = [_literal(child, column[1]) for child in node.children[1:]]
    if any(value is None for value in values):
        return Unknown()
    return In(column[0], tuple(value for value in values if value is not None))


def _starts_with(node: _Node, resolve: Resolve) -> Predicate:
    column = _column(node.children[0], resolve)
    prefix = node.children[1]
    if column is None or column[1] != "string" or prefix.kind != "Literal" or prefix.facts["value"] is None:
        return Unknown()
    if _UNDECODABLE in prefix.facts["value"]:
        return Unknown()
    return StartsWith(column[0], prefix.facts["value"])


def _column(node: _Node, resolve: Resolve) -> tuple[Column, str] | None:
    """Return the column and its type, if an expression is a column or a cast that keeps the column's values and their order.

    Then bounds of the column's values are bounds of the expression's values. Return None for any other expression.
    """
    if node.kind == "Cast" and _widens(node):
        return _column(node.children[0], resolve)
    named = _named(node)
    resolved = resolve(named[0]) if named is not None else None
    if resolved is None or not isinstance(resolved[1], str):
        return None
    return Column(resolved[0]), resolved[1]


def _widens(cast: _Node) -> bool:
    """Whether a cast keeps the values and their order: it widens an integral type, or a float to a double."""
    source = cast.children[0].facts.get("dataType")
    target = cast.facts["dataType"]
    if source in _INTEGRAL and target in _INTEGRAL:
        return _INTEGRAL.index(source) <= _INTEGRAL.index(target)
    return (source, target) == ("float", "double")


def _named(node: _Node) -> tuple[tuple[str, ...], Any] | None:
    """Return the names that lead to a column and the JSON of its type; None if the expression is not a column."""
    if node.kind == "AttributeReference":
        return (node.facts["name"],), node.facts["dataType"]
    outer = _named(node.children[0]) if node.kind == "GetStructField" else None
    if outer is None:
        return None
    # Catalyst refers to a field by its ordinal. If Spark has pruned the struct, the name is missing.
    field = outer[1]["fields"][node.facts["ordinal"]]
    return (*outer[0], field["name"]), field["type"]


def _literal(node: _Node, column_type: str) -> Literal | None:
    """Return a literal that can be compared with the statistics of a column; None for other expressions and other types."""
    if node.kind != "Literal" or not isinstance(node.facts["dataType"], str):
        return None
    kind, text = node.facts["dataType"], node.facts["value"]
    if text is None:
        return Literal(None, column_type)
    if _AS_NUMBER.get(column_type) == kind or (column_type == "timestamp_ntz" and kind == "timestamp_ntz"):
        return Literal(int(text), column_type)
    if kind in ("timestamp", "date", "timestamp_ntz", "binary") or not _comparable(kind, column_type):
        return None
    if kind == "string" and _UNDECODABLE in text:
        return None
    value = text if kind == "string" else partition_values.parse(text, kind)
    return None if value is None else Literal(value, kind)


def _comparable(kind: str, column_type: str) -> bool:
    """Whether values of a literal's type compare with those of a column's type as numbers, or as values of the same type."""
    if kind == column_type or (kind in _INTEGRAL and column_type in _INTEGRAL):
        return True
    if kind.startswith("decimal"):
        return column_type.startswith("decimal")
    return (kind, column_type) in (("double", "float"), ("float", "double"))


_CONNECTIVES: dict[str, Callable[[tuple[Predicate, ...]], Predicate]] = {
    "And": And,
    "Or": Or,
    "Not": lambda children: Not(children[0]),
}
_TESTS: dict[str, Callable[[_Node, Resolve], Predicate]] = {
    "Literal": _boolean,
    "IsNull": _null_test,
    "IsNotNull": _null_test,
    "In": _in,
    "StartsWith": _starts_with,
}


def by_logical_name(schema: StructType) -> Resolve:
    """Return a function that finds a table's columns by the names in a query."""
    return _by_name(schema, StructType.field)


def by_physical_name(schema: StructType) -> Resolve:
    """Return a function that finds a table's columns by the names in its files."""

    def field(kind: StructType, name: str) -> StructField | None:
        return next((member for member in kind.fields if member.physical_name == name), None)

    return _by_name(schema, field)


def _by_name(schema: StructType, field: Callable[[StructType, str], StructField | None]) -> Resolve:
    """Return a function that finds the physical path and the type of a column.

    It finds no column whose values Spark compares in another order than the statistics: one with a collation, or of type char.
    """

    def resolve(names: tuple[str, ...]) -> tuple[tuple[str, ...], DataType] | None:
        kind: DataType = schema
        path: list[str] = []
        for name in names:
            member = field(kind, name) if isinstance(kind, StructType) else None
            if member is None or is_collated(member):
                return None
            if not path:  # a column's metadata has the declared char and varchar types at any depth
                member = from_stored(StructType((member,))).fields[0]
            path.append(member.physical_name)
            kind = member.type
        bounded = bounded_length(kind)
        if bounded is None:
            return tuple(path), kind
        return None if bounded[0] == "char" else (tuple(path), "string")  # chars are compared with padding

    return resolve
