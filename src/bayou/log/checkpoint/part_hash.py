# SPDX-License-Identifier: Apache-2.0
"""The part of a multi-part checkpoint to which an action belongs: Spark's hash partitioning, in bulk.

Two writers that write the same checkpoint concurrently may overwrite each other's parts, so all writers must assign the same
actions to a part.

Sources: PROTOCOL.md, "Multi-part checkpoint"; Spark's `Murmur3_x86_32` and `HashPartitioning`.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.statistics.members import one_array

SEED: Final = 42
"""Spark's seed, which is also the hash of an action without a path."""

_WORD_BYTES: Final = 4


def parts_of(paths: pa.ChunkedArray, vector_ids: pa.ChunkedArray, parts: int) -> pa.Array:
    """Return the part of each file action, counted from zero, int64; the id of a missing deletion vector is null."""
    hashes = murmur3(one_array(vector_ids), murmur3(one_array(paths), pa.repeat(_word(SEED), len(paths))))
    return _modulo(hashes.view(pa.int32()).cast(pa.int64()), parts)


def part_of_others(parts: int) -> int:
    """Return the part of the actions that are not about files."""
    return SEED % parts


def murmur3(texts: pa.Array, seeds: pa.Array) -> pa.Array:
    """Return Spark's 32-bit hash of strings, uint32; the seed if a string is null."""
    hashes = seeds
    lengths = pc.binary_length(texts)
    for length in pc.unique(lengths).to_pylist():
        if length is not None:
            mask = pc.fill_null(pc.equal(lengths, length), False)
            hashes = pc.replace_with_mask(hashes, mask, _hash_equally_long(texts.filter(mask), length, seeds.filter(mask)))
    return hashes


def _hash_equally_long(texts: pa.Array, length: int, hashes: pa.Array) -> pa.Array:
    octets = _octets(texts, length) if length else []
    aligned = length - length % _WORD_BYTES
    for start in range(0, aligned, _WORD_BYTES):
        word = octets[start].cast(pa.uint32())
        for place in range(1, _WORD_BYTES):
            shifted = pc.shift_left(octets[start + place].cast(pa.uint32()), _word(8 * place))
            word = pc.bit_wise_or(word, shifted)
        hashes = _mixed(hashes, word)
    for octet in octets[aligned:]:
        # Spark treats each byte after the last whole word as a signed number.
        hashes = _mixed(hashes, octet.view(pa.int8()).cast(pa.int32()).view(pa.uint32()))
    return _finished(hashes, length)


def _octets(texts: pa.Array, length: int) -> list[pa.Array]:
    """Return the bytes of equally long strings, one array per position."""
    _, offsets, data = texts.buffers()
    first = int.from_bytes(offsets.slice(4 * texts.offset, 4).to_pybytes(), sys.byteorder)
    flat = pa.Array.from_buffers(pa.uint8(), length * len(texts), [None, data.slice(first, length * len(texts))])
    lists = pa.FixedSizeListArray.from_arrays(flat, length)
    return [pc.list_element(lists, place) for place in range(length)]


def _mixed(hashes: pa.Array, words: pa.Array) -> pa.Array:
    words = pc.multiply(words, _word(0xCC9E2D51))
    words = pc.multiply(_rotated(words, 15), _word(0x1B873593))
    hashes = _rotated(pc.bit_wise_xor(hashes, words), 13)
    return pc.add(pc.multiply(hashes, _word(5)), _word(0xE6546B64))


def _finished(hashes: pa.Array, length: int) -> pa.Array:
    hashes = pc.bit_wise_xor(hashes, _word(length))
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashes = pc.multiply(_folded(hashes, shift), _word(factor))
    return _folded(hashes, 16)


def _rotated(words: pa.Array, bits: int) -> pa.Array:
    return pc.bit_wise_or(pc.shift_left(words, _word(bits)), pc.shift_right(words, _word(32 - bits)))


def _folded(words: pa.Array, bits: int) -> pa.Array:
    return pc.bit_wise_xor(words, pc.shift_right(words, _word(bits)))


def _word(value: int) -> Any:
    return pa.scalar(value, pa.uint32())


def _modulo(values: pa.Array, divisor: int) -> pa.Array:
    """Return the remainder, never negative."""
    rest = pc.subtract(values, pc.multiply(pc.divide(values, divisor), divisor))
    return pc.if_else(pc.less(rest, 0), pc.add(rest, divisor), rest)
