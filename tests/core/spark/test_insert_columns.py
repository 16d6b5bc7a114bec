# SPDX-License-Identifier: Apache-2.0
"""What the rows of an INSERT are aligned to where they have more than the table."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayou.protocol.evolution.schema_merge import merge_schemas
from bayou.protocol.features.type_widening import Widening
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType
from bayou.spark.write.insert_columns import evolved_columns


def struct(**fields):
    return StructType(tuple(StructField(name, kind) for name, kind in fields.items()))


TABLE = struct(id="long", s=struct(x="integer"), a=ArrayType(struct(y="integer")), m=MapType("string", struct(z="integer")))


def test_by_position_what_is_beyond_the_table_keeps_its_name():
    rows = struct(
        p="integer",
        q=struct(v="long", w="string"),
        r=ArrayType(struct(v="long", w="string")),
        t=MapType("string", struct(v="long", w="string")),
        more="date",
    )
    assert evolved_columns(TABLE, rows, by_name=False) == struct(
        id="long",
        s=struct(x="integer", w="string"),
        a=ArrayType(struct(y="integer", w="string")),
        m=MapType("string", struct(z="integer", w="string")),
        more="date",
    )


def test_by_position_a_name_of_the_table_may_come_twice():
    assert evolved_columns(struct(id="long"), struct(x="long", ID="long"), by_name=False).names == ("id", "ID")


def test_by_name_columns_match_whatever_the_case_and_new_ones_come_last():
    rows = struct(new="date", S=struct(other="long", X="string"), ID="string")
    found = evolved_columns(TABLE, rows, by_name=True)
    assert found.names == ("id", "s", "a", "m", "new")
    assert found.field("s").type == struct(x="integer", other="long")
    assert found.field("id").type == "long"


def test_rows_with_fewer_columns_leave_the_table_as_it_is():
    for by_name in (False, True):
        assert evolved_columns(TABLE, struct(id="long"), by_name=by_name) == TABLE
        assert evolved_columns(TABLE, StructType(()), by_name=by_name) == TABLE


def test_types_are_taken_over_where_they_are_wider_and_the_table_allows_it():
    table, rows = (
        struct(a="integer", b=ArrayType("float"), c="string", d="void"),
        struct(a="long", b=ArrayType("double"), c="long", d="date"),
    )
    kept = struct(a="integer", b=ArrayType("float"), c="string", d="date")
    assert evolved_columns(table, rows, by_name=True) == kept
    wide = struct(a="long", b=ArrayType("double"), c="string", d="date")
    assert evolved_columns(table, rows, by_name=False, widening=Widening.ALWAYS) == wide


def test_new_columns_may_be_null():
    rows = StructType((StructField("id", "long"), StructField("new", "long", nullable=False)))
    assert evolved_columns(struct(id="long"), rows, by_name=True).field("new").nullable


KINDS = st.sampled_from(["integer", "long", "string"])
NAMES = st.lists(st.sampled_from("abcdef"), unique=True, min_size=1)
FLAT = NAMES.flatmap(
    lambda names: st.tuples(*(KINDS for _ in names)).map(lambda kinds: struct(**dict(zip(names, kinds, strict=True))))
)
SCHEMAS = st.builds(lambda one, two: StructType((*one.fields, StructField("s", two))), FLAT, FLAT)


@given(SCHEMAS, SCHEMAS, st.booleans())
def test_the_table_stays_the_beginning_and_a_second_time_changes_nothing(table, rows, by_name):
    found = evolved_columns(table, rows, by_name=by_name)
    assert found.names[: len(table.fields)] == table.names
    assert evolved_columns(found, found, by_name=by_name) == found


@given(SCHEMAS, SCHEMAS)
def test_by_name_a_merge_of_schemas_takes_what_the_rows_became(table, rows):
    found = evolved_columns(table, rows, by_name=True)
    assert merge_schemas(table, found) == found
