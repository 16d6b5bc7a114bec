# SPDX-License-Identifier: Apache-2.0
"""The methods of `DeltaTable` for row changes: DELETE, UPDATE and MERGE."""

from __future__ import annotations

from typing import Literal, TypeVar

from pyspark.sql import Column, DataFrame  # noqa: TC002  (typing.get_type_hints)

from bayou.log.commit.transaction import checked_txn
from bayou.protocol import arguments
from bayou.spark.dml.core.result import PlannedChange, RowChangeResult
from bayou.spark.dml.merge.builder import DeltaMergeBuilder, merge_builder
from bayou.spark.dml.statements.entry import planned_delete, planned_update
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.table.handle import TableHandle

Rows = TypeVar("Rows", bound="TableRows")


class TableRows(TableHandle):
    """DELETE, UPDATE and MERGE as methods."""

    @raised_as_pyspark
    def alias(self: Rows, aliasName: str) -> Rows:  # noqa: N803, PYI019  (delta-spark's name; Self needs Python 3.11)
        """Return the table under an alias, which conditions and values can use as a prefix of columns.

        Raises:
            InvalidOptionError: the name is not a string.

        Examples:
            >>> table.alias("t").merge(orders.alias("s"), "t.id = s.id").whenMatchedUpdateAll().execute()
        """
        arguments.text(aliasName, "aliasName", table=self._path)
        named = self._at(self._spark, self._path, self._options)
        named._called, named._name, named._frames = (aliasName,), self._name, self._frames  # noqa: SLF001  (of this class)
        return named

    @raised_as_pyspark
    def delete(self, condition: str | Column | None = None, *, txn: tuple[str, int] | None = None) -> RowChangeResult:
        """Delete the rows for which a condition is true (DELETE FROM). Rows for which it is NULL stay.

        If the condition uses only partition columns, or statistics prove it for whole files, no data is read. Otherwise rows are
        deleted by deletion vectors if the table enables them, or by rewriting their files.

        Args:
            condition: which rows, as SQL or a column; None for all rows.
            txn: an application id and a version. The delete is skipped if the log already has this version for the id.

        Raises:
            TypeError: the condition is neither a string nor a column.
            UnsupportedFeatureError: the table uses a feature that bayou does not support for writers.
            AppendOnlyError: the table is append-only.
            ConcurrentModificationError: a concurrent commit conflicts.

        Examples:
            >>> table.delete("status = 'cancelled'").num_deleted_rows
        """
        return self.plan_delete(condition, txn=txn).execute()

    @raised_as_pyspark
    def plan_delete(self, condition: str | Column | None = None, *, txn: tuple[str, int] | None = None) -> PlannedChange:
        """Plan a DELETE without running it. Print the plan to see which files it reads and why; `execute()` runs it.

        Args:
            condition: as for `delete`.
            txn: as for `delete`.

        Examples:
            >>> print(table.plan_delete("status = 'cancelled'"))
        """
        checked = checked_txn(txn, self._path)
        return planned_delete(self._session_table(), self._called, condition, checked)

    @raised_as_pyspark
    def update(
        self,
        condition: str | Column | None = None,
        set: dict[str, str | Column] | None = None,  # noqa: A002  (delta-spark's name)
        *,
        txn: tuple[str, int] | None = None,
    ) -> RowChangeResult:
        """Set columns of the rows for which a condition is true (UPDATE).

        Args:
            condition: which rows, as SQL or a column; None for all rows.
            set: the new values by column or by nested field such as `s.x`, as SQL or columns. They are computed from the old row.
            txn: an application id and a version. The update is skipped if the log already has this version for the id.

        Raises:
            TypeError, ValueError: an argument has the wrong type.
            SchemaMismatchError: a column is set twice, or the type of a value does not fit.
            ConstraintViolationError: a new row violates a constraint; the table is unchanged.
            UnsupportedFeatureError: the table uses a feature that bayou does not support for writers.
            ConcurrentModificationError: a concurrent commit conflicts.

        Examples:
            >>> table.update("id = 1", {"status": "'sent'"}).num_updated_rows
        """
        return self.plan_update(condition, set, txn=txn).execute()

    @raised_as_pyspark
    def plan_update(
        self,
        condition: str | Column | None = None,
        set: dict[str, str | Column] | None = None,  # noqa: A002  (delta-spark's name)
        *,
        txn: tuple[str, int] | None = None,
    ) -> PlannedChange:
        """Plan an UPDATE without running it; see `plan_delete`.

        Args:
            condition: as for `update`.
            set: as for `update`.
            txn: as for `update`.

        Examples:
            >>> print(table.plan_update("id = 1", {"status": "'sent'"}))
        """
        checked = checked_txn(txn, self._path)
        return planned_update(self._session_table(), self._called, condition, set, checked)

    @raised_as_pyspark
    def merge(
        self,
        source: DataFrame,
        condition: str | Column,
        *,
        txn: tuple[str, int] | None = None,
        keep: Literal["latest"] | None = None,
        by: str | Column | None = None,
    ) -> DeltaMergeBuilder:
        """Start a MERGE of source rows into the table (MERGE INTO).

        Args:
            source: the source rows.
            condition: when a source row matches a row of the table, as SQL or a column. Use `DeltaTable.alias` and
                `DataFrame.alias` to name the two sides.
            txn: an application id and a version. The MERGE is skipped if the log already has this version for the id.
            keep: `latest` to use, of source rows with the same key, the one with the greatest value in `by`. The key is what the
                condition equates with columns of the table. By default several matches for one row are an error.
            by: the column of the source that orders rows for `keep`.

        Returns:
            A builder for the clauses. `execute()` runs the MERGE; `plan()` shows what it would read.

        Raises:
            TypeError, ValueError: an argument has the wrong type.

        Examples:
            >>> merge = table.alias("t").merge(orders.alias("s"), "t.id = s.id")
            >>> merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        """
        checked = checked_txn(txn, self._path)
        return merge_builder(self._session_table(source), self._called, source, condition, checked, keep=keep, by=by)
