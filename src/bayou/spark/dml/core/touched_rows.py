# SPDX-License-Identifier: Apache-2.0
"""Find the rows that an operation changes: their number or their positions, by file. Only counts and bitmaps reach Python.

Spark's `bitmap_construct_agg` turns row positions into one bitmap of 4,096 bytes for each 32,768 rows of a file. Bitmaps without a
matching row are left out.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.plan.row_changes import FileTotals
from bayou.protocol.deletion_vectors.roaring import Bitmap
from bayou.spark.scan.row_ids import FILE, METADATA
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from bayou.spark.dml.core.row_change import Change

_ROW = f"{METADATA}.row_index + 1"
FILE_OPENING: Final = 4 << 20
"""Spark's estimate for the cost of opening a file, in bytes: the default of `spark.sql.files.openCostInBytes`."""
_ONE_TASK: Final = 32 << 20
"""The most bytes for which one task without a shuffle is faster than two stages. Spark reads most such files in one task anyway."""


def in_few_tasks(rows: DataFrame, change: Change, positions: pa.Array) -> DataFrame:
    """Coalesce rows of some files into one task if the files are few and small, so that grouping needs no shuffle.

    Args:
        rows: the rows, or a projection of them.
    """
    sizes = FileTotals.of(change.snapshot.files(["size"])["size"], positions)
    return rows.coalesce(1) if sizes.size_bytes + FILE_OPENING * sizes.files <= _ONE_TASK else rows


def by_groups(rows: DataFrame, keys: Sequence[str], *aggregates: Column) -> DataFrame:
    """Aggregate rows by keys. Return the keys, then the aggregates, independent of `spark.sql.retainGroupColumns`."""
    named = [F.expr(f"{key} as key{number}") for number, key in enumerate(keys)]
    values = [each.alias(f"value{number}") for number, each in enumerate(aggregates)]
    names = [*(f"key{number}" for number in range(len(keys))), *(f"value{number}" for number in range(len(aggregates)))]
    return rows.groupBy(*keys).agg(*named, *values).selectExpr(*names)


def count_touched(change: Change, positions: pa.Array) -> dict[int, int]:
    """Return the number of matching rows by the positions of their files. Files without a match are left out. Runs a job."""
    if not len(positions):
        return {}
    phase("finding rows")
    rows = change.affected(change.rows(positions, with_files=True))
    found = by_groups(_gathered(rows, change, positions), [FILE], F.count(F.lit(1)))
    return {int(row[0]): int(row[1]) for row in found.collect()}


def find_touched(change: Change, positions: pa.Array) -> dict[int, Bitmap]:
    """Return the row positions of matching rows by the positions of their files. Files without a match are left out. Runs a job."""
    if not len(positions):
        return {}
    phase("finding rows")
    rows = change.affected(change.rows(positions, with_files=True, with_numbers=True))
    return row_numbers(_gathered(rows, change, positions))


def _gathered(rows: DataFrame, change: Change, positions: pa.Array) -> DataFrame:
    """Apply `in_few_tasks` to matching rows, unless a join finds them: the join needs its own partitions."""
    joins = change.matching is not None or change.condition.has_subquery
    return rows if joins else in_few_tasks(rows, change, positions)


def has_new(rows: DataFrame, new_rows: Mapping[int, Bitmap | None]) -> bool:
    """Return whether one of the rows is among the new rows of its file. Runs a job.

    Args:
        rows: the rows, with the columns `FILE` and `METADATA`.
        new_rows: the new rows by the positions of their files; None if all rows of a file are new.
    """
    if all(new is None for new in new_rows.values()):
        return bool(rows.head(1))
    pairs = ((positions, new_rows[file]) for file, positions in row_numbers(rows).items())
    return any(new is None or positions.intersection(new).containers for positions, new in pairs)


def row_numbers(rows: DataFrame) -> dict[int, Bitmap]:
    """Return the positions of rows in their files, by the positions of the files. Runs a job.

    Args:
        rows: the rows, with the columns `FILE` and `METADATA`.
    """
    # Spark's bitmap functions count rows and buckets from one.
    numbered = rows.selectExpr(FILE, f"bitmap_bucket_number({_ROW}) as bucket", f"bitmap_bit_position({_ROW}) as bit")
    bitmaps = by_groups(numbered, [FILE, "bucket"], F.expr("bitmap_construct_agg(bit)"))
    blocks: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
    for row in bitmaps.collect():
        blocks[int(row[0])].append((int(row[1]) - 1, bytes(row[2])))
    return {file: Bitmap.from_blocks(each) for file, each in blocks.items()}
