# SPDX-License-Identifier: Apache-2.0
"""Which of a table's own expressions use a column: they stand in the way of its change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayou.errors import InvalidSchemaError, SchemaMismatchError
from bayou.protocol import properties
from bayou.protocol.columns.constraints import ConstraintKind, constraints_of
from bayou.protocol.columns.generated_columns import check_type, generated_columns, has_generated_columns
from bayou.protocol.evolution.column_dependents import refuse_dependents
from bayou.protocol.features.type_widening import is_widening
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.traverse import twins
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.parser import parsed
from bayou.spark.types.alignment import same_names_and_types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType
    from bayou.spark.jvm.core.bridge import Jvm

_OWN_TEXT: Final = (ConstraintKind.CHECK, ConstraintKind.INVARIANT)
"""The constraints that somebody wrote down; others are made from the column that they are about."""


def refuse_referenced(
    jvm: Jvm,
    spark: SparkSession,
    snapshot: Snapshot,
    schema: StructType,
    column: tuple[str, ...],
    *,
    changes_type: bool = False,
) -> None:
    """Refuses to rename, drop or retype a column that an expression of the table uses.

    Args:
        schema: its schema after the change: generated columns that go with it are in nobody's way.
        changes_type: whether it is the type that changes.

    Raises:
        InvalidSchemaError: a CHECK constraint, an invariant or a generated column uses it.
    """
    session = java_session(spark)
    rules = [each for each in constraints_of(snapshot.metadata, snapshot.schema) if each.kind in _OWN_TEXT]
    generated = generated_columns(schema) if has_generated_columns(snapshot.protocol, snapshot.schema) else ()
    refuse_dependents(
        column,
        constraints={each.name: parsed(jvm, session, each.expression).columns for each in rules},
        generated={each.name: parsed(jvm, session, each.expression).columns for each in generated},
        table=snapshot.table_uri,
        changes_type=changes_type,
    )


def refuse_other_types(jvm: Jvm, spark: SparkSession, snapshot: Snapshot, given: StructType) -> None:
    """Refuses rows that bring another type for a column that an expression of the table uses; else does nothing.

    Args:
        given: the schema of the rows, or what of it has other types than the table.

    Raises:
        SchemaMismatchError: a CHECK constraint, an invariant or a generated column uses the column; it is named.
    """
    for field in given.fields:
        known = snapshot.schema.field(field.name)
        if known is not None and not same_names_and_types(known.type, field.type):
            _refuse_other_type(jvm, spark, snapshot, (known.name,))


def refuse_widened(jvm: Jvm, spark: SparkSession, snapshot: Snapshot, after: StructType) -> None:
    """Refuses to widen a column that an expression of the table uses: of a wider type it may say another thing.

    Args:
        after: its schema with the types that the write brings.

    Raises:
        SchemaMismatchError: an expression uses a column whose type changes.
        InvalidSchemaError: a generated column would have another type than its expression.
    """
    refuse_other_generated(snapshot, after)
    if not properties.ENABLE_TYPE_WIDENING.read(snapshot.metadata.configuration):
        return  # then a type changes only where the files hold both alike
    for path in _widened(snapshot.schema, after, ()):
        _refuse_other_type(jvm, spark, snapshot, path)


def refuse_other_generated(snapshot: Snapshot, after: StructType) -> None:
    """Refuses a schema in which a generated column has another type than before: its expression has the one of before.

    Raises:
        InvalidSchemaError: there is such a column.
    """
    if has_generated_columns(snapshot.protocol, snapshot.schema):
        for column in generated_columns(snapshot.schema):
            changed = after.field(column.name)
            if changed is not None:
                check_type(replace(column, type=changed.type), column.type, table=snapshot.table_uri)


def _widened(before: DataType, after: DataType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the columns and fields that get a wider type; what is new is none, nor is what had no type."""
    if isinstance(before, str) and isinstance(after, str) and is_widening(before, after):
        yield path
    for each, known in twins(before, after):
        if known is not None:
            yield from _widened(each.type, known.type, (*path, each.name) if isinstance(before, StructType) else path)


def _refuse_other_type(jvm: Jvm, spark: SparkSession, snapshot: Snapshot, path: tuple[str, ...]) -> None:
    try:
        refuse_referenced(jvm, spark, snapshot, snapshot.schema, path, changes_type=True)
    except InvalidSchemaError as rule:
        raise SchemaMismatchError(
            rule.message,
            at=snapshot,
            error_class=rule.error_class,
            next_step="cast the rows to the column's type, or drop what refers to the column first.",
        ) from None
