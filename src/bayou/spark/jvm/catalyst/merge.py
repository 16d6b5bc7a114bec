# SPDX-License-Identifier: Apache-2.0
"""MERGE as nodes of Catalyst: a user's expressions resolved against both sides, and Spark's own statement taken apart."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from bayou.spark.jvm.catalyst.expression_list import ExpressionList, ids_of_output
from bayou.spark.jvm.catalyst.row_changes import assignments_of, no_rows, under_ids_of, written
from bayou.spark.jvm.catalyst.wide_columns import aliased_values
from bayou.spark.jvm.core.callbacks import FAILED_CALL, error_class_of
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
    """The two sides of a MERGE, for names to be resolved against.

    Attributes:
        target: a node that only has the table's columns.
        source: the source's plan.
        known_target: the table without the columns that it gets: what conditions and values may name.
        known_both: the same as a join with the source.
        own_target: the table under a name that nobody has, for names that are made here: no alias can stand for a struct in them.
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
    """The sides of a MERGE.

    Args:
        name: the name by which expressions may call the table, as `with_name` takes it; empty for none.
        node: what stands for the table in a resolved statement; None for one that is made here.
        known: how many of the table's columns it has already; those that it gets come behind them.
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
    """A cross join of both sides of a MERGE without any rows: what is made of it says whether any row could be given it.

    It says that it is one: Spark takes it, whatever `spark.sql.crossJoin.enabled` is.
    """
    cross = jvm.module("org.apache.spark.sql.catalyst.plans.Cross")
    no_hint = jvm.module(f"{_LOGICAL}.JoinHint").NONE()
    source = under_ids_of(jvm, sides.source.output(), no_rows(jvm, spark, sides.source.schema().json()))
    return jvm.static(f"{_LOGICAL}.Join")(sides.target, source, cross, jvm.none, no_hint)


def plan_of(frame: DataFrame) -> JavaObject:
    """The plan of a DataFrame as Spark resolved it."""
    return frame._jdf.queryExecution().analyzed()  # noqa: SLF001  (the bridge)


def frame_of(jvm: Jvm, spark: SparkSession, plan: JavaObject) -> DataFrame:
    """A plan as a DataFrame."""
    return DataFrame(dataset(jvm, java_session(spark), plan), spark)


def attribute(jvm: Jvm, name: str) -> JavaObject:
    """A column as it is written, not resolved."""
    return jvm.module("org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute").quotedString(name)


def column_of(spark: SparkSession, plan: JavaObject, name: JavaObject) -> JavaObject | None:
    """The column of a plan, or the field of one, that a name is; None where it is none of them.

    Args:
        name: the name as it is written, not resolved.

    Raises:
        AnalysisException: a column has no such field, or there are several columns of the name.
    """
    found = plan.resolve(name.nameParts(), java_session(spark).sessionState().conf().resolver())
    if not found.isDefined():
        return None
    column = found.get()
    return column.child() if column.nodeName() == "Alias" else column


class NotAnExpressionError(ValueError):
    """Aggregates, window functions or generators stand where a MERGE takes plain expressions.

    Attributes:
        is_aggregate: whether it is known to be an aggregate.
    """

    def __init__(self, *, is_aggregate: bool = False) -> None:
        super().__init__()
        self.is_aggregate = is_aggregate


def resolved(jvm: Jvm, spark: SparkSession, plan: JavaObject, values: Sequence[Any]) -> ExpressionList:
    """Expressions, resolved by Spark against a plan's columns. Nothing is run.

    Raises:
        NotAnExpressionError: one of them is more than an expression.
    """
    if not values:
        return ExpressionList.of(jvm, [])
    columns = ExpressionList.made(jvm, spark, values).aliased("__bayou_value")  # a session may have variables, of shorter names
    project = columns.projection(plan)
    skip = jvm.module("org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = java_session(spark).sessionState().executePlan(project, skip)
    try:
        execution.assertAnalyzed()
    except AnalysisException as error:
        if error_class_of(error).startswith(("MISSING_GROUP_BY", "MISSING_AGGREGATION")):  # columns beside an aggregate
            raise NotAnExpressionError(is_aggregate=True) from error
        raise
    analysed = execution.analyzed()
    if analysed.nodeName() != "Project" or analysed.child().nodeName() != plan.nodeName():
        raise NotAnExpressionError(is_aggregate=analysed.nodeName() == "Aggregate")
    # What Spark puts below a projection for a function in SQL is another projection, of more columns.
    if plan.nodeName() == "Project" and analysed.child().output().size() != plan.output().size():
        raise NotAnExpressionError
    found = analysed.projectList()
    if found.size() != len(values):
        raise NotAnExpressionError
    return aliased_values(jvm, found)


def ids_of(jvm: Jvm, plan_or_output: JavaObject) -> frozenset[int]:
    """The ids of a plan's columns."""
    return ids_of_output(jvm, plan_or_output.output())


def size_bytes_of(frame: DataFrame) -> int:
    """What Spark takes the size of a DataFrame to be."""
    size = frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()  # noqa: SLF001  (the bridge)
    return int(str(size))  # a number for py4j where it is a short one


def row_width_of(frame: DataFrame) -> int:
    """What Spark takes a row of a DataFrame to need in memory, in bytes."""
    return int(frame._jdf.schema().defaultSize())  # noqa: SLF001  (the bridge)


def kept_bytes_of(frame: DataFrame) -> int:
    """What the blocks of a DataFrame that `localCheckpoint` gave take, in memory and on disks, in bytes. Runs no job."""
    number = frame._jdf.queryExecution().logical().rdd().id()  # noqa: SLF001  (the bridge)
    found = frame.sparkSession._jsparkSession.sparkContext().getRDDStorageInfo()  # noqa: SLF001  (the bridge)
    return sum(int(each.memSize()) + int(each.diskSize()) for each in found if each.id() == number)


def let_go(frame: DataFrame) -> None:
    """Drops the blocks of a DataFrame that `localCheckpoint` gave; nothing can read it afterwards."""
    with contextlib.suppress(*FAILED_CALL, AttributeError):
        frame._jdf.queryExecution().logical().rdd().unpersist(False)  # noqa: SLF001  (the bridge)


@dataclass(frozen=True, slots=True)
class StatementClause:
    """A clause of Spark's statement.

    Attributes:
        list_name: in which of the statement's lists it is.
        node: the name of its node.
        condition: for which rows; None for all.
        pairs: the assigned columns and their values; None for `*` and for a DELETE.
    """

    list_name: str
    node: str
    condition: JavaObject | None
    pairs: Pairs | None


def clauses_of(jvm: Jvm, statement: JavaObject) -> list[StatementClause]:
    """The clauses of a MergeIntoTable, in order."""
    found = []
    for name in ("matchedActions", "notMatchedActions", "notMatchedBySourceActions"):
        for each in jvm.list_of(getattr(statement, name)()):
            node = each.getClass().getSimpleName()
            condition = each.condition()
            pairs = None
            if node in ("UpdateAction", "InsertAction"):
                pairs = assignments_of(jvm, each)
            found.append(StatementClause(name, node, condition.get() if condition.isDefined() else None, pairs))
    return found


def parsed_statement(jvm: Jvm, statement: JavaObject) -> JavaObject | None:
    """The MergeIntoTable as it stands in the statement's text, parsed and not resolved; None where there is no such text.

    A text with parameters in it is none: their values are not in it.
    """
    parsed = written(jvm, statement)
    return None if parsed is None or has_parameters(jvm, parsed) else parsed


def has_parameters(jvm: Jvm, parsed: JavaObject) -> bool:
    """Whether a parsed statement has parameters in it, at whatever depth."""
    return bool(parsed.containsPattern(jvm.module("org.apache.spark.sql.catalyst.trees.TreePattern").PARAMETER()))


def table_name_of(jvm: Jvm, parsed: JavaObject) -> list[str] | None:
    """The parts of the name of the table that a parsed relation is; None where it is something else, or a table as it was."""
    while parsed.nodeName() in ("SubqueryAlias", "UnresolvedSubqueryColumnAliases"):
        parsed = parsed.child()
    return [str(each) for each in jvm.list_of(parsed.multipartIdentifier())] if parsed.nodeName() == "UnresolvedRelation" else None


def name_of(jvm: Jvm, spark: SparkSession, parsed: JavaObject) -> tuple[str, ...]:
    """The name by which a statement's expressions may call one of its tables, as `with_name` takes it; empty for none.

    That is its alias, else its own name with those of its database and its catalog.
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
    """Whether a statement says WITH SCHEMA EVOLUTION; before Spark 4 none can."""
    return jvm.has_method(f"{_LOGICAL}.MergeIntoTable", "withSchemaEvolution") and bool(statement.withSchemaEvolution())
