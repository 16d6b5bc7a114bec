# SPDX-License-Identifier: Apache-2.0
"""Sidecars go with the last checkpoint that names them, and stay while one might."""

from __future__ import annotations

import pytest
from tests.core.log.aged_tables import cleaned, commits, paths, sidecars, state, table


@pytest.mark.parametrize("kind", ["v2-json", "v2-parquet"])
def test_sidecars_go_when_no_checkpoint_names_them_any_more(kind):
    found = table([60, 61, 62, 63, 71], checkpoints=[1, 3], kind=kind)
    orphan = "_delta_log/_sidecars/orphan.parquet"
    for path in (orphan, "_delta_log/_sidecars/notes.txt"):
        found.write(path, b"x")
    kept = [path for path in sidecars(found, 61) if "0003.checkpoint" in path]
    cleaned(found)
    assert [status.path for status in found.store.list_from("_delta_log/_sidecars/")] == [*kept, "_delta_log/_sidecars/notes.txt"]
    assert state(found, 3)[0] == ["f3"]


def test_young_sidecars_stay_for_a_checkpoint_that_is_being_written():
    configuration = {"delta.logRetentionDuration": "interval 0 days"}
    found = table([60, 61, 62, 63, 71], checkpoints=[1, 3], kind="v2-json", configuration=configuration)
    before = sidecars(found, 99.5)
    cleaned(found)
    assert [status.path for status in found.store.list_from("_delta_log/_sidecars/")] == before


def test_sidecars_stay_while_no_checkpoint_is_deleted():
    found = table([60, 61, 62, 63, 71], checkpoints=[3], kind="v2-json")
    orphan = found.write("_delta_log/_sidecars/orphan.parquet", b"x")
    sidecars(found, 61)
    assert commits(found) == [0, 1, 2, 3, 4]
    cleaned(found)
    assert "_delta_log/_sidecars/orphan.parquet" in paths(orphan)
    assert commits(found) == [3, 4]


def test_sidecars_stay_where_a_checkpoint_does_not_tell_which_it_needs():
    found = table([60, 61, 62, 63, 71, 72], checkpoints=[1, 3], kind="v2-json")
    found.write("_delta_log/00000000000000000005.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json", b"nonsense")
    before = sidecars(found, 61)
    assert cleaned(found).first_kept == 3
    assert [status.path for status in found.store.list_from("_delta_log/_sidecars/")] == before
