# SPDX-License-Identifier: Apache-2.0
"""The first entry of a stream's schema log, the streams that cannot begin one, and where the log lies."""

from __future__ import annotations

import pytest
from tests.core.log.streaming.schema.tracked_streams import FIRST, MAPPED, MAPPING, PATH, RENAMED, Query, change, mapped, tracked
from tests.core.log.streaming.streams import ONE, TABLE_ID, source_of, table

from bayou.errors import InvalidOptionError, StreamingSourceError, UnsupportedFeatureError
from bayou.log.streaming.request import settings as stream_settings
from bayou.log.streaming.request.offsets import SourceOffset
from bayou.log.streaming.schema.evolution import java_hash
from bayou.log.streaming.schema.tracking_log import TrackedMetadata
from bayou.testing.table_builder import add, metadata


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
    with pytest.raises(StreamingSourceError, match=r"\b1\b.*\b3\b") as raised:
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
    query.settings = {stream_settings.PATH_CHECK_CONF: "false"}
    query.source("file:/c/sources/1")


def test_the_log_has_to_lie_in_the_checkpoint():
    _, query = tracked()
    query.options["schemaTrackingLocation"] = "/elsewhere"
    with pytest.raises(InvalidOptionError) as raised:
        query.source()
    assert raised.value.error_class == "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT"
    query.settings = {stream_settings.OUTSIDE_CHECKPOINT_CONF: "true"}
    query.source()
    query.settings = {}
    query.options["schemaTrackingLocation"] = "file:///c/schemas"
    query.source()


def test_a_session_may_have_no_tracking_or_read_on_without_it():
    builder, query = tracked()
    query.settings = {stream_settings.TRACKING_CONF: "false"}
    with pytest.raises(UnsupportedFeatureError) as caught:
        query.source()
    assert caught.value.features == ("schema tracking",)
    query.settings = {stream_settings.UNSAFE_MAPPING_CONF: "true"}
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
