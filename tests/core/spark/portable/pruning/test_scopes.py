# SPDX-License-Identifier: Apache-2.0
"""What names mean at the places of a query."""

from __future__ import annotations

from dataclasses import replace

from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.portable.pruning.scopes import Scope, Visible
from bayou.spark.portable.text.tree import Name

STRUCT = StructType((StructField("f", "integer"), StructField("t", "integer")))
TABLE = Scope.of(StructType((StructField("id", "long"), StructField("t", STRUCT), StructField("x", "long"))))


def path(scope, *parts, frame=None):
    return scope.path_of(Name(parts, frame))


def test_alone_a_name_may_have_any_case_and_any_number_of_parts():
    scope = TABLE.with_alias("t")
    assert path(scope, "ID") == ("id",)
    assert path(scope, "T", "Id") == ("id",)
    assert path(scope, "t", "t", "f") == ("t", "f")
    assert path(TABLE, "t", "f") == ("t", "f")
    assert path(scope, "t", "f") is None  # the alias, or the column of the same name
    assert path(scope, "other", "id") is None
    assert path(scope, "gone") is None


def test_beside_other_tables_a_name_has_the_alias_or_one_part():
    scope = TABLE.with_alias("t").with_other_side(hidden=["x"])
    assert path(scope, "id") == path(scope, "T", "ID") == ("id",)
    assert path(scope, "t", "t", "f") is path(TABLE.with_other_side(), "t", "f") is None
    assert path(scope, "x") is path(scope, "t", "x") is None


def test_upper_and_lower_case_may_matter():
    scope = replace(TABLE.with_alias("t"), settings=lambda: {"spark.sql.caseSensitive": "true"})
    assert path(scope, "id") == path(scope, "t", "id") == ("id",)
    assert path(scope, "ID") is path(scope, "T", "id") is None


def test_the_settings_are_asked_for_only_if_cases_differ():
    scope = replace(TABLE.with_alias("t"), settings=None)
    assert path(scope, "id") == path(scope, "t", "id") == ("id",)
    assert path(scope, "gone") is path(scope, "u", "id") is None


def test_a_column_with_a_new_name_has_no_qualifier():
    scope = TABLE.with_alias("a").with_columns([Visible("x", "id", has_qualifier=False)], is_alone=True)
    assert path(scope, "x") == ("id",)
    assert path(scope, "a", "x") is None
    assert path(scope.with_alias("b"), "b", "x") == ("id",)


def test_two_columns_with_one_name_are_none():
    assert path(TABLE.with_columns([Visible("x", "id"), Visible("X", "x")], is_alone=True), "x") is None


def test_a_column_of_a_frame_is_the_one_that_the_name_still_means():
    below = TABLE.as_frame(7)
    assert path(below, "id", frame=7) == ("id",)
    assert path(below, "id", frame=8) is None
    assert path(below.with_other_side([8]), "id", frame=7) == ("id",)
    assert path(below.with_other_side([7]), "id", frame=7) is None
    assert path(below.as_frame(7), "id", frame=7) is None
    swapped = below.with_columns([Visible("x", "id"), Visible("id", "x")], is_alone=True)
    assert path(swapped, "id", frame=7) is None
    assert path(swapped.as_frame(9), "id", frame=9) == ("x",)
