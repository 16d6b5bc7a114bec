# SPDX-License-Identifier: Apache-2.0
"""Columns and fields of rows go to those of the table, whatever their order, their case, or the odd names they have."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row
from tests.support.operations.streams import read
from tests.support.tables.ruled import append, create

import bayou
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_are_written_under_their_physical_names_with_ids(spark, table_path, mode):
    rows = spark.sql("select 1 a, 'z' `b c`, struct(1 as `x y`) s, array(struct(2 as q)) l, 'p 1' p")
    rows.write.format("delta").partitionBy("p").option("delta.columnMapping.mode", mode).save(table_path)
    append(spark.sql("select 2 A, 'z2' `B c`, struct(2 as `X y`) s, array(struct(3 as Q)) l, 'p2' p"), table_path)
    snapshot = bayou.open(table_path).snapshot()
    assert snapshot.protocol == Protocol(2, 7, None, ("appendOnly", "invariants", "columnMapping"))
    assert snapshot.properties["delta.columnMapping.maxColumnId"] == "7"
    physical = snapshot.schema.field("p").physical_name
    assert physical.startswith("col-")
    assert sorted(
        value for values in snapshot.files(["partition_values"])["partition_values"].to_pylist() for _, value in values
    ) == [
        "p 1",
        "p2",
    ]
    found = read(spark, table_path).where("p = 'p2'").select("a", "b c", "s.x y", "l").collect()
    assert [tuple(row) for row in found] == [(2, "z2", 2, [Row(q=3)])]
    assert read(spark, table_path).where("a = 1").count() == 1


def test_nested_columns_come_in_any_order_and_case_and_may_lack_fields(spark, table_path):
    inner = StructType((StructField("a", "long"), StructField("b", "string")))
    create(
        table_path,
        StructField("s", inner),
        StructField("l", ArrayType(inner)),
        StructField("m", MapType("string", inner)),
    )
    rows = "select struct('x' as B, 1L as A) S, array(struct(2L as a)) L, map('k', struct('y' as b)) M"
    append(spark.sql(rows), table_path)
    append(spark.sql("select cast(null as struct<b:string,a:bigint>) s"), table_path)
    assert read(spark, table_path).where("s is not null").collect() == [
        Row(s=Row(a=1, b="x"), l=[Row(a=2, b=None)], m={"k": Row(a=None, b="y")})
    ]
    assert read(spark, table_path).where("s is null and l is null and m is null").count() == 1


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_a_void_field_of_a_struct_is_in_no_file_and_null_when_it_is_read(spark, table_path, mode):
    rows = spark.sql("select 1 id, struct(1 as a, null as v, struct(null as w, 'x' as b) as t) s")
    rows.write.format("delta").option("delta.columnMapping.mode", mode).save(table_path)
    append(spark.sql("select 2 id, struct(struct('y' as b) as t, 2 as a) s union all select 3, null"), table_path)
    found = read(spark, table_path)
    kinds = dict(found.dtypes)
    assert kinds["s"] == "struct<a:int,v:void,t:struct<w:void,b:string>>"
    by_id = {row.id: row.s for row in found.collect()}
    assert [by_id[1].a, by_id[1].v, by_id[1].t.w, by_id[1].t.b] == [1, None, None, "x"]
    assert [by_id[2].a, by_id[2].v, by_id[2].t.b, by_id[3]] == [2, None, "y", None]
    assert found.where("s.t.b = 'y'").select("id", "s.a", "s.v").collect() == [(2, 2, None)]
    (file, *_) = (each for each in Path(table_path).rglob("*.parquet") if "_delta_log" not in each.parts)
    assert len(pq.read_metadata(file).schema.names) == 3
    append(spark.sql("select 4 id, struct(4 as a, 4.5D as v) s"), table_path, mergeSchema="true")
    assert {row.id: row.v for row in read(spark, table_path).select("id", "s.v").collect()} == {1: None, 2: None, 3: None, 4: 4.5}


def test_a_void_field_beside_one_of_a_wider_type_is_read_from_files_of_both_kinds(spark, table_path):
    rows = spark.sql("select struct(1 as a, null as v) s")
    rows.write.format("delta").option("delta.enableTypeWidening", "true").save(table_path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.changeColumn("s.a", dataType="decimal(12,2)")
    append(spark.sql("select struct(cast(2.5 as decimal(12,2)) as a) s"), table_path)
    assert sorted(float(row.s.a) for row in read(spark, table_path).collect()) == [1.0, 2.5]
    assert {row.s.v for row in read(spark, table_path).collect()} == {None}


def test_fields_with_odd_names_are_brought_to_their_places(spark, table_path):
    names = ["it's", "a\\b", "x-y", "größe", 'q"q', "`t", "a.b"]
    inner = StructType(tuple(StructField(name, "long") for name in names))
    create(table_path, StructField("s", StructType((StructField("in-ner", inner), StructField("z", "long")))))
    fields = ", ".join(f"{number}L as `{name.replace('`', '``')}`" for number, name in reversed(list(enumerate(names))))
    append(spark.range(1).selectExpr(f"struct(1L as z, struct({fields}) as `in-ner`) as s"), table_path)
    (row,) = read(spark, table_path).collect()
    assert list(row.s["in-ner"]) == list(range(len(names)))
