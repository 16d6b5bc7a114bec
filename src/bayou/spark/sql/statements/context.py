# SPDX-License-Identifier: Apache-2.0
"""Resolve the tables, string literals and conditions of a statement on the session that runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from bayou.errors import DeltaError, TableNotFoundError, failed, redact_text, redact_uri
from bayou.log.operations.fsck import fsck
from bayou.log.segment.time_travel import split_path
from bayou.protocol.types.sql_text import column_sql, string_sql
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.read.request import is_table
from bayou.spark.sql.statements.reader import TableReference
from bayou.spark.table.alterations import TableAlterations
from bayou.spark.table.clone import TableClones
from bayou.spark.table.describe import rows_frame
from bayou.spark.table.maintenance import TableMaintenance
from bayou.spark.table.optimize import TableOptimization
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.operations.fsck import FsckResult
    from bayou.log.operations.restore import RestoreResult
    from bayou.log.operations.vacuum import VacuumResult
    from bayou.spark.catalog import Catalog, CatalogEntry, TableName
    from bayou.spark.read.session_table import SessionTable
    from bayou.spark.session.application import Application
    from bayou.spark.sql.statements.reader import Written


class StatementTable(TableMaintenance, TableOptimization, TableAlterations, TableClones):
    """A table with the public methods of `DeltaTable` that statements call, and dry runs of them for EXPLAIN."""

    @property
    def name(self) -> str | None:
        """The name in the catalog; None for a path."""
        return self._name

    @property
    def session_table(self) -> SessionTable:
        """The table on its session."""
        return self._session_table()

    def check_mode(self, mode: str) -> None:
        """Raise InvalidOptionError if the kind of manifests is unknown."""
        self._check_mode(mode)

    @raised_as_pyspark
    def planned_vacuum(self, hours: float | None, kind: Literal["full", "lite"] | None) -> VacuumResult:
        """Return the files that a VACUUM would delete."""
        return self._vacuumed(hours, kind, dry_run=True)

    @raised_as_pyspark
    def planned_restore(self, **wanted: Any) -> RestoreResult:
        """Return the changes that a RESTORE would make, using only the log."""
        return self._planned_restore(**wanted)

    @raised_as_pyspark
    def fsck(self, *, dry_run: bool) -> FsckResult:
        """Remove files that do not exist from the log, or only list them."""
        table = self._session_table()
        result = fsck(table.log, dry_run=dry_run, begin=table.begin, storage_options=self._options)
        if result.version is not None:
            table.refresh_caches()
        return result


@dataclass(frozen=True)
class Context:
    """The session on which a statement runs. Each run of a statement has its own context."""

    application: Application
    spark: SparkSession
    _computed: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def catalog(self) -> Catalog:
        """The session's catalog."""
        return self.application.backend.catalog(self.spark)

    def string(self, literal: str) -> str:
        """Return the value of a string literal."""
        return self.application.backend.string_value(self.spark, literal)

    @property
    def time_zone(self) -> str:
        """The session's time zone."""
        return self.spark.conf.get("spark.sql.session.timeZone") or "UTC"

    def rows(self, columns: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
        """Return rows as a DataFrame."""
        return self.frame(pa.Table.from_pylist(list(rows), schema=columns))

    def frame(self, rows: pa.Table) -> DataFrame:
        """Return the rows of an Arrow table as a DataFrame."""
        return rows_frame(self.application, self.spark, rows)

    def text(self, written: Written) -> str:
        """Return the value of a string literal, or anything else as it is written."""
        return self.string(written.text) if written.is_string else written.text

    def key(self, written: Written) -> str:
        """Return the value of a string literal, or a name without its backticks."""
        return self.string(written.text) if written.is_string else ".".join(self.parts(written.text))

    def parts(self, name: str) -> list[str]:
        """Return the parts of a name, without backticks."""
        return self.application.backend.name_parts(self.spark, name)

    def condition(self, text: str) -> str:
        """Return a condition unchanged, after checking that it has no alias.

        Raises:
            SqlSyntaxError: it has an alias, as in `p = 1 FULL`. Then a clause of the statement follows the condition by mistake.
        """
        if self.application.backend.has_alias(self.spark, text):
            raise failed("PARSE_SYNTAX_ERROR/condition", condition=redact_text(text))
        return text

    def path_of(self, reference: TableReference) -> str | None:
        """Return the path of a table, or None if the reference is a name in the catalog."""
        if reference.path is not None:
            return self.string(reference.path)
        catalog = self.catalog
        path = catalog.name(self.name_of(reference)).path
        return path if catalog.has_paths() else None

    def name_of(self, reference: TableReference) -> str:
        """Return the name of the table in SQL. Evaluate the expression of `IDENTIFIER(...)` only once in a context."""
        expression = reference.computed
        if expression is None:
            return reference.text
        if expression not in self._computed:
            row = self.spark.sql(f"SELECT ({expression})").first()
            name = None if row is None else row[0]
            if not isinstance(name, str) or self.application.backend.table_name(self.spark, name) is None:
                raise failed(
                    "DELTA_ILLEGAL_OPTION/identifier",
                    option="IDENTIFIER",
                    expression=redact_text(expression),
                    given=redact_text(repr(name)),
                )
            self._computed[expression] = name
        return self._computed[expression]

    def travelled(self, reference: TableReference) -> tuple[TableReference, dict[str, Any]]:
        """Separate a table from the version or time at the end of its name, as in `orders@v3`.

        Returns:
            The table without the suffix, and the suffix as keyword arguments of `DeltaLog.snapshot`. If a table with the whole name
            exists, the suffix is a part of its name: then that table, and no arguments.
        """
        path = self.path_of(reference)
        if path is not None:
            suffixed = split_path(path)
            if suffixed is None or is_table(path):
                return reference, {}
            table = TableReference(None, string_sql(suffixed.path))
        else:
            name = self.catalog.name(self.name_of(reference))
            suffixed = split_path(name.table)
            if suffixed is None or self.catalog.entry(name) is not None:
                return reference, {}
            table = TableReference(column_sql([*filter(None, [name.database]), suffixed.path]))
        return table, {"version": suffixed.version} if suffixed.timestamp is None else {"timestamp": suffixed.timestamp}

    def check_is_no_path(self, reference: TableReference) -> None:
        """Raise TableNotFoundError if the name is a path. For sessions that do not allow paths in SQL."""
        name = self.catalog.name(self.name_of(reference))
        if name.path is not None:
            raise failed("TABLE_OR_VIEW_NOT_FOUND/no-paths", table=name.text)

    def table(self, reference: TableReference, operation: str) -> StatementTable:
        """Return the Delta table of a statement. Raise TableNotFoundError, or InvalidOptionError for a view or another catalog."""
        path = self.path_of(reference)
        if path is not None:
            return self._at_path(path, operation)
        name = self.catalog.name(self.name_of(reference))
        entry = self.entry(name, operation)
        if entry.provider != "delta":
            raise not_delta(name.text, operation)
        table = StatementTable._at(self.spark, entry.location, {})  # noqa: SLF001  (a class of this package)
        table._name = entry.name  # noqa: SLF001
        return table

    def entry(self, name: TableName, operation: str) -> CatalogEntry:
        """Return the catalog entry of a table. Raise TableNotFoundError, or InvalidOptionError for a view."""
        entry = self.catalog.entry(name)
        if entry is None:
            raise failed("TABLE_OR_VIEW_NOT_FOUND", table=name.text)
        if entry.is_view:
            raise failed("EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE", table=name.text, operation=operation)
        return entry

    def _at_path(self, path: str, operation: str) -> StatementTable:
        uri = qualify(path).uri
        try:
            self.application.logs.get(uri, {}).version()
        except TableNotFoundError as error:
            raise failed("DELTA_MISSING_DELTA_TABLE/operation", table=uri, path=redact_uri(path), operation=operation) from error
        return StatementTable._at(self.spark, path, {})  # noqa: SLF001


def not_delta(table: str, operation: str) -> DeltaError:
    """Return the error for a table that is not a Delta table."""
    return failed("DELTA_TABLE_ONLY_OPERATION", table=table, operation=operation)
