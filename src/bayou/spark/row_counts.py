# SPDX-License-Identifier: Apache-2.0
"""Count the rows of a table that violate its constraints, for `bayou.check`, in one query."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from bayou.checks.row_counts import RowCount, RowCounts
from bayou.errors import DeltaError, StorageError, UnsupportedFeatureError
from bayou.protocol.columns.constraints import Constraint, ConstraintKind, constraints_of
from bayou.protocol.columns.identity_columns import identity_columns
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.data_files.constraint_evaluation import RowRule, condition_of, counts_of
from bayou.spark.enable import enable
from bayou.spark.errors.failed_calls import is_failed_call, reason_of
from bayou.spark.read.file_rows import file_rows
from bayou.spark.read.request import TableRequest, resolve
from bayou.spark.session.application import Application
from bayou.spark.types.char_columns import declared_as_chars
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot

_IDENTITY: Final = "IDENTITY"
_REASON: Final = 200
"""The maximum number of characters of a reason in a finding."""


def count_rows(uri: str, version: int) -> RowCounts:
    """Return the number of rows that violate each condition of a table.

    Raises:
        StorageError: the store cannot be read.
        UnsupportedFeatureError: bayou cannot read the table.
    """
    spark = enable(SparkSession.getActiveSession() or SparkSession.builder)
    application = Application.of(spark)
    try:
        _, snapshot = resolve(application, spark, TableRequest(uri, version, None, {}))
        rows = declared_as_chars(_rows(application, spark, snapshot), snapshot.schema)
        return RowCounts(tuple(_counted(rows, list(_conditions(snapshot)))))
    except (StorageError, UnsupportedFeatureError):
        raise
    except Exception as error:
        if not isinstance(error, DeltaError) and not is_failed_call(error):
            raise
        return RowCounts(problem=_reason(error))


def _rows(application: Application, spark: SparkSession, snapshot: Snapshot) -> DataFrame:
    """Return all rows, also of files that the session's settings would ignore. A column that must not be NULL may be NULL here."""
    fields = _nullable(readable_schema(snapshot.schema)).fields
    return file_rows(application, spark, snapshot, fields)


def _nullable(schema: StructType) -> StructType:
    """Return a schema whose fields may be NULL. Otherwise Spark would take `column IS NOT NULL` for true."""
    inner = ((each, _nullable(each.type) if isinstance(each.type, StructType) else each.type) for each in schema.fields)
    return StructType(tuple(replace(each, type=kind, nullable=True) for each, kind in inner))


def _conditions(snapshot: Snapshot) -> Iterator[tuple[str, Constraint]]:
    """Yield the kind of each condition, and the condition."""
    schema = snapshot.schema
    for each in constraints_of(snapshot.metadata, schema, provided=[field.name for field in schema.fields]):
        yield each.kind.value, each
    for each in _identity(schema):
        yield _IDENTITY, each


def _identity(schema: StructType) -> Iterator[Constraint]:
    for column in identity_columns(schema):
        if not column.allow_explicit_insert:
            name = column_sql((column.name,))
            # Longs overflow: the values may be at both ends of their range.
            count = f"(CAST({name} AS DECIMAL(38, 0)) - {column.start}) / {column.step}"
            ends = [column.start, column.start if column.high_water_mark is None else column.high_water_mark]
            condition = f"{name} BETWEEN {min(ends)} AND {max(ends)} AND {count} = FLOOR({count})"
            yield Constraint(column.name, ConstraintKind.CHECK, (column.name,), condition)


def _counted(rows: DataFrame, conditions: list[tuple[str, Constraint]]) -> Iterator[RowCount]:
    rules = [RowRule(constraint, ()) for _, constraint in conditions]
    problems = [_problem(rows, rule) for rule in rules]
    evaluated = [rule for rule, problem in zip(rules, problems, strict=True) if problem is None]
    counts = iter(counts_of(rows, evaluated))
    for (kind, each), problem in zip(conditions, problems, strict=True):
        name = column_sql(each.column) if each.column else each.name
        yield RowCount(kind, name, each.expression, 0 if problem else next(counts), problem)


def _problem(rows: DataFrame, rule: RowRule) -> str | None:
    """Return why Spark cannot evaluate a condition; None if it can."""
    try:
        _ = rows.select(condition_of(rows.sparkSession, rule)).schema  # only this resolves it on Spark Connect
    except (DeltaError, PySparkException) as error:
        return _reason(error)
    return None


def _reason(error: Exception) -> str:
    if not isinstance(error, DeltaError):
        return reason_of(error)[:_REASON]
    text = error.message if error.file is None else f"{error.file}: {error.message}"
    return text.partition("\n")[0][:_REASON]
