# SPDX-License-Identifier: Apache-2.0
"""What is the same however often it is evaluated: rows and values that an operation may ask for more than once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame

from bayou.spark.jvm.catalyst.expression_list import ExpressionList, ids_of_output
from bayou.spark.jvm.catalyst.row_changes import under_ids_of
from bayou.spark.jvm.catalyst.wide_columns import aliased_values
from bayou.spark.jvm.core.session import dataset, java_session
from bayou.spark.jvm.relations.listed_files import ListedFiles, WatchedFiles, WholeFiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_PARQUET: Final = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_STABLE_NODES = frozenset({"Project", "Filter", "SubqueryAlias", "View", "Union"})
_WHOLE_NODES: Final = frozenset({"Project", "LogicalRelation"})
"""The nodes of plans that have each row of what they read once."""
LITERAL_ROWS: Final = frozenset({"LocalRelation", "Range", "OneRowRelation"})
"""The leaves of plans that read nothing."""
_OF_DELTA, _OF_FILES = "DeltaLogFiles", "InMemoryFileIndex"
"""What lists files that were settled when the plan was."""
_IGNORED: Final = ("ignoreMissingFiles", "ignoreCorruptFiles")
"""The options by which files that cannot be read have no rows. Source: Spark's `FileSourceOptions`."""


@dataclass(frozen=True, slots=True)
class SettledRows:
    """Rows that are the same however often they are asked for, as long as nobody changes the files that they are read from.

    Attributes:
        frame: the rows.
        files: these files, but those of Delta tables, which nobody changes.
        whole: the Parquet files whose rows they are, where these are all of their rows; None elsewhere.
    """

    frame: DataFrame
    files: Sequence[ListedFiles]
    whole: WholeFiles | None = None

    def watched(self) -> WatchedFiles | None:
        """The files as they are now, from where it is noticed if somebody changes one; None where there are too many for that."""
        return WatchedFiles(self.files) if all(each.known is not None for each in self.files) else None


def gives_the_same(jvm: Jvm, values: ExpressionList) -> bool:
    """Whether resolved expressions give the same for the same row in every query, and at little cost.

    They do not where there is chance or the time in them, a subquery, or a function that somebody gave: it may say of itself that
    it always gives the same, and not do so.
    """
    if values.has_subquery or values.calls_foreign_code:
        return False
    project = projected(jvm, values)
    return bool(project.deterministic()) and not tells_time(jvm, project)


def at_one_instant(jvm: Jvm, lists: Sequence[ExpressionList]) -> list[ExpressionList]:
    """Resolved expressions in which `now()` and its like are literals, of one instant for all of them.

    Spark takes them for deterministic, and gives each query an instant of its own: what one pass of a MERGE finds another would
    not. Source: delta-spark's `PreprocessTableMerge`, which has one instant for a MERGE too.
    """
    together = ExpressionList.joined(jvm, lists)
    project = projected(jvm, together)
    if not tells_time(jvm, project):
        return list(lists)
    of_now = jvm.module("org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime")
    settled = aliased_values(jvm, of_now.apply(project).projectList())
    found, start = [], 0
    for each in lists:
        found.append(settled[start : start + len(each)])
        start += len(each)
    return found


def unfolded(jvm: Jvm, frame: DataFrame, columns: ExpressionList, kept: Sequence[JavaObject] = ()) -> DataFrame:
    """The rows of a DataFrame in which Spark takes some columns for no constants; the DataFrame itself where they are none.

    What is made of constants it computes before it knows which rows are wanted, and fails where that fails.

    Args:
        kept: those of them that may be constants all the same.
    """
    query = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
    made = jvm.static("bayou.Plans").unfolded(query.optimizedPlan(), columns.java, jvm.java_list(kept))
    if made is None:
        return frame
    plan = under_ids_of(jvm, query.analyzed().output(), made)
    return DataFrame(dataset(jvm, java_session(frame.sparkSession), plan), frame.sparkSession)


def tells_time(jvm: Jvm, plan_or_expression: JavaObject) -> bool:
    """Whether there is `now()` or its like in a plan or an expression."""
    return bool(plan_or_expression.containsPattern(jvm.module("org.apache.spark.sql.catalyst.trees.TreePattern").CURRENT_LIKE()))


def settled(jvm: Jvm, frame: DataFrame) -> SettledRows | None:
    """The rows of a DataFrame that gives the same however often it is run, and at little cost beside reading; None for another.

    It does where it is a filter or a projection of files whose list is fixed, or of literal rows. The list of a Delta table's
    files is the one of now from here on, and the time is. Files that may be missing by the time they are read are not settled.
    """
    query = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
    session = java_session(frame.sparkSession)
    plan, found, files, nodes = query.optimizedPlan(), set(), [], []
    pending = [plan]
    while pending:
        node = pending.pop()
        made_of = _made_of(jvm, frame.sparkSession, node)
        if made_of is None:
            return None
        found.add(made_of)
        if made_of is _MadeOf.FILES:
            files.append(ListedFiles(jvm, session, node.relation()))
        nodes.append(node)
        pending += [*jvm.list_of(node.children()), *jvm.list_of(node.subqueries())]
    if _MadeOf.DELTA not in found and not tells_time(jvm, query.analyzed()):
        return SettledRows(frame, files, _whole(jvm, nodes, files))
    plan = under_ids_of(jvm, query.analyzed().output(), plan)
    return SettledRows(DataFrame(dataset(jvm, session, plan), frame.sparkSession), files)


def _whole(jvm: Jvm, nodes: Sequence[JavaObject], files: Sequence[ListedFiles]) -> WholeFiles | None:
    """The Parquet files of which a plan has all rows, by its nodes from the top down; None where it does not."""
    if len(files) != 1 or not _is_plain_parquet(files[0].relation):
        return None
    is_whole = all(each.getClass().getSimpleName() in _WHOLE_NODES for each in nodes)
    return WholeFiles(files[0], ids_of_output(jvm, nodes[-1].output())) if is_whole else None


class _MadeOf(Enum):
    """What the rows of a node of a plan are made of that gives the same each time."""

    ROWS = "rows below it, or its own"
    DELTA = "the files of a Delta table"
    FILES = "other files, whose list is fixed"


def _made_of(jvm: Jvm, spark: SparkSession, node: JavaObject) -> _MadeOf | None:
    """What the rows of a node are made of; None where they may be others each time."""
    name = node.getClass().getSimpleName()
    if not node.deterministic() or ExpressionList.output(jvm, node.expressions()).calls_user_defined:
        return None
    if name != "LogicalRelation":
        return _MadeOf.ROWS if name in LITERAL_ROWS or name in _STABLE_NODES else None
    index = file_index_of(node.relation())
    if index == _OF_DELTA:
        return _MadeOf.DELTA
    if index != _OF_FILES or _may_leave_files_out(jvm, spark, node.relation()):
        return None
    return _MadeOf.FILES


def _may_leave_files_out(jvm: Jvm, spark: SparkSession, relation: JavaObject) -> bool:
    """Whether files of a relation count as empty that are gone, or cannot be read, when their turn comes.

    What is gone for one query was there for another. Options of the relation go before settings of the session.
    """
    options = jvm.module("org.apache.spark.sql.catalyst.util.CaseInsensitiveMap").apply(relation.options())
    for name in _IGNORED:
        given = options.get(name)
        if str(given.get() if given.isDefined() else spark.conf.get(f"spark.sql.files.{name}")).lower() == "true":
            return True
    return False


def file_index_of(relation: JavaObject) -> str:
    """The class that lists a relation's files; empty where it has no files."""
    is_files = relation.getClass().getSimpleName() == "HadoopFsRelation"
    return str(relation.location().getClass().getSimpleName()) if is_files else ""


def _is_plain_parquet(relation: JavaObject) -> bool:
    """Whether a relation reads Spark's own Parquet files, and nothing from the names of their folders.

    In folders of partitions a column of a file is not read that is called like a partition column, and files beside them are not.
    """
    return str(relation.fileFormat().getClass().getName()) == _PARQUET and not relation.partitionSchema().length()


def projected(jvm: Jvm, values: ExpressionList) -> JavaObject:
    """A plan with resolved expressions for its columns, to be asked about them; it is never run."""
    return values.aliased("__bayou_value").projection(jvm.static(f"{_LOGICAL}.OneRowRelation")())
