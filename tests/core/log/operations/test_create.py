# SPDX-License-Identifier: Apache-2.0
"""What a table begins with, where it takes the place of another one."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError
from bayou.log.operations.create import first_actions
from bayou.protocol.types.schema import StructField, StructType, parse_schema

NUMBERS = StructType((StructField("id", "long"),))
ROW_ID = "delta.rowTracking.materializedRowIdColumnName"


def replaced_by(before, schema=NUMBERS, **properties):
    named = {key.replace("__", "."): value for key, value in properties.items()}
    return first_actions(schema, (), named, table="t", replaced=before.metadata)


def test_a_replaced_table_leaves_its_layout_and_nothing_else():
    kept = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true", "delta.checkpointPolicy": "v2"}
    before = first_actions(NUMBERS, (), {**kept, "delta.appendOnly": "true", "note": "x"}, table="t")
    after = replaced_by(before)
    assert {key: after.metadata.configuration.get(key) for key in kept} == kept
    assert after.metadata.configuration[ROW_ID] == before.metadata.configuration[ROW_ID]
    assert not {"delta.appendOnly", "note"} & set(after.metadata.configuration)
    assert {"deletionVectors", "rowTracking", "v2Checkpoint"} <= set(after.protocol.writer_features)
    said = replaced_by(before, delta__enableRowTracking="false")
    assert said.metadata.configuration["delta.enableRowTracking"] == "false"


def test_what_it_leaves_is_checked_with_what_the_new_one_asks_for():
    before = first_actions(NUMBERS, (), {"delta.enableRowTracking": "true"}, table="t")
    with pytest.raises(InvalidOptionError) as caught:
        replaced_by(before, delta__rowTrackingSuspended="true")
    assert caught.value.error_class == "DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION"


def test_a_column_of_the_new_one_may_have_the_name_of_a_hidden_one():
    before = first_actions(NUMBERS, (), {"delta.enableRowTracking": "true"}, table="t")
    name = before.metadata.configuration[ROW_ID]
    after = replaced_by(before, StructType((StructField("id", "long"), StructField(name, "long"))))
    assert parse_schema(after.metadata.schema_string).names == ("id", name)
    assert after.metadata.configuration[ROW_ID] != name
