# SPDX-License-Identifier: Apache-2.0
"""Tables that ask something of the rows that are written, made without Spark; writes to them, and writes that they refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from tests.support.observing import data_files

import bayou
from bayou.errors import ConstraintViolationError
from bayou.protocol.types.schema import StructField, StructType
from bayou.testing.table_builder import TableBuilder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.protocol.actions.actions import Protocol


def create(path: str, *fields: StructField, protocol: Protocol | None = None, **configuration: str) -> None:
    """An empty table with these columns; two underscores stand for a dot in the names of properties."""
    names = {name.replace("__", "."): value for name, value in configuration.items()}
    TableBuilder(path).create(schema=StructType(fields), configuration=names, **({"protocol": protocol} if protocol else {}))


def append(frame: DataFrame, path: str, **options: Any) -> None:
    """Writes rows to the table at a path."""
    frame.write.format("delta").mode("append").options(**options).save(path)


def refused(
    spark: SparkSession, path: str, frame: DataFrame, error: type[Exception] = ConstraintViolationError, **options: Any
) -> Any:
    """A write that is refused, and of which nothing is left."""
    before, version = data_files(path), bayou.open(path).version()
    with pytest.raises(error) as caught:
        append(frame, path, **options)
    assert isinstance(caught.value, PySparkException)
    assert data_files(path) == before
    assert bayou.open(path).version() == version
    return caught.value
