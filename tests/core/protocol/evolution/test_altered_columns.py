# SPDX-License-Identifier: Apache-2.0
"""ALTER COLUMN: comments, places, nullability and types, and which changes are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.protocol.evolution.schema_fields import FIRST, NESTED, PLAIN, field, refusal, struct

from bayou.protocol.evolution.schema_changes import AddedColumn, Position, add_columns, change_column
from bayou.protocol.features.type_widening import TYPE_CHANGES
from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.protocol.types.paths import TableRules, type_at
from bayou.protocol.types.schema import ArrayType, MapType, StructType

WIDENED = TableRules(table_uri="/t", version=3, type_widening=True)


def test_a_comment_is_set_beside_other_metadata_and_at_every_depth():
    schema = StructType((field("a", nullable=False, other=1), field("l", ArrayType(StructType((field("x"),))))))
    assert change_column(schema, ("A",), PLAIN, comment="c").fields[0] == field("a", nullable=False, other=1, comment="c")
    nested = change_column(schema, ("l", "element", "x"), PLAIN, comment="d")
    assert nested.fields[1].type.element_type == StructType((field("x", comment="d"),))


@pytest.mark.parametrize(
    ("position", "names"),
    [(FIRST, "bac"), (Position("A"), "abc"), (Position("c"), "acb"), (Position("b"), "abc"), (Position("B"), "abc")],
)
def test_a_column_moves_in_its_struct(position, names):
    inner = struct(a="long", b="date", c="string")
    changed = change_column(struct(s=inner), ("s", "b"), PLAIN, position=position)
    assert "".join(changed.field("s").type.names) == names
    assert set(changed.field("s").type.fields) == set(inner.fields)


@given(st.permutations("abcd"), st.sampled_from("abcd"), st.sampled_from([None, *"abcd"]))
def test_a_move_changes_the_order_of_the_others_never(names, moved, after):
    schema = struct(**dict.fromkeys(names, "long"))
    changed = change_column(schema, (moved,), PLAIN, position=Position(after)).names
    assert [name for name in changed if name != moved] == [name for name in names if name != moved]
    if after != moved:
        assert changed.index(moved) == (0 if after is None else changed.index(after) + 1)


def test_not_null_can_go_and_cannot_come():
    schema = StructType((field("a", nullable=False), field("b")))
    assert change_column(schema, ("a",), PLAIN, nullable=True) == StructType((field("a"), field("b")))
    assert change_column(schema, ("a",), PLAIN, nullable=False) == schema
    assert refusal(change_column, schema, ("b",), nullable=False).error_class == "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"


def test_void_becomes_any_type_without_type_widening():
    for kind in ("long", ArrayType(struct(x="long"))):
        assert change_column(NESTED, ("v",), PLAIN, data_type=kind) == StructType((*NESTED.fields[:-1], field("v", kind)))


def test_a_type_becomes_wider_where_the_table_enables_it():
    changed = change_column(struct(a="integer", p="long"), ("a",), WIDENED, data_type="decimal(12,2)")
    assert changed.fields[0] == field("a", "decimal(12,2)", **{TYPE_CHANGES: [{"fromType": "integer", "toType": "decimal(12,2)"}]})
    error = refusal(change_column, struct(a="integer"), ("a",), data_type="long")
    assert error.error_class == "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"
    assert "delta.enableTypeWidening" in error.next_step


@pytest.mark.parametrize("path", ["l.element", "m.key", "m.value"])
def test_what_an_array_or_a_map_holds_becomes_wider(path):
    schema = struct(l=ArrayType("integer", contains_null=False), m=MapType("integer", "integer"))
    changed = change_column(schema, tuple(path.split(".")), WIDENED, data_type="long")
    assert type_at(changed, path.split("."), PLAIN) == "long"
    top, inner = path.split(".")
    assert changed.field(top).metadata == {TYPE_CHANGES: [{"fromType": "integer", "toType": "long", "fieldPath": inner}]}
    assert changed.field("l").type.contains_null is False


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("char(3)", "varchar(3)", "varchar(3)"),
        ("char(3)", "varchar(9)", "varchar(9)"),
        ("char(3)", "char(3)", "char(3)"),
        ("varchar(3)", "varchar(4)", "varchar(4)"),
        ("char(3)", "string", None),
        ("varchar(3)", "string", None),
    ],
)
def test_a_bounded_string_becomes_longer_or_free(old, new, text):
    schema = StructType((field("a", "string", **{DECLARED_TYPE: old, "comment": "c"}),))
    (changed,) = change_column(schema, ("a",), PLAIN, data_type=new).fields
    assert changed == field("a", "string", comment="c", **({} if text is None else {DECLARED_TYPE: text}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(
            ("varchar(3)", "varchar(2)"),
            ("varchar(3)", "char(3)"),
            ("char(3)", "char(4)"),
            ("char(3)", "varchar(2)"),
            ("varchar(3)", "long"),
        ),
        *(("string", "varchar(9)"), ("long", "integer"), ("long", "double"), ("date", "timestamp"), ("long", ArrayType("long"))),
    ],
)
def test_other_changes_of_a_type_are_refused(old, new):
    schema = add_columns(struct(k="long"), [AddedColumn(field("a", old))], PLAIN)
    error = refusal(change_column, schema, ("a",), rules=WIDENED, data_type=new)
    assert error.error_class == "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"


@pytest.mark.parametrize(
    ("path", "error_class"),
    [("s", "DELTA_CANNOT_UPDATE_STRUCT_FIELD"), ("l", "DELTA_CANNOT_UPDATE_ARRAY_FIELD"), ("m", "DELTA_CANNOT_UPDATE_MAP_FIELD")],
)
def test_a_nested_type_changes_by_its_parts_only(path, error_class):
    assert refusal(change_column, NESTED, (path,), data_type="string", rules=WIDENED).error_class == error_class
    assert change_column(NESTED, (path,), PLAIN, data_type=NESTED.field(path).type, comment="c").field(path).metadata == {
        "comment": "c"
    }


@pytest.mark.parametrize("path", ["l.element", "m.key", "m.value"])
def test_what_an_array_or_a_map_holds_has_no_comment_position_or_not_null(path):
    names = tuple(path.split("."))
    assert refusal(change_column, NESTED, names, comment="c").error_class == "DELTA_UNSUPPORTED_COMMENT_MAP_ARRAY"
    assert refusal(change_column, NESTED, names, position=FIRST).error_class == "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"
    other = path == "m.key"
    assert refusal(change_column, NESTED, names, nullable=other).error_class == "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"
    assert change_column(NESTED, names, PLAIN, nullable=not other) == NESTED


def test_of_an_identity_column_only_the_comment_and_the_place_change():
    identity = field("i", "integer", nullable=False, **{"delta.identity.start": 1})
    schema = StructType((field("a"), identity))
    assert change_column(schema, ("i",), WIDENED, comment="c", position=FIRST).names == ("i", "a")
    for change in ({"data_type": "long"}, {"nullable": True}):
        error = refusal(change_column, schema, ("i",), rules=WIDENED, **change)
        assert error.error_class == "DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED"


def test_a_change_of_a_column_that_is_not_there_is_refused():
    assert refusal(change_column, NESTED, ("s", "z"), comment="c").error_class == "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"
    assert refusal(change_column, NESTED, ("a",), position=Position("z")).error_class == "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"


def test_a_void_column_cannot_become_a_type_that_no_table_has():
    assert refusal(change_column, NESTED, ("v",), data_type="interval day").error_class == "DELTA_UNSUPPORTED_DATA_TYPES"


def test_a_decimal_of_the_same_digits_is_the_same_type():
    schema = struct(a="decimal(10, 2)")
    assert change_column(schema, ("a",), WIDENED, data_type="decimal(10,2)") == schema
    error = refusal(change_column, schema, ("a",), data_type="decimal(12,2)")
    assert error.error_class == "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"


def test_a_column_behind_itself_stays_whatever_the_case():
    schema = struct(a="long", B="long", c="long")
    assert change_column(schema, ("b",), PLAIN, position=Position("b")) == schema
