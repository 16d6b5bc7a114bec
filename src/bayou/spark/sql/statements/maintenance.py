# SPDX-License-Identifier: Apache-2.0
"""Parse, explain and run VACUUM, OPTIMIZE, REORG, RESTORE, GENERATE, FSCK and ANALYZE ... COMPUTE DELTA STATISTICS.

Each class is one statement: `read` parses it, `run` executes it, and `explain` describes its plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import pyarrow as pa

from bayou.errors import failed
from bayou.log.maintenance.manifests import MANIFEST_FOLDER
from bayou.log.operations.fsck import LOST_SCHEMA
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.maintenance.optimize import OptimizeRequest, plan_optimize
from bayou.spark.maintenance.optimize_result import RESULT_SCHEMA
from bayou.spark.sql.statements.beginnings import BEGINNINGS
from bayou.spark.sql.statements.plan_text import compaction_lines, fsck_lines, restore_lines, table_line, vacuum_lines
from bayou.spark.table.optimize import DeltaOptimizeBuilder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from typing_extensions import Self

    from bayou.spark.read.session_table import SessionTable
    from bayou.spark.sql.statements.context import Context
    from bayou.spark.sql.statements.reader import Reader, TableReference, Written

_PATH: Final = pa.schema([("path", pa.string())])


@dataclass(frozen=True, slots=True)
class Vacuum:
    """`VACUUM table [FULL | LITE] [USING INVENTORY table | (query)] [RETAIN number HOURS] [DRY RUN]`.

    Attributes:
        kind: FULL or LITE; None for the session's setting.
        inventory: the table or query that lists the files; None if VACUUM lists them.
        hours: the retention in hours, as it is written; None for the table's property.
        is_dry_run: whether to list the files and delete nothing.
    """

    begins: ClassVar = BEGINNINGS["Vacuum"]
    columns: ClassVar = _PATH

    table: TableReference
    kind: str | None = None
    inventory: str | None = None
    hours: str | None = None
    is_dry_run: bool = False

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Parse the words after the beginning."""
        table = reader.table()
        clauses: dict[str, object] = {}

        def once(clause: str, name: str, value: object) -> None:
            if name in clauses:
                raise reader.error(f"Found duplicate clauses: {clause}", "DUPLICATE_CLAUSES")
            clauses[name] = value

        while not reader.is_at_end:
            if kind := reader.take_one("FULL", "LITE"):
                once("LITE/FULL", "kind", kind)
            elif reader.take("USING", "INVENTORY"):
                once("INVENTORY", "inventory", _inventory(reader))
            elif reader.take("RETAIN"):
                once("RETAIN", "hours", reader.number())
                reader.expect("HOURS")
            elif reader.take("DRY", "RUN"):
                once("DRY RUN", "is_dry_run", value=True)
            else:
                raise reader.error()
        if clauses.get("kind") == "LITE" and "inventory" in clauses:
            mutually_exclusive = "Mutually exclusive clauses: LITE and USING INVENTORY"
            raise reader.error(mutually_exclusive, "DELTA_PARSING_MUTUALLY_EXCLUSIVE_CLAUSES")
        return cls(table, **clauses)  # type: ignore[arg-type]

    def run(self, context: Context) -> DataFrame:
        """Delete the files, and return the table's path, or the files that a dry run would delete."""
        inventory = None
        if self.inventory is not None:
            inventory = context.spark.sql(f"SELECT * FROM {self.inventory}")  # noqa: S608  (the user's own statement)
        table = context.table(self.table, "VACUUM")
        return table.vacuum(self._retention, kind=self._kind, dry_run=self.is_dry_run, inventory=inventory)

    def explain(self, context: Context) -> list[str]:
        """Return the files that it would delete. List folders or read commits, as VACUUM does, but do not read an inventory."""
        table = context.table(self.table, "VACUUM")
        first = table_line(table.session_table.uri)
        if self.inventory is not None:
            return [
                first,
                f"Would delete what {self.inventory} lists, if no version needs it. EXPLAIN does not read the inventory.",
            ]
        return [first, *vacuum_lines(table.planned_vacuum(self._retention, self._kind))]

    @property
    def _retention(self) -> float | None:
        return None if self.hours is None else float(self.hours)

    @property
    def _kind(self) -> Literal["full", "lite"] | None:
        return None if self.kind is None else "lite" if self.kind == "LITE" else "full"


def _inventory(reader: Reader) -> str:
    if not reader.next_is("("):
        return reader.name()
    reader.expect("(")
    query = reader.until()
    reader.expect(")")
    return f"({query})"


@dataclass(frozen=True, slots=True)
class Optimize:
    """`OPTIMIZE table [FULL] [WHERE condition] [ZORDER BY column, ...]`.

    Attributes:
        is_full: whether to recluster all files of a clustered table.
        where: a condition on partition columns; None for all partitions.
        z_order: the columns of ZORDER BY, or empty.
    """

    begins: ClassVar = BEGINNINGS["Optimize"]
    columns: ClassVar = RESULT_SCHEMA

    table: TableReference
    is_full: bool = False
    where: str | None = None
    z_order: tuple[str, ...] = ()

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Parse the words after the beginning."""
        table = reader.table()
        is_full = reader.take("FULL")
        where = reader.until(("ZORDER", "BY")) if reader.take("WHERE") else None
        z_order = reader.names() if reader.take("ZORDER", "BY") else ()
        return cls(table, is_full, where, z_order)

    def run(self, context: Context) -> DataFrame:
        """Rewrite the files, and return the path and the metrics."""
        table = context.table(self.table, "OPTIMIZE")
        where = () if self.where is None else (context.condition(self.where),)
        request = OptimizeRequest(where=where, z_order=self.z_order)
        builder = DeltaOptimizeBuilder(table._session_table(), request)  # noqa: SLF001  (of this package)
        return builder.executeFull() if self.is_full else builder.executeCompaction()

    def explain(self, context: Context) -> list[str]:
        """Return the files that it would rewrite, their bins and the reasons."""
        where = () if self.where is None else (context.condition(self.where),)
        table = context.table(self.table, "OPTIMIZE").session_table
        return _rewrite_lines(table, OptimizeRequest(where=where, z_order=self.z_order, is_full=self.is_full))


@raised_as_pyspark
def _rewrite_lines(table: SessionTable, request: OptimizeRequest) -> list[str]:
    snapshot = table.snapshot()
    return [table_line(table.uri, snapshot.version), *compaction_lines(plan_optimize(table, request, snapshot))]


@dataclass(frozen=True, slots=True)
class Reorg:
    """`REORG TABLE table [WHERE condition] APPLY (PURGE)`.

    Attributes:
        where: a condition on partition columns; None for all partitions.
        upgrades_uniform: whether it asks for UniForm, which bayou does not support.
    """

    begins: ClassVar = BEGINNINGS["Reorg"]
    columns: ClassVar = RESULT_SCHEMA

    table: TableReference
    where: str | None = None
    upgrades_uniform: bool = False

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Parse the words after the beginning."""
        table = reader.table()
        where = reader.until(("APPLY", "(")) if reader.take("WHERE") else None
        reader.expect("APPLY", "(")
        uniform = reader.take("UPGRADE", "UNIFORM")
        if uniform:
            reader.until()
        else:
            reader.expect("PURGE")
        reader.expect(")")
        return cls(table, where, uniform)

    def run(self, context: Context) -> DataFrame:
        """Rewrite the files, and return the path and the metrics."""
        self._check()
        table = context.table(self.table, "REORG TABLE")
        return table.reorg(None if self.where is None else context.condition(self.where))

    def explain(self, context: Context) -> list[str]:
        """Return the files that it would rewrite, and the reasons. Read the footers of files without deletion vectors."""
        self._check()
        table = context.table(self.table, "REORG TABLE").session_table
        where = () if self.where is None else (context.condition(self.where),)
        return _rewrite_lines(table, OptimizeRequest(where=where, purges=True))

    def _check(self) -> None:
        if self.upgrades_uniform:
            raise failed("iceberg-metadata", table=self.table.text, features=["UniForm"])


@dataclass(frozen=True, slots=True)
class Restore:
    """`RESTORE [TABLE] table [TO] [FOR] {VERSION | SYSTEM_VERSION | TIMESTAMP | SYSTEM_TIME} AS OF value`.

    Attributes:
        by: VERSION or TIMESTAMP.
        value: the version, or an expression for the time.
    """

    begins: ClassVar = BEGINNINGS["Restore"]
    columns: ClassVar = pa.schema(
        [
            (name, pa.int64())
            for name in (
                *("table_size_after_restore", "num_of_files_after_restore", "num_removed_files", "num_restored_files"),
                *("removed_files_size", "restored_files_size"),
            )
        ]
    )

    table: TableReference
    by: str
    value: Written

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Parse the words after the beginning."""
        table = reader.table()
        reader.take("TO")
        reader.take("FOR")
        by, value = read_moment(reader)
        return cls(table, by, value)

    def run(self, context: Context) -> DataFrame:
        """Restore the table, and return the counts."""
        table = context.table(self.table, "RESTORE")
        if self.by == "VERSION":
            return table.restoreToVersion(version_of(context, self.value))
        return table.restoreToTimestamp(time_of(context, self.value))

    def explain(self, context: Context) -> list[str]:
        """Return the files that it would add and remove, using only the log."""
        table = context.table(self.table, "RESTORE")
        latest = table.session_table.snapshot().version
        result = table.planned_restore(**wanted_moment(context, self.by, self.value))
        return [table_line(table.session_table.uri, latest), *restore_lines(result, latest)]


def read_moment(reader: Reader) -> tuple[str, Written]:
    """Parse `VERSION AS OF value` or `TIMESTAMP AS OF value`, in any of its spellings.

    A version is an integer, or a string literal with one. A time is an expression.
    """
    word = reader.take_one("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")
    if word is None:
        raise reader.error()
    reader.expect("AS", "OF")
    if word.endswith("VERSION"):
        return "VERSION", reader.string_or(lambda: str(reader.integer()))
    return "TIMESTAMP", reader.expression(("TBLPROPERTIES",), ("LOCATION",))


def wanted_moment(context: Context, by: str, value: Written) -> dict[str, Any]:
    """Return a version or a time as a keyword argument."""
    return {"version": version_of(context, value)} if by == "VERSION" else {"timestamp": time_of(context, value)}


def version_of(context: Context, value: Written) -> int:
    """Return the version in a number or a string literal. Raise InvalidOptionError if it is not an integer."""
    text = context.text(value).strip()
    if not text.isdecimal():
        raise failed("DELTA_ILLEGAL_OPTION/version", option="version", given=value.text)
    return int(text)


def time_of(context: Context, value: Written) -> str:
    """Return the time in a string literal or a constant expression.

    A string literal is returned unchanged. The value of any other expression is returned in UTC, with its offset.

    Raises:
        InvalidOptionError: the expression is NULL.
    """
    if value.is_string:
        return context.text(value)
    row = context.spark.sql(f"SELECT unix_micros(CAST(({value.text}) AS TIMESTAMP_LTZ))").first()
    if row is None or row[0] is None:
        raise failed("DELTA_ILLEGAL_OPTION/time", option="timestamp", given=value.text)
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=row[0])
    return moment.isoformat(sep=" ", timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Generate:
    """`GENERATE symlink_format_manifest FOR TABLE table`."""

    begins: ClassVar = BEGINNINGS["Generate"]
    columns: ClassVar = pa.schema([])

    mode: str
    table: TableReference

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Parse the words after the beginning."""
        mode = reader.name().strip("`")
        reader.expect("FOR", "TABLE")
        return cls(mode, reader.table())

    def run(self, context: Context) -> None:
        """Write the manifests."""
        context.table(self.table, "GENERATE").generate(self.mode)

    def explain(self, context: Context) -> list[str]:
        """Return the number of manifests that it would write."""
        table = context.table(self.table, "GENERATE")
        table.check_mode(self.mode)
        snapshot = table.session_table.snapshot()
        line = f"Would write manifests of {snapshot.num_files:,} files, one for each partition, to {MANIFEST_FOLDER}."
        return [table_line(table.session_table.uri, snapshot.version), line]


@dataclass(frozen=True, slots=True)
class Fsck:
    """`FSCK REPAIR TABLE table [DRY RUN]`, a statement of Databricks.

    Attributes:
        is_dry_run: whether to list the files and commit nothing.
    """

    begins: ClassVar = BEGINNINGS["Fsck"]
    columns: ClassVar = LOST_SCHEMA

    table: TableReference
    is_dry_run: bool = False

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Parse the words after the beginning."""
        return cls(reader.table(), reader.take("DRY", "RUN"))

    def run(self, context: Context) -> DataFrame:
        """Remove files that do not exist from the log, and return them, or those that a dry run would remove."""
        table = context.table(self.table, "FSCK REPAIR TABLE")
        return context.frame(table.fsck(dry_run=self.is_dry_run).files)

    def explain(self, context: Context) -> list[str]:
        """Return the files that it would remove. List folders, as FSCK does."""
        table = context.table(self.table, "FSCK REPAIR TABLE")
        return [table_line(table.session_table.uri), *fsck_lines(table.fsck(dry_run=True))]


@dataclass(frozen=True, slots=True)
class ComputeStatistics:
    """`ANALYZE TABLE table COMPUTE DELTA STATISTICS`, a statement of Databricks."""

    begins: ClassVar = BEGINNINGS["ComputeStatistics"]
    columns: ClassVar = pa.schema(
        [("path", pa.string()), *((name, pa.int64()) for name in ("num_files", "num_updated_files", "num_scanned_files"))]
    )

    table: TableReference

    @classmethod
    def read(cls, reader: Reader) -> Self | None:
        """Parse the words after the beginning, or return None for Spark's own ANALYZE TABLE."""
        table = reader.table()
        return cls(table) if reader.take("COMPUTE", "DELTA", "STATISTICS") else None

    def run(self, context: Context) -> DataFrame:
        """Recompute the statistics, and return the counts."""
        return context.table(self.table, "ANALYZE TABLE").computeStatistics()

    def explain(self, context: Context) -> list[str]:
        """Return the number of files that it would read."""
        table = context.table(self.table, "ANALYZE TABLE").session_table
        snapshot = table.snapshot()
        line = f"Would read the footers of {snapshot.num_files:,} files, and the rows of those whose footers do not say everything."
        return [table_line(table.uri, snapshot.version), line]
