# SPDX-License-Identifier: Apache-2.0
"""Operations that maintain a table: OPTIMIZE, VACUUM, RESTORE, CONVERT and manifests."""

from __future__ import annotations

import time

from tests.smoke.operations import Place, equal, operation, refused

import bayou
from bayou import DeltaTable

CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
ROWS = ((1, "a"), (2, "b"))


@operation
def vacuum_full_and_lite(on: Place) -> None:
    path = on.saved(*ROWS)
    table = DeltaTable.forPath(on.spark, path)
    table.delete("id = 1")
    bayou.open(path).store.put("litter", b"x")
    time.sleep(0.01)  # VACUUM leaves what is of the same millisecond
    on.spark.conf.set(CHECK, "false")
    try:
        before = table.vacuum(0, dry_run=True).count()
        table.vacuum(0, kind="lite")
        left = table.vacuum(0, dry_run=True).count()
        table.vacuum(0)
        after = table.vacuum(0, dry_run=True).count()
    finally:
        on.spark.conf.unset(CHECK)
    assert before > left > after == 0, (before, left, after)
    on.expect(path, (2, "b"))


@operation
def restore_to_a_version(on: Place) -> None:
    path = on.saved(*ROWS)
    table = DeltaTable.forPath(on.spark, path)
    table.delete("id = 1")
    on.expect(path, (2, "b"))
    equal(table.restoreToVersion(0).selectExpr("num_restored_files > 0"), [(True,)])
    on.expect(path, *ROWS)
    equal(table.restoreToVersion(2).select("num_removed_files"), [])


@operation
def clone_shallow_and_deep(on: Place) -> None:
    path = on.saved(*ROWS)
    table = DeltaTable.forPath(on.spark, path)
    for is_shallow in (True, False):
        target = f"{path}-clone-{is_shallow}"
        clone = table.clone(target, is_shallow, properties={"mine": "x"})
        clone.delete("id = 1")
        on.expect(target, (2, "b"))
    on.expect(path, *ROWS)
    table.clone(f"{path}-clone-False", replace=True)
    on.expect(f"{path}-clone-False", *ROWS)


@operation
def generate_manifests(on: Place) -> None:
    path = on.saved(*ROWS, by="v")
    DeltaTable.forPath(on.spark, path).generate("symlink_format_manifest")
    manifests = bayou.open(path).store
    for value in ("a", "b"):
        assert f"/v={value}/" in manifests.read(f"_symlink_format_manifest/v={value}/manifest").decode()


@operation
def optimize_small_files(on: Place) -> None:
    for properties in ({}, {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}):
        path = on.saved(*ROWS, by="v", **properties)
        on.spark.createDataFrame([(3, "a"), (4, "b")], "id int, v string").write.format("delta").mode("append").save(path)
        table = DeltaTable.forPath(on.spark, path)
        table.delete("id = 4")
        found = table.optimize().executeCompaction().select("metrics.partitionsOptimized", "metrics.numFilesAdded")
        equal(found, [(1, 1)])  # the file of row 4 is gone, and row 2 is in the only file of its partition
        on.expect(path, *ROWS, (3, "a"))
        equal(table.optimize().executeCompaction().select("metrics.numFilesAdded"), [(0,)])


@operation
def convert_parquet_files(on: Place) -> None:
    path, name = on.path(), on.name()
    on.rows(*ROWS, (3, None)).write.partitionBy("v").parquet(path)
    DeltaTable.convertToDelta(on.spark, f"parquet.`{path}`", "v string")
    on.expect(path, *ROWS, (3, None))
    on.sql(f"create table {name} (id int, v string) using parquet partitioned by (v)")
    on.rows(*ROWS).write.mode("append").insertInto(name)
    DeltaTable.convertToDelta(on.spark, name)
    on.rows((3, None)).write.format("delta").mode("append").saveAsTable(name)
    on.expect(name, *ROWS, (3, None))


@operation
def z_order_and_cluster(on: Place) -> None:
    path, size = on.path(), "spark.databricks.delta.optimize.maxFileSize"
    rows = on.spark.range(0, 3000, 1, 2).selectExpr("id", "pmod(hash(id), 100) as a", "concat('v', id % 97) as v", "id % 2 as p")
    rows.write.format("delta").partitionBy("p").save(path)
    before = sorted(map(tuple, on.spark.read.format("delta").load(path).collect()))
    on.spark.conf.set(size, "5000")
    try:
        found = DeltaTable.forPath(on.spark, path).optimize().executeZOrderBy("a", "v").select("metrics.*").first()
        assert found is not None
        assert found.numFilesAdded > found.partitionsOptimized == 2, found
        assert sorted(map(tuple, on.spark.read.format("delta").load(path).collect())) == before
        per_file = on.spark.read.format("delta").load(path).groupBy("_metadata.file_path").count().select("count").collect()
        counts = sorted(row[0] for row in per_file)
        assert counts[-1] <= 1.5 * counts[0], counts
        other = on.path()
        bayou.write(rows, other, clusterBy=["a", "v"])
        DeltaTable.forPath(on.spark, other).optimize().executeFull()
        assert sorted(map(tuple, on.spark.read.format("delta").load(other).collect())) == before
    finally:
        on.spark.conf.unset(size)


@operation
def maintenance_in_sql(on: Place) -> None:
    path = on.saved(*ROWS)
    on.rows((3, "c")).write.format("delta").mode("append").save(path)
    table = f"delta.`{path}`"
    equal(on.sql(f"OPTIMIZE {table}").select("metrics.numFilesAdded"), [(1,)])
    equal(on.sql(f"DESCRIBE HISTORY {table} LIMIT 1").select("version", "operation"), [(2, "OPTIMIZE")])
    equal(on.sql(f"DESCRIBE DETAIL {table}").select("format", "numFiles"), [("delta", 1)])
    equal(on.sql(f"RESTORE TABLE {table} TO VERSION AS OF 0").selectExpr("num_restored_files > 0"), [(True,)])
    equal(on.sql(f"CREATE TABLE delta.`{path}-clone` CLONE {table}").selectExpr("num_copied_files > 0"), [(True,)])
    on.expect(f"{path}-clone", *ROWS)
    assert on.sql(f"VACUUM {table} RETAIN 240 HOURS DRY RUN").columns == ["path"]
    assert "DeltaStatement" in on.sql(f"EXPLAIN REORG TABLE {table} APPLY (PURGE)").first()[0]
    refused(lambda: on.sql(f"VACUUM {table} RETIAN 5 HOURS"), "Did you mean RETAIN")
