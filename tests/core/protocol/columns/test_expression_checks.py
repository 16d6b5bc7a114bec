# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import InvalidSchemaError
from bayou.protocol.columns.expression_checks import check_constraint_references, check_functions, check_is_boolean
from bayou.protocol.columns.expression_functions import ExpressionKind
from bayou.protocol.types.schema import StructField, StructType

SCHEMA = StructType((StructField("a", "long"), StructField("s", StructType((StructField("x", "long"),)))))


@pytest.mark.parametrize("kind", list(ExpressionKind))
def test_allowed_functions_pass(kind):
    check_functions(["YEAR", "cast", "concat"], kind, owner="c", table="t")


@pytest.mark.parametrize(
    ("name", "kind", "error_class"),
    [
        ("my_udf", "GENERATED_COLUMN", "DELTA_UDF_IN_GENERATED_COLUMN"),
        ("my_udf", "CHECK_CONSTRAINT", "DELTA_UDF_IN_CHECK_CONSTRAINT"),
        ("RAND", "GENERATED_COLUMN", "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_GENERATED_COLUMN"),
        ("rand", "CHECK_CONSTRAINT", "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT"),
        ("sum", "GENERATED_COLUMN", "DELTA_AGGREGATE_IN_GENERATED_COLUMN"),
        ("sum", "CHECK_CONSTRAINT", "DELTA_AGGREGATE_IN_CHECK_CONSTRAINT"),
        ("reflect", "GENERATED_COLUMN", "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"),
        ("current_user", "CHECK_CONSTRAINT", "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"),
        ("uuid", "COLUMN_DEFAULT", "INVALID_DEFAULT_VALUE.NOT_CONSTANT"),
        ("my_udf", "COLUMN_DEFAULT", "INVALID_DEFAULT_VALUE.UNRESOLVED_EXPRESSION"),
    ],
)
def test_other_functions_are_refused_under_the_class_of_their_kind(name, kind, error_class):
    with pytest.raises(InvalidSchemaError) as caught:
        check_functions(["year", name], ExpressionKind[kind], owner="c", table="t")
    assert caught.value.error_class == error_class
    assert caught.value.sql_state == ("42623" if kind == "COLUMN_DEFAULT" else "42621")
    assert (caught.value.owner, caught.value.function) == ("c", name)
    assert name in str(caught.value)


def test_the_reason_is_in_the_text():
    with pytest.raises(InvalidSchemaError, match="Java"):
        check_functions(["java_method"], ExpressionKind.CHECK_CONSTRAINT, owner="c", table="t")


@pytest.mark.parametrize("path", [("b",), ("s", "y"), ("a", "x"), ()])
def test_a_constraint_over_what_is_no_column_is_refused(path):
    check_constraint_references(SCHEMA, [("A",), ("s", "X"), ("S",)], name="c", table="t")
    with pytest.raises(InvalidSchemaError) as caught:
        check_constraint_references(SCHEMA, [("a",), path], name="c", table="t")
    assert caught.value.error_class == "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES"
    assert caught.value.reference == path


def test_a_constraint_is_a_condition():
    check_is_boolean("c", "a > 0", "boolean", table="t")
    with pytest.raises(InvalidSchemaError) as caught:
        check_is_boolean("c", "a + 1", "long", table="t")
    assert caught.value.error_class == "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT"
    assert "'c' (a + 1)" in str(caught.value)
