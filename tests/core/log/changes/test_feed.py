# SPDX-License-Identifier: Apache-2.0
"""The files and rows of change feeds; `test_range` is about the versions, `test_checks` about what is refused."""

from __future__ import annotations

import pytest
from tests.core.log.changes.change_feeds import DAY, changes, facts, feed_of, table
from tests.support.tables.feed_actions import FEED, cdc, gone

from bayou.errors import CorruptLogError
from bayou.log.changes import files as change_files
from bayou.log.changes.feed import ChangeBounds
from bayou.protocol.actions import file_names
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove


def test_added_files_are_inserts_and_removed_files_are_deletes():
    builder = table().commit(add("a")).commit(gone("a"), add("b"))
    assert changes(builder) == [(1, "insert", "a"), (2, "delete", "a"), (2, "insert", "b")]


def test_a_file_to_read_carries_what_a_reader_needs():
    builder = table(partition_by=["day"]).commit(add("day=1/a%20b", partitionValues={"day": "1"}, size=12, modificationTime=34))
    for version in (0, 1):
        builder.store.set_modification_time(file_names.commit_path(version), 1_700_000_000_000 + version)
    feed = feed_of(builder)
    assert feed.files.schema == change_files.CHANGE_FILES
    assert feed.files.to_pylist() == [
        {
            "kind": "insert",
            "path": "day=1/a%20b",
            "partition_values": [("day", "1")],
            "size": 12,
            "modification_time": 34,
            "commit_version": 1,
            "commit_timestamp": 1_700_000_000_001,
            "deletion_vector": None,
            "is_difference": False,
            "except_vector": None,
        }
    ]
    assert feed.partition_texts()["day"].to_pylist() == ["1"]
    assert (feed.size_bytes, feed.start, feed.end) == (12, 1, 1)


def test_the_feed_has_the_columns_of_the_table_and_three_more():
    feed = feed_of(table().commit(add("a")))
    columns = [(field.name, field.type) for field in feed.schema.fields]
    added = [("_change_type", "string"), ("_commit_version", "long"), ("_commit_timestamp", "timestamp")]
    assert columns == [("id", "long"), ("day", "string"), *added]


def test_a_commit_with_change_files_is_read_from_them_alone():
    builder = table().commit(add("a")).commit(gone("a"), cdc("_change_data/c"), add("b")).commit(add("d"))
    assert changes(builder, 2) == [(2, "cdc", "_change_data/c"), (3, "insert", "d")]


def test_files_that_are_only_rearranged_are_no_changes():
    builder = table().commit(add("a")).commit(gone("a", dataChange=False), add("b", dataChange=False), cdc("c"))
    builder.commit(gone("b", dataChange=False), add("d", dataChange=False))
    assert changes(builder, 2) == [(2, "cdc", "c")]


def merge(**metrics):
    names = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
    return {"operation": "MERGE", "operationMetrics": {**dict.fromkeys(names, "0"), **metrics}}


@pytest.mark.parametrize(
    ("info", "is_read"),
    [
        (merge(), False),
        (merge(numTargetRowsUpdated="1"), True),
        (merge(numTargetRowsDeleted=None), True),
        ({**merge(), "operation": "UPDATE"}, True),
        ({"operation": "MERGE"}, True),
    ],
)
def test_only_a_merge_that_says_that_it_changed_no_row_is_passed_over(info, is_read):
    builder = table().commit(add("a")).commit(gone("a"), add("b"), info=info)
    assert bool(changes(builder, 2)) == is_read


def test_a_merge_without_changed_rows_is_read_from_the_change_files_that_it_has():
    assert changes(table().commit(add("b"), cdc("c"), info=merge())) == [(1, "cdc", "c")]


def test_a_commit_without_provenance_is_read():
    builder = table().commit(add("a"))
    builder.write(file_names.commit_path(1), builder.store.read(file_names.commit_path(1)).split(b"\n")[1])
    assert changes(builder) == [(1, "insert", "a")]


def test_the_partition_values_of_the_files_are_given_by_column():
    feed = feed_of(table(partition_by=["day"]).commit(add("a", **DAY), add("b", partitionValues={"day": None})))
    assert sorted(feed.partition_texts()["day"].to_pylist(), key=str) == ["1", None]


def test_many_commits_are_read_in_order_whatever_is_held_at_once(monkeypatch):
    builder = table()
    for number in range(150):
        builder.commit(add(f"f{number}"))
    expected = [(number + 1, "insert", f"f{number}") for number in range(150)]
    assert changes(builder) == expected
    monkeypatch.setattr(change_files, "_FLUSH_FROM", 7)
    assert changes(builder) == expected


@pytest.mark.parametrize("kind", ["add", "remove", "cdc"])
def test_a_broken_file_action_is_an_error_that_names_the_commit(kind):
    builder = table().commit({kind: {"path": "a", "size": "large", "dataChange": True}})
    with pytest.raises(CorruptLogError) as caught:
        feed_of(builder)
    assert (caught.value.version, caught.value.file) == (1, file_names.commit_path(1))
    assert f"{kind} action" in str(caught.value)


@pytest.mark.parametrize("value", ["a", 1, []])
def test_a_file_action_that_is_no_object_is_an_error(value):
    with pytest.raises(CorruptLogError):
        feed_of(table().commit({"add": value}))


def test_a_commit_that_goes_away_while_it_is_read_is_an_error():
    builder = table().commit(add("a")).commit(add("b"))
    log = builder.log()
    read = log.store.read

    def lose(path):
        if path == file_names.commit_path(2):
            raise FileNotFoundError(path)
        return read(path)

    log.update()
    log.store.read = lose
    with pytest.raises(CorruptLogError) as caught:
        log.change_feed(ChangeBounds(starting_version=1))
    assert caught.value.version == 2


def test_the_feed_works_after_a_checkpoint_without_the_commits_before_it():
    builder = table().commit(add("a")).commit(add("b")).checkpoint().commit(remove("a"))
    builder.delete(file_names.commit_path(0)).delete(file_names.commit_path(1))
    assert changes(builder, 3) == [(3, "delete", "a")]
    assert facts(builder, 3) == [("a", 100, {})]


def test_the_first_commit_of_a_table_can_be_the_first_of_the_feed():
    builder = TableBuilder(store=MemoryStore()).create(configuration=FEED, actions=[add("a")])
    assert changes(builder, 0) == [(0, "insert", "a")]


def test_a_feed_stays_as_it_is_when_the_table_goes_on():
    builder = table().commit(add("a"))
    log = builder.log()
    feed = log.change_feed(ChangeBounds(starting_version=0))
    builder.commit(metadata({"id": "long", "day": "string", "new": "long"}, configuration=FEED)).commit(add("b"))
    assert (feed.end, feed.snapshot.version, feed.files["path"].to_pylist()) == (1, 1, ["a"])
    later = log.change_feed(ChangeBounds(starting_version=0))
    assert (later.end, later.schema.names[2]) == (3, "new")
