# SPDX-License-Identifier: Apache-2.0
"""Streams that follow changes of the schema: each change stops the query once, and nothing is read under the wrong schema."""

from __future__ import annotations

import pytest
from tests.core.log.streaming.schema.tracked_streams import FIRST, MAPPED, MAPPING, PATH, RENAMED, change, mapped, tracked
from tests.core.log.streaming.streams import ONE, TABLE_ID, paths, place, source_of, table

from bayou.errors import SchemaChangedError
from bayou.log.streaming.request import settings as stream_settings
from bayou.log.streaming.request.offsets import METADATA_CHANGE_INDEX, POST_METADATA_CHANGE_INDEX, SourceOffset
from bayou.protocol.actions.actions import Protocol
from bayou.storage import MemoryStore
from bayou.testing.table_builder import add, metadata, remove


def test_a_fresh_stream_writes_the_first_entry_and_goes_on():
    _, query = tracked()
    assert query.found == [("a", "name")]
    current = query.entries.current
    assert (query.entries.number, current.version, current.table_id, current.source_path) == (0, 0, TABLE_ID, PATH)
    assert current.schema == FIRST
    assert current.protocol == MAPPING


def test_a_renamed_column_stops_the_query_twice_and_then_is_followed():
    builder, query = tracked()
    change(builder.commit(add("b")), RENAMED).commit(add("c"))
    assert query.run() == "METADATA_EVOLUTION"
    assert query.found == [("a", "name"), ("b", "name")]
    assert query.run() == "CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"
    query.options["allowSourceColumnRename"] = "2"
    assert query.run() == ["id", "other"]
    assert query.found == [("a", "name"), ("b", "name"), ("c", "other")]


def test_an_added_column_stops_the_query_once():
    builder, query = tracked()
    change(builder, mapped(id="p1", name="p2", new="p3")).commit(add("b"))
    assert query.run() == "METADATA_EVOLUTION"
    assert query.run() == ["id", "name", "new"]
    assert query.found == [("a", "name"), ("b", "new")]


def test_the_batch_before_a_change_ends_at_a_barrier_and_the_next_one_right_after_it():
    builder, query = tracked()
    change(builder.commit(add("b")), RENAMED).commit(add("c"))
    source = query.source()
    end = source.latest_offset(query.at, source.limits)
    assert place(end) == (2, METADATA_CHANGE_INDEX, False)
    assert paths(source.batch(query.at, end)) == ["b"]
    after = source.latest_offset(end, source.limits)
    assert place(after) == (2, POST_METADATA_CHANGE_INDEX, False)
    assert paths(source.batch(end, after)) == []
    assert source.latest_offset(after, source.limits) == after
    with pytest.raises(SchemaChangedError) as raised:
        source.commit(end)
    assert raised.value.error_class == "DELTA_STREAMING_METADATA_EVOLUTION"
    assert raised.value.retryable
    assert query.entries.current.version == 2


def test_a_change_that_only_the_second_barrier_commits_is_followed_too():
    builder, query = tracked()
    change(builder, RENAMED)
    source = query.source()
    with pytest.raises(SchemaChangedError):
        source.commit(SourceOffset(TABLE_ID, 1, POST_METADATA_CHANGE_INDEX))
    restarted = source_of(
        builder, schema_store=query.store, source_path=PATH, schemaTrackingLocation="/c", allowSourceColumnRename="always"
    )
    restarted.commit(SourceOffset(TABLE_ID, 1, POST_METADATA_CHANGE_INDEX))
    assert query.entries.number == 1


def test_a_barrier_is_there_though_the_commit_before_it_had_room_for_more():
    builder, query = tracked()
    change(builder.commit(add("b"), add("c")), RENAMED)
    source = query.source()
    end = source.latest_offset(query.at, ONE)
    assert place(end) == (1, 0, False)
    end = source.latest_offset(end, ONE)
    assert place(end) == (2, METADATA_CHANGE_INDEX, False)


def test_files_of_the_commit_that_changes_the_schema_are_read_under_the_new_one():
    builder, query = tracked(allowSourceColumnRename="always")
    builder.commit(metadata(RENAMED, configuration=MAPPED), add("b"))
    assert query.run() == "METADATA_EVOLUTION"
    assert query.run() == ["id", "other"]
    assert query.found == [("a", "name"), ("b", "other")]


@pytest.mark.parametrize(
    "change_of",
    [
        {"configuration": {**MAPPED, "delta.appendOnly": "true"}},
        {"partition_by": ["name"]},
    ],
)
def test_properties_and_partition_columns_are_followed(change_of):
    builder, query = tracked()
    change(builder, FIRST, **change_of).commit(add("b"))
    assert query.run() == "METADATA_EVOLUTION"
    assert query.run() == ["id", "name"]
    assert query.found == [("a", "name"), ("b", "name")]


def test_a_protocol_is_followed():
    builder, query = tracked()
    wider = Protocol(3, 7, MAPPING.reader_features, (*MAPPING.writer_features, "appendOnly"))
    builder.commit({"protocol": wider.to_json()}).commit(add("b"))
    assert query.run() == "METADATA_EVOLUTION"
    assert query.entries.current.protocol == wider
    assert query.run() == ["id", "name"]


def test_a_property_of_the_user_and_the_same_metadata_again_stop_nothing():
    builder, query = tracked()
    change(builder, FIRST, {**MAPPED, "mine": "1"})
    change(builder, FIRST).commit(add("b"))
    assert query.run() == ["id", "name"]
    assert query.entries.number == 0


def test_changes_that_follow_one_another_count_as_one():
    builder, query = tracked()
    change(change(change(builder, mapped(id="p1", x="p2")), mapped(id="p1", y="p2")), mapped(id="p1", y="p2", z="p3"))
    builder.commit(add("b"))
    assert query.run() == "METADATA_EVOLUTION"
    assert query.run() == "CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"
    query.options["allowSourceColumnRename"] = "3"
    assert query.run() == ["id", "y", "z"]
    assert query.found == [("a", "name"), ("b", "z")]
    assert query.entries.previous.version == 0


def test_a_change_of_the_protocol_after_one_of_the_schema_loses_neither():
    builder, query = tracked()
    wider = Protocol(3, 7, MAPPING.reader_features, (*MAPPING.writer_features, "appendOnly"))
    change(change(builder, mapped(id="p1", name="p2", x="p3")), mapped(id="p1", name="p2", x="p3", y="p4"))
    builder.commit({"protocol": wider.to_json()}).commit(add("b"))
    assert query.run() == "METADATA_EVOLUTION"
    assert query.run() == ["id", "name", "x", "y"]
    assert query.entries.current.protocol == wider


def test_changes_are_followed_one_by_one_where_the_session_wants_it():
    settings = {stream_settings.MERGE_CHANGES_CONF: "false"}
    builder, query = tracked(settings=settings, allowSourceColumnRename="always")
    change(change(builder, mapped(id="p1", x="p2")), mapped(id="p1", y="p2"))
    assert [query.run() for _ in range(3)] == ["METADATA_EVOLUTION", "METADATA_EVOLUTION", ["id", "y"]]


def test_a_change_stream_follows_schemas_too():
    feed = {**MAPPED, "delta.enableChangeDataFeed": "true"}
    builder = table(FIRST, protocol=MAPPING, configuration=feed, actions=[add("a")])
    options = {"readChangeFeed": True, "schemaTrackingLocation": "/c", "allowSourceColumnRename": "always"}
    store = MemoryStore()

    def start():
        return source_of(builder, schema_store=store, source_path=PATH, **options)

    source = start()
    at = source.latest_offset(None, source.limits)
    change(builder.commit(remove("a", partitionValues={}, size=1)), RENAMED, feed).commit(add("b"))
    end = source.latest_offset(at, source.limits)
    assert place(end) == (2, METADATA_CHANGE_INDEX, False)
    assert source.batch(at, end).files["kind"].to_pylist() == ["delete"]
    with pytest.raises(SchemaChangedError):
        source.commit(end)
    again = start()
    after = again.latest_offset(source.latest_offset(end, source.limits), source.limits)
    assert again.schema.names[:2] == ("id", "other")
    assert again.batch(end, after).files["path"].to_pylist() == ["b"]


def test_a_fixed_end_stops_at_a_change_as_well():
    builder, query = tracked()
    change(builder.commit(add("b")), RENAMED).commit(add("c"))
    source = query.source()
    source.fix_end()
    end = source.latest_offset(query.at, source.limits)
    assert place(end) == (2, METADATA_CHANGE_INDEX, False)
    assert place(source.latest_offset(end, source.limits)) == (2, POST_METADATA_CHANGE_INDEX, False)
