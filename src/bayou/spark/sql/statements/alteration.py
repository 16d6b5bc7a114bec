# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE ... DROP FEATURE, SYNC IDENTITY and CLUSTER BY, and CONVERT TO DELTA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import pyarrow as pa

from bayou.spark.maintenance.convert import convert_table
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
        """Take the feature away."""
        table = context.table(self.table, "ALTER TABLE")
        table.dropFeatureSupport(context.key(self.feature), truncateHistory=self.truncates_history or None)


@dataclass(frozen=True, slots=True)
class SyncIdentity:
    """`ALTER TABLE table {ALTER | CHANGE} [COLUMN] column SYNC IDENTITY`."""

    columns: ClassVar = _NO_COLUMNS

    table: TableReference
    column: str

    def run(self, context: Context) -> None:
        """Have the column's next number be above those that are there."""
        parts = context.parts(self.column)
        context.table(self.table, "ALTER TABLE").syncIdentity(parts[0] if len(parts) == 1 else self.column)


@dataclass(frozen=True, slots=True)
class ClusterBy:
    """`ALTER TABLE table CLUSTER BY (column, ...)` or `NONE`, which Spark's own parser knows from 4.0 on."""

    columns: ClassVar = _NO_COLUMNS

    table: TableReference
    by: tuple[str, ...]

    def run(self, context: Context) -> None:
        """Set the clustering columns."""
        context.table(self.table, "ALTER TABLE").clusterBy(*self.by)


class AlterTable:
    """The statements that begin with ALTER TABLE."""

    begins: ClassVar = (("ALTER", "TABLE"),)

    @classmethod
    def read(cls, reader: Reader) -> DropFeature | SyncIdentity | ClusterBy | None:
        """Read what follows the first words; None where it is another statement."""
        if not any(map(reader.has, ("FEATURE", "SYNC", "CLUSTER"))):
            return None
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
        has_statistics: whether files get the statistics of their columns.
        partitions: the partition columns with their types, as SQL; None for none.
    """

    begins: ClassVar = (("CONVERT", "TO", "DELTA"),)
    columns: ClassVar = _NO_COLUMNS

    table: TableReference
    has_statistics: bool = True
    partitions: str | None = None

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read what follows the first words."""
        table = TableReference(reader.name())
        has_statistics = not reader.take("NO", "STATISTICS")
        partitions = None
        if reader.take("PARTITIONED", "BY"):
            reader.expect("(")
            partitions = reader.until()
            reader.expect(")")
        return cls(table, has_statistics, partitions)

    def run(self, context: Context) -> None:
        """Make the files a Delta table."""
        schema = None
        if self.partitions is not None:
            schema = given_schema(context.spark, self.partitions, table=self.table.text)
        convert_table(context.application, context.spark, self.table.text, schema, collects_statistics=self.has_statistics)
