# SPDX-License-Identifier: Apache-2.0
"""The rows of a MERGE's source: evaluated once where it matters, counted, and asked for their keys."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import UnsupportedFeatureError
from bayou.protocol.columns.clustering import fields_on
from bayou.protocol.schema.reserved_names import INTERNAL_PREFIXES
from bayou.protocol.types.partition_values import is_string_type
from bayou.spark.dml.keys.key_conditions import condition_of
from bayou.spark.dml.keys.key_values import values_of
from bayou.spark.dml.merge.source.footers import told_by_footers
from bayou.spark.dml.merge.source.keys import keys_of
from bayou.spark.dml.statements.assignments import widens
from bayou.spark.expressions.predicates import by_logical_name, from_catalyst
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.expression_list import ExpressionList, names_of_output
from bayou.spark.jvm.catalyst.frames import columns_of
from bayou.spark.jvm.catalyst.settled import settled as settled_rows
from bayou.spark.jvm.catalyst.settled import unfolded
from bayou.spark.jvm.core.session import memory_bytes
from bayou.spark.jvm.relations import plans
from bayou.spark.types.alignment import same_names_and_types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.read_set import ReadSet
    from bayou.plan.predicates.predicate import Predicate
    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.merge.resolution.resolved import Resolution
    from bayou.spark.dml.statements.assignments import Assignment
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm
    from bayou.spark.jvm.relations.listed_files import WatchedFiles
    from bayou.spark.session.application import Application

IN_SOURCE = "__bayou_in_source"
MATERIALIZE: Final = "spark.databricks.delta.merge.materializeSource"
"""The setting that says whether the rows are evaluated once and kept: `all`, `none` or `auto`."""
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
_FEW_ROWS: Final = 50_000
_COMPRESSED: Final = 8
"""How many times their size in files rows may have in memory."""
_FAR_MORE: Final = 20
"""How many times the source's rows the table's are where shuffling them costs more than any broadcast that has room."""
_LARGE: Final = 4
"""How many times the rows of another broadcast such a one may have."""
_OF_MEMORY: Final = 8
"""The part of a JVM's memory that they may take: what Spark makes of a broadcast takes up to four times as much for a moment."""
_FIXED: Final = ("boolean", "byte", "short", "integer", "long", "float", "double", "date", "timestamp", "timestamp_ntz")
_UNITS = {"b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of a source.

    Attributes:
        frame: the rows, with the columns that the MERGE uses, under the ids that its expressions have for them.
        columns: these columns, which are looked at in the JVM alone: there may be thousands.
        keys: those of them that the condition looks at.
        rows: how many rows there are.
        size: how many bytes have to be read for them: those of their files, or of the rows that are kept.
        is_small: whether all of them are broadcast.
        room: how many bytes of them may be, if that saves much.
        is_kept: whether the rows were evaluated once, and are kept until `close`.
        is_sure: whether they are the same each time that they are read, or it is noticed where they are not.
        files: the files that they are read from, as they were when the MERGE began; None where these are not watched.
        predicates: what a row of the table satisfies that matches one of them.
        kept_in_ms: how long it took to evaluate and keep them, in milliseconds; 0 where they are not kept.
        reads: what of the table itself they are made of; None for nothing.
    """

    frame: DataFrame
    columns: Sequence[JavaObject]
    keys: Sequence[JavaObject]
    rows: int
    size: int
    is_small: bool
    room: int
    is_kept: bool
    is_sure: bool
    files: WatchedFiles | None
    predicates: tuple[Predicate, ...]
    kept_in_ms: int = 0
    reads: ReadSet | None = None

    def beside(self, rows: int) -> Source:
        """The source beside that many rows of the table: small where these are far more, and would all be shuffled and sorted.

        Where it may be small by that, its texts are measured, in one job.
        """
        if self.is_small or rows < _FAR_MORE * self.rows or not self.room:
            return self
        return replace(self, is_small=_size_of(self.frame, self.rows, self.room) <= self.room)

    def marked(self) -> DataFrame:
        """The rows with a column that says that a row is of the source."""
        rows = self.frame.selectExpr("*", f"true as {IN_SOURCE}")
        return F.broadcast(rows) if self.is_small else rows

    def close(self) -> None:
        """Lets the rows go, where they were kept."""
        if self.is_kept:
            catalyst.let_go(self.frame)


def refuse_own_names(application: Application, resolution: Resolution, snapshot: Snapshot, *, uses_all: bool) -> None:
    """Refuses a source with columns that are called like those that are put beside its own, where the MERGE uses them.

    Args:
        uses_all: whether all of the source's columns are used.

    Raises:
        UnsupportedFeatureError: there is such a column.
    """
    output = plans.output(resolution.sides.source)
    own = [each for each in names_of_output(application.jvm, output) if each.lower().startswith(INTERNAL_PREFIXES[1])]
    if own and not uses_all:
        used = [plans.name_of(each) for each in _used(application.jvm, resolution)]
        own = [each for each in own if each in used]
    if own:
        raise UnsupportedFeatureError(
            f"The source of the MERGE has the column {own[0]!r}, and bayou takes columns whose names begin with "
            f"{INTERNAL_PREFIXES[1]} for those that it puts beside the source's.",
            at=snapshot,
            error_class="DELTA_OPERATION_NOT_ALLOWED",
            features=[f"columns whose names begin with {INTERNAL_PREFIXES[1]}"],
            next_step="give the column another name in the source.",
        )


def _used(jvm: Jvm, resolution: Resolution) -> ExpressionList:
    """The columns of the source that a MERGE uses."""
    expressions = [ExpressionList.of(jvm, resolution.conditions), *resolution.values]
    return ExpressionList.joined(jvm, expressions).used(plans.output(resolution.sides.source))


def source_of(
    application: Application, given: DataFrame, resolution: Resolution, snapshot: Snapshot, settings: Mapping[str, str]
) -> Source:
    """The rows of a source.

    A source that is more than a filter or a projection of a settled list of files is evaluated here, and only here: the rows
    are checkpointed on the executors. Where a block of them is lost, what reads it fails; it is never computed again.
    """
    jvm = application.jvm
    ids = catalyst.ids_of(jvm, resolution.sides.source)
    output = plans.output(resolution.sides.source)
    columns = _used(jvm, resolution)
    keys = ExpressionList.of(jvm, [resolution.condition]).used(output)
    frame = columns.selected(given.sparkSession, catalyst.plan_of(given)) if len(columns) else given.select(F.lit(1).alias("_1"))
    settled = settled_rows(jvm, frame)
    is_kept = _must_keep(settings, is_stable=settled is not None)
    kept_in_ms = 0
    if is_kept:
        begin = time.monotonic()
        frame = frame.localCheckpoint()
        kept_in_ms = int((time.monotonic() - begin) * 1000)
    elif settled is not None:
        frame = without_constants(jvm, settled.frame, resolution, keys)
    files = None if is_kept or settled is None else settled.watched()
    # Rows that are other ones each time say nothing of the keys that will be there.
    found = keys_of(application, resolution, snapshot, ids) if is_kept or settled is not None else []
    told = None if is_kept or settled is None else told_by_footers(jvm, settled.whole, found, settings)
    rows, values = values_of(frame, found, told)
    texts = [text for each, those in zip(found, values, strict=True) if (text := condition_of(each.key, those)) is not None]
    resolve = by_logical_name(snapshot.schema)
    predicates = tuple(from_catalyst([text], resolve) for text in texts)
    limit, in_files = _bytes(settings.get(_THRESHOLD, "10485760")), catalyst.size_bytes_of(frame)
    kept = catalyst.kept_bytes_of(frame) if is_kept else None
    size = rows * catalyst.row_width_of(frame) if kept is None else kept
    is_small = size <= _COMPRESSED * limit and (in_files <= limit or _are_few(frame, rows, limit, is_known=is_kept))
    has_room = size <= _LARGE * _COMPRESSED * limit and in_files <= _LARGE * limit
    room = memory_bytes(given.sparkSession) // _OF_MEMORY if has_room else 0
    return Source(
        frame,
        columns,
        keys,
        rows,
        in_files if kept is None else kept,
        is_small,
        room,
        is_kept,
        is_kept or files is not None,
        files,
        predicates,
        kept_in_ms,
    )


def _must_keep(settings: Mapping[str, str], *, is_stable: bool) -> bool:
    wanted = settings.get(MATERIALIZE, "auto").lower()
    return wanted == "all" if wanted in ("all", "none") else not is_stable


def _are_few(frame: DataFrame, rows: int, limit: int, *, is_known: bool) -> bool:
    """Whether rows are so few that they are broadcast whatever they are made from.

    Spark takes long texts for short ones: where the size of the rows is not known, they are measured.
    """
    if rows > _FEW_ROWS or rows * catalyst.row_width_of(frame) > limit:
        return False
    return is_known or _size_of(frame, rows, limit) <= limit


def _size_of(frame: DataFrame, rows: int, enough: int) -> int:
    """What rows take in memory, in bytes: texts are measured, where there are any; more than enough where that says too little."""
    size, texts = rows * catalyst.row_width_of(frame), []
    kinds = [field.type if isinstance(field.type, str) else "" for field in columns_of(frame).fields]
    for number, kind in enumerate(kinds):  # a source may have a name twice
        if kind == "binary" or is_string_type(kind):
            texts.append(f"sum(octet_length(c{number}))")
        elif kind not in _FIXED and not kind.startswith("decimal"):
            return enough + 1
    if size > enough or not texts:
        return size
    sums = frame.toDF(*(f"c{number}" for number in range(len(kinds)))).selectExpr(*texts).collect()[0]
    return size + sum(each or 0 for each in sums)


def _bytes(text: str) -> int:
    text = text.strip().lower()
    digits = text.rstrip("bkmgt")
    try:
        return int(digits) * _UNITS.get(text[len(digits) :], 1)
    except ValueError:
        return 0


def without_constants(jvm: Jvm, frame: DataFrame, resolution: Resolution, keys: Sequence[JavaObject]) -> DataFrame:
    """The rows of a source in which Spark takes no column for a constant of which a value is made.

    Spark's optimizer evaluates expressions of constants once, and fails if that fails, although the join or a clause's condition
    may leave the row out.

    Those by which rows are joined may be constants as long as they are stored as they are: the reader of files looks for them.
    """
    used = ExpressionList.joined(jvm, resolution.values).used(plans.output(resolution.sides.source))
    found = unfolded(jvm, frame, used)
    return found if found is frame else unfolded(jvm, frame, used, _stored_as_they_are(jvm, resolution, keys))


def _stored_as_they_are(jvm: Jvm, resolution: Resolution, keys: Sequence[JavaObject]) -> list[JavaObject]:
    """The keys of which nothing is computed."""
    computed: list[JavaObject] = []
    for clause in resolution.clauses:
        trees = clause.assignments[0].values.trees if clause.assignments else []
        computed += [each.value for each in clause.assignments if not _is_stored(each, trees[each.place], resolution.schema)]
    changed = {plans.id_of(each) for each in ExpressionList.of(jvm, computed).used(jvm.seq(keys))}
    return [each for each in keys if plans.id_of(each) not in changed]


def _is_stored(given: Assignment, tree: str, schema: StructType) -> bool:
    """Whether a value is a column, any value of which is one of the type that it is stored as."""
    if not json.loads(tree)[0]["class"].endswith(".AttributeReference"):
        return False
    stored = fields_on(given.path, schema)
    return stored is not None and (same_names_and_types(given.type, stored[-1].type) or widens(given.type, stored[-1].type))
