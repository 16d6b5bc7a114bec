# SPDX-License-Identifier: Apache-2.0
"""Read the columns of a DataFrame from the JVM's description.

PySpark would parse the description into its own types. It fails for unknown types, such as timestamps of nanoseconds, and for
user-defined types whose Python class is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.types.schema import parse_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import StructType


def columns_of(frame: DataFrame) -> StructType:
    """Return the columns of a DataFrame, as the log spells them."""
    return parse_schema(frame._jdf.schema().json())  # noqa: SLF001  (the bridge)


def names_of(frame: DataFrame) -> list[str]:
    """Return the names of a DataFrame's columns."""
    return list(columns_of(frame).names)
