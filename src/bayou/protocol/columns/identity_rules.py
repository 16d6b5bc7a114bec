# SPDX-License-Identifier: Apache-2.0
"""What may not be done with identity columns, and what two writers that generate numbers at once mean for each other.

Source: delta-spark's `IdentityColumn`, `ConflictChecker` and error classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from typing import Final

from bayou.errors import failed
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.columns.generated_columns import generation_expression
from bayou.protocol.columns.identity_columns import (
    IdentityColumn,
    high_water_marks,
    identity_column,
    identity_columns,
    is_identity,
    with_high_water_mark,
)
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.protocol.types.traverse import all_fields

EXPLICIT_INSERT: Final = "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED"
"""The error class of values that are brought for a column that is always generated."""


class IdentityConflict(Enum):
    """What a commit must do that another one changed the metadata under."""

    NONE = "the metadata is as it was"
    TAKE_MARKS = "only marks moved: go on top, with the marks of the other commit in any metadata of this one"
    GENERATE_AGAIN = "numbers that this commit wrote may be in the other one too: generate them again, or fail"
    METADATA_CHANGED = "more than marks changed"


def identity_conflict(read: Metadata, winner: Metadata, generated: Iterable[str]) -> IdentityConflict:
    """What another commit's metadata means for a commit that is based on an older one.

    A number is in the data files already when the commit is tried. To move the mark and commit would commit it twice.

    Args:
        read: the metadata that the numbers were generated from.
        generated: the logical names of the identity columns that this commit generated numbers for.
    """
    if read == winner:
        return IdentityConflict.NONE
    before, after = parse_schema(read.schema_string), parse_schema(winner.schema_string)
    same = without_marks(before) == without_marks(after)
    if not same or replace(read, schema_string="") != replace(winner, schema_string=""):
        return IdentityConflict.METADATA_CHANGED
    old, new = high_water_marks(before), high_water_marks(after)
    names = {name.lower() for name in generated}
    moved = {each.name.lower() for each in identity_columns(after) if old.get(each.physical_name) != new.get(each.physical_name)}
    return IdentityConflict.GENERATE_AGAIN if moved & names else IdentityConflict.TAKE_MARKS


def check_definition(schema: StructType, partition_columns: Iterable[str], *, table: str | None) -> None:
    """Refuses identity columns that cannot be: of another type than BIGINT, nested, generated otherwise, or to partition by.

    Raises:
        InvalidSchemaError: a column is one of these; `column` names it.
    """
    for field in filter(is_identity, schema.fields):
        column = identity_column(field)
        if field.type != "long":
            raise failed("DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE", table=table, column=column.name, type=field.type)
        if generation_expression(field) is not None:
            raise failed("DELTA_IDENTITY_COLUMNS_WITH_GENERATED_EXPRESSION", table=table, column=column.name)
        if field.name.lower() in {name.lower() for name in partition_columns}:
            raise failed("DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED", table=table, column=column.name)
    for field in schema.fields:
        if any(is_identity(inner) for _, _, inner in all_fields(field.type)):
            raise failed("DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE/nested", table=table, column=field.name)


def refuse_explicit_values(schema: StructType, provided: Iterable[str], *, table: str, version: int | None = None) -> None:
    """Refuses a write that brings numbers for a column that is GENERATED ALWAYS.

    Raises:
        SchemaMismatchError: there is such a column; `column` names it.
    """
    given = {name.lower() for name in provided}
    for column in identity_columns(schema):
        if not column.allow_explicit_insert and column.name.lower() in given:
            raise failed("DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", table=table, version=version, column=column.name)


def column_to_sync(schema: StructType, name: str, *, table: str) -> IdentityColumn:
    """The identity column that SYNC IDENTITY is asked for.

    Raises:
        InvalidSchemaError: there is no such column, or it is no identity column.
    """
    field = schema.field(name)
    if field is None or not is_identity(field):
        raise failed("DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN", table=table, column=name)
    return identity_column(field)


def without_marks(schema: StructType) -> StructType:
    """A schema without how far its identity columns have counted: each append moves that."""
    return StructType(tuple(with_high_water_mark(field, None) for field in schema.fields))
