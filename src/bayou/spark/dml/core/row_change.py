# SPDX-License-Identifier: Apache-2.0
"""`Change`: a resolved DELETE, UPDATE or MERGE on one snapshot of its table.

It provides the files that may hold matching rows, the DataFrames that read these rows, and the transaction of the commit.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.log.commit.transaction import Transaction
from bayou.log.staging.read_set import ReadSet
from bayou.plan.predicates.predicate import And
from bayou.plan.row_changes import FileTotals, RowChangePlan, Way, files_by_outcome
from bayou.protocol import properties
from bayou.protocol.features.features import check_writable, writer_features
from bayou.protocol.features.protocol_rules import check_not_append_only
from bayou.protocol.schema.reserved_names import check_takes_rows
from bayou.spark.dml.core.chosen_files import choose_files
from bayou.spark.dml.core.condition import row_condition
from bayou.spark.dml.core.statement import ChosenRows
from bayou.spark.dml.core.target import latest_snapshot, refuse_file_metadata
from bayou.spark.read.change_rows import ROW_ACTION, RowAction
from bayou.spark.scan.file_metadata import FILE_METADATA
from bayou.spark.scan.row_ids import RowIdColumns
from bayou.spark.session.settings import batch_of, is_on
from bayou.spark.types.types import incompatible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.core.chosen_files import ChosenFiles
    from bayou.spark.dml.core.condition import RowCondition
    from bayou.spark.dml.core.statement import SettledCondition, Statement
    from bayou.spark.read.session_table import SessionTable

_PERSISTENT_VECTORS = {
    "DELETE": "spark.databricks.delta.delete.deletionVectors.persistent",
    "UPDATE": "spark.databricks.delta.update.deletionVectors.persistent",
    "MERGE": "spark.databricks.delta.merge.deletionVectors.persistent",
}
"""The setting of each operation. If it is `false`, the operation writes no deletion vectors, even if the table enables them."""


@dataclass(frozen=True, slots=True)
class Change:
    """A resolved statement on one snapshot of a table.

    Attributes:
        target: the table.
        operation: DELETE, UPDATE or MERGE.
        statement: the resolved statement.
        condition: the condition for rows.
        files: the files that may hold matching rows.
        settings: the session's settings.
        txn: an application id and a version; None to use the session's.
        matching: joins rows of the table with the rows that select them. Its second argument is the join type: `left_semi` returns
            the rows that match, `left_anti` the other rows. None if `condition` alone selects the rows.
        queries: the materialised subqueries of the condition; None without subqueries, or before `settled`.
    """

    target: SessionTable
    operation: str
    snapshot: Snapshot
    statement: Statement
    condition: RowCondition
    files: ChosenFiles
    settings: Mapping[str, str] = field(repr=False)
    txn: tuple[str, int] | None
    matching: Callable[[DataFrame, str], DataFrame] | None = None
    queries: SettledCondition | None = None

    @contextlib.contextmanager
    def settled(self) -> Iterator[Change]:
        """Yield the change with the subqueries of its condition settled (see `Statement.settled`). Without any, yield `self`.

        Leaving the context releases the materialised rows. Runs jobs if there are subqueries.
        """
        if self.condition.found is None or not self.condition.has_subquery:
            yield self
            return
        with self.statement.settled(self.target, self.snapshot, self.condition.found) as queries:
            condition = row_condition(self.snapshot, queries.condition)
            predicate = And((condition.predicate, *queries.predicates))
            # The history shows the statement's subqueries, not the literals that replace them.
            condition = replace(condition, text=self.condition.text, predicate=predicate)
            files = choose_files(self.target, self.snapshot, condition, self.statement.matching_partitions)
            yield replace(self, condition=condition, files=files, queries=queries)

    @property
    def has_constant_condition(self) -> bool:
        """Return whether the condition is the same for all rows: either all of them match, or none."""
        return self.condition.found is None and self.matching is None

    @property
    def feeds(self) -> bool:
        """Return whether the table has a change data feed."""
        return bool(properties.ENABLE_CHANGE_DATA_FEED.read(self.snapshot.metadata.configuration))

    @property
    def finds_the_same(self) -> bool:
        """Return whether a second search finds the same rows, and costs no more than reading them.

        Joins and subqueries cost more. A user-supplied function may return different values, even if it is declared deterministic.
        """
        condition = self.condition.found
        if self.matching is not None or self.condition.has_subquery:
            return False
        return condition is None or not condition.calls_foreign_code

    @property
    def row_ids(self) -> RowIdColumns | None:
        """Return the columns that preserve the ids of rewritten rows; None if the table does not track rows."""
        return RowIdColumns.of(self.snapshot)

    @property
    def uses_vectors(self) -> bool:
        """Return whether the operation marks old rows in deletion vectors instead of rewriting files.

        The table must enable deletion vectors, and no setting of the session may disable them.
        """
        setting = _PERSISTENT_VECTORS[self.operation]
        if not is_on(self.settings, setting, default=True):
            return False
        enabled = properties.ENABLE_DELETION_VECTORS.read(self.snapshot.metadata.configuration)
        # delta-spark ignores the deletion vectors of a table that has a column of this name.
        can_be_read = self.snapshot.schema.field(FILE_METADATA) is None
        return bool(enabled) and "deletionVectors" in writer_features(self.snapshot.protocol) and can_be_read

    def plan(self, way: Way, *, reads: pa.Array) -> RowChangePlan:
        """Return the plan for users. `reads` are the positions of the files to read."""
        sizes = self.snapshot.files(["size"])["size"]
        total = FileTotals.of(sizes)
        in_partitions, candidates = FileTotals.of(sizes, self.files.in_partitions), FileTotals.of(sizes, self.files.candidates)
        to_read = FileTotals.of(sizes, reads)
        unread = self.files.whole if self.operation == "DELETE" else self.files.whole.slice(0, 0)

        def files() -> pa.Table:
            return files_by_outcome(
                self.snapshot.files(["path", "size"]),
                in_partitions=self.files.in_partitions,
                to_read=reads,
                unread=unread,
                rewrites=way is Way.REWRITE,
            )

        return RowChangePlan(
            self.operation,
            self.snapshot.table_uri,
            self.snapshot.version,
            self.condition.text,
            way,
            total,
            FileTotals(total.files - in_partitions.files, total.size_bytes - in_partitions.size_bytes),
            FileTotals(in_partitions.files - candidates.files, in_partitions.size_bytes - candidates.size_bytes),
            FileTotals.of(sizes, unread),
            to_read,
            to_read if way is Way.REWRITE else FileTotals(),
            files,
        )

    def on_latest(self) -> Change:
        """Return the statement on the latest version.

        Raises:
            AppendOnlyError: the table has become append-only.
            SchemaChangedError: its columns have changed.
        """
        return _against(self.target, self.operation, self.statement, latest_snapshot(self.target), self.txn)

    def transaction(self) -> Transaction:
        """Begin the transaction of the change, on its snapshot."""
        predicate = [] if self.condition.text is None and self.operation == "UPDATE" else [self.condition.text or "true"]
        txn = batch_of(self.settings, self.snapshot.table_uri) if self.txn is None else self.txn
        transaction = self.target.begin(self.snapshot, self.operation, {"predicate": predicate}, txn=txn)
        if self.queries is not None and self.queries.reads_table:
            transaction.read_whole_table()
        return transaction

    def note_reads(self, reads: ReadSet) -> None:
        """Add the reads of the operation to those of the commit, for conflict detection.

        The predicate decides whether a file of a winning commit conflicts. The searched files must not be removed.
        """
        paths = self.snapshot.files(["path"])["path"].take(self.files.candidates)
        means_every_row = self.condition.found is None and self.condition.always
        reads.note_scan(None if means_every_row else self.condition.predicate, paths)

    def rows(
        self, positions: pa.Array, *, with_files: bool = False, with_numbers: bool = False, with_ids: bool = False
    ) -> DataFrame:
        """Return the rows of some files, to which the expressions of the resolved statement apply.

        Only columns that are also in the statement's relation are read.

        Args:
            with_files: whether to add the column `FILE`.
            with_numbers: whether to add the column `METADATA` with the position of the row.
            with_ids: whether to add row ids, if the table tracks rows (see `RowIdColumns.columns`).
        """
        return self.statement.rows(
            ChosenRows(
                self.target,
                self.snapshot,
                positions,
                self.settings,
                with_files=with_files,
                with_numbers=with_numbers,
                ids=self.row_ids if with_ids else None,
            )
        )

    def affected(self, rows: DataFrame) -> DataFrame:
        """Return the matching rows. The argument is a DataFrame from `Change.rows`."""
        if self.matching is not None:
            return self.matching(rows, "left_semi")
        return rows.where(self.condition.filter)

    def kept(self, rows: DataFrame) -> DataFrame:
        """Return the rows that do not match. The argument is a DataFrame from `Change.rows`."""
        return rows.where(~self._matches) if self.matching is None else self.matching(rows, "left_anti")

    def with_row_actions(self, rows: DataFrame) -> DataFrame:
        """Add the column `ROW_ACTION` to a DataFrame from `Change.rows`: matching rows are deleted, the others are kept."""
        kept, deleted = F.lit(int(RowAction.KEPT)), F.lit(int(RowAction.DELETED))
        if self.matching is None:
            return rows.select("*", F.when(self._matches, deleted).otherwise(kept).alias(ROW_ACTION))
        return self.kept(rows).select("*", kept.alias(ROW_ACTION)).union(self.affected(rows).select("*", deleted.alias(ROW_ACTION)))

    @property
    def _matches(self) -> Column:
        return self.condition.matches


def change_of(
    target: SessionTable, operation: str, statement: Statement, snapshot: Snapshot, *, txn: tuple[str, int] | None = None
) -> Change:
    """Return the change of a resolved statement on a snapshot.

    Args:
        txn: an application id and a version; None to use the session's.

    Raises:
        AppendOnlyError: the table is append-only.
        SchemaChangedError: the statement was resolved against other columns.
    """
    return _against(target, operation, statement, snapshot, txn)


def _against(target: SessionTable, operation: str, statement: Statement, snapshot: Snapshot, txn: tuple[str, int] | None) -> Change:
    """Check that a snapshot permits the operation and has the columns of its expressions, and choose its files."""
    check_writable(snapshot.protocol, snapshot.metadata, snapshot.table_uri, snapshot.version)
    check_takes_rows(snapshot.schema, snapshot.metadata, snapshot.table_uri, snapshot.version)
    _check_columns(statement, snapshot)
    check_not_append_only(snapshot.metadata, f"{operation} changes its rows", snapshot.table_uri, snapshot.version)
    condition = row_condition(snapshot, statement.condition)
    files = choose_files(target, snapshot, condition, statement.matching_partitions)
    return Change(target, operation, snapshot, statement, condition, files, target.settings, txn)


def _check_columns(statement: Statement, snapshot: Snapshot) -> None:
    resolved_columns = statement.columns
    refuse_file_metadata(resolved_columns, snapshot)
    problems = list(incompatible(resolved_columns.fields, snapshot.schema))
    problems += [f"column {name} is new" for name in snapshot.schema.names if resolved_columns.field(name) is None]
    if problems:
        raise failed("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS/statement", at=snapshot, problems="; ".join(problems))
