# SPDX-License-Identifier: Apache-2.0
"""Replace the subqueries of expressions in SQL by their values, so that all jobs of a statement use the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from pyspark.sql.types import AtomicType, BinaryType, NullType, TimestampType

from bayou.protocol.types.sql_text import string_sql
from bayou.spark.portable.text.subqueries import queries_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

_VALUE: Final = "value"


def with_scalars(spark: SparkSession, given: Sequence[Any], settings: Mapping[str, str]) -> tuple[list[Any], bool]:
    """Replace the scalar subqueries and EXISTS of expressions by literals. Runs a query for each.

    A subquery that uses columns of the table, has several columns, or has a value without a literal stays as it is.

    Args:
        given: expressions in SQL. All other ones, such as columns, stay as they are.

    Returns:
        The expressions, and whether any subquery was evaluated.
    """
    found, evaluated = [], False
    for each in given:
        text = each
        queries = queries_in(each, settings) if isinstance(each, str) else []
        for query in sorted(queries, key=lambda query: -query.start):
            value = None if query.kind == "list" else _literal(spark, each[query.start : query.end])
            if value is not None:
                evaluated, text = True, f"{text[: query.start]}{value}{text[query.end :]}"
        found.append(text)
    return found, evaluated


def _literal(spark: SparkSession, query: str) -> str | None:
    try:
        rows = spark.sql(f"SELECT {query} AS {_VALUE}")
        kind = rows.schema[_VALUE].dataType
    except AnalysisException:
        return None
    if not isinstance(kind, (AtomicType, NullType)) or kind.typeName() == "variant":  # a variant has no literal
        return None
    column = F.col(_VALUE)
    is_time, is_binary = type(kind) is TimestampType, isinstance(kind, BinaryType)
    shown = F.unix_micros(column) if is_time else F.hex(column) if is_binary else column
    value = rows.select(shown.cast("string")).collect()[0][0]
    if value is None:
        return f"CAST(NULL AS {kind.simpleString()})" if not isinstance(kind, NullType) else "NULL"
    if is_time:
        return f"timestamp_micros({value}L)"
    return f"X'{value}'" if is_binary else f"CAST({string_sql(value)} AS {kind.simpleString()})"
