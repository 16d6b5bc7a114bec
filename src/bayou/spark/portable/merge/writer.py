# SPDX-License-Identifier: Apache-2.0
"""Write the rows of a MERGE in one job: updated and copied rows of the table, and inserted rows of the source."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.plan.row_changes import FileTotals
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.columns.constraints import constraints_of
from bayou.protocol.columns.generated_columns import generation_expression
from bayou.protocol.columns.identity_columns import identity_columns
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.spark.data_files.new_files import write_new_files
from bayou.spark.data_files.target import WriteTarget, changed
from bayou.spark.data_files.write_jobs import is_gathered
from bayou.spark.data_files.written_files import NO_FILES, NewFiles
from bayou.spark.dml.merge.actions import ACTION, is_one_of
from bayou.spark.dml.merge.counts import OF_SOURCE, OF_TABLE, observed
from bayou.spark.dml.merge.first_pass import clauses_with, positions_of
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.dml.merge.strategy import FEW_FILES, ONE_TASK
from bayou.spark.dml.merge.written_rows import may_repartition, merge_request, needs_change_rows
from bayou.spark.portable.merge.values import WrittenColumns, nulls
from bayou.spark.read.change_rows import ROW_ACTION, AuxiliaryColumns, RowAction
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column

    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.dml.merge.any_merge import Found
    from bayou.spark.portable.merge.joins import JoinedMerge
    from bayou.spark.portable.merge.resolved import PortableClause

_FEW_ROWS: Final = 10_000
"""So many rows of the source are few. The server does not say how many bytes they have."""
_ACTIONS = {Action.UPDATE: RowAction.UPDATED, Action.DELETE: RowAction.DELETED}


class Writer:
    """Writes the rows of one MERGE; an implementation of `AnyWriter`.

    Attributes:
        feeds: whether change rows are written too, for which deleted rows pass through the job.
        counts_rows: whether the job counts its rows by kind.
    """

    counts_rows = True

    def __init__(self, merge: JoinedMerge, found: Found, uncommitted: UncommittedFiles, *, rewrites: bool) -> None:
        """Prepare the write.

        Args:
            uncommitted: takes over the new files.
            rewrites: whether files with changed rows are rewritten; otherwise only inserted and updated rows are written.
        """
        self._merge, self._found, self._uncommitted, self._rewrites = merge, found, uncommitted, rewrites
        self._updates, self._deletes = clauses_with(merge, Action.UPDATE), clauses_with(merge, Action.DELETE)
        self.feeds = merge.change.feeds and needs_change_rows(merge, found, rewrites=rewrites)
        self._columns = WrittenColumns(merge)
        self._identities = {each.name.lower() for each in identity_columns(merge.resolution.schema)}
        in_job = found.changed() if rewrites or self.feeds else found.changed(self._updates)
        self._files = positions_of(in_job)
        self._ids = merge.change.row_ids if in_job else None

    def write(self) -> NewFiles:
        """Write the files.

        Raises:
            ConstraintViolationError: a row violates a constraint of the table.
        """
        inserts = self._with(Kind.NOT_MATCHED, Action.INSERT)
        if inserts and self._identities:
            return self._by_parts(inserts)
        parts: list[tuple[str, DataFrame]] = []
        if len(self._files):
            parts.append((OF_TABLE, self._of_table()))
        if inserts:
            parts.append((OF_SOURCE, self._of_source(inserts, self._columns)))
        if not parts:
            return replace(NO_FILES, head=self._table.head)
        counted = [observed(rows, self._merge, name) for name, rows in parts]
        rows = self._columns.generated(reduce(DataFrame.union, counted)).drop(ACTION)
        rows, target = self._in_one_task(rows, inserts=bool(inserts)), self._target(self._merge.resolution.clauses)
        written = self._written(rows, target, self._auxiliary, [name for name, _ in parts])
        return replace(written, head=written.head or self._table.head)

    def _in_one_task(self, rows: DataFrame, *, inserts: bool) -> DataFrame:
        """Coalesce the rows of a small MERGE into one task, and so into one file. The session or the write may decide otherwise.

        Args:
            inserts: whether the job inserts rows. It may read all candidate files for them.
        """
        change = self._merge.change
        if not may_repartition(change) or is_gathered(merge_request(self._merge).options, self._table):
            return rows
        read = change.files.candidates if inserts and self._found.matches is None else self._files
        totals = FileTotals.of(change.snapshot.files(["size"])["size"], read)
        is_small = totals.files <= FEW_FILES and totals.size_bytes <= ONE_TASK and self._merge.source.rows <= _FEW_ROWS
        return rows.coalesce(1) if is_small else rows

    def _by_parts(self, inserts: Sequence[PortableClause]) -> NewFiles:
        """Write rows in several jobs, because a job generates the values of an identity column for all of its rows, or for none."""
        done: list[NewFiles] = []
        seen: dict[str, Sequence[Any]] = {}
        if len(self._files):
            rows = self._columns.generated(observed(self._of_table(), self._merge, OF_TABLE)).drop(ACTION)
            updates = [each for each in self._merge.resolution.clauses if each.action is Action.UPDATE]
            done.append(self._written(rows, self._target(updates), self._auxiliary, [OF_TABLE]))
            seen.update(done[0].observed)
        groups: dict[frozenset[str], list[PortableClause]] = {}
        for each in inserts:
            groups.setdefault(each.assigned & self._identities, []).append(each)
        inserted = 0
        for clauses in groups.values():
            left_out = self._left_out(clauses)
            columns = WrittenColumns(self._merge, left_out)
            rows = columns.generated(self._of_source(clauses, columns, alone=True)).drop(ACTION)
            target = self._target(clauses, left_out)
            done.append(self._written(rows, target, AuxiliaryColumns(feeds=self.feeds), []))
            inserted += done[-1].num_rows
            self._go_on_from(done[-1])
        seen[OF_SOURCE] = [0, 0, 0, inserted]
        head = next((each.head for each in reversed(done) if each.head), self._table.head)
        files, changes = [file for each in done for file in each.files], [file for each in done for file in each.changes]
        return NewFiles(files, sum(e.num_rows for e in done), sum(e.num_bytes for e in done), head, changes, seen)

    def _written(self, rows: DataFrame, target: WriteTarget, auxiliary: AuxiliaryColumns, observations: Sequence[str]) -> NewFiles:
        application, request = self._merge.change.target.application, merge_request(self._merge)
        return write_new_files(
            application, rows, request, target, self._uncommitted, auxiliary=auxiliary, observations=observations
        )

    def _go_on_from(self, written: NewFiles) -> None:
        """Start the next values of identity columns after those of a write."""
        metadata = next((each for each in written.head if isinstance(each, Metadata)), None)
        if metadata is not None:
            schema = parse_schema(metadata.schema_string)
            self._table = replace(self._table, metadata=metadata, schema=schema, head=written.head)

    def _left_out(self, clauses: Sequence[PortableClause]) -> set[str]:
        """Return the identity and generated columns that no clause assigns. The write computes them."""
        assigned = {name for each in clauses for name in each.assigned}
        generated = {f.name.lower() for f in self._merge.resolution.schema.fields if generation_expression(f) is not None}
        return {name for name in self._identities | generated if name not in assigned}

    def _of_table(self) -> DataFrame:
        """Return the rows of the table that pass through the job."""
        merge, with_ids = self._merge, self._ids is not None
        passed = [*self._updates, *(self._deletes if self.feeds else [])]
        condition = f"{is_one_of(passed)} or {ACTION} < 0" if self._rewrites else is_one_of(passed)
        parts = []
        updated = self._with(Kind.MATCHED, Action.UPDATE)
        by_pairs = merge.updates_from_source and not (self._rewrites or self.feeds or with_ids)
        if self._rewrites or (merge.resolution.of_kind(Kind.MATCHED) and not by_pairs):
            once = self._found.overlaps or self._found.repeats
            parts.append((Kind.MATCHED, merge.matched(self._files, with_ids=with_ids, once=once)))
        if self._rewrites or merge.resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE):
            parts.append((Kind.NOT_MATCHED_BY_SOURCE, merge.unmatched(self._files, with_ids=with_ids)))
        rows = [
            self._columns.of_table(joined.where(condition), self._with(kind, Action.UPDATE), self._more_of_table())
            for kind, joined in parts
        ]
        if by_pairs:
            rows.append(self._columns.of_source(merge.paired(self._found, [each.number for each in updated]), updated, []))
        return reduce(DataFrame.union, rows)

    def _of_source(self, inserts: Sequence[PortableClause], columns: WrittenColumns, *, alone: bool = False) -> DataFrame:
        """Return the rows that some clauses insert.

        Args:
            alone: whether a job writes only them.
        """
        merge = self._merge
        rows = merge.new(merge.change.files.candidates) if self._found.matches is None else merge.new_by_pairs(self._found)
        rows = rows.where(is_one_of([each.number for each in inserts]))
        more = [] if self._ids is None or alone else [*self._ids.of_new_rows()]
        if self.feeds:
            schema = readable_schema(merge.resolution.schema)
            more.append(F.lit(int(RowAction.INSERTED)).alias(ROW_ACTION))
            names = {} if alone else self._auxiliary.before
            before = ((schema.field(name), column) for name, column in names.items())
            more += nulls((field, column) for field, column in before if field is not None)
        return columns.of_source(rows, inserts, more)

    def _with(self, kind: Kind, action: Action) -> list[PortableClause]:
        return [each for each in self._merge.resolution.of_kind(kind) if each.action is action]

    @cached_property
    def _auxiliary(self) -> AuxiliaryColumns:
        """The names of the auxiliary columns."""
        hidden = () if self._ids is None else self._ids.names
        if not self.feeds:
            return AuxiliaryColumns(hidden)
        return AuxiliaryColumns(hidden, feeds=True, before={name: f"__bayou_before{n}" for n, name in enumerate(self._before)})

    @cached_property
    def _before(self) -> dict[str, Column]:
        """The old values of the columns that the MERGE updates."""
        return self._columns.changed_by([each for each in self._merge.resolution.clauses if each.action is Action.UPDATE])

    def _more_of_table(self) -> list[Column]:
        """Return the auxiliary columns of rows of the table."""
        found = [] if self._ids is None else [*self._ids.columns(F.expr(is_one_of(self._updates)))]
        if not self.feeds:
            return found
        row_action = F.lit(int(RowAction.KEPT))
        for action, numbers in ((Action.UPDATE, self._updates), (Action.DELETE, self._deletes)):
            if numbers:
                row_action = F.when(F.expr(is_one_of(numbers)), int(_ACTIONS[action])).otherwise(row_action)
        old = (value.alias(self._auxiliary.before[name]) for name, value in self._before.items())
        return [*found, row_action.alias(ROW_ACTION), *old]

    @cached_property
    def _table(self) -> WriteTarget:
        """The table after the MERGE. It is computed once, because column mapping gives new columns random physical names."""
        change, schema = self._merge.change, self._merge.resolution.schema
        partitions = change.snapshot.partition_columns
        return changed(change.target.log, change.snapshot, schema, readable_schema(schema), partitions=partitions)

    def _target(self, clauses: Iterable[PortableClause], left_out: Iterable[str] = ()) -> WriteTarget:
        target, omitted = self._table, set(left_out)
        provided = {name for each in clauses if each.action is not Action.DELETE for name in each.assigned}
        given = StructType(tuple(each for each in target.given.fields if each.name.lower() not in omitted))
        rules = constraints_of(target.metadata, target.schema, provided=provided if target.generates else ())
        return replace(target, given=given, constraints=rules)
