# SPDX-License-Identifier: Apache-2.0
"""bayou on a cluster: `local_cluster.py FOLDER` starts two executors in JVMs of their own, which never saw the adapters."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from tests.support.processes import UnavailableError, answer
from tests.support.tables.built import file_of, ids, numbers, numbers_table, without_rows

import bayou
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.scan import vector_columns
from bayou.testing.table_builder import TableBuilder

FOLDER = Path(sys.argv[1])
EXECUTORS = 2
SECONDS = 60
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONTENT = "sum(hash(id, p, d, k))"


def path(name):
    return str(FOLDER / name)


def start():
    _move_home()
    builder = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,1024]")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK_START,
        "spark.driver.host": "127.0.0.1",
        "spark.executor.extraJavaOptions": QUICK_START,
        "spark.executor.memory": "512m",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": path("warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        raise UnavailableError(f"local-cluster cannot start here: {error}") from error
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    until = time.monotonic() + SECONDS
    while len(tracker.getExecutorInfos()) <= EXECUTORS:
        if time.monotonic() > until:
            raise UnavailableError(f"no {EXECUTORS} executors within {SECONDS} s")
        time.sleep(0.1)
    return bayou.enable(spark)


def _move_home():
    """Workers make a folder in SPARK_HOME, which shall not be where PySpark is installed."""
    import pyspark.find_spark_home

    installed = Path(pyspark.find_spark_home._find_spark_home())
    home = FOLDER / "home"
    home.mkdir()
    for entry in installed.iterdir():
        (home / entry.name).symlink_to(entry)
    os.environ["SPARK_HOME"] = str(home)


def processes(spark):
    executors = spark.range(0, 4, 1, 4).selectExpr("reflect('java.lang.ProcessHandle', 'current') as pid")
    driver = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    return {
        "driver": str(driver),
        "executors": [row.pid for row in executors.distinct().collect()],
        "jars": spark.sparkContext._jsc.sc().listJars().size(),
    }


def partitioned(spark):
    rows = spark.range(0, 1000, 1, 4).selectExpr(
        "id",
        "nullif(concat('a/b ü ', id % 3), 'a/b ü 2') as p",
        "date_add(date'2026-01-01', cast(id % 2 as int)) as d",
        "id % 7 as k",
    )
    target = path("partitioned")
    bayou.write(rows.where("id < 500"), target, partition_by=["p", "d"])
    rows.where("id >= 500").write.format("delta").mode("append").save(target)
    table = spark.read.format("delta").load(target)
    small = bayou.read(spark, target).where("k = 3 and p is null").selectExpr("id as other", "k as kk", "p as pp")
    return {
        "count": table.count(),
        "sum": table.agg({"id": "sum"}).first()[0],
        "as written": table.selectExpr(CONTENT).collect() == rows.selectExpr(CONTENT).collect(),
        "filter": table.where("p is null and d = date'2026-01-02' and id > 990").count(),
        "sql": spark.sql(f"select count(*), max(k) from delta.`{target}` where id >= 100").first().asDict(recursive=True),
        "broadcast join": table.join(small.hint("broadcast"), table.id == small.other).count(),
        "shuffled join": table.join(small.hint("merge"), table.id == small.other).count(),
        "pruned at run time": table.hint("merge").join(small.where("other = 5").distinct(), table.p.eqNullSafe(small.pp)).count(),
        "history": [row.version for row in bayou.DeltaTable.forPath(spark, target).history().collect()],
    }


def vectors(spark):
    found = {}
    for form in ("flat", "sparse"):
        if form == "sparse":
            vector_columns._SPARSE_FROM_ROWS, vector_columns._SPARSE_BELOW = 0, 2
        target = path(form)
        builder = TableBuilder(target).create({"id": "long", "p": "string"}, partition_by=["p"])
        builder.commit(
            numbers(target, "a.parquet", range(10_000), partitionValues={"p": "x"}, **without_rows([0, 4096, 9999])),
            numbers(target, "b.parquet", range(10_000, 10_010), partitionValues={"p": "y"}, **without_rows([3, 9])),
            numbers(target, "c.parquet", [-1], partitionValues={"p": None}),
        )
        table = spark.read.format("delta").load(target)
        found[form] = {
            "count": table.count(),
            "sum": table.agg({"id": "sum"}).first()[0],
            "y": ids(table.where("p = 'y'").select("id", "_metadata.file_name")),
            "near": ids(table.where("id in (-1, 0, 1, 4095, 4096, 4097, 9998, 9999)")),
            "joined with itself": table.alias("a").join(table.alias("b").hint("merge"), "id").where("a.id > 9990").count(),
        }
    return found


def mapped(spark):
    found = {}
    for mode in ("name", "id"):
        target = path(f"mapped-{mode}")
        schema = StructType(
            (
                _column("key", "long", 1),
                _column("s", StructType((_column("a b", "long", 3),)), 2),
                _column("p,q", "string", 4),
            )
        )
        configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "4"}
        builder = TableBuilder(target).create(schema, partition_by=["p,q"], configuration=configuration, protocol=Protocol(2, 5))
        inner = pa.struct([_with_id("other" if mode == "id" else "col-3", pa.int64(), 3)])
        rows = pa.table(
            [pa.array([1, 2, 3], pa.int64()), pa.array([(10,), (20,), (30,)], inner)],
            schema=pa.schema([_with_id("one" if mode == "id" else "col-1", pa.int64(), 1), _with_id("col-2", inner, 2)]),
        )
        builder.commit(file_of(target, "a.parquet", rows, partitionValues={"col-4": "x"}, **without_rows([1])))
        table = bayou.read(spark, target)
        found[mode] = {
            "rows": sorted((row.key, row.s["a b"], row["p,q"]) for row in table.collect()),
            "filter": ids(table.where("s.`a b` > 10 and `p,q` = 'x'").select("key")),
            "join": table.alias("a").join(table.alias("b").hint("merge"), "key").count(),
        }
    return found


def _column(name, kind, identity):
    return StructField(
        name, kind, metadata={"delta.columnMapping.id": identity, "delta.columnMapping.physicalName": f"col-{identity}"}
    )


def _with_id(name, kind, identity):
    return pa.field(name, kind, metadata={b"PARQUET:field_id": str(identity).encode()})


def changed(spark):
    """DELETE, UPDATE and MERGE, by files and by vectors, with a change data feed."""
    found = {}
    for form in ("false", "true"):
        target = path(f"changed-{form}")
        properties = {"delta.enableDeletionVectors": form, "delta.enableChangeDataFeed": "true"}
        bayou.write(spark.range(0, 1000, 1, 4).selectExpr("id", "id v", "id % 3 p"), target, partition_by=["p"], **properties)
        table = bayou.DeltaTable.forPath(spark, target)
        deleted = table.delete("v < 10 or p = 2 and v < 100")
        updated = table.update("id % 100 = 50", {"v": "-v"})
        source = spark.range(900, 1100, 1, 4).where("id + rand() >= 0").selectExpr("id", "id * 10 v", "id % 3 p")
        plan = table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
        merged = plan.execute()
        feed = bayou.read(spark, target, changes=(1, 3)).groupBy("_commit_version", "_change_type").count()
        found[form] = {
            "counts": [deleted.num_deleted_rows, updated.num_updated_rows, merged.num_updated_rows, merged.num_inserted_rows],
            "rows": sorted(map(list, table.toDF().select("id", "v").collect())),
            "feed": sorted(map(list, feed.collect())),
            "source was kept": merged.metrics["materializeSourceTimeMs"] > 0,
        }
    return found


def cached(spark):
    numbers_table(path("cached"), [1, 2], [3])
    table = spark.read.format("delta").load(path("cached")).cache()
    before = ids(table)
    bayou.write(spark.range(4, 5), path("cached"), mode="append")
    return [before, ids(table.select("*"))]


def compacted(spark):
    """OPTIMIZE of files with deleted rows: its job groups the files in the driver, by a class that executors do not have."""
    place = path("compacted")
    for first in (0, 10, 20):
        rows = spark.range(first, first + 10, 1, 1).selectExpr("id", "id % 2 as p")
        writer = rows.write.format("delta").mode("append").partitionBy("p").option("delta.enableDeletionVectors", "true")
        writer.save(place)
    table = bayou.DeltaTable.forPath(spark, place)
    table.delete("id in (3, 14)")
    table.optimize().executeCompaction()
    return [bayou.open(place).snapshot().num_files, sorted(row.id for row in table.toDF().collect())]


if __name__ == "__main__":
    answer(start, [processes, partitioned, vectors, mapped, changed, cached, compacted])
