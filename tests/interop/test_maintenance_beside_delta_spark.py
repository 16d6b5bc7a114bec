# SPDX-License-Identifier: Apache-2.0
"""VACUUM, RESTORE and GENERATE by delta-spark and by us on copies of one table: the same files, commits and manifests."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest

import bayou

pytestmark = pytest.mark.oracle

DELTA = "spark.databricks.delta"
UNCHECKED = f"SET {DELTA}.retentionDurationCheck.enabled = false"
FEW_TASKS = "SET spark.sql.sources.parallelPartitionDiscovery.parallelism = 2"
"""delta-spark's VACUUM starts as many tasks as this to list the folders of a small table, thousands by default."""
FOLDER = "_symlink_format_manifest"
OWN_PATH = re.compile(r"^file:/.*/(t|other)/")
OLD = 30
# What lies about in a table's folder: its path, and how many days ago it was written.
LITTER = {
    "litter": OLD,
    "young": 1,
    "p=a/litter": OLD,
    "deep/er/litter": OLD,
    "_hidden": OLD,
    ".hidden": OLD,
    "_folder/x": OLD,
    "deep/_hidden/x": OLD,
    "_change_data/x": OLD,
    "_delta_index/x": OLD,
    "p=%41 ü/litter": OLD,
}


def age(place, days):
    then = time.time() - days * 86_400
    os.utime(place, (then, then))


@pytest.fixture
def copies(delta_spark, tmp_path):
    """Two copies of a table with partitions, deletion vectors, old versions and litter."""
    first = tmp_path / "ours"
    name = f"delta.`{first}`"
    properties = "'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true'"
    delta_spark.sql(
        f"CREATE TABLE {name} (id BIGINT, p STRING) USING delta PARTITIONED BY (p) TBLPROPERTIES ({properties})",
        f"INSERT INTO {name} SELECT id, if(id < 5, 'a', 'b c%') FROM range(0, 10, 1, 1)",
        f"DELETE FROM {name} WHERE id IN (1, 7)",
        f"DELETE FROM {name} WHERE p = 'a'",
        f"INSERT INTO {name} VALUES (20, NULL)",
        f"UPDATE {name} SET id = 8 WHERE id = 8",
    )
    for path, days in LITTER.items():
        file = first / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"12345")
        age(file, days)
    (first / "empty").mkdir()
    age(first / "empty", OLD)
    shutil.copytree(first, tmp_path / "theirs")
    age(tmp_path / "theirs" / "empty", OLD)
    return first, tmp_path / "theirs"


def left(root):
    """What is in a table's folder, without the log; Hadoop's checksums go with their files, and ours did not write any."""
    found = {str(each.relative_to(root)) for each in root.rglob("*") if "_delta_log" not in each.parts}
    return {path for path in found if not path.endswith(".crc")}


def commits(root, count):
    """The provenance of the last commits, without what differs from run to run."""
    names = ("operation", "operationParameters", "operationMetrics", "isolationLevel", "isBlindAppend")
    files = sorted((root / "_delta_log").glob("*.json"))[-count:]
    lines = [json.loads(file.read_text().splitlines()[0])["commitInfo"] for file in files]
    return [{name: line.get(name) for name in names} for line in lines]


@pytest.mark.parametrize("hours", [None, 0])
def test_vacuum_deletes_the_same_files_and_notes_the_same(delta_spark, copies, hours):
    ours, theirs = copies
    retain = "" if hours is None else f" RETAIN {hours} HOURS"
    delta_spark.sql(UNCHECKED, FEW_TASKS, f"VACUUM delta.`{theirs}`{retain}")
    bayou.open(ours).vacuum(hours, check_retention=False)
    assert left(ours) == left(theirs)
    assert "litter" not in left(ours)
    found, wanted = commits(ours, 2), commits(theirs, 2)
    for each in (found, wanted):  # delta-spark also counts folders of young files, which it then does not delete
        each[0]["operationMetrics"].pop("numFilesToDelete")
    assert found == wanted
    rows = f"SELECT id, p FROM delta.`{ours}` ORDER BY id"
    assert delta_spark.sql(rows) == delta_spark.sql(rows.replace(str(ours), str(theirs)))


def test_delta_spark_deletes_the_files_of_another_table_and_behind_a_link_and_we_do_not(delta_spark, copies, tmp_path):
    """Both stand in docs/differences.md."""
    for root in copies:
        delta_spark.sql(f"CREATE TABLE delta.`{root}/inner` USING delta AS SELECT 1 id")
        for file in (root / "inner").rglob("*.parquet"):
            age(file, OLD)
        elsewhere = tmp_path / f"elsewhere-{root.name}"
        elsewhere.mkdir()
        (elsewhere / "x").write_bytes(b"12345")
        age(elsewhere / "x", OLD)
        (root / "link").symlink_to(elsewhere)
    ours, theirs = copies
    delta_spark.sql(FEW_TASKS, f"VACUUM delta.`{theirs}`")
    bayou.open(ours).vacuum()
    assert [len(list((root / "inner").rglob("*.parquet"))) for root in copies] == [1, 0]
    assert [(tmp_path / f"elsewhere-{root.name}" / "x").exists() for root in copies] == [True, False]


def test_each_engines_lite_goes_on_where_the_other_ended(delta_spark, copies):
    ours, theirs = copies
    note = Path("_delta_log", "_last_vacuum_info")
    delta_spark.sql(UNCHECKED, FEW_TASKS, f"VACUUM delta.`{theirs}` LITE RETAIN 0 HOURS")
    bayou.open(ours).vacuum(0, kind="lite", check_retention=False)
    assert left(ours) == left(theirs)
    assert json.loads((ours / note).read_text()) == json.loads((theirs / note).read_text())
    for root in copies:
        delta_spark.sql(f"DELETE FROM delta.`{root}` WHERE id = 20")
    bayou.open(theirs).vacuum(0, kind="lite", check_retention=False)
    delta_spark.sql(UNCHECKED, FEW_TASKS, f"VACUUM delta.`{ours}` LITE RETAIN 0 HOURS")
    assert {path for path in left(ours) if "__HIVE" in path and path.endswith(".parquet")} == set()
    assert {path for path in left(theirs) if "__HIVE" in path and path.endswith(".parquet")} == set()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_restore_commits_the_same_and_the_feed_says_the_same(delta_spark, copies, version):
    ours, theirs = copies
    answer = delta_spark.sql(f"RESTORE TABLE delta.`{theirs}` TO VERSION AS OF {version}")
    result = bayou.open(ours).restore(version)
    assert list(map(int, answer[0])) == list(result.metrics.values())
    assert [each | {"isBlindAppend": None} for each in commits(ours, 1)] == [
        each | {"isBlindAppend": None} for each in commits(theirs, 1)
    ]
    latest = result.version
    for query in (
        "SELECT id, p FROM delta.`{0}` ORDER BY id",
        "SELECT id, p, _change_type FROM table_changes_by_path('{0}', {1}) ORDER BY id, _change_type",
    ):
        assert delta_spark.sql(query.format(ours, latest)) == delta_spark.sql(query.format(theirs, latest))


def test_manifests_are_the_same(delta_spark, tmp_path):
    path = tmp_path / "t"
    name = f"delta.`{path}`"
    rows = "(1, 'a'), (2, 'b c%/='), (3, NULL), (4, 'ü')"
    delta_spark.sql(
        f"CREATE TABLE {name} (id BIGINT, p STRING) USING delta PARTITIONED BY (p)",
        f"INSERT INTO {name} VALUES {rows}",
        f"GENERATE symlink_format_manifest FOR TABLE {name}",
    )
    theirs = manifests(path)
    shutil.rmtree(path / FOLDER)
    bayou.open(path).generate_manifests()
    assert manifests(path) == theirs


def test_manifests_follow_the_same_commits_of_both(delta_spark, tmp_path):
    """On one table in turns: each finds the manifests that the other has left, and goes on with them."""
    path = tmp_path / "t"
    name = f"delta.`{path}`"
    delta_spark.sql(
        f"CREATE TABLE {name} (id BIGINT, p STRING) USING delta PARTITIONED BY (p) "
        "TBLPROPERTIES ('delta.compatibility.symlinkFormatManifest.enabled' = 'true')",
        f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b c%/='), (3, NULL), (4, 'x')",
        f"DELETE FROM {name} WHERE p = 'x'",
    )
    other = tmp_path / "other"
    shutil.copytree(path, other)
    with bayou.open(path).transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files(where=[("p", "==", "a")]))
        transaction.commit()
    delta_spark.sql(f"DELETE FROM delta.`{other}` WHERE p = 'a'")
    assert manifests(path) == manifests(other)
    for each in (path, other):
        delta_spark.sql(f"INSERT INTO delta.`{each}` VALUES (5, 'y')")
    assert set(manifests(path)) == set(manifests(other)) == {"p=b c%25%2F%3D", "p=__HIVE_DEFAULT_PARTITION__", "p=y"}
    theirs = manifests(path)
    shutil.rmtree(path / FOLDER)
    bayou.open(path).generate_manifests()
    assert manifests(path) == theirs


def manifests(path):
    """The lines of each manifest without the path of the table or of the one that it is a copy of, by partition."""
    folder = path / FOLDER
    return {
        str(file.parent.relative_to(folder)): sorted(OWN_PATH.sub("", line) for line in file.read_text().splitlines())
        for file in folder.rglob("manifest")
    }
