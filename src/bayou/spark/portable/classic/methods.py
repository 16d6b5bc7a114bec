# SPDX-License-Identifier: Apache-2.0
"""Wrap the methods of PySpark's classic sessions that take the name of a data source or of a table."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from bayou.spark.backend import is_portable
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.portable.classic.reads import Reader, table_at
from bayou.spark.portable.classic.statements import sql
from bayou.spark.portable.classic.streams import StreamReader, StreamWriter
from bayou.spark.portable.classic.writes import Writer, refuse_merge, writer_to
from bayou.spark.portable.client import noted_alias

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame


def wrap_methods(spark: SparkSession) -> None:
    """Let the reads, the writes and the SQL of classic sessions know Delta tables by path. Calling it again does nothing.

    The wrapped methods do what PySpark's own do on sessions that are not served by the documented functions.

    Args:
        spark: a session, whose classes are wrapped.
    """
    frames = type(spark.range(0))  # the class has moved between versions of PySpark
    _wrap(SparkSession, "sql", _sql)
    _wrap(SparkSession, "table", _table)
    _wrap(SparkSession, "read", lambda original: _property(original, Reader))
    _wrap(SparkSession, "readStream", lambda original: _property(original, StreamReader))
    _wrap(frames, "alias", _alias)
    _wrap(frames, "write", lambda original: _property(original, Writer))
    _wrap(frames, "writeStream", lambda original: _property(original, StreamWriter))
    _wrap(frames, "writeTo", _write_to)
    if "mergeInto" in frames.__dict__:  # as of PySpark 4.0
        _wrap(frames, "mergeInto", _merge_into)


def _wrap(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a method or a property by what `make` returns for it, unless it is already replaced."""
    found = owner.__dict__[name]
    inner = found.fget if isinstance(found, property) else found
    if not getattr(inner, "serves_portable", False):
        made = make(found)
        marked: Any = made.fget if isinstance(made, property) else made
        marked.serves_portable = True
        setattr(owner, name, made)


def _property(original: property, make: Callable[[Any], Any]) -> property:
    found: Callable[[Any], Any] = original.fget  # type: ignore[assignment]

    @functools.wraps(found)
    def get(self: Any) -> Any:
        session = self if isinstance(self, SparkSession) else self.sparkSession
        return make(self) if is_portable(session) else found(self)

    return property(get, doc=original.__doc__)


def _sql(original: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    @functools.wraps(original)
    def wrapped(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:  # noqa: N803  (PySpark's name)
        if not is_portable(self):
            return original(self, sqlQuery, args, **kwargs)
        return sql(functools.partial(original, self), self, sqlQuery, args, kwargs)

    return raised_as_pyspark(wrapped)


def _table(original: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    @functools.wraps(original)
    def wrapped(self: SparkSession, tableName: str) -> DataFrame:  # noqa: N803  (PySpark's name)
        found = table_at(self, tableName, {}) if is_portable(self) else None
        return original(self, tableName) if found is None else found

    return raised_as_pyspark(wrapped)


def _alias(original: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    @functools.wraps(original)
    def wrapped(self: DataFrame, alias: str) -> DataFrame:
        return noted_alias(original(self, alias), alias)

    return wrapped


def _write_to(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wrapped(self: DataFrame, table: str) -> Any:
        found = writer_to(self, table) if is_portable(self.sparkSession) else None
        return original(self, table) if found is None else found

    return wrapped


def _merge_into(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wrapped(self: DataFrame, table: str, condition: Any) -> Any:
        if is_portable(self.sparkSession):
            refuse_merge(table)
        return original(self, table, condition)

    return raised_as_pyspark(wrapped)
