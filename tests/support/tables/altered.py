# SPDX-License-Identifier: Apache-2.0
"""Tables whose metadata is changed: how they are made, what their logs say, and changes that are refused or none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from tests.support.observing import data_files

import bayou
from bayou import DeltaTable
from bayou.protocol.types.schema import StructField, StructType
from bayou.testing.table_builder import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import Protocol

INNER = StructType((StructField("x", "integer"), StructField("y", "string")))


def create(
    spark: SparkSession,
    path: str,
    *fields: StructField,
    protocol: Protocol | None = None,
    partition_by: Sequence[str] = (),
    **configuration: str,
) -> DeltaTable:
    """An empty table with these columns; two underscores stand for a dot in the names of properties."""
    names = {name.replace("__", "."): value for name, value in configuration.items()}
    given = {"protocol": protocol} if protocol else {}
    TableBuilder(path).create(schema=StructType(fields), partition_by=partition_by, configuration=names, **given)
    return DeltaTable.forPath(spark, path)


def append(frame: DataFrame, table: DeltaTable, **options: Any) -> None:
    """Writes one more file of rows."""
    frame.coalesce(1).write.format("delta").mode("append").options(**options).save(table._path)


def state(table: DeltaTable) -> Snapshot:
    """The table as its log has it."""
    return bayou.open(table._path).snapshot()


def files(table: DeltaTable) -> set[str]:
    """The data files in its folder."""
    return data_files(table._path)


def last(table: DeltaTable) -> tuple[str, dict[str, str]]:
    """The latest operation and its parameters."""
    row = table.history(1).collect()[0]
    return row.operation, row.operationParameters


def parameter(table: DeltaTable, name: str) -> Any:
    """One of these parameters, which is JSON."""
    return json.loads(last(table)[1][name])


def rows(table: DeltaTable) -> list[tuple[Any, ...]]:
    """The rows of a table, sorted."""
    return sorted(tuple(row) for row in table.toDF().collect())


def refused(
    table: DeltaTable,
    change: Callable[[], object],
    error: type[Exception] | tuple[type[Exception], ...],
    error_class: str | None = None,
) -> Any:
    """A change that is refused, and that leaves no commit."""
    version, before = state(table).version, files(table)
    with pytest.raises(error) as caught:
        change()
    assert isinstance(caught.value, PySparkException)
    assert (state(table).version, files(table)) == (version, before)
    if error_class is not None:
        assert caught.value.getErrorClass() == error_class
    return caught.value


def unchanged(table: DeltaTable, change: Callable[[], object]) -> None:
    """A change that is none commits nothing."""
    version = state(table).version
    change()
    assert state(table).version == version
