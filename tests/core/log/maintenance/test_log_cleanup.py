# SPDX-License-Identifier: Apache-2.0
"""Log cleanup: what has expired, and that it alone goes, in an order in which nothing that is left lacks a file.

Where a log may be cut: checkpoints that cannot be relied on, times of commits, and protected versions.
Sidecars go with the last checkpoint that names them, and stay while one might.
"""

from __future__ import annotations

import os
import re

import pytest
from tests.core.log.maintenance.aged_tables import (
    ICT,
    KINDS,
    NOW,
    age,
    at_times,
    cleaned,
    commits,
    expired,
    files,
    names,
    paths,
    sidecars,
    state,
    table,
)
from tests.support.tables.checkpoints import DAY

from bayou.errors import VersionNotFoundError
from bayou.log.maintenance import log_cleanup
from bayou.log.maintenance.log_cleanup import clean_up, expired_files
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.actions.file_names import checkpoint_path, checksum_path, commit_path, compacted_path
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_is_cut_at_the_newest_checkpoint_that_the_cutoff_still_needs(kind):
    found = table([60, 61, 62, 69, 71, 80, 99], checkpoints=[2, 5], kind=kind)
    latest = state(found, None)
    result = cleaned(found)
    assert (result.cutoff_ms, result.first_kept, result.reason) == (70 * DAY, 2, "")
    assert commits(found) == [2, 3, 4, 5, 6]
    assert state(found, None) == latest
    assert state(found, 3)[0] == ["f3"]
    with pytest.raises(VersionNotFoundError, match="versions 2 to 6"):
        found.log().snapshot(1)


def test_a_dry_run_lists_the_same_and_deletes_nothing():
    found = table([60, 61, 62, 69], checkpoints=[2])
    before = paths(found)
    listed = expired(found)
    assert paths(found) == before
    assert names(listed) == [commit_path(0), commit_path(1)]
    assert listed.size_bytes == sum(status.size for status in files(found) if status.path in names(listed))
    assert cleaned(found) == listed
    assert names(cleaned(found)) == []


@pytest.mark.parametrize(("day", "first_kept"), [(70, 1), (70 + 1 / DAY, None), (69, 1)])
def test_the_cutoff_is_midnight_and_a_commit_at_midnight_is_the_one_that_counts(day, first_kept):
    found = table([60, day, 71], checkpoints=[1])
    assert expired(found).first_kept == first_kept
    assert expired(found, NOW + DAY // 2 - 1).first_kept == first_kept


@pytest.mark.parametrize(("retention", "first_kept"), [("interval 1 days", 2), ("interval 1 weeks", 1), ("nonsense", None)])
def test_the_retention_is_the_tables_own(retention, first_kept):
    found = table([89, 90, 98, 99.5], checkpoints=[1, 2], configuration={"delta.logRetentionDuration": retention})
    assert expired(found).first_kept == first_kept


def test_nothing_is_deleted_where_the_table_says_so():
    found = table([1, 2, 3], checkpoints=[2], configuration={"delta.enableExpiredLogCleanup": "false"})
    assert (names(cleaned(found)), expired(found).reason) == ([], "delta.enableExpiredLogCleanup is false")


def test_nothing_is_deleted_where_a_feature_is_unknown_that_may_forbid_it():
    found = table([1, 2, 3], checkpoints=[2], protocol=Protocol(1, 7, None, ("eternalLog",)))
    assert (names(cleaned(found)), "eternalLog" in expired(found).reason) == ([], True)


def test_nothing_is_deleted_without_a_checkpoint():
    found = table([1, 2, 3])
    assert (names(cleaned(found)), expired(found).reason) == ([], "no checkpoint is old enough")


def test_nothing_is_deleted_while_all_commits_are_new():
    assert expired(table([80, 81, 82], checkpoints=[1])).first_kept is None


def test_the_latest_version_is_kept_however_old():
    found = table([1, 2, 3], checkpoints=[2])
    cleaned(found)
    assert commits(found) == [2]
    assert state(found, None)[0] == ["f2"]


def test_every_kind_of_file_before_the_cut_goes_and_no_other_file():
    found = table([1, 2, 3, 4, 99], checkpoints=[1, 3])
    doomed = [
        checksum_path(2),
        compacted_path(0, 2),
        compacted_path(1, 4),
        compacted_path(3, 4),
        file_names.checkpoint_part_path(2, 1, 2),
        "_delta_log/00000000000000000002.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
    ]
    others = [
        checksum_path(3),
        compacted_path(4, 5),
        "_delta_log/00000000000000000001.json.bak",
        "_delta_log/00000000000000000001.checkpoint.parquet.tmp",
        "_delta_log/.00000000000000000001.json.0c6cbaaf-5e04-4c9d-8959-1088814f58ef.tmp",
        "_delta_log/0000000000000000001.json",
        "_delta_log/notes.txt",
        "_delta_log/.hidden.0123456789abcdef0123456789abcdef.tmp",
        "_delta_log/_staged_commits/00000000000000000001.0c6cbaaf-5e04-4c9d-8959-1088814f58ef.json",
        "f0",
    ]
    for path in (*doomed, *others):
        found.write(path, b'{"commitInfo":{}}')
        found.store.set_modification_time(path, DAY)
    before = {path for path in found.store._files}  # noqa: C416  (a copy)
    result = names(cleaned(found))
    assert before - set(found.store._files) == set(result)
    assert set(result) == {*doomed, commit_path(0), commit_path(1), commit_path(2), checkpoint_path(1)}
    assert set(others) <= set(found.store._files)


def test_files_go_in_an_order_in_which_nothing_is_missing_that_another_relies_on():
    found = table([1, 2, 3, 4, 5], checkpoints=[1, 2, 4], kind="v2-json")
    found.compact(0, 1).checksum(1)
    age(found, [1, 2, 3, 4, 5])
    for status in list(found.store.list_from("_delta_log/_sidecars/")):
        found.store.set_modification_time(status.path, 5 * DAY)
    kinds = [re.sub(r"[0-9a-f-]{20,}\.?|\d{10,}\.", "", path.removeprefix("_delta_log/")) for path in names(cleaned(found))]
    assert kinds == [
        "compacted.json",
        "json",
        "crc",
        "json",
        "json",
        "json",
        *["checkpoint.json"] * 2,
        *["_sidecars/checkpoint.sidecar.parquet"] * 4,
    ]


@pytest.mark.parametrize("name", ["00000000000000000001.json", "_last_checkpoint", "00000000000000000009.crc"])
def test_what_a_crashed_writer_left_behind_goes_after_the_retention(tmp_path, name):
    found = TableBuilder(tmp_path).create(configuration={"delta.logRetentionDuration": "interval 0 days"})
    left = tmp_path / "_delta_log" / f".{name}.0123456789abcdef0123456789abcdef.tmp"
    other = tmp_path / "_delta_log" / f".{name}.0123456789abcdef.tmp"
    for file in (left, other):
        file.write_bytes(b"x")
        os.utime(file, (98 * 86_400, 98 * 86_400))
    assert cleaned(found, now=98 * DAY + DAY // 2).files == ()
    assert [status.name for status in cleaned(found).files] == [left.name]
    assert (left.exists(), other.exists()) == (False, True)


def test_a_local_log_loses_hadoops_checksums_too(tmp_path):
    found = TableBuilder(tmp_path).create().commit(add("a")).commit(add("b")).checkpoint()
    sibling = tmp_path / "_delta_log" / ".00000000000000000001.json.crc"
    sibling.write_bytes(b"x")
    for file in (tmp_path / "_delta_log").glob("0*"):
        os.utime(file, (60 * 86_400, 60 * 86_400))
        day = 60 * 86_400 + int(file.name[:20])
        os.utime(file, (day, day))
    cleaned(found)
    assert not sibling.exists()
    assert state(found, None)[0] == ["a", "b"]


def test_the_clocks_time_is_taken_where_none_is_given(monkeypatch):
    found = table([60, 61, 62, 63], checkpoints=[1])
    monkeypatch.setattr(log_cleanup.time, "time", lambda: NOW / 1000)
    assert clean_up(found.log().snapshot()).first_kept == 1


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
