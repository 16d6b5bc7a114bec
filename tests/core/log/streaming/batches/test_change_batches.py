# SPDX-License-Identifier: Apache-2.0
"""Streams of changes: the first snapshot as inserts, then what each commit changed, with what belongs together in one batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.log.streaming.streams import ONE, place, source_of, table
from tests.support.tables.feed_actions import FEED, VECTORS, cdc, gone, vector

from bayou.errors import InvalidSchemaError, SchemaChangedError, TimeTravelError
from bayou.log.changes.feed import FEED_COLUMNS, ChangeBounds
from bayou.log.streaming.request.limits import ReadLimits
from bayou.protocol.actions import file_names
from bayou.testing.table_builder import add, metadata, remove


def recorded(*adds, partition_by=()):
    schema = {"id": "long", "day": "string"}
    return table(schema, configuration=FEED, protocol=VECTORS, partition_by=partition_by, actions=adds)


def stream(builder, **options):
    return source_of(builder, readChangeFeed=True, **options)


def changes(feed):
    """(version, kind, path) of each file to read."""
    return [tuple(row.values()) for row in feed.files.select(["commit_version", "kind", "path"]).to_pylist()]


def batches(source, at=None, limits=None):
    """The changes of each batch until there is nothing new; and where the stream is then."""
    found = []
    while (end := source.latest_offset(at, limits or source.limits)) not in (at, None):
        found.append(changes(source.batch(at, end)))
        if at is not None:
            source.commit(at)
        at = end
    return found, at


def test_the_rows_have_the_columns_of_the_feed():
    source = stream(recorded())
    assert source.schema.names == ("id", "day", *(column.name for column in FEED_COLUMNS))
    assert source.batch(None, source.latest_offset(None, ONE)).schema == source.schema


def test_the_first_snapshot_comes_as_inserts_of_its_version():
    builder = recorded().commit(add("a", **vector(1)), add("b")).commit(add("c")).commit(gone("b"))
    builder.store.set_modification_time(file_names.commit_path(3), 1_700_000_000_123)
    source = stream(builder)
    end = source.latest_offset(None, source.limits)
    feed = source.batch(None, end)
    assert changes(feed) == [(3, "insert", "a"), (3, "insert", "c")]
    assert feed.files["commit_timestamp"].to_pylist() == [1_700_000_000_123] * 2
    first = feed.changed_rows()
    assert [None if rows is None else rows.to_list() for rows in first.rows] == [[1], None]
    assert first.files["is_difference"].to_pylist() == [False, False]


def test_the_first_snapshot_is_split_over_batches_in_its_order():
    adds = [add(path, modificationTime=time) for path, time in (("a", 3), ("b", 1), ("c", 2))]
    found, end = batches(stream(recorded(*adds)), limits=ONE)
    assert found == [[(0, "insert", "b")], [(0, "insert", "c")], [(0, "insert", "a")]]
    assert place(end) == (1, -100, False)


def test_added_files_are_inserts_and_removed_files_are_deletes_and_neither_needs_an_option():
    builder = recorded(add("a"))
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(add("b")).commit(gone("a"), add("c"))
    assert batches(source, at)[0] == [[(1, "insert", "b"), (2, "delete", "a"), (2, "insert", "c")]]


def test_a_commit_without_change_files_is_read_file_by_file():
    builder = recorded(add("a"))
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(gone("a"), add("b"), add("c"))
    found, _ = batches(source, at, ONE)
    assert found == [[(1, "delete", "a")], [(1, "insert", "b")], [(1, "insert", "c")]]


def test_a_commit_with_change_files_is_read_from_these_in_one_batch():
    builder = recorded(add("a"))
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(gone("a"), add("b"), cdc("c1"), cdc("c2")).commit(add("d"))
    found, _ = batches(source, at, ONE)
    assert found == [[(1, "cdc", "c1"), (1, "cdc", "c2")], [(2, "insert", "d")]]


def test_a_commit_that_belongs_together_waits_for_the_next_batch_where_it_has_no_room():
    builder = recorded(add("a"))
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(add("b")).commit(cdc("c1"), cdc("c2")).commit(add("d"))
    end, _ = next_batch_of(source, at, ReadLimits(2))
    assert place(end) == (2, -100, False)
    found, _ = batches(source, at, ReadLimits(2))
    assert found == [[(1, "insert", "b")], [(2, "cdc", "c1"), (2, "cdc", "c2")], [(3, "insert", "d")]]
    assert batches(source, at, ReadLimits(3))[0][0] == [(1, "insert", "b"), (2, "cdc", "c1"), (2, "cdc", "c2")]


def next_batch_of(source, at, limits):
    end = source.latest_offset(at, limits)
    return end, changes(source.batch(at, end))


def test_a_replaced_deletion_vector_is_a_difference_in_one_batch():
    builder = recorded(add("a"))
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(gone("a"), add("a", **vector(3)), add("b"))
    end = source.latest_offset(at, ONE)
    feed = source.batch(at, end)
    assert place(end) == (2, -100, False)
    assert changes(feed) == [(1, "delete", "a"), (1, "insert", "b")]
    assert feed.files["is_difference"].to_pylist() == [True, False]


def test_a_merge_that_changed_no_row_gives_nothing():
    metrics = {"numTargetRowsInserted": "0", "numTargetRowsUpdated": "0", "numTargetRowsDeleted": "0"}
    builder = recorded(add("a"))
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(gone("a"), add("b"), info={"operation": "MERGE", "operationMetrics": metrics}).commit(add("c"))
    assert batches(source, at, ONE)[0] == [[(2, "insert", "c")]]


def test_a_rewrite_that_moves_rows_gives_nothing():
    builder = recorded(add("a"))
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(gone("a", dataChange=False), add("b", dataChange=False))
    found, end = batches(source, at)
    assert found == [[]]
    assert place(end) == (2, -100, False)


def test_excluded_files_are_left_out_of_all_kinds():
    builder = recorded(add("a"), add("x"))
    source = stream(builder, excludeRegex="x")
    found, at = batches(source)
    assert found == [[(0, "insert", "a")]]
    builder.commit(gone("x"), add("x2"), add("b")).commit(cdc("x3"), cdc("c"))
    assert batches(source, at, ONE)[0] == [[(1, "insert", "b")], [(2, "cdc", "c")]]


def test_commits_have_their_times_in_order_and_in_commit_timestamps_count():
    builder = recorded()
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(add("a")).commit(add("b")).commit(add("c"), info={"inCommitTimestamp": 5})
    for version, time in ((0, 1000), (1, 3000), (2, 2000), (3, 9000)):
        builder.store.set_modification_time(file_names.commit_path(version), time)
    late = stream(builder, startingVersion=1)
    end = late.latest_offset(None, late.limits)
    assert late.batch(None, end).files["commit_timestamp"].to_pylist() == [3000, 3001, 5]
    assert at < end


def test_a_commit_keeps_the_time_that_it_says_when_later_ones_say_none_read_as_a_stream_or_not():
    since = {"delta.inCommitTimestampEnablementVersion": "2", "delta.inCommitTimestampEnablementTimestamp": "5000"}
    enabled = {**FEED, "delta.enableInCommitTimestamps": "true", **since}
    schema = {"id": "long", "day": "string"}
    builder = recorded().commit(add("a"))
    builder.commit(metadata(schema, configuration=enabled), info={"inCommitTimestamp": 5000})
    builder.commit(add("b"), info={"inCommitTimestamp": 6000}).commit(metadata(schema, configuration=FEED)).commit(add("c"))
    for version in range(6):
        builder.store.set_modification_time(file_names.commit_path(version), 1000 * version + 7)
    feed = builder.log().change_feed(ChangeBounds(starting_version=1))
    assert feed.files["commit_timestamp"].to_pylist() == [1007, 6000, 5007]
    source = stream(builder, startingVersion=1)
    assert source.batch(None, source.latest_offset(None, source.limits)).files["commit_timestamp"].to_pylist() == [1007, 6000, 5007]


def test_a_removed_file_without_its_facts_gets_them_from_the_action_that_added_it():
    builder = recorded(add("a", size=42, partitionValues={"day": "1"}), partition_by=["day"])
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(remove("a")).commit(add("b", size=43, partitionValues={"day": "2"})).commit(remove("b"))
    end = source.latest_offset(at, source.limits)
    feed = source.batch(at, end)
    assert sorted(zip(feed.files["path"].to_pylist(), feed.files["size"].to_pylist(), strict=True)) == [
        ("a", 42),
        ("b", 43),
        ("b", 43),
    ]
    assert sorted(feed.partition_texts()["day"].to_pylist()) == ["1", "2", "2"]


def test_a_stream_of_changes_may_start_at_a_version():
    builder = recorded(add("a")).commit(add("b")).commit(gone("a"))
    assert batches(stream(builder, startingVersion=1))[0] == [[(1, "insert", "b"), (2, "delete", "a")]]


def test_a_restart_reads_the_same_changes_again():
    builder = recorded(add("a"))
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(add("b"), add("c"), gone("a"))
    one = source.latest_offset(at, ONE)
    two = source.latest_offset(one, ONE)
    again = stream(builder)
    assert changes(again.batch(again.parse_offset(one.to_json()), again.parse_offset(two.to_json()))) == [(1, "insert", "c")]
    assert changes(again.batch(two, two)) == []


def test_changes_that_were_not_recorded_are_refused():
    builder = table({"id": "long"}, actions=[add("a")])
    with pytest.raises(TimeTravelError) as raised:
        batches(stream(builder))
    assert raised.value.error_class == "DELTA_MISSING_CHANGE_DATA"
    builder.commit(metadata({"id": "long"}, configuration=FEED)).commit(add("b"))
    with pytest.raises(TimeTravelError):
        batches(stream(builder, startingVersion=0))
    assert batches(stream(builder, startingVersion=1))[0] == [[(2, "insert", "b")]]


def test_the_commit_that_stops_the_recording_stops_the_stream():
    builder = recorded(add("a"))
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(add("b")).commit(metadata({"id": "long", "day": "string"}))
    end, found = next_batch_of(source, at, source.limits)
    assert found == [(1, "insert", "b")]
    with pytest.raises(TimeTravelError) as raised:
        source.latest_offset(end, source.limits)
    assert (raised.value.error_class, raised.value.version) == ("DELTA_MISSING_CHANGE_DATA", 2)


def test_a_schema_change_stops_a_stream_of_changes_too():
    builder = recorded(add("a"))
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(metadata({"id": "long", "day": "string", "new": "long"}, configuration=FEED))
    with pytest.raises(SchemaChangedError) as raised:
        source.latest_offset(at, source.limits)
    assert raised.value.retryable


def test_a_table_with_columns_of_the_feed_is_refused():
    builder = table({"id": "long", "_change_type": "string"}, configuration=FEED)
    with pytest.raises(InvalidSchemaError) as raised:
        stream(builder)
    assert raised.value.error_class == "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"


def test_the_backlog_counts_all_files_that_changes_are_read_from():
    builder = recorded()
    source = stream(builder)
    at = batches(source)[1]
    builder.commit(add("a"), gone("b"), add("c")).commit(cdc("d"))
    end, _ = next_batch_of(source, at, ONE)
    assert (source.backlog(end).files, source.backlog(end).bytes) == (2 + 2, 200 + 200)


COMMITS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=6)


@given(COMMITS, st.integers(1, 5))
def test_the_batches_of_a_stream_together_are_the_feed(commits, most):
    builder = recorded()
    for number, (adds, removes, cdcs) in enumerate(commits):
        actions = [add(f"a{number}-{each}") for each in range(adds)] + [gone(f"r{number}-{each}") for each in range(removes)]
        builder.commit(*actions, *(cdc(f"c{number}-{each}") for each in range(cdcs)))
    found, _ = batches(stream(builder, startingVersion=0), limits=ReadLimits(most))
    whole = builder.log().change_feed(ChangeBounds(starting_version=0))
    assert sorted(each for batch in found for each in batch) == sorted(changes(whole))
    for batch in found:
        assert len({version for version, kind, _ in batch if kind == "cdc"}) <= len(batch)
        assert len(batch) <= max(most, 2)
    kinds = [version for batch in found for version in {version for version, kind, _ in batch if kind == "cdc"}]
    assert len(kinds) == len(set(kinds))
