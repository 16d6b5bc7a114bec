# SPDX-License-Identifier: Apache-2.0
"""EXPLAIN of the statements that only Delta has: it says what the statement would do, and does nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from tests.support.on_connect import name_beside

import bayou
from bayou.errors import InvalidOptionError, TableNotFoundError

CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@pytest.fixture
def delta(spark, name, table_path):
    """The name of a table with four files in two partitions, in two commits after its creation."""
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p INT) USING delta PARTITIONED BY (p) LOCATION '{table_path}'")
    for start in (0, 10):
        spark.sql(f"INSERT INTO {name} SELECT id, CAST(id % 2 AS INT) FROM range({start}, {start + 10}, 1, 1)")
    return name


def files_of(folder):
    return sorted((str(each), each.stat().st_mtime_ns) for each in Path(folder).rglob("*") if each.is_file())


@pytest.fixture
def explain(spark, table_path):
    """Explains a statement, and checks that it changed no file and ran no job."""

    def explained(text):
        before, store = files_of(table_path), spark.sparkContext._jsc.sc().statusStore()
        jobs = store.jobsList(None).size()
        found = spark.sql(f"EXPLAIN {text}")
        assert found.columns == ["plan"]
        plan = found.first()[0]
        assert store.jobsList(None).size() == jobs
        assert files_of(table_path) == before
        return plan

    return explained


@pytest.mark.smoke
def test_optimize_says_which_files_and_why(spark, delta, explain):
    plan = explain(f"OPTIMIZE {delta} WHERE p = 1")
    assert f"DeltaStatement OPTIMIZE {delta} WHERE p = 1" in plan
    assert re.search(r"Table: \S+, version 2\nWould rewrite 2 files \([\d,]+ bytes\) of 4 in 1 bin of 1 partition\.", plan)
    assert "Would leave 2 files: not chosen." in plan
    assert len(re.findall(r"bin 0: p=1/\S+, \d+ bytes: small", plan)) == 2
    assert "in 2 bins of 2 partitions" in explain(f"FORMATTED OPTIMIZE {delta} ZORDER BY (id)")
    spark.sql(f"OPTIMIZE {delta}")
    assert "Would rewrite no file, and commit nothing." in explain(f"EXTENDED OPTIMIZE {delta}")
    with pytest.raises(InvalidOptionError, match="DELTA_NON_PARTITION_COLUMN_REFERENCE"):
        explain(f"OPTIMIZE {delta} WHERE id = 1")


@pytest.mark.smoke
def test_vacuum_says_what_it_would_delete(spark, delta, explain):
    spark.sql(f"DELETE FROM {delta} WHERE p = 1")
    spark.conf.set(CHECK, "false")
    try:
        plan = explain(f"VACUUM {delta} RETAIN 0 HOURS")
        assert re.search(r"Would delete 2 files \([\d,]+ bytes\) that no version needs since 20\d\d-", plan)
        assert len(re.findall(r"^  p=1/\S+$", plan, re.MULTILINE)) == 2
        assert "(LITE)" in explain(f"VACUUM {delta} LITE RETAIN 0 HOURS")
        assert "does not read the inventory" in explain(f"VACUUM {delta} USING INVENTORY (SELECT raise_error('read')) DRY RUN")
    finally:
        spark.conf.unset(CHECK)


@pytest.mark.smoke
def test_restore_and_clones_say_which_files(spark, delta, table_path, explain, tmp_path):
    spark.sql(f"DELETE FROM {delta} WHERE p = 1")
    plan = explain(f"RESTORE TABLE {delta} TO VERSION AS OF 1")
    assert "Would restore version 1." in plan
    assert re.search(r"Would add 1 file \([\d,]+ bytes\), and remove 1 file ", plan)
    assert "Would commit nothing" in explain(f"RESTORE TABLE {delta} TO VERSION AS OF 3")
    plan = explain(f"CREATE TABLE delta.`{tmp_path}/copy` CLONE {delta} VERSION AS OF 2")
    assert re.search(r"Would clone version 2 of the source, 4 files", plan)
    assert re.search(r"Would copy 4 files \([\d,]+ bytes\)", plan)
    assert "Would copy no file" in explain(f"CREATE TABLE {name_beside(delta, '_copy')} SHALLOW CLONE {delta}")
    assert "Would do nothing" in explain(f"CREATE TABLE IF NOT EXISTS {delta} CLONE delta.`{table_path}`")
    assert not (tmp_path / "copy").exists()
    assert not spark.catalog.tableExists(name_beside(delta, "_copy"))
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        explain(f"CREATE TABLE {delta} CLONE delta.`{table_path}`")


def test_the_other_statements_say_what_they_would_do(spark, delta, explain):
    spark.sql(f"ALTER TABLE {delta} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM {delta} WHERE id = 4")
    assert "Would rewrite 1 file" in explain(f"REORG TABLE {delta} APPLY (PURGE)")
    assert "holds deleted rows or dropped columns" in explain(f"REORG TABLE {delta} WHERE p = 0 APPLY (PURGE)")
    assert "Would write manifests of 4 files" in explain(f"GENERATE symlink_format_manifest FOR TABLE {delta}")
    with pytest.raises(InvalidOptionError, match="DELTA_MODE_NOT_SUPPORTED"):
        explain(f"GENERATE other FOR TABLE {delta}")
    plan = explain(f"ALTER TABLE {delta} DROP FEATURE deletionVectors TRUNCATE HISTORY")
    assert "Would drop the feature deletionVectors." in plan
    assert "Would truncate the history" in plan
    assert "Would read the footers of 4 files" in explain(f"ANALYZE TABLE {delta} COMPUTE DELTA STATISTICS")
    assert "the last 3 commits" in explain(f"DESCRIBE HISTORY {delta} LIMIT 3")
    assert "Would set the next number" in explain(f"ALTER TABLE {delta} ALTER COLUMN id SYNC IDENTITY")


def test_convert_says_which_folder(spark, delta, explain, tmp_path):
    folder = tmp_path / "files"
    spark.range(3).write.parquet(str(folder))
    assert f"Table: file://{folder}\nWould list the folder" in explain(f"CONVERT TO DELTA parquet.`{folder}`")
    assert not (folder / "_delta_log").exists()
    assert "is a Delta table. Would do nothing." in explain(f"CONVERT TO DELTA {delta}")


def test_the_plan_is_that_of_its_time(spark, delta):
    frame = spark.sql(f"EXPLAIN OPTIMIZE {delta}")
    with pytest.raises(TableNotFoundError, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"EXPLAIN OPTIMIZE {name_beside(delta, '_missing')}")
    spark.sql(f"INSERT INTO {delta} VALUES (99, 1)")
    assert "version 2" in frame.first()[0]
    assert "version 3" in spark.sql(f"EXPLAIN OPTIMIZE {delta}").first()[0]


def test_a_plan_has_no_secrets(spark, delta, explain):
    new = name_beside(delta, "_x")
    text = f"CREATE TABLE {new} CLONE {delta} TBLPROPERTIES ('fs.key' = 'hushhush') LOCATION 's3://k:hushhush@bucket/p'"
    try:
        plan = explain(text)
    except AnalysisException as error:
        plan = str(error)
    except Exception as error:  # noqa: BLE001  (the bucket cannot be reached)
        plan = str(error)
    assert "hushhush" not in plan
    assert bayou.open(f"{spark.sql(f'DESCRIBE DETAIL {delta}').first().location}").snapshot().version == 2
