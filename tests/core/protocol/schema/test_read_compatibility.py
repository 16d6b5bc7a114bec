# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.protocol.actions.actions import Metadata
from bayou.protocol.schema.read_compatibility import column_mapping_mode, is_read_compatible, keeps_columns
from bayou.protocol.types.schema import FIELD_ID, PHYSICAL_NAME, ArrayType, MapType, StructField, StructType, schema_to_json

LONG = StructField("a", "long")
TEXT = StructField("b", "string")


def struct(*fields):
    return StructType(fields)


def nested(kind):
    return [
        struct(StructField("n", kind)),
        struct(StructField("n", ArrayType(kind))),
        struct(StructField("n", MapType("string", kind))),
        struct(StructField("n", MapType(kind, "string"))),
    ]


TYPES = st.recursive(
    st.sampled_from(["long", "string", "decimal(4,2)"]),
    lambda inner: st.one_of(
        st.builds(ArrayType, inner, st.booleans()),
        st.builds(MapType, inner, inner, st.booleans()),
        st.builds(lambda kind, nullable: struct(StructField("x", kind, nullable)), inner, st.booleans()),
    ),
    max_leaves=4,
)


@given(TYPES)
def test_a_schema_can_be_read_under_itself_and_under_one_with_more_columns(kind):
    schema = struct(StructField("n", kind))
    assert is_read_compatible(schema, schema)
    assert is_read_compatible(schema, struct(*schema.fields, TEXT))
    assert not is_read_compatible(struct(*schema.fields, TEXT), schema)


@pytest.mark.parametrize("place", range(4))
def test_a_type_may_not_change_at_any_depth(place):
    assert not is_read_compatible(nested("integer")[place], nested("long")[place])
    assert not is_read_compatible(nested(struct(LONG, TEXT))[place], nested(struct(LONG))[place])
    assert is_read_compatible(nested(struct(LONG))[place], nested(struct(LONG, TEXT))[place])


@pytest.mark.parametrize(
    ("loose", "tight"),
    [
        (struct(LONG), struct(replace(LONG, nullable=False))),
        (struct(StructField("n", ArrayType("long"))), struct(StructField("n", ArrayType("long", contains_null=False)))),
        (
            struct(StructField("n", MapType("long", "long"))),
            struct(StructField("n", MapType("long", "long", value_contains_null=False))),
        ),
    ],
)
def test_what_held_nulls_cannot_be_read_as_what_holds_none(loose, tight):
    assert not is_read_compatible(loose, tight)
    assert is_read_compatible(tight, loose)


def test_a_name_that_changes_its_case_is_another_name():
    assert not is_read_compatible(struct(LONG), struct(replace(LONG, name="A")))


def mapped(name, physical):
    return StructField(name, "long", metadata={PHYSICAL_NAME: physical, FIELD_ID: 1})


def metadata(*fields, mode="name", partition_by=()):
    configuration = {"delta.columnMapping.mode": mode} if mode else {}
    return Metadata(
        id="m", schema_string=schema_to_json(struct(*fields)), partition_columns=partition_by, configuration=configuration
    )


def test_a_column_that_is_added_leaves_the_others_as_they_were():
    assert keeps_columns(metadata(mapped("a", "p1")), metadata(mapped("a", "p1"), mapped("b", "p2")))


@pytest.mark.parametrize(
    "later",
    [
        metadata(mapped("b", "p1")),
        metadata(mapped("b", "p2")),
        metadata(mapped("a", "p2")),
        metadata(mapped("a", "p1"), mode="id"),
        metadata(mapped("a", "p1"), mode=None),
        metadata(mapped("a", "p1"), partition_by=("a",)),
    ],
    ids=["renamed", "dropped", "made anew", "another mode", "no mode", "partitioned"],
)
def test_a_column_that_was_renamed_dropped_or_mapped_otherwise_is_seen(later):
    assert not keeps_columns(metadata(mapped("a", "p1")), later)


def test_fields_in_structs_arrays_and_maps_are_looked_at():
    for kind, other in zip(nested(struct(mapped("a", "p1"))), nested(struct(mapped("b", "p1"))), strict=True):
        assert keeps_columns(metadata(*kind.fields), metadata(*kind.fields))
        assert not keeps_columns(metadata(*kind.fields), metadata(*other.fields))


def test_a_table_may_be_given_column_mapping():
    before = metadata(LONG, mode=None)
    assert keeps_columns(before, metadata(mapped("a", "a")))
    assert not keeps_columns(before, metadata(mapped("b", "a")))


def test_without_column_mapping_only_the_partition_columns_count():
    assert keeps_columns(metadata(LONG, mode=None), metadata(TEXT, mode="none"))
    assert not keeps_columns(metadata(LONG, mode=None), metadata(LONG, mode=None, partition_by=("a",)))


@pytest.mark.parametrize(("mode", "read"), [(None, "none"), ("Name", "name"), ("", "none")])
def test_the_mode_is_read_without_regard_to_case(mode, read):
    assert column_mapping_mode(metadata(LONG, mode=mode)) == read
