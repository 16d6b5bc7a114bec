# SPDX-License-Identifier: Apache-2.0
"""The methods of `DeltaTable` for OPTIMIZE, REORG and log files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame  # noqa: TC002  (typing.get_type_hints)

from bayou.plan.maintenance.compaction import CompactionPlan
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.maintenance.optimize import OptimizeRequest, optimize, plan_optimize
from bayou.spark.session.operations import log_operation
from bayou.spark.table.describe import rows_frame
from bayou.spark.table.handle import TableHandle
from bayou.spark.table.not_yet import check_kind

if TYPE_CHECKING:
    from bayou.spark.read.session_table import SessionTable


class DeltaOptimizeBuilder:
    """A builder for OPTIMIZE, which `DeltaTable.optimize` returns."""

    def __init__(self, table: SessionTable, request: OptimizeRequest) -> None:
        self._table = table
        self._request = request

    @raised_as_pyspark
    def where(self, partitionFilter: str) -> DeltaOptimizeBuilder:  # noqa: N803  (delta-spark's name)
        """Limit the command to partitions. Several calls are combined by AND.

        Args:
            partitionFilter: a SQL condition on partition columns.

        Raises:
            ValueError: the condition is not a string.

        Examples:
            >>> table.optimize().where("day = '2026-11-01'").executeCompaction()
        """
        check_kind(partitionFilter, str, "partitionFilter")
        return DeltaOptimizeBuilder(self._table, replace(self._request, where=(*self._request.where, partitionFilter)))

    @raised_as_pyspark
    def whereFiles(self, condition: str) -> DeltaOptimizeBuilder:  # noqa: N802  (as delta-spark would name it)
        """Limit the command to files that may have rows for which a condition is true, by partition values and statistics.

        Args:
            condition: a SQL condition on any columns.

        Raises:
            ValueError: the condition is not a string.

        Examples:
            >>> table.optimize().whereFiles("id > 100").executeCompaction()
        """
        check_kind(condition, str, "condition")
        return DeltaOptimizeBuilder(self._table, replace(self._request, where_files=(*self._request.where_files, condition)))

    @raised_as_pyspark
    def plan(self) -> CompactionPlan:
        """Return what `executeCompaction` would do: which files it would rewrite together, and why it would skip the others.

        Raises:
            InvalidOptionError: a condition of `where` names a column that is not a partition column.
            UnsupportedFeatureError: bayou cannot write to the table.

        Examples:
            >>> print(table.optimize().plan())
        """
        return plan_optimize(self._table, self._request)

    @raised_as_pyspark
    def executeCompaction(self) -> DataFrame:  # noqa: N802  (delta-spark's name)
        """Rewrite small files, and files with many deleted rows, into few large ones. A clustered table is clustered instead.

        If there is nothing to do, nothing is committed. Files that another commit removes or changes meanwhile are skipped.

        Returns:
            One row with `path` and `metrics`, as in delta-spark.

        Raises:
            InvalidOptionError: a condition of `where` names a column that is not a partition column, or a setting is not a number.
            UnsupportedFeatureError: bayou cannot write to the table.
            DataFileNotFoundError: a file of the table does not exist.
            StorageError: the store failed.

        Examples:
            >>> table.optimize().executeCompaction()
        """
        return self._executed(self._request)

    @raised_as_pyspark
    def executeZOrderBy(self, *cols: Any) -> DataFrame:  # noqa: N802  (delta-spark's name)
        """Sort rows along a Z-order curve over columns, so that filters on any of them read few files.

        A run is incremental: it rewrites new files, and files of earlier runs on the same columns only if enough new ones join
        them. Without new files nothing is committed.

        Args:
            *cols: the columns, or one list of them. `s.x` is a field of a struct. Put names that contain a dot in backticks.

        Returns:
            One row with `path` and `metrics`, as in delta-spark.

        Raises:
            TypeError: a column is not a string.
            InvalidOptionError: a column is a partition column or does not exist, `where` names a column that is not a partition
                column, or a setting is not a number.
            InvalidSchemaError: the table collects no statistics for a column.
            UnsupportedFeatureError: the table is clustered, a column's type has no order, or bayou cannot write to the table.
            DataFileNotFoundError: a file of the table does not exist.
            StorageError: the store failed.

        Examples:
            >>> table.optimize().executeZOrderBy("id")
        """
        names = cols[0] if len(cols) == 1 and isinstance(cols[0], (list, tuple)) else cols
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"Z-order column must be str. Found {name} with type {type(name)}")
        return self._executed(replace(self._request, z_order=tuple(names)))

    @raised_as_pyspark
    def executeFull(self) -> DataFrame:  # noqa: N802  (as delta-spark would name it)
        """Recluster all files of a clustered table, including files that were clustered by other columns (OPTIMIZE FULL).

        Returns:
            One row with `path` and `metrics`, as in delta-spark.

        Raises:
            UnsupportedFeatureError: the table has no clustering columns, or bayou cannot write to it.
            DataFileNotFoundError: a file of the table does not exist.
            StorageError: the store failed.

        Examples:
            >>> customers.optimize().executeFull()
        """
        return self._executed(replace(self._request, is_full=True))

    def _executed(self, request: OptimizeRequest) -> DataFrame:
        result = optimize(self._table, request)
        return rows_frame(self._table.application, self._table.spark, result.as_table())


class TableOptimization(TableHandle):
    """OPTIMIZE, REORG, checkpoints and log compaction as methods."""

    @raised_as_pyspark
    def optimize(self) -> DeltaOptimizeBuilder:
        """Return a builder for OPTIMIZE, which rewrites small files into few large ones.

        Examples:
            >>> table.optimize().executeCompaction()
        """
        return DeltaOptimizeBuilder(self._session_table(), OptimizeRequest())

    @raised_as_pyspark
    def reorg(self, where: str | None = None) -> DataFrame:
        """Rewrite files that contain deleted rows or dropped columns (REORG ... PURGE).

        VACUUM deletes the old files later.

        Args:
            where: a SQL condition on partition columns; None for all partitions.

        Returns:
            One row with `path` and `metrics`, as for `optimize().executeCompaction()`.

        Raises:
            InvalidOptionError: the condition names a column that is not a partition column.
            UnsupportedFeatureError: bayou cannot write to the table.
            StorageError: the store failed.

        Examples:
            >>> table.reorg("day = '2026-11-01'")
        """
        if where is not None:
            check_kind(where, str, "where")
        table = self._session_table()
        result = optimize(table, OptimizeRequest(where=() if where is None else (where,), purges=True))
        return rows_frame(table.application, table.spark, result.as_table())

    @raised_as_pyspark
    def checkpoint(self) -> None:
        """Write a checkpoint of the latest version. Commits also write one automatically every `delta.checkpointInterval` versions.

        Raises:
            StorageError: the store failed; the table is unchanged.

        Examples:
            >>> table.checkpoint()
        """
        table = self._session_table()
        with log_operation("CHECKPOINT", "writing", table.spark, table.settings, table.shown):
            self._log().checkpoint()

    @raised_as_pyspark
    def compactLog(self, start: int, end: int) -> str:  # noqa: N802  (as delta-spark would name it)
        """Write a compacted log file for a range of versions, which readers use between checkpoints.

        Args:
            start: the first version.
            end: the last version.

        Returns:
            The file's path, relative to the table.

        Raises:
            ValueError: a version is not an int.
            InvalidOptionError: the versions are not in ascending order, or have nothing to compact.
            VersionNotFoundError: a version of the range is not in the log.

        Examples:
            >>> table.compactLog(0, 1)
        """
        check_kind(start, int, "start")
        check_kind(end, int, "end")
        return self._log().compact(start, end)
