# SPDX-License-Identifier: Apache-2.0
"""Prepare the rows of a MERGE's source: materialise them if evaluations may differ, count them, and collect their key values."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.columns.clustering import fields_on
from bayou.protocol.schema.reserved_names import OWN_PREFIX
from bayou.spark.dml.keys.key_conditions import condition_of
from bayou.spark.dml.keys.key_values import values_of
from bayou.spark.dml.merge.any_merge import MATERIALIZE
from bayou.spark.dml.statements.assignments import widens
from bayou.spark.expressions.predicates import by_logical_name, from_catalyst
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.expression_list import ExpressionList, names_of_output
from bayou.spark.jvm.catalyst.settled import settled as settled_rows
from bayou.spark.jvm.catalyst.settled import unfolded
from bayou.spark.jvm.relations import plans
from bayou.spark.jvm.relations.relation import analyzed_plan
from bayou.spark.native.dml.assigned_values import assigned
from bayou.spark.native.merge.source.footers import values_in_footers
from bayou.spark.native.merge.source.keys import keys_of
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.types.alignment import same_names_and_types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.read_set import ReadSet
    from bayou.plan.predicates.predicate import Predicate
    from bayou.protocol.types.schema import StructType
    from bayou.spark.dml.core.statement import Assignment
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm
    from bayou.spark.jvm.relations.listed_files import WatchedFiles
    from bayou.spark.native.merge.resolution.resolved import Resolution
    from bayou.spark.session.application import Application

IN_SOURCE = "__bayou_in_source"
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
_COMPRESSED: Final = 8
"""An estimate of how many times larger rows may be in memory than in files."""
_SIZE: Final = re.compile(r"(-?\d+)([kmgtp]?)b?", re.IGNORECASE)
"""A size as Spark's settings have it (`JavaUtils.byteStringAs`)."""


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of a source.

    Attributes:
        frame: the rows, with the columns that the MERGE uses, under the expression ids of the resolved clauses.
        columns: these columns. They stay in the JVM, because there may be thousands.
        keys: the columns that the condition reads.
        rows: the number of rows.
        size: the number of bytes to read: the size of the files, or of the materialised rows.
        is_small: whether the rows are broadcast.
        is_materialised: whether the rows are materialised until `close`.
        is_sure: whether every evaluation returns the same rows, or bayou detects a difference.
        files: the files of the rows when the MERGE began, to detect changes; None if the rows have no files or are materialised.
        predicates: predicates that every row of the table with a match satisfies.
        materialised_in_ms: the time it took to materialise the rows, in milliseconds; 0 if they are not materialised.
        reads: the source's reads of the table itself; None before they are known.
    """

    frame: DataFrame
    columns: Sequence[JavaObject]
    keys: Sequence[JavaObject]
    rows: int
    size: int
    is_small: bool
    is_materialised: bool
    is_sure: bool
    files: WatchedFiles | None
    predicates: tuple[Predicate, ...]
    materialised_in_ms: int = 0
    reads: ReadSet | None = None

    def marked(self) -> DataFrame:
        """Return the rows with the column `IN_SOURCE`: after an outer join, NULL in it means no row of the source."""
        rows = self.frame.selectExpr("*", f"true as {IN_SOURCE}")
        return F.broadcast(rows) if self.is_small else rows

    def close(self) -> None:
        """Drop the materialised rows."""
        if self.is_materialised:
            catalyst.let_go(self.frame)


def refuse_own_names(application: Application, resolution: Resolution, snapshot: Snapshot, *, uses_all: bool) -> None:
    """Check that the MERGE uses no column of the source whose name has the prefix of auxiliary columns.

    Args:
        uses_all: whether all columns of the source are used.

    Raises:
        UnsupportedFeatureError: it uses such a column.
    """
    output = plans.output(resolution.sides.source)
    refused = [each for each in names_of_output(jvm_of(application), output) if each.lower().startswith(OWN_PREFIX)]
    if refused and not uses_all:
        used = [plans.name_of(each) for each in _used(jvm_of(application), resolution)]
        refused = [each for each in refused if each in used]
    if refused:
        raise failed(
            "DELTA_OPERATION_NOT_ALLOWED/reserved-in-source",
            at=snapshot,
            column=refused[0],
            prefix=OWN_PREFIX,
            features=(f"columns whose names begin with {OWN_PREFIX}",),
        )


def _used(jvm: Jvm, resolution: Resolution) -> ExpressionList:
    """Return the columns of the source that a MERGE uses."""
    expressions = [ExpressionList.of(jvm, resolution.conditions), *resolution.values]
    return ExpressionList.joined(jvm, expressions).used(plans.output(resolution.sides.source))


def source_of(
    application: Application, given: DataFrame, resolution: Resolution, snapshot: Snapshot, settings: Mapping[str, str]
) -> Source:
    """Materialise a source if needed, count its rows, and read the values of its keys.

    A MERGE reads the source several times and needs the same rows each time. If evaluations may differ, this function evaluates the
    source once and materialises its rows on the executors. If a block of them is lost, reading it fails; Spark never recomputes it.

    Args:
        given: the source as the user passed it.
    """
    jvm = jvm_of(application)
    ids = catalyst.ids_of(jvm, resolution.sides.source)
    output = plans.output(resolution.sides.source)
    columns = _used(jvm, resolution)
    keys = ExpressionList.of(jvm, [resolution.condition]).used(output)
    frame = columns.selected(given.sparkSession, analyzed_plan(given)) if len(columns) else given.select(F.lit(1).alias("_1"))
    settled = settled_rows(jvm, frame)
    is_materialised = _must_materialise(settings, is_stable=settled is not None)
    materialised_in_ms = 0
    if is_materialised:
        begin = time.monotonic()
        frame = frame.localCheckpoint()
        materialised_in_ms = int((time.monotonic() - begin) * 1000)
    elif settled is not None:
        frame = without_constants(jvm, settled.frame, resolution, keys)
    files = None if is_materialised or settled is None else settled.watched()
    # If the rows may differ at the next evaluation, their keys must not prune files.
    equalities = keys_of(application, resolution, snapshot, ids) if is_materialised or settled is not None else []
    in_footers = (
        None if is_materialised or settled is None else values_in_footers(application.backend, settled.whole, equalities, settings)
    )
    rows, values = values_of(frame, equalities, in_footers)
    conditions = (condition_of(each.key, key_values) for each, key_values in zip(equalities, values, strict=True))
    texts = [text for text in conditions if text is not None]
    resolve = by_logical_name(snapshot.schema)
    predicates = tuple(from_catalyst([text], resolve) for text in texts)
    limit, in_files = bytes_of(settings.get(_THRESHOLD, "10485760")), catalyst.size_bytes_of(frame)
    kept = catalyst.kept_bytes_of(frame) if is_materialised else None
    size = rows * catalyst.row_width_of(frame) if kept is None else kept
    # Broadcast only if the estimates by files and by rows are both small: a filter may leave few rows of large files, and rows may
    # be long. The size of materialised rows is known.
    is_small = (in_files <= limit and size <= _COMPRESSED * limit) or (is_materialised and size <= limit)
    return Source(
        frame,
        columns,
        keys,
        rows,
        in_files if kept is None else kept,
        is_small,
        is_materialised,
        is_materialised or files is not None,
        files,
        predicates,
        materialised_in_ms,
    )


def _must_materialise(settings: Mapping[str, str], *, is_stable: bool) -> bool:
    """Whether to materialise a source. By default, do so if evaluations may return different rows."""
    setting = settings.get(MATERIALIZE, "auto").lower()
    return setting == "all" if setting in ("all", "none") else not is_stable


def bytes_of(text: str) -> int:
    """Return the bytes of a size such as `10485760`, `10m` or `1TB`; 0 if it is not a size."""
    size = _SIZE.fullmatch(text.strip())
    return 0 if size is None else int(size[1]) << 10 * ["", "k", "m", "g", "t", "p"].index(size[2].lower())


def without_constants(jvm: Jvm, frame: DataFrame, resolution: Resolution, keys: Sequence[JavaObject]) -> DataFrame:
    """Return the rows of a source, and hide constants in its columns from Spark's optimizer.

    The optimizer evaluates expressions over constants, for example a cast of a literal. If that fails, the MERGE fails, even if no
    row falls under the clause. Keys from which no value is computed stay constants: then the scan of the table filters by them.
    """
    used = ExpressionList.joined(jvm, resolution.values).used(plans.output(resolution.sides.source))
    without_any = unfolded(jvm, frame, used)
    return frame if without_any is frame else unfolded(jvm, frame, used, _stored_as_they_are(jvm, resolution, keys))


def _stored_as_they_are(jvm: Jvm, resolution: Resolution, keys: Sequence[JavaObject]) -> list[JavaObject]:
    """Return the keys that are stored unchanged or not at all: no clause computes a value from them."""
    computed: list[JavaObject] = []
    for clause in resolution.clauses:
        trees = assigned(clause.assignments[0]).trees if clause.assignments else []
        computed += [
            assigned(each)[each.place] for each in clause.assignments if not _is_stored(each, trees[each.place], resolution.schema)
        ]
    changed = {plans.id_of(each) for each in ExpressionList.of(jvm, computed).used(jvm.seq(keys))}
    return [each for each in keys if plans.id_of(each) not in changed]


def _is_stored(given: Assignment, tree: str, schema: StructType) -> bool:
    """Whether a value is a source column that is stored unchanged, or after a cast that cannot fail."""
    if not json.loads(tree)[0]["class"].endswith(".AttributeReference"):
        return False
    stored = fields_on(given.path, schema)
    return stored is not None and (same_names_and_types(given.type, stored[-1].type) or widens(given.type, stored[-1].type))
