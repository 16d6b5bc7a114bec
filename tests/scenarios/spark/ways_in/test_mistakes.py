# SPDX-License-Identifier: Apache-2.0
"""What newcomers see who make one of the known mistakes is what `tests/errors/rendered/mistakes.txt` has."""

from __future__ import annotations

import pytest
from tests.errors import snapshots
from tests.errors.mistakes import COMMAND, FILE, MISTAKES, block, blocks_of, title


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("number", MISTAKES)
def test_a_mistake_has_its_stored_answer(spark, tmp_path, number):
    before = blocks_of(snapshots.stored()[FILE]).get(number, "")
    now = block(number, spark, tmp_path)
    difference = snapshots.difference(FILE, before, now, COMMAND)
    assert not difference, f"{title(number)}\n{difference}"
