# SPDX-License-Identifier: Apache-2.0
"""Parse user-supplied types and columns: PySpark's objects or SQL, for new tables and for existing ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as spark_types

from bayou.errors import failed
from bayou.protocol.columns.mapping_rules import fields_by_path, shown_path
from bayou.protocol.schema.given_schema import check_parts
from bayou.protocol.types.schema import FIELD_ID, PHYSICAL_NAME, StructField, StructType, parse_schema
from bayou.spark.backend import backend_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from bayou.protocol.types.schema import DataType

_OF_A_TABLE = (FIELD_ID, PHYSICAL_NAME)
"""Metadata of a field that only apply to the table that it comes from."""


def given_schema(spark: SparkSession, columns: Any, *, table: str | None = None) -> StructType:
    """Return user-supplied columns in the log's types.

    Args:
        columns: PySpark's `StructType` or a list of its `StructField`, SQL such as `a int, b string`, or columns in the log's
            types, as a statement has.

    Raises:
        InvalidOptionError: they are something else.
        InvalidSchemaError: the SQL cannot be parsed.
    """
    if isinstance(columns, StructType):
        return columns
    if isinstance(columns, str):
        return parse_schema(_parsed(spark, columns, backend_of(spark).columns_in_json, table))
    fields = columns.fields if isinstance(columns, spark_types.StructType) else columns
    if not isinstance(fields, (list, tuple)) or not all(isinstance(each, spark_types.StructField) for each in fields):
        raise failed("column-types", table=table)
    try:
        text = spark_types.StructType(list(fields)).json()
    except (TypeError, ValueError, RecursionError) as error:
        raise failed("column-metadata", table=table, reason=str(error)) from error
    found = parse_schema(text)
    check_parts(found, table=table)
    return found


def given_type(spark: SparkSession, kind: Any, *, table: str | None = None) -> DataType:
    """Return a user-supplied type as the log's.

    Args:
        kind: PySpark's `DataType`, or SQL such as `int`.

    Raises:
        InvalidOptionError: it is something else.
        InvalidSchemaError: the SQL cannot be parsed.
    """
    if isinstance(kind, str):
        text = _parsed(spark, kind, backend_of(spark).type_in_json, table)
    elif isinstance(kind, spark_types.DataType):
        text = kind.json()
    else:
        raise failed("column-type", table=table)
    field = {"name": "given", "type": json.loads(text), "nullable": True, "metadata": {}}
    return parse_schema(json.dumps({"type": "struct", "fields": [field]})).fields[0].type


def plain_columns(schema: StructType, table: str) -> StructType:
    """Return columns for an existing table.

    Raise InvalidSchemaError if a field at any depth would be computed for its rows: it is generated, an identity, or the like.
    """
    for path, field in fields_by_path(schema):
        found = sorted(key for key in field.metadata if key.startswith("delta.") and key not in _OF_A_TABLE)
        if found and not found[0].startswith("delta.columnMapping."):
            column = shown_path(path)
            raise failed("DELTA_OPERATION_NOT_ALLOWED/computed-column", table=table, column=column, key=found[0])
    return schema


def plain_type(kind: DataType, table: str) -> DataType:
    """Return a type for a column of an existing table. Raise InvalidSchemaError as `plain_columns` does."""
    plain_columns(StructType((StructField("given", kind),)), table)
    return kind


def _parsed(spark: SparkSession, text: str, parse: Callable[[SparkSession, str], str], table: str | None) -> str:
    backend = backend_of(spark)
    try:
        return parse(spark, text)
    except backend.failures as error:
        raise failed("type-syntax", table=table, given=text, reason=backend.reason_of(error)) from None
