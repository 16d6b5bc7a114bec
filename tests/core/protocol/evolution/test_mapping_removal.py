# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from bayou.protocol.actions.actions import Metadata
from bayou.protocol.columns.column_mapping import mapped_columns
from bayou.protocol.evolution.mapping_removal import is_mapped, why_files_need_rewriting, without_column_mapping
from bayou.protocol.evolution.schema_changes import drop_columns, rename_column
from bayou.protocol.types.paths import TableRules
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, parse_schema, schema_to_json

INNER = StructType((StructField("x", "long"), StructField("y", "string")))
PLAIN = StructType(
    (
        StructField("a", "long", True, {"comment": "c"}),
        StructField("s", MapType("string", ArrayType(INNER))),
        StructField("b", "date"),
    )
)
RULES = TableRules("t", 1, column_mapping=True)


def metadata(schema, configuration):
    return Metadata("i", schema_to_json(schema), configuration=dict(configuration))


@pytest.fixture
def upgraded():
    mapped = mapped_columns(PLAIN, {"delta.columnMapping.mode": "name", "mine": "1"}, current=PLAIN, current_configuration={})
    return metadata(mapped.schema, mapped.configuration)


def changed(before, schema):
    return replace(before, schema_string=schema_to_json(schema))


def test_a_table_that_was_upgraded_gives_it_up_as_it_came(upgraded):
    assert is_mapped(upgraded)
    assert why_files_need_rewriting(upgraded) == ""
    found = without_column_mapping(upgraded, keep_mode=False)
    assert parse_schema(found.schema_string) == PLAIN
    assert found.configuration == {"mine": "1"}
    assert not is_mapped(found)
    assert without_column_mapping(upgraded, keep_mode=True).configuration == {"mine": "1", "delta.columnMapping.mode": "none"}


def test_a_table_with_columns_renamed_or_dropped_does_not(upgraded):
    schema = parse_schema(upgraded.schema_string)
    renamed = rename_column(schema, ("s", "value", "element", "x"), "z", RULES)
    assert "'z'" in why_files_need_rewriting(changed(upgraded, renamed))
    back = rename_column(renamed, ("s", "value", "element", "z"), "x", RULES)
    assert why_files_need_rewriting(changed(upgraded, back)) == ""
    dropped = drop_columns(schema, [("b",)], RULES)
    assert "dropped" in why_files_need_rewriting(changed(upgraded, dropped))


def test_a_table_that_was_made_with_it_does_not():
    mapped = mapped_columns(PLAIN, {"delta.columnMapping.mode": "id"})
    why = why_files_need_rewriting(metadata(mapped.schema, mapped.configuration))
    assert why.startswith("its files have other names for 'a', 's', 'x' and 2 more")


def test_what_is_left_over_in_a_table_without_a_mode_is_no_obstacle():
    mapped = mapped_columns(PLAIN, {"delta.columnMapping.mode": "id"})
    left_over = metadata(mapped.schema, {})
    assert is_mapped(left_over)
    assert why_files_need_rewriting(left_over) == ""
    assert not is_mapped(metadata(PLAIN, {}))
