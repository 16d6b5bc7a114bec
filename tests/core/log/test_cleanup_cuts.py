# SPDX-License-Identifier: Apache-2.0
"""Where a log may be cut: checkpoints that cannot be relied on, times of commits, and protected versions."""

from __future__ import annotations

import pytest
from tests.core.log.aged_tables import ICT, NOW, age, at_times, cleaned, expired, files, names, state, table
from tests.core.log.checkpoint_tables import DAY

from bayou.log.maintenance.cleanup import expired_files
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.actions.file_names import checkpoint_path, commit_path
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder

PROTECTED = Protocol(1, 7, None, ("checkpointProtection",))


def test_a_checkpoint_whose_time_was_moved_by_a_commit_before_it_is_no_place_to_cut():
    # The commit of version 3 is older than that of version 2, so that time travel takes it to be 1 ms younger.
    found = table([60, 61, 66, 65, 72], checkpoints=[1, 3])
    before = at_times(found, range(60, 80))
    assert cleaned(found).first_kept == 1
    assert at_times(found, range(61, 80)) == {day: version for day, version in before.items() if version >= 1}


def test_commits_with_times_of_their_own_expire_by_these():
    found = TableBuilder(store=MemoryStore())
    found.create(protocol=ICT, configuration={"delta.enableInCommitTimestamps": "true"})
    found.version = -1
    head = [{"protocol": ICT.to_json()}, {"metaData": state(found, 0)[3].to_json()}]
    for version, day in enumerate([60, 61, 75, 80]):
        found.commit(*(head if not version else []), info={"inCommitTimestamp": day * DAY})
    found.checkpoint(version=1).checkpoint(version=2)
    age(found, [99, 98, 97, 96])
    assert expired(found).first_kept == 1


def test_a_checkpoint_that_cannot_be_opened_is_no_place_to_cut():
    found = table([60, 61, 62, 63, 64], checkpoints=[1, 3])
    found.write(checkpoint_path(3), b"nonsense")
    assert cleaned(found).first_kept == 1
    assert state(found, None)[0] == ["f4"]


@pytest.mark.parametrize("kind", ["v2-json", "v2-parquet"])
def test_a_checkpoint_without_all_its_sidecars_is_no_place_to_cut(kind):
    found = table([60, 61, 62, 63, 64], checkpoints=[1, 3], kind=kind)
    lost = [status.path for status in files(found) if "_sidecars" in status.path and "0003.checkpoint" in status.path]
    found.delete(lost[0])
    assert expired(found).first_kept == 1


def test_a_checkpoint_that_lacks_a_part_is_no_place_to_cut():
    found = table([60, 61, 62, 63, 64], checkpoints=[1, 3], kind="multipart")
    found.delete(file_names.checkpoint_part_path(3, 2, 2))
    assert expired(found).first_kept == 1


def test_a_checkpoint_after_the_one_that_readers_are_told_of_is_no_place_to_cut():
    found = table([60, 61, 62, 63], checkpoints=[1, 2])
    found.write(file_names.LAST_CHECKPOINT, b'{"version":1,"size":3}')
    assert expired(found).first_kept == 1
    assert expired(found.delete(file_names.LAST_CHECKPOINT)).first_kept == 2


def test_a_snapshot_of_the_past_cuts_no_later_than_itself():
    found = table([60, 61, 62, 63], checkpoints=[1, 3])
    assert expired_files(found.log().snapshot(2), now_ms=NOW).first_kept == 1


def test_a_checkpoint_without_its_commit_is_kept_as_the_start_of_history():
    found = table([60, 61, 62, 71], checkpoints=[1])
    found.delete(commit_path(0)).delete(commit_path(1))
    assert (names(expired(found)), expired(found).first_kept) == ([], 1)


@pytest.mark.parametrize(("protected", "first_kept"), [(2, 3), (3, 3), (4, None)])
def test_protected_versions_go_all_at_once_or_not_at_all(protected, first_kept):
    configuration = {"delta.requireCheckpointProtectionBeforeVersion": str(protected)}
    found = table([60, 61, 62, 63, 71], checkpoints=[1, 3], protocol=PROTECTED, configuration=configuration)
    assert expired(found).first_kept == first_kept
    unprotected = table([60, 61, 62, 63, 71], checkpoints=[1, 3], configuration=configuration)
    assert expired(unprotected).first_kept == 3
