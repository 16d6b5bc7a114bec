# SPDX-License-Identifier: Apache-2.0
"""`NativeStatement`: a DELETE, UPDATE or MERGE that Spark has resolved, and the rows of its table under its expression ids."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayou.spark.dml.core.statement import SettledCondition
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.catalyst.expression_list import ExpressionList, names_of_output
from bayou.spark.jvm.catalyst.settled import gives_the_same
from bayou.spark.jvm.catalyst.wide_columns import ChosenColumns
from bayou.spark.jvm.relations.plans import schema_of
from bayou.spark.native.dml.assigned_values import typed_assignments
from bayou.spark.native.dml.expr import NativeExpr, node_of
from bayou.spark.native.dml.scanned_rows import scanned
from bayou.spark.native.dml.subqueries import may_read_table, settle
from bayou.spark.native.scan.matching_partitions import matching_partitions as matching_files
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.core.statement import Assignment, ChosenRows
    from bayou.spark.expr import Expr
    from bayou.spark.jvm.catalyst.row_changes import Expressions, Pairs
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm
    from bayou.spark.read.session_table import SessionTable


@dataclass(frozen=True)
class NativeStatement:
    """An implementation of `Statement`.

    Attributes:
        jvm: the bridge.
        expressions: the resolved expressions.
    """

    jvm: Jvm
    expressions: Expressions

    @classmethod
    def of(cls, target: SessionTable, resolved: JavaObject, values: ExpressionList | None = None) -> NativeStatement:
        """Return a resolved DeleteFromTable or UpdateTable.

        Args:
            values: the resolved values of an UPDATE that replace the values in the statement; None to keep the statement's values.
        """
        jvm = jvm_of(target.application)
        expressions = row_changes.taken_apart(jvm, row_changes.simplified(jvm, target.spark, resolved))
        if values is not None and expressions.assignments is not None:
            expressions = replace(expressions, assignments=replace(expressions.assignments, values=values))
        return cls(jvm, expressions)

    @property
    def columns(self) -> StructType:
        """The table's columns when the statement was resolved."""
        return schema_of(self.expressions.relation)

    @cached_property
    def condition(self) -> Expr | None:
        """The condition for rows; None for all rows."""
        return NativeExpr.of(self.jvm, self.expressions.condition)

    def rows(self, chosen: ChosenRows) -> DataFrame:
        """Return rows of the table with the column names and expression ids of the statement."""
        schema = readable_schema(chosen.snapshot.schema)
        fields = [field for name in self.columns.names if (field := schema.field(name)) is not None]
        scan = scanned(
            chosen.target,
            chosen.snapshot,
            fields,
            chosen.positions,
            marks=chosen.positions if chosen.with_files else None,
            settings=chosen.settings,
            with_numbers=chosen.with_numbers,
            ids=chosen.ids,
        )
        output, spark = self.expressions.output, chosen.target.spark
        return scan.known(row_changes.statement_rows(self.jvm, spark, output, scan.plan, scan.names, scan.others))

    def matching_partitions(self, target: SessionTable, snapshot: Snapshot, conditions: Sequence[Expr]) -> pa.Array:
        """Return the files whose partition values satisfy all conditions, by Spark's own evaluation."""
        return matching_partitions(target, snapshot, conditions)

    @contextlib.contextmanager
    def settled(self, target: SessionTable, snapshot: Snapshot, condition: Expr) -> Iterator[SettledCondition]:
        """Settle the subqueries of a condition for the time of a block. Runs jobs."""
        output = self.expressions.output
        queries = settle(target.application, target.spark, snapshot, node_of(condition), output)
        with contextlib.closing(queries):
            simplified = row_changes.simplified_condition(self.jvm, target.spark, output, queries.condition)
            yield SettledCondition(NativeExpr(self.jvm, simplified), queries.predicates, queries.reads_table)

    @property
    def _pairs(self) -> Pairs:
        pairs = self.expressions.assignments
        assert pairs is not None  # noqa: S101  (it is an UPDATE)
        return pairs

    def assignments(self, snapshot: Snapshot) -> tuple[Assignment, ...]:
        """Return the assignments of an UPDATE."""
        return () if self.expressions.assignments is None else typed_assignments(self._pairs, snapshot)

    @property
    def values_have_subquery(self) -> bool:
        """Whether a new value contains a subquery."""
        return self._pairs.values.has_subquery

    @property
    def values_give_the_same(self) -> bool:
        """Whether all new values are the same at every evaluation, at little cost."""
        return gives_the_same(self.jvm, self._pairs.values)

    def values_may_read(self, target: SessionTable, snapshot: Snapshot) -> bool:
        """Whether subqueries in new values may read the table itself."""
        return may_read_table(target.application, snapshot, self._pairs.values)

    def new_columns(self, rows: DataFrame) -> NativeColumns:
        """Begin a projection of rows of the statement to new values."""
        return NativeColumns(self.jvm, rows.sparkSession, self.expressions.output)

    def check_values(self, rows: Callable[[], DataFrame], values: Sequence[Column]) -> None:
        """Let Spark's optimizer evaluate casts of constants."""
        check_values(rows, values)


class NativeColumns(ChosenColumns):
    """Columns of which some have new values; see `NewColumns`."""

    def __init__(self, jvm: Jvm, spark: SparkSession, output: JavaObject) -> None:
        super().__init__(jvm, spark)
        self._old = ExpressionList.output(jvm, output)
        self._old_places = {name.lower(): place for place, name in enumerate(names_of_output(jvm, output))}

    def old(self, name: str) -> int:
        """Return the position of the value that a column of the table has now."""
        return self.place(self._old, self._old_places[name.lower()])


def matching_partitions(target: SessionTable, snapshot: Snapshot, conditions: Sequence[Any]) -> pa.Array:
    """Return the files whose partition values satisfy all conditions, which are expressions of a classic session."""
    return matching_files(target.application, target.spark, snapshot, [node_of(each) for each in conditions])


def check_values(rows: Callable[[], DataFrame], values: Sequence[Column]) -> None:
    """Raise the errors of new values that Spark's optimizer finds. Runs no job."""
    row_changes.optimised(rows().select(*values))
