# SPDX-License-Identifier: Apache-2.0
"""Cast and pad values with nodes of Catalyst, because Spark's own functions depend on the session's settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.protocol.types.schema import VOID_TYPES, StructField, StructType, schema_to_json
from bayou.spark.jvm.core.nodes import column, expression
from bayou.spark.jvm.relations.relation import struct_type

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from bayou.protocol.types.schema import DataType
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


def schema_of(kind: DataType) -> str:
    """Return JSON of a schema with one column of a type, the form of types in this module."""
    return schema_to_json(StructType((StructField("value", kind),)))


def ansi_cast(jvm: Jvm, value: Column, spark: SparkSession, kind: str, name: str) -> Column:
    """Cast a column, whatever the session's settings. A value that the type cannot hold is an error that names the column."""
    cast = _cast(jvm, value, spark, kind, jvm.module(f"{_EXPRESSIONS}.EvalMode").ANSI())
    return column(jvm, jvm.static(f"{_EXPRESSIONS}.CheckOverflowInTableInsert")(cast, name))


def legacy_cast(jvm: Jvm, value: Column, spark: SparkSession, kind: str) -> Column:
    """Cast a column like `ansi_cast`, but to NULL or truncated if the type cannot hold the value."""
    return column(jvm, _cast(jvm, value, spark, kind, jvm.module(f"{_EXPRESSIONS}.EvalMode").LEGACY()))


def _cast(jvm: Jvm, value: Column, spark: SparkSession, kind: str, mode: JavaObject) -> JavaObject:
    target = struct_type(jvm, kind).apply(0).dataType()
    return jvm.static(f"{_EXPRESSIONS}.Cast")(expression(jvm, spark, value), target, jvm.none, mode)


def padded_chars(jvm: Jvm, plan: JavaObject, number: int, declared: str) -> Column:
    """Return a column of a plan with its char values padded at any depth, as Spark pads them when it reads a table.

    Args:
        declared: the column's type in SQL, with chars and varchars, and with the names and the order of the plan's fields.
    """
    metadata = jvm.module("org.apache.spark.sql.types.Metadata").fromJson(json.dumps({DECLARED_TYPE: declared}))
    attribute = plan.output().apply(number).withMetadata(metadata)
    return column(jvm, jvm.module("org.apache.spark.sql.catalyst.util.CharVarcharUtils").addPaddingForScan(attribute))


def can_up_cast(jvm: Jvm, given: str, wanted: str) -> bool:
    """Whether Spark up-casts a type to another without loss."""
    types = (struct_type(jvm, schema).apply(0).dataType() for schema in (given, wanted))
    return bool(jvm.module(f"{_EXPRESSIONS}.Cast").canUpCast(*types))


def casts_implicitly(jvm: Jvm, wanted: DataType, given: DataType) -> bool:
    """Whether Spark casts values of a type to another implicitly. A void column accepts any type, and stays void."""
    if wanted in VOID_TYPES:
        return True
    target, source = (struct_type(jvm, schema_of(fields)).apply(0).dataType() for fields in (wanted, given))
    value = jvm.static(f"{_EXPRESSIONS}.Literal")(None, source)
    return bool(jvm.module("org.apache.spark.sql.catalyst.analysis.TypeCoercion").implicitCast(value, target).isDefined())
