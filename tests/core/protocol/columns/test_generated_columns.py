# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import InvalidSchemaError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.columns.generated_columns import (
    GeneratedColumn,
    check_references,
    check_type,
    columns_to_compute,
    generated_columns,
    has_generated_columns,
)
from bayou.protocol.evolution.column_dependents import check_no_dependents, dependents
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType


def generated(name, kind, expression):
    return StructField(name, kind, metadata={"delta.generationExpression": expression})


SCHEMA = StructType(
    (
        StructField("ts", "timestamp"),
        StructField("s", StructType((StructField("x", "long"),))),
        generated("Day", "date", "CAST(ts AS DATE)"),
        generated("year", "integer", "YEAR(ts)"),
    )
)


def test_generated_columns_are_those_with_an_expression():
    assert [(each.name, each.expression) for each in generated_columns(SCHEMA)] == [
        ("Day", "CAST(ts AS DATE)"),
        ("year", "YEAR(ts)"),
    ]


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [(Protocol(1, 3), False), (Protocol(1, 4), True), (Protocol(1, 7, None, ("generatedColumns",)), True), (Protocol(1, 7), False)],
)
def test_an_expression_alone_makes_no_generated_column(protocol, expected):
    assert has_generated_columns(protocol, SCHEMA) is expected
    assert not has_generated_columns(protocol, StructType((StructField("ts", "timestamp"),)))


@given(st.sets(st.sampled_from(["ts", "s", "Day", "YEAR", "day", "extra"])))
def test_what_is_not_provided_is_computed(provided):
    lowered = {name.lower() for name in provided}
    assert {each.name.lower() for each in columns_to_compute(SCHEMA, provided)} == {"day", "year"} - lowered


def test_references_to_plain_columns_are_fine():
    check_references(SCHEMA, {"Day": [("TS",)], "year": [("s", "X"), ("s",)]}, table="t")


@pytest.mark.parametrize("path", [("YEAR",), ("day",), ("gone",), ("s", "gone"), ("ts", "x")])
def test_references_to_generated_columns_and_to_nothing_are_refused(path):
    with pytest.raises(InvalidSchemaError) as caught:
        check_references(SCHEMA, {"Day": [path]}, table="t")
    assert (caught.value.error_class, caught.value.sql_state) == ("DELTA_INVALID_GENERATED_COLUMN_REFERENCES", "42621")
    assert (caught.value.column, caught.value.reference) == ("Day", path)


def test_the_type_of_the_expression_is_the_columns_but_for_nullability():
    strict = StructType((StructField("x", ArrayType("long", contains_null=False), nullable=False, metadata={"comment": "c"}),))
    loose = StructType((StructField("x", ArrayType("long")),))
    check_type(GeneratedColumn("c", strict, "x"), loose, table="t")
    check_type(GeneratedColumn("c", MapType("long", "long", value_contains_null=False), "x"), MapType("long", "long"), table="t")
    for kind, error_class in (("long", "EXPR_TYPE_MISMATCH"), ("variant", "UNSUPPORTED_DATA_TYPE_IN_GENERATED_COLUMN")):
        with pytest.raises(InvalidSchemaError) as caught:
            check_type(GeneratedColumn("c", kind, "x"), "variant" if kind == "variant" else "integer", table="t")
        assert caught.value.error_class.endswith(error_class)


REFERENCES = {"one": [("a",)], "two": [("A", "b")], "three": [("a", "c", "d"), ("z",)], "four": []}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (("a",), ("one", "two", "three")),
        (("a", "B"), ("one", "two")),
        (("a", "c"), ("one", "three")),
        (("z", "y"), ("three",)),
        (("b",), ()),
    ],
)
def test_a_change_concerns_what_uses_the_column_a_field_of_it_or_a_struct_around_it(column, expected):
    assert dependents(column, REFERENCES) == expected


@pytest.mark.parametrize(
    ("kind", "changes_type", "error_class"),
    [
        ("constraints", False, "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE"),
        ("constraints", True, "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH"),
        ("generated", False, "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE"),
        ("generated", True, "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH"),
    ],
)
def test_a_column_that_an_expression_uses_cannot_be_changed(kind, changes_type, error_class):
    references = {"constraints": {}, "generated": {}} | {kind: REFERENCES}
    check_no_dependents(("b",), table="t", changes_type=changes_type, **references)
    with pytest.raises(InvalidSchemaError) as caught:
        check_no_dependents(("z",), table="t", changes_type=changes_type, **references)
    assert (caught.value.error_class, caught.value.sql_state) == (error_class, "42K09")
    assert caught.value.dependents == ("three",)
