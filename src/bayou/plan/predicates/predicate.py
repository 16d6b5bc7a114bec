# SPDX-License-Identifier: Apache-2.0
"""Predicates over the columns of a table, as immutable trees that data skipping and conflict detection evaluate.

For a row a predicate has one of SQL's three truth values: true, false, or NULL if it compares NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from typing import Literal as Choice

from bayou.errors import DeltaError, InvalidOptionError, failed
from bayou.plan.predicates.literals import Literal, literal
from bayou.protocol.arguments import shown_text
from bayou.protocol.stats.file_stats import is_collated, parse_column_list
from bayou.protocol.types.schema import StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = [
    "And",
    "Boolean",
    "Column",
    "Comparison",
    "Filters",
    "In",
    "IsNotNull",
    "IsNull",
    "Literal",
    "Not",
    "Or",
    "Path",
    "Predicate",
    "StartsWith",
    "Unknown",
    "columns",
    "from_dnf",
    "is_never_true",
    "literal",
    "only_about",
]

Path: TypeAlias = tuple[str, ...]
Operator = Choice["=", "<", "<=", ">", ">=", "<=>"]

_COMPARISONS: dict[str, Operator] = {"==": "=", "=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "is null", "is not null")
_FILTER_SIZES = (2, 3)


@dataclass(frozen=True, slots=True)
class Column:
    """A leaf column by its physical names, from the top-level column down."""

    path: Path


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column compared with a constant; "<=>" is the equality that treats NULL as a value."""

    op: Operator
    column: Column
    literal: Literal


@dataclass(frozen=True, slots=True)
class In:
    """A column that equals one of some constants."""

    column: Column
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """A column that is NULL."""

    column: Column


@dataclass(frozen=True, slots=True)
class IsNotNull:
    """A column that is not NULL."""

    column: Column


@dataclass(frozen=True, slots=True)
class StartsWith:
    """A string column that starts with a prefix, compared byte by byte."""

    column: Column
    prefix: str


@dataclass(frozen=True, slots=True)
class And:
    """The conjunction of predicates; true without any."""

    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """The disjunction of predicates; false without any."""

    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a predicate; NULL stays NULL."""

    child: Predicate


@dataclass(frozen=True, slots=True)
class Unknown:
    """An expression that bayou cannot evaluate. It may be true, false or NULL for any row, so that it prunes no file.

    Comparisons of collated strings are unknown, too: their order differs from the order of the bytes in statistics.
    """


@dataclass(frozen=True, slots=True)
class Boolean:
    """A constant truth value; None is NULL."""

    value: bool | None


_NULL_TESTS: dict[str, type[IsNull | IsNotNull]] = {"is null": IsNull, "is not null": IsNotNull}

Predicate: TypeAlias = Comparison | In | IsNull | IsNotNull | StartsWith | And | Or | Not | Unknown | Boolean
Filters: TypeAlias = "Sequence[tuple[str, str, Any]] | Sequence[Sequence[tuple[str, str, Any]]] | Predicate"
"""A selection of rows by callers: filters as in `from_dnf`, or a predicate."""


def columns(predicate: Predicate) -> set[Path]:
    """Return the physical paths of the columns that a predicate uses."""
    match predicate:
        case And(children) | Or(children):
            return set().union(*map(columns, children))
        case Not(child):
            return columns(child)
        case Unknown() | Boolean():
            return set()
        case _:
            return {predicate.column.path}


def is_never_true(predicate: Predicate) -> bool:
    """Return whether the constants in a predicate make it false or NULL for every row; False if that depends on a column."""
    match predicate:
        case Boolean(value):
            return value is not True
        case And(children):
            return any(map(is_never_true, children))
        case Or(children):
            return all(map(is_never_true, children))
        case _:
            return False


def only_about(predicate: Predicate, names: Collection[str]) -> Predicate:
    """Return the part of a predicate over some top-level columns, by physical name; other parts become Unknown.

    The result may be true whenever the predicate is true.
    """
    match predicate:
        case And(children):
            return And(tuple(only_about(child, names) for child in children))
        case Or(children):
            return Or(tuple(only_about(child, names) for child in children))
        case _:
            return predicate if all(path[0] in names for path in columns(predicate)) else Unknown()


def from_dnf(filters: Sequence[Any], schema: StructType) -> Predicate:
    """Return the predicate of a list of filters.

    All tuples (column, operator, value) of a list must hold. Of a list of such lists, one list must hold. Operators: `==` (or `=`),
    `!=`, `<`, `<=`, `>`, `>=`, `in`, `not in`, and without a value `is null` and `is not null`. A column is a logical name, with
    dots for fields of structs. A `datetime` without a zone is UTC for a column of type timestamp.

    Args:
        filters: the filters; an empty list selects all rows.
        schema: the table's schema, which determines the columns and the types of the values.

    Raises:
        InvalidOptionError: a column or an operator does not exist, or a value is not of the column's type.
    """
    if not isinstance(filters, list | tuple):
        raise _invalid(f"{shown_text(filters)} is not a list of filters")
    if all(isinstance(each, tuple) for each in filters):
        return And(tuple(_filter(each, schema) for each in filters))
    if not all(isinstance(each, list) for each in filters):
        raise _invalid("Filters are either tuples or lists of tuples, not both")
    return Or(tuple(And(tuple(_filter(each, schema) for each in group)) for group in filters))


def _filter(entry: Any, schema: StructType) -> Predicate:
    if not isinstance(entry, tuple) or len(entry) not in _FILTER_SIZES or not all(isinstance(x, str) for x in entry[:2]):
        raise _invalid(f"{shown_text(entry)} is not (column, operator, value)")
    name, operator = entry[:2]
    path, field = _resolve(name, schema)
    column = Column(path)
    normalised = " ".join(operator.lower().split())
    if normalised in _NULL_TESTS:
        if len(entry) == len(("column", "operator", "value")) and entry[2] is not None:
            raise _invalid(f"{shown_text(entry)} has a value, and {operator!r} takes none")
        return _NULL_TESTS[normalised](column)
    if normalised not in _OPERATORS and normalised not in _COMPARISONS:
        raise _invalid(f"{operator!r} is not one of the operators {', '.join(_OPERATORS)}")
    if len(entry) < len(("column", "operator", "value")):
        raise _invalid(f"{shown_text(entry)} has no value to compare the column with")
    value = entry[2]
    if not isinstance(field.type, str):
        raise _invalid(f"Column {name!r} is nested and cannot be compared")
    test = _test(normalised, column, value, field.type, name)  # checks the value, even if the test is not used
    return Unknown() if is_collated(field) else test


def _test(operator: str, column: Column, value: Any, data_type: str, name: str) -> Predicate:
    if operator in {"in", "not in"}:
        if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
            raise _invalid(f"{operator!r} takes a list of values, not {shown_text(value)}")
        membership = In(column, tuple(literal(element, data_type, column=name) for element in value))
        return membership if operator == "in" else Not(membership)
    if value is None:
        raise _invalid(f"Nothing is {operator} NULL; use 'is null' or 'is not null'")
    constant = literal(value, data_type, column=name)
    if operator == "!=":
        return Not(Comparison("=", column, constant))
    return Comparison(_COMPARISONS[operator], column, constant)


def _resolve(name: str, schema: StructType) -> tuple[Path, StructField]:
    """Return the physical path and the field of a column. A top-level column with dots in its name takes precedence over a path."""
    for parts in ((name,), *_paths(name)):
        resolved = _walk(parts, schema)
        if resolved is not None:
            return resolved
    raise _invalid(f"Column {name!r} does not exist; the columns are: {', '.join(schema.names) or 'none'}")


def _paths(name: str) -> Iterable[tuple[str, ...]]:
    try:
        paths = parse_column_list(name)
    except InvalidOptionError:
        return ()
    return paths if len(paths) == 1 else ()


def _walk(parts: tuple[str, ...], schema: StructType) -> tuple[Path, StructField] | None:
    struct: Any = schema
    path: list[str] = []
    field = None
    for part in parts:
        field = struct.field(part) if isinstance(struct, StructType) else None
        if field is None:
            return None
        path.append(field.physical_name)
        struct = field.type
    return None if field is None else (tuple(path), field)


def _invalid(problem: str) -> DeltaError:
    return failed("DELTA_ILLEGAL_OPTION/filter", option="where", problem=problem)
