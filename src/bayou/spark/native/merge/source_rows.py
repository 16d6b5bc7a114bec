# SPDX-License-Identifier: Apache-2.0
"""Select the rows of the source from which a MERGE writes new rows: rows without a match, and for `Part.SOURCE` rows with a match.

The keys of a source row are all of its columns that the condition reads. Therefore they decide which table rows it matches. The
first pass may materialise the keys that match, so that the second pass need not read the table.
"""

from __future__ import annotations

from functools import cached_property, reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.merge.actions import ACTION, is_one_of
from bayou.spark.dml.merge.first_pass import clauses_with, positions_of
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.jvm.core import nodes
from bayou.spark.native.merge.actions import inserted_action_of
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.scan.row_ids import FILE
from bayou.spark.session.settings import is_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from bayou.spark.dml.merge.any_merge import Found
    from bayou.spark.native.merge.target_rows import Merge

_ADAPTIVE = "spark.sql.adaptive.enabled"


class SourceRows:
    """Selects rows of one MERGE's source by the result of the first pass."""

    def __init__(self, merge: Merge, found: Found) -> None:
        self._merge = merge
        self._found = found

    @cached_property
    def files_with_matches(self) -> pa.Array:
        """The positions of the files in which a row matches."""
        merge = self._merge
        if merge.resolution.is_insert_only:
            return merge.change.files.candidates
        matched = [each.number for each in merge.resolution.of_kind(Kind.MATCHED)]
        return positions_of({*self._found.changed(matched), *self._found.kept})

    def rows(self, clauses: Sequence[int]) -> DataFrame:
        """Return the source rows that fall under some clauses, with `ACTION`. A row occurs once for each table row that it updates.

        Args:
            clauses: the clauses that insert, and for `Part.SOURCE` also those that update.
        """
        merge = self._merge
        rows = merge.source.frame if merge.source.is_small else merge.source.marked()
        # Conditions of other clauses may read the table's columns, which are missing here.
        action = inserted_action_of(merge)
        if not set(clauses_with(merge, Action.UPDATE)).isdisjoint(clauses):
            rows, action = self._with_matches(rows), F.coalesce(F.col(ACTION), action)
        elif len(self.files_with_matches):
            rows = self._without_matches(rows)
        return rows.withColumn(ACTION, action).where(is_one_of(clauses))

    def _with_matches(self, rows: DataFrame) -> DataFrame:
        """Join the rows with the `ACTION` of their pairs. If a clause inserts, rows without a pair remain, with NULL."""
        assert self._found.matches is not None  # noqa: S101  (`Part.SOURCE` materialises them)
        how = "left" if clauses_with(self._merge, Action.INSERT) else "inner"
        return rows.join(self._broadcast(self._found.matches), self._has_keys, how)

    def _without_matches(self, rows: DataFrame) -> DataFrame:
        """Return the rows without those that match a row of the table.

        With `inserts_by_keys`, compare the source with the keys that matched. These are few, so that the table is not shuffled.
        """
        merge, matches = self._merge, self._found.matches
        condition = nodes.column(jvm_of(merge.change.target.application), merge.resolution.condition)
        if not merge.strategy.inserts_by_keys:
            return rows.join(merge.rows(self.files_with_matches).drop(FILE), condition, "left_anti")
        if matches is None:
            pairs = merge.rows(self.files_with_matches).join(merge.source.marked(), condition, "inner")
            matches = pairs.select(*merge.keys_as_named).distinct()
        elif self._found.num_pairs > merge.source.rows:
            matches = matches.select(*merge.keys).distinct()
        return rows.join(self._broadcast(matches), self._has_keys, "left_anti")

    @property
    def _has_keys(self) -> Column:
        """The join condition between rows of the source and keys of pairs."""
        jvm, named = jvm_of(self._merge.change.target.application), zip(self._merge.source.keys, self._merge.keys, strict=True)
        return reduce(and_, (nodes.column(jvm, key).eqNullSafe(F.expr(name)) for key, name in named))

    def _broadcast(self, matches: DataFrame) -> DataFrame:
        """Broadcast the keys of pairs. They are at most as many as the source's rows, which are small enough for a broadcast.

        Without adaptive execution, do not: computing the keys may read the table, and that time would count for
        `spark.sql.broadcastTimeout`.
        """
        return F.broadcast(matches) if is_on(self._merge.change.settings, _ADAPTIVE, default=True) else matches
