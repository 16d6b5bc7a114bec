# SPDX-License-Identifier: Apache-2.0
"""Convert conditions to predicates that prune files. What is not certain becomes `Unknown`, which prunes no file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol
from typing import Literal as OneOf

from bayou.plan.predicates.predicate import (
    And,
    Boolean,
    Column,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
    Unknown,
)
from bayou.protocol.types import partition_values
from bayou.protocol.types.schema import StructType
from bayou.spark.expressions.predicates import by_logical_name
from bayou.spark.portable.text.filter_values import INTEGRAL, MAX_PRECISION, Values
from bayou.spark.portable.text.tree import Call, Cast, Field, Item, Literal, Name, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from bayou.plan.predicates.predicate import Literal as Constant
    from bayou.spark.portable.text.tree import Expression

_Operator = OneOf["=", "<=>", "<", "<=", ">", ">="]
_COMPARISONS: Final[dict[str, _Operator]] = {"=": "=", "<=>": "<=>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_FLIPPED: Final[dict[_Operator, _Operator]] = {"=": "=", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WIDER: Final = {"smallint": "short", "short": "short", "int": "integer", "integer": "integer", "bigint": "long", "long": "long"}
"""The types of casts that widen integers, by their names in SQL."""
_TIMES: Final = frozenset({"timestamp", "timestamp_ntz"})
_CAST_LITERALS: Final = frozenset({"date", "timestamp", "timestamp_ltz", "timestamp_ntz"})
_UNKNOWN: Final = Unknown()


class Names(Protocol):
    """What names in a condition mean."""

    @property
    def schema(self) -> StructType:
        """The columns of the table whose files are to be pruned."""
        ...

    def path_of(self, name: Name) -> tuple[str, ...] | None:
        """Return the path of a column in the schema, as its logical names, that a name means; None if it is not certain."""
        ...


@dataclass(frozen=True, slots=True)
class Table:
    """The table that a condition is about.

    Attributes:
        schema: its columns.
        qualifiers: the names that may stand in front of its columns, in lower case, such as its alias.
        is_alone: whether the condition can only mean its columns. If not, only columns with a qualifier are taken for its own.
    """

    schema: StructType
    qualifiers: Collection[tuple[str, ...]] = ()
    is_alone: bool = True

    def path_of(self, name: Name) -> tuple[str, ...] | None:
        """Return the path of a column in the schema, as its logical names, that a name means; None if it is not certain."""
        parts = name.parts
        lowered = tuple(part.lower() for part in parts)
        for length in range(len(parts) - 1, 0, -1):
            if lowered[:length] in self.qualifiers and self.schema.field(parts[length]) is not None:
                return parts[length:]
        return parts if self.is_alone else None


def predicate_of(root: Expression, table: Names, *, time_zone: str | None = None) -> Predicate:
    """Return the predicate of a condition.

    Args:
        root: the condition's tree.
        table: what the names in it mean.
        time_zone: the session's time zone; None if it is not known. Then literals that depend on it prune no file.
    """
    try:
        return _Conversion(table, Values(time_zone)).predicate(root)
    except RecursionError:
        return _UNKNOWN


class _Conversion:
    def __init__(self, table: Names, values: Values) -> None:
        self._table = table
        self._resolve = by_logical_name(table.schema)
        self._values = values

    def predicate(self, node: Expression) -> Predicate:
        """Return the predicate of a condition."""
        match node:
            case Operation(operator, operands):
                convert = _OPERATIONS.get(operator)
                return _UNKNOWN if convert is None else convert(self, node.operator, operands)
            case Literal(value, "boolean") if isinstance(value, bool):
                return Boolean(value)
            case Literal(None, "void"):
                return Boolean(None)
            case Name():
                return self.is_true("=", (node,))
            case Call((name,), (child, Literal(prefix, "string"))) if name.lower() == "startswith" and isinstance(prefix, str):
                return self._starts_with(child, prefix)
            case _:
                return _UNKNOWN

    def logical(self, operator: str, operands: tuple[Expression, ...]) -> Predicate:
        """Convert AND, OR and NOT."""
        parts = tuple(map(self.predicate, operands))
        return Not(parts[0]) if operator == "not" else And(parts) if operator == "and" else Or(parts)

    def comparison(self, operator: str, operands: tuple[Expression, ...]) -> Predicate:
        """Convert the comparison of a column with a literal, in either order."""
        left, right = operands
        symbol = _COMPARISONS[operator]
        found = self._column(left)
        if found is not None:
            return self._compared(symbol, found, right)
        found = self._column(right)
        return _UNKNOWN if found is None else self._compared(_FLIPPED[symbol], found, left)

    def inequality(self, operator: str, operands: tuple[Expression, ...]) -> Predicate:
        """Convert `!=` and IS DISTINCT FROM."""
        return Not(self.comparison("=" if operator == "!=" else "<=>", operands))

    def between(self, _operator: str, operands: tuple[Expression, ...]) -> Predicate:
        """Convert BETWEEN."""
        value, low, high = operands
        both = self.comparison(">=", (value, low)), self.comparison("<=", (value, high))
        return _UNKNOWN if _UNKNOWN in both else And(both)

    def is_null(self, _operator: str, operands: tuple[Expression, ...]) -> Predicate:
        """Convert IS NULL."""
        found = self._column(operands[0])
        return _UNKNOWN if found is None else IsNull(found[0])

    def negation(self, operator: str, operands: tuple[Expression, ...]) -> Predicate:
        """Convert NOT; of IS NULL it is IS NOT NULL."""
        inner = self.logical(operator, operands)
        return IsNotNull(inner.child.column) if isinstance(inner, Not) and isinstance(inner.child, IsNull) else inner

    def is_true(self, operator: str, operands: tuple[Expression, ...]) -> Predicate:
        """Convert a column of booleans that is a condition itself, IS TRUE and IS FALSE."""
        found = self._column(operands[0])
        if found is None or found[1] != "boolean":
            return _UNKNOWN
        symbol: _Operator = "=" if operator == "=" else "<=>"
        literal = Literal(operator != "is false", "boolean")
        constant = self._values.constant(literal, "boolean")
        return _UNKNOWN if constant is None else Comparison(symbol, found[0], constant)

    def is_in(self, _operator: str, operands: tuple[Expression, ...]) -> Predicate:
        """Convert IN with a list of literals."""
        found = self._column(operands[0])
        if found is None:
            return _UNKNOWN
        kinds = {each.type for each in operands[1:] if isinstance(each, Literal)}
        if found[1] in _TIMES and "string" in kinds:
            return _UNKNOWN  # Spark may compare such timestamps as strings
        constants = [self._constant(each, found[1]) for each in operands[1:]]
        known = tuple(each for each in constants if each is not None)
        return In(found[0], known) if len(known) == len(constants) and _fit_together(found[1], known) else _UNKNOWN

    def like(self, _operator: str, operands: tuple[Expression, ...]) -> Predicate:
        """Convert LIKE with a pattern that has only a beginning, or no wildcard at all."""
        child, pattern, *escape = operands
        if escape or not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            return _UNKNOWN
        beginning, wildcard, rest = pattern.value.partition("%")
        if rest or not beginning or "_" in beginning or "\\" in beginning:
            return _UNKNOWN
        return self._starts_with(child, beginning) if wildcard else self.comparison("=", (child, pattern))

    def _compared(self, symbol: _Operator, column: tuple[Column, str], other: Expression) -> Predicate:
        constant = self._constant(other, column[1])
        return _UNKNOWN if constant is None else Comparison(symbol, column[0], constant)

    def _starts_with(self, child: Expression, prefix: str) -> Predicate:
        found = self._column(child)
        return StartsWith(found[0], prefix) if found is not None and found[1] == "string" else _UNKNOWN

    def _column(self, node: Expression) -> tuple[Column, str] | None:
        """Return the column and its type, if an expression is a column or a cast that keeps the column's values and their order."""
        if isinstance(node, Cast):
            inner = self._column(node.child)
            return inner if inner is not None and _widens(inner[1], node.type) else None
        path = self._path(node)
        resolved = None if path is None else self._resolve(path)
        if resolved is None or not isinstance(resolved[1], str):
            return None
        return Column(resolved[0]), resolved[1]

    def _path(self, node: Expression) -> tuple[str, ...] | None:
        """Return the logical names that lead to a column or a field of a struct."""
        match node:
            case Name():
                return self._table.path_of(node)
            case Item(child, Literal(str(name), "string")) | Field(child, name):
                outer = self._path(child)
                return None if outer is None else (*outer, name)
            case _:
                return None

    def _constant(self, node: Expression, column_type: str) -> Constant | None:
        if isinstance(node, Cast) and isinstance(node.child, Literal) and node.child.type == "string":
            target = node.type.lower()
            if target not in _CAST_LITERALS:
                return None
            node = Literal(node.child.value, target)
        return self._values.constant(node, column_type) if isinstance(node, Literal) else None


def _widens(source: str, target: str) -> bool:
    """Whether a cast to a type in SQL keeps the values and their order: it widens an integral type, or a float to a double."""
    wider = _WIDER.get(target.lower())
    if source in INTEGRAL and wider is not None:
        return INTEGRAL.index(source) <= INTEGRAL.index(wider)
    return source in ("float", "double") and target.lower() == "double"


def _fit_together(column_type: str, constants: tuple[Constant, ...]) -> bool:
    """Whether the common type of a column and all constants has enough digits for each of them."""
    kinds = [partition_values.decimal_type(kind) for kind in (column_type, *(each.type for each in constants))]
    decimals = [kind for kind in kinds if kind is not None]
    if not decimals:
        return True
    whole, scale = max(precision - scale for precision, scale in decimals), max(scale for _, scale in decimals)
    return whole + scale <= MAX_PRECISION


_OPERATIONS: Final[dict[str, Callable[[_Conversion, str, tuple[Expression, ...]], Predicate]]] = {
    "and": _Conversion.logical,
    "or": _Conversion.logical,
    "not": _Conversion.negation,
    **dict.fromkeys(_COMPARISONS, _Conversion.comparison),
    "!=": _Conversion.inequality,
    "is distinct from": _Conversion.inequality,
    "between": _Conversion.between,
    "in": _Conversion.is_in,
    "is null": _Conversion.is_null,
    "is true": _Conversion.is_true,
    "is false": _Conversion.is_true,
    "like": _Conversion.like,
}
