# SPDX-License-Identifier: Apache-2.0
"""Parse, explain and run ALTER TABLE ... DROP FEATURE, SYNC IDENTITY and CLUSTER BY, and CONVERT TO DELTA.

`sql.alter_table` carries out the forms of ALTER TABLE that Spark parses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import pyarrow as pa

from bayou.spark.alter.drop_feature import plan_drop
from bayou.spark.maintenance.convert import convert_table, plan_conversion
from bayou.spark.sql.statements.beginnings import BEGINNINGS
from bayou.spark.sql.statements.plan_text import feature_lines, table_line
from bayou.spark.sql.statements.reader import TableReference, Written
from bayou.spark.types.user_types import given_schema

if TYPE_CHECKING:
    from typing_extensions import Self

    from bayou.spark.sql.statements.context import Context
    from bayou.spark.sql.statements.reader import Reader

_NO_COLUMNS: Final = pa.schema([])


@dataclass(frozen=True, slots=True)
class DropFeature:
    """`ALTER TABLE table DROP FEATURE feature [TRUNCATE HISTORY]`."""

    columns: ClassVar = _NO_COLUMNS

    table: TableReference
    feature: Written
    truncates_history: bool = False

    def run(self, context: Context) -> None:
        """Drop the feature."""
        table = context.table(self.table, "ALTER TABLE")
        table.dropFeatureSupport(context.key(self.feature), truncateHistory=self.truncates_history or None)

    def explain(self, context: Context) -> list[str]:
        """Return the steps of the drop."""
        table = context.table(self.table, "ALTER TABLE").session_table
        plan = plan_drop(table, context.key(self.feature), truncates=self.truncates_history)
        return [table_line(table.uri, table.snapshot().version), *feature_lines(plan)]


@dataclass(frozen=True, slots=True)
class SyncIdentity:
    """`ALTER TABLE table {ALTER | CHANGE} [COLUMN] column SYNC IDENTITY`."""

    columns: ClassVar = _NO_COLUMNS

    table: TableReference
    column: str

    def run(self, context: Context) -> None:
        """Set the column's next number above the existing ones."""
        parts = context.parts(self.column)
        context.table(self.table, "ALTER TABLE").syncIdentity(parts[0] if len(parts) == 1 else self.column)

    def explain(self, context: Context) -> list[str]:
        """Return the planned change."""
        table = context.table(self.table, "ALTER TABLE").session_table
        line = f"Would set the next number of the column {self.column} to one behind its greatest, which a query looks for."
        return [table_line(table.uri, table.snapshot().version), line]


@dataclass(frozen=True, slots=True)
class ClusterBy:
    """`ALTER TABLE table CLUSTER BY {(column, ...) | NONE}`, for Spark before 4.0. Later versions parse it."""

    columns: ClassVar = _NO_COLUMNS

    table: TableReference
    by: tuple[str, ...]

    def run(self, context: Context) -> None:
        """Set the clustering columns."""
        context.table(self.table, "ALTER TABLE").clusterBy(*self.by)

    def explain(self, context: Context) -> list[str]:
        """Return the columns that it would set."""
        table = context.table(self.table, "ALTER TABLE").session_table
        line = f"Would set the clustering columns to {', '.join(self.by) or 'none'}, and rewrite no file."
        return [table_line(table.uri, table.snapshot().version), line]


class AlterTable:
    """The statements that begin with ALTER TABLE."""

    begins: ClassVar = BEGINNINGS["AlterTable"]

    @classmethod
    def read(cls, reader: Reader) -> DropFeature | SyncIdentity | ClusterBy | None:
        """Parse the words after the beginning, or return None if it is another statement."""
        table = reader.table()
        if reader.take("DROP", "FEATURE"):
            feature = reader.string_or(reader.name)
            return DropFeature(table, feature, reader.take("TRUNCATE", "HISTORY"))
        if reader.take("CLUSTER", "BY"):
            if reader.take("NONE"):
                return ClusterBy(table, ())
            return ClusterBy(table, reader.names()) if reader.next_is("(") else None
        if reader.take_one("ALTER", "CHANGE"):
            reader.take("COLUMN")
            column = reader.name()
            if reader.take("SYNC", "IDENTITY"):
                return SyncIdentity(table, column)
        return None


@dataclass(frozen=True, slots=True)
class Convert:
    """`CONVERT TO DELTA table [NO STATISTICS] [PARTITIONED BY (column type, ...)]`.

    Attributes:
        table: the table in the catalog, or ``parquet.`/a/path` ``.
        has_statistics: whether to collect the statistics of columns.
        partitions: the partition columns with their types in SQL; None without PARTITIONED BY.
    """

    begins: ClassVar = BEGINNINGS["Convert"]
    columns: ClassVar = _NO_COLUMNS

    table: TableReference
    has_statistics: bool = True
    partitions: str | None = None

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Parse the words after the beginning."""
        table = TableReference(reader.name())
        has_statistics = not reader.take("NO", "STATISTICS")
        partitions = None
        if reader.take("PARTITIONED", "BY"):
            reader.expect("(")
            partitions = reader.until()
            reader.expect(")")
        return cls(table, has_statistics, partitions)

    def run(self, context: Context) -> None:
        """Convert the files to a Delta table."""
        schema = None
        if self.partitions is not None:
            schema = given_schema(context.spark, self.partitions, table=self.table.text)
        convert_table(context.application, context.spark, self.table.text, schema, collects_statistics=self.has_statistics)

    def explain(self, context: Context) -> list[str]:
        """Return the folder that it would convert, without listing it."""
        conversion = plan_conversion(context.application, context.spark, self.table.text)
        if conversion is None:
            return [f"{self.table.text} is a Delta table. Would do nothing."]
        statistics = "the statistics of its columns" if self.has_statistics else "its number of rows"
        entry = ["Would make the table's entry in the catalog that of a Delta table."] if conversion.is_named else []
        return [
            table_line(conversion.uri),
            f"Would list the folder's Parquet files, read the footer of each for {statistics}, and commit version 0.",
            *entry,
        ]
