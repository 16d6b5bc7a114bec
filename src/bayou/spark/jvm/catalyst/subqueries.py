# SPDX-License-Identifier: Apache-2.0
"""Analyse and replace the subqueries of expressions that Spark has resolved and not optimized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.catalyst.row_changes import under_ids_of
from bayou.spark.jvm.catalyst.settled import LITERAL_ROWS, file_index_of, projected
from bayou.spark.jvm.core.session import dataset, java_session
from bayou.spark.jvm.relations.relation import analyzed_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_FILE_INDEXES = frozenset({"InMemoryFileIndex", "CatalogFileIndex"})
"""Spark's own lists of files."""
_ADAPTER = "bayou.Subqueries"


@dataclass(frozen=True, slots=True)
class SubqueryReads:
    """What subqueries read, apart from literal rows.

    Attributes:
        tables: the requests of Delta tables, as JSON (see `row_changes.table_of`).
        roots: the URIs of other folders and files, as Hadoop has them.
    """

    tables: tuple[str, ...]
    roots: tuple[str, ...]

    @classmethod
    def of(cls, jvm: Jvm, values: ExpressionList) -> SubqueryReads | None:
        """Return the reads of the subqueries in resolved expressions, or None if one reads anything else.

        Rows that were computed before, as in a cache, a checkpoint or an RDD, may come from anywhere.
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
    """Return the outermost subqueries of an expression, in order."""
    return list(jvm.static(_ADAPTER).of(expression))


def with_subqueries(jvm: Jvm, expression: JavaObject, others: Sequence[JavaObject]) -> JavaObject:
    """Replace the subqueries that `subqueries_of` returns, in that order."""
    return jvm.static(_ADAPTER).replaced(expression, jvm.java_list(others))


def is_correlated(jvm: Jvm, subquery: JavaObject) -> bool:
    """Whether a subquery refers to the row that it is evaluated for."""
    return bool(jvm.static(_ADAPTER).isCorrelated(subquery))


def has_one_value(jvm: Jvm, subquery: JavaObject) -> bool:
    """Whether a subquery has one value for all rows: an uncorrelated scalar subquery or EXISTS."""
    return subquery.getClass().getSimpleName() != "ListQuery" and not is_correlated(jvm, subquery)


def compared_with(jvm: Jvm, condition: JavaObject) -> list[JavaObject]:
    """Return the values before IN in a condition `... IN (SELECT ...)` that is not correlated. Empty for any other condition."""
    if condition.getClass().getSimpleName() != "InSubquery" or is_correlated(jvm, condition.query()):
        return []
    return list(jvm.list_of(condition.values()))


def plan_of_subquery(subquery: JavaObject) -> JavaObject:
    """Return the rows of a subquery, as a plan."""
    return subquery.plan()


def under_names_of(jvm: Jvm, leaf: JavaObject, frame: DataFrame) -> JavaObject:
    """Return the rows of a DataFrame under the names and ids of a leaf's columns, as a plan."""
    return under_ids_of(jvm, leaf.output(), analyzed_plan(frame))


def over_plan(jvm: Jvm, subquery: JavaObject, plan: JavaObject) -> JavaObject:
    """Return a subquery with other rows."""
    return jvm.static(_ADAPTER).over(subquery, plan)


def literal_of(jvm: Jvm, spark: SparkSession, subquery: JavaObject) -> JavaObject:
    """Compute an uncorrelated scalar subquery or EXISTS as a literal, in a job."""
    row = projected(jvm, ExpressionList.of(jvm, [subquery]))
    return jvm.static(_ADAPTER).value(dataset(jvm, java_session(spark), row), subquery.dataType())


def leaves_of(jvm: Jvm, plan: JavaObject) -> list[JavaObject]:
    """Return the leaves of a plan and of its subqueries."""
    return list(jvm.static(_ADAPTER).leaves(plan))


def with_leaves(jvm: Jvm, plan: JavaObject, leaves: Sequence[JavaObject]) -> JavaObject:
    """Replace the leaves that `leaves_of` returns, in that order."""
    return jvm.static(_ADAPTER).withLeaves(plan, jvm.java_list(leaves))


def is_delta(leaf: JavaObject) -> bool:
    """Whether a leaf is a Delta table of bayou."""
    return bool(leaf.getClass().getSimpleName() == "LogicalRelation" and leaf.relation().getClass().getName() == "bayou.DeltaTable")


def request_of(leaf: JavaObject) -> str:
    """Return the request of a Delta table as JSON."""
    text: str = leaf.relation().location().table()
    return text


def at_version(jvm: Jvm, leaf: JavaObject, request: str, version: int) -> JavaObject:
    """Return a Delta table at one version."""
    return jvm.static(_ADAPTER).at(leaf, request, str(version))


def reads_what_changes(leaf: JavaObject) -> bool:
    """Whether a leaf that is not a Delta table may have other rows at each read."""
    kind = leaf.getClass().getSimpleName()
    if kind == "LogicalRelation":
        return file_index_of(leaf.relation()) not in _FILE_INDEXES
    return kind not in LITERAL_ROWS
