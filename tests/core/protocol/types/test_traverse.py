# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, UserDefinedType
from bayou.protocol.types.traverse import (
    all_fields,
    as_nullable,
    innermost,
    map_fields,
    map_leaves,
    parts,
    same_form,
    twins,
    walk,
    with_parts,
)

OWN = UserDefinedType("com.acme.Vector", ArrayType("double"), "{}")
TYPES = st.recursive(
    st.sampled_from(["long", "string", OWN]),
    lambda inner: st.one_of(
        st.builds(ArrayType, inner, st.booleans()),
        st.builds(MapType, inner, inner, st.booleans()),
        st.lists(st.builds(StructField, st.sampled_from("aBc"), inner, st.booleans()), max_size=3).map(
            lambda fields: StructType(tuple(fields))
        ),
    ),
    max_leaves=6,
)
FIELD = StructField("x", "long", nullable=False)
DEEP = StructType(
    (
        StructField("a", ArrayType(StructType((FIELD,)), contains_null=False)),
        StructField("m", MapType("string", StructType((FIELD,)), value_contains_null=False)),
        StructField("own", OWN),
    )
)


@given(TYPES)
def test_a_type_is_what_its_parts_make_of_it(kind):
    assert with_parts(kind, parts(kind)) == kind
    assert map_fields(kind, lambda each: each) == kind
    assert map_leaves(kind, lambda each: each) == kind


@given(TYPES)
def test_a_walk_meets_every_type_inside_and_every_field(kind):
    inside = [each for _, each in walk(kind)]
    assert inside[0] is kind
    assert len(inside) == 1 + sum(len(parts(each)) for each in inside)
    fields = [field for each in inside if isinstance(each, StructType) for field in each.fields]
    assert sorted(map(repr, fields)) == sorted(repr(field) for _, _, field in all_fields(kind))


def test_paths_name_what_collections_hold():
    assert [".".join(path) for path, _ in walk(DEEP)] == [
        *("", "a", "a.element", "a.element.x", "m", "m.key", "m.value", "m.value.x", "own")
    ]
    assert [".".join(path) for path, _, _ in all_fields(DEEP)] == ["a", "a.element.x", "m", "m.value.x", "own"]
    assert list(innermost(DEEP)) == ["long", "string", "long", OWN]


def test_a_change_reaches_every_depth_and_the_nulls_of_collections():
    assert as_nullable(DEEP) == StructType(
        (
            StructField("a", ArrayType(StructType((StructField("x", "long"),)))),
            StructField("m", MapType("string", StructType((StructField("x", "long"),)))),
            StructField("own", OWN),
        )
    )


def test_twins_are_parts_of_one_name_in_types_of_one_form():
    other = StructType((StructField("A", "long"),))
    assert list(twins(StructType((StructField("a", "string"), FIELD)), other)) == [
        (StructField("a", "string"), StructField("A", "long")),
        (FIELD, None),
    ]
    element = StructField("element", "string")
    assert list(twins(ArrayType("string"), ArrayType("long"))) == [(element, StructField("element", "long"))]
    assert list(twins(ArrayType("string"), StructType((element,)))) == [(element, None)]
    assert list(twins("string", "long")) == []


@given(TYPES, TYPES)
def test_only_structs_arrays_and_maps_have_a_form(one, other):
    nested = isinstance(one, StructType | ArrayType | MapType)
    assert same_form(one, other) == (nested and type(one) is type(other))
