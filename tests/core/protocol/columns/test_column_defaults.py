# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import InvalidSchemaError, UnsupportedFeatureError
from bayou.log.operations.create import first_actions
from bayou.protocol.columns.column_defaults import check_allowed, check_no_nested_defaults, defaults, with_default
from bayou.protocol.features.protocol_rules import supported_features
from bayou.protocol.types.paths import TableRules
from bayou.protocol.types.schema import ArrayType, StructField, StructType, parse_schema

RULES = TableRules("t", 3)
IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}


def field(name, kind="long", **metadata):
    return StructField(name, kind, True, {key.replace("__", "."): value for key, value in metadata.items()})


SCHEMA = StructType(
    (
        field("a", comment="kept"),
        field("s", StructType((field("x"),))),
        StructField("i", "long", True, IDENTITY),
        field("g", delta__generationExpression="a + 1"),
        field("d", CURRENT_DEFAULT="1", EXISTS_DEFAULT="1"),
    )
)


def test_a_default_is_set_changed_and_taken_away_beside_the_other_metadata():
    changed = with_default(SCHEMA, ("A",), "1 + 1", RULES)
    assert changed.field("a").metadata == {"comment": "kept", "CURRENT_DEFAULT": "1 + 1"}
    assert changed.fields[1:] == SCHEMA.fields[1:]
    assert with_default(changed, ("a",), "2", RULES).field("a").metadata["CURRENT_DEFAULT"] == "2"
    assert with_default(changed, ("a",), None, RULES) == SCHEMA
    assert with_default(SCHEMA, ("d",), None, RULES).field("d").metadata == {}
    assert [(each.name, text) for each, text in defaults(changed)] == [("a", "1 + 1"), ("d", "1")]


@pytest.mark.parametrize(
    ("path", "error_class"),
    [
        (("no",), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        (("s", "no"), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        (("s", "x"), "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"),
        (("i",), "DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED"),
        (("g",), "GENERATED_COLUMN_WITH_DEFAULT_VALUE"),
    ],
)
def test_what_can_have_no_default_gets_none(path, error_class):
    with pytest.raises(InvalidSchemaError) as caught:
        with_default(SCHEMA, path, "1", RULES)
    assert (caught.value.error_class, caught.value.table, caught.value.version) == (error_class, "t", 3)


def test_a_generated_column_without_a_default_may_be_told_to_have_none():
    assert with_default(SCHEMA, ("g",), None, RULES) == SCHEMA


def test_defaults_need_the_feature_at_every_depth():
    nested = StructType((field("l", ArrayType(StructType((field("x", CURRENT_DEFAULT="1"),)))),))
    for schema, column in ((SCHEMA, "d"), (nested, "l.element.x")):
        with pytest.raises(UnsupportedFeatureError) as caught:
            check_allowed(schema, ("invariants",), "ALTER TABLE", table="t", version=3)
        error = caught.value
        assert (error.error_class, error.sql_state) == ("WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED", "0AKDE")
        assert column in error.message
        assert error.features == ("allowColumnDefaults",)
        check_allowed(schema, ("allowColumnDefaults",), "ALTER TABLE", table="t")


def test_only_a_column_has_a_default_and_no_field_in_one():
    fields = StructType((field("x", CURRENT_DEFAULT="1"),))
    check_no_nested_defaults(SCHEMA, RULES)
    for kind, column in ((fields, "c.x"), (ArrayType(fields), "c.element.x")):
        with pytest.raises(InvalidSchemaError) as caught:
            check_no_nested_defaults(StructType((field("c", kind),)), RULES)
        assert caught.value.column == column


def test_a_new_table_with_defaults_has_to_name_the_feature():
    schema = StructType((field("d", CURRENT_DEFAULT="1"),))
    with pytest.raises(UnsupportedFeatureError) as caught:
        first_actions(schema, (), {}, table="t")
    assert caught.value.error_class == "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED"
    made = first_actions(schema, (), {"delta.feature.allowColumnDefaults": "supported"}, table="t")
    assert "allowColumnDefaults" in supported_features(made.protocol)
    assert parse_schema(made.metadata.schema_string) == schema
    by_argument = first_actions(schema, (), {}, table="t", features=(name for name in ["allowColumnDefaults"]))
    assert by_argument.protocol == made.protocol
