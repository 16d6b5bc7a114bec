# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from bayou.log.actions.selection import Selection

RUNS = st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=60)


def chunked(values, kind, size):
    parts = [pa.array(values[start : start + size], kind) for start in range(0, len(values), size)]
    return pa.chunked_array(parts, kind)


@given(RUNS, st.integers(1, 50))
def test_a_selection_keeps_what_its_mask_keeps(runs, size):
    kept = [flag for flag, length in runs for _ in range(length)]
    selection = Selection.of(chunked(kept, pa.bool_(), size))
    values = chunked(list(range(len(kept))), pa.int64(), size + 3)
    expected = [value for value, flag in enumerate(kept) if flag]
    assert selection.apply(values).to_pylist() == expected
    assert (selection.length, selection.total) == (len(expected), len(kept))
    assert selection.to_mask().to_pylist() == kept


def test_many_holes_are_a_mask_and_few_are_slices_that_copy_nothing():
    values = pa.chunked_array([pa.array(range(10_000))])
    many = Selection.of(pa.chunked_array([pa.array([number % 2 == 0 for number in range(10_000)])]))
    assert many.slices is None
    assert many.apply(values).to_pylist() == list(range(0, 10_000, 2))
    few = Selection.of(pa.chunked_array([pa.array([number != 5_000 for number in range(10_000)])]))
    assert few.slices == ((0, 5_000), (5_001, 4_999))
    assert few.apply(values).chunk(1).buffers()[1].address == values.chunk(0).buffers()[1].address
    run = Selection.of(pa.chunked_array([pa.array([number > 9_000 for number in range(10_000)])]))
    assert run.slices == ((9_001, 999),)


def test_everything_and_nothing_are_selections_too():
    values = pa.chunked_array([pa.array([1, 2])])
    assert Selection.everything(2).apply(values) is values
    nothing = Selection.of(pa.chunked_array([pa.array([False, False])]))
    assert nothing.apply(values).to_pylist() == []
    assert Selection.of(pa.chunked_array([], pa.bool_())).is_everything
