# SPDX-License-Identifier: Apache-2.0
"""Derive filters on generated partition columns from filters on the columns that they are generated from.

In a table partitioned by `CAST(ts AS DATE)`, the filter `ts >= '2024-05-01'` prunes the partitions before that day. The derived
predicate is true for the partition of every row for which the original predicate is true; it may be true for other partitions.

Source: delta-spark's `GeneratedColumn.generatePartitionFilters`. bayou also handles clocks that are set back, unknown time zones,
IN, OR, prefixes, and years after 9999 in formatted dates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bayou.plan.generated.expressions import Call, Constant, Expression, Reference
from bayou.plan.generated.rules import (
    ClockRule,
    FormattedRule,
    IdentityRule,
    PartitionRule,
    SubstringRule,
    Tests,
    TruncatedTimestampRule,
)
from bayou.plan.generated.truncation import DATE_FORMATS, DATE_UNITS, TIMESTAMP_UNITS, clock_parts, formatted, truncated
from bayou.plan.predicates.predicate import And, Column, Comparison, In, IsNull, Literal, Or, StartsWith
from bayou.protocol.stats.file_stats import is_collated
from bayou.protocol.types.char_varchar import char_width
from bayou.protocol.types.instants import MICROS_PER_DAY
from bayou.protocol.types.schema import StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bayou.plan.predicates.predicate import Path, Predicate

__all__ = ["PartitionRule", "derived_filter", "partition_rules"]

_MOST_VALUES: Final = 100
"""For an IN with more values no filter is derived, because each value would become a filter."""

_STAMPS: Final = ("timestamp", "timestamp_ntz")
_DATED: Final = (*_STAMPS, "date")
_DATE_PARTS: Final = {"Year": 0, "Month": 1, "DayOfMonth": 2}
_HOUR_PART: Final = 3


def partition_rules(schema: StructType, expressions: Mapping[str, Expression]) -> tuple[PartitionRule, ...]:
    """Return the rules of a table's generated partition columns; a column with an unsupported expression has no rule.

    Args:
        schema: the table's schema.
        expressions: the generation expressions, by the logical names of the partition columns.
    """
    rules: list[PartitionRule] = []
    parts: dict[tuple[Path, str], dict[int, Column]] = {}
    for name, expression in expressions.items():
        field = schema.field(name)
        if field is None or is_collated(field) or char_width(field):  # chars are stored padded
            continue
        source_and_part = _part(expression, field, schema)
        if source_and_part is not None:
            source, part = source_and_part
            parts.setdefault((source.path, source.type), {}).setdefault(part, Column((field.physical_name,)))
        else:
            rule = _rule(expression, field, schema)
            rules.extend([rule] if rule is not None else [])
    rules.extend(_clock_parts_rule(base, kind, columns) for (base, kind), columns in parts.items() if 0 in columns)
    return tuple(rules)


def derived_filter(predicate: Predicate, rules: Sequence[PartitionRule]) -> Predicate | None:
    """Return the predicate over partition columns that another predicate implies; None if it implies nothing.

    Args:
        predicate: a predicate over physical paths. An AND implies the filters of each of its parts, an OR only if all have one.
    """
    match predicate:
        case And(children):
            derived = [part for part in (derived_filter(child, rules) for child in children) if part is not None]
            return _all(derived)
        case Or(children) if children:
            derived = [part for part in (derived_filter(child, rules) for child in children) if part is not None]
            return Or(tuple(derived)) if len(derived) == len(children) else None
        case In(column, values) if 0 < len(values) <= _MOST_VALUES:
            equal = Or(tuple(Comparison("=", column, value) for value in values if value.value is not None))
            return derived_filter(equal, rules)
        case Comparison() | IsNull() | StartsWith():
            return _all(list(_from_leaf(predicate, rules)))
        case _:
            return None


def _from_leaf(leaf: Comparison | IsNull | StartsWith, rules: Sequence[PartitionRule]) -> Iterator[Predicate]:
    for rule in rules:
        if rule.base == leaf.column.path:
            derived = _applied(rule, leaf)
            if derived is not None:
                yield derived


def _applied(rule: PartitionRule, leaf: Comparison | IsNull | StartsWith) -> Predicate | None:
    match leaf:
        case IsNull():
            return rule.null()
        case StartsWith(_, prefix):
            return rule.prefixed(prefix)
        case Comparison(op, _, literal) if literal.value is None:
            return rule.null() if op == "<=>" else None
        case Comparison(op, _, literal) if literal.type == rule.base_type:
            return rule.compared("=" if op == "<=>" else op, literal.value)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Source:
    """The base column of a generation expression: its physical path and its type."""

    path: Path
    type: str


def _rule(expression: Expression, field: StructField, schema: StructType) -> PartitionRule | None:
    """Return the rule of one partition column; None if its expression or its type is not supported."""
    partition = Column((field.physical_name,))
    if isinstance(expression, Reference):
        source = _source(expression, schema)
        is_same = source is not None and source.type == field.type
        return IdentityRule(source.path, source.type, partition) if source is not None and is_same else None
    if not isinstance(expression, Call) or expression.name not in _FUNCTIONS:
        return None
    value_type, make = _FUNCTIONS[expression.name]
    return make(expression.arguments, partition, schema) if field.type == value_type else None


def _date(arguments: _Arguments, partition: Column, schema: StructType) -> PartitionRule | None:
    source = _source(arguments[0], schema, _DATED)
    return None if source is None else ClockRule(source.path, source.type, partition, _dates(partition))


def _truncated_date(arguments: _Arguments, partition: Column, schema: StructType) -> PartitionRule | None:
    match arguments:
        case (argument, Constant(str(unit))) if unit.lower() in DATE_UNITS:
            source = _dated(argument, schema)
            return None if source is None else ClockRule(source.path, source.type, partition, _dates(partition, unit.lower()))
        case _:
            return None


def _formatted_date(arguments: _Arguments, partition: Column, schema: StructType) -> PartitionRule | None:
    match arguments:
        case (argument, Constant(str(pattern))) if pattern in DATE_FORMATS:
            source = _stamped(argument, schema)
            # A date becomes midnight of that day, but some zones set the clock forward at midnight, so that the hour is 01.
            if source is None or (source.type == "date" and pattern.endswith("HH")):
                return None
            return FormattedRule(source.path, source.type, partition, _texts(partition, pattern))
        case _:
            return None


def _truncated_timestamp(arguments: _Arguments, partition: Column, schema: StructType) -> PartitionRule | None:
    match arguments:
        case (Constant(str(unit)), argument) if unit.lower() in TIMESTAMP_UNITS:
            source = _stamped(argument, schema)
            return None if source is None else TruncatedTimestampRule(source.path, source.type, partition, unit.lower())
        case _:
            return None


def _substring(arguments: _Arguments, partition: Column, schema: StructType) -> PartitionRule | None:
    match arguments:
        case (argument, Constant(int(position)), Constant(int(length))):
            source = _source(argument, schema, ("string",))
            return None if source is None else SubstringRule(source.path, source.type, partition, position, length)
        case _:
            return None


_Arguments: TypeAlias = "tuple[Expression, ...]"

_FUNCTIONS: Final[dict[str, tuple[str, Callable[[_Arguments, Column, StructType], PartitionRule | None]]]] = {
    "Cast to date": ("date", _date),
    "TruncDate": ("date", _truncated_date),
    "DateFormatClass": ("string", _formatted_date),
    "TruncTimestamp": ("timestamp", _truncated_timestamp),
    "Substring": ("string", _substring),
}
"""For each function in a generation expression: the type that the partition column must have, and the constructor of the rule."""


def _part(expression: Expression, field: StructField, schema: StructType) -> tuple[_Source, int] | None:
    """Return the base column and the number of the clock part for an expression such as YEAR(ts); None for other expressions."""
    match expression:
        case Call("Hour", (argument,)) if field.type == "integer":
            source = _source(argument, schema, _STAMPS)
            return None if source is None else (source, _HOUR_PART)
        case Call(name, (argument,)) if name in _DATE_PARTS and field.type == "integer":
            source = _dated(argument, schema)
            return None if source is None else (source, _DATE_PARTS[name])
        case _:
            return None


def _clock_parts_rule(base: Path, base_type: str, columns: dict[int, Column]) -> PartitionRule:
    """Return the rule of columns for the year, month, day and hour of one base column.

    Columns after a missing part are ignored: in a table with year and day, the days of different months are not in order.
    """
    together = [columns[part] for part in range(len(columns)) if set(range(part + 1)) <= columns.keys()]

    def values(wall: int) -> Tests:
        return [(column, Literal(part, "integer")) for column, part in zip(together, clock_parts(wall), strict=False)]

    return ClockRule(base, base_type, together[0], values)


def _dates(column: Column, unit: str = "day") -> Callable[[int], Tests | None]:
    return lambda wall: [(column, Literal(truncated(wall, unit) // MICROS_PER_DAY, "date"))]


def _texts(column: Column, pattern: str) -> Callable[[int], Tests | None]:
    def values(wall: int) -> Tests | None:
        text = formatted(wall, pattern)
        return None if text is None else [(column, Literal(text, "string"))]

    return values


def _dated(expression: Expression, schema: StructType) -> _Source | None:
    """Return the base column of an expression that is a date, or a cast to a date."""
    match expression:
        case Call("Cast to date", (argument,)):
            return _source(argument, schema, _DATED)
        case _:
            return _source(expression, schema, ("date",))


def _stamped(expression: Expression, schema: StructType) -> _Source | None:
    """Return the base column of an expression that is a timestamp, or a date cast to a timestamp."""
    match expression:
        case Call("Cast to timestamp", (argument,)):
            return _source(argument, schema, ("date",))
        case _:
            return _source(expression, schema, ("timestamp",))


def _source(expression: Expression, schema: StructType, types: Sequence[str] = ()) -> _Source | None:
    if not isinstance(expression, Reference):
        return None
    kind: Any = schema
    path: list[str] = []
    for name in expression.path:
        field = kind.field(name) if isinstance(kind, StructType) else None
        if field is None or is_collated(field):
            return None
        path.append(field.physical_name)
        kind = field.type
    if not isinstance(kind, str) or (types and kind not in types):
        return None
    return _Source(tuple(path), kind)


def _all(predicates: list[Predicate]) -> Predicate | None:
    if len(predicates) > 1:
        return And(tuple(predicates))
    return predicates[0] if predicates else None
