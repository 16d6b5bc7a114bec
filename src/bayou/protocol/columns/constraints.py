# SPDX-License-Identifier: Apache-2.0
"""The constraints of a table as SQL conditions, and its CHECK constraints as properties.

A row satisfies a condition that is true. False and NULL violate it.
Sources: PROTOCOL.md, "Column Invariants" and "CHECK Constraints"; delta-spark's `Constraints`, `Invariants`, and the commands of
ALTER TABLE ADD and DROP CONSTRAINT.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from bayou.errors import failed
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.columns.generated_columns import generated_columns
from bayou.protocol.properties import CONSTRAINT_PREFIX
from bayou.protocol.types.char_varchar import length_check
from bayou.protocol.types.schema import DataType, StructField, StructType
from bayou.protocol.types.sql_text import column_sql, parenthesised
from bayou.protocol.types.traverse import parts

INVARIANTS: Final = "delta.invariants"
"""The key of a field's metadata for a column invariant."""

LENGTH_CHECK_NAME: Final = "__CHAR_VARCHAR_STRING_LENGTH_CHECK__"
"""The name of all length checks in delta-spark, which a CHECK constraint must not have."""

GENERATED_COLUMN_NAME: Final = "Generated Column"
"""The name of the constraint of a generated column in delta-spark's errors."""


class ConstraintKind(Enum):
    """What declares a constraint."""

    CHECK = "CHECK"
    NOT_NULL = "NOT NULL"
    INVARIANT = "INVARIANT"
    GENERATED = "GENERATED"
    CHAR_VARCHAR = "CHAR_VARCHAR"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint. It is satisfied if the expression is true; NULL violates it just as false does.

    Attributes:
        name: its name in errors; for a CHECK constraint the name that the user gave it.
        kind: what declares it.
        column: the logical path of the column that declares it; empty for a CHECK constraint.
        expression: a SQL condition over the table's logical columns.
    """

    name: str
    kind: ConstraintKind
    column: tuple[str, ...]
    expression: str


def constraints_of(metadata: Metadata, schema: StructType, *, provided: Iterable[str] = ()) -> tuple[Constraint, ...]:
    """Return the constraints of a table, in the order in which delta-spark checks them.

    A NOT NULL field of a struct is also violated if the struct is NULL. NOT NULL in an array or a map is not enforced, as in
    delta-spark (`check_nested_not_null` refuses it in new tables).

    Args:
        metadata: the table's metadata, for its CHECK constraints.
        provided: the columns that the rows have. If a generated column is one of them, its values are checked.

    Raises:
        UnsupportedFeatureError: an invariant cannot be parsed, and so cannot be enforced.
        InvalidSchemaError: the declared type of a CHAR or VARCHAR column cannot be parsed.
    """
    return (
        *_check_constraints(metadata.configuration),
        *_not_null(schema, ()),
        *_invariants(schema, (), is_in_struct=True),
        *_length_checks(schema),
        *_generated(schema, provided),
    )


def constraint_key(name: str) -> str:
    """Return the property of a CHECK constraint."""
    return CONSTRAINT_PREFIX + name.lower()


def add_constraint(configuration: Mapping[str, str], name: str, expression: str, *, table: str) -> dict[str, str]:
    """Return a table's configuration with a new CHECK constraint, without checking existing rows.

    Raise InvalidSchemaError if the name, in any case, exists already or is reserved.
    """
    check_constraint_name(name, table=table)
    key = _key_of(configuration, name)
    if key is not None:
        raise failed("DELTA_CONSTRAINT_ALREADY_EXISTS", table=table, constraint=name, expression=configuration[key])
    return {**configuration, constraint_key(name): expression}


def check_constraint_name(name: str, *, table: str) -> None:
    """Raise InvalidSchemaError if a CHECK constraint must not have a name."""
    if name.lower() == LENGTH_CHECK_NAME.lower() or not name.strip():
        raise failed("DELTA_INVALID_CONSTRAINT_NAME", table=table, constraint=name)


def drop_constraint(
    configuration: Mapping[str, str], name: str, *, table: str, if_exists: bool = False
) -> tuple[dict[str, str], bool]:
    """Return a table's configuration without a CHECK constraint, and whether it existed.

    Raise InvalidSchemaError if it does not exist, unless `if_exists` is true.
    """
    key = _key_of(configuration, name)
    if key is None and not if_exists:
        known = sorted(each.name for each in _check_constraints(configuration))
        raise failed("DELTA_CONSTRAINT_DOES_NOT_EXIST", table=table, constraint=name, known=known)
    return {each: value for each, value in configuration.items() if each != key}, key is not None


def _check_constraints(configuration: Mapping[str, str]) -> Iterator[Constraint]:
    for key, expression in configuration.items():
        if key.lower().startswith(CONSTRAINT_PREFIX):
            yield Constraint(key[len(CONSTRAINT_PREFIX) :], ConstraintKind.CHECK, (), expression)


def _key_of(configuration: Mapping[str, str], name: str) -> str | None:
    wanted = constraint_key(name)
    return next((key for key in configuration if key.lower() == wanted), None)


def _not_null(schema: StructType, parents: tuple[str, ...]) -> Iterator[Constraint]:
    for field in schema.fields:
        path = (*parents, field.name)
        if not field.nullable:
            yield Constraint("NOT NULL", ConstraintKind.NOT_NULL, path, f"{column_sql(path)} IS NOT NULL")
        if isinstance(field.type, StructType):
            yield from _not_null(field.type, path)


def _invariants(kind: DataType, path: tuple[str, ...], *, is_in_struct: bool) -> Iterator[Constraint]:
    for field in parts(kind):
        inner = (*path, field.name)
        if INVARIANTS in field.metadata:
            yield _invariant(field, inner, is_in_struct=is_in_struct)
        yield from _invariants(field.type, inner, is_in_struct=is_in_struct and isinstance(kind, StructType))


def _invariant(field: StructField, path: tuple[str, ...], *, is_in_struct: bool) -> Constraint:
    if not is_in_struct:
        raise failed("DELTA_UNSUPPORTED_INVARIANT_NON_STRUCT", column=column_sql(path), features=("invariants",))
    try:
        expression = json.loads(field.metadata[INVARIANTS])["expression"]["expression"]
    except (KeyError, TypeError, ValueError, RecursionError):
        expression = None
    if not isinstance(expression, str):
        found = field.metadata[INVARIANTS]
        raise failed("DELTA_UNRECOGNIZED_INVARIANT", column=column_sql(path), invariant=found, features=("invariants",))
    return Constraint(f"EXPRESSION({expression})", ConstraintKind.INVARIANT, path, expression)


def _length_checks(schema: StructType) -> Iterator[Constraint]:
    for field in schema.fields:
        expression = length_check(field)
        if expression is not None:
            yield Constraint(LENGTH_CHECK_NAME, ConstraintKind.CHAR_VARCHAR, (field.name,), expression)


def _generated(schema: StructType, provided: Iterable[str]) -> Iterator[Constraint]:
    given = {name.lower() for name in provided}
    for column in generated_columns(schema):
        if column.name.lower() in given:
            path = (column.name,)
            expression = f"({column_sql(path)} <=> {parenthesised(column.expression)})"
            yield Constraint(GENERATED_COLUMN_NAME, ConstraintKind.GENERATED, path, expression)
