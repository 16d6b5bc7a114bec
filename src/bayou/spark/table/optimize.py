# SPDX-License-Identifier: Apache-2.0
"""OPTIMIZE as `DeltaTable` offers it: a builder with delta-spark's names, and a plan of what it would do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame  # noqa: TC002  (typing.get_type_hints)

from bayou.plan.maintenance.compaction import CompactionPlan
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.maintenance.optimize import OptimizeRequest, optimize, plan_optimize
from bayou.spark.table.describe import rows_frame
from bayou.spark.table.handle import TableHandle
from bayou.spark.table.not_yet import check_kind

if TYPE_CHECKING:
    from bayou.spark.read.session_table import SessionTable


class DeltaOptimizeBuilder:
    """An OPTIMIZE that is being described; `DeltaTable.optimize` begins one."""

    def __init__(self, table: SessionTable, request: OptimizeRequest) -> None:
        self._table = table
        self._request = request

    @raised_as_pyspark
    def where(self, partitionFilter: str) -> DeltaOptimizeBuilder:  # noqa: N803  (delta-spark's name)
        """Limits the command to partitions.

        Args:
            partitionFilter: a condition on partition columns, as SQL. Beside conditions that were given before, all have to be
                true.

        Raises:
            ValueError: the condition is not a string.
        """
        check_kind(partitionFilter, str, "partitionFilter")
        return DeltaOptimizeBuilder(self._table, replace(self._request, where=(*self._request.where, partitionFilter)))

    @raised_as_pyspark
    def whereFiles(self, condition: str) -> DeltaOptimizeBuilder:  # noqa: N802  (as delta-spark would name it)
        """Limits the command to files that may hold a row for which a condition is true, by partition values and statistics.

        Args:
            condition: a condition on any columns, as SQL.

        Raises:
            ValueError: the condition is not a string.
        """
        check_kind(condition, str, "condition")
        return DeltaOptimizeBuilder(self._table, replace(self._request, where_files=(*self._request.where_files, condition)))

    @raised_as_pyspark
    def plan(self) -> CompactionPlan:
        """What `executeCompaction` would do: which files it would rewrite together, and why it would leave the others alone.

        Raises:
            InvalidOptionError: a condition of `where` names a column that is not a partition column.
            UnsupportedFeatureError: bayou may not write to the table.
        """
        return plan_optimize(self._table, self._request)

    @raised_as_pyspark
    def executeCompaction(self) -> DataFrame:  # noqa: N802  (delta-spark's name)
        """Makes few large files of many small ones, and of files with many deleted rows. A clustered table is clustered instead.

        Where there is nothing to do, nothing is committed. Bins whose files another commit removes or changes meanwhile are left
        as they are.

        Returns:
            One row with `path` and `metrics`, as delta-spark gives it.

        Raises:
            InvalidOptionError: a condition of `where` names a column that is not a partition column, or a setting is not a number.
            UnsupportedFeatureError: bayou may not write to the table.
            DataFileNotFoundError: a file of the table is gone.
            StorageError: the store failed.
        """
        return self._executed(self._request)

    @raised_as_pyspark
    def executeZOrderBy(self, *cols: Any) -> DataFrame:  # noqa: N802  (delta-spark's name)
        """Puts the rows in order along a curve through columns, so that filters on any of them read few files.

        Files that a run on the same columns wrote are rewritten only together with enough new ones: a run touches the partitions
        that have new files, and in them the new files and the cubes of their size. Without new files nothing is committed.

        Args:
            *cols: the columns, or one list of them. Names with dots between them lead into structs; a name that has a dot itself
                is in backticks.

        Returns:
            One row with `path` and `metrics`, as delta-spark gives it.

        Raises:
            TypeError: a column is not a string.
            InvalidOptionError: a column is a partition column, or there is none of its name; `where` names a column that is not a
                partition column; a setting is not a number.
            InvalidSchemaError: files have no statistics of a column.
            UnsupportedFeatureError: the table is clustered, a column's type has no order, or bayou may not write to the table.
            DataFileNotFoundError: a file of the table is gone.
            StorageError: the store failed.
        """
        names = cols[0] if len(cols) == 1 and isinstance(cols[0], (list, tuple)) else cols
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"Z-order column must be str. Found {name} with type {type(name)}")
        return self._executed(replace(self._request, z_order=tuple(names)))

    @raised_as_pyspark
    def executeFull(self) -> DataFrame:  # noqa: N802  (as delta-spark would name it)
        """Clusters all files of a clustered table again, also those that were clustered by other columns (OPTIMIZE FULL).

        Returns:
            One row with `path` and `metrics`, as delta-spark gives it.

        Raises:
            UnsupportedFeatureError: the table has no clustering columns, or bayou may not write to it.
            DataFileNotFoundError: a file of the table is gone.
            StorageError: the store failed.
        """
        return self._executed(replace(self._request, is_full=True))

    def _executed(self, request: OptimizeRequest) -> DataFrame:
        found = optimize(self._table, request)
        return rows_frame(self._table.application, self._table.spark, found.as_table())


class TableOptimization(TableHandle):
    """OPTIMIZE, REORG and what keeps the log short, as methods."""

    @raised_as_pyspark
    def optimize(self) -> DeltaOptimizeBuilder:
        """Begins an OPTIMIZE, which makes few large files of many small ones; see `DeltaOptimizeBuilder`."""
        return DeltaOptimizeBuilder(self._altered(), OptimizeRequest())

    @raised_as_pyspark
    def reorg(self, where: str | None = None) -> DataFrame:
        """Rewrites files that hold what the table no longer has: deleted rows, and columns that were dropped (REORG ... PURGE).

        Old versions keep their files until VACUUM deletes them.

        Args:
            where: a condition on partition columns, as SQL; None for all partitions.

        Returns:
            One row with `path` and `metrics`, as `optimize().executeCompaction()` gives it.

        Raises:
            InvalidOptionError: the condition names a column that is not a partition column.
            UnsupportedFeatureError: bayou may not write to the table.
            StorageError: the store failed.
        """
        if where is not None:
            check_kind(where, str, "where")
        table = self._altered()
        found = optimize(table, OptimizeRequest(where=() if where is None else (where,), purges=True))
        return rows_frame(table.application, table.spark, found.as_table())

    @raised_as_pyspark
    def checkpoint(self) -> None:
        """Writes a checkpoint of the latest version now. Commits write one by themselves after every few versions.

        Raises:
            StorageError: the store failed; the log is as sound as before.
        """
        self._log().checkpoint()

    @raised_as_pyspark
    def compactLog(self, start: int, end: int) -> str:  # noqa: N802  (as delta-spark would name it)
        """Writes the commits of a range of versions as one more file, for readers between checkpoints.

        Args:
            start: the first version.
            end: the last version.

        Returns:
            The file's path, relative to the table.

        Raises:
            ValueError: a version is not an int.
            InvalidOptionError: the range holds nothing to compact.
            VersionNotFoundError: a version of the range is not in the log.
        """
        check_kind(start, int, "start")
        check_kind(end, int, "end")
        return self._log().compact(start, end)
