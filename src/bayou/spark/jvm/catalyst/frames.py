# SPDX-License-Identifier: Apache-2.0
"""The columns of a DataFrame as the JVM describes them.

PySpark parses the same description into types of its own. It fails for types that it does not know, such as timestamps of
nanoseconds, and for user-defined types whose Python class is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.types.schema import parse_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import StructType


def columns_of(frame: DataFrame) -> StructType:
    """The columns of a DataFrame, as the log spells them."""
    return parse_schema(frame._jdf.schema().json())  # noqa: SLF001  (the bridge)


def names_of(frame: DataFrame) -> list[str]:
    """The names of a DataFrame's columns."""
    return list(columns_of(frame).names)
