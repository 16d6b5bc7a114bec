# SPDX-License-Identifier: Apache-2.0
"""What a scan needs where Spark makes a row of each row that it reads, and copies all constants of the file into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.jvm.core.nodes import column
from bayou.spark.jvm.relations.own_sql import own_expression
from bayou.spark.jvm.relations.relation import struct_type

if TYPE_CHECKING:
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_CATALYST = "org.apache.spark.sql.catalyst"


def reads_batches(jvm: Jvm, session: JavaObject, schema_json: str) -> bool:
    """Whether Spark reads columns of Parquet files in batches, with constants beside them; else it makes rows of them.

    Args:
        schema_json: all columns of the scan, constants included; Spark's facts about files come to them.
    """
    made = jvm.static("org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat")()
    schema, settings = struct_type(jvm, schema_json), session.sessionState().conf()
    facts = jvm.module("org.apache.spark.sql.types.StructType").apply(made.metadataSchemaFields())
    # Spark's scan looks at generated code and the number of columns by itself: not every version's format does.
    stage = jvm.module("org.apache.spark.sql.execution.WholeStageCodegenExec")
    is_generated = settings.wholeStageEnabled() and not stage.isTooManyFields(settings, schema.add("facts", facts))
    return bool(is_generated and made.supportBatch(session, schema))


def row_condition(jvm: Jvm, condition: str, name: str, value: bytes | None) -> JavaObject:
    """A condition of bayou's own for a Dataset, with bytes that it carries itself: no column has them, and no row is given them.

    They are in an array, of which plans show that it is one; of plain bytes they would show each.

    Args:
        condition: SQL, with a name in it for an array of one element where there is one.
        value: the element; None for no such array.
    """
    found = own_expression(jvm, condition)
    if value is not None:
        kind = jvm.module("org.apache.spark.sql.types.DataType").fromDDL("array<binary>")
        array = jvm.static(f"{_CATALYST}.util.GenericArrayData")(jvm.objects([bytearray(value)]))
        literal = jvm.static(f"{_CATALYST}.expressions.Literal")(array, kind)
        # A Scala map is a partial function too, which is what `transform` takes.
        found = found.transform(jvm.scala_map({own_expression(jvm, name): literal}))
    return column(jvm, found)._jc  # noqa: SLF001  (the bridge)
