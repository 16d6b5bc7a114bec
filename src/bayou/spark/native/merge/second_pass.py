# SPDX-License-Identifier: Apache-2.0
"""The second pass of a MERGE: write inserted, updated and copied rows, by the joins of its strategy.

With a change data feed, the same job also writes the change rows. For them, deleted rows and old values pass through the job.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
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
from bayou.spark.data_files.written_files import NewFiles
from bayou.spark.dml.merge.actions import ACTION, is_one_of
from bayou.spark.dml.merge.counts import OF_SOURCE, OF_TABLE, observed
from bayou.spark.dml.merge.first_pass import clauses_with, positions_of
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.dml.merge.strategy import FirstPass, Matches, Part, choose_strategy
from bayou.spark.dml.merge.written_rows import may_repartition, merge_request
from bayou.spark.jvm.core import nodes
from bayou.spark.native.merge.actions import action_of, matched_action_of
from bayou.spark.native.merge.auxiliary_columns import AuxiliaryValues
from bayou.spark.native.merge.source_rows import SourceRows
from bayou.spark.native.merge.values import WrittenColumns
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.scan.row_ids import FILE, METADATA
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import Column

    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.dml.merge.any_merge import Found
    from bayou.spark.native.merge.target_rows import Merge
    from bayou.spark.read.change_rows import AuxiliaryColumns

_MATCH = "__bayou_match"
_MANY_COLUMNS: Final = 500
"""From this number of columns on, an observation separates two projections.

Spark compares each column of a projection with each column of the projection below it before it finds that it cannot merge them.
"""


class Writer:
    """Writes the rows of one MERGE.

    Attributes:
        strategy: the joins, chosen from the result of the first pass.
    """

    def __init__(self, merge: Merge, found: Found, uncommitted: UncommittedFiles, *, rewrites: bool) -> None:
        """Choose the joins.

        Args:
            uncommitted: takes over the new files.
            rewrites: whether files with changed rows are rewritten; otherwise only inserted and updated rows are written.
        """
        self._merge = merge
        self._found = found
        self._uncommitted = uncommitted
        self._rewrites = rewrites
        self._updates = clauses_with(merge, Action.UPDATE)
        self._inserts = clauses_with(merge, Action.INSERT)
        self._source = SourceRows(merge, found)
        self._auxiliary = AuxiliaryValues(merge, found, rewrites=rewrites)
        self._changed = self._auxiliary.changed
        self._identities = {each.name.lower() for each in identity_columns(merge.resolution.schema)}
        self.strategy = choose_strategy(merge.facts, self._first_pass())

    def _first_pass(self) -> FirstPass:
        found = self._found
        files = pc.unique(pa.concat_arrays([positions_of(self._changed), self._source.files_with_matches.cast(pa.int64())]))
        totals = FileTotals.of(self._merge.change.snapshot.files(["size"])["size"], files)
        return FirstPass(
            writes_table_rows=bool(self._changed),
            writes_change_rows=self._auxiliary.feeds,
            has_matches=bool(found.changed()) or bool(found.kept),
            overlaps=found.overlaps,
            repeats=found.repeats,
            num_pairs=found.num_pairs,
            num_files=totals.files,
            num_bytes=totals.size_bytes,
        )

    def write(self) -> NewFiles:
        """Write the files.

        Raises:
            ConstraintViolationError: a row violates a constraint of the table.
        """
        written = list(self._by_one_job() if self.strategy.one_job else self._by_parts())
        seen = {name: values for each in written for name, values in each.observed.items()}
        if len(written) > 1:  # a job that generates identity values does not observe its rows
            seen[OF_SOURCE] = [0, 0, 0, sum(each.num_rows for each in written[1 if self._changed else 0 :])]
        head = next((each.head for each in reversed(written) if each.head), self._table.head)
        files, changes = [file for each in written for file in each.files], [file for each in written for file in each.changes]
        return NewFiles(files, sum(e.num_rows for e in written), sum(e.num_bytes for e in written), head, changes, seen)

    def _by_one_job(self) -> Iterator[NewFiles]:
        rows_of: dict[Part, Callable[[], DataFrame]] = {
            Part.TABLE: self._table_part,
            Part.INSERTS: lambda: self._source_part(self._inserts),
            Part.BOTH: lambda: self._made([*self._updates, *self._inserts], self._of_both()),
            Part.SOURCE: lambda: self._source_part([*self._updates, *self._inserts]),
        }
        parts = [rows_of[part]() for part in self.strategy.parts]
        if parts:
            rows = self._in_tasks(reduce(DataFrame.union, parts))
            yield self._write(rows, self._provided([*self._updates, *self._inserts]), self._auxiliary.columns)

    def _by_parts(self) -> Iterator[NewFiles]:
        if Part.TABLE in self.strategy.parts:
            yield self._write(self._table_part(), self._provided(self._updates), self._auxiliary.columns)
        for clauses in self._inserts_by_identities():
            left_out = self._left_out(clauses)
            new = self._source_part(clauses, left_out, alone=True)
            written = self._write(new, self._provided(clauses), self._auxiliary.of_new_rows_alone, left_out)
            self._go_on_from(written)
            yield written

    def _go_on_from(self, written: NewFiles) -> None:
        """Start the next values of identity columns after those of a write."""
        metadata = next((each for each in written.head if isinstance(each, Metadata)), None)
        if metadata is not None:
            schema = parse_schema(metadata.schema_string)
            self._table = replace(self._table, metadata=metadata, schema=schema, head=written.head)

    @property
    def feeds(self) -> bool:
        """Whether deleted rows pass through the job, for the change data feed."""
        return self._auxiliary.feeds

    @property
    def counts_rows(self) -> bool:
        """Whether the job counts its rows by kind."""
        return self.strategy.counts_rows

    def _inserts_by_identities(self) -> list[list[int]]:
        """Return the clauses that insert, grouped by the identity columns that they assign.

        Each group needs its own job: a job generates the values of an identity column for all of its rows, or for none.
        """
        groups: dict[frozenset[str], list[int]] = {}
        for each in self._merge.resolution.clauses:
            if each.number in self._inserts:
                groups.setdefault(each.assigned & self._identities, []).append(each.number)
        return list(groups.values())

    def _left_out(self, clauses: Sequence[int]) -> set[str]:
        """Return the identity and generated columns that no clause assigns. The write computes them."""
        assigned = self._provided(clauses)
        schema = self._merge.resolution.schema
        generated = {field.name.lower() for field in schema.fields if generation_expression(field) is not None}
        return {name for name in self._identities | generated if name not in assigned}

    @cached_property
    def _table(self) -> WriteTarget:
        """The table after the MERGE. It is computed once, because column mapping gives new columns random physical names."""
        change, schema = self._merge.change, self._merge.resolution.schema
        partitions = change.snapshot.partition_columns
        return changed(change.target.log, change.snapshot, schema, readable_schema(schema), partitions=partitions)

    def _target(self, provided: Iterable[str], left_out: Iterable[str] = ()) -> WriteTarget:
        target, omitted = self._table, set(left_out)
        given = StructType(tuple(f for f in target.given.fields if f.name.lower() not in omitted))
        rules = constraints_of(target.metadata, target.schema, provided=provided if target.generates else ())
        return replace(target, given=given, constraints=rules)

    def _write(
        self, rows: DataFrame, provided: Iterable[str], auxiliary: AuxiliaryColumns, left_out: Iterable[str] = ()
    ) -> NewFiles:
        target = self._target(provided, left_out)
        application, names = self._merge.change.target.application, (OF_TABLE, OF_SOURCE) if self.strategy.counts_rows else ()
        return write_new_files(
            application, rows, merge_request(self._merge), target, self._uncommitted, auxiliary=auxiliary, observations=names
        )

    def _counted(self, rows: DataFrame, name: str) -> DataFrame:
        """Observe the number of rows by kind, if the strategy requires it or rows are wide (see `_MANY_COLUMNS`)."""
        is_wide = len(self._merge.resolution.schema.fields) >= _MANY_COLUMNS
        return observed(rows, self._merge, name) if self.strategy.counts_rows or is_wide else rows

    def _provided(self, clauses: Iterable[int]) -> set[str]:
        """Return the columns that some clauses assign."""
        numbers = set(clauses)
        return {name for each in self._merge.resolution.clauses if each.number in numbers for name in each.assigned}

    def _in_tasks(self, rows: DataFrame) -> DataFrame:
        """Limit the number of tasks, and so of files, if the session allows it. If the write coalesces its rows, limit nothing."""
        max_tasks = self.strategy.max_tasks
        if (
            max_tasks is None
            or not may_repartition(self._merge.change)
            or is_gathered(merge_request(self._merge).options, self._table)
        ):
            return rows
        return rows.coalesce(max_tasks)

    def _table_part(self) -> DataFrame:
        return self._made(self._updates, self._of_table())

    def _made(self, clauses: Iterable[int], joined: DataFrame) -> DataFrame:
        """Return the columns to write, from joined rows that include rows of the table."""
        columns = WrittenColumns(self._merge, clauses)
        copies = self._rewrites or self._auxiliary.feeds
        return columns.of(joined, copies=copies, auxiliary=self._auxiliary.joined(columns))

    def _source_part(self, clauses: Sequence[int], left_out: Iterable[str] = (), *, alone: bool = False) -> DataFrame:
        columns = WrittenColumns(self._merge, clauses, left_out)
        rows = self._counted(self._source.rows(clauses), OF_SOURCE)
        return columns.of(rows, copies=False, auxiliary=self._auxiliary.new(alone=alone))

    def _of_table(self) -> DataFrame:
        """Return the table's rows that pass through the job, joined with the source's rows that they match."""
        merge, matches = self._merge, self.strategy.matches
        files = positions_of(self._changed)
        rows = merge.rows(files, with_numbers=matches is Matches.ONE, with_ids=self._auxiliary.ids is not None)
        condition = self._condition
        if matches is Matches.CHANGING:
            condition = condition & (matched_action_of(merge) >= 0)
        joined = rows.join(merge.source.marked(), condition, "left" if self._needs_all else "inner")
        joined = joined.withColumn(ACTION, action_of(merge) if self._needs_all else matched_action_of(merge))
        if matches is Matches.ONE:
            # Keep the match with the greatest action: an action that changes the row is greater than `KEPT`.
            numbered = Window.partitionBy(FILE, f"{METADATA}.row_index").orderBy(F.col(ACTION).desc())
            joined = joined.withColumn(_MATCH, F.row_number().over(numbered)).where(F.col(_MATCH) == 1)
        return self._written(joined)

    def _of_both(self) -> DataFrame:
        """Return the rows of `_of_table`, and the source's rows without a match, by one join.

        Files in which rows match but no row changes must take part in the join, so that their matches are not inserted. Their marks
        are negative, so that `_written` does not copy their rows.
        """
        merge = self._merge
        files = positions_of({*self._changed, *self._found.changed(), *self._found.kept})
        marks = pa.array([each if each in self._changed else -1 - each for each in files.to_pylist()], pa.int32())
        rows = merge.rows(files, marks, with_ids=self._auxiliary.ids is not None)
        joined = rows.join(merge.source.marked(), self._condition, "full" if self._needs_all else "right")
        return self._written(joined.withColumn(ACTION, action_of(merge)))

    @property
    def _needs_all(self) -> bool:
        """Whether rows of the table without a match must pass through the join: they are copied, or a clause may change them."""
        return self._rewrites or bool(self._merge.resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE))

    def _written(self, joined: DataFrame) -> DataFrame:
        is_written = is_one_of(self._auxiliary.passed)
        if self._rewrites:
            is_written = f"{is_written} or ({ACTION} < 0 and {FILE} >= 0)"
        return self._counted(joined.where(is_written), OF_TABLE)

    @property
    def _condition(self) -> Column:
        return nodes.column(jvm_of(self._merge.change.target.application), self._merge.resolution.condition)
