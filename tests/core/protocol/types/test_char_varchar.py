# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.errors import InvalidSchemaError
from bayou.protocol.schema.validity import walk
from bayou.protocol.types.char_varchar import (
    DECLARED_TYPE,
    bounded_length,
    from_stored,
    parse_type_text,
    to_stored,
    type_text,
    type_with_chars,
)
from bayou.protocol.types.schema import ArrayType, DataType, MapType, StructField, StructType

LENGTHS = st.integers(0, 10**6)
PRIMITIVES = st.one_of(
    st.sampled_from(["byte", "short", "integer", "long", "string", "decimal(10,2)", "timestamp_ntz", "variant", "void"]),
    LENGTHS.map("char({})".format),
    LENGTHS.map("varchar({})".format),
)
NAMES = st.one_of(st.sampled_from(["a", "b1", "_c", "`", "a.b", "x:y", "s<", ",", " ", ""]), st.text(max_size=6))
METADATA = st.dictionaries(st.sampled_from(["comment", "delta.columnMapping.id"]), st.integers(), max_size=2)


def structs(children: st.SearchStrategy[DataType], **metadata) -> st.SearchStrategy[StructType]:
    fields = st.builds(StructField, NAMES, children, st.booleans(), **metadata)
    distinct = st.lists(fields, max_size=4, unique_by=lambda field: field.name.lower())
    return distinct.map(lambda found: StructType(tuple(found)))


def types(**metadata) -> st.SearchStrategy[DataType]:
    return st.recursive(
        PRIMITIVES,
        lambda children: st.one_of(
            structs(children, **metadata),
            st.builds(ArrayType, children, st.booleans()),
            st.builds(MapType, children, children, st.booleans()),
        ),
        max_leaves=8,
    )


SCHEMAS = structs(types(metadata=METADATA), metadata=METADATA)
NULLABLE = st.recursive(
    PRIMITIVES,
    lambda children: st.one_of(
        st.lists(st.builds(StructField, NAMES, children), max_size=4).map(lambda found: StructType(tuple(found))),
        st.builds(ArrayType, children),
        st.builds(MapType, children, children),
    ),
    max_leaves=8,
)


@given(SCHEMAS)
def test_a_declared_schema_survives_the_log(schema):
    assert from_stored(to_stored(schema)) == schema


@given(SCHEMAS)
def test_storing_again_what_was_read_changes_nothing_down_to_the_metadata(schema):
    stored = to_stored(schema)
    again = to_stored(from_stored(stored))
    assert again == stored
    assert [field.metadata for field in again.fields] == [field.metadata for field in stored.fields]


@given(SCHEMAS)
def test_the_log_holds_no_char_or_varchar(schema):
    assert all(bounded_length(kind) is None for _, kind in walk(to_stored(schema)))


@given(NULLABLE)
def test_a_type_survives_its_text(kind):
    assert parse_type_text(type_text(kind)) == kind


def field(name, kind, **metadata):
    return StructField(name, kind, metadata=metadata)


def test_the_text_is_spelled_as_spark_spells_it():
    inner = StructType((field("a", "char(3)"), field("b", MapType("long", ArrayType("varchar(9)"))), field("c", "decimal(5,2)")))
    (stored,) = to_stored(StructType((field("s", inner, comment="x"),))).fields
    assert stored.metadata == {
        "comment": "x",
        DECLARED_TYPE: "struct<a:char(3),b:map<bigint,array<varchar(9)>>,c:decimal(5,2)>",
    }
    assert [each.type for each in stored.type.fields] == ["string", MapType("long", ArrayType("string")), "decimal(5,2)"]


def test_names_that_spark_leaves_unquoted_are_read():
    assert parse_type_text("ARRAY<BIGINT>") == ArrayType("long")
    assert parse_type_text("struct<a b:int, c.d : CHAR( 4 )>") == StructType((field("a b", "integer"), field("c.d", "char(4)")))


def test_a_column_without_lengths_keeps_its_metadata_as_it_is():
    schema = StructType((field("a", "string", comment="x"), field("s", StructType((field("x", "long"),)))))
    assert to_stored(schema) == schema
    assert to_stored(schema).fields[0].metadata == {"comment": "x"}


def test_a_nested_field_can_have_a_text_of_its_own():
    nested = field("x", "string", **{DECLARED_TYPE: "varchar(4)"})
    outer = field("s", StructType((nested, field("y", "string"))), **{DECLARED_TYPE: "struct<x:string,y:char(2)>"})
    (declared,) = from_stored(StructType((outer,))).fields
    assert [each.type for each in declared.type.fields] == ["varchar(4)", "char(2)"]
    assert not declared.metadata
    assert not declared.type.fields[0].metadata


def test_a_text_about_fields_that_are_gone_is_passed_over_and_nullability_stays():
    nested = StructType((StructField("Y", "string", nullable=False), field("z", "long")))
    outer = StructField("s", nested, nullable=False, metadata={DECLARED_TYPE: "struct<x:char(3),y:char(2),z:char(1)>"})
    (declared,) = from_stored(StructType((outer,))).fields
    assert declared == StructField(
        "s", StructType((StructField("Y", "char(2)", nullable=False), field("z", "long"))), nullable=False
    )


@in_one_test(
    "text",
    [
        "",
        " ",
        "struct<",
        "struct<a>",
        "struct<a:>",
        "struct<a:int",
        "array<>",
        "array<int",
        "map<int>",
        "int>",
        "char(3",
        "a<b>",
        5,
    ],
)
def test_a_text_that_is_no_type_is_refused(text):
    with pytest.raises(InvalidSchemaError) as caught:
        from_stored(StructType((field("a", "string", **{DECLARED_TYPE: text}),)))
    assert DECLARED_TYPE in str(caught.value)
    assert caught.value.next_step


_INNER = StructType((StructField("a", "string"), StructField("new", "long"), StructField("b c", "string")))


@pytest.mark.parametrize(
    ("stored", "declared", "expected"),
    [
        ("string", "char(5)", "char(5)"),
        ("string", "varchar(5)", None),
        ("string", None, None),
        (_INNER, "struct<b c:varchar(3),a:char(5)>", "struct<a:char(5),new:bigint,`b c`:varchar(3)>"),
        (_INNER, "struct<a:varchar(5)>", None),
        (MapType("string", ArrayType("string")), "map<char(2),array<char(3)>>", "map<char(2),array<char(3)>>"),
    ],
)
def test_only_a_column_with_a_char_in_it_has_values_to_be_padded_and_its_type_has_the_order_of_the_stored_one(
    stored, declared, expected
):
    field = StructField("c", stored, metadata={} if declared is None else {DECLARED_TYPE: declared})
    assert type_with_chars(field) == expected
