# SPDX-License-Identifier: Apache-2.0
"""`Merge`: a resolved MERGE with its source, the files of the table that may contain a match, and the rows of these files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.plan.predicates.predicate import And, Boolean, Or, Predicate, only_about
from bayou.protocol.columns.identity_columns import identity_columns
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.dml.core.chosen_files import ChosenFiles, common
from bayou.spark.dml.core.condition import RowCondition, parts_about_partitions
from bayou.spark.dml.core.row_change import Change
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.dml.merge.strategy import MergeFacts, MergeStrategy, choose_strategy
from bayou.spark.expressions.predicates import by_logical_name, from_catalyst
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.catalyst.row_changes import Expressions
from bayou.spark.jvm.catalyst.wide_columns import select
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.adapters import described
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations import plans
from bayou.spark.jvm.relations.relation import analyzed_plan
from bayou.spark.native.dml.assigned_values import assigned
from bayou.spark.native.dml.expr import NativeExpr
from bayou.spark.native.dml.scanned_rows import scanned
from bayou.spark.native.dml.statement import NativeStatement, matching_partitions
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.scan.pruning import choose
from bayou.spark.types.alignment import AlignedColumn, aligned, cast_sql, selected
from bayou.spark.types.types import readable_schema, spark_data_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.native.merge.resolution.resolved import Resolution
    from bayou.spark.native.merge.source.source import Source
    from bayou.spark.read.session_table import SessionTable


@dataclass(frozen=True)
class Merge:
    """A resolved MERGE on one snapshot of a table.

    Attributes:
        change: the table, the snapshot, and the files that may contain a match.
        resolution: the resolved clauses.
        source: the source's rows.
    """

    change: Change
    resolution: Resolution
    source: Source

    @property
    def keys(self) -> list[str]:
        """Names for the source's columns that the condition reads. Columns of the source may have any names."""
        return [f"__bayou_key{number}" for number in range(len(self.source.keys))]

    @property
    def keys_as_named(self) -> list[Column]:
        """The source's columns that the condition reads, under the names of `keys`."""
        jvm = jvm_of(self.change.target.application)
        return [nodes.column(jvm, each).alias(name) for each, name in zip(self.source.keys, self.keys, strict=True)]

    @cached_property
    def facts(self) -> MergeFacts:
        """The facts that decide the joins of the MERGE before the first pass."""
        source, resolution = self.source, self.resolution
        jvm, actions = jvm_of(self.change.target.application), {each.action for each in resolution.clauses}
        identities = {each.name.lower() for each in identity_columns(resolution.schema)}
        inserts = [each for each in resolution.clauses if each.action is Action.INSERT]
        return MergeFacts(
            source_rows=source.rows,
            source_bytes=source.size,
            broadcasts_source=source.is_small,
            repeats_rows=source.is_sure and not ExpressionList.of(jvm, resolution.conditions).calls_foreign_code,
            has_exact_keys=bool(source.keys) and all(nodes.is_told_by_equality(each) for each in source.keys),
            inserts=bool(inserts),
            changes=bool(actions - {Action.INSERT}),
            by_source=bool(resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE)),
            updates_from_source=self._updates_from_source(),
            generates_identities=any(not identities <= each.assigned for each in inserts),
        )

    @cached_property
    def strategy(self) -> MergeStrategy:
        """The joins of the MERGE, as far as they are decided before the first pass."""
        return choose_strategy(self.facts)

    def _updates_from_source(self) -> bool:
        """Whether updated rows can be computed from the source's rows alone.

        Then the old rows are only marked in deletion vectors, and their values are not read. Not with user-defined functions: they
        would be called for more rows than are updated.
        """
        change, resolution = self.change, self.resolution
        if not change.uses_vectors or change.feeds or change.row_ids is not None:
            return False
        names = frozenset(name.lower() for name in resolution.schema.names)
        updates = [each for each in resolution.clauses if each.action is Action.UPDATE]
        if not updates or any(each.kind is not Kind.MATCHED or not each.sets_whole(names) for each in updates):
            return False
        expressions = (ExpressionList.of(jvm_of(change.target.application), resolution.conditions), *resolution.values)
        output = plans.output(resolution.sides.target)
        uses_table = any(len(assigned(each.assignments[0]).used(output)) for each in updates)
        return not uses_table and not any(each.calls_foreign_code for each in expressions)

    def rows(
        self, positions: pa.Array, marks: pa.Array | None = None, *, with_numbers: bool = False, with_ids: bool = False
    ) -> DataFrame:
        """Return the rows of some files with the schema after the MERGE, under the expression ids that the resolved clauses use.

        The column `FILE` is never NULL in rows of the table. Therefore a NULL in it after an outer join means a source row without
        a match.

        Args:
            marks: the value of `FILE` for each file; None to use the positions.
            with_numbers: whether to add the column `METADATA` with the position of the row.
            with_ids: whether to add row ids, if the table tracks rows (see `RowIdColumns.columns`).
        """
        change, snapshot = self.change, self.change.snapshot
        jvm, spark = jvm_of(change.target.application), change.target.spark
        stored = readable_schema(snapshot.schema).fields
        marks = positions if marks is None else marks
        scan = scanned(
            change.target,
            snapshot,
            stored,
            positions,
            marks=marks,
            settings=change.settings,
            with_numbers=with_numbers,
            ids=change.row_ids if with_ids else None,
        )
        output = plans.output(self.resolution.sides.target)
        plan, names = scan.plan, scan.names
        if self.resolution.schema != snapshot.schema:
            after = plans.schema_of(self.resolution.sides.target)
            frame = catalyst.frame_of(jvm, spark, plan)
            read = [_named(*pair) for pair in zip(stored, names, strict=True)]
            before = {field.name: field for field in stored}
            aligned_columns = [
                *(_with_type_after(field, before.get(field.name)) for field in after.fields),
                *((quoted_name(name), name, None) for name in scan.others),
            ]
            frame = select(jvm, frame, [*read, *((name,) for name in scan.others)])
            plan, names = analyzed_plan(selected(frame, aligned_columns)), after.names
        return scan.known(row_changes.statement_rows(jvm, spark, output, plan, names, scan.others))


def _named(field: StructField, name: str) -> str | Column:
    """Return a column under the table's name. With column mapping, fields of structs have other names in the files."""
    if isinstance(field.type, str):
        return f"{quoted_name(name)} as {quoted_name(field.name)}"
    return F.col(quoted_name(name)).cast(spark_data_type(field)).alias(field.name)


def _with_type_after(after: StructField, before: StructField | None) -> AlignedColumn:
    """Return a column with its type after the MERGE, from the column before it. A new column is NULL."""
    text = cast_sql("null", after.type) if before is None else aligned(quoted_name(before.name), before.type, after.type)
    return text, after.name, after.type


def merge_of(
    target: SessionTable,
    snapshot: Snapshot,
    resolution: Resolution,
    source: Source,
    settings: Mapping[str, str],
    txn: tuple[str, int] | None,
) -> Merge:
    """Return a MERGE whose files may contain a match, or a row without a match that a clause changes.

    The predicate for pruning combines the parts of the condition over the table alone, the keys of the source, and the conditions
    of the clauses.
    """
    application, jvm = target.application, jvm_of(target.application)
    total = snapshot.files(["path"]).num_rows
    own = _own_parts(target, snapshot, resolution, resolution.condition)
    parts = parts_about_partitions(snapshot, [NativeExpr(jvm, each) for each in own])
    predicate = _of_matches(target, snapshot, resolution, source, own)
    if by_source := resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE):
        # These clauses also change rows in partitions that the search condition excludes.
        changed = [_about_table(target, snapshot, resolution, each.condition) for each in by_source]
        predicate, parts = Or((predicate, *changed)), ()
    partitions = {field.physical_name for name in snapshot.partition_columns if (field := snapshot.schema.field(name))}
    in_partitions = matching_partitions(target, snapshot, parts)
    session = java_session(target.spark)
    if (chosen := choose(application, session, snapshot, only_about(predicate, partitions))) is not None:
        in_partitions = common(in_partitions, chosen)
    chosen = choose(application, session, snapshot, predicate)
    candidates = in_partitions if chosen is None else common(in_partitions, chosen)
    found = NativeExpr(jvm, resolution.condition)
    condition = RowCondition(found, False, found.shown, predicate, parts)
    files = ChosenFiles(total, in_partitions, candidates, whole=pa.array([], pa.int64()))
    expressions = Expressions(resolution.sides.target, plans.output(resolution.sides.target), resolution.condition)
    statement = NativeStatement(jvm, expressions)
    return Merge(Change(target, "MERGE", snapshot, statement, condition, files, settings, txn), resolution, source)


def _of_matches(
    target: SessionTable, snapshot: Snapshot, resolution: Resolution, source: Source, own: Sequence[JavaObject]
) -> Predicate:
    """Return a predicate that every row of the table satisfies if the MERGE must find its match.

    If a clause inserts, it must find all matches. Otherwise it must find matches that a clause may change.
    """
    if source.rows == 0:
        return Boolean(value=False)
    of_matches = (*source.predicates, *(_predicate(target, snapshot, each) for each in own))
    if resolution.of_kind(Kind.NOT_MATCHED):
        return And(of_matches)
    changed = [_about_table(target, snapshot, resolution, each.condition) for each in resolution.of_kind(Kind.MATCHED)]
    return And((*of_matches, Or(tuple(changed))))


def _about_table(target: SessionTable, snapshot: Snapshot, resolution: Resolution, condition: JavaObject | None) -> Predicate:
    """Return the part of a clause's condition that reads only the table, as a predicate."""
    own = [] if condition is None else _own_parts(target, snapshot, resolution, condition)
    return And(tuple(_predicate(target, snapshot, each) for each in own))


def _own_parts(target: SessionTable, snapshot: Snapshot, resolution: Resolution, condition: JavaObject) -> list[JavaObject]:
    """Return the conjuncts of a condition that read only the table, as Spark simplifies them.

    Conjuncts about columns that the MERGE widens are left out: their values have a wider type than the statistics.
    """
    jvm = jvm_of(target.application)
    ids = catalyst.ids_of(jvm, resolution.sides.target)
    own = [
        part
        for part in nodes.conjuncts(jvm, condition)
        if nodes.is_deterministic(part) and all(plans.id_of(each) in ids for each in nodes.references_of(jvm, part))
    ]
    if own:
        output, together = plans.output(resolution.sides.target), nodes.conjunction(jvm, own)
        own = nodes.conjuncts(jvm, row_changes.simplified_condition(jvm, target.spark, output, together))
    widened = {
        field.name.lower()
        for field in resolution.schema.fields
        if (before := snapshot.schema.field(field.name)) is not None and before.type != field.type
    }
    return [part for part in own if not widened or widened.isdisjoint(map(str.lower, nodes.names_of(jvm, part)))]


def _predicate(target: SessionTable, snapshot: Snapshot, found: JavaObject) -> Predicate:
    return from_catalyst([described(jvm_of(target.application), found)], by_logical_name(snapshot.schema))
