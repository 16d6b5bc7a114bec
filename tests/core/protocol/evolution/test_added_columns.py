# SPDX-License-Identifier: Apache-2.0
"""ADD COLUMNS: where new columns go, and which ones are refused."""

from __future__ import annotations

import pytest
from tests.core.protocol.evolution.schema_fields import FIRST, MAPPED, NESTED, PLAIN, field, refusal, struct
from tests.support.cases import in_one_test

from bayou.protocol.evolution.schema_changes import AddedColumn, Position, add_columns, rename_column
from bayou.protocol.evolution.schema_replace import replace_columns
from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.protocol.types.paths import TableRules, type_at
from bayou.protocol.types.schema import ArrayType, StructType


def test_columns_are_added_one_after_the_other():
    added = [AddedColumn(field("b")), AddedColumn(field("c"), position=FIRST), AddedColumn(field("d"), position=Position("C"))]
    assert add_columns(struct(a="long"), added, PLAIN).names == ("c", "d", "a", "b")


@pytest.mark.parametrize(("parent", "names"), [("s", "xyn"), ("l.element", "xn"), ("m.key", "kn"), ("M.Value", "vn")])
def test_a_column_is_added_to_a_nested_struct(parent, names):
    changed = add_columns(NESTED, [AddedColumn(field("n"), tuple(parent.split(".")))], PLAIN)
    assert "".join(type_at(changed, parent.split("."), PLAIN).names) == names
    assert changed.names == NESTED.names


def test_a_column_added_behind_a_nested_one_stays_in_its_struct():
    changed = add_columns(NESTED, [AddedColumn(field("n"), ("s",), Position("X"))], PLAIN)
    assert changed.field("s").type.names == ("x", "n", "y")


@in_one_test(
    ("column", "error_class"),
    [
        (AddedColumn(field("A")), "DELTA_DUPLICATE_COLUMNS_FOUND.ADDING_COLUMNS"),
        (AddedColumn(field("X"), ("s",)), "DELTA_DUPLICATE_COLUMNS_FOUND.ADDING_COLUMNS"),
        (AddedColumn(field("n", nullable=False)), "DELTA_OPERATION_NOT_ALLOWED"),
        (AddedColumn(field("n", ArrayType(StructType((field("q", nullable=False),))))), "DELTA_OPERATION_NOT_ALLOWED"),
        (
            AddedColumn(field("n", CURRENT_DEFAULT="1")),
            "WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED",
        ),
        (
            AddedColumn(field("n", ArrayType(StructType((field("q", CURRENT_DEFAULT="1"),))))),
            "WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED",
        ),
        (AddedColumn(field("n"), ("z",)), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        (AddedColumn(field("n"), ("s", "z")), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        (AddedColumn(field("n"), position=Position("z")), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        (AddedColumn(field("n"), ("s",), Position("a")), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        (AddedColumn(field("n"), ("a",)), "DELTA_ADD_COLUMN_PARENT_NOT_STRUCT"),
        (AddedColumn(field("n"), ("l",)), "DELTA_ADD_COLUMN_PARENT_NOT_STRUCT"),
        (AddedColumn(field("n"), ("a", "b")), "DELTA_COLUMN_PATH_NOT_NESTED"),
        (AddedColumn(field("n"), ("l", "x")), "DELTA_INCORRECT_ARRAY_ACCESS_BY_NAME"),
        (AddedColumn(field("n"), ("m", "v")), "DELTA_FOUND_MAP_TYPE_COLUMN"),
        (AddedColumn(field("n m")), "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
        (AddedColumn(field("n", "interval day")), "DELTA_UNSUPPORTED_DATA_TYPES"),
        (AddedColumn(field("n", ArrayType("void"))), "DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE"),
    ],
)
def test_an_addition_that_is_not_possible_is_refused(column, error_class):
    assert refusal(add_columns, NESTED, [column]).error_class == error_class


def test_an_addition_obeys_what_the_table_enables():
    assert add_columns(NESTED, [AddedColumn(field("n m"))], MAPPED).names[-1] == "n m"
    fed = TableRules("/t", 3, change_data_feed=True)
    assert (
        refusal(add_columns, NESTED, [AddedColumn(field("_change_type"))], rules=fed).error_class == "RESERVED_CDC_COLUMNS_ON_WRITE"
    )


def test_a_column_gets_no_name_of_bayous_own_and_loses_it_where_another_writer_gave_it():
    theirs = StructType((field("a"), field("__bayou_dv")))
    for refused in (
        refusal(add_columns, NESTED, [AddedColumn(field("__Bayou_file"))]),
        refusal(rename_column, theirs, ("a",), "__bayou_row_action", rules=MAPPED),
        refusal(replace_columns, theirs, StructType((field("a"), field("__bayou_new"))), rules=MAPPED),
    ):
        assert refused.error_class == "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED"
    assert add_columns(theirs, [AddedColumn(field("b"))], MAPPED).names == ("a", "__bayou_dv", "b")
    assert rename_column(theirs, ("__bayou_dv",), "b", MAPPED).names == ("a", "b")
    assert add_columns(NESTED, [AddedColumn(field("__bayou_dv"), ("s",))], PLAIN)


def test_a_varchar_is_stored_as_a_string_with_its_declared_type():
    changed = add_columns(NESTED, [AddedColumn(field("n", "varchar(5)")), AddedColumn(field("c", "char(2)"), ("s",))], PLAIN)
    assert changed.field("n") == field("n", "string", **{DECLARED_TYPE: "varchar(5)"})
    assert changed.field("s").metadata == {DECLARED_TYPE: "struct<x:bigint,y:date,c:char(2)>"}
