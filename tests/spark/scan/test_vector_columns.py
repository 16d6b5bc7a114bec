# SPDX-License-Identifier: Apache-2.0
"""Rows that a deletion vector deletes are not there, on whatever way they are read."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.operations import streams
from tests.support.tables.built import file_of, ids, numbers, numbers_table, without_rows

import bayou
from bayou.errors import DeletionVectorError
from bayou.protocol.deletion_vectors import descriptor as deletion_vector
from bayou.protocol.deletion_vectors.roaring import Bitmap
from bayou.spark.jvm.core import bulk
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.scan import vector_columns
from bayou.spark.scan.vector_columns import BYTES, VECTOR, encode, positions, row_is_live, to_arrow, together
from bayou.testing.table_builder import TableBuilder, remove

FORMS = {
    "none": [],
    "the first": [0],
    "the last": [999],
    "every second": range(0, 1000, 2),
    "a run": range(100, 900),
    "all": range(1000),
    "all but one": [i for i in range(1000) if i != 500],
}


@pytest.mark.smoke
@pytest.mark.parametrize("form", FORMS)
def test_deleted_rows_are_not_read(spark, table_path, form):
    builder = TableBuilder(table_path).create()
    builder.commit(numbers(table_path, "a.parquet", range(1000), **(without_rows(FORMS[form]) if FORMS[form] else {})))
    builder.commit(numbers(table_path, "b.parquet", range(1000, 1010)))
    live = [i for i in range(1010) if i not in FORMS[form]]
    frame = spark.read.format("delta").load(table_path)
    assert ids(frame) == live
    assert frame.count() == len(live)
    assert frame.where("id >= 995").count() == len([i for i in live if i >= 995])
    assert frame.selectExpr("count(id)", "min(id + 0)", "sum(id)").first() == (len(live), min(live), sum(live))
    assert frame.groupBy().count().first() == (len(live),)


@pytest.mark.smoke
def test_vectors_that_cross_in_several_batches_belong_to_their_files(spark, table_path, monkeypatch):
    monkeypatch.setattr(bulk, "LOCAL_BATCH_BYTES", 64)
    builder = TableBuilder(table_path).create()
    for number in range(5):
        deleted = without_rows(range(number, 100, 7))
        builder.commit(numbers(table_path, f"{number}.parquet", range(100 * number, 100 * (number + 1)), **deleted))
    live = [100 * number + i for number in range(5) for i in range(100) if i < number or (i - number) % 7]
    assert ids(spark.read.format("delta").load(table_path)) == live


@pytest.mark.parametrize("kind", ["file", "file in a folder", "absolute", "shared file"])
def test_vectors_come_from_where_the_log_says(spark, tmp_path, kind):
    path = str(tmp_path / "ta ble")
    builder = TableBuilder(path).create()
    prefix = "ab" if kind == "file in a folder" else ""
    name = uuid.UUID(int=7)
    data, (first, second) = deletion_vector.encode_file([[0], [1, 2]], name, prefix=prefix)
    target = Path(path, prefix, f"deletion_vector_{name}.bin")
    target.parent.mkdir(parents=True, exist_ok=True)
    vectors = [first.to_json(), second.to_json()]
    if kind == "absolute":
        target = tmp_path / "else where" / "v.bin"
        target.parent.mkdir()
        vectors = [{**vector, "storageType": "p", "pathOrInlineDv": target.as_uri()} for vector in vectors]
    target.write_bytes(data)
    builder.commit(
        numbers(path, "a.parquet", [1, 2, 3], deletionVector=vectors[0]),
        numbers(path, "b.parquet", [4, 5, 6], deletionVector=vectors[1]),
    )
    assert ids(bayou.read(spark, path)) == [2, 3, 4]


def test_a_vector_that_grows_and_one_that_goes_are_followed(spark, table_path):
    builder = numbers_table(table_path, [0, 1, 2, 3])
    first = numbers(table_path, "0.parquet", range(4), **without_rows([1]))
    second = numbers(table_path, "0.parquet", range(4), **without_rows([1, 2]))
    builder.commit(remove("0.parquet"), first)
    builder.commit(remove("0.parquet", deletionVector=first["add"]["deletionVector"]), second)
    builder.commit(remove("0.parquet", deletionVector=second["add"]["deletionVector"]), numbers(table_path, "0.parquet", range(4)))
    seen = [ids(bayou.read(spark, table_path, version=version)) for version in (1, 2, 3, 4)]
    assert seen == [[0, 1, 2, 3], [0, 2, 3], [0, 3], [0, 1, 2, 3]]


def test_vectors_and_partitions_and_filters_together(spark, table_path):
    builder = TableBuilder(table_path).create({"id": "long", "p": "string"}, partition_by=["p"])
    for number, value in enumerate(["a", "b", None]):
        rows = range(number * 10, number * 10 + 10)
        vector = without_rows([0, 9]) if value != "b" else {}
        builder.commit(numbers(table_path, f"{number}.parquet", rows, partitionValues={"p": value}, **vector))
    frame = bayou.read(spark, table_path)
    assert ids(frame) == [*range(1, 9), *range(10, 20), *range(21, 29)]
    assert ids(frame.where("p = 'a'")) == list(range(1, 9))
    assert ids(frame.where("p is null and id > 25")) == [26, 27, 28]
    assert frame.where("p <> 'a'").select("p").distinct().collect() == [("b",)]
    assert sorted(frame.groupBy("p").count().collect(), key=str) == [("a", 8), ("b", 10), (None, 8)]


def test_rows_beyond_the_end_of_a_file_take_no_memory(spark, table_path, tmp_path):
    builder = TableBuilder(table_path).create()
    builder.commit(numbers(table_path, "a.parquet", range(10), **without_rows([3, 2**36])))
    builder.commit(numbers(table_path, "b.parquet", range(10, 20), **without_rows([2**62])))
    builder.commit(numbers(table_path, "c.parquet", range(20, 23), **without_rows([1])))
    live = [i for i in range(23) if i not in {3, 21}]
    assert ids(bayou.read(spark, table_path)) == live
    assert ids(bayou.read(spark, table_path).where("id > 5 and id < 20")) == list(range(6, 20))
    streams.run(streams.stream(spark, table_path), tmp_path / "checkpoint", str(tmp_path / "copy"))
    assert ids(bayou.read(spark, str(tmp_path / "copy"))) == live


@pytest.mark.parametrize("stats", [None, {"numRecords": 2**40}])
def test_a_vector_that_would_take_too_much_memory_is_refused(spark, table_path, stats):
    builder = TableBuilder(table_path).create()
    builder.commit(file_of(table_path, "a.parquet", {"id": [1, 2]}, stats=stats, **without_rows([1, 2**36])))
    with pytest.raises(DeletionVectorError, match=f"deletes row {2**36} of its file") as caught:
        bayou.read(spark, table_path).collect()
    assert caught.value.error_class == "DELTA_DELETION_VECTOR_INVALID_ROW_INDEX"


@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_a_sparse_vector_of_a_large_file(spark, table_path, vectorised):
    count = 1_100_000
    deleted = [0, 4095, 4096, 8191, 500_000, 500_001, 1_048_575, 1_048_576, count - 1]
    builder = TableBuilder(table_path).create()
    builder.commit(file_of(table_path, "large.parquet", {"id": pa.array(np.arange(count))}, **without_rows(deleted)))
    builder.commit(numbers(table_path, "flat.parquet", range(count, count + 10), **without_rows([3])))
    builder.commit(numbers(table_path, "plain.parquet", [-1]))
    assert encode(Bitmap.from_positions(deleted)).blocks is not None
    frame = bayou.read(row_session(spark, "spark.sql.parquet.enableVectorizedReader", vectorised), table_path)
    assert frame.where("id is not null").count() == count + 11 - len(deleted) - 1
    near = sorted({i + d for i in [*deleted, count + 3] for d in (-1, 0, 1)} - {-1})
    expected = [i for i in near if i not in {*deleted, count + 3} and i < count + 10]
    assert ids(frame.where(F.col("id").isin(near))) == expected


@pytest.mark.parametrize("vectorised", ["true", "false"])
@pytest.mark.parametrize("encoding", ["flat", "sparse"])
def test_the_condition_on_rows_leaves_room_for_a_query_in_the_code_that_java_compiles(
    spark, table_path, monkeypatch, encoding, vectorised
):
    """Java interprets a method of more than 8,000 bytes: each row would take many times as long."""
    if encoding == "sparse":
        monkeypatch.setattr(vector_columns, "_SPARSE_FROM_ROWS", 0)
    TableBuilder(table_path).create().commit(numbers(table_path, "a.parquet", range(1000), **without_rows([999])))
    session = row_session(spark, "spark.sql.parquet.enableVectorizedReader", vectorised)
    frame = bayou.read(session, table_path).where("id is not null")
    plan = frame._jdf.queryExecution().executedPlan()
    code = Jvm.of(spark).module("org.apache.spark.sql.execution.debug.package").codegenString(plan)
    sizes = [int(size) for size in re.findall(r"maxMethodCodeSize:(\d+)", code)]
    assert ids(frame) == list(range(999))
    assert sizes
    assert max(sizes) < 4_000


def row_session(spark, setting, value):
    """A session whose settings make Spark read row by row."""
    session = bayou.enable(spark.newSession())
    session.conf.set(setting, value)
    return session


ROW_BY_ROW = {
    "reader": ("spark.sql.parquet.enableVectorizedReader", "false"),
    "generated code": ("spark.sql.codegen.wholeStage", "false"),
    "columns": ("spark.sql.codegen.maxFields", "5"),
}


def scanned_types(frame):
    """The types of the columns that Spark's scan of files gives."""
    leaf = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    assert "Scan" in leaf.getClass().getSimpleName()
    output = leaf.output()
    return [output.apply(number).dataType().typeName() for number in range(output.size())]


@pytest.mark.smoke
@pytest.mark.parametrize("encoding", ["flat", "sparse", "both"])
@pytest.mark.parametrize("reason", ROW_BY_ROW)
def test_where_spark_makes_a_row_of_each_row_the_bytes_of_vectors_are_not_copied_into_it(
    spark, table_path, monkeypatch, reason, encoding
):
    if encoding != "flat":
        monkeypatch.setattr(vector_columns, "_SPARSE_FROM_ROWS", 0)
        monkeypatch.setattr(vector_columns, "_SPARSE_BELOW", 2 if encoding == "sparse" else 0.3)
    deleted = {"a": [0, 7, 999], "b": [], "c": range(0, 1000, 2), "d": range(1000), "e": [500, 4095, 4096, 8999]}
    builder = TableBuilder(table_path).create()
    live = []
    for number, (name, rows) in enumerate(deleted.items()):
        values = range(number * 10_000, number * 10_000 + (9000 if name == "e" else 1000))
        builder.commit(numbers(table_path, f"{name}.parquet", values, **(without_rows(rows) if rows else {})))
        live += [value for row, value in enumerate(values) if row not in set(rows)]
    frame = bayou.read(row_session(spark, *ROW_BY_ROW[reason]), table_path)
    assert ids(frame) == live
    assert ids(frame.where("id > 20000 and id < 40000 or id = 5")) == [i for i in live if 20_000 < i < 40_000 or i == 5]
    assert frame.count() == len(live)
    assert "binary" not in scanned_types(frame)
    assert "binary" in scanned_types(bayou.read(spark, table_path))


@pytest.mark.smoke
@pytest.mark.parametrize("by_rows", ["true", "false"])
def test_functions_of_the_session_under_the_names_of_sparks_own_are_not_asked_which_rows_are_deleted(spark, table_path, by_rows):
    own = bayou.enable(spark.newSession())
    own.conf.set("spark.sql.parquet.enableVectorizedReader", by_rows)
    bayou.write(own.range(30), table_path, properties={"delta.enableDeletionVectors": "true"})
    table = bayou.DeltaTable.forPath(own, table_path)
    table.delete("id in (3, 4, 5)")
    for name in ("ascii", "substring", "shiftright", "instr", "chr", "concat"):
        own.udf.register(name, lambda *_: "x")
    table.delete("id in (4, 5, 11)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_columns, "_SPARSE_FROM_ROWS", 0)
        patch.setattr(vector_columns, "_SPARSE_BELOW", 2)
        assert table.update("id = 12 or id = 3", {"id": "-1"}).num_affected_rows == 1
        assert ids(bayou.read(own, table_path)) == sorted({-1, *range(30)} - {3, 4, 5, 11, 12})


@pytest.mark.smoke
def test_the_rows_of_a_wide_table_are_read_without_the_bytes_of_vectors_in_each(spark, table_path):
    names = [f"c{number}" for number in range(120)]
    builder = TableBuilder(table_path).create(dict.fromkeys(names, "long"))
    for number in range(2):
        rows = pa.table(dict.fromkeys(names, pa.array(range(number * 10, number * 10 + 10), pa.int64())))
        builder.commit(file_of(table_path, f"{number}.parquet", rows, **without_rows([number])))
    live = [i for i in range(20) if i not in (0, 11)]
    frame = spark.read.format("delta").load(table_path)
    assert [row[119] for row in sorted(frame.collect())] == live
    assert ids(frame.select("c119")) == live
    assert "binary" not in scanned_types(frame)


def test_a_plan_shows_nothing_of_the_vectors_that_it_carries(spark, table_path):
    builder = TableBuilder(table_path).create()
    for number in range(20):
        values = range(number * 10_000, number * 10_000 + 10_000)
        builder.commit(numbers(table_path, f"{number}.parquet", values, **without_rows(range(0, 10_000, 3))))
    frame = bayou.read(row_session(spark, *ROW_BY_ROW["reader"]), table_path).where("id > 3")
    execution = frame._jdf.queryExecution()
    assert "__bayou_dv_bytes" not in execution.toString()
    assert len(execution.toString()) < 6_000
    assert len(execution.executedPlan().treeString()) < 2_000


def test_vectors_of_too_many_bytes_for_one_condition_stay_with_their_files(spark, table_path, monkeypatch):
    monkeypatch.setattr(vector_columns, "_MOST_TOGETHER_BYTES", 10)
    TableBuilder(table_path).create().commit(numbers(table_path, "a.parquet", range(1000), **without_rows([999])))
    frame = bayou.read(row_session(spark, *ROW_BY_ROW["reader"]), table_path)
    assert ids(frame) == list(range(999))
    assert "binary" in scanned_types(frame)


def live_rows(spark, columns, given, count):
    """The row numbers that the condition leaves, for each vector, by Spark itself and without a file."""
    condition = row_is_live(columns, "number")
    found = []
    for number in range(len(columns[VECTOR])):
        rows = spark.range(count).toDF("number")
        for name, values in columns.items():
            value = values[number].as_py()
            kind = "binary" if pa.types.is_binary(values.type) else "bigint" if pa.types.is_int64(values.type) else "int"
            rows = rows.withColumn(name, F.lit(bytearray(value) if isinstance(value, bytes) else value).cast(kind))
        if given is not None:
            rows = rows.withColumn(BYTES, F.array(F.lit(bytearray(given))))
        found.append(ids(rows.where(condition)))
    return found


BITMAPS = st.one_of(
    st.sets(st.integers(0, 13_000), max_size=40),
    st.tuples(st.integers(0, 9000), st.integers(1, 4000)).map(lambda run: set(range(run[0], run[0] + run[1]))),
    st.sampled_from([{4095}, {4096}, {0, 4095, 4096, 8191, 8192}, set(range(4096)), set(range(6)), {6, 7, 13, 14}]),
)


@given(deleted=st.lists(BITMAPS, min_size=1, max_size=3), sparse=st.booleans())
@settings(max_examples=4)
def test_both_encodings_leave_the_rows_that_are_not_deleted(spark, deleted, sparse):
    with pytest.MonkeyPatch.context() as patch:
        if sparse:
            patch.setattr(vector_columns, "_SPARSE_FROM_ROWS", 0)
            patch.setattr(vector_columns, "_SPARSE_BELOW", 2)
        bitmaps = [Bitmap.from_positions(rows) for rows in deleted]
        vectors = [encode(bitmap) for bitmap in bitmaps]
    assert [set(positions(bitmap).tolist()) for bitmap in bitmaps] == deleted
    assert all((vector is None) == (not rows) for vector, rows in zip(vectors, deleted, strict=True))
    expected = [[i for i in range(13_500) if i not in rows] for rows in deleted]
    columns = to_arrow(vectors)
    assert live_rows(spark, columns, None, 13_500) == expected
    assert live_rows(spark, *together(columns), 13_500) == expected


@given(rows=st.sets(st.integers(0, 1 << 34), max_size=50), run=st.tuples(st.integers(0, 1 << 33), st.integers(0, 200_000)))
def test_positions_are_the_bitmaps_rows(rows, run):
    everything = rows | set(range(run[0], run[0] + run[1]))
    assert positions(Bitmap.from_positions(everything)).tolist() == sorted(everything)


def test_the_encoding_follows_the_density():
    million = 1 << 20
    assert encode(Bitmap.from_positions([])) is None
    assert encode(Bitmap.from_positions([million - 1])).blocks is None
    assert encode(Bitmap.from_positions([2 * million])).blocks is not None
    assert encode(Bitmap.from_positions(range(0, 2 * million, 20))).blocks is None
    sparse = encode(Bitmap.from_positions(range(0, 100 * million, 10_000)))
    assert len(sparse.vector) + len(sparse.blocks) < 100 * million // 140 + 2 * 100 * million // 10_000 + 100
    assert max(sparse.vector) < 128
    assert max(sparse.blocks) < 128
