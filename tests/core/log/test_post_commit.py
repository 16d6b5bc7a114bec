# SPDX-License-Identifier: Apache-2.0
"""What follows a commit: checksums, checkpoints, cleanup, and what becomes of a hook that fails."""

from __future__ import annotations

import json
import logging

import pytest

import bayou
from bayou.errors import ChecksumMismatchError, ConcurrentAppendException, InvalidOptionError
from bayou.log import events, post_commit
from bayou.log.transaction import Transaction
from bayou.protocol.actions import AddFile, Metadata, Protocol, RemoveFile
from bayou.protocol.file_names import LAST_CHECKPOINT, checksum_path, commit_path
from bayou.storage import MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add, metadata

SCHEMA = metadata()["metaData"]["schemaString"]
STATS = '{"numRecords":1,"minValues":{"id":1},"maxValues":{"id":1},"nullCount":{"id":0}}'


def table(**configuration):
    builder = TableBuilder(store=FaultyStore(MemoryStore()))
    properties = {key.replace("__", "."): value for key, value in configuration.items()}
    Transaction(builder.log(), None, "CREATE TABLE").commit([Protocol(1, 2), Metadata("x", SCHEMA, configuration=properties)])
    return builder


def append(builder, *names, log=None):
    with (log or builder.log()).transaction("WRITE") as transaction:
        return transaction.commit([AddFile(name, {}, 10, 1, stats=STATS) for name in names]).version


def names_in_log(builder, ending):
    return [status.name for status in builder.store.inner.list_from("_delta_log/") if status.name.endswith(ending)]


@pytest.fixture
def heard():
    found = []
    remove = bayou.add_listener(found.append)
    yield found
    remove()


def test_every_commit_leaves_a_checksum_that_agrees_with_the_log():
    builder = table()
    for number in range(12):
        append(builder, f"f{number}")
    with builder.log().transaction("DELETE") as transaction:
        transaction.commit([RemoveFile("f3", size=10, stats=STATS), AddFile("g", {}, 7, 1, stats=STATS)])
    assert names_in_log(builder, ".crc") == [f"{version:020}.crc" for version in range(14)]
    for version in range(14):
        assert builder.log().snapshot(version=version).verify_checksum() is True


def test_after_another_writers_commit_there_is_no_checksum_until_the_next_checkpoint():
    builder = table()
    append(builder, "a")
    builder.version = 1
    builder.commit(add("theirs"))
    for number in range(9):
        append(builder, f"f{number}")
    found = [int(name[:20]) for name in names_in_log(builder, ".crc")]
    assert found == [0, 1, 10, 11]
    assert builder.log().snapshot().verify_checksum() is True


def test_a_checksum_that_a_concurrent_writer_has_not_written_yet_is_gone_without():
    builder = table()
    for number in range(6):
        append(builder, f"f{number}")
    for version in (3, 4, 5, 6):
        builder.store.delete(checksum_path(version))
    append(builder, "g")
    assert [int(name[:20]) for name in names_in_log(builder, ".crc")] == [0, 1, 2, 7]
    assert builder.log().snapshot().verify_checksum() is True


def large_table():
    """Too many files for its checksum to list them."""
    builder = table()
    with builder.log().transaction("WRITE") as transaction:
        transaction.commit([AddFile(f"f{number}", {}, 10, 1, stats=STATS) for number in range(60)], new_files=True)
    return builder


def checksums(builder):
    return [int(name[:20]) for name in names_in_log(builder, ".crc")]


def test_the_chain_of_checksums_goes_on_where_a_commit_says_that_its_files_are_new():
    builder = large_table()
    for number in range(3):
        with builder.log().transaction("WRITE") as transaction:
            transaction.remove_files(transaction.files().slice(number, 2))
            transaction.commit([AddFile(f"g{number}", {}, 7, 1, stats=STATS)], new_files=True)
    with builder.log().transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files().slice(0, 5))
        transaction.commit()
    with builder.log().transaction("SET TBLPROPERTIES", txn=("app", 1)) as transaction:
        transaction.commit()
    assert checksums(builder) == [0, 1, 2, 3, 4, 5, 6][: builder.log().version() + 1]
    for version in range(builder.log().version() + 1):
        assert builder.log().snapshot(version=version).verify_checksum() is True


@pytest.mark.parametrize(
    "actions",
    [
        [AddFile("f0", {}, 10, 1, stats=STATS)],
        [AddFile("new", {}, 10, 1, stats=STATS)],
        [RemoveFile("f0", size=10)],
        [RemoveFile("nowhere", size=10)],
        [RemoveFile("f0", size=10), AddFile("f0-again", {}, 10, 1, stats=STATS)],
    ],
    ids=["live", "new", "removed", "removed, not live", "replaced"],
)
def test_a_commit_that_may_add_what_is_live_or_remove_what_is_not_ends_the_checksums(actions):
    builder = large_table()
    builder.log().transaction("WRITE").commit(actions)
    append(builder, "later")
    assert checksums(builder) == [0, 1]
    for number in range(7):
        append(builder, f"g{number}")
    assert checksums(builder) == [0, 1, 10]
    assert builder.log().snapshot(version=10).verify_checksum() is True
    builder.log().transaction("WRITE").commit([AddFile("h", {}, 10, 1, stats=STATS)], new_files=True)
    assert checksums(builder) == [0, 1, 10, 11]


def test_where_the_checksum_lists_the_files_they_are_looked_up():
    for actions, known in (
        ([AddFile("a", {}, 10, 1, stats=STATS)], False),
        ([RemoveFile("nowhere", size=10)], False),
        # Of one size, so that the counts alone would not tell.
        ([AddFile("a", {}, 10, 1, stats=STATS), RemoveFile("nowhere", size=10)], False),
        ([AddFile("c", {}, 10, 1, stats=STATS), RemoveFile("a", size=10)], True),
    ):
        builder = table()
        append(builder, "a", "b")
        builder.log().transaction("WRITE").commit(actions)
        assert builder.log().snapshot().verify_checksum() is known


def test_of_two_appends_of_one_file_at_once_the_second_conflicts_and_counts_nothing_twice():
    builder = large_table()
    first, second = builder.log().transaction("WRITE"), builder.log().transaction("WRITE")
    first.commit([AddFile("part-1", {}, 10, 1, stats=STATS)])
    with pytest.raises(ConcurrentAppendException):
        second.commit([AddFile("part-1", {}, 10, 1, stats=STATS)])
    snapshot = builder.log().snapshot()
    assert snapshot.num_files == snapshot.files(["path"]).num_rows == 61


def test_appends_do_not_read_again_what_ended_the_checksums():
    builder = table()
    log = builder.log()
    with log.transaction() as transaction:  # a "Manual Update", which may do anything
        transaction.commit([AddFile(f"big-{number}", {}, 10, 1, stats=STATS) for number in range(500)])
    builder.store.reset()
    for number in range(5):
        append(builder, f"f{number}", log=log)
    calls = builder.store.calls
    assert not any(calls[call, commit_path(1)] for call in ("read", "open"))
    assert not any(path.endswith(".crc") for call, path in calls if call in {"size", "read"})


def test_a_fresh_process_reads_one_line_of_what_ended_the_checksums_and_that_once():
    builder = table()
    with builder.log().transaction() as transaction:
        transaction.commit([AddFile(f"big-{number}", {}, 10, 1, stats=STATS) for number in range(500)])
    builder.log().checkpoint()
    log = builder.log()
    log.update()
    builder.store.reset()
    for number in range(3):
        append(builder, f"f{number}", log=log)
    assert builder.store.calls["open", commit_path(1)] == 1
    assert builder.store.bytes_read[commit_path(1)] < 1000


def test_a_process_that_only_appends_lets_go_of_the_file_list_after_a_checkpoint():
    builder = table(delta__checkpointInterval="4")
    with builder.log().transaction("WRITE") as transaction:
        transaction.commit([AddFile(f"file-{number}", {}, 10, 1, stats=STATS) for number in range(2000)])
    builder.log().checkpoint()
    log = builder.log()
    sizes = []
    for number in range(10):
        append(builder, f"f{number}", log=log)
        sizes.append(log.update().nbytes)
    assert max(sizes) < 10_000
    assert log.update().segment.checkpoint.version == 8
    assert len(log.update().segment.deltas) == 3
    assert log.snapshot().num_files == 2010


def test_a_checksum_that_is_wrong_is_reported_and_not_repaired():
    builder = table()
    append(builder, "a")
    wrong = json.loads(builder.store.read(checksum_path(1)))
    wrong["numFiles"] = 5
    builder.store.put(checksum_path(1), json.dumps(wrong).encode())
    with pytest.raises(ChecksumMismatchError):
        builder.log().snapshot().verify_checksum()
    append(builder, "b")
    assert json.loads(builder.store.read(checksum_path(1)))["numFiles"] == 5


def test_a_checkpoint_follows_every_tenth_commit_and_as_often_as_the_table_says():
    for interval, expected in ((None, [10, 20]), ("4", [4, 8, 12, 16, 20])):
        builder = table(**({} if interval is None else {"delta__checkpointInterval": interval}))
        for number in range(21):
            append(builder, f"f{number}")
        assert [int(name[:20]) for name in names_in_log(builder, ".checkpoint.parquet")] == expected
        assert json.loads(builder.store.read(LAST_CHECKPOINT))["version"] == 20
        snapshot = builder.log().snapshot()
        assert (snapshot.segment.checkpoint.version, snapshot.num_files) == (20, 21)


def bytes_that_three_appends_read(num_files):
    builder = table()
    with builder.log().transaction("WRITE") as transaction:
        transaction.commit([AddFile(f"file-{number}", {}, 10, 1, stats=STATS) for number in range(num_files)])
    builder.log().checkpoint()
    builder.store.reset()
    log = builder.log()
    for number in range(3):
        append(builder, f"more{number}", log=log)
    read = sum(builder.store.bytes_read.values())
    assert log.snapshot().num_files == num_files + 3
    return read


def test_an_append_reads_no_file_list():
    assert bytes_that_three_appends_read(24_000) < bytes_that_three_appends_read(8_000) + 2_000


def test_events_tell_of_commits_checksums_checkpoints(heard):
    builder = table(delta__checkpointInterval="2")
    append(builder, "a")
    append(builder, "b", "c")
    kinds = [event.name for event in heard]
    assert kinds == ["commit", "checksum", "commit", "checksum", "commit", "checksum", "checkpoint"]
    commit = heard[4]
    assert (commit.version, commit.operation, commit.attempts, commit.num_actions) == (2, "WRITE", 1, 2)
    assert commit.table == builder.uri
    assert heard[-1].to_dict()["version"] == 2


def test_events_tell_of_lost_races_retries_and_conflicts(heard):
    builder = table()
    late, hopeless = builder.log().transaction("WRITE"), builder.log().transaction("DELETE")
    hopeless.read_whole_table()
    append(builder, "first")
    heard.clear()
    late.commit([AddFile("late", {}, 1, 1)])
    assert [event.name for event in heard][:3] == ["lost_race", "retry", "commit"]
    assert heard[2].attempts == 2
    heard.clear()
    hopeless.try_commit([AddFile("no", {}, 1, 1)])
    assert [event.name for event in heard] == ["lost_race", "conflict"]
    assert (heard[1].version, heard[1].winning_operation) == (1, "WRITE")


@pytest.mark.parametrize("path", [r"\.crc", r"checkpoint", "_last_checkpoint"])
def test_a_hook_that_fails_is_reported_and_the_commit_stands(heard, caplog, path):
    builder = table(delta__checkpointInterval="1")
    builder.store.add(Fault("put", path, "before", times=None))
    builder.store.add(Fault("put_if_absent", path, "before", times=None))
    with caplog.at_level(logging.WARNING, "bayou.log"):
        assert append(builder, "a") == 1
    failed = [event for event in heard if isinstance(event, events.HookFailedEvent)]
    assert [event.hook for event in failed] == ["checkpoint"]
    assert "StorageError" in failed[0].error
    assert any("hook_failed" in record.message for record in caplog.records)
    assert builder.log().snapshot().num_files == 1


def test_a_hook_of_ones_own_runs_behind_the_others_and_can_be_removed(heard):
    seen = []

    def hook(committed):
        seen.append((committed.version, committed.snapshot().num_files, checksum_path(committed.version)))
        assert committed.log.store.read(checksum_path(committed.version))
        raise ValueError("not today")

    remove = post_commit.register_hook("mine", hook)
    try:
        with pytest.raises(InvalidOptionError, match="mine"):
            post_commit.register_hook("mine", hook)
        builder = table()
        append(builder, "a")
    finally:
        remove()
    append(builder, "b")
    assert [each[:2] for each in seen] == [(0, 0), (1, 1)]
    assert [event.hook for event in heard if isinstance(event, events.HookFailedEvent)] == ["mine", "mine"]


def test_a_checkpoint_cleans_up_what_has_expired(heard):
    for enabled in ("true", "false"):
        builder = table(
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
    builder = table()
    for number in range(4):
        append(builder, f"f{number}")
    log = builder.log()
    assert log.checkpoint().version == 4
    assert log.compact(1, 3) == "_delta_log/00000000000000000001.00000000000000000003.compacted.json"
    assert log.clean_up(dry_run=True).files == ()
    assert builder.log().snapshot(version=3).num_files == 3


def test_a_store_that_fails_after_the_commit_does_not_undo_it():
    builder = table()
    transaction = builder.log().transaction()
    builder.store.add(Fault("list_from", "", "before", nth=1))
    assert transaction.commit([AddFile("a", {}, 1, 1)]).version == 1
    assert builder.log().snapshot().num_files == 1
