# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from tests.support.cases import in_one_test

from bayou.errors import InvalidSchemaError
from bayou.protocol.evolution.schema_replace import replace_columns
from bayou.protocol.features.type_widening import TYPE_CHANGES
from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.protocol.types.paths import TableRules
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType

PLAIN = TableRules(table_uri="/t", version=3)
MAPPED = TableRules(table_uri="/t", version=3, column_mapping=True, partition_columns=("p",), clustering_columns=(("c", "x"),))
WIDENED = TableRules(table_uri="/t", version=3, type_widening=True)


def struct(**columns):
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


def field(name, kind="long", *, nullable=True, **metadata):
    return StructField(name, kind, nullable, metadata)


def refusal(schema, columns, rules=PLAIN):
    with pytest.raises(InvalidSchemaError) as caught:
        replace_columns(schema, columns, rules)
    assert (caught.value.table, caught.value.version) == ("/t", 3)
    return caught.value


def test_columns_move_take_comments_relax_and_are_added_with_the_old_names_and_metadata():
    inner = StructType((field("x", nullable=False, key=1), field("y")))
    schema = StructType((field("a", nullable=False, key=2, comment="old"), field("s", ArrayType(inner, contains_null=False))))
    new_inner = StructType((field("Y", comment="y"), field("z", "date"), field("X")))
    columns = StructType((field("S", ArrayType(new_inner)), field("A", comment="new"), field("n", "varchar(3)")))
    expected_inner = StructType((field("y", comment="y"), field("z", "date"), field("x", key=1)))
    assert replace_columns(schema, columns, PLAIN) == StructType(
        (
            field("s", ArrayType(expected_inner, contains_null=False)),
            field("a", key=2, comment="new"),
            field("n", "string", **{DECLARED_TYPE: "varchar(3)"}),
        )
    )


def test_the_same_columns_change_nothing():
    schema = StructType((field("a", comment="c"), field("m", MapType("long", struct(x="date")), nullable=False)))
    assert replace_columns(schema, schema, PLAIN) == schema


@in_one_test(
    ("old", "new", "error_class"),
    [
        (struct(a="long", b="long"), struct(a="long"), "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"),
        (
            struct(a="long", s=struct(x="long", y="long")),
            struct(a="long", s=struct(x="long")),
            "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
        ),
        (struct(a="long", b="long"), struct(a="long", c="long"), "DELTA_AMBIGUOUS_DATA_TYPE_CHANGE"),
        (struct(l=ArrayType(struct(x="long"))), struct(l=ArrayType(struct(y="long"))), "DELTA_AMBIGUOUS_DATA_TYPE_CHANGE"),
        (struct(a="long"), StructType((field("a"), field("b", nullable=False))), "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"),
        (
            struct(a="long"),
            StructType((field("a"), field("b", struct(x="long")), field("c", CURRENT_DEFAULT="1"))),
            "WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED",
        ),
        (struct(a="long"), StructType((field("a", nullable=False),)), "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"),
        (
            struct(a=ArrayType("long")),
            struct(a=ArrayType("long", contains_null=False)),
            "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP",
        ),
        (struct(a="integer"), struct(a="long"), "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"),
        (struct(a="long"), struct(a=ArrayType("long")), "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"),
        (struct(a=MapType("long", "long")), struct(a=MapType("string", "long")), "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"),
        (struct(a="long"), StructType((field("a"), field("A"))), "DELTA_DUPLICATE_COLUMNS_FOUND.REPLACING_COLUMNS"),
        (struct(a="long"), struct(**{"a": "long", "b c": "long"}), "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
        (
            StructType((field("a", **{"delta.identity.start": 1}),)),
            struct(a="long"),
            "DELTA_IDENTITY_COLUMNS_REPLACE_COLUMN_NOT_SUPPORTED",
        ),
    ],
)
def test_a_replacement_that_is_not_possible_is_refused(old, new, error_class):
    assert refusal(old, new).error_class == error_class


def test_columns_are_left_out_with_column_mapping_but_not_those_that_lay_out_the_table():
    schema = struct(p="long", c=struct(x="long", y="long"), a="long", b="long")
    left = struct(p="long", c=struct(x="long"), a="long")
    assert replace_columns(schema, left, MAPPED) == left
    assert refusal(schema, struct(c=struct(x="long"), a="long"), MAPPED).error_class == "DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN"
    assert refusal(schema, struct(p="long", a="long"), MAPPED).error_class == "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN"


def test_types_change_as_for_a_single_column_and_are_recorded():
    schema = StructType((field("a", "integer"), field("v", "void"), field("c", "string", **{DECLARED_TYPE: "char(3)"})))
    changed = replace_columns(schema, struct(a="long", v="date", c="varchar(4)"), WIDENED)
    assert changed == StructType(
        (
            field("a", "long", **{TYPE_CHANGES: [{"fromType": "integer", "toType": "long"}]}),
            field("v", "date"),
            field("c", "string", **{DECLARED_TYPE: "varchar(4)"}),
        )
    )
