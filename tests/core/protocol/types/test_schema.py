# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.errors import InvalidSchemaError
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.schema import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    parse_schema,
    schema_to_json,
    simple_type,
)
from bayou.protocol.types.traverse import leaves, to_physical

PRIMITIVES = st.sampled_from(["long", "string", "decimal(10,2)", "timestamp_ntz", "variant", "void", "char(3)"])
METADATA = st.dictionaries(st.text(max_size=5), st.one_of(st.integers(), st.text(max_size=5), st.booleans()), max_size=2)


def structs(children: st.SearchStrategy[DataType]) -> st.SearchStrategy[StructType]:
    fields = st.builds(StructField, st.text(max_size=8), children, st.booleans(), METADATA)
    return st.lists(fields, max_size=4).map(lambda found: StructType(tuple(found)))


TYPES = st.recursive(
    PRIMITIVES,
    lambda children: st.one_of(
        structs(children),
        st.builds(ArrayType, children, st.booleans()),
        st.builds(MapType, children, children, st.booleans()),
    ),
    max_leaves=10,
)


@given(structs(TYPES))
def test_a_schema_survives_its_json(schema):
    assert parse_schema(schema_to_json(schema)) == schema


def test_the_json_is_spelled_as_spark_spells_it():
    text = (
        '{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"integer","containsNull":false},'
        '"nullable":true,"metadata":{"k":1}},{"name":"ü","type":{"type":"map","keyType":"string","valueType":"long",'
        '"valueContainsNull":true},"nullable":false,"metadata":{}}]}'
    )
    assert schema_to_json(parse_schema(text)) == text


VECTOR = (
    '{"type":"udt","class":"org.example.Vector","pyClass":"example.Vector","sqlType":{"type":"struct","fields":'
    '[{"name":"size","type":"integer","nullable":false,"metadata":{}}]}}'
)


def test_a_user_defined_type_is_one_column_and_keeps_its_description():
    text = f'{{"type":"struct","fields":[{{"name":"v","type":{VECTOR},"nullable":true,"metadata":{{}}}}]}}'
    schema = parse_schema(text)
    kind = schema.fields[0].type
    assert schema_to_json(schema) == text
    assert [logical for logical, _, _ in leaves(schema)] == [("v",)]
    assert kind.name == "org.example.Vector"
    assert kind.stored == StructType((StructField("size", "integer"),))
    assert type_text(kind) == "struct<size:int>"
    assert simple_type(kind) == "Vector"


def test_a_user_defined_type_without_a_class_is_refused():
    with pytest.raises(InvalidSchemaError, match="class"):
        parse_schema('{"type":"struct","fields":[{"name":"a","type":{"type":"udt","sqlType":"long"},"nullable":true}]}')


@in_one_test(
    "text",
    [
        "",
        "nonsense",
        "null",
        "[]",
        '"long"',
        "{}",
        '{"type":"struct"}',
        '{"type":"struct","fields":[1]}',
        '{"type":"struct","fields":[{"type":"long"}]}',
        '{"type":"struct","fields":[{"name":"a"}]}',
        '{"type":"struct","fields":[{"name":"a","type":{"type":"tensor"}}]}',
        '{"type":"struct","fields":[{"name":"a","type":""}]}',
        '{"type":"struct","fields":[{"name":"a","type":"long","metadata":3}]}',
        "[" * 100_000,
    ],
)
def test_a_broken_schema_is_refused_with_its_own_error(text):
    with pytest.raises(InvalidSchemaError) as caught:
        parse_schema(text)
    assert caught.value.next_step


def test_fields_are_found_without_regard_to_case():
    schema = StructType((StructField("Id", "long"), StructField("name", "string")))
    assert schema.field("ID") is schema.fields[0]
    assert schema.field("other") is None
    assert schema.names == ("Id", "name")


def mapped(name, physical, kind, field_id):
    metadata = {"delta.columnMapping.physicalName": physical, "delta.columnMapping.id": field_id}
    return StructField(name, kind, True, metadata)


def test_of_fields_of_one_name_the_first_is_found():
    assert StructType((StructField("a", "long"), StructField("A", "string"))).field("A").type == "long"


def test_looking_up_every_field_reads_each_name_once():
    class Name(str):
        __slots__ = ()
        reads = 0

        def lower(self):
            Name.reads += 1
            return super().lower()

    schema = StructType(tuple(StructField(Name(f"Column{number}"), "long") for number in range(500)))
    assert [schema.field(f"column{number}").name for number in range(500)] == list(schema.names)
    assert Name.reads == 500


@pytest.mark.parametrize("copied", [lambda each: pickle.loads(pickle.dumps(each)), copy.copy, copy.deepcopy, replace])
def test_a_schema_whose_fields_were_looked_up_is_the_same_value(copied):
    fresh, known = (StructType((StructField("a", "long"), StructField("b", "string"))) for _ in range(2))
    assert known.field("B") is known.fields[1]
    assert (known, hash(known), repr(known)) == (fresh, hash(fresh), repr(fresh))
    made = copied(known)
    assert made == fresh
    assert made.field("b") == fresh.fields[1]
    assert not hasattr(known, "__dict__")


def test_a_schema_with_other_fields_finds_these():
    schema = StructType((StructField("a", "long"),))
    assert schema.field("a") is not None
    changed = replace(schema, fields=(StructField("b", "long"),))
    assert (changed.field("a"), changed.field("b")) == (None, changed.fields[0])


def test_leaves_open_structs_and_count_an_array_or_a_map_once():
    inner = StructType((mapped("x", "col-x", "long", 2), StructField("y", ArrayType("long"))))
    schema = StructType((mapped("s", "col-s", inner, 1), StructField("m", MapType("string", "long"))))
    assert [(logical, physical) for logical, physical, _ in leaves(schema)] == [
        (("s", "x"), ("col-s", "col-x")),
        (("s", "y"), ("col-s", "y")),
        (("m",), ("m",)),
    ]
    assert [found.field_id for _, _, found in leaves(schema)] == [2, None, None]


def test_the_physical_schema_renames_at_every_depth():
    inner = StructType((mapped("x", "col-x", "long", 2),))
    schema = StructType((mapped("a", "col-a", ArrayType(MapType("string", inner)), 1),))
    physical = json.loads(schema_to_json(to_physical(schema)))
    assert physical["fields"][0]["name"] == "col-a"
    assert physical["fields"][0]["type"]["elementType"]["valueType"]["fields"][0]["name"] == "col-x"


@pytest.mark.parametrize(
    "place", ['"{}"', '{{"type":"array","elementType":"{}"}}', '{{"type":"map","keyType":"{}","valueType":"{}"}}']
)
def test_the_collation_that_every_string_has_is_a_plain_string(place):
    schema = '{{"type":"struct","fields":[{{"name":"a","type":{},"nullable":true,"metadata":{{}}}}]}}'
    plain = parse_schema(schema.format(place.format("string", "string")))
    assert parse_schema(schema.format(place.format("string collate UTF8_BINARY", "string collate utf8_binary"))) == plain
    other = parse_schema(schema.format(place.format("string collate UNICODE", "string")))
    assert other != plain
