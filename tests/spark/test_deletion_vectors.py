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
from tests.spark.tables import file_of, ids, numbers, numbers_table, without_rows

import bayou
from bayou.protocol import deletion_vector
from bayou.protocol.roaring import Bitmap
from bayou.spark import deletion_vectors
from bayou.spark.deletion_vectors import BLOCKS, VECTOR, encode, positions, row_is_live, to_arrow
from bayou.spark.jvm import bulk
from bayou.spark.jvm.bridge import Jvm
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


@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_a_sparse_vector_of_a_large_file(spark, table_path, vectorised):
    count = 1_100_000
    deleted = [0, 4095, 4096, 8191, 500_000, 500_001, 1_048_575, 1_048_576, count - 1]
    builder = TableBuilder(table_path).create()
    builder.commit(file_of(table_path, "large.parquet", {"id": pa.array(np.arange(count))}, **without_rows(deleted)))
    builder.commit(numbers(table_path, "flat.parquet", range(count, count + 10), **without_rows([3])))
    builder.commit(numbers(table_path, "plain.parquet", [-1]))
    assert encode(Bitmap.from_positions(deleted)).blocks is not None
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorised)
    frame = bayou.read(session, table_path)
    assert frame.where("id is not null").count() == count + 11 - len(deleted) - 1
    near = sorted({i + d for i in [*deleted, count + 3] for d in (-1, 0, 1)} - {-1})
    expected = [i for i in near if i not in {*deleted, count + 3} and i < count + 10]
    assert ids(frame.where(F.col("id").isin(near))) == expected


@pytest.mark.parametrize("encoding", ["flat", "sparse"])
def test_the_condition_on_rows_leaves_room_for_a_query_in_the_code_that_java_compiles(spark, table_path, monkeypatch, encoding):
    """Java interprets a method of more than 8,000 bytes: each row would take a hundred times as long."""
    if encoding == "sparse":
        monkeypatch.setattr(deletion_vectors, "_SPARSE_FROM_ROWS", 0)
    TableBuilder(table_path).create().commit(numbers(table_path, "a.parquet", range(1000), **without_rows([999])))
    frame = bayou.read(spark, table_path).where("id is not null")
    plan = frame._jdf.queryExecution().executedPlan()
    code = Jvm.of(spark).module("org.apache.spark.sql.execution.debug.package").codegenString(plan)
    sizes = [int(size) for size in re.findall(r"maxMethodCodeSize:(\d+)", code)]
    assert ids(frame) == list(range(999))
    assert sizes
    assert max(sizes) < 3_000


def live_rows(spark, vectors, count):
    """The row numbers that the condition leaves, for each vector, by Spark itself and without a file."""
    columns = to_arrow(vectors)
    condition = row_is_live(columns, "number")
    found = []
    for number in range(len(vectors)):
        rows = spark.range(count).toDF("number")
        for name in (VECTOR, BLOCKS):
            if name in columns:
                value = columns[name][number].as_py()
                rows = rows.withColumn(name, F.lit(None if value is None else bytearray(value)).cast("binary"))
        found.append(ids(rows.where(condition)))
    return found


BITMAPS = st.one_of(
    st.sets(st.integers(0, 13_000), max_size=40),
    st.tuples(st.integers(0, 9000), st.integers(1, 4000)).map(lambda run: set(range(run[0], run[0] + run[1]))),
    st.sampled_from([{4095}, {4096}, {0, 4095, 4096, 8191, 8192}, set(range(4096)), set(range(6)), {6, 7, 13, 14}]),
)


@given(deleted=st.lists(BITMAPS, min_size=1, max_size=3), sparse=st.booleans())
@settings(max_examples=25)
def test_both_encodings_leave_the_rows_that_are_not_deleted(spark, deleted, sparse):
    with pytest.MonkeyPatch.context() as patch:
        if sparse:
            patch.setattr(deletion_vectors, "_SPARSE_FROM_ROWS", 0)
            patch.setattr(deletion_vectors, "_SPARSE_BELOW", 2)
        bitmaps = [Bitmap.from_positions(rows) for rows in deleted]
        vectors = [encode(bitmap) for bitmap in bitmaps]
    assert [set(positions(bitmap).tolist()) for bitmap in bitmaps] == deleted
    assert all((vector is None) == (not rows) for vector, rows in zip(vectors, deleted, strict=True))
    expected = [[i for i in range(13_500) if i not in rows] for rows in deleted]
    assert live_rows(spark, vectors, 13_500) == expected


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
