# SPDX-License-Identifier: Apache-2.0
"""A stream writes what a batch writes: the same rows into the same table give the same schema and the same values."""

from __future__ import annotations

import uuid

import pytest
from tests.support.operations.streams import read, run

import bayou

WIDENING = {"delta.enableTypeWidening": "true"}
MERGES = {"mergeSchema": "true"}

EVOLVING = {
    "float and decimal": ("x float, d decimal(5,2)", "0.1D x, cast(1.256 as decimal(10,3)) d", WIDENING),
    "integer": ("n int", "5000000000L n", WIDENING),
    "byte": ("n tinyint", "300 n", WIDENING),
    "integer to double": ("n int", "0.5D n", WIDENING),
    "integer to decimal": ("n int", "cast(1.5 as decimal(12,1)) n", WIDENING),
    "date": ("n date", "timestamp_ntz'2026-01-02 03:04:05' n", {**WIDENING, "delta.feature.timestampNtz": "supported"}),
    "nested field": ("s struct<a: int, b: float>", "named_struct('a', 5000000000L, 'b', 0.1D) s", WIDENING),
    "element": ("s array<int>", "array(5000000000L) s", WIDENING),
    "value of a map": ("s map<string, int>", "map('a', 5000000000L) s", WIDENING),
    "new column": ("n int", "1 n, 'a' more", {}),
    "new nested field": ("s struct<a: int>", "named_struct('a', 1, 'b', 'x') s", {}),
    "new field of elements": ("s array<struct<a: int>>", "array(named_struct('a', 1, 'b', 'x')) s", {}),
    "fewer columns": ("n int, m int", "1 n", {}),
    "another order": ("n int, m int", "1 m, 2 n", {}),
    "another case": ("n int, m int", "1 M, 2 N", {}),
    "mapped names": ("n int", "5000000000L n, 'a' `b c`", {**WIDENING, "delta.columnMapping.mode": "name"}),
    "default": ("n int, m int default 7", "1 n", {"delta.feature.allowColumnDefaults": "supported"}),
    "generated": ("n int, m int generated always as (n + 1)", "1 n", {}),
    "char and varchar": ("n char(5), m varchar(3)", "'ab' n, 'abc' m", {}),
}
"""For each case the columns of the table, the rows as SQL, and the table's properties."""


def table(spark, path, columns, properties, partitions=""):
    told = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    clauses = f"{f'partitioned by ({partitions})' if partitions else ''} {f'tblproperties ({told})' if told else ''}"
    spark.sql(f"create table delta.`{path}` (id bigint, {columns}) using delta {clauses}")


def streamed(spark, rows, tmp_path):
    """The same rows as a stream."""
    source = str(tmp_path / f"source-{uuid.uuid4().hex}")
    rows.write.parquet(source)
    return spark.readStream.schema(spark.read.parquet(source).schema).parquet(source)


def state(spark, path):
    found = read(spark, path)
    return found.schema.json(), sorted(map(repr, found.collect()))


def write(way, rows, path, name, **options):
    writer = rows.write.format("delta").mode("append").options(**options)
    if way == "saveAsTable":
        writer.saveAsTable(name)
    elif way == "bayou.write":
        bayou.write(rows, path, mode="append", **options)
    else:
        writer.save(path)


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("asked", ["option", "setting"])
@pytest.mark.parametrize("case", EVOLVING)
def test_a_stream_that_may_change_the_schema_writes_what_a_batch_writes(session, tmp_path, checkpoint, case, asked):
    columns, text, properties = EVOLVING[case]
    one, other = str(tmp_path / "batch"), str(tmp_path / "stream")
    for path in (one, other):
        table(session, path, columns, properties)
    options = MERGES if asked == "option" else {}
    if asked == "setting":
        session.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    rows = session.sql(f"select id, {text} from range(3)")
    write("save", rows, one, "", **options)
    run(streamed(session, rows, tmp_path), checkpoint, other, **options)
    assert state(session, other) == state(session, one)
    assert len(state(session, other)[1]) == 3


@pytest.mark.parametrize("way", ["saveAsTable", "bayou.write"])
@pytest.mark.parametrize("case", ["float and decimal", "nested field", "new nested field"])
def test_so_do_the_other_ways(spark, tmp_path, checkpoint, name, case, way):
    columns, text, properties = EVOLVING[case]
    one, other = str(tmp_path / "batch"), str(tmp_path / "stream")
    for path in (one, other):
        table(spark, path, columns, properties)
    spark.sql(f"create table {name} using delta location '{one}'")
    rows = spark.sql(f"select id, {text} from range(3)")
    write(way, rows, one, name, **MERGES)
    run(streamed(spark, rows, tmp_path), checkpoint, other, **MERGES)
    assert state(spark, other) == state(spark, one)


def test_partition_columns_are_widened_too(spark, tmp_path, checkpoint):
    one, other = str(tmp_path / "batch"), str(tmp_path / "stream")
    for path in (one, other):
        table(spark, path, "p int", WIDENING, partitions="p")
    rows = spark.sql("select id, 5000000000L p from range(3)")
    write("save", rows, one, "", **MERGES)
    run(streamed(spark, rows, tmp_path), checkpoint, other, **MERGES)
    assert state(spark, other) == state(spark, one)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("policy", ["ANSI", "LEGACY"])
def test_a_query_goes_on_after_the_schema_was_widened(session, tmp_path, checkpoint, policy):
    session.conf.set("spark.sql.storeAssignmentPolicy", policy)
    path, source = str(tmp_path / "t"), str(tmp_path / "source")
    table(session, path, "n int", WIDENING)
    for first in (5_000_000_000, 6_000_000_000):
        session.sql(f"select 1L id, {first}L n").write.mode("append").parquet(source)
        stream = session.readStream.schema("id bigint, n bigint").parquet(source)
        run(stream, checkpoint, path, **MERGES)
    assert sorted(row.n for row in read(session, path).collect()) == [5_000_000_000, 6_000_000_000]


def test_rows_of_wider_types_are_cast_where_the_schema_stays(spark, tmp_path, checkpoint):
    path = str(tmp_path / "t")
    table(spark, path, "n int, x float", WIDENING)
    run(streamed(spark, spark.sql("select 1L id, 7L n, 0.5D x"), tmp_path), checkpoint, path)
    assert [tuple(row) for row in read(spark, path).collect()] == [(1, 7, 0.5)]
    assert read(spark, path).schema.simpleString() == "struct<id:bigint,n:int,x:float>"


def test_a_batch_without_rows_changes_the_schema_as_a_write_without_rows_does(spark, tmp_path, checkpoint):
    one, other = str(tmp_path / "batch"), str(tmp_path / "stream")
    for path in (one, other):
        table(spark, path, "n int", WIDENING)
    rows = spark.sql("select id, 5000000000L n, 'a' more from range(3) where id > 10")
    write("save", rows, one, "", **MERGES)
    source = spark.sql("select id, 5000000000L n, 'a' more from range(3)")
    run(streamed(spark, source, tmp_path).where("id > 10"), checkpoint, other, **MERGES)
    assert state(spark, other) == state(spark, one)
