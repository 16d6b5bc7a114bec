# SPDX-License-Identifier: Apache-2.0
"""Partition values of bytes: those that are text are kept, and any others are refused before their file is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.observing import parquet_files
from tests.support.operations.streams import run
from tests.support.tables.queried import FILES, VECTORS

import bayou
from bayou.errors import SchemaMismatchError

KEPT = [
    b"a",
    b"\x01\x02",
    b"\xc3\xbc",
    "\ufffd".encode(),
    "\U0001f600".encode(),
    b"a/b=c%2F",
    b"__HIVE_DEFAULT_PARTITION__",
    b" ",
    b"\x7f",
]
REFUSED = [b"\xff", b"\x80", b"a\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\x00", b"a\x00b", b"\xf5\x80\x80\x80"]


def literal(value, kind):
    text = f"X'{value.hex()}'"
    return text if kind == "binary" else f"cast({text} as string)"


def make(spark, path, kind, way=FILES):
    rows = spark.sql(f"select 1L id, {literal(b'a', kind)} k")
    bayou.write(rows, path, partition_by=["k"], **way)


@pytest.mark.parametrize("kind", ["binary", "string"])
def test_bytes_that_are_text_come_back(spark, table_path, kind):
    values = ", ".join(f"({number}, {literal(value, kind)})" for number, value in enumerate(KEPT))
    bayou.write(spark.sql(f"select * from values {values} as v(id, k)"), table_path, partition_by=["k"])
    found = bayou.read(spark, table_path).selectExpr("id", "cast(k as binary) k").collect()
    assert {row.id: bytes(row.k) for row in found} == dict(enumerate(KEPT))
    for number, value in enumerate(KEPT):
        rows = bayou.read(spark, table_path).where(f"k = {literal(value, kind)}")
        assert [row.id for row in rows.collect()] == [number]
        deleted = spark.sql(f"delete from delta.`{table_path}` where k = {literal(value, kind)}").first()[0]
        assert deleted == 1
    assert bayou.read(spark, table_path).count() == 0


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: value.hex())
@pytest.mark.parametrize("kind", ["binary", "string"])
def test_other_bytes_are_refused(spark, table_path, kind, value):
    make(spark, table_path, kind)
    rows = spark.sql(f"select 2L id, {literal(value, kind)} k")
    with pytest.raises(SchemaMismatchError) as caught:
        bayou.write(rows, table_path, mode="append")
    assert caught.value.column == "k"
    assert caught.value.value == value
    assert ("NUL" in str(caught.value)) == (b"\0" in value)
    assert len(str(caught.value)) < 600
    assert len(parquet_files(table_path)) == 1


def ways(path, name):
    other = "X'FF'"
    source = f"(select 1L id, {other} k) s on t.id = s.id"
    return {
        "insert": f"insert into {name} values (2, {other})",
        "insert overwrite": f"insert overwrite {name} values (2, {other})",
        "replace where": f"insert into {name} replace where k = {other} values (2, {other})",
        "update": f"update {name} set k = {other}",
        "merge update": f"merge into {name} t using {source} when matched then update set k = s.k",
        "merge insert": f"merge into {name} t using {source} and false when not matched then insert *",
        "ctas": f"create table {name}_c using delta partitioned by (k) location '{path}-c' as select 2L id, {other} k",
    }


@pytest.mark.parametrize("way", ways("", ""))
@pytest.mark.parametrize("vectors", [False, True], ids=["files", "vectors"])
@pytest.mark.parametrize("feeds", ["false", "true"], ids=["", "feed"])
def test_every_statement_refuses_them(spark, table_path, name, way, vectors, feeds):
    made = {**(VECTORS if vectors else FILES), "delta.enableChangeDataFeed": feeds}
    make(spark, table_path, "binary", made)
    spark.sql(f"create table {name} using delta location '{table_path}'")
    before = sorted(parquet_files(table_path))
    with pytest.raises(SchemaMismatchError, match="X'FF'"):
        spark.sql(ways(table_path, name)[way]).collect()
    assert sorted(parquet_files(table_path)) == before
    assert bayou.DeltaTable.forPath(spark, table_path).history(1).first().version == 0


@pytest.mark.parametrize("options", [{"partitionOverwriteMode": "dynamic"}, {"replaceWhere": "k = X'80'"}, {"replaceUsing": "k"}])
def test_an_overwrite_of_a_part_deletes_no_rows_of_others(spark, table_path, options):
    make(spark, table_path, "binary")
    rows = spark.sql("select 2L id, X'80' k")
    with pytest.raises(SchemaMismatchError):
        rows.write.format("delta").mode("overwrite").options(**options).save(table_path)
    assert bayou.read(spark, table_path).count() == 1


def test_a_stream_refuses_them(spark, table_path, tmp_path, checkpoint):
    make(spark, table_path, "binary")
    spark.sql("select 2L id, X'FF' k").write.parquet(str(tmp_path / "source"))
    rows = spark.readStream.schema("id long, k binary").parquet(str(tmp_path / "source"))
    with pytest.raises(Exception, match="X'FF'"):
        run(rows, checkpoint, table_path)
    assert bayou.read(spark, table_path).count() == 1


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ufffd"])
@pytest.mark.parametrize("kind", ["binary", "string"])
def test_values_of_other_writers_are_read_and_deleted(spark, table_path, kind, text):
    make(spark, table_path, kind)
    log = Path(table_path, "_delta_log", "00000000000000000000.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["partitionValues"]["k"] = text
    log.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    Path(table_path, "_delta_log", f".{log.name}.crc").unlink(missing_ok=True)
    where = f"k = {literal(text.encode(), kind)}"
    assert bayou.read(spark, table_path).where(where).count() == 1
    assert bayou.read(spark, table_path).where(f"k = {literal(b'b', kind)}").count() == 0
    assert spark.sql(f"delete from delta.`{table_path}` where {where}").first()[0] == 1
