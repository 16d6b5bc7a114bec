# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.drawing import SLOW

from bayou.errors import InvalidOptionError, InvalidSchemaError
from bayou.protocol.columns.column_mapping import NESTED_IDS, mapped_columns, without_mapping
from bayou.protocol.columns.mapping_rules import (
    ModeChange,
    check_mapping,
    check_plain_names,
    fields_by_path,
    highest_id,
    mode_change,
)
from bayou.protocol.properties import mapping_mode
from bayou.protocol.types.schema import FIELD_ID, PHYSICAL_NAME, ArrayType, MapType, StructField, StructType

MODE = "delta.columnMapping.mode"
MAX = "delta.columnMapping.maxColumnId"
NAME = {MODE: "name"}
POINT = StructType((StructField("x", "long"), StructField("y", "long")))
NESTED = StructType(
    (
        StructField("id", "long", metadata={"comment": "key"}),
        StructField("point", POINT),
        StructField("points", ArrayType(POINT)),
        StructField("by_name", MapType("string", ArrayType(POINT))),
        StructField("last", "string"),
    )
)


def struct(*names, kind="long"):
    return StructType(tuple(StructField(name, kind) for name in names))


def assigned(schema, configuration=NAME, **options):
    counter = itertools.count(1)
    prefix = "later" if MAX in options.get("current_configuration", {}) else "col"
    return mapped_columns(schema, configuration, new_name=lambda: f"{prefix}-{next(counter)}", **options)


def ids(schema):
    return [field.field_id for _, field in fields_by_path(schema)]


def physical(schema):
    return {".".join(path): field.metadata[PHYSICAL_NAME] for path, field in fields_by_path(schema)}


@pytest.mark.parametrize("mode", ["name", "id", "NAME"])
def test_a_new_table_gets_ids_and_physical_names_at_every_depth(mode):
    found = assigned(NESTED, {MODE: mode, "note": "x"})
    assert ids(found.schema) == list(range(1, 12))
    assert list(physical(found.schema).values()) == [f"col-{number}" for number in range(1, 12)]
    assert physical(found.schema)["by_name.value.element.y"] == "col-10"
    assert found.configuration == {MODE: mode, "note": "x", MAX: "11"}
    assert found.schema.fields[0].metadata == {"comment": "key", FIELD_ID: 1, PHYSICAL_NAME: "col-1"}


def test_a_physical_name_of_a_new_column_is_unique_in_the_world():
    name = mapped_columns(struct("a"), NAME).schema.fields[0].physical_name
    assert re.fullmatch(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name)


def test_a_table_without_mapping_stays_as_it_is():
    found = assigned(NESTED, {"note": "x"})
    assert found.schema is NESTED
    assert found.configuration == {"note": "x"}


def test_a_table_that_is_upgraded_keeps_its_names_in_its_files():
    found = assigned(NESTED, NAME, current=NESTED, current_configuration={})
    assert ids(found.schema) == list(range(1, 12))
    assert physical(found.schema)["points.element.y"] == "y"
    assert physical(found.schema)["by_name"] == "by_name"


def test_an_upgrade_takes_the_spelling_of_the_files():
    found = assigned(struct("ID"), NAME, current=struct("id"), current_configuration={})
    assert found.schema.fields[0].physical_name == "id"


def test_an_upgrade_ignores_what_is_left_of_an_earlier_mapping():
    left = StructType((StructField("a", "long", metadata={FIELD_ID: 7, PHYSICAL_NAME: "col-old"}),))
    found = assigned(left, NAME, current=left, current_configuration={MAX: "7"})
    assert (found.schema.fields[0].field_id, found.schema.fields[0].physical_name) == (8, "a")


def test_an_upgrade_adds_no_columns():
    with pytest.raises(InvalidSchemaError) as caught:
        assigned(struct("a", "b"), NAME, current=struct("a"), current_configuration={}, table="t", version=4)
    assert caught.value.error_class == "DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE"
    assert ": b" in str(caught.value)
    assert (caught.value.table, caught.value.version) == ("t", 4)


def test_an_upgrade_of_a_table_without_columns_may_add_some():
    found = assigned(struct("a"), NAME, current=StructType(), current_configuration={})
    assert physical(found.schema) == {"a": "col-1"}


def mapped(*names, **options):
    found = assigned(struct(*names), NAME, **options)
    return found.schema, found.configuration


def test_an_added_column_gets_the_next_id_and_the_others_keep_theirs():
    schema, configuration = mapped("a", "b")
    wider = StructType((*schema.fields, StructField("c", POINT)))
    found = assigned(wider, configuration, current=schema, current_configuration=configuration)
    assert found.schema.fields[:2] == schema.fields
    assert ids(found.schema) == [1, 2, 3, 4, 5]
    assert found.configuration[MAX] == "5"


def test_an_id_is_not_used_again_after_its_column_is_dropped():
    schema, configuration = mapped("a", "b")
    fewer = StructType(schema.fields[:1])
    dropped = assigned(fewer, configuration, current=schema, current_configuration=configuration)
    assert dropped.configuration[MAX] == "2"
    again = StructType((*dropped.schema.fields, StructField("b", "long")))
    found = assigned(again, dropped.configuration, current=dropped.schema, current_configuration=dropped.configuration)
    assert ids(found.schema) == [1, 3]


def test_a_column_that_comes_without_its_ids_is_the_one_of_its_name():
    schema, configuration = mapped("a", "b")
    found = assigned(struct("B", "a"), configuration, current=schema, current_configuration=configuration)
    assert physical(found.schema) == {"b": "col-2", "a": "col-1"}


def test_a_new_column_under_the_name_of_a_renamed_one_is_new():
    schema, configuration = mapped("a")
    renamed = StructType((StructField("b", "long", metadata=schema.fields[0].metadata), StructField("a", "long")))
    found = assigned(renamed, configuration, current=schema, current_configuration=configuration)
    assert ids(found.schema) == [1, 2]


def test_a_replaced_table_reuses_the_columns_that_fit():
    old = assigned(StructType((*struct("a", "b").fields, StructField("s", POINT))), NAME)
    new = StructType((StructField("B", "long"), StructField("a", "string"), StructField("s", StructType(POINT.fields[:1]))))
    found = assigned(new, NAME, current=old.schema, current_configuration=old.configuration, replacing=True)
    assert ids(found.schema) == [2, 6, 7, 4]
    assert found.configuration[MAX] == "7"


@pytest.mark.parametrize(
    ("known", "given", "fits"),
    [
        (ArrayType("long", contains_null=False), ArrayType("long"), True),
        (ArrayType("long"), ArrayType("long", contains_null=False), False),
        (MapType("string", "long"), MapType("string", "integer"), False),
        (StructType((StructField("x", "long", nullable=False),)), struct("x"), True),
        (struct("x"), StructType((StructField("x", "long", nullable=False),)), False),
        (struct("x"), struct("z"), False),
    ],
)
def test_a_replaced_column_fits_where_old_values_would_be_its_values(known, given, fits):
    old = assigned(StructType((StructField("a", known),)), NAME)
    new = StructType((StructField("a", given),))
    found = assigned(new, NAME, current=old.schema, current_configuration=old.configuration, replacing=True)
    assert (found.schema.fields[0].field_id == 1) is fits


def test_a_table_may_be_replaced_by_one_of_another_mode():
    found = assigned(struct("a", "b"), {MODE: "id"}, current=struct("a"), current_configuration={}, replacing=True)
    assert physical(found.schema) == {"a": "col-1", "b": "col-2"}


def test_removing_the_mapping_leaves_the_rest_of_a_fields_metadata():
    schema = assigned(NESTED).schema
    noted = StructType((StructField("a", "long", metadata={NESTED_IDS: {"a.element": 3}, "comment": "x"}), *schema.fields))
    bare = without_mapping(noted)
    assert bare.fields[1:] == NESTED.fields
    assert bare.fields[0].metadata == {"comment": "x"}


CHANGES = {
    ("none", "none"): ModeChange.NONE,
    ("name", "NAME"): ModeChange.NONE,
    ("none", "name"): ModeChange.UPGRADE,
    ("name", "none"): ModeChange.REMOVAL,
    ("id", "none"): ModeChange.REMOVAL,
}


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_mode_can_be_changed_where_files_can_follow(before, after):
    assert mode_change({MODE: before}, {MODE: after}, table="t") is CHANGES[before, after]
    assert mode_change({}, {}, table="t") is ModeChange.NONE


@pytest.mark.parametrize(("before", "after"), [("none", "id"), ("name", "id"), ("id", "name")])
def test_other_changes_of_mode_are_refused(before, after):
    with pytest.raises(InvalidOptionError) as caught:
        mode_change({MODE: before}, {MODE: after}, table="t", version=2)
    assert caught.value.error_class == "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"
    assert caught.value.sql_state == "0AKDC"
    assert all(repr(mode) in str(caught.value) for mode in (before, after))


def test_removing_the_mapping_can_be_forbidden():
    with pytest.raises(InvalidOptionError):
        mode_change(NAME, {}, table="t", allow_removal=False)


def test_an_unknown_mode_is_refused():
    with pytest.raises(InvalidOptionError):
        mapping_mode({MODE: "both"})


def field(name, identifier, physical_name, kind="long"):
    return StructField(name, kind, metadata={FIELD_ID: identifier, PHYSICAL_NAME: physical_name})


TWINS = StructType((field("x", 2, "q"), field("y", 3, "q")))


@pytest.mark.parametrize(
    ("fields", "highest", "fragment"),
    [
        ([field("a", 1, "x"), field("b", 1, "y")], "2", "id 1"),
        ([field("a", 1, "x"), field("b", 2, "x")], "2", "physical name x"),
        ([StructField("a", "long", metadata={PHYSICAL_NAME: "x"})], "2", r"\bid\b"),
        ([StructField("a", "long", metadata={FIELD_ID: 1})], "2", "physical name"),
        ([field("m", 1, "p", MapType("string", struct("x")))], "2", r"the column m\.value\.x has no id"),
        ([field("m", 1, "p", MapType(struct("x"), "string"))], "2", r"the column m\.key\.x has no id"),
        ([field("a", 1, "p", ArrayType(struct("x")))], "2", r"the column a\.element\.x has no id"),
        ([field("m", 1, "p", MapType("string", TWINS))], "3", r"m\.value\.x and m\.value\.y share the physical name p\.value\.q"),
        ([field("a", 3, "x")], "2", "id 3"),
        ([field("a", 3, "x")], None, "maxColumnId"),
    ],
)
def test_ids_and_names_that_mix_up_columns_are_found(fields, highest, fragment):
    configuration = NAME if highest is None else {**NAME, MAX: highest}
    with pytest.raises(InvalidSchemaError, match=fragment):
        check_mapping(StructType(tuple(fields)), configuration, table="t")
    check_mapping(StructType(tuple(fields)), {}, table="t")


def test_one_physical_name_in_two_structs_is_no_twin():
    inner = StructType((field("v", 3, "v"),)), StructType((field("v", 4, "v"),))
    check_mapping(StructType((field("a", 1, "a", inner[0]), field("b", 2, "b", inner[1]))), {**NAME, MAX: "4"}, table="t")


def test_names_that_need_the_mapping_keep_it():
    with pytest.raises(InvalidSchemaError) as caught:
        check_plain_names(StructType((StructField("ok", struct("Has Space")),)), table="t")
    assert caught.value.columns == ("Has Space",)
    assert caught.value.error_class == "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING"
    check_plain_names(NESTED, table="t")


def schemas(depth=2):
    kinds = st.sampled_from(["long", "string"])
    if depth:
        inner = schemas(depth - 1)
        kinds = st.one_of(kinds, inner, inner.map(ArrayType), inner.map(lambda each: MapType("string", each)))
    names = st.lists(st.sampled_from("abcdeABC"), min_size=1, max_size=4, unique_by=str.lower)
    return names.flatmap(
        lambda chosen: st.tuples(*(st.builds(StructField, st.just(each), kinds) for each in chosen)).map(StructType)
    )


@SLOW
@given(st.lists(schemas(), min_size=1, max_size=4), st.booleans())
def test_ids_are_unique_and_monotone_and_given_once(history, replacing):
    schema, configuration, seen = StructType(), dict(NAME), 0
    for wanted in history:
        options = {"current": schema, "current_configuration": configuration, "replacing": replacing}
        found = mapped_columns(wanted, configuration, **options)
        assert len(set(ids(found.schema))) == len(ids(found.schema))
        assert int(found.configuration[MAX]) >= max(seen, highest_id(found.schema))
        fresh = set(ids(found.schema)) - set(ids(schema))
        assert all(identifier > seen for identifier in fresh)
        assert without_mapping(found.schema) == wanted
        assert mapped_columns(found.schema, found.configuration, **options) == found
        schema, configuration, seen = found.schema, found.configuration, int(found.configuration[MAX])


@SLOW
@given(schemas())
def test_an_upgrade_is_done_once(schema):
    found = mapped_columns(schema, NAME, current=schema, current_configuration={})
    assert all(name.rpartition(".")[2] == value.lower() for name, value in physical(found.schema).items())
    assert mapped_columns(found.schema, found.configuration, current=schema, current_configuration={}) == found
