# SPDX-License-Identifier: Apache-2.0
"""Find which of a table's expressions use a column, and refuse to change such a column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayou.errors import InvalidSchemaError, failed, reason
from bayou.protocol import properties
from bayou.protocol.columns.constraints import ConstraintKind, constraints_of
from bayou.protocol.columns.generated_columns import check_type, generated_columns, has_generated_columns
from bayou.protocol.evolution.column_dependents import check_no_dependents
from bayou.protocol.features.type_widening import is_widening
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.traverse import twins
from bayou.spark.types.alignment import same_names_and_types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType
    from bayou.spark.backend import Backend

_OWN_TEXT: Final = (ConstraintKind.CHECK, ConstraintKind.INVARIANT)
"""The constraints that a user wrote; others follow from the definition of their column."""


def refuse_referenced(
    backend: Backend,
    spark: SparkSession,
    snapshot: Snapshot,
    schema: StructType,
    column: tuple[str, ...],
    *,
    changes_type: bool = False,
) -> None:
    """Raise InvalidSchemaError if a CHECK constraint, an invariant or a generated column uses a column that is to be changed.

    Args:
        schema: the table's schema after the alteration; generated columns that it drops are ignored.
        changes_type: whether the column's type is changed, and not its name or existence.
    """
    rules = [rule for rule in constraints_of(snapshot.metadata, snapshot.schema) if rule.kind in _OWN_TEXT]
    generated = generated_columns(schema) if has_generated_columns(snapshot.protocol, snapshot.schema) else ()
    check_no_dependents(
        column,
        constraints={rule.name: backend.parsed(spark, rule.expression).columns for rule in rules},
        generated={rule.name: backend.parsed(spark, rule.expression).columns for rule in generated},
        table=snapshot.table_uri,
        changes_type=changes_type,
    )


def refuse_other_types(backend: Backend, spark: SparkSession, snapshot: Snapshot, given: StructType) -> None:
    """Raise SchemaMismatchError if an expression of the table uses a column that has another type in `given`, the rows' schema."""
    for field in given.fields:
        column = snapshot.schema.field(field.name)
        if column is not None and not same_names_and_types(column.type, field.type):
            _refuse_other_type(backend, spark, snapshot, (column.name,))


def refuse_widened(backend: Backend, spark: SparkSession, snapshot: Snapshot, after: StructType) -> None:
    """Raise an error if an expression of the table uses a column that a write widens, since its value may then differ.

    Raises:
        SchemaMismatchError: an expression uses a column whose type is another in `after`.
        InvalidSchemaError: a generated column would have another type than its expression.
    """
    refuse_other_generated(snapshot, after)
    if not properties.ENABLE_TYPE_WIDENING.read(snapshot.metadata.configuration):
        return  # without type widening, a type can only become one that files store in the same way
    for path in _widened(snapshot.schema, after, ()):
        _refuse_other_type(backend, spark, snapshot, path)


def refuse_other_generated(snapshot: Snapshot, after: StructType) -> None:
    """Raise InvalidSchemaError if a generated column would have another type than its expression, which stays the same."""
    if has_generated_columns(snapshot.protocol, snapshot.schema):
        for column in generated_columns(snapshot.schema):
            changed = after.field(column.name)
            if changed is not None:
                check_type(replace(column, type=changed.type), column.type, table=snapshot.table_uri)


def _widened(before: DataType, after: DataType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the columns and fields that get a wider type. New columns, and columns of the void type, are not widened."""
    if isinstance(before, str) and isinstance(after, str) and is_widening(before, after):
        yield path
    for old_field, new_field in twins(before, after):
        if new_field is not None:
            yield from _widened(old_field.type, new_field.type, (*path, old_field.name) if isinstance(before, StructType) else path)


def _refuse_other_type(backend: Backend, spark: SparkSession, snapshot: Snapshot, path: tuple[str, ...]) -> None:
    """Raise SchemaMismatchError if an expression of the table uses a column.

    For an ALTER TABLE the same case is an InvalidSchemaError; here the rows of a write are wrong, and not the schema.
    """
    try:
        refuse_referenced(backend, spark, snapshot, snapshot.schema, path, changes_type=True)
    except InvalidSchemaError as error:
        raise failed("written-column-with-dependents", at=snapshot, error_class=error.error_class, reason=reason(error)) from None
