# SPDX-License-Identifier: Apache-2.0
"""The containers of roaring bitmaps: up to 65,536 positions in the smallest of three forms.

Operations use integers of 65,536 bits, except for the array form, whose few positions are processed one by one.

Source: https://github.com/RoaringBitmap/RoaringFormatSpec.
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass
from itertools import compress
from operator import sub
from typing import Final, Literal

ARRAY_LIMIT: Final = 4096
"""The maximum number of positions in an array container."""
BITMAP_BYTES: Final = 8192
"""The size of a bitmap container, which has a bit for each position."""
CONTAINER_VALUES: Final = 1 << 16
"""The number of positions that a container can have."""

Kind = Literal["array", "bitmap", "run"]

# With fewer positions, scanning words of 64 bits is faster than scanning bytes.
_SPARSE: Final = 1000
_BITS_OF_BYTE: Final = tuple(tuple(bit for bit in range(8) if byte >> bit & 1) for byte in range(256))


@dataclass(frozen=True, slots=True)
class Container:
    """Up to 65,536 positions with the same high 48 bits, at least one.

    Attributes:
        key: the high 48 bits: a position is `(key << 16) | low`.
        kind: the form of `data`: "array" for ascending 16-bit low parts; "bitmap" for 8,192 bytes with a bit for each low part,
            lowest bit first; "run" for pairs of 16 bits: the first low part, and the number of those that follow it.
        data: the raw little-endian buffer.
        cardinality: the number of positions.
    """

    key: int
    kind: Kind
    data: bytes
    cardinality: int

    @classmethod
    def from_lows(cls, key: int, lows: array[int]) -> Container:
        """Return the smallest container for at least one low part, strictly ascending."""
        size = len(lows)
        if _runs_are_smallest(size - list(map(sub, lows[1:], lows)).count(1), size) or size > ARRAY_LIMIT:
            return cls._smallest(key, int.from_bytes(_bits_of(lows), "little"), size)
        return cls(key, "array", little_endian(lows), size)

    @classmethod
    def from_bits(cls, key: int, bits: bytes) -> Container | None:
        """Return the smallest container for 8,192 bytes of bits, lowest bit first; None if no bit is set."""
        if len(bits) != BITMAP_BYTES:
            raise ValueError(f"a bitmap container has {BITMAP_BYTES} bytes, not {len(bits)}")
        return cls.from_number(key, int.from_bytes(bits, "little"))

    @classmethod
    def from_number(cls, key: int, number: int) -> Container | None:
        """Return the smallest container for an integer with a bit for each position; None for zero."""
        return cls._smallest(key, number, number.bit_count()) if number else None

    @classmethod
    def _smallest(cls, key: int, number: int, cardinality: int) -> Container:
        first = number & ~(number << 1)
        if _runs_are_smallest(first.bit_count(), cardinality):
            starts, ends = _positions(first), _positions(number & ~(number >> 1))
            runs = array("H", bytes(4 * len(starts)))
            runs[0::2], runs[1::2] = starts, array("H", map(sub, ends, starts))
            return cls(key, "run", little_endian(runs), cardinality)
        if cardinality <= ARRAY_LIMIT:
            return cls(key, "array", little_endian(_positions(number)), cardinality)
        return cls(key, "bitmap", number.to_bytes(BITMAP_BYTES, "little"), cardinality)

    @property
    def maximum(self) -> int:
        """The greatest low part."""
        if self.kind == "bitmap":
            return int.from_bytes(self.data, "little").bit_length() - 1
        values = words(self.data)
        return values[-1] if self.kind == "array" else values[-2] + values[-1]

    def lows(self) -> array[int]:
        """Return the low 16 bits of each position, ascending."""
        if self.kind == "bitmap":
            return _positions_of_bytes(self.data)
        values = words(self.data)
        if self.kind == "array":
            return values
        found = array("H")
        for start, more in zip(values[0::2], values[1::2], strict=True):
            found.extend(range(start, start + more + 1))
        return found

    def bits(self) -> bytes:
        """Return the positions as 8,192 bytes of bits, lowest bit first."""
        if self.kind == "bitmap":
            return self.data
        values = words(self.data)
        return _bits_of(values) if self.kind == "array" else _bits_of_runs(values)

    def union(self, other: Container) -> Container:
        """Return the positions in either container of the same key."""
        if self.kind == other.kind == "array" and self.cardinality + other.cardinality <= ARRAY_LIMIT:
            return Container.from_lows(self.key, array("H", sorted({*words(self.data), *words(other.data)})))
        number = self._number() | other._number()
        return Container._smallest(self.key, number, number.bit_count())

    def difference(self, other: Container) -> Container | None:
        """Return the positions in this container that are not in the other one of the same key, or None."""
        if self.kind == other.kind == "array":
            return self._with({*words(self.data)}.difference(words(other.data)))
        return Container.from_number(self.key, self._number() & ~other._number())

    def intersection(self, other: Container) -> Container | None:
        """Return the positions in both containers of the same key, or None."""
        if self.kind == other.kind == "array":
            return self._with({*words(self.data)}.intersection(words(other.data)))
        return Container.from_number(self.key, self._number() & other._number())

    def below(self, limit: int) -> Container | None:
        """Return the positions whose low part is below a limit, or None."""
        return Container.from_number(self.key, self._number() & (1 << limit) - 1)

    def _with(self, lows: set[int]) -> Container | None:
        return Container.from_lows(self.key, array("H", sorted(lows))) if lows else None

    def _number(self) -> int:
        return int.from_bytes(self.bits(), "little")


def words(data: bytes) -> array[int]:
    """Convert little-endian 16-bit words to numbers."""
    found = array("H", data)
    if sys.byteorder == "big":
        found.byteswap()
    return found


def little_endian(values: array[int]) -> bytes:
    """Convert 16-bit numbers to little-endian words."""
    if sys.byteorder == "big":
        values = array("H", values)
        values.byteswap()
    return values.tobytes()


def _runs_are_smallest(runs: int, cardinality: int) -> bool:
    return 4 * runs + 2 < min(2 * cardinality, BITMAP_BYTES)


def _positions(number: int) -> array[int]:
    """Return the positions of the bits that are set, ascending."""
    if number.bit_count() >= _SPARSE:
        return _positions_of_bytes(number.to_bytes(BITMAP_BYTES, "little"))
    found = []
    parts = array("Q", number.to_bytes(BITMAP_BYTES, "little"))
    if sys.byteorder == "big":
        parts.byteswap()
    for place in compress(range(len(parts)), parts):
        word, base = parts[place], (place << 6) - 1
        while word:
            lowest = word & -word
            found.append(base + lowest.bit_length())
            word ^= lowest
    return array("H", found)


def _positions_of_bytes(bits: bytes) -> array[int]:
    places = compress(range(BITMAP_BYTES), bits)
    return array("H", [place << 3 | bit for place in places for bit in _BITS_OF_BYTE[bits[place]]])


def _bits_of(lows: array[int]) -> bytes:
    bits = bytearray(BITMAP_BYTES)
    for low in lows:
        bits[low >> 3] |= 1 << (low & 7)
    return bytes(bits)


def _bits_of_runs(runs: array[int]) -> bytes:
    bits = bytearray(BITMAP_BYTES)
    for start, more in zip(runs[0::2], runs[1::2], strict=True):
        end = start + more
        first, last = start >> 3, end >> 3
        from_start, to_end = 0xFF << (start & 7) & 0xFF, (2 << (end & 7)) - 1
        if first == last:
            bits[first] |= from_start & to_end
            continue
        bits[first] |= from_start
        bits[first + 1 : last] = b"\xff" * (last - first - 1)
        bits[last] |= to_end
    return bytes(bits)
