# SPDX-License-Identifier: Apache-2.0
"""DESCRIBE HISTORY and DESCRIBE DETAIL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bayou.errors import PathNotFoundError, TableNotFoundError
from bayou.spark.sql.statements.beginnings import BEGINNINGS
from bayou.spark.sql.statements.context import not_delta
from bayou.spark.table.describe import (
    DETAIL_SCHEMA,
    HISTORY_SCHEMA,
    detail_frame,
    detail_of_folder,
    detail_of_other,
    history_frame,
)
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from typing_extensions import Self

    from bayou.spark.sql.statements.context import Context
    from bayou.spark.sql.statements.reader import Reader, TableReference


@dataclass(frozen=True, slots=True)
class DescribeHistory:
    """`DESCRIBE HISTORY table [LIMIT number]`.

    Attributes:
        table: the table.
        limit: how many commits; None for all.
    """

    begins: ClassVar = BEGINNINGS["DescribeHistory"]
    columns: ClassVar = HISTORY_SCHEMA

    table: TableReference
    limit: int | None = None

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read what follows the first words."""
        return cls(reader.table(), reader.integer() if reader.take("LIMIT") else None)

    def run(self, context: Context) -> DataFrame:
        """The commits, newest first."""
        path = context.path_of(self.table)
        if path is None:
            name = context.catalog.name(context.name_of(self.table))
            entry = context.entry(name, "DESCRIBE HISTORY")
            if entry.provider != "delta":
                raise TableNotFoundError(
                    "DESCRIBE HISTORY is only supported for Delta tables.",
                    table=name.text,
                    operation="DESCRIBE HISTORY",
                    error_class="DELTA_ONLY_OPERATION",
                    sql_state="0AKDD",
                )
            path = entry.location
        try:
            entries = context.application.logs.get(qualify(path).uri, {}).history(self.limit)
        except TableNotFoundError as error:
            raise not_delta(path, "DESCRIBE HISTORY") from error
        return history_frame(context.application, context.spark, entries)

    def explain(self, _context: Context) -> list[str]:
        """How many commits it would read."""
        return [f"Would read {'all' if self.limit is None else f'the last {self.limit}'} commits of {self.table.text}."]


@dataclass(frozen=True, slots=True)
class DescribeDetail:
    """`DESCRIBE DETAIL table`, which also tells of tables that are not Delta, and of folders.

    Attributes:
        table: the table.
    """

    begins: ClassVar = BEGINNINGS["DescribeDetail"]
    columns: ClassVar = DETAIL_SCHEMA

    table: TableReference

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read what follows the first words."""
        return cls(reader.table())

    def run(self, context: Context) -> DataFrame:
        """One row of facts."""
        application, spark = context.application, context.spark
        path = context.path_of(self.table)
        if path is not None:
            return self._of_path(context, path)
        entry = context.entry(context.catalog.name(context.name_of(self.table)), "DESCRIBE DETAIL")
        if entry.provider != "delta":
            return detail_of_other(application, spark, entry)
        snapshot = application.logs.get(qualify(entry.location).uri, {}).update()
        return detail_frame(application, spark, snapshot, entry.name)

    def explain(self, _context: Context) -> list[str]:
        """What it would read."""
        return [f"Would read the log of {self.table.text}, and no data file."]

    def _of_path(self, context: Context, path: str) -> DataFrame:
        """The row of a path; delta-spark tells of a folder that is no table where it lies, and nothing else."""
        application, spark = context.application, context.spark
        try:
            return detail_frame(application, spark, application.logs.get(qualify(path).uri, {}).update())
        except TableNotFoundError as error:
            if self.table.path is None:  # delta.`/a/path`
                message = f"{path} is not a Delta table."
                raise TableNotFoundError(message, table=path, error_class="DELTA_MISSING_DELTA_TABLE", sql_state="42P01") from error
            if isinstance(error, PathNotFoundError):
                message = f"File path {path} does not exist."
                raise TableNotFoundError(message, table=path, error_class="DELTA_FILE_NOT_FOUND", sql_state="42K03") from error
        return detail_of_folder(application, spark, path)
