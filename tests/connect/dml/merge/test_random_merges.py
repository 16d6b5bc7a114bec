# SPDX-License-Identifier: Apache-2.0
"""Random MERGEs on a Connect session, compared with a model in Python."""

from __future__ import annotations

import random

import pytest
from tests.connect.dml.conftest import FEED, VECTORS, all_rows
from tests.connect.dml.merge.sources import merged, source_of


def model(table, source, choice):
    """What a MERGE of `test_random_merges` has to leave: rows by id."""
    found = {}
    for each, part, v in table:
        pairs = [row for row in source if row[0] == each]
        if pairs:
            row = pairs[0]
            if choice["delete"] and each % 3 == 0:
                continue
            found[each] = (row[1], f"{v}+{row[2]}") if choice["update"] and each % 3 == 1 else (part, v)
        elif choice["by source"] and each % 2 == 0:
            found[each] = (part, "gone")
        else:
            found[each] = (part, v)
    known = {row[0] for row in table}
    found |= {row[0]: row[1:] for row in source if row[0] not in known and choice["insert"] and row[0] % 2 == 0}
    return sorted((each, *row) for each, row in found.items())


@pytest.mark.parametrize("seed", range(12))
def test_random_merges(spark, make, rows, seed):
    chosen = random.Random(seed)
    choice = {name: chosen.random() < 0.7 for name in ("delete", "update", "by source", "insert")}
    if not any(choice.values()):
        choice["update"] = True
    source = [(each, chosen.choice("abc"), f"s{each}") for each in chosen.sample(range(40), chosen.randint(0, 25))]
    ways = chosen.choice([{}, VECTORS]) | chosen.choice([{}, FEED])
    merge = merged(make(ways), source_of(spark, *source))
    if choice["delete"]:
        merge = merge.whenMatchedDelete("t.id % 3 = 0")
    if choice["update"]:
        merge = merge.whenMatchedUpdate("s.id % 3 = 1", {"part": "s.part", "v": "concat(t.v, '+', s.v)"})
    if choice["insert"]:
        merge = merge.whenNotMatchedInsertAll("id % 2 = 0")
    if choice["by source"]:
        merge = merge.whenNotMatchedBySourceUpdate("id % 2 = 0", {"v": "'gone'"})
    merge.execute()
    assert rows() == model(all_rows(), source, choice)
