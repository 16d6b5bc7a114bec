# SPDX-License-Identifier: Apache-2.0
"""Manifests follow the writes, changes of rows and OPTIMIZE of a session, where the table asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

import bayou
from bayou import DeltaTable
from bayou.errors import StorageError

ENABLED = "delta.compatibility.symlinkFormatManifest.enabled"
FOLDER = "_symlink_format_manifest"


@pytest.fixture
def table(spark, table_path):
    rows = spark.range(0, 10, 1, 2).selectExpr("id", "id % 3 as p")
    rows.write.format("delta").partitionBy("p").option(ENABLED, "true").save(table_path)
    return DeltaTable.forPath(spark, table_path)


def named(path):
    """The files in the manifests, relative to the table, by partition."""
    root = Path(path, FOLDER)
    start = f"file:{path}/"
    return {
        str(each.parent.relative_to(root)): sorted(line.removeprefix(start) for line in each.read_text().splitlines())
        for each in root.rglob("manifest")
    }


def live(path):
    found = {}
    for file in bayou.open(path).snapshot().files(["path"])["path"].to_pylist():
        found.setdefault(file.partition("/")[0], []).append(file)
    return {partition: sorted(files) for partition, files in found.items()}


def test_manifests_follow_whatever_changes_the_files(spark, table_path, table):
    assert named(table_path) == live(table_path)
    assert set(named(table_path)) == {"p=0", "p=1", "p=2"}
    steps = (
        lambda: spark.sql(f"INSERT INTO delta.`{table_path}` VALUES (10, 7)"),
        lambda: table.delete("p = 1"),
        lambda: table.update("id = 2", {"p": "7"}),
        lambda: table.alias("t").merge(spark.range(5, 20, 5).alias("s"), "t.id = s.id").whenMatchedDelete().execute(),
        lambda: table.optimize().executeCompaction(),
        lambda: table.restoreToVersion(0),
        lambda: spark.range(3).selectExpr("id", "9L as p").write.format("delta").mode("overwrite").save(table_path),
    )
    for step in steps:
        before = bayou.open(table_path).version()
        step()
        assert bayou.open(table_path).version() == before + 1
        assert named(table_path) == live(table_path)
    assert set(named(table_path)) == {"p=9"}


def test_the_property_of_a_table_that_is_there_writes_its_manifests(spark, table_path):
    spark.range(3).write.format("delta").save(table_path)
    DeltaTable.forPath(spark, table_path).setProperties({ENABLED: "true"})
    assert named(table_path) == {".": sorted(bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist())}


def test_a_write_whose_manifests_fail_stays(spark, table_path):
    spark.range(3).write.format("delta").option(ENABLED, "true").save(table_path)
    Path(table_path, FOLDER, "manifest").unlink()
    Path(table_path, FOLDER).rmdir()
    Path(table_path, FOLDER).write_text("in the way")
    for change in (
        lambda: spark.range(3, 5).write.format("delta").mode("append").save(table_path),
        lambda: DeltaTable.forPath(spark, table_path).delete("id = 4"),
    ):
        with pytest.raises(StorageError, match=r"Version \d was committed") as failed:
            change()
        assert failed.value.getErrorClass() == "DELTA_POST_COMMIT_HOOK_FAILED"
    assert sorted(row.id for row in spark.read.format("delta").load(table_path).collect()) == [0, 1, 2, 3]
    Path(table_path, FOLDER).unlink()
    DeltaTable.forPath(spark, table_path).generate("symlink_format_manifest")
    assert len(named(table_path)["."]) == bayou.open(table_path).snapshot().num_files
