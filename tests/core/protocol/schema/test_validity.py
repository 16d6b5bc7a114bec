# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from tests.support.cases import in_one_test

from bayou.errors import InvalidSchemaError
from bayou.protocol.schema.validity import check_has_data, check_schema, is_supported
from bayou.protocol.types.schema import PHYSICAL_NAME, ArrayType, MapType, StructField, StructType
from bayou.protocol.types.traverse import walk


def struct(**columns):
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


def named(*names):
    return StructType(tuple(StructField(name, "long") for name in names))


def refusal(schema, partition_columns=(), **rules):
    with pytest.raises(InvalidSchemaError) as caught:
        check_schema(schema, partition_columns, "/t", version=3, **rules)
    assert caught.value.table == "/t"
    assert caught.value.version == 3
    return caught.value


UNSUPPORTED = "DELTA_UNSUPPORTED_DATA_TYPES"
COLLATED = {"__COLLATIONS": {"c": "spark.UTF8_LCASE"}}
REQUIRED = StructType((StructField("x", "long", nullable=False),))


def test_a_schema_of_every_supported_type_is_taken():
    inner = struct(a="long", v="void")
    schema = struct(
        b="boolean",
        y="byte",
        d="decimal(38,38)",
        c="char(3)",
        w="varchar(10)",
        n="timestamp_ntz",
        j="variant",
        v="void",
        s=inner,
        l=ArrayType(struct(x="date"), contains_null=False),
        m=MapType("string", ArrayType("binary"), value_contains_null=False),
    )
    check_schema(schema, ("b", "Y"), "/t")


@in_one_test(
    ("schema", "error_class", "columns"),
    [
        (StructType(), "DELTA_EMPTY_DATA", ()),
        (named("a", "A"), "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE", ("a",)),
        (struct(s=ArrayType(named("x", "y", "X"))), "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE", ("s.element.x",)),
        (struct(m=MapType("long", named("b", "B"))), "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE", ("m.value.b",)),
        (named("__Delta_internal_row_index"), "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED", ("__Delta_internal_row_index",)),
        (named("a", "__BAYOU_dv"), "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED", ("__BAYOU_dv",)),
        (struct(a="long", t="interval day to second"), "DELTA_UNSUPPORTED_DATA_TYPES", ("t",)),
        (struct(a="decimal(39,0)", b=ArrayType("time(6)")), "DELTA_UNSUPPORTED_DATA_TYPES", ("a", "b.element")),
        (StructType((StructField("c", "string", metadata=COLLATED),)), UNSUPPORTED, ("c",)),
        (
            struct(m=MapType("long", StructType((StructField("c", ArrayType("string"), metadata=COLLATED),)))),
            UNSUPPORTED,
            ("m.value.c",),
        ),
        (struct(a="long", l=ArrayType("void")), "DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE", ("l",)),
        (struct(a="long", m=MapType("long", "null")), "DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE", ("m",)),
        (struct(l=ArrayType(struct(a="long", v="void"))), "DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE", ("l",)),
        (struct(a="long", s=struct(v="void")), "DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_ALL_VOID_FIELDS", ("s",)),
        (struct(s=struct(a="long", t=StructType())), "DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_NO_FIELDS", ("s.t",)),
        (struct(l=ArrayType(StructType())), "DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_NO_FIELDS", ("l.element",)),
        (struct(a="void", b="null"), "DELTA_CANNOT_WRITE_EMPTY_SCHEMA.TABLE_ALL_VOID_COLUMNS", ("a", "b")),
        (struct(l=ArrayType(REQUIRED)), "DELTA_NESTED_NOT_NULL_CONSTRAINT", ("l.element.x",)),
        (struct(m=MapType(struct(k=REQUIRED), "long")), "DELTA_NESTED_NOT_NULL_CONSTRAINT", ("m.key.k.x",)),
        (struct(s=struct(m=MapType("long", REQUIRED))), "DELTA_NESTED_NOT_NULL_CONSTRAINT", ("s.m.value.x",)),
    ],
)
def test_what_no_table_can_have_is_refused_with_its_class_and_columns(schema, error_class, columns):
    error = refusal(schema)
    assert error.error_class == error_class
    assert error.columns == columns


@pytest.mark.parametrize("character", " ,;{}()\n\t=")
def test_a_character_that_files_cannot_have_needs_column_mapping(character):
    schema = struct(a="long", s=ArrayType(named(f"x{character}y")))
    error = refusal(schema)
    assert error.error_class == "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"
    assert error.columns == (f"s.element.x{character}y",)
    check_schema(schema, (), "/t", column_mapping=True)


def test_dots_and_other_scripts_are_allowed_in_names():
    check_schema(named("a.b", "größe", "`", "x-y", "$"), (), "/t")


def test_a_dotted_name_is_not_the_nested_column_of_that_path():
    check_schema(StructType((StructField("a.b", "long"), StructField("a", named("b")))), (), "/t")


@pytest.mark.parametrize("name", ["_change_type", "_commit_version", "_Commit_Timestamp"])
def test_the_names_of_a_change_data_feed_are_reserved_only_where_there_is_one(name):
    schema = named("a", name)
    check_schema(schema, (), "/t")
    error = refusal(schema, change_data_feed=True)
    assert error.error_class == "RESERVED_CDC_COLUMNS_ON_WRITE"
    assert error.sql_state == "42939"
    assert error.columns == (name,)


@pytest.mark.parametrize("name", ["_change_type", "_commit_version", "_Commit_Timestamp"])
def test_the_names_of_a_change_data_feed_are_reserved_in_the_files_too(name):
    schema = StructType((StructField("a", "long"), StructField("kind", "long", metadata={PHYSICAL_NAME: name})))
    check_schema(schema, (), "/t", column_mapping=True)
    error = refusal(schema, change_data_feed=True, column_mapping=True)
    assert (error.error_class, error.columns) == ("RESERVED_CDC_COLUMNS_ON_WRITE", ("kind",))
    assert name in str(error)


def test_a_column_that_only_its_schema_calls_like_one_of_the_feed_need_not_be_dropped():
    mapped = StructType((StructField("_change_type", "long", metadata={PHYSICAL_NAME: "col-1"}),))
    advice = {
        maps: str(refusal(schema, change_data_feed=True, column_mapping=maps))
        for schema, maps in ((mapped, True), (named("_change_type"), False))
    }
    assert "drop" in advice[True]
    assert advice[True] != advice[False]


def test_a_nested_name_cannot_collide_with_the_change_data_feed():
    check_schema(struct(s=named("_change_type", "__delta_internal_x", "__bayou_dv")), (), "/t", change_data_feed=True)


def test_not_null_is_allowed_on_columns_and_in_structs():
    schema = StructType((StructField("s", REQUIRED, nullable=False), StructField("a", "long", nullable=False)))
    check_schema(schema, (), "/t")


@pytest.mark.parametrize(
    ("partition_columns", "error_class"),
    [
        (("z",), "DELTA_PARTITION_COLUMN_NOT_FOUND"),
        (("s.x",), "DELTA_PARTITION_COLUMN_NOT_FOUND"),
        (("s",), "DELTA_INVALID_PARTITION_COLUMN_TYPE"),
        (("l",), "DELTA_INVALID_PARTITION_COLUMN_TYPE"),
        (("j",), "DELTA_INVALID_PARTITION_COLUMN_TYPE"),
        (("v",), "DELTA_INVALID_PARTITION_COLUMN_TYPE"),
        (("a", "A"), "DELTA_DUPLICATE_COLUMNS_FOUND.PARTITION_COLUMNS"),
    ],
)
def test_a_partition_column_is_one_column_with_one_text_a_value(partition_columns, error_class):
    schema = struct(a="long", s=named("x"), l=ArrayType("long"), j="variant", v="void")
    assert refusal(schema, partition_columns).error_class == error_class


def test_not_every_column_can_be_a_partition_column():
    assert refusal(named("a", "b"), ("b", "a")).error_class == "DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION"


def test_a_void_column_beside_partition_columns_leaves_nothing_for_the_files():
    error = refusal(struct(p="long", v="void"), ("p",))
    assert error.error_class == "DELTA_CANNOT_WRITE_EMPTY_SCHEMA.TABLE_ALL_VOID_COLUMNS"


@pytest.mark.parametrize("kind", ["decimal", "decimal(1,0)", "decimal(38,38)", "char(1)", "varchar( 7 )", "void"])
def test_supported_types(kind):
    assert is_supported(kind)


@pytest.mark.parametrize("kind", ["decimal(39,2)", "decimal(2,3)", "decimal(5,-1)", "decimal(0,0)", "char", "interval", "uuid", ""])
def test_unsupported_types(kind):
    assert not is_supported(kind)


COLLATED_AT = {
    "v": StructField("v", "string", metadata={"__COLLATIONS": {"v": "spark.UTF8_LCASE"}}),
    "v.v": StructField("v", StructType((StructField("v", "string", metadata={"__COLLATIONS": {"v": "spark.UTF8_LCASE"}}),))),
    "v.element": StructField("v", ArrayType("string"), metadata={"__COLLATIONS": {"v.element": "icu.DE"}}),
    "v.value": StructField("v", MapType("string", "string"), metadata={"__COLLATIONS": {"v.value": "icu.DE"}}),
    "v.key": StructField("v", MapType("string", "string"), metadata={"__COLLATIONS": {"v.key": "icu.DE"}}),
    "v.element.key": StructField("v", ArrayType(MapType("string", "long")), metadata={"__COLLATIONS": {"v.element.key": "icu.DE"}}),
    "v.element.x": StructField(
        "v", ArrayType(StructType((StructField("x", "string", metadata={"__COLLATIONS": {"x": "icu.DE"}}),)))
    ),
    "v.element.x.value": StructField(
        "v",
        ArrayType(
            StructType((StructField("x", MapType("long", "string"), metadata={"__COLLATIONS": {"x.value": "icu.DE"}}),)),
        ),
    ),
}


@pytest.mark.parametrize("path", COLLATED_AT)
def test_a_collated_string_is_named_by_its_path(path):
    error = refusal(StructType((StructField("id", "long"), COLLATED_AT[path])))
    assert error.error_class == "DELTA_UNSUPPORTED_DATA_TYPES"
    assert error.columns == (path,)
    assert repr(path) in str(error)
    assert "collation" in str(error)


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"a": "void"},
        {"a": "null", "b": StructType((StructField("x", "void"),))},
        {"a": ArrayType("void")},
        {"a": MapType("void", "void")},
        {"a": StructType(())},
    ],
)
def test_rows_without_a_value_are_refused(columns):
    with pytest.raises(InvalidSchemaError) as caught:
        check_has_data(struct(**columns), "/t", version=3)
    assert (caught.value.error_class, caught.value.version) == ("DELTA_EMPTY_DATA", 3)
    assert caught.value.columns == tuple(columns)
    what = "all values are NULL without a type" if columns else "the rows have no columns"
    assert f"{what}." in str(caught.value)


@pytest.mark.parametrize("columns", [{"a": "void", "b": "long"}, {"a": MapType("string", "void")}, {"a": ArrayType("long")}])
def test_rows_with_a_value_are_taken(columns):
    check_has_data(struct(**columns), "/t")


def test_null_without_a_type_is_a_value_of_a_statement():
    check_has_data(struct(a="void"), "/t", of_statement=True)
    with pytest.raises(InvalidSchemaError):
        check_has_data(StructType(()), "/t", of_statement=True)


def test_a_walk_visits_outer_types_first_and_names_the_path():
    schema = struct(a=MapType("long", ArrayType(named("x"))))
    paths = [".".join(path) for path, _ in walk(schema)]
    assert paths == ["", "a", "a.key", "a.value", "a.value.element", "a.value.element.x"]
