# SPDX-License-Identifier: Apache-2.0
"""Whether the fields of structs go by name or by position in an INSERT by position."""

from __future__ import annotations

import pytest

from bayou.protocol.features.type_widening import Widening
from bayou.protocol.stats.file_stats import COLLATIONS
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, UserDefinedType
from bayou.spark.write.insert_columns import goes_by_name

VECTOR = UserDefinedType("pyspark.ml.linalg.VectorUDT", StructType(()), "{}")


def struct(**fields):
    return StructType(tuple(StructField(name, kind) for name, kind in fields.items()))


XY, YX = struct(x="integer", y="string"), struct(y="string", x="integer")


@pytest.mark.parametrize("wrap", [lambda s: s, ArrayType, lambda s: MapType("string", s), lambda s: struct(s=s)])
def test_fields_in_another_order_go_by_name_where_names_and_types_are_the_tables(wrap):
    table = struct(id="long", s=wrap(XY), v=VECTOR)
    assert goes_by_name(table, struct(id="long", s=wrap(YX), v=VECTOR))
    assert not goes_by_name(table, struct(id="integer", s=wrap(YX), v=VECTOR))
    assert not goes_by_name(table, struct(ID="long", s=wrap(YX), v=VECTOR))
    assert not goes_by_name(table, struct(id="long", s=wrap(struct(Y="string", x="integer")), v=VECTOR))
    assert not goes_by_name(table, struct(id="long", s=wrap(struct(y="string")), v=VECTOR))


def test_columns_that_are_in_their_places_have_nothing_to_go_by():
    table = struct(id="long", s=XY)
    assert not goes_by_name(table, table)
    assert not goes_by_name(table, struct(id="long", s=XY, extra="integer"))


def test_a_field_more_goes_by_name_too_and_a_wider_type_where_it_may_come():
    table = struct(id="integer", s=XY)
    assert goes_by_name(table, struct(id="integer", s=struct(y="string", z="long", x="integer"), extra="integer"))
    wider = struct(id="long", s=YX)
    assert goes_by_name(table, wider, widening=Widening.ALWAYS)
    assert not goes_by_name(table, wider)


def test_another_collation_is_another_type():
    table = StructType((StructField("c", "string", metadata={COLLATIONS: {"c": "spark.UTF8_LCASE"}}), StructField("s", XY)))
    given = struct(c="string", s=YX)
    assert not goes_by_name(table, given)
    assert goes_by_name(table, StructType((table.fields[0], given.fields[1])))
