# SPDX-License-Identifier: Apache-2.0
"""A stream's schema is fixed while it runs: which changes of the table's schema stop it, and whether a restart helps."""

from __future__ import annotations

import pytest
from tests.core.log.streaming.streams import drain, next_batch, place, source_of, table

from bayou.errors import SchemaChangedError, VersionNotFoundError
from bayou.log.streaming.request import settings as stream_settings
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType
from bayou.testing.table_builder import add, metadata

BASE = {"id": "integer", "name": "string"}
BY_ALICE = {"operation": "ADD COLUMNS", "userName": "alice"}
MAPPED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
WIDENING = Protocol(3, 7, ("typeWidening",), ("typeWidening",))


def mapped(**columns):
    """A schema of longs whose columns have these physical names."""
    fields = []
    for number, (name, physical) in enumerate(columns.items(), 1):
        keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
        fields.append(StructField(name, "long", metadata=keys))
    return StructType(tuple(fields))


def schema(*fields):
    return StructType(tuple(fields))


def running(first, protocol=None, settings=None, *, configuration=None, **options):
    """A stream that has read all there is of a table with one file."""
    builder = table(first, protocol=protocol, configuration=configuration, actions=[add("a")])
    source = source_of(builder, settings, **options)
    return builder, source, drain(source)[1]


def changed(builder, new, *, info=BY_ALICE, partition_by=(), configuration=None):
    return builder.commit(metadata(new, partition_by=partition_by, configuration=configuration), info=info).commit(add("b"))


def refused(source, at):
    with pytest.raises(SchemaChangedError) as raised:
        next_batch(source, at)
    assert raised.value.next_step
    return raised.value


def test_a_new_column_stops_the_stream_once_and_a_restart_reads_on():
    builder, source, at = running(BASE)
    changed(builder, {**BASE, "new": "long"})
    error = refused(source, at)
    assert error.error_class == "DELTA_SCHEMA_CHANGED_WITH_VERSION"
    assert error.retryable
    assert "ADD COLUMNS by alice" in str(error)
    assert "restart" in error.next_step
    assert (error.version, error.operation, error.user) == (1, "ADD COLUMNS", "alice")
    end, found = next_batch(source_of(builder), at)
    assert (found, place(end)) == (["b"], (3, -100, False))


def test_what_comes_before_a_schema_change_is_read_first():
    builder, source, at = running(BASE)
    builder.commit(add("c"))
    changed(builder, {**BASE, "new": "long"})
    end, found = next_batch(source, at)
    assert found == ["c"]
    assert refused(source, end).version == 2


def test_metadata_without_another_schema_stops_nothing():
    builder, source, at = running(BASE)
    changed(builder, BASE, configuration={"delta.appendOnly": "false"})
    assert next_batch(source, at)[1] == ["b"]


def test_the_errors_of_a_stream_that_names_a_start_say_so():
    builder, source, at = running(BASE, startingVersion=0)
    changed(builder, {**BASE, "id": "string"})
    error = refused(source, at)
    assert error.error_class == "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS"
    assert not error.retryable
    assert "startingVersion" in error.next_step


def test_a_column_that_is_gone_without_column_mapping_is_null_until_a_restart_and_needs_a_new_checkpoint_for_what_was_before():
    builder, source, at = running(BASE)
    changed(builder, {"id": "integer"})
    assert next_batch(source, at)[1] == ["b"]
    error = refused(source_of(builder), place_before(source, 0))
    assert not error.retryable
    assert "new checkpoint directory" in error.next_step


def place_before(source, version):
    text = '{"sourceVersion":1,"reservoirId":"%s","reservoirVersion":%d,"index":-1,"isStartingVersion":false}'
    return source.parse_offset(text % (source.table_id, version))


def test_another_type_needs_a_new_checkpoint():
    builder, source, at = running(BASE)
    changed(builder, {**BASE, "id": "string"})
    assert not refused(source, at).retryable


def test_a_column_that_may_become_null_stops_the_stream_once():
    strict, loose = (StructField("id", "long", nullable=nullable) for nullable in (False, True))
    builder, source, at = running(schema(strict))
    changed(builder, schema(loose))
    assert refused(source, at).retryable
    assert next_batch(source_of(builder), at)[1] == ["b"]


def test_a_column_that_becomes_not_null_stops_no_stream_but_one_that_still_reads_what_was_before():
    strict, loose = (StructField("id", "long", nullable=nullable) for nullable in (False, True))
    builder, source, at = running(schema(loose))
    changed(builder, schema(strict))
    assert next_batch(source, at)[1] == ["b"]
    assert not refused(source_of(builder), place_before(source, 0)).retryable
    unsafe = source_of(builder, {stream_settings.UNSAFE_NULLS_CONF: "true"})
    assert next_batch(unsafe, place_before(source, 0))[1] == ["a", "b"]


def test_other_partition_columns_stop_the_stream():
    builder, source, at = running(BASE)
    changed(builder, BASE, partition_by=["name"])
    error = refused(source, at)
    assert error.error_class == "DELTA_SCHEMA_CHANGED_WITH_VERSION"
    assert "partitioned by name" in str(error)
    lenient = source_of(builder, {stream_settings.UNSAFE_PARTITIONS_CONF: "true"}, snapshot=builder.log().snapshot(0))
    assert next_batch(lenient, at)[1] == ["b"]


@pytest.mark.parametrize("new", [mapped(id="p1", other="p2"), mapped(id="p1")], ids=["renamed", "dropped"])
def test_a_renamed_or_dropped_column_needs_schema_tracking(new):
    builder, source, at = running(mapped(id="p1", name="p2"), Protocol(2, 5), configuration=MAPPED)
    changed(builder, new, configuration=MAPPED, info={"operation": "RENAME COLUMN"})
    error = refused(source, at)
    assert error.error_class == "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"
    assert "RENAME COLUMN" in str(error)
    assert "schemaTrackingLocation" in error.next_step


def test_schema_tracking_is_not_offered_where_it_is_switched_off():
    builder, source, at = running(
        mapped(id="p1", name="p2"), Protocol(2, 5), {stream_settings.TRACKING_CONF: "false"}, configuration=MAPPED
    )
    changed(builder, mapped(id="p1"), configuration=MAPPED)
    error = refused(source, at)
    assert error.error_class == "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE"
    assert "schemaTrackingLocation" not in error.next_step


def test_a_rename_before_the_query_was_analysed_stops_a_stream_that_reads_what_was_before():
    builder, source, _ = running(mapped(id="p1", name="p2"), Protocol(2, 5), configuration=MAPPED)
    changed(builder, mapped(id="p1", other="p2"), configuration=MAPPED)
    late = source_of(builder, startingVersion=0)
    with pytest.raises(SchemaChangedError) as raised:
        next_batch(late)
    assert raised.value.error_class == "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"
    assert "version 0" in str(raised.value)
    assert next_batch(source_of(builder, {stream_settings.UNSAFE_MAPPING_CONF: "true"}, startingVersion=0))[1] == ["a", "b"]
    assert source.table_id == late.table_id


def test_a_rename_and_back_again_stops_the_stream_where_it_happened():
    builder, _, _ = running(mapped(id="p1", name="p2"), Protocol(2, 5), configuration=MAPPED)
    changed(builder, mapped(id="p1", other="p2"), configuration=MAPPED)
    changed(builder, mapped(id="p1", name="p2"), configuration=MAPPED)
    late = source_of(builder, startingVersion=0)
    end, found = next_batch(late)
    assert found == ["a"]
    assert refused(late, end).version == 1


def test_columns_that_are_added_under_column_mapping_stop_the_stream_once():
    builder, source, at = running(mapped(id="p1"), Protocol(2, 5), configuration=MAPPED)
    changed(builder, mapped(id="p1", name="p2"), configuration=MAPPED)
    assert refused(source, at).retryable
    assert next_batch(source_of(builder), at)[1] == ["b"]


def test_column_mapping_may_be_enabled_while_a_stream_runs():
    builder, source, at = running({"id": "long"})
    changed(builder, mapped(id="id"), configuration=MAPPED)
    assert next_batch(source, at)[1] == ["b"]


def test_column_mapping_that_is_taken_away_stops_the_stream():
    builder, source, at = running(mapped(id="p1"), Protocol(2, 5), configuration=MAPPED)
    changed(builder, {"id": "long"})
    assert refused(source, at).error_class == "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"


def test_a_start_whose_schema_is_gone_is_refused_under_column_mapping():
    builder = table(mapped(id="p1"), protocol=Protocol(2, 5), configuration=MAPPED, actions=[add("a")])
    builder.commit(add("b")).commit(add("c")).checkpoint().delete(file_names.commit_path(0))
    with pytest.raises(VersionNotFoundError) as raised:
        next_batch(source_of(builder, startingVersion=1))
    assert raised.value.error_class == "DELTA_STREAMING_CHECK_COLUMN_MAPPING_NO_SNAPSHOT"


def test_a_wider_type_stops_the_stream_once():
    builder, source, at = running(BASE, WIDENING)
    changed(builder, {**BASE, "id": "long"})
    assert refused(source, at).retryable
    assert next_batch(source_of(builder), at)[1] == ["b"]
    assert next_batch(source_of(builder), place_before(source, 0))[1] == ["a", "b"]


def test_a_wider_type_needs_a_new_checkpoint_where_the_table_or_the_session_does_not_allow_it():
    for protocol, settings in ((None, {}), (WIDENING, {stream_settings.TYPE_CHANGES_CONF: "false"})):
        builder, source, at = running(BASE, protocol, settings)
        changed(builder, {**BASE, "id": "long"})
        assert not refused(source, at).retryable


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BASE, {**BASE, "id": "long"}),
        (
            schema(StructField("s", StructType((StructField("x", "byte"),)))),
            schema(StructField("s", StructType((StructField("x", "short"),)))),
        ),
    ],
)
def test_a_wider_type_needs_schema_tracking_where_the_session_wants_it(before, after):
    builder, source, at = running(before, WIDENING, {stream_settings.TYPE_TRACKING_CONF: "true"})
    changed(builder, after)
    assert refused(source, at).error_class == "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"


def test_the_check_at_the_start_can_be_switched_off():
    builder, source, _ = running(BASE)
    changed(builder.commit(add("c")), {"id": "integer"})
    at = place_before(source, 1)
    assert refused(source_of(builder), at).version == 1
    assert next_batch(source_of(builder, {stream_settings.UNSAFE_START_CONF: "true"}), at)[1] == ["c", "b"]


def test_a_batch_that_was_planned_is_not_read_under_another_schema():
    builder, source, at = running(BASE)
    builder.commit(add("c"))
    end, _ = next_batch(source, at)
    changed(builder, {"id": "string"})
    with pytest.raises(SchemaChangedError):
        source_of(builder).batch(at, end)
