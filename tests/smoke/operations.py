# SPDX-License-Identifier: Apache-2.0
"""What the operations of the smoke share: their register, tables with fresh names, and how rows are compared."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

OPERATIONS: dict[str, Callable[[Place], None]] = {}
"""Every operation by its name, in the order in which they run."""

_numbers = itertools.count(1)


class NotInThisSparkError(Exception):
    """PySpark of this release has no such method or statement; the text says which."""


class Place:
    """A session, and fresh paths and names on it.

    Attributes:
        spark: the session, enabled.
    """

    def __init__(self, spark: SparkSession, folder: Path | str) -> None:
        """Use a session.

        Args:
            spark: the session, enabled.
            folder: a folder on the local disk, or the URI of one in a store.
        """
        self.spark = spark
        self._folder = folder

    @property
    def is_on_connect(self) -> bool:
        """Whether it is a session of Spark Connect."""
        return ".connect." in type(self.spark).__module__

    def path(self) -> str:
        """A path that nobody used."""
        return f"{self._folder}/t{next(_numbers)}"

    def name(self) -> str:
        """A table name that nobody used. The catalog of a stock server of Spark Connect has none, so the name is a path there."""
        if self.is_on_connect:
            return f"delta.`{self.path()}`"
        return f"smoke_{next(_numbers)}"

    def sql(self, text: str) -> DataFrame:
        """The result of a statement."""
        return self.spark.sql(text)

    def rows(self, *rows: tuple[Any, ...], schema: str = "id int, v string") -> DataFrame:
        """Rows made in the JVM, so that no Python worker takes part."""
        values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        names = ", ".join(part.split()[0] for part in schema.split(", "))
        casts = ", ".join(f"cast({part.split()[0]} as {part.split()[1]}) {part.split()[0]}" for part in schema.split(", "))
        return self.sql(f"select {casts} from values {values} as given({names})")

    def saved(self, *rows: tuple[Any, ...], by: str | None = None, **options: str) -> str:
        """The path of a table with these rows."""
        path = self.path()
        writer = self.rows(*rows).write.format("delta").options(**options)
        (writer.partitionBy(by) if by else writer).save(path)
        return path

    def named(self, *rows: tuple[Any, ...], by: str | None = None, properties: str = "") -> str:
        """The name of a table of id and v with these rows."""
        name = self.name()
        partitioned = f" partitioned by ({by})" if by else ""
        self.sql(f"create table {name} (id int, v string) using delta{partitioned}{properties}")
        if rows:
            self.rows(*rows).write.format("delta").mode("append").saveAsTable(name)
        return name

    def read(self, table: str) -> DataFrame:
        """The rows of a table by its path or its name."""
        return self.spark.read.format("delta").load(table) if "/" in table and "`" not in table else self.spark.table(table)

    def expect(self, table: str, *rows: tuple[Any, ...]) -> None:
        """Compares a table's rows, by its path or its name, in any order."""
        equal(self.read(table), rows)


def operation(function: Callable[[Place], None]) -> Callable[[Place], None]:
    """Registers an operation under its name."""
    OPERATIONS[function.__name__] = function
    return function


def literal(value: Any) -> str:
    """A value as SQL."""
    if value is None:
        return "null"
    return f"'{value}'" if isinstance(value, str) else str(value)


def equal(frame: DataFrame, rows: Iterable[tuple[Any, ...]]) -> None:
    """Compares rows, in any order."""
    found, wanted = sorted(map(tuple, frame.collect()), key=repr), sorted(rows, key=repr)
    if found != wanted:
        raise AssertionError(f"{found} instead of {wanted}")


def refused(call: Callable[[], Any], part: str) -> None:
    """Expects an error whose text has a part."""
    try:
        call()
    except Exception as error:
        if part.lower() not in str(error).lower():
            raise
    else:
        raise AssertionError(f"no error with {part!r}")
