# SPDX-License-Identifier: Apache-2.0
"""What is the same however often it is evaluated: rows and values that an operation may ask for more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from bayou.spark.jvm.adapters import Adapters
from bayou.spark.jvm.columns import aliased_values
from bayou.spark.jvm.expression_list import ExpressionList
from bayou.spark.jvm.relation import dataset
from bayou.spark.jvm.row_changes import under_ids_of
from bayou.spark.jvm.session import java_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.spark.jvm.bridge import JavaObject, Jvm

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_STABLE_NODES = frozenset({"Project", "Filter", "SubqueryAlias", "View", "Union"})
_STABLE_LEAVES = frozenset({"LocalRelation", "Range", "OneRowRelation"})
_OF_DELTA = "DeltaLogFiles"
_FILE_INDEXES = frozenset({"InMemoryFileIndex", _OF_DELTA})
"""What lists files that were settled when the plan was."""


def gives_the_same(jvm: Jvm, values: ExpressionList) -> bool:
    """Whether resolved expressions give the same for the same row in every query, and at little cost.

    They do not where there is chance or the time in them, a subquery, or a function that somebody gave: it may say of itself that
    it always gives the same, and not do so.
    """
    if values.has_subquery or values.calls_foreign_code:
        return False
    project = _projected(jvm, values)
    return bool(project.deterministic()) and not tells_time(jvm, project)


def at_one_instant(jvm: Jvm, lists: Sequence[ExpressionList]) -> list[ExpressionList]:
    """Resolved expressions in which `now()` and its like are literals, of one instant for all of them.

    Spark takes them for deterministic, and gives each query an instant of its own: what one pass of a MERGE finds another would
    not. Source: delta-spark's `PreprocessTableMerge`, which has one instant for a MERGE too.

    Args:
        jvm: the bridge.
        lists: the expressions.
    """
    together = ExpressionList.joined(jvm, lists)
    if Adapters.known(jvm) is None and not any(tells_time(jvm, each) for each in together):
        return list(lists)
    project = _projected(jvm, together)
    if not tells_time(jvm, project):
        return list(lists)
    of_now = jvm.module("org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime")
    settled = aliased_values(jvm, of_now.apply(project).projectList())
    found, start = [], 0
    for each in lists:
        found.append(settled[start : start + len(each)])
        start += len(each)
    return found


def tells_time(jvm: Jvm, plan_or_expression: JavaObject) -> bool:
    """Whether there is `now()` or its like in a plan or an expression."""
    return bool(plan_or_expression.containsPattern(jvm.module("org.apache.spark.sql.catalyst.trees.TreePattern").CURRENT_LIKE()))


def settled(jvm: Jvm, frame: DataFrame) -> DataFrame | None:
    """A DataFrame that gives the same rows however often it is run, and at little cost beside reading them; None for another.

    It does where it is a filter or a projection of files whose list is fixed, or of literal rows. The list of a Delta table's
    files is the one of now from here on, and the time is.
    """
    query = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
    plan, is_of_now = query.optimizedPlan(), tells_time(jvm, query.analyzed())
    pending = [plan]
    while pending:
        node = pending.pop()
        name = node.getClass().getSimpleName()
        if not node.deterministic():
            return None
        if name == "LogicalRelation":
            files = _file_index_of(node.relation())
            if files not in _FILE_INDEXES:
                return None
            is_of_now = is_of_now or files == _OF_DELTA
        elif name not in _STABLE_LEAVES and name not in _STABLE_NODES:
            return None
        if ExpressionList.output(jvm, node.expressions()).calls_user_defined:
            return None
        pending += [*jvm.list_of(node.children()), *jvm.list_of(node.subqueries())]
    if not is_of_now:
        return frame
    plan = under_ids_of(jvm, query.analyzed().output(), plan)
    return DataFrame(dataset(jvm, java_session(frame.sparkSession), plan), frame.sparkSession)


def _file_index_of(relation: JavaObject) -> str:
    """The class that lists a relation's files; empty where it has no files."""
    is_files = relation.getClass().getSimpleName() == "HadoopFsRelation"
    return str(relation.location().getClass().getSimpleName()) if is_files else ""


def _projected(jvm: Jvm, values: ExpressionList) -> JavaObject:
    return values.aliased("__bayou_value").projection(jvm.static(f"{_LOGICAL}.OneRowRelation")())
