# SPDX-License-Identifier: Apache-2.0
"""What works on a shared disk works where client and server share only an object store, each with credentials of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.connect.stores.conftest import BUCKET
from tests.support.object_servers import ACCESS, Fault

import bayou
from bayou.errors import SessionError
from bayou.spark.portable.client import client_of
from bayou.spark.portable.scan import carrier as carriers
from bayou.spark.portable.scan.rows import scan_frame
from bayou.spark.portable.scan.runs import _runs_of
from bayou.spark.portable.scratch.owners import OWNER
from bayou.spark.portable.scratch.scratch import SETTING
from bayou.storage import list_tree, open_store, qualify
from bayou.storage.trees import EVERY_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.support.object_servers import Proxy

Options = dict[str, str]
RETENTION = "spark.databricks.delta.retentionDurationCheck.enabled"


def rows(spark: SparkSession, path: str, options: Options, **more: Any) -> list[int]:
    frame = spark.read.format("delta").options(**options, **more).load(path)
    return sorted(row[0] for row in frame.collect())


def write(spark: SparkSession, path: str, options: Options, start: int, end: int, **more: str) -> None:
    spark.range(start, end).coalesce(1).write.format("delta").mode("append").options(**options, **more).save(path)


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_a_table_is_written_changed_and_maintained(spark: SparkSession, path: str, options: Options, vectors: str) -> None:
    feed = {"delta.enableDeletionVectors": vectors, "delta.enableChangeDataFeed": "true"}
    write(spark, path, options, 0, 50, **feed)
    write(spark, path, options, 50, 100)
    table = bayou.DeltaTable.forPath(spark, path, options)
    table.delete("id < 10")
    table.update("id = 10", {"id": "-1"})
    source = spark.range(95, 105)
    table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedDelete().whenNotMatchedInsertAll().execute()
    expected = sorted([-1, *range(11, 95), *range(100, 105)])
    assert rows(spark, path, options) == expected
    assert rows(spark, path, options, versionAsOf="1") == list(range(100))
    changes = spark.read.format("delta").options(**options, readChangeFeed="true", startingVersion="2").load(path)
    counts = {row[0]: row[1] for row in changes.groupBy("_change_type").count().collect()}
    assert counts == {"delete": 15, "update_preimage": 1, "update_postimage": 1, "insert": 5}
    table.optimize().executeCompaction()
    assert rows(spark, path, options) == expected
    spark.conf.set(RETENTION, "false")
    try:
        table.vacuum(0)
    finally:
        spark.conf.unset(RETENTION)
    assert rows(spark, path, options) == expected
    assert len(bayou.open(path, storage_options=options).history()) >= 6


@pytest.fixture
def environment(store: Proxy, monkeypatch: pytest.MonkeyPatch) -> Options:
    """Credentials in the client's environment, so that no call needs options."""
    for name, value in {**ACCESS, "AWS_ENDPOINT_URL": store.url, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
    return {}


@pytest.mark.parametrize("kind", ["deep", "shallow"])
def test_a_table_is_ordered_restored_and_cloned(spark: SparkSession, path: str, environment: Options, kind: str) -> None:
    options = environment
    write(spark, path, options, 0, 50)
    write(spark, path, options, 50, 100)
    table = bayou.DeltaTable.forPath(spark, path, options)
    table.optimize().executeZOrderBy("id")
    table.delete("id >= 60")
    table.restoreToVersion(2)
    assert rows(spark, path, options) == list(range(100))
    copy = f"{path}-copy"
    table.clone(copy, isShallow=kind == "shallow")
    write(spark, copy, options, 100, 110)
    bayou.DeltaTable.forPath(spark, copy, options).delete("id < 5")
    assert rows(spark, copy, options) == list(range(5, 110))
    assert rows(spark, path, options) == list(range(100))


@pytest.mark.usefixtures("environment")
def test_statements_take_the_credentials_of_the_environment(spark: SparkSession, path: str) -> None:
    spark.sql(f"CREATE TABLE delta.`{path}` USING delta PARTITIONED BY (part) AS SELECT id, id % 2 AS part FROM range(10)")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (10, 0)")
    spark.sql(f"UPDATE delta.`{path}` SET id = -id WHERE part = 0")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS (note STRING)")
    spark.sql(
        f"MERGE INTO delta.`{path}` t USING (SELECT * FROM range(4)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET note = 'seen'"
    )
    found = spark.sql(f"SELECT count(*), sum(id), count(note) FROM delta.`{path}`").collect()[0]
    assert tuple(found) == (11, 1 + 3 + 5 + 7 + 9 - (2 + 4 + 6 + 8 + 10), 3)
    assert spark.sql(f"DESCRIBE HISTORY delta.`{path}`").count() == 5
    spark.range(5).write.parquet(f"{path}-plain")
    spark.sql(f"CONVERT TO DELTA parquet.`{path}-plain`")
    assert spark.sql(f"SELECT count(*) FROM delta.`{path}-plain`").collect()[0][0] == 5


def test_a_stream_reads_a_table(spark: SparkSession, path: str, options: Options, tmp_path: Path) -> None:
    write(spark, path, options, 0, 10)
    frame = spark.readStream.format("delta").options(**options).load(path)
    query = frame.writeStream.format("parquet").option("checkpointLocation", f"{path}-checkpoint").trigger(availableNow=True)
    query.start(str(tmp_path / "rows")).awaitTermination()
    assert sorted(row[0] for row in spark.read.parquet(str(tmp_path / "rows")).collect()) == list(range(10))


def test_the_other_spelling_is_the_same_table(spark: SparkSession, path: str, options: Options) -> None:
    write(spark, path, options, 0, 5)
    other = path.replace("s3a:", "s3:")
    write(spark, other, options, 5, 10)
    assert rows(spark, other, options) == rows(spark, path, options) == list(range(10))


def test_partitions_and_statistics(spark: SparkSession, path: str, options: Options) -> None:
    frame = spark.range(100).selectExpr("id", "id % 4 AS part")
    frame.write.format("delta").partitionBy("part").options(**options).save(path)
    files = bayou.open(path, storage_options=options).snapshot().files(["path", "stats"]).to_pylist()
    assert len({each["path"].partition("part=")[2][:1] for each in files}) == 4
    assert all('"minValues":{"id":' in each["stats"].replace(" ", "") for each in files)
    read = spark.read.format("delta").options(**options).load(path)
    assert read.where("part = 3").agg({"id": "sum"}).first()[0] == sum(range(3, 100, 4))


def test_lists_in_a_scratch_folder_on_the_store(spark: SparkSession, path: str, options: Options) -> None:
    write(spark, path, options, 0, 5)
    scratch = f"s3a://{BUCKET}/scratch of this test"
    spark.conf.set(SETTING, scratch)
    try:
        assert rows(spark, path, options) == list(range(5))
        store = open_store(qualify(scratch), options)
        found = [row["path"] for batch in list_tree(store, EVERY_NAME) for row in batch.to_pylist() if not row["is_folder"]]
        assert [each for each in found if each.endswith("_spark_metadata/0")]
        assert [each for each in found if each.endswith(f"/{OWNER}")]
    finally:
        spark.conf.unset(SETTING)


def test_a_list_that_was_cut_is_an_error(spark: SparkSession, path: str, options: Options) -> None:
    for start in range(3):
        write(spark, path, options, start, start + 1)
    frame = scan_frame(spark, bayou.open(path, storage_options=options).snapshot(), storage_options=options)
    _, scratch, names = list(carriers._all.values())[-1]
    lines = scratch.store.read(scratch.prefix + names[0]).splitlines(keepends=True)
    scratch.store.put(scratch.prefix + names[0], b"".join(lines[:-1]))
    with pytest.raises(SessionError, match="another program changed"):
        frame.collect()


def test_a_stream_writes_a_table(spark: SparkSession, path: str, options: Options, tmp_path: Path) -> None:
    """The function of each batch runs in the server's Python, which has credentials of its own in its environment."""
    (tmp_path / "in").mkdir()
    spark.range(10).write.parquet(str(tmp_path / "in" / "0"))
    source = spark.readStream.schema("id long").parquet(f"{tmp_path}/in/*")
    writing = source.writeStream.format("delta").option("checkpointLocation", f"{path}.checkpoint").trigger(availableNow=True)
    writing.start(path).awaitTermination(120)
    assert rows(spark, path, options) == list(range(10))


def test_no_secret_leaves_the_client(spark: SparkSession, path: str, options: Options, store: Proxy) -> None:
    secret = ACCESS["AWS_SECRET_ACCESS_KEY"].encode()
    runs = _runs_of(client_of(spark))
    inner, seen = runs.inner, list[bytes]()

    class Recorder:
        def __getattr__(self, name: str) -> Any:
            def call(request: Any, **more: Any) -> Any:
                seen.append(request.SerializeToString() if hasattr(request, "SerializeToString") else b"")
                return getattr(inner, name)(request, **more)

            return call

    runs.inner = Recorder()
    try:
        write(spark, path, options, 0, 5, **{"delta.enableChangeDataFeed": "true"})
        table = bayou.DeltaTable.forPath(spark, path, options)
        table.update("id = 1", {"id": "-1"})
        assert rows(spark, path, options) == [-1, 0, 2, 3, 4]
        frame = spark.read.format("delta").options(**options).load(path)
        frame.createOrReplaceTempView("on_store")
        assert spark.sql("SELECT count(*) FROM on_store").first()[0] == 5
        store.fault = lambda request: Fault(403, "AccessDenied") if request.method == "PUT" else None
        with pytest.raises(Exception, match="AccessDenied") as refused:
            write(spark, path, options, 5, 6)
        assert secret.decode() not in str(refused.value)
    finally:
        store.fault = lambda _: None
        runs.inner = inner
        spark.catalog.dropTempView("on_store")
    assert len(seen) > 10
    assert not [request for request in seen if secret in request]
    everything = open_store(qualify(f"s3a://{BUCKET}"), options)
    for batch in list_tree(everything, EVERY_NAME):
        for row in batch.to_pylist():
            assert row["is_folder"] or secret not in everything.read(row["path"]), row["path"]
