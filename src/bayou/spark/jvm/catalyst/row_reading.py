# SPDX-License-Identifier: Apache-2.0
"""Support scans in which Spark converts each row that it reads, and copies all constants of the file into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.jvm.core.nodes import column
from bayou.spark.jvm.relations.own_sql import own_expression
from bayou.spark.jvm.relations.relation import struct_type

if TYPE_CHECKING:
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_CATALYST = "org.apache.spark.sql.catalyst"


def reads_batches(jvm: Jvm, session: JavaObject, schema_json: str) -> bool:
    """Whether Spark reads Parquet columns in batches, with constants next to them, instead of converting rows.

    The schema has all columns of the scan and the constants, but not Spark's file metadata.
    """
    made = jvm.static("org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat")()
    schema, settings = struct_type(jvm, schema_json), session.sessionState().conf()
    facts = jvm.module("org.apache.spark.sql.types.StructType").apply(made.metadataSchemaFields())
    # Spark's scan checks code generation and the number of columns itself: the format of some versions does not.
    stage = jvm.module("org.apache.spark.sql.execution.WholeStageCodegenExec")
    is_generated = settings.wholeStageEnabled() and not stage.isTooManyFields(settings, schema.add("facts", facts))
    return bool(is_generated and made.supportBatch(session, schema))


def row_condition(jvm: Jvm, condition: str, name: str, value: bytes | None) -> JavaObject:
    """Return a condition of bayou for a Dataset with bytes in it, so that neither a column nor a row needs to hold them.

    The bytes are in an array, because plans would print each byte of a plain value.

    Args:
        condition: SQL, which may name an array of one element.
        value: the element; None without such an array.
    """
    tree = own_expression(jvm, condition)
    if value is not None:
        kind = jvm.module("org.apache.spark.sql.types.DataType").fromDDL("array<binary>")
        array = jvm.static(f"{_CATALYST}.util.GenericArrayData")(jvm.objects([bytearray(value)]))
        literal = jvm.static(f"{_CATALYST}.expressions.Literal")(array, kind)
        # A Scala map is a partial function too, which is what `transform` takes.
        tree = tree.transform(jvm.scala_map({own_expression(jvm, name): literal}))
    return column(jvm, tree)._jc  # noqa: SLF001  (the bridge)
