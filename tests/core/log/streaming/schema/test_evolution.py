# SPDX-License-Identifier: Apache-2.0
"""Changes of the schema that a stream follows only where a setting gives leave, and those that it never follows."""

from __future__ import annotations

import pytest
from tests.core.log.streaming.schema.tracked_streams import PATH, RENAMED, change, mapped, tracked

from bayou.errors import SchemaChangedError
from bayou.log.streaming.schema import evolution
from bayou.log.streaming.schema.evolution import java_hash
from bayou.testing.table_builder import add

CHECKPOINT_HASH = java_hash(PATH)
DROPPED = mapped(id="p1")

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
    assert name in str(error)
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
        {evolution.ALLOW_RENAME_CONF: "always"},
        {evolution.ALLOW_RENAME_AND_DROP_CONF: "ALWAYS"},
        {f"{evolution.ALLOW_RENAME_CONF}.ckpt_{CHECKPOINT_HASH}": "always"},
        {f"{evolution.ALLOW_RENAME_AND_DROP_CONF}.ckpt_{CHECKPOINT_HASH}": "1"},
    ],
)
def test_settings_give_leave_for_all_streams_or_for_one(settings):
    builder, query = tracked(settings=settings)
    change(builder, RENAMED)
    assert query.run() == "METADATA_EVOLUTION"
    assert query.run() == ["id", "other"]


@pytest.mark.parametrize("settings", [{evolution.ALLOW_RENAME_CONF: "1"}, {f"{evolution.ALLOW_RENAME_CONF}.ckpt_1": "always"}])
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
