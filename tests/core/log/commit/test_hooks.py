# SPDX-License-Identifier: Apache-2.0
"""What follows a commit: checkpoints, cleanup and events, and what becomes of a hook that fails."""

from __future__ import annotations

import json
import logging

import pytest
from tests.support.operations.transactions import append, faulty_table, names_in_log

import bayou
from bayou.errors import ChecksumMismatchError
from bayou.log import events
from bayou.log.commit import hooks
from bayou.log.staging.staged import StagedActions
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.actions.file_names import LAST_CHECKPOINT, checksum_path
from bayou.testing.faulty_store import Fault


@pytest.fixture
def heard():
    found = []
    remove = bayou.add_listener(found.append)
    yield found
    remove()


def test_a_checksum_that_is_wrong_is_reported_and_not_repaired():
    builder = faulty_table()
    append(builder, "a")
    wrong = json.loads(builder.store.read(checksum_path(1)))
    wrong["numFiles"] = 5
    builder.store.put(checksum_path(1), json.dumps(wrong).encode())
    with pytest.raises(ChecksumMismatchError):
        builder.log().verify_checksum()
    append(builder, "b")
    assert json.loads(builder.store.read(checksum_path(1)))["numFiles"] == 5


def test_a_checkpoint_follows_every_tenth_commit_and_as_often_as_the_table_says():
    for interval, expected in ((None, [10, 20]), ("4", [4, 8, 12, 16, 20])):
        builder = faulty_table(**({} if interval is None else {"delta__checkpointInterval": interval}))
        for number in range(21):
            append(builder, f"f{number}")
        assert [int(name[:20]) for name in names_in_log(builder, ".checkpoint.parquet")] == expected
        assert json.loads(builder.store.read(LAST_CHECKPOINT))["version"] == 20
        snapshot = builder.log().snapshot()
        assert (snapshot.segment.checkpoint.version, snapshot.num_files) == (20, 21)


def test_events_tell_of_commits_checksums_checkpoints(heard):
    builder = faulty_table(delta__checkpointInterval="2")
    append(builder, "a")
    append(builder, "b", "c")
    kinds = [event.name for event in heard]
    assert kinds == ["commit", "checksum", "commit", "checksum", "commit", "checksum", "checkpoint"]
    commit = heard[4]
    assert (commit.version, commit.operation, commit.attempts, commit.num_actions) == (2, "WRITE", 1, 2)
    assert commit.table == builder.uri
    assert heard[-1].to_dict()["version"] == 2


def test_each_winning_commit_retry_and_conflict_is_an_event(heard):
    builder = faulty_table()
    late, hopeless = builder.log().transaction("WRITE"), builder.log().transaction("DELETE")
    hopeless.read_whole_table()
    append(builder, "first")
    heard.clear()
    late.commit([AddFile("late", {}, 1, 1)])
    assert [event.name for event in heard][:3] == ["winning_commit", "retry", "commit"]
    assert heard[2].attempts == 2
    heard.clear()
    hopeless.try_commit([AddFile("no", {}, 1, 1)])
    assert [event.name for event in heard] == ["winning_commit", "conflict"]
    assert (heard[1].version, heard[1].winning_operation) == (1, "WRITE")


@pytest.mark.parametrize("path", [r"\.crc", r"checkpoint", "_last_checkpoint"])
def test_a_hook_that_fails_is_reported_and_the_commit_stands(heard, caplog, path):
    builder = faulty_table(delta__checkpointInterval="1")
    builder.store.add(Fault("put", path, "before", times=None))
    builder.store.add(Fault("put_if_absent", path, "before", times=None))
    with caplog.at_level(logging.WARNING, "bayou.log"):
        assert append(builder, "a") == 1
    failed = [event for event in heard if isinstance(event, events.HookFailedEvent)]
    assert [event.hook for event in failed] == ["checkpoint"]
    assert "StorageError" in failed[0].error
    assert any("hook_failed" in record.message for record in caplog.records)
    assert builder.log().snapshot().num_files == 1


def test_a_checksum_that_fails_does_not_stop_the_checkpoint(heard):
    builder = faulty_table(delta__checkpointInterval="1")
    builder.store.add(Fault("put_if_absent", r"\.crc", "before", times=None))
    append(builder, "a")
    assert [event.hook for event in heard if isinstance(event, events.HookFailedEvent)] == ["checkpoint"]
    assert [event.version for event in heard if isinstance(event, events.CheckpointEvent)] == [1]


def test_the_hooks_behind_one_that_fails_run_all_the_same(heard):
    builder = faulty_table()
    append(builder, "a")
    staged, seen = StagedActions.of([], builder.uri), []
    committed = hooks.CommittedVersion(builder.log(), 1, staged, {"txnId": "t"}, {})

    def fail(_committed):
        raise ValueError("not today")

    heard.clear()
    hooks.run_hooks(committed, {"first": fail, "second": lambda each: seen.append(each.snapshot().num_files)})
    assert seen == [1]
    assert [(event.hook, event.version, event.error) for event in heard] == [("first", 1, "ValueError: not today")]


def test_a_checkpoint_cleans_up_what_has_expired(heard):
    for enabled in ("true", "false"):
        builder = faulty_table(
            delta__logRetentionDuration="interval 30 days", delta__checkpointInterval="5", delta__enableExpiredLogCleanup=enabled
        )
        for number in range(8):
            append(builder, f"f{number}")
        for status in list(builder.store.inner.list_from("_delta_log/")):
            builder.store.inner.set_modification_time(
                status.path, 1_600_000_000_000 + int(status.name[:20] or 0) if status.name[0] == "0" else 1
            )
        assert [s.name for s in builder.log().clean_up(dry_run=True).files] == [] or enabled == "true"
        for number in range(2):
            append(builder, f"g{number}")
        commits = [int(name[:20]) for name in names_in_log(builder, ".json") if name[0] == "0"]
        assert commits == (list(range(11)) if enabled == "false" else list(range(5, 11)))
        assert builder.log().snapshot().num_files == 10
        assert builder.log().snapshot(version=5).num_files == 5
    assert [event.num_deleted > 0 for event in heard if isinstance(event, events.LogCleanupEvent)] == [True]


def test_on_demand_there_are_checkpoints_compacted_files_and_cleanup():
    builder = faulty_table()
    for number in range(4):
        append(builder, f"f{number}")
    log = builder.log()
    assert log.checkpoint().version == 4
    assert log.compact(1, 3) == "_delta_log/00000000000000000001.00000000000000000003.compacted.json"
    assert log.clean_up(dry_run=True).files == ()
    assert builder.log().snapshot(version=3).num_files == 3


def test_a_store_that_fails_after_the_commit_does_not_undo_it():
    builder = faulty_table()
    transaction = builder.log().transaction()
    builder.store.add(Fault("list_from", "", "before", nth=1))
    assert transaction.commit([AddFile("a", {}, 1, 1)]).version == 1
    assert builder.log().snapshot().num_files == 1
