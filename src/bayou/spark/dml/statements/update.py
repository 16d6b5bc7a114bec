# SPDX-License-Identifier: Apache-2.0
"""UPDATE: rewrite touched files with the new values, or write the new rows and mark the old ones in deletion vectors."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.plan.row_changes import FileTotals, RowChangeCounts, Way
from bayou.protocol.columns.expression_functions import ExpressionKind
from bayou.protocol.columns.generated_columns import generation_expression, has_generated_columns
from bayou.protocol.types.sql_text import parenthesised, quoted_name
from bayou.spark.dml.core.commit import Outcome, run
from bayou.spark.dml.core.live_rows import count_live
from bayou.spark.dml.core.reruns import with_reruns
from bayou.spark.dml.core.result import PlannedChange
from bayou.spark.dml.core.rewrite import write_change_rows, write_rows
from bayou.spark.dml.core.row_counts import check_written
from bayou.spark.dml.core.touched_rows import count_touched, find_touched
from bayou.spark.dml.core.vectors import mark_rows
from bayou.spark.dml.statements.assignments import NewValues, checked_assignments
from bayou.spark.expressions.stored_expressions import check_stored
from bayou.spark.read.change_rows import ROW_ACTION, RowAction
from bayou.spark.types.char_columns import declared_chars, with_chars
from bayou.spark.types.types import readable_schema, sql_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.log.commit.transaction import Transaction
    from bayou.plan.row_changes import RowChangePlan
    from bayou.protocol.types.schema import StructField
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.core.commit import Stopwatch
    from bayou.spark.dml.core.result import RowChangeResult
    from bayou.spark.dml.core.row_change import Change

_CHANGED = "__bayou_changed"
_MATCHES = "__bayou_matches"


def plan_update(change: Change) -> PlannedChange:
    """Plan an UPDATE.

    Raises:
        SchemaMismatchError: a column is set twice, or to a value of another structure.
        InvalidSchemaError: an identity column is set.
        UnsupportedFeatureError: bayou lacks a feature that rewritten rows of the table need.
    """
    first = _Update(change)
    return PlannedChange(first.plan, lambda: with_reruns(first, _Update.run, _Update.on_latest))


class _Update:
    """An UPDATE on one snapshot.

    It has two ways. `_by_rewriting` copies whole files with the new values. `_by_vectors` writes only the updated rows, and marks
    the old rows in deletion vectors. If partition values decide that whole files match, it always rewrites them.
    """

    def __init__(self, change: Change) -> None:
        self._change = change
        assignments = checked_assignments(change.statement.assignments(change.snapshot), change.snapshot)
        backend, spark = change.target.application.backend, change.target.spark
        self._values = NewValues(backend, spark, assignments, change.snapshot, change.settings)
        self._is_whole = change.condition.found is None or change.condition.is_about_partitions
        self.way = Way.NOTHING
        if len(change.files.candidates):
            self.way = Way.VECTORS if change.uses_vectors and not self._is_whole else Way.REWRITE

    @property
    def plan(self) -> RowChangePlan:
        """Return the plan."""
        return self._change.plan(self.way, reads=self._change.files.candidates)

    def run(self) -> RowChangeResult:
        """Run the UPDATE in a transaction of its own."""
        with self._change.settled() as change:
            settled = self if change is self._change else _Update(change)
            return run(change, settled.prepare).by(settled.plan)

    def on_latest(self) -> _Update:
        """Return the statement on the latest version."""
        return _Update(self._change.on_latest())

    def prepare(self, transaction: Transaction, uncommitted: UncommittedFiles, watch: Stopwatch) -> Outcome | None:
        """Write the files of the commit; return None if no row changes."""
        change = self._change
        has_subquery = change.statement.values_have_subquery
        # Planning the write job raises the same errors. Check before if that job may not run, except with subqueries: planning them
        # twice is expensive.
        is_checked = self.way is Way.NOTHING or not (self._is_whole or has_subquery)
        if is_checked:
            self._check()
        if self.way is Way.NOTHING:
            return None
        if has_subquery and change.statement.values_may_read(change.target, change.snapshot):
            transaction.read_whole_table()
        outcome = (self._by_vectors if self.way is Way.VECTORS else self._by_rewriting)(uncommitted, watch)
        if outcome is not None:
            watch.lap("rewriteTimeMs")
        elif not is_checked:
            self._check()
        return outcome

    def _check(self) -> None:
        """Raise the errors of values that can never be stored in their columns, even if no row matches."""
        casts = self._values.casts(readable_schema(self._change.snapshot.schema))
        if casts:
            self._change.statement.check_values(partial(self._change.rows, pa.array([], pa.int64())), casts)

    def _by_rewriting(self, uncommitted: UncommittedFiles, watch: Stopwatch) -> Outcome | None:
        change = self._change
        if self._is_whole:
            positions, updated = change.files.candidates, None
        else:
            touched = count_touched(change, change.files.candidates)
            positions, updated = pa.array(sorted(touched), pa.int64()), sum(touched.values())
        watch.lap("scanTimeMs")
        if not len(positions):
            return None
        rows = change.rows(positions, with_ids=True)
        matches = None if self._is_whole else change.condition.matches
        if matches is not None and change.condition.has_subquery:  # a column, so that Spark does not join once per new value
            rows, matches = rows.select("*", matches.alias(_MATCHES)), F.col(_MATCHES)
        files = change.snapshot.files(["size", "deletion_vector"]).take(positions)
        totals = FileTotals.of(files["size"])
        is_separate = change.feeds and self._gives_the_same
        added = self._written(rows, matches, uncommitted, feeds=change.feeds and not is_separate)
        live = count_live(change, positions)
        what = f"the rows of {totals.files} files that are rewritten"
        check_written(change, written=added.num_rows, expected=live, what=what, counted=positions)
        if is_separate:
            added = self._with_change_rows(added, positions, uncommitted, num_rows=added.num_rows if updated is None else updated)
        changed = added.num_rows if updated is None else updated
        counts = RowChangeCounts(
            changed_rows=changed,
            copied_rows=added.num_rows - changed,
            removed_files=totals.files,
            removed_bytes=totals.size_bytes,
            added_files=len(added.files),
            added_bytes=added.num_bytes,
            vectors_removed=files.num_rows - files["deletion_vector"].null_count,
        )
        return Outcome(counts, positions, added, rewritten=len(positions))

    def _by_vectors(self, uncommitted: UncommittedFiles, watch: Stopwatch) -> Outcome | None:
        change = self._change
        touched = find_touched(change, change.files.candidates)
        watch.lap("scanTimeMs")
        if not touched:
            return None
        rows = change.affected(change.rows(pa.array(sorted(touched), pa.int64()), with_ids=True))
        added = self._written(rows, None, uncommitted, feeds=change.feeds)
        num_found = sum(bitmap.cardinality for bitmap in touched.values())
        check_written(change, written=added.num_rows, expected=num_found, what="the rows that were found")
        marked = mark_rows(change, touched)
        counted = marked.metrics()
        counts = RowChangeCounts(
            changed_rows=counted["numDeletedRows"],
            removed_files=counted["numRemovedFiles"],
            removed_bytes=counted["numRemovedBytes"],
            added_files=len(added.files),
            added_bytes=added.num_bytes,
            vectors_added=counted["numDeletionVectorsAdded"],
            vectors_removed=counted["numDeletionVectorsRemoved"],
            vectors_updated=counted["numDeletionVectorsUpdated"],
        )
        return Outcome(counts, added=added, deleted=marked)

    def _written(self, rows: DataFrame, matches: Column | None, uncommitted: UncommittedFiles, *, feeds: bool) -> NewFiles:
        """Write rows with their new values as new files.

        Args:
            matches: the condition for rows that change; None if all rows change.
            feeds: whether the same job writes the change data files.
        """
        ids = self._change.row_ids
        auxiliary = [] if ids is None else [*ids.columns(F.lit(True) if matches is None else matches)]
        auxiliary += self._for_feed(matches) if feeds else []
        before = self._before if feeds else None
        new_rows = self._new_rows(rows, matches, auxiliary)
        return write_rows(self._change, new_rows, uncommitted, self._values.names, feeds=feeds, before=before)

    def _with_change_rows(self, added: NewFiles, positions: pa.Array, uncommitted: UncommittedFiles, *, num_rows: int) -> NewFiles:
        """Write the change data files: a pre-image and a post-image of each row."""
        change = self._change
        rows = self._new_rows(change.affected(change.rows(positions)), None, self._for_feed(None))
        return write_change_rows(change, added, rows, uncommitted, expected=2 * num_rows, before=self._before)

    @property
    def _gives_the_same(self) -> bool:
        """Return whether another job finds the same rows and the same new values."""
        return self._change.finds_the_same and self._change.statement.values_give_the_same

    @cached_property
    def _before(self) -> dict[str, str]:
        """Return the names of the columns with the old values for the change data feed, by the names of the columns that change."""
        fields = self._change.snapshot.schema.fields
        names = [f.name for f in fields if f.name.lower() in self._values.names or self._generated(f) is not None]
        return {name: f"__bayou_before{number}" for number, name in enumerate(names)}

    def _for_feed(self, matches: Column | None) -> list[Column]:
        """Return the auxiliary columns of the change data feed: `ROW_ACTION` and the old values."""
        updated = F.lit(int(RowAction.UPDATED))
        row_action = updated if matches is None else F.when(matches, updated).otherwise(int(RowAction.KEPT))
        return [row_action.alias(ROW_ACTION), *(F.col(quoted_name(name)).alias(column) for name, column in self._before.items())]

    def _new_rows(self, rows: DataFrame, matches: Column | None, auxiliary: Sequence[Column]) -> DataFrame:
        """Return the rows with their new values.

        Args:
            matches: the condition for rows that change; None if all rows change.
            auxiliary: the auxiliary columns, computed from the old rows.
        """
        backend, schema = self._change.target.application.backend, readable_schema(self._change.snapshot.schema)
        columns = self._change.statement.new_columns(rows)
        condition = None if matches is None else columns.given(matches)
        for field in schema.fields:
            name = field.name.lower()
            new = self._values.of(field, columns) if name in self._values.names else None
            if new is not None and condition is None:
                columns.add(field.name, new)
            else:
                old = columns.old(field.name)
                columns.add(field.name, old, [] if new is None or condition is None else [(condition, new)])
        computed = {
            field.name: text for field in self._change.snapshot.schema.fields if (text := self._generated(field)) is not None
        }
        if not computed:
            return columns.selected(rows, auxiliary)
        # Generated columns are computed in a second projection, because they depend on the new values.
        rows = columns.selected(rows, [*auxiliary, (F.lit(True) if matches is None else matches).alias(_CHANGED)])
        rows = with_chars(backend, rows, declared_chars((f, f.name) for f in self._change.snapshot.schema.fields))
        stored = (_recomputed(f, computed[f.name]) if f.name in computed else (f.name,) for f in schema.fields)
        return backend.select(rows, [*stored, *((name,) for name in backend.names_of(rows)[len(schema.fields) : -1])])

    def _generated(self, field: StructField) -> str | None:
        """Return the expression of a generated column if the UPDATE does not set the column; otherwise None."""
        target, snapshot = self._change.target, self._change.snapshot
        text = generation_expression(field) if has_generated_columns(snapshot.protocol, snapshot.schema) else None
        if text is None or field.name.lower() in self._values.names:
            return None
        check_stored(
            target.application.backend.parsed(target.spark, text),
            ExpressionKind.GENERATED_COLUMN,
            snapshot.schema,
            of=f"the generated column {field.name!r}",
            table=snapshot.table_uri,
            version=snapshot.version,
        )
        return text


def _recomputed(field: StructField, text: str) -> str:
    name = quoted_name(field.name)
    return f"if({_CHANGED}, cast({parenthesised(text)} as {sql_type(field.type)}), {name}) as {name}"
