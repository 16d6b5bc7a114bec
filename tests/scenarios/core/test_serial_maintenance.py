# SPDX-License-Identifier: Apache-2.0
"""Random histories with OPTIMIZE, RESTORE, VACUUM and CLONE: every version within the retention reads as the model says."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import pytest
from tests.scenarios.core.maintenance_model import Clock, run

from bayou.errors import DeltaError
from bayou.log.operations import clone, restore, vacuum, vacuum_files
from bayou.storage import memory
from bayou.storage.trees import Deletions

_AS_RESTORED = restore._as_restored
_DIFFERENCE = restore._difference

TABLES = {
    f"{'vectors' if vectors else 'files'}{', row ids' if tracks else ''}{', feed' if feed else ''}": {
        "has_vectors": vectors,
        "tracks_rows": tracks,
        "has_feed": feed,
    }
    for vectors, tracks, feed in itertools.product((True, False), repeat=3)
}


@pytest.fixture
def clock(monkeypatch):
    """The time of the model, of its store and of VACUUM."""
    found = Clock()
    monkeypatch.setattr(memory, "time", found)
    monkeypatch.setattr(vacuum, "time", found)
    return found


def play(clock, seeds, options):
    """Play histories, and return how many operations of which kind did something."""
    return sum((run(seed, clock, **options) for seed in seeds), Counter())


@pytest.mark.parametrize("options", TABLES.values(), ids=TABLES)
def test_maintenance_changes_no_version(clock, options):
    play(clock, range(4), options)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("options", TABLES.values(), ids=TABLES)
def test_maintenance_changes_no_version_in_two_thousand_histories(clock, options):
    counts = play(clock, range(1_000, 1_250), options)
    assert counts.keys() == {"Append", "Delete", "Update", "Upsert", "Compact", "Restore", "Vacuum", "Clone"}


def _only_live(log, snapshot, _retention, kept, *_):
    return vacuum_files.live_paths(log.table_uri, [snapshot, *kept])


BROKEN_RULES = {
    "VACUUM keeps live files only": (vacuum, "needed_paths", _only_live),
    "VACUUM forgets deletion vectors": (vacuum_files.Paths, "_vector_files", lambda *_: []),
    "VACUUM does not look at the age of files": (vacuum, "old_entries", lambda batch, _: batch),
    "VACUUM deletes nothing": (vacuum, "delete_many", lambda *_: Deletions(0, {})),
    "RESTORE removes no file": (
        restore,
        "_difference",
        lambda latest, target: (_DIFFERENCE(latest, target)[0], latest.files()[:0]),
    ),
    "RESTORE gives new row ids": (restore, "_as_restored", lambda files, _: _AS_RESTORED(files, -1)),
    "a clone leaves the deletion vector out": (
        clone,
        "added_again",
        lambda add: replace(add, deletion_vector=None),
    ),
    "a clone that is made again keeps old files": (clone.CopyPlan, "removed", property(lambda _: None, lambda *_: None)),
}


@pytest.mark.parametrize("rule", BROKEN_RULES)
@pytest.mark.in_turn(3)
def test_a_broken_rule_is_noticed(clock, monkeypatch, rule):
    monkeypatch.setattr(*BROKEN_RULES[rule])
    with pytest.raises((AssertionError, DeltaError, FileNotFoundError)):
        play(clock, range(200), TABLES["vectors, row ids"])
