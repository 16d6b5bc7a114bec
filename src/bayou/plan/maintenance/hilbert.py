# SPDX-License-Identifier: Apache-2.0
"""The places of cells along a Hilbert curve: neighbours on the curve are neighbours in each column.

Source: John Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence


def hilbert_places(ranks: Sequence[pa.Array], bits: int) -> pa.Array:
    """Return the place of each cell along the curve, from 0 on, int64.

    Args:
        ranks: for each column the rank of each cell, from 0 to 2**bits - 1; int64, without NULL.
        bits: how many bits a rank has; those of all columns together are at most 62.
    """
    axes = list(ranks)
    if len(axes) == 1:
        return axes[0]
    for bit in reversed(range(1, bits)):
        low = (1 << bit) - 1
        for number, axis in enumerate(axes):
            is_high = _has_bit(axis, bit)
            swapped = pc.if_else(is_high, 0, pc.bit_wise_and(pc.bit_wise_xor(axes[0], axis), low))
            axes[number] = pc.bit_wise_xor(axis, swapped)
            axes[0] = pc.bit_wise_xor(axes[0], pc.if_else(is_high, low, swapped))
    for number in range(1, len(axes)):
        axes[number] = pc.bit_wise_xor(axes[number], axes[number - 1])
    turned = pa.array([0] * len(axes[0]), pa.int64())
    for bit in reversed(range(1, bits)):
        turned = pc.bit_wise_xor(turned, pc.if_else(_has_bit(axes[-1], bit), (1 << bit) - 1, 0))
    return _interleaved([pc.bit_wise_xor(axis, turned) for axis in axes], bits)


def _interleaved(axes: Sequence[pa.Array], bits: int) -> pa.Array:
    """Return numbers whose bits alternate between the axes, the highest first."""
    place = pa.array([0] * len(axes[0]), pa.int64())
    for bit in reversed(range(bits)):
        for axis in axes:
            place = pc.bit_wise_or(pc.shift_left(place, 1), pc.bit_wise_and(pc.shift_right(axis, bit), 1))
    return place


def _has_bit(values: pa.Array, bit: int) -> pa.Array:
    return pc.not_equal(pc.bit_wise_and(values, 1 << bit), 0)
