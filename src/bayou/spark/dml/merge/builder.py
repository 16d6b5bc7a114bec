# SPDX-License-Identifier: Apache-2.0
"""`DeltaMergeBuilder`: build a MERGE clause by clause, like with delta-spark's class of the same name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame

from bayou.spark.dml.core.result import PlannedChange, RowChangeResult
from bayou.spark.dml.merge.execute import MergeRequest, planned
from bayou.spark.dml.merge.resolution.clauses import Action, Clause, Kind
from bayou.spark.dml.statements.arguments import check_condition_type, checked_values
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.read.session_table import SessionTable


@dataclass(frozen=True)  # without slots: users derive fakes from it for their tests
class DeltaMergeBuilder:
    """A MERGE under construction. Each call returns a new builder; the order of the clauses of a kind matters.

    The first clause whose condition is true takes a row. Only the last clause of a kind may lack a condition.
    """

    _request: MergeRequest

    @raised_as_pyspark
    def whenMatchedUpdate(  # noqa: N802  (delta-spark's names, here and below)
        self,
        condition: str | Column | None = None,
        set: Mapping[str, str | Column] | None = None,  # noqa: A002
    ) -> DeltaMergeBuilder:
        """Update rows of the table that match a row of the source.

        Args:
            condition: for which pairs, as SQL or as a column; None means all.
            set: the new values by column or field, over both rows.

        Raises:
            TypeError, ValueError: an argument is not of its type.

        Examples:
            >>> merge.whenMatchedUpdate("s.seq > t.seq", set={"status": "s.status"})
        """
        values = checked_values(set, "'set' in whenMatchedUpdate")
        return self._with(Kind.MATCHED, Action.UPDATE, condition, values)

    @raised_as_pyspark
    def whenMatchedUpdateAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:  # noqa: N802
        """Update all columns of rows that match from the source's columns of the same names (UPDATE SET *).

        Args:
            condition: for which pairs; None means all.

        Examples:
            >>> merge.whenMatchedUpdateAll()
        """
        return self._with(Kind.MATCHED, Action.UPDATE, condition, None)

    @raised_as_pyspark
    def whenMatchedDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:  # noqa: N802
        """Delete rows of the table that match a row of the source.

        Args:
            condition: for which pairs; None means all.

        Examples:
            >>> merge.whenMatchedDelete("s.status = 'cancelled'")
        """
        return self._with(Kind.MATCHED, Action.DELETE, condition, None)

    @raised_as_pyspark
    def whenNotMatchedInsert(  # noqa: N802
        self, condition: str | Column | None = None, values: Mapping[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Insert a row for each row of the source that matches nothing.

        Args:
            condition: for which rows of the source; None means all.
            values: the values by column, over the source's row; other columns get their default, or NULL.

        Raises:
            TypeError, ValueError: an argument is not of its type.

        Examples:
            >>> merge.whenNotMatchedInsert(values={"id": "s.id", "status": "s.status"})
        """
        given = checked_values(values, "'values' in whenNotMatchedInsert")
        return self._with(Kind.NOT_MATCHED, Action.INSERT, condition, given)

    @raised_as_pyspark
    def whenNotMatchedInsertAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:  # noqa: N802
        """Insert the rows of the source that match nothing, by columns of the same names (INSERT *).

        Args:
            condition: for which rows of the source; None means all.

        Examples:
            >>> merge.whenNotMatchedInsertAll("s.status != 'cancelled'")
        """
        return self._with(Kind.NOT_MATCHED, Action.INSERT, condition, None)

    @raised_as_pyspark
    def whenNotMatchedBySourceUpdate(  # noqa: N802
        self,
        condition: str | Column | None = None,
        set: Mapping[str, str | Column] | None = None,  # noqa: A002
    ) -> DeltaMergeBuilder:
        """Update rows of the table that match no row of the source. Every file of the table is read.

        Args:
            condition: for which rows; None means all.
            set: the new values by column or field, over the table's row.

        Raises:
            TypeError, ValueError: an argument is not of its type.

        Examples:
            >>> merge.whenNotMatchedBySourceUpdate(set={"status": "'gone'"})
        """
        values = checked_values(set, "'set' in whenNotMatchedBySourceUpdate")
        return self._with(Kind.NOT_MATCHED_BY_SOURCE, Action.UPDATE, condition, values)

    @raised_as_pyspark
    def whenNotMatchedBySourceDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:  # noqa: N802
        """Delete rows of the table that match no row of the source. Every file of the table is read.

        Args:
            condition: for which rows; None means all.

        Examples:
            >>> merge.whenNotMatchedBySourceDelete("t.day < '2026-01-01'")
        """
        return self._with(Kind.NOT_MATCHED_BY_SOURCE, Action.DELETE, condition, None)

    def withSchemaEvolution(self) -> DeltaMergeBuilder:  # noqa: N802
        """Add new columns of the source to the table, independent of the session's settings.

        Examples:
            >>> merge.withSchemaEvolution().whenMatchedUpdateAll().execute()
        """
        return DeltaMergeBuilder(replace(self._request, evolves=True))

    @raised_as_pyspark
    def plan(self) -> PlannedChange:
        """Return the plan of the MERGE: `print` shows the files that it reads and prunes, and its joins; `execute` runs it.

        Planning counts the source and reads its keys.

        Examples:
            >>> print(merge.whenMatchedUpdateAll().plan())
        """
        return planned(self._request)

    @raised_as_pyspark
    def execute(self) -> RowChangeResult:
        """Run the MERGE.

        Raises:
            InvalidOptionError: a clause is missing, or a clause that is not the last of its kind lacks a condition.
            SchemaMismatchError: a column does not exist, is set twice, or to a value of another structure.
            UnsupportedFeatureError: a condition contains a subquery, an aggregate or a non-deterministic function.
            pyspark.errors.AnalysisException: an expression contains a window function or a generator, or a value an aggregate.
            MultipleMatchesError: a row of the table would be changed by several rows of the source.
            ConstraintViolationError: a new row violates a constraint of the table; nothing is committed.
            ConcurrentModificationError: a winning commit conflicts with this one.

        Examples:
            >>> merge.whenMatchedUpdateAll().execute().num_updated_rows
        """
        return self.plan().execute()

    def __repr__(self) -> str:
        """Return the table, the clauses, and the call that runs them: a forgotten `execute()` changes nothing."""
        clauses = ", ".join(f"{each.kind.sql} {each.action.value.upper()}" for each in self._request.clauses) or "no clause"
        return f"DeltaMergeBuilder({self._request.target.shown!r}, {clauses}; not executed: call execute())"

    def _with(self, kind: Kind, action: Action, condition: Any, values: Mapping[str, Any] | None) -> DeltaMergeBuilder:
        check_condition_type(condition)
        clauses = (*self._request.clauses, Clause(kind, action, condition, values))
        return DeltaMergeBuilder(replace(self._request, clauses=clauses))


def merge_builder(
    target: SessionTable,
    name: tuple[str, ...],
    source: Any,
    condition: Any,
    txn: tuple[str, int] | None,
    *,
    keep: str | None = None,
    by: str | Column | None = None,
) -> DeltaMergeBuilder:
    """Return a builder without clauses, for `DeltaTable.merge`.

    Args:
        target: the table.
        name: the alias of the table in expressions, or an empty tuple.
        source: the source, a DataFrame.
        condition: the condition under which two rows match, as SQL or as a column.
        txn: an application id and a version.
        keep: `latest`, or None for all rows of the source.
        by: the column of the source whose greatest value marks the latest row.

    Raises:
        TypeError, ValueError: an argument is not of its type.
        UnsupportedFeatureError: it is a session of Spark Connect.
    """
    if keep not in (None, "latest") or (keep is None) != (by is None):
        raise ValueError("'keep' in merge is 'latest' with 'by', the column that says which row is the latest, or both are None.")
    if source is None:
        raise ValueError("'source' in merge cannot be None")
    if not isinstance(source, DataFrame):
        raise TypeError("Type of 'source' in merge must be DataFrame.")
    if condition is None:
        raise ValueError("'condition' in merge cannot be None")
    check_condition_type(condition)
    return DeltaMergeBuilder(MergeRequest(target, source, name, condition, (), txn=txn, latest_by=by))
