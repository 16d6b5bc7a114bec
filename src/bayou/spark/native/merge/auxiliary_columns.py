# SPDX-License-Identifier: Apache-2.0
"""The auxiliary columns of the rows that a MERGE writes: row ids, `ROW_ACTION`, and old values for the change data feed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.merge.actions import is_one_of
from bayou.spark.dml.merge.first_pass import clauses_with
from bayou.spark.dml.merge.resolution.clauses import Action
from bayou.spark.dml.merge.written_rows import needs_change_rows
from bayou.spark.native.merge.values import WrittenColumns
from bayou.spark.read.change_rows import ROW_ACTION, AuxiliaryColumns, RowAction
from bayou.spark.types.types import readable_schema, spark_data_type

if TYPE_CHECKING:
    from pyspark.sql import Column

    from bayou.spark.dml.merge.any_merge import Found
    from bayou.spark.native.merge.target_rows import Merge


class AuxiliaryValues:
    """The auxiliary columns of one MERGE.

    Attributes:
        feeds: whether change rows are written: the table has a change data feed, and readers cannot derive the changes from the
            added and removed files.
        changed: the changed rows, by file. All rows of these files pass through the job that writes.
        ids: the columns that preserve row ids; None if no row ids must be preserved.
    """

    def __init__(self, merge: Merge, found: Found, *, rewrites: bool) -> None:
        """Determine the rows that pass through the job.

        Args:
            rewrites: whether the files of changed rows are rewritten.
        """
        self._merge = merge
        self._updates, self._inserts, self._deletes = (
            clauses_with(merge, each) for each in (Action.UPDATE, Action.INSERT, Action.DELETE)
        )
        self.feeds = merge.change.feeds and needs_change_rows(merge, found, rewrites=rewrites)
        self.changed = found.changed() if rewrites or self.feeds else found.changed(self._updates)
        self.ids = merge.change.row_ids if self.changed else None

    @property
    def passed(self) -> list[int]:
        """The numbers of the clauses whose rows pass through the job that writes."""
        return [*self._updates, *self._inserts, *(self._deletes if self.feeds else [])]

    @cached_property
    def columns(self) -> AuxiliaryColumns:
        """The names of the columns."""
        hidden = () if self.ids is None else self.ids.names
        if not self.feeds:
            return AuxiliaryColumns(hidden)
        changed = WrittenColumns(self._merge, self._updates).changed_by(self._updates)
        return AuxiliaryColumns(hidden, feeds=True, before={name: f"__bayou_before{each}" for each, name in enumerate(changed)})

    @property
    def of_new_rows_alone(self) -> AuxiliaryColumns:
        """The names of the columns of rows that a separate job inserts."""
        return AuxiliaryColumns(feeds=self.feeds)

    def joined(self, columns: WrittenColumns) -> list[Column]:
        """Return the columns for joined rows with `ACTION`."""
        auxiliary = [] if self.ids is None else [*self.ids.columns(F.expr(is_one_of(self._updates)))]
        if not self.feeds:
            return auxiliary
        row_action = F.lit(int(RowAction.KEPT))
        for each, numbers in (
            (RowAction.UPDATED, self._updates),
            (RowAction.DELETED, self._deletes),
            (RowAction.INSERTED, self._inserts),
        ):
            row_action = F.when(F.expr(is_one_of(numbers)), int(each)).otherwise(row_action) if numbers else row_action
        old = columns.changed_by(self._updates)
        return [
            *auxiliary,
            row_action.alias(ROW_ACTION),
            *(old[name].alias(column) for name, column in self.columns.before.items()),
        ]

    def new(self, *, alone: bool) -> list[Column]:
        """Return the columns for inserted rows.

        Args:
            alone: whether a separate job writes them.
        """
        auxiliary = [] if self.ids is None or alone else [*self.ids.of_new_rows()]
        if not self.feeds:
            return auxiliary
        auxiliary.append(F.lit(int(RowAction.INSERTED)).alias(ROW_ACTION))
        schema = readable_schema(self._merge.resolution.schema)
        before = {} if alone else self.columns.before
        fields = ((schema.field(name), column) for name, column in before.items())
        old = (F.lit(None).cast(spark_data_type(field)).alias(column) for field, column in fields if field is not None)
        return [*auxiliary, *old]
