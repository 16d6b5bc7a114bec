# SPDX-License-Identifier: Apache-2.0
"""Leave out the rows in deletion vectors: a bit for each row of a file, in 64-bit words that the file's number finds.

Small vectors are part of the request. Large ones are a Parquet file next to the list of files, which Spark joins by the number of
the file and the block of rows. Its executors then hold only blocks that have deleted rows.

Words are `array<bigint>` and not binary: a value of type binary would be copied for each row.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.log.rows.vector_reader import read_vectors
from bayou.spark.scan.vector_columns import positions as rows_of
from bayou.spark.scan.vector_loading import within_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.spark.portable.scan.constants import Constants

_WORD_BITS: Final = 6
_BLOCK_BITS: Final = 16
"""A block has 65,536 rows, as a container of a deletion vector."""
_FILE_BITS: Final = 32
"""The number of a file is above the number of a block in the key of the join."""
MOST_WORDS_IN_REQUEST: Final = 1 << 14
"""The most words of all vectors that are part of a request: those of a million rows."""
_KEY, _WORDS, _MARK = "__bayou_key", "__bayou_words", "__bayou_mark"


def vectors_of(snapshot: Snapshot, positions: pa.Array | None, storage_options: Mapping[str, str] | None) -> list[Bitmap | None]:
    """Return the deletion vectors of some files of a snapshot; an empty list if no file has one.

    Args:
        positions: which files, by their positions in `Snapshot.files`; None for all.

    Raises:
        DeletionVectorError: a vector's file is missing or does not fit its descriptor.
    """
    found = snapshot.files(["deletion_vector"])
    descriptors = (found if positions is None else found.take(positions))["deletion_vector"].combine_chunks()
    if descriptors.null_count == len(descriptors):
        return []

    def num_records() -> pa.Array:
        counts = snapshot.statistics({}).num_records
        return counts if positions is None else counts.take(positions)

    return within_files(read_vectors(snapshot, descriptors, storage_options), snapshot.table_uri, num_records)


def count_words(vectors: Sequence[Bitmap | None]) -> int:
    """Return how many words the vectors take in a request."""
    return sum(((each.maximum or 0) >> _WORD_BITS) + 1 for each in vectors if each is not None)


def has_bit(constants: Constants, vectors: Sequence[Bitmap | None], row: Column, *, wanted: bool) -> Column:
    """Return the condition that a row is in the vector of its file, or that it is not. The vectors are in the request.

    Args:
        row: the row's number in its file.
        wanted: False for the rows that are not in the vector, such as those that are not deleted.
    """
    return bit_at(constants.arrays(words_of(vectors)), row) == F.lit(int(wanted))


def words_of(vectors: Sequence[Bitmap | None]) -> list[list[int]]:
    """Return the bits of each vector in words, which are an argument of `bit_at`."""
    return [[] if each is None else _words(rows_of(each)).tolist() for each in vectors]


def bit_at(words: Column, row: Column) -> Column:
    """Return 1 for a row that is in the words of its file, otherwise 0."""
    word = F.get(words, F.shiftright(row, _WORD_BITS).cast("int"))
    return F.coalesce(F.getbit(word, _bit(row)), F.lit(0))


def with_bit(rows: DataFrame, blocks: DataFrame, number: Column, row: Column, *, wanted: bool) -> DataFrame:
    """Return the rows for which `has_bit` is true, by a join with the blocks of their vectors; see `with_mark`.

    Args:
        wanted: False for the rows that are not in the vector of their file.
    """
    return with_mark(rows, blocks, number, row, _MARK).where(F.col(_MARK) == F.lit(wanted)).drop(_MARK)


def with_mark(rows: DataFrame, blocks: DataFrame, number: Column, row: Column, name: str) -> DataFrame:
    """Add a column that says whether a row is in the blocks.

    Args:
        blocks: the rows of `block_table`.
        number: the number of a row's file.
        row: the row's number in its file.
        name: the name of the column, which is never NULL.
    """
    key = F.shiftleft(number.cast("bigint"), _FILE_BITS) + F.shiftright(row, _BLOCK_BITS)
    joined = rows.join(F.broadcast(blocks), key == F.col(_KEY), "left")
    mask = (1 << (_BLOCK_BITS - _WORD_BITS)) - 1
    word = F.get(F.col(_WORDS), F.shiftright(row, _WORD_BITS).bitwiseAND(F.lit(mask)).cast("int"))
    mark = F.coalesce(F.getbit(word, _bit(row)), F.lit(0)) == F.lit(1)
    return joined.withColumn(name, mark).drop(_KEY, _WORDS)


def block_table(vectors: Sequence[Bitmap | None]) -> pa.Table:
    """Return the words of all blocks with deleted rows, by file number and block."""
    keys: list[int] = []
    words: list[np.ndarray] = []
    for number, bitmap in enumerate(vectors):
        if bitmap is None:
            continue
        rows = rows_of(bitmap)
        blocks, starts = np.unique(rows >> _BLOCK_BITS, return_index=True)
        for block, members in zip(blocks.tolist(), np.split(rows, starts[1:]), strict=True):
            keys.append((number << _FILE_BITS) + block)
            words.append(_words(members & ((1 << _BLOCK_BITS) - 1)))
    return pa.table({_KEY: pa.array(keys, pa.int64()), _WORDS: pa.array(words, pa.list_(pa.int64()))})


def block_file(vectors: Sequence[Bitmap | None]) -> bytes:
    """Return `block_table` as a Parquet file."""
    target = io.BytesIO()
    pq.write_table(block_table(vectors), target)
    return target.getvalue()


BLOCKS: Final = f"{_KEY} bigint, {_WORDS} array<bigint>"
"""The schema of the rows of `block_table`."""


def _bit(row: Column) -> Column:
    return row.bitwiseAND(F.lit((1 << _WORD_BITS) - 1)).cast("int")


def _words(rows: np.ndarray) -> np.ndarray:
    """Return a bit for each row up to the last one, in words."""
    words = np.zeros((int(rows[-1]) >> _WORD_BITS) + 1, np.uint64)
    np.bitwise_or.at(words, rows >> _WORD_BITS, np.uint64(1) << (rows & 63).astype(np.uint64))
    return words.view(np.int64)
