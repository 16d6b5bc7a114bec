# SPDX-License-Identifier: Apache-2.0
"""The curve goes through each cell once, and from each cell to a neighbour."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from bayou.plan.maintenance.hilbert import hilbert_places


@pytest.mark.parametrize(("columns", "bits"), [(1, 5), (2, 1), (2, 5), (3, 3), (4, 2), (5, 2)])
def test_it_visits_every_cell_once_and_goes_from_neighbour_to_neighbour(columns, bits):
    cells = list(itertools.product(range(1 << bits), repeat=columns))
    ranks = [pa.array([cell[number] for cell in cells], pa.int64()) for number in range(columns)]
    places = hilbert_places(ranks, bits).to_pylist()
    assert sorted(places) == list(range(len(cells)))
    in_order = [cell for _, cell in sorted(zip(places, cells, strict=True))]
    steps = [sum(abs(one - other) for one, other in zip(*pair, strict=True)) for pair in itertools.pairwise(in_order)]
    assert set(steps) == {1}


def test_no_cells_have_no_places():
    assert hilbert_places([pa.array([], pa.int64())] * 2, 3).to_pylist() == []
