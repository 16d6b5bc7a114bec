# SPDX-License-Identifier: Apache-2.0
"""The methods of `DeltaTable` that change rows."""

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
        """The same table under a name that conditions and values may put before its columns.

        Raises:
            InvalidOptionError: the name is not a string.
        """
        arguments.text(aliasName, "aliasName", table=self._path)
        named = self._at(self._spark, self._path, self._options)
        named._called, named._name, named._frames = (aliasName,), self._name, self._frames  # noqa: SLF001  (of this class)
        return named

    @raised_as_pyspark
    def delete(self, condition: str | Column | None = None, *, txn: tuple[str, int] | None = None) -> RowChangeResult:
        """Deletes the rows for which a condition is true; rows for which it is NULL stay (DELETE FROM).

        Where the condition is about partition columns alone, or the log proves it true for whole files, no data is read.
        Other rows go by deletion vectors where the table has them enabled, else by writing the rest of their files again.

        Args:
            condition: which rows, as SQL or as a column; all rows where None.
            txn: an application's id and a version of its own: the rows are deleted once for them.

        Raises:
            TypeError: the condition is neither.
            UnsupportedFeatureError: there is a subquery in the condition, or the table asks for more than bayou does.
            AppendOnlyError: the table only takes appends.
            ConcurrentModificationError: another commit excludes this one.
        """
        return self.plan_delete(condition, txn=txn).execute()

    @raised_as_pyspark
    def plan_delete(self, condition: str | Column | None = None, *, txn: tuple[str, int] | None = None) -> PlannedChange:
        """A DELETE that is not run: `print` shows which files it reads and which not, and why; `execute` runs it.

        Args:
            condition: as for `delete`.
            txn: as for `delete`.
        """
        checked = checked_txn(txn, self._path)
        return planned_delete(self._target(), self._called, condition, checked)

    @raised_as_pyspark
    def update(
        self,
        condition: str | Column | None = None,
        set: dict[str, str | Column] | None = None,  # noqa: A002  (delta-spark's name)
        *,
        txn: tuple[str, int] | None = None,
    ) -> RowChangeResult:
        """Sets columns of the rows for which a condition is true (UPDATE).

        Args:
            condition: which rows, as SQL or as a column; all rows where None.
            set: the new values by column, or by field such as `s.x`: SQL, or columns. They see the row as it was.
            txn: an application's id and a version of its own: the rows are updated once for them.

        Raises:
            TypeError, ValueError: an argument is not of its type.
            SchemaMismatchError: a column is set twice, or to a value of another structure.
            ConstraintViolationError: a new row breaks a rule of the table; nothing is left of the update.
            UnsupportedFeatureError: there is a subquery in the condition, or the table asks for more than bayou does.
            ConcurrentModificationError: another commit excludes this one.
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
        """An UPDATE that is not run; see `plan_delete`.

        Args:
            condition: as for `update`.
            set: as for `update`.
            txn: as for `update`.
        """
        checked = checked_txn(txn, self._path)
        return planned_update(self._target(), self._called, condition, set, checked)

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
        """Changes rows of the table that match rows of a source, and inserts those that match nothing (MERGE INTO).

        Args:
            source: the rows to compare the table with.
            condition: when rows match, as SQL or as a column; `DeltaTable.alias` and `DataFrame.alias` name the two sides.
            txn: an application's id and a version of its own: the MERGE is done once for them.
            keep: `latest` takes, of source rows with the same key, the one that is greatest in `by`; the key is what the
                condition equates with the table. Without it a row of the table that matches several is an error.
            by: a column of the source.

        Returns:
            A builder for the clauses; its `execute` runs the MERGE, and `plan` shows what it would read.

        Raises:
            TypeError, ValueError: an argument is not of its type.
        """
        checked = checked_txn(txn, self._path)
        return merge_builder(self._target(), self._called, source, condition, checked, keep=keep, by=by)
