# SPDX-License-Identifier: Apache-2.0
"""Align rows to a table's columns by name, at every depth."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bayou.protocol.types.schema import StructField
from bayou.protocol.types.sql_text import quoted_name
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.backend import backend_of
from bayou.spark.types.aligned_sql import aligned, cast_sql, same_names_and_types
from bayou.spark.types.types import contains_user_defined, spark_data_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

    from bayou.protocol.types.schema import DataType

__all__ = ("AlignedColumn", "aligned", "cast_sql", "same_names_and_types", "selected")

AlignedColumn: TypeAlias = tuple[str, str, "DataType | None"]
"""The SQL of a column, its name, and the type to cast it to; None if it already has the type."""


def selected(frame: DataFrame, columns: Iterable[AlignedColumn]) -> DataFrame:
    """Select columns of a DataFrame by their SQL. PySpark casts those whose types SQL cannot name."""
    backend = backend_of(frame.sparkSession)
    made: list[str | Column] = []
    for text, name, kind in columns:
        if kind is not None and contains_user_defined(kind):
            made.append(
                backend.own_column(frame.sparkSession, text).cast(spark_data_type(StructField(name, as_nullable(kind)))).alias(name)
            )
        else:
            made.append(f"{text} as {quoted_name(name)}")
    return backend.select(frame, made)
