# SPDX-License-Identifier: Apache-2.0
"""Sets of row positions as 64-bit roaring bitmaps, and their serialised forms in deletion vectors.

Sources: PROTOCOL.md, "Deletion Vector Format"; https://github.com/RoaringBitmap/RoaringFormatSpec, with its extension for 64-bit
implementations. Parsing raises ValueError; `bayou.protocol.deletion_vectors.descriptor` adds the table and file.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from bayou.protocol.deletion_vectors.roaring_containers import ARRAY_LIMIT, BITMAP_BYTES, CONTAINER_VALUES, Container, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["NATIVE_MAGIC", "PORTABLE_MAGIC", "Bitmap", "Container", "decode", "encode"]

PORTABLE_MAGIC = 1681511377
# The form of delta-spark's `NativeRoaringBitmapArraySerializationFormat`: the index of a 32-bit bitmap is its key, and its length
# precedes it.
NATIVE_MAGIC = 1681511376

_COOKIE_WITHOUT_RUNS = 12346
_COOKIE_WITH_RUNS = 12347
# With runs and fewer containers the offsets are left out.
_OFFSETS_FROM = 4
# The protocol forbids the highest bit of a 32-bit key, so positions are less than 2^63.
_KEY_LIMIT = 1 << 31
_POSITION_LIMIT = 1 << 63
_BLOCK_BYTES = BITMAP_BYTES // 2


@dataclass(frozen=True, slots=True)
class Bitmap:
    """An immutable set of 63-bit positions.

    The keys of the containers ascend strictly. Two bitmaps with the same positions may have different kinds of containers, so
    compare `to_list()`.

    Attributes:
        containers: the positions in raw blocks of 65,536, which NumPy or Arrow can expand without Python objects.
    """

    containers: tuple[Container, ...] = ()

    @classmethod
    def from_positions(cls, positions: Iterable[int]) -> Bitmap:
        """Return the set of positions in any order. Raise ValueError if one is negative or has more than 63 bits."""
        ordered = sorted(set(positions))
        if ordered and not 0 <= ordered[0] <= ordered[-1] < _POSITION_LIMIT:
            raise ValueError(f"positions lie between 0 and 2^63 - 1, not {ordered[0]} to {ordered[-1]}")
        lows = _low_parts(ordered)
        containers, start = [], 0
        while start < len(ordered):
            key = ordered[start] >> 16
            end = bisect_left(ordered, (key + 1) << 16, start)
            containers.append(Container.from_lows(key, lows[start:end]))
            start = end
        return cls(tuple(containers))

    @classmethod
    def from_blocks(cls, blocks: Iterable[tuple[int, bytes]]) -> Bitmap:
        """Return the set from blocks of bits, as Spark's `bitmap_construct_agg` returns for each bucket of 32,768 positions.

        Args:
            blocks: the number of each bucket and its 4,096 bytes, in any order. Bit i, lowest first, of bucket b is the position
                `b * 32768 + i`.

        Raises:
            ValueError: a block has the wrong length, or its number is negative, too high, or duplicate.
        """
        known: dict[int, bytes] = {}
        for number, block in blocks:
            if len(block) != _BLOCK_BYTES or not 0 <= number < _POSITION_LIMIT >> 15 or number in known:
                raise ValueError(f"block {number} of {len(block)} bytes is not one of {_BLOCK_BYTES}, or is there twice")
            known[number] = block
        empty = bytes(_BLOCK_BYTES)
        keys = sorted({number >> 1 for number in known})
        bits = (known.get(2 * key, empty) + known.get(2 * key + 1, empty) for key in keys)
        found = (Container.from_bits(key, both) for key, both in zip(keys, bits, strict=True))
        return cls(tuple(each for each in found if each is not None))

    @property
    def cardinality(self) -> int:
        """The number of positions."""
        return sum(container.cardinality for container in self.containers)

    @property
    def maximum(self) -> int | None:
        """The greatest position, or None."""
        if not self.containers:
            return None
        last = self.containers[-1]
        return (last.key << 16) | last.maximum

    def to_list(self) -> list[int]:
        """Return all positions, ascending. This is slow for large sets."""
        return [container.key << 16 | low for container in self.containers for low in container.lows()]

    def union(self, other: Bitmap) -> Bitmap:
        """Return the positions in either set."""
        merged = {container.key: container for container in self.containers}
        for container in other.containers:
            mine = merged.get(container.key)
            merged[container.key] = container if mine is None else mine.union(container)
        return Bitmap(tuple(merged[key] for key in sorted(merged)))

    def difference(self, other: Bitmap) -> Bitmap:
        """Return the positions in this set that are not in the other one."""
        theirs = {container.key: container for container in other.containers}
        left = (each.difference(theirs[each.key]) if each.key in theirs else each for each in self.containers)
        return Bitmap(tuple(each for each in left if each is not None))

    def intersection(self, other: Bitmap) -> Bitmap:
        """Return the positions in both sets."""
        theirs = {container.key: container for container in other.containers}
        shared = (each.intersection(theirs[each.key]) for each in self.containers if each.key in theirs)
        return Bitmap(tuple(each for each in shared if each is not None))

    def below(self, limit: int) -> Bitmap:
        """Return the positions below a limit."""
        key, low = divmod(limit, CONTAINER_VALUES)
        parts = (each if each.key < key else each.below(low) for each in self.containers if each.key <= key)
        return Bitmap(tuple(each for each in parts if each is not None))

    def first(self, count: int) -> list[int]:
        """Return up to `count` of the lowest positions, ascending."""
        found: list[int] = []
        for container in self.containers:
            if len(found) >= count:
                break
            found += [container.key << 16 | low for low in container.lows()[: count - len(found)]]
        return found


def encode(positions: Bitmap | Iterable[int]) -> bytes:
    """Serialise to the portable form, including the magic number."""
    bitmap = positions if isinstance(positions, Bitmap) else Bitmap.from_positions(positions)
    groups = [(key, list(group)) for key, group in groupby(bitmap.containers, lambda container: container.key >> 16)]
    parts = [struct.pack("<IQ", PORTABLE_MAGIC, len(groups))]
    for key, containers in groups:
        parts += [struct.pack("<I", key), _encode_32(containers)]
    return b"".join(parts)


def decode(data: bytes) -> Bitmap:
    """Parse the portable or native serialised form. Raise ValueError if it is not valid."""
    reader = _Reader(data)
    magic = reader.unpack("<I")
    if magic == PORTABLE_MAGIC:
        containers = tuple(_portable(reader))
    elif magic == NATIVE_MAGIC:
        containers = tuple(_native(reader))
    else:
        raise ValueError(f"the magic number is {magic}, not {PORTABLE_MAGIC}")
    if reader.position != len(data):
        raise ValueError(f"{len(data) - reader.position} bytes follow the bitmap")
    return Bitmap(containers)


class _Reader:
    """Reads bytes, and raises ValueError at their end."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self.data):
            raise ValueError(f"the bitmap ends at byte {len(self.data)}, but byte {end} is needed")
        piece = self.data[self.position : end]
        self.position = end
        return piece

    def unpack(self, layout: str) -> int:
        value: int = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return value


def _portable(reader: _Reader) -> Iterator[Container]:
    previous = -1
    for _ in range(reader.unpack("<Q")):
        key = reader.unpack("<I")
        if not previous < key < _KEY_LIMIT:
            raise ValueError(f"the 32-bit key {key} follows {previous}, where keys ascend and stay below {_KEY_LIMIT}")
        yield from _decode_32(reader, key)
        previous = key


def _native(reader: _Reader) -> Iterator[Container]:
    for key in range(reader.unpack("<I")):
        size = reader.unpack("<I")
        end = reader.position + size
        yield from _decode_32(reader, key)
        if reader.position != end:
            raise ValueError(f"the 32-bit bitmap {key} has another length than the {size} bytes that are written before it")


def _decode_32(reader: _Reader, high: int) -> Iterator[Container]:
    cookie = reader.unpack("<I")
    if cookie == _COOKIE_WITHOUT_RUNS:
        count, runs = reader.unpack("<I"), b""
    elif cookie & 0xFFFF == _COOKIE_WITH_RUNS:
        count = (cookie >> 16) + 1
        runs = reader.take((count + 7) // 8)
    else:
        raise ValueError(f"a 32-bit bitmap starts with {cookie}, not with {_COOKIE_WITHOUT_RUNS} or {_COOKIE_WITH_RUNS}")
    if count > CONTAINER_VALUES:
        raise ValueError(f"a 32-bit bitmap has up to {CONTAINER_VALUES} containers, not {count}")
    header = words(reader.take(4 * count))
    if not runs or count >= _OFFSETS_FROM:
        # Skip the offsets, since the containers are contiguous.
        reader.take(4 * count)
    previous = -1
    for i in range(count):
        low_key, cardinality = header[2 * i], header[2 * i + 1] + 1
        if low_key <= previous:
            raise ValueError(f"the container key {low_key} follows {previous}, where keys ascend")
        previous = low_key
        is_run = bool(runs) and bool(runs[i >> 3] >> (i & 7) & 1)
        yield _container(reader, high << 16 | low_key, cardinality, is_run=is_run)


def _container(reader: _Reader, key: int, cardinality: int, *, is_run: bool) -> Container:
    if is_run:
        data = reader.take(4 * reader.unpack("<H"))
        return Container(key, "run", data, _run_cardinality(words(data), key, cardinality))
    if cardinality <= ARRAY_LIMIT:
        return Container(key, "array", reader.take(2 * cardinality), cardinality)
    data = reader.take(BITMAP_BYTES)
    found = int.from_bytes(data, "little").bit_count()
    if found != cardinality:
        raise ValueError(f"the container {key} says {cardinality} positions and holds {found}")
    return Container(key, "bitmap", data, cardinality)


def _run_cardinality(runs: array[int], key: int, expected: int) -> int:
    end, found = -1, 0
    for i in range(0, len(runs), 2):
        start, more = runs[i], runs[i + 1]
        if start <= end or start + more >= CONTAINER_VALUES:
            raise ValueError(f"the runs of container {key} overlap or leave it")
        end = start + more
        found += more + 1
    if found != expected:
        raise ValueError(f"the container {key} says {expected} positions and holds {found}")
    return found


def _encode_32(containers: list[Container]) -> bytes:
    count = len(containers)
    header = b"".join(struct.pack("<HH", c.key & 0xFFFF, c.cardinality - 1) for c in containers)
    bodies = [struct.pack("<H", len(c.data) // 4) + c.data if c.kind == "run" else c.data for c in containers]
    if any(container.kind == "run" for container in containers):
        flags = sum(1 << i for i, container in enumerate(containers) if container.kind == "run")
        start = struct.pack("<I", _COOKIE_WITH_RUNS | (count - 1) << 16) + flags.to_bytes((count + 7) // 8, "little")
        with_offsets = count >= _OFFSETS_FROM
    else:
        start = struct.pack("<II", _COOKIE_WITHOUT_RUNS, count)
        with_offsets = True
    if not with_offsets:
        return b"".join([start, header, *bodies])
    offset = len(start) + 8 * count
    offsets = []
    for body in bodies:
        offsets.append(struct.pack("<I", offset))
        offset += len(body)
    return b"".join([start, header, *offsets, *bodies])


def _low_parts(positions: list[int]) -> array[int]:
    """Return the low 16 bits of each position: every fourth of its 16-bit words."""
    parts = array("H", array("Q", positions).tobytes())
    return parts[3::4] if sys.byteorder == "big" else parts[0::4]
