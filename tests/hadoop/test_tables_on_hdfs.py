# SPDX-License-Identifier: Apache-2.0
"""Tables on a real HDFS through Spark: written, read, changed by several threads, and at a cost that no number of files changes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.observing import jobs, py4j_calls
from tests.support.tables.built import file_of

import bayou
from bayou.errors import DataFileNotFoundError, DeletionVectorError, StorageError, TableExistsError
from bayou.protocol.actions import paths
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.deletion_vectors.descriptor import encode_file
from bayou.spark.data_files.uncommitted_files import UncommittedFiles
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.native.backend import backend_of_jvm
from bayou.spark.scan.footers import read_footers
from bayou.storage import open_store, qualify
from bayou.testing.table_builder import TableBuilder

VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))


def rows_of(frame):
    return sorted(tuple(row) for row in frame.collect())


def on_hdfs(table_path, folder):
    """Copies a table from the local disk into a folder on HDFS."""
    store = open_store(qualify(folder))
    for file in Path(table_path).rglob("*"):
        if file.is_file():
            store.put(file.relative_to(table_path).as_posix(), file.read_bytes())
    return folder


def test_a_partitioned_table_is_created_appended_overwritten_and_travels_in_time(spark, folder, hdfs):
    days = [(1, "a b", 0.5), (2, "ü/%41=:", 1.5), (3, None, 2.5)]
    columns = "id long, day string, x double"
    spark.createDataFrame(days, columns).write.format("delta").partitionBy("day").save(folder)
    result = bayou.write(spark.createDataFrame([(4, "a b", 3.5)], columns), folder, mode="append", userMetadata="more")
    assert (result.version, result.num_rows, result.num_files) == (1, 1, 1)
    spark.createDataFrame([(5, "c", 4.5)], columns).write.format("delta").mode("append").save(folder)
    everything = {*days, (4, "a b", 3.5), (5, "c", 4.5)}
    assert set(map(tuple, spark.read.format("delta").load(folder).collect())) == everything
    assert [row.id for row in spark.read.format("delta").load(folder).where("day = 'ü/%41=:'").collect()] == [2]
    assert rows_of(spark.sql(f"SELECT id FROM delta.`{folder}` WHERE day IS NULL OR x > 4")) == [(3,), (5,)]
    with pytest.raises(TableExistsError):
        bayou.write(spark.range(1), folder)
    spark.createDataFrame([(9, "z", 9.5)], columns).write.format("delta").mode("overwrite").save(folder)
    assert rows_of(bayou.read(spark, folder)) == [(9, "z", 9.5)]
    assert bayou.read(spark, folder, version=1).count() == 4
    assert spark.read.format("delta").load(f"{folder}@v0").count() == 3
    assert spark.read.format("delta").option("versionAsOf", 2).load(folder).count() == 5
    assert "_delta_log" in hdfs.names(folder)
    assert not [name for name in hdfs.names(f"{folder}/_delta_log") if name.endswith(".tmp")]


def test_the_log_alone_is_read_too(spark, folder):
    frame = spark.createDataFrame([(1, "a"), (None, "b")], "id long, name string")
    bayou.write(frame.coalesce(1), folder, userMetadata="first")
    log = bayou.open(folder)
    assert [entry.operation for entry in log.history()] == ["WRITE"]
    (add,) = log.snapshot().files(columns=["path", "stats", "size"]).to_pylist()
    assert json.loads(add["stats"]) == {
        "numRecords": 2,
        "minValues": {"id": 1, "name": "a"},
        "maxValues": {"id": 1, "name": "b"},
        "nullCount": {"id": 1, "name": 0},
    }
    assert open_store(qualify(folder)).size(add["path"]) == add["size"]
    table = bayou.DeltaTable.forPath(spark, folder)
    assert [row.version for row in table.history().collect()] == [0]
    assert table.detail().collect()[0].location == folder
    assert bayou.DeltaTable.isDeltaTable(spark, folder)
    assert not bayou.DeltaTable.isDeltaTable(spark, f"{folder}-other")


def test_ten_commits_make_a_checkpoint_that_a_new_reader_begins_at(spark, folder):
    frame = spark.range(1).coalesce(1)
    for _ in range(11):
        bayou.write(frame, folder, mode="append")
    names = [file.name for file in open_store(qualify(folder)).list_from("_delta_log/")]
    assert "00000000000000000010.checkpoint.parquet" in names
    assert "_last_checkpoint" in names
    store = open_store(qualify(folder))
    for version in range(10):
        store.delete(f"_delta_log/{version:020d}.json")
    assert bayou.open(folder).snapshot().files(columns=["path"]).num_rows == 11


def test_eight_threads_append_to_one_table(spark, folder):
    bayou.write(spark.range(0), folder)

    def append(number):
        return bayou.write(spark.range(number * 10, number * 10 + 10).coalesce(1), folder, mode="append").version

    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(append, range(8)))
    assert sorted(versions) == list(range(1, 9))
    assert [row.id for row in bayou.read(spark, folder).orderBy("id").collect()] == list(range(80))


def test_footers_of_many_files_cost_what_those_of_few_cost(spark, folder):
    counts = []
    for number, files in enumerate((1, 1, 2, 12)):
        frame = spark.range(0, 100, 1, files)
        with py4j_calls(spark) as calls, jobs(spark) as started:
            assert bayou.write(frame, f"{folder}/{number}").num_files == files
        assert started.value == 1
        counts.append(calls.value)
    assert counts[1] == counts[2] == counts[3]


def test_files_without_rows_are_deleted_again(spark, folder, hdfs):
    assert bayou.write(spark.range(0, 1, 1, 3), folder).num_files == 1
    assert len([name for name in hdfs.names(folder) if name.endswith(".parquet")]) == 1


def test_files_of_a_lost_write_are_deleted(spark, folder, hdfs):
    bayou.write(spark.range(5).coalesce(1).selectExpr("id", "'a b' as p"), folder, partition_by=["p"])
    (path,) = bayou.open(folder).snapshot().files(columns=["path"])["path"].to_pylist()
    with UncommittedFiles(folder, {}) as uncommitted:
        uncommitted.add([paths.decode(path), "p=a b/missing.parquet"])
    assert hdfs.names(f"{folder}/p=a b") == []


def test_deletion_vectors_are_read_in_one_call(spark, folder, tmp_path):
    counts = []
    for vectors in (1, 12):
        local, target = str(tmp_path / f"{vectors}"), f"{folder}/{vectors}"
        builder = TableBuilder(local).create(protocol=VECTORS)
        adds = []
        for number in range(vectors):
            content, (descriptor,) = encode_file([[0, 2]], UUID(int=number))
            builder.write(descriptor.relative_path, content)
            data = {"id": pa.array([10 * number, 10 * number + 1, 10 * number + 2], pa.int64())}
            adds.append(file_of(local, f"{number}.parquet", data, deletionVector=descriptor.to_json()))
        builder.commit(*adds)
        on_hdfs(local, target)
        frame = bayou.read(spark, target)
        with py4j_calls(spark) as calls:
            plan = frame._jdf.queryExecution().executedPlan()
            plan.execute().getNumPartitions()
        counts.append(calls.value)
        assert [row.id for row in frame.orderBy("id").collect()] == [10 * number + 1 for number in range(vectors)]
    assert counts[1] <= counts[0]
    open_store(qualify(target)).delete(descriptor.relative_path)
    with pytest.raises(DeletionVectorError, match=descriptor.relative_path):
        bayou.read(spark, target).collect()


def test_a_data_file_that_is_gone_is_named(spark, folder):
    bayou.write(spark.range(5).coalesce(1), folder)
    (path,) = bayou.open(folder).snapshot().files(columns=["path"])["path"].to_pylist()
    open_store(qualify(folder)).delete(path)
    with pytest.raises(DataFileNotFoundError, match=path):
        bayou.read(spark, folder).collect()


def test_footers_of_any_size_are_read_and_what_is_none_is_named(spark, folder, tmp_path):
    wide = pa.table({f"column_{number}": [number] for number in range(1500)})
    store = open_store(qualify(folder))
    sizes = {}
    for name, table in {"wide": wide, "small": wide.select([0]), "empty": wide.select([0]).slice(0, 0)}.items():
        pq.write_table(table, tmp_path / name)
        store.put(name, (tmp_path / name).read_bytes())
        sizes[name] = store.size(name)
    assert sizes["wide"] > 100_000
    for name, content in {"text": b"no Parquet at all, whatever its end says PAR1", "short": b"PAR1", "nothing": b""}.items():
        store.put(name, content)
        sizes[name] = len(content)
    sizes["missing"] = 100
    found = read_footers(backend_of_jvm(Jvm.running()), [(f"{folder}/{name}", size) for name, size in sizes.items()], {})
    footers = dict(zip(sizes, found, strict=True))
    for name in ("wide", "small", "empty"):
        assert footers[name].equals(pq.read_metadata(tmp_path / name))
    assert isinstance(footers["missing"], FileNotFoundError)
    for name in ("text", "short", "nothing"):
        assert isinstance(footers[name], StorageError)
        assert f"{folder}/{name}" in str(footers[name])


def test_settings_of_a_write_and_of_a_read_reach_the_file_system(spark, folder, hdfs):
    options = {"dfs.blocksize": str(1 << 28), "fs.hdfs.impl.disable.cache": "true"}
    bayou.write(spark.range(10).coalesce(1), folder, **options)
    assert bayou.read(spark, folder, **options).count() == 10
    (path,) = bayou.open(folder).snapshot().files(columns=["path"])["path"].to_pylist()
    for file in (path, "_delta_log/00000000000000000000.json"):
        assert hdfs.files.getFileStatus(hdfs.path(f"{folder}/{file}")).getBlockSize() == 1 << 28


def test_a_table_in_a_view_of_hdfs_is_written_and_read(spark, folder, hdfs):
    hdfs.files.mkdirs(hdfs.path(folder))
    options = {"fs.viewfs.mounttable.tables.link./data": folder}
    path = "viewfs://tables/data/t"
    bayou.write(spark.range(5).selectExpr("id", "id % 2 as p"), path, partition_by=["p"], **options)
    assert rows_of(bayou.read(spark, path, **options).where("p = 1").select("id")) == [(1,), (3,)]
    assert hdfs.names(f"{folder}/t") == ["_delta_log", "p=0", "p=1"]


def test_the_default_host_need_not_be_named(spark, folder, hdfs):
    options = {"fs.defaultFS": hdfs.uri, "fs.hdfs.impl.disable.cache": "true"}
    path = folder.replace(hdfs.uri, "hdfs://")
    bayou.write(spark.range(5).selectExpr("id", "id % 2 as p"), path, partition_by=["p"], **options)
    assert rows_of(bayou.read(spark, path, **options).where("p = 1").select("id")) == [(1,), (3,)]
    assert rows_of(bayou.read(spark, folder).where("p = 0").select("id")) == [(0,), (2,), (4,)]
