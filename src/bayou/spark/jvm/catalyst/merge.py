# SPDX-License-Identifier: Apache-2.0
"""Resolve a user's MERGE expressions against both sides, and read Spark's own MERGE statement."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.jvm.catalyst.expression_list import ExpressionList, ids_of_output
from bayou.spark.jvm.catalyst.row_changes import assignments_of, no_rows, under_ids_of, written
from bayou.spark.jvm.catalyst.wide_columns import aliased_values
from bayou.spark.jvm.core.callbacks import FAILED_CALL
from bayou.spark.jvm.core.nodes import with_name
from bayou.spark.jvm.core.session import dataset, java_session
from bayou.spark.jvm.relations.parser import full_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.catalyst.row_changes import Pairs
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of a MERGE, to resolve names against.

    Attributes:
        target: a node with only the table's columns.
        source: the source's plan.
        known_target: the table without the columns that the MERGE adds, for conditions and values.
        known_both: a join of `known_target` with the source.
        own_target: the table under a unique name, for names that bayou creates. No struct can shadow it.
        own_source: the source, likewise.
    """

    target: JavaObject
    source: JavaObject
    known_target: JavaObject
    known_both: JavaObject
    own_target: JavaObject
    own_source: JavaObject


def sides_of(
    jvm: Jvm,
    spark: SparkSession,
    schema: str,
    name: tuple[str, ...],
    source: JavaObject,
    node: JavaObject | None = None,
    *,
    known: int,
) -> Sides:
    """Return the sides of a MERGE.

    Args:
        name: the name that expressions may use for the table, in the form of `with_name`, or empty.
        node: the table's node in a resolved statement; None for a statement that bayou creates.
        known: the number of columns that the table already has. The MERGE adds those after them.
    """
    target = no_rows(jvm, spark, schema, name) if node is None else node
    outer = jvm.module("org.apache.spark.sql.catalyst.plans.FullOuter")
    no_hint = jvm.module(f"{_LOGICAL}.JoinHint").NONE()
    own = with_name(jvm, target, "__bayou_target"), with_name(jvm, source, "__bayou_source")
    known_target = target
    if node is None and target.output().size() != known:
        known_target = jvm.static(f"{_LOGICAL}.Project")(target.output().take(known), target)
    known_both = jvm.static(f"{_LOGICAL}.Join")(known_target, source, outer, jvm.none, no_hint)
    return Sides(target, source, known_target, known_both, *own)


def crossed(jvm: Jvm, spark: SparkSession, sides: Sides) -> JavaObject:
    """Return a cross join of both sides without rows, to check what would be computed from a pair of rows.

    The join is explicitly a cross join, so that Spark accepts it whatever `spark.sql.crossJoin.enabled` is.
    """
    cross = jvm.module("org.apache.spark.sql.catalyst.plans.Cross")
    no_hint = jvm.module(f"{_LOGICAL}.JoinHint").NONE()
    source = under_ids_of(jvm, sides.source.output(), no_rows(jvm, spark, sides.source.schema().json()))
    return jvm.static(f"{_LOGICAL}.Join")(sides.target, source, cross, jvm.none, no_hint)


def frame_of(jvm: Jvm, spark: SparkSession, plan: JavaObject) -> DataFrame:
    """Return a plan as a DataFrame."""
    return DataFrame(dataset(jvm, java_session(spark), plan), spark)


def attribute(jvm: Jvm, name: str) -> JavaObject:
    """Return an unresolved column."""
    return jvm.module("org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute").quotedString(name)


def column_of(spark: SparkSession, plan: JavaObject, name: JavaObject) -> JavaObject | None:
    """Return the column of a plan, or the field of a column, that an unresolved name refers to, or None.

    Raises:
        AnalysisException: a column lacks the field, or the name is ambiguous.
    """
    resolution = plan.resolve(name.nameParts(), java_session(spark).sessionState().conf().resolver())
    if not resolution.isDefined():
        return None
    column = resolution.get()
    return column.child() if column.nodeName() == "Alias" else column


class NotAnExpressionError(ValueError):
    """Raised if a MERGE contains an aggregate, window function or generator in place of a plain expression."""

    def __init__(self, *, is_aggregate: bool = False) -> None:
        super().__init__()
        self.is_aggregate = is_aggregate


def resolved(jvm: Jvm, spark: SparkSession, plan: JavaObject, values: Sequence[Any]) -> ExpressionList:
    """Resolve plain expressions against a plan's columns, or raise NotAnExpressionError. Nothing is run."""
    if not values:
        return ExpressionList.of(jvm, [])
    # Variables of the session have shorter names, so none of them is meant.
    columns = ExpressionList.made(jvm, spark, values).aliased("__bayou_value")
    project = columns.projection(plan)
    skip = jvm.module("org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = java_session(spark).sessionState().executePlan(project, skip)
    try:
        execution.assertAnalyzed()
    except AnalysisException as error:
        if error_class_of(error).startswith(("MISSING_GROUP_BY", "MISSING_AGGREGATION")):  # columns next to an aggregate
            raise NotAnExpressionError(is_aggregate=True) from error
        raise
    analysed = execution.analyzed()
    if analysed.nodeName() != "Project" or analysed.child().nodeName() != plan.nodeName():
        raise NotAnExpressionError(is_aggregate=analysed.nodeName() == "Aggregate")
    # For a SQL function Spark inserts another projection, with more columns, below this one.
    if plan.nodeName() == "Project" and analysed.child().output().size() != plan.output().size():
        raise NotAnExpressionError
    projections = analysed.projectList()
    if projections.size() != len(values):
        raise NotAnExpressionError
    return aliased_values(jvm, projections)


def ids_of(jvm: Jvm, plan_or_output: JavaObject) -> frozenset[int]:
    """Return the ids of a plan's columns."""
    return ids_of_output(jvm, plan_or_output.output())


def size_bytes_of(frame: DataFrame) -> int:
    """Return Spark's estimate of the size of a DataFrame."""
    size = frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()  # noqa: SLF001  (the bridge)
    return int(str(size))  # py4j converts only a small one to an int


def row_width_of(frame: DataFrame) -> int:
    """Return Spark's estimate of a row's size in memory, in bytes."""
    return int(frame._jdf.schema().defaultSize())  # noqa: SLF001  (the bridge)


def kept_bytes_of(frame: DataFrame) -> int:
    """Return the size in memory and on disks of the blocks of a DataFrame from `localCheckpoint`, in bytes. Runs no job."""
    number = frame._jdf.queryExecution().logical().rdd().id()  # noqa: SLF001  (the bridge)
    stored_rdds = frame.sparkSession._jsparkSession.sparkContext().getRDDStorageInfo()  # noqa: SLF001  (the bridge)
    return sum(int(rdd.memSize()) + int(rdd.diskSize()) for rdd in stored_rdds if rdd.id() == number)


def let_go(frame: DataFrame) -> None:
    """Drop the blocks of a DataFrame from `localCheckpoint`. Nothing can read it afterwards."""
    with contextlib.suppress(*FAILED_CALL, AttributeError):
        rdd = frame._jdf.queryExecution().logical().rdd()  # noqa: SLF001  (the bridge)
        # RDD.unpersist does the same and logs a warning: that such rows cannot be computed again.
        rdd.context().unpersistRDD(rdd.id(), False)


@dataclass(frozen=True, slots=True)
class StatementClause:
    """A clause of Spark's statement.

    Attributes:
        list_name: the statement's list that contains it.
        node: the name of its node.
        condition: the condition for rows; None for all rows.
        pairs: the assigned columns and their values; None for `*` and for a DELETE.
    """

    list_name: str
    node: str
    condition: JavaObject | None
    pairs: Pairs | None


def target_of(statement: JavaObject) -> JavaObject:
    """Return the table of a MergeIntoTable."""
    return statement.targetTable()


def source_of(statement: JavaObject) -> JavaObject:
    """Return the source of a MergeIntoTable."""
    return statement.sourceTable()


def condition_of(statement: JavaObject) -> JavaObject:
    """Return the condition by which a MergeIntoTable matches rows."""
    return statement.mergeCondition()


def clauses_of(jvm: Jvm, statement: JavaObject) -> list[StatementClause]:
    """Return the clauses of a MergeIntoTable, in order."""
    clauses = []
    for name in ("matchedActions", "notMatchedActions", "notMatchedBySourceActions"):
        for action in jvm.list_of(getattr(statement, name)()):
            node = action.getClass().getSimpleName()
            condition = action.condition()
            pairs = None
            if node in ("UpdateAction", "InsertAction"):
                pairs = assignments_of(jvm, action)
            clauses.append(StatementClause(name, node, condition.get() if condition.isDefined() else None, pairs))
    return clauses


def parsed_statement(jvm: Jvm, statement: JavaObject) -> JavaObject | None:
    """Parse the SQL of a MergeIntoTable, without resolving it. Return None if the SQL is unknown.

    Return None for SQL with parameters, because it does not have their values.
    """
    parsed = written(jvm, statement)
    return None if parsed is None or has_parameters(jvm, parsed) else parsed


def has_parameters(jvm: Jvm, parsed: JavaObject) -> bool:
    """Whether a parsed statement contains parameters, at any depth."""
    return bool(parsed.containsPattern(jvm.module("org.apache.spark.sql.catalyst.trees.TreePattern").PARAMETER()))


def table_name_of(jvm: Jvm, parsed: JavaObject) -> list[str] | None:
    """Return the parts of a parsed table's name, or None if it is not a table, or an earlier version of one."""
    while parsed.nodeName() in ("SubqueryAlias", "UnresolvedSubqueryColumnAliases"):
        parsed = parsed.child()
    return [str(each) for each in jvm.list_of(parsed.multipartIdentifier())] if parsed.nodeName() == "UnresolvedRelation" else None


def name_of(jvm: Jvm, spark: SparkSession, parsed: JavaObject) -> tuple[str, ...]:
    """Return the name that expressions may use for a table of the statement, in the form of `with_name`, or empty.

    It is the alias, otherwise the table's name with database and catalog.
    """
    kind = parsed.nodeName()
    if kind == "SubqueryAlias":
        return (str(parsed.identifier().name()),)
    if kind == "UnresolvedSubqueryColumnAliases":
        return name_of(jvm, spark, parsed.child())
    if kind in ("UnresolvedRelation", "RelationTimeTravel"):
        relation = parsed if kind == "UnresolvedRelation" else parsed.relation()
        return full_name(java_session(spark), jvm.list_of(relation.multipartIdentifier()))
    return ()


def wants_evolution(jvm: Jvm, statement: JavaObject) -> bool:
    """Whether a statement says WITH SCHEMA EVOLUTION, which exists since Spark 4."""
    return jvm.has_method(f"{_LOGICAL}.MergeIntoTable", "withSchemaEvolution") and bool(statement.withSchemaEvolution())
