# SPDX-License-Identifier: Apache-2.0
"""Convert a table's columns between the log and Spark's catalog and statements, which use other metadata keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT, DEFAULT_KEYS
from bayou.protocol.columns.generated_columns import GENERATION_EXPRESSION, generation_expression
from bayou.protocol.columns.identity_columns import identity_metadata, is_identity
from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.protocol.types.schema import StructType, required_and_absent
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.backend import backend_of
from bayou.spark.types.types import readable_schema, spark_data_type

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import StructField
    from bayou.spark.backend import Backend

_DEFAULT, _DEFAULT_OF_OLD_ROWS = DEFAULT_KEYS
_GENERATED = "GENERATION_EXPRESSION"
_IDENTITY_START, _IDENTITY_STEP, _IDENTITY_EXPLICIT = "identity.start", "identity.step", "identity.allowExplicitInsert"


def catalog_schema(schema: StructType) -> StructType:
    """Return a table's schema as Spark's catalog shows it, with the defaults that Spark fills in for an INSERT."""
    readable = readable_schema(schema)
    return StructType(tuple(_shown(f, of) for f, of in zip(readable.fields, schema.fields, strict=True)))


def insert_schema(schema: StructType) -> StructType:
    """Return the schema that the rows of an INSERT are aligned to.

    The table's other constraints check lengths of strings and NOT NULL.
    """
    fields = as_nullable(catalog_schema(schema)).fields
    return StructType(tuple(replace(f, metadata={k: v for k, v in f.metadata.items() if k != DECLARED_TYPE}) for f in fields))


def _shown(field: StructField, of: StructField) -> StructField:
    default = of.metadata.get(_DEFAULT)
    if default is None:
        return field
    # Spark accepts a default only together with one for existing rows, which have NULL.
    return replace(field, metadata={**field.metadata, _DEFAULT: default, _DEFAULT_OF_OLD_ROWS: "NULL"})


def schema_of_statement(schema: StructType) -> StructType:
    """Return the schema of a CREATE TABLE statement as a table has it."""
    return StructType(tuple(_stored(field) for field in schema.fields))


def _stored(field: StructField) -> StructField:
    given = dict(field.metadata)
    given.pop(_DEFAULT_OF_OLD_ROWS, None)
    expression = given.pop(_GENERATED, None)
    start, step, explicit = (given.pop(key, None) for key in (_IDENTITY_START, _IDENTITY_STEP, _IDENTITY_EXPLICIT))
    more: dict[str, Any] = {} if expression is None else {GENERATION_EXPRESSION: expression}
    if start is not None and step is not None:
        more |= identity_metadata(int(start), int(step), allow_explicit_insert=str(explicit).lower() == "true")
    return replace(field, metadata={**given, **more})


def without_filled(backend: Backend, rows: DataFrame, schema: StructType, given: Collection[str] | None = None) -> DataFrame:
    """Drop the columns of an INSERT that Spark filled with NULL and that get their values when they are written.

    Args:
        given: the columns that the INSERT names, in lower case; None if it names none.
    """
    filled = {each.name for each in schema.fields if is_identity(each) or generation_expression(each) is not None}
    gone = [each for each in backend.columns_of_nulls(rows) if each in filled] if filled else []
    gone += [each for each in filled if given is not None and each.lower() not in given and each not in gone]
    return rows.drop(*gone) if gone else rows


def with_absent_columns(
    rows: DataFrame, schema: StructType, partition_columns: Sequence[str], *, is_append: bool = False
) -> DataFrame:
    """Add columns with NULL to the rows of a DataFrame writer, if they lack columns that a write cannot leave out.

    These are partition columns and, if the rows have no other column, any one more. Appended rows also get structs with fields
    that must not be NULL, so that each row violates that constraint. Generated, identity, default and NOT NULL columns are
    never added.

    Args:
        is_append: whether the rows are added to existing ones.
    """
    given, partitions = (
        {name.lower() for name in backend_of(rows.sparkSession).names_of(rows)},
        {name.lower() for name in partition_columns},
    )
    open_ones = [each for each in readable_schema(schema).fields if each.name.lower() not in given and _may_be_null(schema, each)]
    absent = [each for each in open_ones if each.name.lower() in partitions]
    if is_append:
        absent += [each for each in open_ones if _has_required_fields(schema, each)]
    absent += [each for each in open_ones if each not in absent][:1] if given <= partitions else []
    return rows.select("*", *(F.lit(None).cast(spark_data_type(f)).alias(f.name) for f in absent)) if absent else rows


def _has_required_fields(schema: StructType, column: StructField) -> bool:
    stored = schema.field(column.name)
    return stored is not None and any(required_and_absent(StructType((stored,)), StructType(())))


def _may_be_null(schema: StructType, column: StructField) -> bool:
    stored = schema.field(column.name)
    if stored is None or not stored.nullable:
        return False
    return not (is_identity(stored) or generation_expression(stored) is not None or CURRENT_DEFAULT in stored.metadata)
