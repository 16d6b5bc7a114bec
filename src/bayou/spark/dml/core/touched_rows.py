# SPDX-License-Identifier: Apache-2.0
"""Finds the rows that an operation changes: how many of each file, or which ones. No row leaves the JVM.

Spark's own `bitmap_construct_agg` turns the numbers of the rows into one block of 4,096 bytes for each 32,768 rows of a file
that has any such row.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.plan.row_changes import FileTotals
from bayou.protocol.deletion_vectors.roaring import Bitmap
from bayou.spark.dml.core.scanned_rows import FILE, METADATA
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from bayou.spark.dml.core.row_change import Change

_ROW = f"{METADATA}.row_index + 1"
FILE_OPENING: Final = 4 << 20
"""What Spark takes the opening of one file to cost, in bytes: the default of `spark.sql.files.openCostInBytes`."""
_ONE_TASK: Final = 32 << 20
"""Bytes in which one task finds rows sooner than two: a shuffle is a job more. A file of that size is mostly one task's anyway."""


def in_few_tasks(rows: DataFrame, change: Change, positions: pa.Array) -> DataFrame:
    """Rows of some files, in one task where the files are few and small: there they are grouped without a shuffle.

    Args:
        rows: the rows, or what is made of each by itself.
    """
    sizes = FileTotals.of(change.snapshot.files(["size"])["size"], positions)
    return rows.coalesce(1) if sizes.size_bytes + FILE_OPENING * sizes.files <= _ONE_TASK else rows


def by_groups(rows: DataFrame, keys: Sequence[str], *aggregates: Column) -> DataFrame:
    """Aggregates of rows by groups, behind the groups' keys, whatever `spark.sql.retainGroupColumns` is."""
    named = [F.expr(f"{key} as key{number}") for number, key in enumerate(keys)]
    told = [each.alias(f"value{number}") for number, each in enumerate(aggregates)]
    names = [*(f"key{number}" for number in range(len(keys))), *(f"value{number}" for number in range(len(aggregates)))]
    return rows.groupBy(*keys).agg(*named, *told).selectExpr(*names)


def count_touched(change: Change, positions: pa.Array) -> dict[int, int]:
    """How many rows of some files an operation changes, by the files' positions; files without any are left out."""
    if not len(positions):
        return {}
    phase("finding rows")
    meant = change.meant(change.rows(positions, with_files=True))
    found = by_groups(_gathered(meant, change, positions), [FILE], F.count(F.lit(1)))
    return {int(row[0]): int(row[1]) for row in found.collect()}


def find_touched(change: Change, positions: pa.Array) -> dict[int, Bitmap]:
    """The rows of some files that an operation changes, by the files' positions; files without any are left out."""
    if not len(positions):
        return {}
    phase("finding rows")
    meant = change.meant(change.rows(positions, with_files=True, with_numbers=True))
    return row_numbers(_gathered(meant, change, positions))


def _gathered(meant: DataFrame, change: Change, positions: pa.Array) -> DataFrame:
    """The same as `in_few_tasks`, for rows that a statement means. Those that a join finds stay where the join needs them."""
    joins = change.matching is not None or change.condition.has_subquery
    return meant if joins else in_few_tasks(meant, change, positions)


def has_new(rows: DataFrame, new_rows: Mapping[int, Bitmap | None]) -> bool:
    """Whether one of some rows is new in its file.

    Args:
        rows: with the columns `FILE` and `METADATA`.
        new_rows: the new rows by the files' positions; None where all of a file's are.
    """
    if all(each is None for each in new_rows.values()):
        return bool(rows.head(1))
    new = ((found, new_rows[file]) for file, found in row_numbers(rows).items())
    return any(those is None or found.intersection(those).containers for found, those in new)


def row_numbers(rows: DataFrame) -> dict[int, Bitmap]:
    """The numbers of rows in their files, by the files' positions. Costs a job.

    Args:
        rows: with the columns `FILE` and `METADATA`.
    """
    # The functions count from one, and their first bucket is number one.
    numbered = rows.selectExpr(FILE, f"bitmap_bucket_number({_ROW}) as bucket", f"bitmap_bit_position({_ROW}) as bit")
    found = by_groups(numbered, [FILE, "bucket"], F.expr("bitmap_construct_agg(bit)"))
    blocks: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
    for row in found.collect():
        blocks[int(row[0])].append((int(row[1]) - 1, bytes(row[2])))
    return {file: Bitmap.from_blocks(each) for file, each in blocks.items()}
