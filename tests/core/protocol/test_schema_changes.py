# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError
from bayou.protocol.char_varchar import DECLARED_TYPE
from bayou.protocol.schema import ArrayType, MapType, StructField, StructType
from bayou.protocol.schema_changes import (
    AddedColumn,
    Position,
    add_columns,
    change_column,
    drop_columns,
    rename_column,
    rename_partition_columns,
    rewrite_stats_columns,
)
from bayou.protocol.schema_paths import TableRules, type_at
from bayou.protocol.schema_replace import replace_columns
from bayou.protocol.stats import parse_column_list
from bayou.protocol.type_widening import TYPE_CHANGES

PLAIN = TableRules(table="/t", version=3)
MAPPED = TableRules(table="/t", version=3, column_mapping=True)
WIDENED = TableRules(table="/t", version=3, type_widening=True)
FIRST = Position()


def struct(**columns):
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


def field(name, kind="long", *, nullable=True, **metadata):
    return StructField(name, kind, nullable, metadata)


NESTED = struct(
    a="long", s=struct(x="long", y="date"), l=ArrayType(struct(x="long")), m=MapType(struct(k="long"), struct(v="long")), v="void"
)


def refusal(call, *arguments, rules=PLAIN, error=InvalidSchemaError, **options):
    with pytest.raises(error) as caught:
        call(*arguments, rules, **options)
    assert (caught.value.table, caught.value.version) == ("/t", 3)
    return caught.value


# ADD COLUMNS


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


@pytest.mark.parametrize(
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
        refusal(rename_column, theirs, ("a",), "__bayou_fate", rules=MAPPED),
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


# RENAME COLUMN and DROP COLUMN


def test_a_rename_keeps_place_type_and_metadata():
    metadata = {"delta.columnMapping.physicalName": "col-1", "comment": "c"}
    schema = StructType((field("a", "long", nullable=False, **metadata), field("b")))
    assert rename_column(schema, ("A",), "z", MAPPED) == StructType((field("z", "long", nullable=False, **metadata), field("b")))


@pytest.mark.parametrize("path", ["s.x", "l.element.x", "m.key.k", "m.value.v"])
def test_a_nested_column_is_renamed_and_dropped(path):
    names = tuple(path.split("."))
    renamed = rename_column(NESTED, names, "new", MAPPED)
    assert type_at(renamed, (*names[:-1], "new"), MAPPED) == type_at(NESTED, names, MAPPED)
    assert rename_column(renamed, (*names[:-1], "new"), names[-1], MAPPED) == NESTED
    wider = add_columns(NESTED, [AddedColumn(field("other"), names[:-1])], MAPPED)
    assert drop_columns(wider, [(*names[:-1], "OTHER")], MAPPED) == NESTED


def test_a_rename_within_a_declared_type_is_followed():
    schema = StructType((field("s", struct(x="string"), **{DECLARED_TYPE: "struct<x:char(3)>"}),))
    (renamed,) = rename_column(schema, ("s", "x"), "y", MAPPED).fields
    assert renamed == field("s", struct(y="string"), **{DECLARED_TYPE: "struct<y:char(3)>"})


def test_a_name_may_change_its_case_only():
    assert rename_column(NESTED, ("a",), "A", MAPPED).names[0] == "A"


@pytest.mark.parametrize(
    ("path", "new_name", "error_class"),
    [
        (("z",), "n", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        (("a",), "S", "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE"),
        (("s", "x"), "Y", "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE"),
        (("l", "element"), "n", "DELTA_UNSUPPORTED_RENAME_COLUMN"),
        (("m", "key"), "n", "DELTA_UNSUPPORTED_RENAME_COLUMN"),
    ],
)
def test_a_rename_that_is_not_possible_is_refused(path, new_name, error_class):
    assert refusal(rename_column, NESTED, path, new_name, rules=MAPPED).error_class == error_class


def test_renames_and_drops_need_column_mapping():
    error = refusal(rename_column, NESTED, ("a",), "b", error=UnsupportedFeatureError)
    assert (error.error_class, error.sql_state, error.features) == ("DELTA_UNSUPPORTED_RENAME_COLUMN", "0AKDC", ("columnMapping",))
    assert "delta.columnMapping.mode" in error.next_step
    assert refusal(drop_columns, NESTED, [("a",)], error=UnsupportedFeatureError).error_class == "DELTA_UNSUPPORTED_DROP_COLUMN"


def test_several_columns_are_dropped_at_once():
    assert drop_columns(NESTED, [("a",), ("s", "Y"), ("M",)], MAPPED) == struct(
        s=struct(x="long"), l=ArrayType(struct(x="long")), v="void"
    )


@pytest.mark.parametrize(
    ("paths", "error_class"),
    [
        ([("z",)], "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        ([("a",), ("a",)], "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        ([("l", "element", "x")], "DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA"),
        ([("a",), ("s",), ("l",), ("m",), ("v",)], "DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA"),
        ([("l", "element")], "DELTA_UNSUPPORTED_DROP_NESTED_COLUMN_FROM_NON_STRUCT_TYPE"),
        ([("a", "b")], "DELTA_COLUMN_PATH_NOT_NESTED"),
    ],
)
def test_a_drop_that_is_not_possible_is_refused(paths, error_class):
    assert refusal(drop_columns, NESTED, paths, rules=MAPPED).error_class == error_class


def test_the_columns_that_lay_out_the_table_cannot_be_dropped():
    schema = struct(p="long", c=struct(x="long", y="long"), a="long")
    rules = TableRules("/t", 3, column_mapping=True, partition_columns=("p",), clustering_columns=(("c", "x"),))
    partition = refusal(drop_columns, schema, [("a",), ("P",)], rules=rules)
    assert (partition.error_class, partition.columns) == ("DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN", ("p",))
    for path in (("c", "x"), ("C",)):
        clustering = refusal(drop_columns, schema, [path], rules=rules)
        assert (clustering.error_class, clustering.columns) == ("DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN", ("c.x",))
    assert drop_columns(schema, [("c", "y")], rules).names == schema.names


def test_something_beside_the_partition_columns_is_left():
    rules = TableRules("/t", 3, column_mapping=True, partition_columns=("p",))
    error = refusal(drop_columns, struct(p="long", a="long"), [("a",)], rules=rules)
    assert error.error_class == "DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION"


# ALTER COLUMN


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


# What goes with a change


def test_partition_columns_follow_a_rename_of_a_top_level_column():
    assert rename_partition_columns(("p", "q"), ("P",), "n") == ("n", "q")
    assert rename_partition_columns(("p", "q"), ("s", "p"), "n") == ("p", "q")


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("a,b.c,d", {"rename": (("A",), "x y")}, "`x y`,b.c,d"),
        ("a,b.c,d", {"rename": (("b",), "z")}, "a,z.c,d"),
        ("a,b.c,d", {"rename": (("b", "c"), "z.z")}, "a,b.`z.z`,d"),
        ("a, `b`.c ,d", {"rename": (("q",), "z")}, "a, `b`.c ,d"),
        ("a,b.c,b.d", {"drop": [("b",)]}, "a"),
        ("a,b.c,b.d", {"drop": [("B", "c"), ("a",)]}, "b.d"),
        ("b,a", {"drop": [("b", "c")]}, "b,a"),
        ("a", {"drop": [("a",)]}, ""),
        ("ab,a", {"drop": [("a",)]}, "ab"),
        ("", {"drop": [("a",)]}, ""),
    ],
)
def test_the_columns_with_statistics_follow_renames_and_drops(text, change, expected):
    assert rewrite_stats_columns(text, **change) == expected


@given(
    st.lists(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3), min_size=1, max_size=3),
    st.text(min_size=1, max_size=5),
)
def test_a_rewritten_list_of_columns_reads_as_what_was_meant(paths, new_name):
    text = ",".join(".".join("`" + name.replace("`", "``") + "`" for name in path) for path in paths)
    old = paths[0][:1]
    expected = [(new_name, *path[1:]) if path[0].lower() == old[0].lower() else tuple(path) for path in paths]
    assert parse_column_list(rewrite_stats_columns(text, rename=(old, new_name))) == expected


def test_a_list_of_columns_that_cannot_be_read_is_refused():
    with pytest.raises(InvalidOptionError):
        rewrite_stats_columns("a,,b", drop=[("a",)])


def test_a_decimal_of_the_same_digits_is_the_same_type():
    schema = struct(a="decimal(10, 2)")
    assert change_column(schema, ("a",), WIDENED, data_type="decimal(10,2)") == schema
    error = refusal(change_column, schema, ("a",), data_type="decimal(12,2)")
    assert error.error_class == "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"


def test_a_column_behind_itself_stays_whatever_the_case():
    schema = struct(a="long", B="long", c="long")
    assert change_column(schema, ("b",), PLAIN, position=Position("b")) == schema
