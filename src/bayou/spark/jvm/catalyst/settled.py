# SPDX-License-Identifier: Apache-2.0
"""Determine which rows and values are the same at every evaluation, so that an operation may compute them more than once."""

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
_COLUMNAR: Final = frozenset({"ParquetFileFormat", "OrcFileFormat"})
"""The file formats that cost little to read again. Lines of text would be parsed again."""
_STABLE_NODES = frozenset({"Project", "Filter", "SubqueryAlias", "View", "Union"})
_WHOLE_NODES: Final = frozenset({"Project", "LogicalRelation"})
"""The nodes of plans that return each row of their input once."""
LITERAL_ROWS: Final = frozenset({"LocalRelation", "Range", "OneRowRelation"})
"""The leaves of plans that read nothing."""
_OF_DELTA, _OF_FILES = "DeltaLogFiles", "InMemoryFileIndex"
"""The file indexes whose list of files is fixed when the query is planned."""
_IGNORED: Final = ("ignoreMissingFiles", "ignoreCorruptFiles")
"""The options by which unreadable files have no rows. Source: Spark's `FileSourceOptions`."""


@dataclass(frozen=True, slots=True)
class SettledRows:
    """Rows that are the same at every evaluation, as long as nobody changes the files that they are read from.

    Attributes:
        frame: the rows.
        files: these files, except those of Delta tables, which nobody changes.
        whole: the Parquet files, if the rows are exactly all of their rows; otherwise None.
    """

    frame: DataFrame
    files: Sequence[ListedFiles]
    whole: WholeFiles | None = None

    def watched(self) -> WatchedFiles | None:
        """Start to watch the files for changes, or return None if there are too many files."""
        return WatchedFiles(self.files) if all(files.known is not None for files in self.files) else None


def gives_the_same(jvm: Jvm, values: ExpressionList) -> bool:
    """Whether resolved expressions always give the same value for the same row, and at little cost.

    They do not if they contain random values, the time, a subquery or a user-defined function, which may wrongly claim to be
    deterministic.
    """
    if values.has_subquery or values.calls_foreign_code:
        return False
    project = projected(jvm, values)
    return bool(project.deterministic()) and not tells_time(jvm, project)


def at_one_instant(jvm: Jvm, lists: Sequence[ExpressionList]) -> list[ExpressionList]:
    """Replace `now()` and similar functions in resolved expressions by literals of one instant.

    Spark takes them for deterministic, and gives each query its own instant: the passes of a MERGE could disagree.
    Source: delta-spark's `PreprocessTableMerge`, which also has one instant for a MERGE.
    """
    together = ExpressionList.joined(jvm, lists)
    project = projected(jvm, together)
    if not tells_time(jvm, project):
        return list(lists)
    of_now = jvm.module("org.apache.spark.sql.catalyst.optimizer.ComputeCurrentTime")
    settled = aliased_values(jvm, of_now.apply(project).projectList())
    parts, start = [], 0
    for expressions in lists:
        parts.append(settled[start : start + len(expressions)])
        start += len(expressions)
    return parts


def unfolded(jvm: Jvm, frame: DataFrame, columns: ExpressionList, kept: Sequence[JavaObject] = ()) -> DataFrame:
    """Return the rows of a DataFrame in which Spark takes none of the columns for constants, except those in `kept`.

    Spark evaluates expressions over constants before it knows which rows are needed, and fails if the evaluation fails.
    """
    query = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
    made = jvm.static("bayou.Plans").unfolded(query.optimizedPlan(), columns.java, jvm.java_list(kept))
    if made is None:
        return frame
    plan = under_ids_of(jvm, query.analyzed().output(), made)
    return DataFrame(dataset(jvm, java_session(frame.sparkSession), plan), frame.sparkSession)


def tells_time(jvm: Jvm, plan_or_expression: JavaObject) -> bool:
    """Whether a plan or an expression contains `now()` or a similar function."""
    return bool(plan_or_expression.containsPattern(jvm.module("org.apache.spark.sql.catalyst.trees.TreePattern").CURRENT_LIKE()))


def settled(jvm: Jvm, frame: DataFrame) -> SettledRows | None:
    """Return the rows of a DataFrame that is the same at every evaluation, at little more cost than reading. None for any other.

    It is if it filters or projects literal rows, or columnar files in a fixed list. The list of a Delta table's files and the time
    are fixed by this call. Files that Spark may ignore if they are missing disqualify it.
    """
    query = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
    session = java_session(frame.sparkSession)
    plan, kinds, files, nodes = query.optimizedPlan(), set(), [], []
    pending = [plan]
    while pending:
        node = pending.pop()
        made_of = _made_of(jvm, frame.sparkSession, node)
        if made_of is None:
            return None
        kinds.add(made_of)
        if made_of is _MadeOf.FILES:
            files.append(ListedFiles(jvm, session, node.relation()))
        nodes.append(node)
        pending += [*jvm.list_of(node.children()), *jvm.list_of(node.subqueries())]
    if _MadeOf.DELTA not in kinds and not tells_time(jvm, query.analyzed()):
        return SettledRows(frame, files, _whole(jvm, nodes, files))
    plan = under_ids_of(jvm, query.analyzed().output(), plan)
    return SettledRows(DataFrame(dataset(jvm, session, plan), frame.sparkSession), files)


def _whole(jvm: Jvm, nodes: Sequence[JavaObject], files: Sequence[ListedFiles]) -> WholeFiles | None:
    """Return the Parquet files of which a plan has all rows, or None. The nodes of the plan are in order from the top down."""
    if len(files) != 1 or not _is_plain_parquet(files[0].relation):
        return None
    is_whole = all(node.getClass().getSimpleName() in _WHOLE_NODES for node in nodes)
    return WholeFiles(files[0], ids_of_output(jvm, nodes[-1].output())) if is_whole else None


class _MadeOf(Enum):
    """The origin of the rows of a node that are the same at every evaluation."""

    ROWS = "rows below it, or its own"
    DELTA = "the files of a Delta table"
    FILES = "other files, whose list is fixed"


def _made_of(jvm: Jvm, spark: SparkSession, node: JavaObject) -> _MadeOf | None:
    """Return the origin of the rows of a node, or None if they may differ between evaluations."""
    name = node.getClass().getSimpleName()
    if not node.deterministic() or ExpressionList.output(jvm, node.expressions()).calls_user_defined:
        return None
    if name != "LogicalRelation":
        return _MadeOf.ROWS if name in LITERAL_ROWS or name in _STABLE_NODES else None
    index = file_index_of(node.relation())
    if index == _OF_DELTA:
        return _MadeOf.DELTA
    if index != _OF_FILES:  # other relations, such as those of JDBC, have no file format
        return None
    is_columnar = str(node.relation().fileFormat().getClass().getSimpleName()) in _COLUMNAR
    return _MadeOf.FILES if is_columnar and not _may_leave_files_out(jvm, spark, node.relation()) else None


def _may_leave_files_out(jvm: Jvm, spark: SparkSession, relation: JavaObject) -> bool:
    """Whether files of a relation that are missing or unreadable count as empty, so that queries may differ.

    Options of the relation take precedence over settings of the session.
    """
    options = jvm.module("org.apache.spark.sql.catalyst.util.CaseInsensitiveMap").apply(relation.options())
    for name in _IGNORED:
        option = options.get(name)
        if str(option.get() if option.isDefined() else spark.conf.get(f"spark.sql.files.{name}")).lower() == "true":
            return True
    return False


def file_index_of(relation: JavaObject) -> str:
    """Return the class that lists a relation's files, or an empty string if it has no files."""
    is_files = relation.getClass().getSimpleName() == "HadoopFsRelation"
    return str(relation.location().getClass().getSimpleName()) if is_files else ""


def _is_plain_parquet(relation: JavaObject) -> bool:
    """Whether a relation reads Spark's own Parquet files, and no values from the names of their folders.

    In a partitioned relation a partition column hides a column of that name in the files. Files outside the folders are ignored.
    """
    return str(relation.fileFormat().getClass().getName()) == _PARQUET and not relation.partitionSchema().length()


def projected(jvm: Jvm, values: ExpressionList) -> JavaObject:
    """Return a plan with resolved expressions as columns, for analysis. It is never run."""
    return values.aliased("__bayou_value").projection(jvm.static(f"{_LOGICAL}.OneRowRelation")())
