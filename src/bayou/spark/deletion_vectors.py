# SPDX-License-Identifier: Apache-2.0
"""Deletion vectors as constants of a file that Spark's generated code reads one bit of, at a row's number in its file.

A constant crosses into an expression as bytes, and the cheapest way to a byte of it is `ascii`, which sees seven bits. Two
encodings, by density:

- *flat*: bit `r % 7` of byte `r / 7` is set for a deleted row `r`. A seventh of a byte for each row of the file.
- *sparse*: for each block of 4,096 rows a four-byte offset, and behind it two bytes for each deleted row. A thousandth of a
  byte for each row of the file and two for each deleted one, at the price of a search within the block for each row read.

The driver holds the vectors of the files that a query reads, and a task carries those of its own files: below
`spark.rpc.message.maxSize` (128 MB) that is 900 million rows of flat vectors in one task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from bayou.protocol.roaring import Bitmap

VECTOR = "__bayou_dv"
BLOCKS = "__bayou_dv_blocks"
BLOCK_ROWS = 4096
_OFFSET_BYTES = 4
_SPARSE_FROM_ROWS = 1 << 20
"""A file whose last deleted row lies below this is always flat: its vector takes at most 150 kB."""
_SPARSE_BELOW = 0.005
"""The share of deleted rows under which a block's search is cheaper than the flat vector's size."""


def _flat_condition(row: str) -> str:
    seven = f"ascii(cast(substring({VECTOR}, cast({row} div 7 as int) + 1, 1) as string))"
    return f"shiftright({seven}, cast({row} % 7 as int)) & 1 = 0"


def _seven_bits(position: str) -> str:
    return f"ascii(cast(substring({BLOCKS}, {position}, 1) as string))"


def _offset(block: str) -> str:
    digits = (f"{_seven_bits(f'{block} * {_OFFSET_BYTES} + {i + 1}')} * {128**i}" for i in range(_OFFSET_BYTES))
    return f"({' + '.join(digits)})"


def _sparse_condition(row: str) -> str:
    block = f"cast({row} div {BLOCK_ROWS} as int)"
    in_block = f"cast({row} % {BLOCK_ROWS} as int)"
    start, end = _offset(block), _offset(f"({block} + 1)")
    return (
        f"{end} <= {start} or instr(cast(substring({VECTOR}, {start} + 1, {end} - {start}) as string),"
        f" concat(chr({in_block} div 64), chr({in_block} % 64 + 64))) = 0"
    )


@dataclass(frozen=True, slots=True)
class EncodedVector:
    """One file's vector as constants.

    Attributes:
        vector: the bits, or the deleted rows by block; every byte is below 128.
        blocks: where each block's deleted rows begin; None for a flat vector.
    """

    vector: bytes
    blocks: bytes | None


def encode(bitmap: Bitmap) -> EncodedVector | None:
    """A deletion vector as constants of its file; None where no row is deleted."""
    last = bitmap.maximum
    if last is None:
        return None
    rows = positions(bitmap)
    if last < _SPARSE_FROM_ROWS or len(rows) > last * _SPARSE_BELOW:
        return EncodedVector(_flat(rows, last), None)
    return _sparse(rows, last)


def positions(bitmap: Bitmap) -> np.ndarray:
    """The deleted rows, ascending, as 64-bit integers."""
    parts = []
    for container in bitmap.containers:
        if container.kind == "bitmap":
            lows = np.flatnonzero(np.unpackbits(np.frombuffer(container.data, np.uint8), bitorder="little"))
        elif container.kind == "array":
            lows = np.frombuffer(container.data, "<u2").astype(np.int64)
        else:
            runs = np.frombuffer(container.data, "<u2").astype(np.int64).reshape(-1, 2)
            lows = np.concatenate([np.arange(start, start + more + 1) for start, more in runs])
        parts.append(lows.astype(np.int64) + (container.key << 16))
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _flat(rows: np.ndarray, last: int) -> bytes:
    bits = np.zeros((last // 7 + 1, 8), np.uint8)
    bits[rows // 7, rows % 7] = 1
    return np.packbits(bits, axis=1, bitorder="little").tobytes()


def _sparse(rows: np.ndarray, last: int) -> EncodedVector:
    in_block = rows % BLOCK_ROWS
    # The two bytes of a row come from disjoint alphabets, so a search cannot match across two rows.
    pairs = np.stack([in_block // 64, in_block % 64 + 64], axis=1).astype(np.uint8)
    starts = np.searchsorted(rows, np.arange(last // BLOCK_ROWS + 2) * BLOCK_ROWS) * 2
    digits = np.stack([starts >> (7 * i) & 127 for i in range(_OFFSET_BYTES)], axis=1).astype(np.uint8)
    return EncodedVector(pairs.tobytes(), digits.tobytes())


def to_arrow(vectors: list[EncodedVector | None]) -> dict[str, pa.Array]:
    """The constant columns of some files, as the scan names them; the second only where some vector is sparse."""
    columns = {VECTOR: pa.array([v.vector if v else None for v in vectors], pa.binary())}
    if any(v is not None and v.blocks is not None for v in vectors):
        columns[BLOCKS] = pa.array([v.blocks if v else None for v in vectors], pa.binary())
    return columns


def row_is_live(columns: dict[str, pa.Array], row: str) -> str:
    """The condition under which a row is not deleted, as SQL over the constant columns and the row's number in its file."""
    is_live = _flat_condition(row)
    if BLOCKS in columns:
        is_live = f"case when {BLOCKS} is null then {is_live} else {_sparse_condition(row)} end"
    return f"{VECTOR} is null or {is_live}"


def row_is_marked(columns: dict[str, pa.Array], row: str) -> str:
    """The condition under which a row is in its file's vector, over the same columns."""
    return f"not ({row_is_live(columns, row)})"
