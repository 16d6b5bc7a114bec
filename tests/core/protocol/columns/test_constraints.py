# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import InvalidSchemaError, UnsupportedFeatureError
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.columns.constraints import (
    LENGTH_CHECK_NAME,
    ConstraintKind,
    add_constraint,
    constraint_key,
    constraints_of,
    drop_constraint,
)
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, schema_to_json


def constraints(*fields, provided=(), **configuration):
    schema = StructType(fields)
    return constraints_of(Metadata("id", schema_to_json(schema), configuration=configuration), schema, provided=provided)


def invariant(expression):
    return {"delta.invariants": json.dumps({"expression": {"expression": expression}})}


def texts(found):
    return [(each.kind.name, each.expression) for each in found]


def test_a_plain_table_has_no_constraints():
    assert constraints(StructField("id", "long"), StructField("s", StructType((StructField("x", "long"),)))) == ()


def test_check_constraints_come_from_the_configuration_whatever_the_case_of_the_prefix():
    found = constraints(StructField("id", "long"), **{"delta.constraints.a": "id > 0", "Delta.Constraints.b": "id < 9", "k": "v"})
    assert [(each.name, each.kind, each.column, each.expression) for each in found] == [
        ("a", ConstraintKind.CHECK, (), "id > 0"),
        ("b", ConstraintKind.CHECK, (), "id < 9"),
    ]


def test_not_null_holds_for_columns_and_for_fields_of_structs():
    inner = StructType((StructField("b`c", "long", nullable=False), StructField("d", "long")))
    found = constraints(StructField("a", inner), StructField("id", "long", nullable=False))
    assert [(each.column, each.expression) for each in found] == [
        (("a", "b`c"), "`a`.`b``c` IS NOT NULL"),
        (("id",), "`id` IS NOT NULL"),
    ]
    assert {each.kind for each in found} == {ConstraintKind.NOT_NULL}


def test_not_null_inside_arrays_and_maps_is_no_constraint():
    inner = StructType((StructField("x", "long", nullable=False),))
    for kind in (ArrayType(inner), MapType("string", inner), MapType(inner, "string"), ArrayType(ArrayType(inner))):
        field = StructField("s", StructType((StructField("a", kind),)))
        assert constraints(field) == ()


def test_an_invariant_is_the_expression_in_the_metadata_of_a_field():
    inner = StructType((StructField("x", "long", metadata=invariant("s.x > 3")),))
    found = constraints(StructField("id", "long", metadata=invariant("id > 0")), StructField("s", inner))
    assert [(each.name, each.column, each.expression) for each in found] == [
        ("EXPRESSION(id > 0)", ("id",), "id > 0"),
        ("EXPRESSION(s.x > 3)", ("s", "x"), "s.x > 3"),
    ]


@pytest.mark.parametrize("text", ["", "nonsense", "{}", "[]", "null", '{"expression":null}', '{"expression":{"expression":3}}', 3])
def test_an_invariant_that_is_not_understood_is_refused(text):
    with pytest.raises(UnsupportedFeatureError) as caught:
        constraints(StructField("id", "long", metadata={"delta.invariants": text}))
    assert caught.value.error_class == "DELTA_UNRECOGNIZED_INVARIANT"


def test_an_invariant_inside_an_array_is_refused_because_nothing_would_enforce_it():
    inner = StructType((StructField("x", "long", metadata=invariant("x > 3")),))
    with pytest.raises(UnsupportedFeatureError) as caught:
        constraints(StructField("a", ArrayType(inner)))
    assert caught.value.error_class == "DELTA_UNSUPPORTED_INVARIANT_NON_STRUCT"


def test_a_generated_column_is_compared_with_its_expression_where_the_writer_brings_it():
    fields = (StructField("id", "long"), StructField("Day", "date", metadata={"delta.generationExpression": "CAST(ts AS DATE)"}))
    assert constraints(*fields) == ()
    (found,) = constraints(*fields, provided=["ID", "dAY"])
    assert (found.name, found.kind, found.column) == ("Generated Column", ConstraintKind.GENERATED, ("Day",))
    assert found.expression == "(`Day` <=> (CAST(ts AS DATE)))"


def test_a_generation_expression_that_ends_with_a_comment_is_closed_all_the_same():
    field = StructField("d", "date", metadata={"delta.generationExpression": "date(ts) -- the day"})
    (found,) = constraints(field, provided=["d"])
    assert found.expression == "(`d` <=> (date(ts) -- the day\n))"


def test_lengths_are_checked_where_the_metadata_or_the_type_says_so():
    found = constraints(
        StructField("v", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}),
        StructField("c", "char(2)"),
        StructField("s", "string"),
    )
    assert texts(found) == [
        ("CHAR_VARCHAR", "(`v` IS NULL OR length(`v`) <= 3)"),
        ("CHAR_VARCHAR", "(`c` IS NULL OR length(`c`) <= 2)"),
    ]
    assert {each.name for each in found} == {LENGTH_CHECK_NAME}


def test_lengths_are_checked_at_every_depth():
    text = "struct<a:varchar(3),`b c`:array<array<char(2)>>,n:decimal(10,2)>"
    stored = (
        StructField("a", "string"),
        StructField("b c", ArrayType(ArrayType("string"))),
        StructField("n", "decimal(10,2)"),
    )
    (found,) = constraints(StructField("s", StructType(stored), metadata={"__CHAR_VARCHAR_TYPE_STRING": text}))
    assert found.expression == (
        "((`s`.`a` IS NULL OR length(`s`.`a`) <= 3) AND (`s`.`b c` IS NULL OR forall(`s`.`b c`, x0 ->"
        " (x0 IS NULL OR forall(x0, x1 -> (x1 IS NULL OR length(x1) <= 2))))))"
    )
    (found,) = constraints(StructField("m", MapType("varchar(1)", "varchar(2)")))
    assert found.expression == (
        "((`m` IS NULL OR forall(map_keys(`m`), x0 -> (x0 IS NULL OR length(x0) <= 1)))"
        " AND (`m` IS NULL OR forall(map_values(`m`), x0 -> (x0 IS NULL OR length(x0) <= 2))))"
    )


@pytest.mark.parametrize("text", ["", "array<", "struct<a>", "map<string>", "<", "array<int>>", "`"])
def test_a_declared_type_that_is_not_readable_is_refused(text):
    with pytest.raises(InvalidSchemaError):
        constraints(StructField("s", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": text}))


@given(st.sampled_from("abcXYZ").flatmap(lambda a: st.text("abcXYZ0_ ", max_size=5).map(lambda rest: a + rest)), st.text())
def test_what_is_added_is_found_again_in_any_case_and_can_be_dropped(name, expression):
    before = {"delta.appendOnly": "true"}
    after = add_constraint(before, name, expression, table="t")
    assert after == before | {"delta.constraints." + name.lower(): expression}
    with pytest.raises(InvalidSchemaError) as caught:
        add_constraint(after, name.swapcase(), "true", table="t")
    assert caught.value.error_class == "DELTA_CONSTRAINT_ALREADY_EXISTS"
    assert caught.value.sql_state == "42710"
    assert drop_constraint(after, name.swapcase(), table="t") == (before, True)


def test_a_constraint_of_another_writer_whose_key_has_capitals_is_found_too():
    configuration = {"delta.constraints.Positive": "id > 0"}
    with pytest.raises(InvalidSchemaError):
        add_constraint(configuration, "positive", "id > 1", table="t")
    assert drop_constraint(configuration, "POSITIVE", table="t") == ({}, True)


def test_a_constraint_that_is_not_there_cannot_be_dropped_unless_that_is_allowed():
    with pytest.raises(InvalidSchemaError) as caught:
        drop_constraint({constraint_key("b"): "x"}, "a", table="t")
    assert (caught.value.error_class, caught.value.sql_state) == ("DELTA_CONSTRAINT_DOES_NOT_EXIST", "42704")
    assert "nonexistent constraint a" in str(caught.value)
    assert drop_constraint({"k": "v"}, "a", table="t", if_exists=True) == ({"k": "v"}, False)


@pytest.mark.parametrize("name", [LENGTH_CHECK_NAME, LENGTH_CHECK_NAME.lower(), "", " "])
def test_a_reserved_name_is_refused(name):
    with pytest.raises(InvalidSchemaError) as caught:
        add_constraint({}, name, "true", table="t")
    assert caught.value.error_class == "DELTA_INVALID_CONSTRAINT_NAME"
