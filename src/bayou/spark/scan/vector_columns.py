# SPDX-License-Identifier: Apache-2.0
"""Encode deletion vectors as constants of files. Spark's generated code reads one bit of them by a row's number in its file.

A constant enters an expression as bytes, and the cheapest access to a byte is `ascii`, which returns seven bits. Two encodings, by
density:

- *flat*: bit `r % 7` of byte `r / 7` is set for a deleted row `r`. A seventh of a byte for each row of the file.
- *sparse*: each block of 4,096 rows has a record that states which of its 64 groups have deleted rows, and where these rows are
  listed, two bytes for each. That is a byte for 140 rows of the file and two for each deleted one. A row of a group without
  deleted rows costs a look at one bit, as with a flat vector; in other groups its two bytes are searched.

The condition is evaluated for every row that is read, and must stay small: Java compiles no method of more than 8,000 bytes of
code, and would interpret the one that Spark generates for the query, many times slower.

Both need as many bytes as the greatest deleted row requires, so rows beyond the end of the file are left out before
(`bayou.spark.scan.vector_loading`).

The driver holds the vectors of the files that a query reads, and a task carries those of its own files: below
`spark.rpc.message.maxSize` (128 MB) that is 900 million rows of flat vectors in one task.

If Spark materialises each row that it reads, it copies all constants of the file into every row. Then the vectors of all files are
one array of bytes in the condition itself, and the constants of a file are the offsets of its own (`together`). Every task then
carries all of them, which is why not every scan does this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from bayou.protocol.deletion_vectors.roaring import Bitmap

VECTOR = "__bayou_dv"
BLOCKS = "__bayou_dv_blocks"
"""The constants of a file: the bytes, or their offsets in `BYTES`, from 1 on."""
BYTES = "__bayou_dv_bytes"
"""The name in a condition of the bytes of all files: an array with one element."""
_INDEX = "__bayou_dv_index"
"""The index of that element. Spark would evaluate a literal 0 while it plans, and EXPLAIN would print the bytes."""
_ROWS = "__bayou_dv_rows"
"""The number of rows that a file's vector covers. The bytes of other files follow."""
_MOST_TOGETHER_BYTES = 64 << 20
"""The most bytes of all files that each task carries. Each task reads them again, and several run in one executor."""
BLOCK_ROWS = 4096
_FLAT_BITS = 7
_GROUP_ROWS = 64
_GROUPS_IN_BYTE = 4
_BITS_BYTES = BLOCK_ROWS // _GROUP_ROWS // _GROUPS_IN_BYTE
_START_DIGITS, _LENGTH_DIGITS = 9, 4
_RECORD_BYTES = _BITS_BYTES + _START_DIGITS + _LENGTH_DIGITS
"""A block: a bit for each group with a deleted row; the offset and the length of its deleted rows, as digits."""
_SPARSE_FROM_ROWS = 1 << 20
"""A file whose last deleted row is below this always gets a flat vector, of at most 150 kB."""
_SPARSE_BELOW = 0.005
"""The share of deleted rows below which searching a block is cheaper than the flat vector's size."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    """Some bytes of a file, as SQL: the array that contains them, and their offset in it from 1 on."""

    within: str
    start: str

    def text(self, position: str, count: str) -> str:
        """Return SQL for some of them as a string, shorter at the end."""
        return f"cast(substring({self.within}, {position} + {self.start}, {count}) as string)"

    def is_clear(self, position: str, bit: str) -> str:
        """Return SQL for whether a bit of a byte is 0, as after the end. Most bytes are 0, and comparing one costs half."""
        place = f"cast({position} as int)"
        byte = f"substring({self.within}, {place} + {self.start}, 1)"
        return f"({byte} <= X'00' or shiftright(ascii({self.text(place, '1')}), cast({bit} as int)) & 1 = 0)"

    def number(self, position: str, digits: int) -> str:
        return f"cast({self.text(position, str(digits))} as int)"


def _flat_condition(row: str, vector: _Bytes) -> str:
    return vector.is_clear(f"{row} div {_FLAT_BITS}", f"{row} % {_FLAT_BITS}")


def _sparse_condition(row: str, vector: _Bytes, blocks: _Bytes) -> str:
    # Shifts and masks need a tenth of the code of divisions, which check for zeros and overflows.
    record = f"cast(shiftright({row}, {_log2(BLOCK_ROWS)}) as int) * {_RECORD_BYTES}"
    group = f"(shiftright({row}, {_log2(_GROUP_ROWS)}) & {BLOCK_ROWS // _GROUP_ROWS - 1})"
    byte = f"cast(shiftright({group}, {_log2(_GROUPS_IN_BYTE)}) as int)"
    is_clean = blocks.is_clear(f"{record} + {byte}", f"{group} & {_GROUPS_IN_BYTE - 1}")
    start = blocks.number(f"{record} + {_BITS_BYTES}", _START_DIGITS)
    length = blocks.number(f"{record} + {_BITS_BYTES + _START_DIGITS}", _LENGTH_DIGITS)
    pair = f"concat(chr({group}), chr({row} & {_GROUP_ROWS - 1} | {_GROUP_ROWS}))"
    return f"{is_clean} or instr({vector.text(start, length)}, {pair}) = 0"


def _log2(power: int) -> int:
    return power.bit_length() - 1


@dataclass(frozen=True, slots=True)
class EncodedVector:
    """One file's vector as constants. Every byte of `vector` is below 128.

    `blocks` has a record for each block of rows; None for a flat vector.
    """

    vector: bytes
    blocks: bytes | None


def encode(bitmap: Bitmap) -> EncodedVector | None:
    """Return a deletion vector as constants of its file; None if no row is deleted."""
    last = bitmap.maximum
    if last is None:
        return None
    rows = positions(bitmap)
    if last < _SPARSE_FROM_ROWS or len(rows) > last * _SPARSE_BELOW:
        return EncodedVector(_flat(rows, last), None)
    return _sparse(rows, last)


def positions(bitmap: Bitmap) -> np.ndarray:
    """Return the deleted rows, ascending, as 64-bit integers."""
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
    bits = np.zeros((last // _FLAT_BITS + 1, 8), np.uint8)
    bits[rows // _FLAT_BITS, rows % _FLAT_BITS] = 1
    return np.packbits(bits, axis=1, bitorder="little").tobytes()


def _sparse(rows: np.ndarray, last: int) -> EncodedVector:
    count, (group, in_group) = last // BLOCK_ROWS + 1, np.divmod(rows % BLOCK_ROWS, _GROUP_ROWS)
    # The two bytes of a row come from disjoint alphabets, so a search cannot match across two rows.
    pairs = np.stack([group, in_group | _GROUP_ROWS], axis=1).astype(np.uint8)
    bounds = np.searchsorted(rows, np.arange(count + 1) * BLOCK_ROWS) * 2
    bits = np.zeros((count, _BITS_BYTES, 8), np.uint8)
    bits[rows // BLOCK_ROWS, group // _GROUPS_IN_BYTE, group % _GROUPS_IN_BYTE] = 1
    numbers = (_digits(bounds[:-1], _START_DIGITS), _digits(np.diff(bounds), _LENGTH_DIGITS))
    records = np.concatenate([np.packbits(bits, axis=2, bitorder="little").reshape(count, -1), *numbers], axis=1)
    return EncodedVector(pairs.tobytes(), records.tobytes())


def _digits(numbers: np.ndarray, count: int) -> np.ndarray:
    return np.stack([numbers // 10**i % 10 + ord("0") for i in reversed(range(count))], axis=1).astype(np.uint8)


def to_arrow(vectors: list[EncodedVector | None]) -> dict[str, pa.Array]:
    """Return the constant columns of some files, by the scan's names; the second only if a vector is sparse."""
    columns = {VECTOR: pa.array([v.vector if v else None for v in vectors], pa.binary())}
    if any(v is not None and v.blocks is not None for v in vectors):
        columns[BLOCKS] = pa.array([v.blocks if v else None for v in vectors], pa.binary())
    return columns


def together(columns: dict[str, pa.Array]) -> tuple[dict[str, pa.Array], bytes] | None:
    """Move the bytes of the constant columns of some files into one array; None if they are too many.

    Return columns of offsets for the same conditions, and the bytes for `BYTES`.
    """
    if sum(int(pc.sum(pc.binary_length(values)).as_py() or 0) for values in columns.values()) > _MOST_TOGETHER_BYTES:
        return None
    constants, payloads, size = {}, [], 0
    sizes = {name: pc.fill_null(pc.binary_length(values), 0).to_numpy() for name, values in columns.items()}
    for name, values in columns.items():
        starts = size + 1 + np.cumsum(sizes[name]) - sizes[name]
        constants[name] = pa.array(starts, pa.int32(), mask=values.is_null().to_numpy(zero_copy_only=False))
        payloads += [payload for payload in values.to_pylist() if payload is not None]
        size += int(sizes[name].sum())
    rows = sizes[VECTOR].astype(np.int64) * _FLAT_BITS
    if BLOCKS in columns:
        rows = np.where(sizes[BLOCKS] > 0, sizes[BLOCKS].astype(np.int64) // _RECORD_BYTES * BLOCK_ROWS, rows)
    constants |= {_INDEX: pa.array(np.zeros(len(rows), np.int32)), _ROWS: pa.array(rows)}
    return constants, b"".join(payloads)


def row_is_live(columns: dict[str, pa.Array], row: str) -> str:
    """Return the condition that a row is not deleted, as SQL over the constant columns and the row's number in its file.

    Args:
        columns: the columns from `to_arrow`, or from `together`.
    """
    if _INDEX in columns:
        # The bytes of another vector follow, so a row beyond the end of its own must not be looked up. No vector means 0 rows.
        within, has_no_bit = f"{BYTES}[{_INDEX}]", f"{row} >= {_ROWS}"
        vector, blocks = _Bytes(within, VECTOR), _Bytes(within, BLOCKS)
    else:
        has_no_bit = f"{VECTOR} is null"
        vector, blocks = _Bytes(VECTOR, "1"), _Bytes(BLOCKS, "1")
    is_live = _flat_condition(row, vector)
    if BLOCKS in columns:
        is_live = f"case when {BLOCKS} is null then {is_live} else {_sparse_condition(row, vector, blocks)} end"
    return f"{has_no_bit} or {is_live}"


def row_is_marked(columns: dict[str, pa.Array], row: str) -> str:
    """Return the condition that a row is in its file's vector, over the same columns."""
    return f"not ({row_is_live(columns, row)})"
