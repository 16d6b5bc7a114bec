# SPDX-License-Identifier: Apache-2.0
"""`DeltaMergeBuilder`, as delta-spark's class of that name."""

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


@dataclass(frozen=True)  # without slots: programs derive fakes of it for their tests
class DeltaMergeBuilder:
    """A MERGE in the making. Each call gives a new builder; the order of the clauses of a kind counts.

    Of the clauses about a row the first one takes it whose condition is true; only the last of a kind may have none.
    """

    _request: MergeRequest

    @raised_as_pyspark
    def whenMatchedUpdate(  # noqa: N802  (delta-spark's names, here and below)
        self,
        condition: str | Column | None = None,
        set: Mapping[str, str | Column] | None = None,  # noqa: A002
    ) -> DeltaMergeBuilder:
        """Updates a row of the table that matches one of the source.

        Args:
            condition: for which pairs, as SQL or as a column; all of them where None.
            set: the new values by column or field. They see both rows.

        Raises:
            TypeError, ValueError: an argument is not of its type.
        """
        values = checked_values(set, "'set' in whenMatchedUpdate")
        return self._with(Kind.MATCHED, Action.UPDATE, condition, values)

    @raised_as_pyspark
    def whenMatchedUpdateAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:  # noqa: N802
        """Updates all columns of a row that matches with the source's columns of the same names (UPDATE SET *).

        Args:
            condition: for which pairs; all of them where None.
        """
        return self._with(Kind.MATCHED, Action.UPDATE, condition, None)

    @raised_as_pyspark
    def whenMatchedDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:  # noqa: N802
        """Deletes a row of the table that matches one of the source.

        Args:
            condition: for which pairs; all of them where None.
        """
        return self._with(Kind.MATCHED, Action.DELETE, condition, None)

    @raised_as_pyspark
    def whenNotMatchedInsert(  # noqa: N802
        self, condition: str | Column | None = None, values: Mapping[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Inserts a row for one of the source that matches nothing.

        Args:
            condition: for which rows of the source; all of them where None.
            values: the values by column; other columns get their default, or NULL. They see the source's row.

        Raises:
            TypeError, ValueError: an argument is not of its type.
        """
        given = checked_values(values, "'values' in whenNotMatchedInsert")
        return self._with(Kind.NOT_MATCHED, Action.INSERT, condition, given)

    @raised_as_pyspark
    def whenNotMatchedInsertAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:  # noqa: N802
        """Inserts a row of the source that matches nothing, column by column of the same names (INSERT *).

        Args:
            condition: for which rows of the source; all of them where None.
        """
        return self._with(Kind.NOT_MATCHED, Action.INSERT, condition, None)

    @raised_as_pyspark
    def whenNotMatchedBySourceUpdate(  # noqa: N802
        self,
        condition: str | Column | None = None,
        set: Mapping[str, str | Column] | None = None,  # noqa: A002
    ) -> DeltaMergeBuilder:
        """Updates a row of the table that nothing in the source matches. Every file of the table is read for it.

        Args:
            condition: for which rows; all of them where None.
            set: the new values by column or field. They see the table's row.

        Raises:
            TypeError, ValueError: an argument is not of its type.
        """
        values = checked_values(set, "'set' in whenNotMatchedBySourceUpdate")
        return self._with(Kind.NOT_MATCHED_BY_SOURCE, Action.UPDATE, condition, values)

    @raised_as_pyspark
    def whenNotMatchedBySourceDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:  # noqa: N802
        """Deletes a row of the table that nothing in the source matches. Every file of the table is read for it.

        Args:
            condition: for which rows; all of them where None.
        """
        return self._with(Kind.NOT_MATCHED_BY_SOURCE, Action.DELETE, condition, None)

    def withSchemaEvolution(self) -> DeltaMergeBuilder:  # noqa: N802
        """Lets new columns of the source become the table's, whatever the session says."""
        return DeltaMergeBuilder(replace(self._request, evolves=True))

    @raised_as_pyspark
    def plan(self) -> PlannedChange:
        """The MERGE, not run: `print` shows which files it reads and which not, and why; `execute` runs it.

        The source is counted for it, and its keys are looked at.
        """
        return planned(self._request)

    @raised_as_pyspark
    def execute(self) -> RowChangeResult:
        """Runs the MERGE.

        Raises:
            InvalidOptionError: there is no clause, or one that is not the last of its kind has no condition.
            SchemaMismatchError: a name is none of the columns, a column is set twice, or to a value of another structure.
            UnsupportedFeatureError: a condition has a subquery, an aggregate or a function that is not deterministic.
            pyspark.errors.AnalysisException: there is a window function or a generator, or an aggregate in a value.
            MultipleMatchesError: a row of the table would be changed by several rows of the source.
            ConstraintViolationError: a new row breaks a rule of the table; nothing is left of the MERGE.
            ConcurrentModificationError: another commit excludes this one.
        """
        return self.plan().execute()

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
    """A builder without clauses, as `DeltaTable.merge` gives it.

    Args:
        target: the table.
        name: the name by which expressions may call the table; empty for none.
        source: the source, a DataFrame.
        condition: when rows match, as SQL or as a column.
        txn: an application's id and a version of its own.
        keep: `latest`, or None for all rows of the source.
        by: the column that says which row is the latest.

    Raises:
        TypeError, ValueError: an argument is not of its type.
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
