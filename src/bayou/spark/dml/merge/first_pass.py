# SPDX-License-Identifier: Apache-2.0
"""The first pass of a MERGE: find the rows that it changes. It reads only the columns of the conditions.

A pair is a row of the table and a row of the source that match. The result is a bitmap of row positions for each clause and file,
and the number of pairs. If there are more pairs than rows, a row of the table matches several rows of the source.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import DeltaError, failed
from bayou.protocol.deletion_vectors.roaring import Bitmap
from bayou.spark.dml.core.touched_rows import by_groups
from bayou.spark.dml.merge.actions import ACTION, KEPT
from bayou.spark.dml.merge.any_merge import Found
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.scan.row_ids import FILE, METADATA
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.spark.dml.merge.any_merge import MergeParts

_SAMPLE: Final = 5


def found_in(merge: MergeParts, joined: DataFrame, error: Callable[[], DeltaError]) -> Found:
    """Find the rows that a MERGE changes. Runs a job.

    Args:
        joined: one row for each pair, and for each row without a match that a clause changes, with `FILE`, `bucket`, `bit` and
            `ACTION`.
        error: creates the error for a row that would be changed by several rows of the source.
    """
    phase("finding rows")
    blocks_of: defaultdict[int, dict[int, list[tuple[int, bytes]]]] = defaultdict(lambda: defaultdict(list))  # by clause and file
    pairs: defaultdict[tuple[int, int], int] = defaultdict(int)  # by clause and file
    aggregates = F.expr("bitmap_construct_agg(bit)"), F.count(F.lit(1))
    for row in by_groups(joined, [FILE, "bucket", ACTION], *aggregates).collect():
        file, bucket, number, bits, count = row
        blocks_of[number][file].append((bucket - 1, bytes(bits)))  # Spark counts buckets from one
        pairs[number, file] += count
    rows = {number: {file: Bitmap.from_blocks(blocks) for file, blocks in files.items()} for number, files in blocks_of.items()}
    kept = rows.pop(KEPT, {})
    matched = [each.number for each in merge.resolution.of_kind(Kind.MATCHED)]
    repeats = _is_ambiguous(rows, pairs, matched)
    if repeats and not deletes_all_matches(merge):
        raise error()
    changed = Found(rows).changed(matched)
    # A kept row has several matches if another pair keeps it too, or a clause changes it.
    overlaps = any(
        pairs[KEPT, file] > kept_rows.cardinality or kept_rows.intersection(changed.get(file, Bitmap())).containers
        for file, kept_rows in kept.items()
    )
    num_pairs = sum(count for (number, _), count in pairs.items() if number in (KEPT, *matched))
    return Found(rows, kept, bool(overlaps), repeats, None, num_pairs)


def deletes_all_matches(merge: MergeParts) -> bool:
    """Whether an unconditional DELETE is the only WHEN MATCHED clause. Only then may several matches change the same row."""
    matched = merge.resolution.of_kind(Kind.MATCHED)
    return len(matched) == 1 and matched[0].action is Action.DELETE and matched[0].condition is None


def _is_ambiguous(rows: Mapping[int, Mapping[int, Bitmap]], pairs: Mapping[tuple[int, int], int], matched: list[int]) -> bool:
    """Whether a row has several matches that would change it: a file has more changing pairs than changed rows."""
    files = {file for number in matched for file in rows.get(number, {})}
    for file in files:
        bitmaps = [rows[number][file] for number in matched if file in rows.get(number, {})]
        if sum(pairs.get((number, file), 0) for number in matched) > reduce(Bitmap.union, bitmaps).cardinality:
            return True
    return False


def error_of_matches(merge: MergeParts, joined: DataFrame, key: Column | None) -> DeltaError:
    """Return the error for rows with several matches. Run two queries: one counts rows and keys, one samples the least keys.

    Args:
        joined: the pairs that change a row of the table, with `FILE` and `METADATA`.
        key: JSON of the columns of the table in the search condition; None if it has none.
    """
    text = F.lit(None).cast("string") if key is None else key
    several = (
        joined.select(FILE, F.col(f"{METADATA}.row_index").alias("row"), text.alias("key"))
        .groupBy(FILE, "row")
        .agg(F.first("key").alias("key"), F.count(F.lit(1)).alias("matches"))
        .where("matches > 1")
    )
    num_rows, num_keys = several.agg(F.count(F.lit(1)), F.count_distinct("key")).collect()[0]
    # Spark combines sort and limit, so that each task keeps only a sample.
    sample = (
        tuple(row[0] for row in several.select("key").distinct().orderBy("key").limit(_SAMPLE).collect()) if key is not None else ()
    )
    return failed(
        "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",
        at=merge.change.snapshot,
        matches=described_matches(num_rows, num_keys, sample),
        keys=sample,
        num_keys=num_keys,
        num_rows=num_rows,
    )


def described_matches(num_rows: int, num_keys: int, keys: Sequence[str]) -> str:
    """Return a clause about the rows with several matches."""
    if not num_rows:
        return "they could not be found again, because the source has other rows each time that it is read"
    rows = "1 row of the table is" if num_rows == 1 else f"{num_rows} rows of the table are"
    if not keys:
        return f"{rows} matched several times"
    more = f" and {num_keys - len(keys)} more" if num_keys > len(keys) else ""
    return f"{rows} matched several times, with {num_keys} key{'s' if num_keys > 1 else ''}: {', '.join(keys)}{more}"


def positions_of(files: Iterable[int]) -> pa.Array:
    """Return the positions of files as an ordered array."""
    return pa.array(sorted(files), pa.int64())


def clauses_with(merge: MergeParts, action: Action) -> list[int]:
    """Return the numbers of the clauses with an action."""
    return [each.number for each in merge.resolution.clauses if each.action is action]
