# SPDX-License-Identifier: Apache-2.0
"""The subqueries of expressions that Spark has resolved and not optimised: what they read, and others in their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.catalyst.row_changes import under_ids_of
from bayou.spark.jvm.catalyst.settled import LITERAL_ROWS, file_index_of, projected
from bayou.spark.jvm.core.session import dataset, java_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_FILE_INDEXES = frozenset({"InMemoryFileIndex", "CatalogFileIndex"})
"""Spark's own lists of files."""
_ADAPTER = "bayou.Subqueries"


@dataclass(frozen=True, slots=True)
class SubqueryReads:
    """Where the rows of subqueries are from, beside literal ones.

    Attributes:
        tables: the requests that Delta tables stand for, as JSON (see `row_changes.table_of`).
        roots: the folders and files that are read as they are, as Hadoop has their URIs.
    """

    tables: tuple[str, ...]
    roots: tuple[str, ...]

    @classmethod
    def of(cls, jvm: Jvm, values: ExpressionList) -> SubqueryReads | None:
        """The reads of the subqueries in resolved expressions; None where one of them is from elsewhere.

        Rows that were computed before may be anybody's, as those of a cache, of a checkpoint, or of an RDD.
        """
        tables: list[str] = []
        roots: list[str] = []
        for plan in jvm.list_of(projected(jvm, values).subqueriesAll()):
            for leaf in jvm.list_of(plan.collectLeaves()):
                kind = leaf.getClass().getSimpleName()
                if is_delta(leaf):
                    tables.append(request_of(leaf))
                elif kind == "LogicalRelation" and file_index_of(leaf.relation()) in _FILE_INDEXES:
                    roots += str(leaf.relation().location().rootPaths().mkString("\0")).split("\0")
                elif kind not in LITERAL_ROWS:
                    return None
        return cls(tuple(tables), tuple(roots))


def subqueries_of(jvm: Jvm, expression: JavaObject) -> list[JavaObject]:
    """The subqueries of an expression that stand in no other subquery, in order."""
    return list(jvm.static(_ADAPTER).of(expression))


def with_subqueries(jvm: Jvm, expression: JavaObject, others: Sequence[JavaObject]) -> JavaObject:
    """An expression with other expressions in the places of those that `subqueries_of` gives, in that order."""
    return jvm.static(_ADAPTER).replaced(expression, jvm.java_list(others))


def is_correlated(jvm: Jvm, subquery: JavaObject) -> bool:
    """Whether a subquery refers to the row that it is evaluated for."""
    return bool(jvm.static(_ADAPTER).isCorrelated(subquery))


def has_one_value(jvm: Jvm, subquery: JavaObject) -> bool:
    """Whether a subquery has one value, and the same for each row: a scalar one or EXISTS that is not correlated."""
    return subquery.getClass().getSimpleName() != "ListQuery" and not is_correlated(jvm, subquery)


def compared_with(jvm: Jvm, condition: JavaObject) -> list[JavaObject]:
    """What stands before IN in a condition that is `... IN (SELECT ...)`, not correlated; empty for any other condition."""
    if condition.getClass().getSimpleName() != "InSubquery" or is_correlated(jvm, condition.query()):
        return []
    return list(jvm.list_of(condition.values()))


def plan_of_subquery(subquery: JavaObject) -> JavaObject:
    """The rows of a subquery, as a plan."""
    return subquery.plan()


def under_names_of(jvm: Jvm, leaf: JavaObject, frame: DataFrame) -> JavaObject:
    """The rows of a DataFrame in the place of a leaf with the same columns, as a plan."""
    return under_ids_of(jvm, leaf.output(), frame._jdf.queryExecution().analyzed())  # noqa: SLF001  (the bridge)


def over_plan(jvm: Jvm, subquery: JavaObject, plan: JavaObject) -> JavaObject:
    """A subquery with other rows."""
    return jvm.static(_ADAPTER).over(subquery, plan)


def literal_of(jvm: Jvm, spark: SparkSession, subquery: JavaObject) -> JavaObject:
    """The value of a scalar subquery, or whether there is a row for EXISTS, as a literal. Costs a job.

    Args:
        subquery: the subquery, not correlated.
    """
    row = projected(jvm, ExpressionList.of(jvm, [subquery]))
    return jvm.static(_ADAPTER).value(dataset(jvm, java_session(spark), row), subquery.dataType())


def leaves_of(jvm: Jvm, plan: JavaObject) -> list[JavaObject]:
    """The leaves of a plan and of the subqueries in it."""
    return list(jvm.static(_ADAPTER).leaves(plan))


def with_leaves(jvm: Jvm, plan: JavaObject, leaves: Sequence[JavaObject]) -> JavaObject:
    """A plan with other leaves in the places of those that `leaves_of` gives, in that order."""
    return jvm.static(_ADAPTER).withLeaves(plan, jvm.java_list(leaves))


def is_delta(leaf: JavaObject) -> bool:
    """Whether a leaf is a Delta table of bayou's."""
    return bool(leaf.getClass().getSimpleName() == "LogicalRelation" and leaf.relation().getClass().getName() == "bayou.DeltaTable")


def request_of(leaf: JavaObject) -> str:
    """The request that a Delta table stands for, as JSON."""
    text: str = leaf.relation().location().table()
    return text


def at_version(jvm: Jvm, leaf: JavaObject, request: str, version: int) -> JavaObject:
    """A Delta table as it is in one version."""
    return jvm.static(_ADAPTER).at(leaf, request, str(version))


def reads_what_changes(leaf: JavaObject) -> bool:
    """Whether a leaf that is no Delta table may have other rows each time that it is read."""
    kind = leaf.getClass().getSimpleName()
    if kind == "LogicalRelation":
        return file_index_of(leaf.relation()) not in _FILE_INDEXES
    return kind not in LITERAL_ROWS
