# SPDX-License-Identifier: Apache-2.0
"""The second pass of a MERGE: writes new, changed and copied rows, by the smallest join that the clauses allow.

For a change data feed the rows that are deleted pass through the same job, and the rows that are updated with their old values.
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
from bayou.protocol import properties
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.columns.constraints import constraints_of
from bayou.protocol.columns.generated_columns import generation_expression
from bayou.protocol.columns.identity_columns import identity_columns
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.spark.data_files.new_files import write_new_files
from bayou.spark.data_files.target import WriteTarget, changed
from bayou.spark.data_files.write_jobs import is_gathered
from bayou.spark.data_files.written_files import NewFiles
from bayou.spark.dml.core.commit import write_request
from bayou.spark.dml.core.scanned_rows import FILE, METADATA
from bayou.spark.dml.core.touched_rows import FILE_OPENING
from bayou.spark.dml.merge.actions import ACTION, action_of, is_one_of, matched_action_of
from bayou.spark.dml.merge.beside import RowsBeside
from bayou.spark.dml.merge.counts import OF_SOURCE, OF_TABLE, observed
from bayou.spark.dml.merge.first_pass import clauses_with, positions_of
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.dml.merge.source_rows import SourceRows
from bayou.spark.dml.merge.values import WrittenColumns
from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.core import nodes
from bayou.spark.session.settings import is_on
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column

    from bayou.spark.data_files.request import WriteRequest
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.dml.merge.first_pass import Found
    from bayou.spark.dml.merge.target_rows import Merge
    from bayou.spark.read.change_rows import AuxiliaryColumns

_MATCH = "__bayou_match"
_ONE_TASK: Final = FILE_OPENING
"""Bytes that one task reads and writes: no more than the opening of another file costs."""
_FEW_FILES: Final = 32
"""Files that one task opens one after the other."""
_MANY_COLUMNS: Final = 500
"""Spark takes the square of the number of columns to see that two projections on top of each other cannot be one."""
_REPARTITION = "spark.databricks.delta.merge.repartitionBeforeWrite.enabled"


class Writer:
    """Writes the rows of one MERGE."""

    def __init__(self, merge: Merge, found: Found, uncommitted: UncommittedFiles, *, rewrites: bool) -> None:
        """Begin.

        Args:
            uncommitted: takes over the new files.
            rewrites: whether the files of changed rows are written again; else only new and changed rows are written.
        """
        self._merge = merge
        self._found = found
        self._uncommitted = uncommitted
        self._rewrites = rewrites
        self._updates = clauses_with(merge, Action.UPDATE)
        self._inserts = clauses_with(merge, Action.INSERT)
        self._source = SourceRows(merge, found)
        self._beside = RowsBeside(merge, found, rewrites=rewrites)
        self._changed = self._beside.changed
        self._identities = {each.name.lower() for each in identity_columns(merge.resolution.schema)}

    def write(self) -> NewFiles:
        """The new files.

        Raises:
            ConstraintViolationError: a row breaks a rule of the table.
        """
        written: list[NewFiles] = []
        if self._inserts and self._generates_identities:
            auxiliary = self._beside.of_new_rows_alone
            if self._changed:
                written.append(self._write(self._table_part(), self._provided(self._updates), self._beside.columns))
            for clauses in self._inserts_by_identities():
                left_out = self._left_out(clauses)
                new = self._source_part(clauses, left_out, alone=True)
                written.append(self._write(new, self._provided(clauses), auxiliary, left_out))
                self._go_on_from(written[-1])
        else:
            rows = self._rows()
            if rows is not None:
                written.append(self._write(rows, self._provided([*self._updates, *self._inserts]), self._beside.columns))
        seen = {name: values for each in written for name, values in each.observed.items()}
        if len(written) > 1:  # numbers for identity columns are made of rows that are not observed any more
            seen[OF_SOURCE] = [0, 0, 0, sum(each.num_rows for each in written[1 if self._changed else 0 :])]
        head = next((each.head for each in reversed(written) if each.head), self._table.head)
        files, changes = [file for each in written for file in each.files], [file for each in written for file in each.changes]
        return NewFiles(files, sum(e.num_rows for e in written), sum(e.num_bytes for e in written), head, changes, seen)

    def _go_on_from(self, written: NewFiles) -> None:
        """Lets the numbers of identity columns that are given next come behind those of a write."""
        metadata = next((each for each in written.head if isinstance(each, Metadata)), None)
        if metadata is not None:
            schema = parse_schema(metadata.schema_string)
            self._table = replace(self._table, metadata=metadata, schema=schema, head=written.head)

    @property
    def feeds(self) -> bool:
        """Whether rows that are deleted pass through the job, for the change data feed."""
        return self._beside.feeds

    @property
    def request(self) -> WriteRequest:
        """The request of the write. Rows of a partitioned table are gathered by partition first, into files of a good size."""
        change = self._merge.change
        request = write_request(change)
        known = properties.OPTIMIZE_WRITE.read(change.snapshot.metadata.configuration)
        if request.options.optimize_write is None and known is None and self._gathers and change.snapshot.partition_columns:
            return replace(request, options=replace(request.options, optimize_write=True))
        return request

    @property
    def _gathers(self) -> bool:
        """Whether the session lets a MERGE gather rows before it writes them."""
        return is_on(self._merge.change.settings, _REPARTITION, default=True)

    @property
    def _generates_identities(self) -> bool:
        clauses = [each for each in self._merge.resolution.clauses if each.number in self._inserts]
        return bool(self._identities) and not all(self._identities <= each.assigned for each in clauses)

    def _inserts_by_identities(self) -> list[list[int]]:
        """The clauses that insert, by the identity columns that they set: a write gives all of its rows numbers, or none."""
        found: dict[frozenset[str], list[int]] = {}
        for each in self._merge.resolution.clauses:
            if each.number in self._inserts:
                found.setdefault(each.assigned & self._identities, []).append(each.number)
        return list(found.values())

    def _left_out(self, clauses: Sequence[int]) -> set[str]:
        """The columns of rows that some clauses insert which none of them sets, and which the write of any rows completes."""
        assigned = self._provided(clauses)
        schema = self._merge.resolution.schema
        generated = {field.name.lower() for field in schema.fields if generation_expression(field) is not None}
        return {name for name in self._identities | generated if name not in assigned}

    @cached_property
    def _table(self) -> WriteTarget:
        """The table after the MERGE. There is one of it: new columns that are mapped get names by chance."""
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
        application, names = self._merge.change.target.application, (OF_TABLE, OF_SOURCE) if self.is_counted else ()
        return write_new_files(application, rows, self.request, target, self._uncommitted, auxiliary=auxiliary, observations=names)

    @cached_property
    def is_counted(self) -> bool:
        """Whether it has to be counted how many rows of each kind are written: new rows hide what is amiss with others.

        It costs a fifth of the write: Spark cannot compile what stands below the counting together with what stands above.
        Where a row is found by Spark's own functions alone, in rows that are the same each time, nothing could be amiss.
        """
        if not (self._inserts and self._changed):
            return False
        conditions = ExpressionList.of(self._merge.change.target.application.jvm, self._merge.resolution.conditions)
        return not self._merge.source.is_sure or conditions.calls_foreign_code

    def _counted(self, rows: DataFrame, name: str) -> DataFrame:
        """The rows with their counts; wide rows have them in any case, to keep the projections below and above apart."""
        is_wide = len(self._merge.resolution.schema.fields) >= _MANY_COLUMNS
        return observed(rows, self._merge, name) if self.is_counted or is_wide else rows

    def _provided(self, clauses: Iterable[int]) -> set[str]:
        """The columns that some clauses set."""
        wanted = set(clauses)
        return {name for each in self._merge.resolution.clauses if each.number in wanted for name in each.assigned}

    def _rows(self) -> DataFrame | None:
        """All rows that are written; None where there can be none."""
        if self._changed and self._source.tells_updates:
            alone = self._source_part([*self._updates, *self._inserts])
            return self._in_tasks(alone, -(-self._merge.source.size // _ONE_TASK))
        matched = bool(self._found.changed()) or bool(self._found.kept)
        if self._inserts and matched and not self._merge.source.is_small and not (self._found.overlaps or self._repeats):
            return self._made([*self._updates, *self._inserts], self._of_both())
        parts = [self._table_part()] if self._changed else []
        if self._inserts:
            parts.append(self._source_part(self._inserts))
        if not parts:
            return None
        rows = reduce(DataFrame.union, parts)
        return self._in_tasks(rows, 1) if self._is_little else rows

    def _in_tasks(self, rows: DataFrame, most: int) -> DataFrame:
        """The rows in some tasks at most, each of which leaves a file, if the session lets it and partitions do not gather them."""
        gathers = self._gathers and not is_gathered(self.request.options, self._table)
        return rows.coalesce(max(1, most)) if gathers else rows

    @property
    def _is_little(self) -> bool:
        """Whether one task is enough: it leaves one file, and not one for the table's rows and one for each part of the source."""
        files = pc.unique(pa.concat_arrays([positions_of(self._changed), self._source.files_with_matches.cast(pa.int64())]))
        size = FileTotals.of(self._merge.change.snapshot.files(["size"])["size"], files).size_bytes
        return len(files) <= _FEW_FILES and size + self._merge.source.size <= _ONE_TASK

    @property
    def _repeats(self) -> bool:
        """Whether rows that pass through the job are joined with several of the source, and of these rows one counts."""
        overlaps = self._found.overlaps and bool(self._merge.resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE))
        return overlaps or (self._beside.feeds and self._found.repeats)

    def _table_part(self) -> DataFrame:
        return self._made(self._updates, self._of_table())

    def _made(self, clauses: Iterable[int], joined: DataFrame) -> DataFrame:
        """The columns that are written of joined rows, some of which are the table's."""
        columns = WrittenColumns(self._merge, clauses)
        copies = self._rewrites or self._beside.feeds
        return columns.of(joined, copies=copies, beside=self._beside.joined(columns))

    def _source_part(self, clauses: Sequence[int], left_out: Iterable[str] = (), *, alone: bool = False) -> DataFrame:
        columns = WrittenColumns(self._merge, clauses, left_out)
        rows = self._counted(self._source.rows(clauses), OF_SOURCE)
        return columns.of(rows, copies=False, beside=self._beside.new(alone=alone))

    def _of_table(self) -> DataFrame:
        """The table's rows that are written again, joined with what they match."""
        merge = self._merge
        rows = merge.rows(positions_of(self._changed), with_numbers=self._repeats, with_ids=self._beside.ids is not None)
        condition = self._condition
        if self._found.overlaps and not self._repeats:
            condition = condition & (matched_action_of(merge) >= 0)
        needs_all = self._rewrites or bool(merge.resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE))
        joined = rows.join(merge.source.marked(), condition, "left" if needs_all else "inner")
        joined = joined.withColumn(ACTION, action_of(merge) if needs_all else matched_action_of(merge))
        if self._repeats:
            # A row that one of its matches changes is changed; what stays has the lesser number.
            matches = Window.partitionBy(FILE, f"{METADATA}.row_index").orderBy(F.col(ACTION).desc())
            joined = joined.withColumn(_MATCH, F.row_number().over(matches)).where(F.col(_MATCH) == 1)
        return self._written(joined)

    def _of_both(self) -> DataFrame:
        """The same, with the source's rows that match nothing. Files that only hold matches take part and are not copied."""
        merge = self._merge
        files = positions_of({*self._changed, *self._found.changed(), *self._found.kept})
        marks = pa.array([each if each in self._changed else -1 - each for each in files.to_pylist()], pa.int32())
        rows = merge.rows(files, marks, with_ids=self._beside.ids is not None)
        needs_all = self._rewrites or bool(merge.resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE))
        joined = rows.join(merge.source.marked(), self._condition, "full" if needs_all else "right")
        return self._written(joined.withColumn(ACTION, action_of(merge)))

    def _written(self, joined: DataFrame) -> DataFrame:
        is_written = is_one_of(self._beside.passed)
        if self._rewrites:
            is_written = f"{is_written} or ({ACTION} < 0 and {FILE} >= 0)"
        return self._counted(joined.where(is_written), OF_TABLE)

    @property
    def _condition(self) -> Column:
        return nodes.column(self._merge.change.target.application.jvm, self._merge.resolution.condition)
