# SPDX-License-Identifier: Apache-2.0
"""What the rows of an INSERT are aligned to where they have more than the table.

Whether the fields of structs go by name or by position in an INSERT by position.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.protocol.evolution.schema_merge import merge_schemas
from bayou.protocol.features.type_widening import Widening
from bayou.protocol.stats.file_stats import COLLATIONS
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, UserDefinedType
from bayou.spark.write.insert_columns import evolved_columns, matches_fields_by_name


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


VECTOR = UserDefinedType("pyspark.ml.linalg.VectorUDT", StructType(()), "{}")


XY, YX = struct(x="integer", y="string"), struct(y="string", x="integer")


@pytest.mark.parametrize("wrap", [lambda s: s, ArrayType, lambda s: MapType("string", s), lambda s: struct(s=s)])
def test_fields_in_another_order_go_by_name_where_names_and_types_are_the_tables(wrap):
    table = struct(id="long", s=wrap(XY), v=VECTOR)
    assert matches_fields_by_name(table, struct(id="long", s=wrap(YX), v=VECTOR))
    assert not matches_fields_by_name(table, struct(id="integer", s=wrap(YX), v=VECTOR))
    assert not matches_fields_by_name(table, struct(ID="long", s=wrap(YX), v=VECTOR))
    assert not matches_fields_by_name(table, struct(id="long", s=wrap(struct(Y="string", x="integer")), v=VECTOR))
    assert not matches_fields_by_name(table, struct(id="long", s=wrap(struct(y="string")), v=VECTOR))


def test_columns_that_are_in_their_places_have_nothing_to_go_by():
    table = struct(id="long", s=XY)
    assert not matches_fields_by_name(table, table)
    assert not matches_fields_by_name(table, struct(id="long", s=XY, extra="integer"))


def test_a_field_more_goes_by_name_too_and_a_wider_type_where_it_may_come():
    table = struct(id="integer", s=XY)
    assert matches_fields_by_name(table, struct(id="integer", s=struct(y="string", z="long", x="integer"), extra="integer"))
    wider = struct(id="long", s=YX)
    assert matches_fields_by_name(table, wider, widening=Widening.ALWAYS)
    assert not matches_fields_by_name(table, wider)


def test_another_collation_is_another_type():
    table = StructType((StructField("c", "string", metadata={COLLATIONS: {"c": "spark.UTF8_LCASE"}}), StructField("s", XY)))
    given = struct(c="string", s=YX)
    assert not matches_fields_by_name(table, given)
    assert matches_fields_by_name(table, StructType((table.fields[0], given.fields[1])))
