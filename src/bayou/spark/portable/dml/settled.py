# SPDX-License-Identifier: Apache-2.0
"""Rows that a condition with subqueries selected once, so that all jobs of a statement change the same rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.core.chosen_files import choose_files
from bayou.spark.dml.core.condition import row_condition
from bayou.spark.dml.core.statement import ChosenRows
from bayou.spark.dml.core.touched_rows import row_numbers
from bayou.spark.portable.dml.expr import PortableExpr
from bayou.spark.portable.scan.vectors import block_table, with_mark
from bayou.spark.scan.row_ids import FILE, METADATA

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.spark.dml.core.statement import Statement
    from bayou.spark.read.session_table import SessionTable

SELECTED: Final = "__bayou_selected"
"""The auxiliary column that says whether the condition selected a row."""


@dataclass(frozen=True, eq=False)
class SelectedRows(PortableExpr):
    """The condition that its rows were selected. It prunes the same files as the condition that selected them."""

    @property
    def column(self) -> Column:
        """The auxiliary column."""
        return F.col(SELECTED)

    @property
    def has_subquery(self) -> bool:
        """False: nothing is selected again."""
        return False

    @property
    def is_steady(self) -> bool:
        """True: all jobs see the same selection."""
        return True

    @property
    def conjuncts(self) -> list[PortableExpr]:
        """The whole condition. Its parts about partitions have pruned files before."""
        return [self]

    @property
    def names(self) -> frozenset[str]:
        """All columns, so that it is not taken for a condition about partitions."""
        return frozenset(self.scope.schema.names)


@dataclass(frozen=True)
class Selection:
    """The rows that a condition selected.

    Attributes:
        snapshot: the snapshot.
        rows: the numbers of the rows, by the positions of their files.
        condition: the condition, for the rows of other snapshots.
    """

    snapshot: Snapshot
    rows: dict[int, Bitmap] = field(repr=False)
    condition: PortableExpr

    @classmethod
    def of(cls, statement: Statement, target: SessionTable, snapshot: Snapshot, condition: PortableExpr) -> Selection:
        """Run one job that selects the rows."""
        files = choose_files(target, snapshot, row_condition(snapshot, condition), statement.matching_partitions)
        if not len(files.candidates):
            return cls(snapshot, {}, condition)
        chosen = ChosenRows(target, snapshot, files.candidates, target.settings, with_files=True, with_numbers=True)
        return cls(snapshot, row_numbers(statement.rows(chosen).where(condition.column)), condition)

    def marked(self, rows: DataFrame, snapshot: Snapshot) -> DataFrame:
        """Add the column `SELECTED` to rows of the statement that have `FILE` and `METADATA`."""
        if snapshot.version != self.snapshot.version:
            return rows.select("*", F.coalesce(self.condition.column, F.lit(False)).alias(SELECTED))
        if not self.rows:
            return rows.withColumn(SELECTED, F.lit(False))
        vectors = [self.rows.get(number) for number in range(max(self.rows) + 1)]
        blocks = rows.sparkSession.createDataFrame(block_table(vectors))
        return with_mark(rows, blocks, F.col(FILE), F.col(f"{METADATA}.row_index"), SELECTED)

    @property
    def expression(self) -> SelectedRows:
        """The condition that a row was selected."""
        given = self.condition
        return SelectedRows(given.given, given.scope, given.tree, given.type)


def with_numbers(chosen: ChosenRows) -> ChosenRows:
    """Return the rows with the columns that a selection needs."""
    return replace(chosen, with_files=True, with_numbers=True)
