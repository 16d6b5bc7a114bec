# SPDX-License-Identifier: Apache-2.0
"""Parse, explain and run DESCRIBE HISTORY and DESCRIBE DETAIL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bayou.errors import PathNotFoundError, TableNotFoundError, failed
from bayou.spark.sql.statements.beginnings import BEGINNINGS
from bayou.spark.sql.statements.context import not_delta
from bayou.spark.table.describe import (
    DETAIL_SCHEMA,
    HISTORY_SCHEMA,
    detail_of_folder,
    detail_of_other,
    detail_rows,
    history_rows,
)
from bayou.storage import qualify

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from typing_extensions import Self

    from bayou.log.segment.history import HistoryPart
    from bayou.spark.sql.statements.context import Context
    from bayou.spark.sql.statements.reader import Reader, TableReference


@dataclass(frozen=True, slots=True)
class DescribeHistory:
    """`DESCRIBE HISTORY table [LIMIT number]`.

    Attributes:
        limit: the number of commits; None for all.
    """

    begins: ClassVar = BEGINNINGS["DescribeHistory"]
    columns: ClassVar = HISTORY_SCHEMA

    table: TableReference
    limit: int | None = None

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Parse the words after the beginning."""
        return cls(reader.table(), reader.integer() if reader.take("LIMIT") else None)

    def run(self, context: Context) -> DataFrame:
        """Return the commits, newest first."""
        return context.frame(self.rows(context))

    def rows(self, context: Context, *, version: int | None = None, part: HistoryPart | None = None) -> pa.Table:
        """Return the commits as an Arrow table.

        Args:
            version: the version to start at; None for the latest.
            part: the commits that are needed; None for all.
        """
        path = self.path(context)
        try:
            return history_rows(context.application.logs.get(qualify(path).uri, {}).history(self.limit, version=version, part=part))
        except TableNotFoundError as error:
            raise not_delta(path, "DESCRIBE HISTORY") from error

    def path(self, context: Context) -> str:
        """Return the path of the Delta table, or raise TableNotFoundError."""
        path = context.path_of(self.table)
        if path is not None:
            return path
        name = context.catalog.name(context.name_of(self.table))
        entry = context.entry(name, "DESCRIBE HISTORY")
        if entry.provider != "delta":
            raise failed("DELTA_ONLY_OPERATION", table=name.text, operation="DESCRIBE HISTORY")
        return entry.location

    def explain(self, _context: Context) -> list[str]:
        """Return a line with the number of commits that it would read."""
        return [f"Would read {'all' if self.limit is None else f'the last {self.limit}'} commits of {self.table.text}."]


@dataclass(frozen=True, slots=True)
class DescribeDetail:
    """`DESCRIBE DETAIL table`, which also describes folders and tables of other formats."""

    begins: ClassVar = BEGINNINGS["DescribeDetail"]
    columns: ClassVar = DETAIL_SCHEMA

    table: TableReference

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Parse the words after the beginning."""
        return cls(reader.table())

    def run(self, context: Context) -> DataFrame:
        """Return the details as one row."""
        return context.frame(self.rows(context))

    def rows(self, context: Context, *, version: int | None = None) -> pa.Table:
        """Return the details of one version, or of the latest, as an Arrow table."""
        path = context.path_of(self.table)
        if path is not None:
            return self._of_path(context, path, version)
        entry = context.entry(context.catalog.name(context.name_of(self.table)), "DESCRIBE DETAIL")
        if entry.provider != "delta":
            return detail_of_other(entry)
        return detail_rows(context.application.logs.get(qualify(entry.location).uri, {}).snapshot(version), entry.name)

    def explain(self, _context: Context) -> list[str]:
        """Return a line that says that it would read only the log."""
        return [f"Would read the log of {self.table.text}, and no data file."]

    def _of_path(self, context: Context, path: str, version: int | None) -> pa.Table:
        """Return the row of a path. The row of a folder without a Delta table has only the location, as in delta-spark."""
        try:
            return detail_rows(context.application.logs.get(qualify(path).uri, {}).snapshot(version))
        except TableNotFoundError as error:
            if self.table.path is None:  # delta.`/a/path`
                raise failed("DELTA_MISSING_DELTA_TABLE", table=path) from error
            if isinstance(error, PathNotFoundError):
                raise failed("DELTA_FILE_NOT_FOUND", table=path) from error
        return detail_of_folder(path)
