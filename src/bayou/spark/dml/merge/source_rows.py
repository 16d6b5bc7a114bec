# SPDX-License-Identifier: Apache-2.0
"""The source's rows for which a MERGE writes one: those that match nothing, and those whose values say all of an updated row.

The pairs that the first pass of the MERGE found are kept for it. What becomes of a row of the source is told by its keys: these are
all of its columns that the condition looks at.
"""

from __future__ import annotations

from functools import cached_property, reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.dml.core.scanned_rows import FILE
from bayou.spark.dml.merge.actions import ACTION, inserted_action_of, is_one_of
from bayou.spark.dml.merge.first_pass import clauses_with, positions_of
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.jvm.core import nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from bayou.spark.dml.merge.first_pass import Found
    from bayou.spark.dml.merge.target_rows import Merge

_ADAPTIVE = "spark.sql.adaptive.enabled"


class SourceRows:
    """The rows of one MERGE's source, beside what the first pass found."""

    def __init__(self, merge: Merge, found: Found) -> None:
        self._merge = merge
        self._found = found

    @cached_property
    def files_with_matches(self) -> pa.Array:
        """The positions of the files in which a row matches one of the source."""
        merge = self._merge
        if merge.resolution.is_insert_only:
            return merge.change.files.candidates
        matched = [each.number for each in merge.resolution.of_kind(Kind.MATCHED)]
        return positions_of({*self._found.changed(matched), *self._found.kept})

    def rows(self, clauses: Sequence[int]) -> DataFrame:
        """The rows that fall under some clauses, with `ACTION`: once for each row of the table that they update.

        Args:
            clauses: the numbers of clauses that insert, and of of those that update, for `Part.SOURCE`.
        """
        merge = self._merge
        rows = merge.source.frame if merge.source.is_small else merge.source.marked()
        # Clauses of other kinds look at the table's columns, which are not there, and are not asked.
        action = inserted_action_of(merge)
        if not set(clauses_with(merge, Action.UPDATE)).isdisjoint(clauses):
            rows, action = self._with_matches(rows), F.coalesce(F.col(ACTION), action)
        elif len(self.files_with_matches):
            rows = self._without_matches(rows)
        return rows.withColumn(ACTION, action).where(is_one_of(clauses))

    def _with_matches(self, rows: DataFrame) -> DataFrame:
        """The rows with the `ACTION` of each pair that they are in; NULL, or no row where none is inserted, for those in none."""
        assert self._found.matches is not None  # noqa: S101  (they are kept where rows are updated by keys)
        how = "left" if clauses_with(self._merge, Action.INSERT) else "inner"
        return rows.join(self._broadcast(self._found.matches), self._has_keys, how)

    def _without_matches(self, rows: DataFrame) -> DataFrame:
        """The rows without those that match a row of the table.

        Rows of a small source are compared with the keys that did match, which are few: the table's rows stay where they are.
        """
        merge, matches = self._merge, self._found.matches
        condition = nodes.column(merge.change.target.application.jvm, merge.resolution.condition)
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
        """Whether a row of the source has the keys of a pair."""
        jvm, named = self._merge.change.target.application.jvm, zip(self._merge.source.keys, self._merge.keys, strict=True)
        return reduce(and_, (nodes.column(jvm, key).eqNullSafe(F.expr(name)) for key, name in named))

    def _broadcast(self, matches: DataFrame) -> DataFrame:
        """Keys of pairs for a join with the source's rows: there are no more of them than of these, and these fit.

        Finding them may read the table: a broadcast would have to be done in `spark.sql.broadcastTimeout` with that, where it is
        not a stage of its own.
        """
        return F.broadcast(matches) if self._merge.change.settings.get(_ADAPTIVE, "true").lower() == "true" else matches
