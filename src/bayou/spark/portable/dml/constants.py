# SPDX-License-Identifier: Apache-2.0
"""Refuse constants that their columns cannot store, also where no row gets them: a server evaluates a value only for a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from bayou.protocol.types.schema import StructType
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.dml.statements.assignments import FOLLOWS_SESSION
from bayou.spark.errors.cast_overflow import naming_overflow
from bayou.spark.portable.casts import POLICY, ansi_cast, may_upcast
from bayou.spark.portable.stored_values import error_of_cast
from bayou.spark.session.settings import is_on

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType
    from bayou.spark.portable.dml.expr import PortableExpr
    from bayou.spark.read.session_table import SessionTable


def check_constants(
    target: SessionTable, snapshot: Snapshot, schema: StructType, values: Iterable[tuple[tuple[str, ...], PortableExpr]]
) -> None:
    """Evaluate the constants whose types do not always fit those of their columns. Without any, it sends no request.

    Args:
        schema: the table's columns.
        values: the assigned paths and their values, with types.

    Raises:
        CastOverflowError: a number is too large for its column.
        PySparkException: the evaluation of a constant fails, such as the cast of 'x' to a number.
    """
    settings = target.settings
    if is_on(settings, FOLLOWS_SESSION) or settings.get(POLICY, "ANSI").upper() != "ANSI":
        return
    casts = []
    for path, value in values:
        wanted, given = _type_at(schema, path), value.type
        if isinstance(wanted, str) and isinstance(given, str) and value.is_constant and not may_upcast(given, wanted):
            casts.append(ansi_cast(value.column, given, wanted, ".".join(map(quoted_name, path))))
    if casts:
        with naming_overflow(snapshot.table_uri, snapshot.version):
            _evaluate(target.spark.range(1).select(*casts))


def _evaluate(row: DataFrame) -> None:
    try:
        row.collect()
    except PySparkException as error:
        of_cast = error_of_cast(error)
        if of_cast is None:
            raise
        raise of_cast from error


def _type_at(schema: StructType, path: tuple[str, ...]) -> DataType | None:
    kind: DataType | None = schema
    for name in path:
        field = kind.field(name) if isinstance(kind, StructType) else None
        kind = None if field is None else field.type
    return kind
