# SPDX-License-Identifier: Apache-2.0
"""Streams that follow changes of the schema: each change stops the query once, and nothing is read under the wrong schema."""

from __future__ import annotations

import pytest
from tests.core.log.streaming.streams import ONE, TABLE_ID, paths, place, source_of, table

from bayou.errors import InvalidOptionError, SchemaChangedError, StreamingSourceError, UnsupportedFeatureError
from bayou.log.streaming import schema_evolution as leave
from bayou.log.streaming import stream_settings as confs
from bayou.log.streaming.offsets import METADATA_CHANGE_INDEX, POST_METADATA_CHANGE_INDEX, SourceOffset
from bayou.log.streaming.schema_evolution import java_hash
from bayou.log.streaming.schema_log import SchemaLog, TrackedMetadata
from bayou.protocol.actions import Protocol
from bayou.protocol.schema import StructField, StructType
from bayou.storage import MemoryStore
from bayou.testing.table_builder import add, metadata, remove

MAPPED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
MAPPING = Protocol(3, 7, ("columnMapping", "typeWidening"), ("columnMapping", "typeWidening"))
PATH = "file:/c/sources/0"
CHECKPOINT_HASH = java_hash(PATH)


def mapped(**columns):
    """A schema whose columns have these physical names; a type may follow after a colon."""
    fields = []
    for number, (name, physical) in enumerate(columns.items(), 1):
        key, _, kind = physical.partition(":")
        keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": key}
        fields.append(StructField(name, kind or "long", metadata=keys))
    return StructType(tuple(fields))


FIRST = mapped(id="p1", name="p2")
RENAMED = mapped(id="p1", other="p2")
DROPPED = mapped(id="p1")


class Query:
    """A query that is started again and again, as Spark drives it, with the checkpoint and the schema log of one."""

    def __init__(self, builder, settings=None, **options):
        self.builder, self.settings = builder, settings or {}
        self.options = {"schemaTrackingLocation": "/c", **options}
        self.store = MemoryStore()
        self.at = None
        self.planned = None
        self.found = []

    def source(self, path=PATH):
        """The source of one start: analysed, and then executed."""
        source_of(self.builder, self.settings, schema_store=self.store, **self.options)
        return source_of(self.builder, self.settings, schema_store=self.store, source_path=path, **self.options)

    def run(self, limits=None):
        """Start the query, read until nothing is new; the schema's columns, or the error that ended it."""
        try:
            source = self.source()
            if self.planned is not None:
                self._execute(source)
            while (end := source.latest_offset(self.at, limits or source.limits)) not in (self.at, None):
                self.planned = end
                if self.at is not None:
                    source.commit(self.at)
                self._execute(source)
        except SchemaChangedError as error:
            return error.error_class.removeprefix("DELTA_STREAMING_")
        return list(source.schema.names)

    def _execute(self, source):
        again = self.at and source.parse_offset(self.at.to_json())
        files = source.batch(again, source.parse_offset(self.planned.to_json()))
        self.found += [(path, files.snapshot.schema.names[-1]) for path in paths(files)]
        self.at, self.planned = self.planned, None

    @property
    def entries(self):
        return SchemaLog(self.store, "/c")


def tracked(first=FIRST, configuration=MAPPED, settings=None, **options):
    """A query that has read a table with one file, and has its schema in its log."""
    builder = table(first, protocol=MAPPING, configuration=configuration, actions=[add("a")])
    query = Query(builder, settings, **options)
    assert query.run() == list(first.names)
    return builder, query


def change(builder, new, configuration=MAPPED, **options):
    return builder.commit(metadata(new, configuration=configuration, **options))


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
    with pytest.raises(SchemaChangedError, match="Please restart the stream") as raised:
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
    settings = {confs.MERGE_CHANGES_CONF: "false"}
    builder, query = tracked(settings=settings, allowSourceColumnRename="always")
    change(change(builder, mapped(id="p1", x="p2")), mapped(id="p1", y="p2"))
    assert [query.run() for _ in range(3)] == ["METADATA_EVOLUTION", "METADATA_EVOLUTION", ["id", "y"]]


CHANGES = {
    "RENAME COLUMN": RENAMED,
    "DROP COLUMN": DROPPED,
    "RENAME AND DROP COLUMN": mapped(other="p2"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_loses_or_renames_columns_needs_leave(name):
    builder, query = tracked()
    change(builder, CHANGES[name]).commit(add("b"))
    assert query.run() == "METADATA_EVOLUTION"
    with pytest.raises(SchemaChangedError) as raised:
        query.source()
    error = raised.value
    assert error.error_class == "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"
    assert f"({name}) between Delta version 0 and 1" in str(error)
    assert error.operation == name
    assert f"ckpt_{CHECKPOINT_HASH}=1" in error.next_step
    for option in error.options:
        query.options[option] = "1"
    assert query.run() == list(CHANGES[name].names)


def test_leave_for_another_version_or_another_change_is_none():
    builder, query = tracked(allowSourceColumnRename="7", allowSourceColumnDrop="always")
    change(builder, RENAMED)
    assert query.run() == "METADATA_EVOLUTION"
    assert query.run() == "CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"


@pytest.mark.parametrize(
    "settings",
    [
        {leave.ALLOW_RENAME_CONF: "always"},
        {leave.ALLOW_RENAME_AND_DROP_CONF: "ALWAYS"},
        {f"{leave.ALLOW_RENAME_CONF}.ckpt_{CHECKPOINT_HASH}": "always"},
        {f"{leave.ALLOW_RENAME_AND_DROP_CONF}.ckpt_{CHECKPOINT_HASH}": "1"},
    ],
)
def test_settings_give_leave_for_all_streams_or_for_one(settings):
    builder, query = tracked(settings=settings)
    change(builder, RENAMED)
    assert query.run() == "METADATA_EVOLUTION"
    assert query.run() == ["id", "other"]


@pytest.mark.parametrize("settings", [{leave.ALLOW_RENAME_CONF: "1"}, {f"{leave.ALLOW_RENAME_CONF}.ckpt_1": "always"}])
def test_settings_for_other_streams_give_none(settings):
    builder, query = tracked(settings=settings)
    change(builder, RENAMED)
    assert query.run() == "METADATA_EVOLUTION"
    assert query.run() == "CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"


def test_a_wider_type_needs_leave():
    builder, query = tracked(mapped(id="p1:integer", s="p2:string"))
    change(builder, mapped(id="p1:long", s="p2:string")).commit(add("b"))
    assert query.run() == "METADATA_EVOLUTION"
    with pytest.raises(SchemaChangedError, match=r"TYPE WIDENING.*'p1': integer -> long"):
        query.source()
    query.options["allowSourceColumnTypeChange"] = "always"
    assert query.run() == ["id", "s"]


def test_a_type_that_is_no_wider_one_ends_the_stream():
    builder, query = tracked(mapped(id="p1:long"), allowSourceColumnTypeChange="always")
    change(builder, mapped(id="p1:string"))
    assert query.run() == "METADATA_EVOLUTION"
    with pytest.raises(SchemaChangedError) as raised:
        query.source()
    assert (raised.value.error_class, raised.value.retryable) == ("DELTA_SCHEMA_CHANGED_WITH_VERSION", False)


def test_the_first_entry_is_of_the_version_that_the_stream_begins_with():
    builder = table(FIRST, protocol=MAPPING, configuration=MAPPED, actions=[add("a")])
    change(builder, RENAMED).commit(add("b"))
    query = Query(builder, startingVersion=0)
    assert query.run() == "METADATA_EVOLUTION"
    assert (query.entries.current.version, query.entries.current.schema) == (0, FIRST)
    assert query.run() == "METADATA_EVOLUTION"
    assert query.found == [("a", "name")]
    query.options["allowSourceColumnRename"] = "always"
    assert query.run() == ["id", "other"]
    assert query.found == [("a", "name"), ("b", "other")]


def test_tracking_may_begin_with_a_batch_that_was_planned_before():
    builder = table(FIRST, protocol=MAPPING, configuration=MAPPED, actions=[add("a")])
    query = Query(builder)
    at = source_of(builder).latest_offset(None, ONE)
    builder.commit(add("b")).commit(metadata(mapped(id="p1", name="p2", new="p3"), configuration=MAPPED)).commit(add("c"))
    query.at, query.planned = at, SourceOffset(TABLE_ID, 3, 0)
    assert query.run() == ["id", "name", "new"]
    assert query.entries.current.version == 3
    assert query.found == [("b", "new"), ("c", "new")]


def test_tracking_cannot_begin_with_a_batch_over_a_renamed_column():
    builder = table(FIRST, protocol=MAPPING, configuration=MAPPED, actions=[add("a")])
    query = Query(builder)
    at = source_of(builder).latest_offset(None, ONE)
    change(builder.commit(add("b")), RENAMED).commit(add("c"))
    query.at, query.planned = at, SourceOffset(TABLE_ID, 3, 0)
    with pytest.raises(StreamingSourceError, match="from table version 1 to 3") as raised:
        query.run()
    assert raised.value.error_class == "DELTA_STREAMING_SCHEMA_LOG_INIT_FAILED_INCOMPATIBLE_METADATA"


def test_a_first_snapshot_with_another_schema_than_the_entry_puts_it_in_its_place():
    builder = table(FIRST, protocol=MAPPING, configuration=MAPPED, actions=[add("a")])
    query = Query(builder)
    query.entries.add(TrackedMetadata.of(TABLE_ID, 0, builder.log().snapshot().metadata, MAPPING, PATH))
    change(builder, RENAMED).commit(add("b"))
    assert query.run() == "METADATA_EVOLUTION"
    assert query.entries.current.schema == RENAMED
    assert query.entries.current.previous == -1
    assert query.run() == ["id", "other"]
    assert sorted(query.found) == [("a", "other"), ("b", "other")]


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


def test_a_log_of_another_table_is_refused():
    builder, query = tracked()
    query.store.put("1", query.entries.current.to_text().replace(TABLE_ID, "another").encode())
    with pytest.raises(StreamingSourceError) as raised:
        source_of(builder, schema_store=query.store, schemaTrackingLocation="/c")
    assert raised.value.error_class == "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID"


def test_two_sources_of_a_query_cannot_share_a_log():
    _, query = tracked()
    with pytest.raises(InvalidOptionError) as raised:
        query.source("file:/c/sources/1")
    assert raised.value.error_class == "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT"
    query.settings = {confs.PATH_CHECK_CONF: "false"}
    query.source("file:/c/sources/1")


def test_the_log_has_to_lie_in_the_checkpoint():
    _, query = tracked()
    query.options["schemaTrackingLocation"] = "/elsewhere"
    with pytest.raises(InvalidOptionError) as raised:
        query.source()
    assert raised.value.error_class == "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT"
    query.settings = {confs.OUTSIDE_CHECKPOINT_CONF: "true"}
    query.source()
    query.settings = {}
    query.options["schemaTrackingLocation"] = "file:///c/schemas"
    query.source()


def test_a_session_may_have_no_tracking_or_read_on_without_it():
    builder, query = tracked()
    query.settings = {confs.TRACKING_CONF: "false"}
    with pytest.raises(UnsupportedFeatureError, match="Schema tracking location is not supported"):
        query.source()
    query.settings = {confs.UNSAFE_MAPPING_CONF: "true"}
    change(builder, RENAMED)
    assert query.source().schema == RENAMED


def test_the_log_is_kept_where_its_location_says(tmp_path):
    builder = table(FIRST, protocol=MAPPING, configuration=MAPPED, actions=[add("a")])
    location = tmp_path / "checkpoint" / "schemas"
    path = f"{(tmp_path / 'checkpoint').as_uri()}/sources/0"
    source = source_of(builder, source_path=path, schemaTrackingLocation=location, streamingSourceTrackingId="left")
    source.latest_offset(None, ONE)
    assert [each.name for each in location.iterdir()] == [f"_schema_log_{TABLE_ID}_left"]
    assert (location / f"_schema_log_{TABLE_ID}_left" / "0").read_text().startswith("v1\n{")


@pytest.mark.parametrize(
    ("text", "value"), [("", 0), ("a", 97), ("hello", 99162322), ("Aa", 2112), ("polygenelubricants", -(1 << 31))]
)
def test_settings_are_named_by_javas_hash(text, value):
    assert java_hash(text) == value
    assert java_hash("\U0001f600") == 0xD83D * 31 + 0xDE00
