# SPDX-License-Identifier: Apache-2.0
"""`JoinedMerge`: a resolved MERGE, and the joins of the table with the source that its steps read.

Each kind of rows has a join of its own: pairs that match, rows of the table without a match, and rows of the source without one.
Their rows have only the columns that the clauses of the kind may use, so that the server resolves names as the MERGE means them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.dml.merge.actions import ACTION, KEPT, NONE, is_one_of
from bayou.spark.dml.merge.first_pass import deletes_all_matches
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.portable.dml.own_frames import numbered_as
from bayou.spark.portable.dml.statement import PortableStatement, named
from bayou.spark.portable.merge.source import SOURCE_ROW
from bayou.spark.scan.row_ids import FILE, METADATA
from bayou.spark.types.aligned_sql import aligned
from bayou.spark.types.types import readable_schema, spark_data_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.dml.merge.any_merge import Found
    from bayou.spark.portable.merge.resolved import PortableResolution
    from bayou.spark.portable.merge.source import PortableSource

_MATCH: Final = "__bayou_match"
_OLD: Final = "__bayou_old"
PAIRED_ROW: Final = "__bayou_paired_row"
"""In kept pairs, the `SOURCE_ROW` of the row of the source."""
_MOST_BROADCAST: Final = 1_000_000
"""So many kept pairs are broadcast. Their numbers of rows then have some 30 MB in each executor."""


@dataclass(frozen=True)
class JoinedMerge:
    """The parts of a MERGE, and its joins.

    Attributes:
        name: the table's alias in expressions, or an empty tuple.
    """

    change: Change
    resolution: PortableResolution
    source: PortableSource
    name: tuple[str, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the table's own DataFrames whose columns the expressions use."""
        statement = self.change.statement
        return statement.numbers if isinstance(statement, PortableStatement) else ()

    @property
    def condition(self) -> Column:
        """The search condition."""
        return self.resolution.condition.as_condition

    def matched(self, positions: pa.Array, *, with_ids: bool = False, once: bool = False) -> DataFrame:
        """Return the pairs of rows that match, with `ACTION`.

        Args:
            positions: the files of the rows.
            with_ids: whether to add row ids, if the table tracks rows.
            once: whether to return one pair for each row of the table: one that changes it, if there is any.
        """
        rows = self._target(positions, with_ids=with_ids)
        if deletes_all_matches(self):
            joined = rows.join(self.source.frame, self.condition, "left_semi") if once else self._joined(rows)
            return joined.withColumn(ACTION, F.lit(self.resolution.of_kind(Kind.MATCHED)[0].number))
        joined = self._joined(rows).withColumn(ACTION, self._chain(Kind.MATCHED, KEPT))
        if not once:
            return joined
        numbered = Window.partitionBy(FILE, f"{METADATA}.row_index").orderBy(F.col(ACTION).desc())
        return joined.withColumn(_MATCH, F.row_number().over(numbered)).where(F.col(_MATCH) == 1)

    def unmatched(self, positions: pa.Array, *, with_ids: bool = False) -> DataFrame:
        """Return the rows of the table that match no row of the source, with `ACTION`."""
        rows = self._target(positions, with_ids=with_ids).join(self.source.frame, self.condition, "left_anti")
        return rows.withColumn(ACTION, self._chain(Kind.NOT_MATCHED_BY_SOURCE, NONE))

    def new(self, positions: pa.Array) -> DataFrame:
        """Return the rows of the source that match no row of the table, with `ACTION`.

        Args:
            positions: all files with a match.
        """
        rows = self.source.frame
        if len(positions):
            rows = rows.join(self._target(positions), self.condition, "left_anti")
        return self._with_action(rows)

    def new_by_pairs(self, found: Found) -> DataFrame:
        """Return the rows of the source that match no row of the table, with `ACTION`, by the kept pairs."""
        rows = self.source.frame
        if found.num_pairs:
            rows = rows.join(_kept_pairs(found).select(PAIRED_ROW), F.col(SOURCE_ROW) == F.col(PAIRED_ROW), "left_anti")
        return self._with_action(rows)

    def paired(self, found: Found, clauses: Sequence[int]) -> DataFrame:
        """Return the rows of the source that some clauses update rows of the table from, with `ACTION`, by the kept pairs.

        A row occurs once for each row of the table.
        """
        pairs = _kept_pairs(found).select(PAIRED_ROW, ACTION).where(is_one_of(clauses))
        return self.source.frame.join(pairs, F.col(SOURCE_ROW) == F.col(PAIRED_ROW), "inner")

    @property
    def updates_from_source(self) -> bool:
        """Whether WHEN MATCHED updates rows, and no value of the updated rows may be one that the table has."""
        updates = [each for each in self.resolution.of_kind(Kind.MATCHED) if each.action is Action.UPDATE]
        columns = {name.lower() for name in self.resolution.schema.names}
        return bool(updates) and all(not each.reads_table and not each.apart and columns <= each.whole for each in updates)

    def old(self, name: str) -> Column:
        """Return a column of the table, as the MERGE finds it."""
        names = [each.lower() for each in self.resolution.schema.names]
        return F.col(f"{_OLD}{names.index(name.lower())}")

    def _with_action(self, rows: DataFrame) -> DataFrame:
        return rows.withColumn(ACTION, self._chain(Kind.NOT_MATCHED, NONE))

    def _joined(self, rows: DataFrame) -> DataFrame:
        return rows.join(self.source.frame, self.condition, "inner")

    def _target(self, positions: pa.Array, *, with_ids: bool = False) -> DataFrame:
        """Return rows of the table with a copy of each column after the MERGE, which no user's expression can mean (see `old`)."""
        rows = self.change.rows(positions, with_files=True, with_numbers=True, with_ids=with_ids)
        before = readable_schema(self.change.statement.columns)
        after = readable_schema(self.resolution.schema)
        copies, aligned_columns = [], {}
        for place, field in enumerate(after.fields):
            known = before.field(field.name)
            if known is None:
                copies.append(F.lit(None).cast(spark_data_type(field)).alias(f"{_OLD}{place}"))
                continue
            text = aligned(quoted_name(known.name), known.type, field.type)
            aligned_columns[known.name] = text
            copies.append(F.expr(text).alias(f"{_OLD}{place}"))
        if all(text == quoted_name(name) for name, text in aligned_columns.items()):
            return rows.select("*", *copies)
        # Conditions and values see the columns with their types after the MERGE.
        more = [F.col(quoted_name(name)) for name in rows.columns if name not in aligned_columns]
        rows = named(rows.select(*(F.expr(t).alias(n) for n, t in aligned_columns.items()), *more, *copies), self.name)
        return numbered_as(rows, self.numbers)

    def _chain(self, kind: Kind, otherwise: int) -> Column:
        """Return CASE WHEN over the clauses of a kind, in their order."""
        chain = F.lit(otherwise)
        for clause in reversed(self.resolution.of_kind(kind)):
            number = F.lit(clause.number)
            chain = number if clause.condition is None else F.when(clause.condition.as_condition, number).otherwise(chain)
        return chain


def _kept_pairs(found: Found) -> DataFrame:
    """Return the kept pairs. The server does not know how few they are."""
    assert found.matches is not None  # noqa: S101  (`PortableMerge.found` keeps them for these rows)
    return F.broadcast(found.matches) if found.num_pairs <= _MOST_BROADCAST else found.matches
