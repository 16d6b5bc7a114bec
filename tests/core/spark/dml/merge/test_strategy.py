# SPDX-License-Identifier: Apache-2.0
"""Which joins a MERGE takes, by its clauses, its source, its table, and what its first pass found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bayou.spark.dml.merge.strategy import ONE_TASK, FirstPass, Matches, MergeFacts, Part, choose_strategy

UPSERT = MergeFacts(
    source_rows=100,
    source_bytes=1000,
    broadcasts_source=True,
    repeats_rows=True,
    has_exact_keys=True,
    inserts=True,
    changes=True,
    by_source=False,
    updates_from_source=True,
    generates_identities=False,
)
"""An upsert of whole rows of a small source, into a table with deletion vectors."""
LARGE = {"broadcasts_source": False}
OLD_ROWS = {"updates_from_source": False}
INSERT_ONLY = {"changes": False, "updates_from_source": False}
CHANGE_ONLY = {"inserts": False, "updates_from_source": False}
CHANGED = FirstPass(writes_table_rows=True, num_pairs=90, num_files=40)
VECTORS_ALONE = FirstPass(writes_table_rows=False, num_pairs=90, num_files=40)
"""What is found if the rows that match are deleted by vectors."""
NOTHING = FirstPass(writes_table_rows=False, has_matches=False, num_files=40)


def chosen(facts, found=CHANGED):
    return choose_strategy(replace(UPSERT, **facts), found)


@pytest.mark.parametrize(
    ("facts", "found", "parts"),
    [
        ({}, CHANGED, (Part.SOURCE,)),
        ({"inserts": False}, CHANGED, (Part.SOURCE,)),
        ({"source_bytes": 1 << 30}, CHANGED, (Part.TABLE, Part.INSERTS)),
        ({"has_exact_keys": False}, CHANGED, (Part.TABLE, Part.INSERTS)),
        ({"by_source": True}, CHANGED, (Part.SOURCE,)),
        ({"by_source": True, "inserts": False}, CHANGED, (Part.TABLE,)),
        ({}, replace(CHANGED, overlaps=True), (Part.TABLE, Part.INSERTS)),
        ({}, replace(CHANGED, num_pairs=101), (Part.TABLE, Part.INSERTS)),
        ({}, VECTORS_ALONE, (Part.INSERTS,)),
        (OLD_ROWS, CHANGED, (Part.TABLE, Part.INSERTS)),
        (LARGE, CHANGED, (Part.BOTH,)),
        (LARGE, VECTORS_ALONE, (Part.BOTH,)),
        (LARGE, NOTHING, (Part.INSERTS,)),
        (LARGE, replace(CHANGED, overlaps=True), (Part.TABLE, Part.INSERTS)),
        (LARGE, replace(CHANGED, repeats=True, writes_change_rows=True), (Part.TABLE, Part.INSERTS)),
        (LARGE, replace(CHANGED, repeats=True), (Part.BOTH,)),
        ({**LARGE, **CHANGE_ONLY}, CHANGED, (Part.TABLE,)),
        (INSERT_ONLY, NOTHING, (Part.INSERTS,)),
        (CHANGE_ONLY, VECTORS_ALONE, ()),
        ({"generates_identities": True}, CHANGED, (Part.TABLE, Part.INSERTS)),
        ({"generates_identities": True, **LARGE}, VECTORS_ALONE, (Part.INSERTS,)),
    ],
)
def test_rows_are_written_by_the_fewest_joins(facts, found, parts):
    assert chosen(facts, found).parts == parts


@pytest.mark.parametrize(
    ("facts", "pairs", "inserts_by_keys"),
    [
        ({}, True, True),
        (OLD_ROWS, True, True),
        (INSERT_ONLY, True, True),
        (CHANGE_ONLY, False, False),
        ({"inserts": False}, True, False),
        ({"inserts": False, "by_source": True}, False, False),
        ({"has_exact_keys": False}, False, False),
        (LARGE, False, False),
    ],
)
def test_pairs_are_materialised_if_keys_decide_about_rows(facts, pairs, inserts_by_keys):
    found = choose_strategy(replace(UPSERT, **facts))
    assert (found.materialises_pairs, found.inserts_by_keys) == (pairs, inserts_by_keys)
    assert (found.materialises_pairs, found.inserts_by_keys) == (chosen(facts).materialises_pairs, chosen(facts).inserts_by_keys)


@pytest.mark.parametrize(
    ("facts", "found", "matches"),
    [
        ({}, CHANGED, Matches.ALL),
        ({}, replace(CHANGED, overlaps=True), Matches.CHANGING),
        ({"by_source": True}, replace(CHANGED, overlaps=True), Matches.ONE),
        ({}, replace(CHANGED, repeats=True), Matches.ALL),
        ({}, replace(CHANGED, repeats=True, writes_change_rows=True), Matches.ONE),
    ],
)
def test_a_row_with_several_matches_is_written_once(facts, found, matches):
    assert chosen(facts, found).matches is matches


@pytest.mark.parametrize(
    ("facts", "found", "counts"),
    [
        ({"repeats_rows": False}, CHANGED, True),
        ({"repeats_rows": False}, VECTORS_ALONE, False),
        ({"repeats_rows": False, "inserts": False}, CHANGED, False),
        ({}, CHANGED, False),
    ],
)
def test_rows_are_counted_by_kind_if_the_passes_may_see_different_ones_and_new_rows_hide_it(facts, found, counts):
    assert chosen(facts, found).counts_rows == counts


@pytest.mark.parametrize(
    ("facts", "found", "most"),
    [
        ({}, CHANGED, 1),
        ({"source_bytes": 0}, CHANGED, 1),
        ({"source_bytes": 3 * ONE_TASK + 1}, CHANGED, 4),
        (OLD_ROWS, CHANGED, None),
        (OLD_ROWS, replace(CHANGED, num_files=32), 1),
        (OLD_ROWS, replace(CHANGED, num_files=32, num_bytes=ONE_TASK), None),
        (LARGE, replace(CHANGED, num_files=1), None),
        ({"generates_identities": True}, replace(CHANGED, num_files=1), None),
    ],
)
def test_few_rows_leave_few_files(facts, found, most):
    assert chosen(facts, found).max_tasks == most


def test_a_plan_expects_one_match_for_a_row_and_describes_the_joins():
    assert list(choose_strategy(UPSERT).lines()) == [
        "the source is broadcast",
        "the keys that match are materialised",
        "updated and inserted rows: the source, joined with the keys that matched",
    ]
    assert list(choose_strategy(replace(UPSERT, **LARGE)).lines()) == [
        "the source is not broadcast",
        "rewritten and inserted rows: an outer join of the table's files that matched and the source",
    ]
    assert choose_strategy(replace(UPSERT, **INSERT_ONLY)).parts == (Part.INSERTS,)
    assert not choose_strategy(UPSERT).counts_rows
    assert choose_strategy(UPSERT).one_job
