# SPDX-License-Identifier: Apache-2.0
"""RENAME COLUMN and DROP COLUMN, and what goes with them: partition columns and the columns with statistics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.protocol.evolution.schema_fields import MAPPED, NESTED, field, refusal, struct

from bayou.errors import InvalidOptionError, UnsupportedFeatureError
from bayou.protocol.evolution.schema_changes import (
    AddedColumn,
    add_columns,
    drop_columns,
    rename_column,
    rename_partition_columns,
    rewrite_stats_columns,
)
from bayou.protocol.stats.file_stats import parse_column_list
from bayou.protocol.types.char_varchar import DECLARED_TYPE
from bayou.protocol.types.paths import TableRules, type_at
from bayou.protocol.types.schema import ArrayType, StructType

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
