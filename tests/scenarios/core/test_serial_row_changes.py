# SPDX-License-Identifier: Apache-2.0
"""Random histories of row changes: each is as if one came after the other, and a broken rule of conflicts is noticed."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.drawing import SLOW
from tests.support.operations.row_changes import KEYS, Compact, Delete, Update, Upsert, begin, keys, table

from bayou.log.commit.outcomes import Committed
from bayou.log.conflict import checker, row_rebase
from bayou.log.delta_log import DeltaLog
from bayou.log.rows.moved_rows import MovedRows
from bayou.log.rows.vector_writer import VectorFiles
from bayou.protocol.deletion_vectors.descriptor import Bitmap

CHANGES = st.one_of(
    KEYS.map(Delete),
    st.builds(Update, KEYS, st.integers(1, 2)),
    st.builds(Upsert, KEYS, st.integers(1, 2)),
    KEYS.map(Compact),
)


def play(rounds, *, overtaken):
    """Commit operations that were begun together; each that succeeds did so at the place that its version has.

    Args:
        rounds: operations that overlap, round by round.
        overtaken: whether the second of each round commits just before the first one's put, and not after it.

    Returns:
        How many versions have a checksum; all of them are right.
    """
    found = table(range(4), range(4, 8))
    expected = found.rows()
    for operations in rounds:
        running = [begin(each, found) for each in operations]
        outcomes = {}

        def commit(place, running=running, outcomes=outcomes):
            outcomes[place] = running[place].try_commit(new_files=True)

        if overtaken:
            found.store.before_put = lambda commit=commit: commit(1)
        commit(0)
        found.store.before_put = lambda: None
        for place in range(1, len(operations)):
            if place not in outcomes:
                commit(place)
        done = {each.version: operations[place] for place, each in outcomes.items() if isinstance(each, Committed)}
        for version in sorted(done):
            expected = done[version].effect(expected)
        assert found.rows() == expected
        assert found.unused_vector_files() == set()
    checksums = [each for each in found.store.list_from("_delta_log/") if each.name.endswith(".crc")]
    assert all(DeltaLog(found.uri, found.store).verify_checksum(int(each.name[:20])) for each in checksums)
    return len(checksums)


@pytest.mark.parametrize("overtaken", [False, True])
def test_the_checksum_follows_commits_that_were_put_on_others(overtaken):
    rounds = [[Delete(keys(1)), Delete(keys(2)), Delete(keys(7))], [Delete(keys(3)), Delete(keys(4))]]
    assert play(rounds, overtaken=overtaken) == 8


@SLOW
@given(st.lists(st.lists(CHANGES, min_size=2, max_size=4), min_size=1, max_size=3), st.booleans())
def test_every_history_is_serial(rounds, overtaken):
    play(rounds, overtaken=overtaken)


def hunt(histories):
    """Histories from a fixed seed, which is quick to find each of the faults below."""
    random = Random(14)
    kinds = (Delete, Update, Upsert, Upsert, Compact)
    for _ in range(histories):
        operations = [random.choice(kinds)(frozenset(random.sample(range(12), random.randint(1, 4)))) for _ in range(3)]
        play([operations], overtaken=random.random() < 0.5)


BROKEN_RULES = {
    "rows may be deleted twice": (row_rebase, "_shared_rows", lambda *_: iter(())),
    "rows that are relied on may be deleted": (
        row_rebase,
        "overlap",
        lambda file, deleted: (file.rows.intersection(deleted), Bitmap()),
    ),
    "missed rows are no matter": (row_rebase, "_missed_rows", lambda *_: None),
    "a file that got a vector has no new rows, nor has any other": (row_rebase, "_new_rows", lambda *_: {}),
    "files that were removed are the same": (row_rebase, "_other_files", lambda *_: iter(())),
    "vectors stay as they are": (checker, "rebase", lambda *_: row_rebase.Rebased()),
    "rows that moved stay where they were": (MovedRows, "places", lambda _, rows, *__: iter(rows.to_list())),
    "vectors that are not used any more stay": (VectorFiles, "discard_unused", lambda *_: None),
}


@pytest.mark.parametrize("rule", BROKEN_RULES)
def test_a_broken_rule_is_noticed(rule, monkeypatch):
    monkeypatch.setattr(*BROKEN_RULES[rule])
    with pytest.raises((AssertionError, IndexError)):
        hunt(150)
