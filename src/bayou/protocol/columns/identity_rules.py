# SPDX-License-Identifier: Apache-2.0
"""Check identity columns, and resolve conflicts between two writers that generate numbers concurrently.

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
"""The error class of explicit values for a column that is GENERATED ALWAYS."""


class IdentityConflict(Enum):
    """What a commit must do after a winning commit changed the metadata."""

    NONE = "the metadata did not change"
    TAKE_MARKS = "only marks moved: rebase, with the marks of the winning commit in the metadata of this one"
    GENERATE_AGAIN = "the winning commit may have the same numbers: generate them again, or fail"
    METADATA_CHANGED = "more than marks changed"


def identity_conflict(read: Metadata, winner: Metadata, generated: Iterable[str]) -> IdentityConflict:
    """Return what a commit must do about the metadata of a winning commit.

    The numbers are already in data files, so it is not enough to move the mark.

    Args:
        read: the metadata from which the numbers were generated.
        generated: the logical names of the identity columns for which this commit generated numbers.
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
    """Raise InvalidSchemaError if an identity column is not a BIGINT, or is nested, a generated or a partition column."""
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


def check_no_explicit_values(schema: StructType, provided: Iterable[str], *, table: str, version: int | None = None) -> None:
    """Raise SchemaMismatchError if rows have values for an identity column that is GENERATED ALWAYS; `column` names it."""
    given = {name.lower() for name in provided}
    for column in identity_columns(schema):
        if not column.allow_explicit_insert and column.name.lower() in given:
            raise failed("DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", table=table, version=version, column=column.name)


def column_to_sync(schema: StructType, name: str, *, table: str) -> IdentityColumn:
    """Return the identity column for SYNC IDENTITY. Raise InvalidSchemaError if the column is not an identity column."""
    field = schema.field(name)
    if field is None or not is_identity(field):
        raise failed("DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN", table=table, column=name)
    return identity_column(field)


def without_marks(schema: StructType) -> StructType:
    """Return a schema without high-water marks, which each append moves."""
    return StructType(tuple(with_high_water_mark(field, None) for field in schema.fields))
