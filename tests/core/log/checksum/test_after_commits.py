# SPDX-License-Identifier: Apache-2.0
"""Checksums that follow commits: they agree with the log, end where a commit says too little, and cost no reading of files."""

from __future__ import annotations

import pytest
from tests.support.operations.transactions import STATS, append, faulty_table, names_in_log

from bayou.errors import ConcurrentAppendException
from bayou.protocol.actions.actions import AddFile, RemoveFile
from bayou.protocol.actions.file_names import checksum_path, commit_path
from bayou.testing.table_builder import add


def test_every_commit_leaves_a_checksum_that_agrees_with_the_log():
    builder = faulty_table()
    for number in range(12):
        append(builder, f"f{number}")
    with builder.log().transaction("DELETE") as transaction:
        transaction.commit([RemoveFile("f3", size=10, stats=STATS), AddFile("g", {}, 7, 1, stats=STATS)])
    assert names_in_log(builder, ".crc") == [f"{version:020}.crc" for version in range(14)]
    for version in range(14):
        assert builder.log().verify_checksum(version=version) is True


def test_after_another_writers_commit_there_is_no_checksum_until_the_next_checkpoint():
    builder = faulty_table()
    append(builder, "a")
    builder.version = 1
    builder.commit(add("theirs"))
    for number in range(9):
        append(builder, f"f{number}")
    found = [int(name[:20]) for name in names_in_log(builder, ".crc")]
    assert found == [0, 1, 10, 11]
    assert builder.log().verify_checksum() is True


def test_a_checksum_that_a_concurrent_writer_has_not_written_yet_is_gone_without():
    builder = faulty_table()
    for number in range(6):
        append(builder, f"f{number}")
    for version in (3, 4, 5, 6):
        builder.store.delete(checksum_path(version))
    append(builder, "g")
    assert [int(name[:20]) for name in names_in_log(builder, ".crc")] == [0, 1, 2, 7]
    assert builder.log().verify_checksum() is True


def large_table():
    """Too many files for its checksum to list them."""
    builder = faulty_table()
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
        assert builder.log().verify_checksum(version=version) is True


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
    assert builder.log().verify_checksum(version=10) is True
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
        builder = faulty_table()
        append(builder, "a", "b")
        builder.log().transaction("WRITE").commit(actions)
        assert builder.log().verify_checksum() is known


def test_of_two_appends_of_one_file_at_once_the_second_conflicts_and_counts_nothing_twice():
    builder = large_table()
    first, second = builder.log().transaction("WRITE"), builder.log().transaction("WRITE")
    first.commit([AddFile("part-1", {}, 10, 1, stats=STATS)])
    with pytest.raises(ConcurrentAppendException):
        second.commit([AddFile("part-1", {}, 10, 1, stats=STATS)])
    snapshot = builder.log().snapshot()
    assert snapshot.num_files == snapshot.files(["path"]).num_rows == 61


def test_appends_do_not_read_again_what_ended_the_checksums():
    builder = faulty_table()
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
    builder = faulty_table()
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
    builder = faulty_table(delta__checkpointInterval="4")
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


def bytes_that_three_appends_read(num_files):
    builder = faulty_table()
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
