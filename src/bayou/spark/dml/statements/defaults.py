# SPDX-License-Identifier: Apache-2.0
"""The value of the keyword DEFAULT in an assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.expression_functions import ExpressionKind
from bayou.spark.expressions.stored_expressions import check_stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField, StructType
    from bayou.spark.backend import Backend


def default_of(backend: Backend, spark: SparkSession, field: StructField, schema: StructType, snapshot: Snapshot) -> str:
    """Return a column's default as SQL; `null` without a default.

    Raises:
        InvalidSchemaError: the default contains an expression that bayou does not allow in defaults.
    """
    default = field.metadata.get(CURRENT_DEFAULT)
    if not isinstance(default, str):
        return "null"
    check_stored(
        backend.parsed(spark, default),
        ExpressionKind.COLUMN_DEFAULT,
        schema,
        of=f"the default of column {field.name!r}",
        table=snapshot.table_uri,
        version=snapshot.version,
    )
    return default
