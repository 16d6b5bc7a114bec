# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from functools import partial

from bayou.protocol.features.type_widening import Widening
from bayou.protocol.types.schema import ArrayType, StructField, StructType
from bayou.spark.dml.merge.resolution import evolution


def struct(**fields):
    return StructType(tuple(StructField(name, kind) for name, kind in fields.items()))


evolved_schema = partial(evolution.evolved_schema, casts=lambda *_: True)
TABLE = struct(id="long", s=struct(a="integer"), l=ArrayType(struct(q="string")))


def test_a_star_takes_in_every_column_at_every_depth():
    source = struct(ID="long", s=struct(b="string"), l=ArrayType(struct(q="string", r="date")), w="double")
    assert evolved_schema(TABLE, source, [], has_star=True) == struct(
        id="long", s=struct(a="integer", b="string"), l=ArrayType(struct(q="string", r="date")), w="double"
    )


def test_assignments_take_in_what_they_name_and_the_source_has():
    source = struct(id="long", s=struct(b="string", c="date"), w="double", x="double")
    assert evolved_schema(TABLE, source, [("W",)], has_star=False).names == ("id", "s", "l", "w")
    inner = evolved_schema(TABLE, source, [("s", "B")], has_star=False).field("s")
    assert inner.type == struct(a="integer", b="string")
    assert evolved_schema(TABLE, source, [("s",)], has_star=False).field("s").type == struct(a="integer", b="string", c="date")
    assert evolved_schema(TABLE, source, [("nothing",), ("s", "nothing")], has_star=False) == TABLE


def test_the_tables_types_stay_unless_they_are_widened():
    source = struct(id="string", s=struct(a="long"))
    assert evolved_schema(TABLE, source, [], has_star=True) == TABLE
    wider = evolved_schema(TABLE, source, [], has_star=True, widening=Widening.ALWAYS)
    assert (wider.field("id").type, wider.field("s").type.field("a").type) == ("long", "long")
