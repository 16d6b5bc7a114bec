# SPDX-License-Identifier: Apache-2.0
"""Sets of positions: what they are built from, what can be done with two of them, and the forms of their containers."""

from __future__ import annotations

import random
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.protocol.deletion_vectors.roaring import Bitmap, decode, encode
from bayou.protocol.deletion_vectors.roaring_containers import BITMAP_BYTES, Container

BLOCK = 32_768
_KEYS = st.sampled_from([0, 1, 2, 70_000])
_LOWS = st.integers(0, 65_535)
_RUN = st.tuples(_LOWS, st.integers(1, 9_000)).map(lambda x: set(range(x[0], min(x[0] + x[1], 65_536))))
_FEW = st.sets(_LOWS, min_size=1, max_size=40)
_MANY = st.tuples(st.integers(0, 2**32), st.integers(900, 6_000)).map(
    lambda x: set(random.Random(x[0]).sample(range(65_536), x[1]))
)
LOWS = st.lists(_RUN | _FEW | _MANY, min_size=1, max_size=3).map(lambda sets: set().union(*sets))
POSITIONS = st.dictionaries(_KEYS, LOWS, max_size=3).map(
    lambda blocks: {key << 16 | low for key, lows in blocks.items() for low in lows}
)


def blocks_of(positions):
    """What Spark's `bitmap_construct_agg` gives for each bucket that holds a position."""
    found = {}
    for position in positions:
        block = found.setdefault(position // BLOCK, bytearray(BLOCK // 8))
        block[position % BLOCK // 8] |= 1 << position % 8
    return [(number, bytes(block)) for number, block in found.items()]


@given(POSITIONS)
def test_blocks_of_bits_hold_the_positions_whose_bits_are_set(positions):
    bitmap = Bitmap.from_blocks(blocks_of(positions))
    assert bitmap.to_list() == sorted(positions)
    assert bitmap == Bitmap.from_positions(positions)
    assert decode(encode(bitmap)) == bitmap


def test_the_first_block_holds_the_first_positions_lowest_bit_first():
    assert Bitmap.from_blocks([(0, b"\x01\x02" + bytes(4_094))]).to_list() == [0, 9]
    assert Bitmap.from_blocks([(1, b"\x80" + bytes(4_095)), (0, bytes(4_096))]).to_list() == [BLOCK + 7]
    assert Bitmap.from_blocks([(3, bytes(4_096))]) == Bitmap()


@pytest.mark.parametrize("blocks", [[(0, b"")], [(-1, bytes(4_096))], [(1 << 48, bytes(4_096))], [(0, bytes(4_096))] * 2])
def test_what_is_no_list_of_blocks_is_refused(blocks):
    with pytest.raises(ValueError):
        Bitmap.from_blocks(blocks)


@given(POSITIONS, POSITIONS)
def test_two_sets_make_the_sets_that_python_makes(left, right):
    one, other = Bitmap.from_positions(left), Bitmap.from_blocks(blocks_of(right))
    assert one.union(other).to_list() == sorted(left | right)
    assert one.difference(other).to_list() == sorted(left - right)
    assert one.intersection(other).to_list() == sorted(left & right)
    assert one.union(other).cardinality == len(left | right)


@given(POSITIONS, st.integers(-2, 2), st.data())
def test_the_positions_below_a_limit_are_those_that_python_finds(positions, shift, data):
    limit = max(0, data.draw(st.sampled_from([0, *sorted(positions)])) + shift)
    assert Bitmap.from_positions(positions).below(limit).to_list() == sorted(each for each in positions if each < limit)


@given(POSITIONS, st.integers(0, 9))
def test_the_first_positions_are_the_lowest(positions, count):
    assert Bitmap.from_positions(positions).first(count) == sorted(positions)[:count]


@given(LOWS)
def test_each_way_to_make_a_container_makes_the_smallest(lows):
    ordered = sorted(lows)
    container = Container.from_lows(3, array("H", ordered))
    assert container == Container.from_bits(3, container.bits())
    assert container.lows().tolist() == ordered
    assert container.maximum == ordered[-1]
    runs = sum(low - 1 not in lows for low in lows)
    sizes = {"run": 4 * runs + 2, "array": 2 * len(lows) if len(lows) <= 4_096 else BITMAP_BYTES, "bitmap": BITMAP_BYTES}
    assert sizes[container.kind] == min(sizes.values())


@pytest.mark.parametrize("lows", [range(65_536), [0], [65_535], range(65_528, 65_536), range(7, 9), range(0, 65_536, 2)])
def test_containers_at_their_limits_keep_their_positions(lows):
    container = Container.from_lows(0, array("H", lows))
    assert container.lows().tolist() == list(lows)
    assert int.from_bytes(container.bits(), "little") == sum(1 << low for low in lows)
    assert container.maximum == lows[-1]
