# SPDX-License-Identifier: Apache-2.0
"""OPTIMIZE by delta-spark and by us on copies of one table: the same rows, files, answer and history, for every reader."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from deltalake import DeltaTable as RustTable

from bayou import DeltaTable

pytestmark = pytest.mark.oracle

SIZE = 1 << 30
SIZES = {f"spark.databricks.delta.optimize.{name}": str(SIZE) for name in ("maxFileSize", "minFileSize")}
KINDS = {
    "plain": "",
    "vectors": "'delta.enableDeletionVectors' = 'true'",
    "row ids": "'delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true'",
    "names": "'delta.columnMapping.mode' = 'name'",
}


@pytest.fixture
def sizes(spark):
    for name, value in SIZES.items():
        spark.conf.set(name, value)
    yield
    for name in SIZES:
        spark.conf.unset(name)


@pytest.fixture
def copies(delta_spark, tmp_path):
    def make(kind, by):
        first, second = tmp_path / "ours", tmp_path / "theirs"
        name = f"delta.`{first}`"
        partitions, properties = f"PARTITIONED BY ({by})" if by else "", f"TBLPROPERTIES ({KINDS[kind]})" if KINDS[kind] else ""
        columns = "id, if(id % 3 = 0, null, concat('%ü ', id % 2)), date'2024-01-01'"
        delta_spark.sql(
            f"CREATE TABLE {name} (id BIGINT, p STRING, d DATE) USING delta {partitions} {properties}",
            *(f"INSERT INTO {name} SELECT {columns} FROM range({n}, {n + 9}, 1, 1)" for n in range(0, 45, 9)),
            f"DELETE FROM {name} WHERE id IN (1, 12, 13)",
        )
        shutil.copytree(first, second)
        return first, second

    return make


def commit(root):
    file = max((root / "_delta_log").glob("*.json"))
    return [json.loads(line) for line in file.read_text().splitlines()]


def said(root):
    """What the last commit says, without what differs from run to run."""
    actions = commit(root)
    info = next(each["commitInfo"] for each in actions if "commitInfo" in each)
    parameters = {name: value for name, value in info["operationParameters"].items() if name != "predicate"}
    adds = [each["add"] for each in actions if "add" in each]
    facts = [
        (
            tuple(sorted((each["partitionValues"] or {}).items(), key=str)),
            each["dataChange"],
            {name: json.loads(each["stats"]).get(name) for name in ("numRecords", "minValues", "maxValues", "nullCount")},
        )
        for each in adds
    ]
    removed = sorted((each["remove"]["path"], each["remove"]["dataChange"]) for each in actions if "remove" in each)
    counts = {name: info["operationMetrics"][name] for name in ("numAddedFiles", "numRemovedFiles", "numDeletionVectorsRemoved")}
    told = (info["operation"], parameters, info["isolationLevel"], info["isBlindAppend"], counts)
    return told, sorted(facts, key=str), removed


def comparable(metrics):
    """The metrics of an answer as text, without sizes, times and what depends on the machine."""
    names = "min|max|avg|totalSize|startTimeMs|endTimeMs|totalClusterParallelism"
    return re.sub(rf"\b({names})=[\d.]+", r"\1", str(metrics))


@pytest.mark.parametrize("by", ["", "p", "p, d"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_commits_the_same_and_every_reader_finds_the_same_rows(spark, delta_spark, copies, sizes, kind, by):
    ours, theirs = copies(kind, by)
    rows = f"SELECT id, p, d FROM delta.`{ours}` ORDER BY id"
    before = delta_spark.sql(rows)
    (answer,) = delta_spark.sql(
        *(f"SET {name} = {value}" for name, value in SIZES.items()),
        f"OPTIMIZE delta.`{theirs}`",
    )
    found = DeltaTable.forPath(spark, str(ours)).optimize().executeCompaction()
    assert said(ours) == said(theirs)
    assert delta_spark.sql(rows) == before
    assert delta_spark.sql(rows.replace(str(ours), str(theirs))) == before
    (row,) = found.collect()
    path, told = answer
    assert (row.path, comparable(row.metrics)) == (path.replace("/theirs", "/ours"), comparable(told))
    if kind == "plain":
        assert sorted(RustTable(str(ours)).to_pyarrow_table()["id"].to_pylist()) == [int(each[0]) for each in before]


@pytest.mark.parametrize("kind", ["vectors", "row ids"])
def test_delta_spark_goes_on_with_our_files_and_we_with_its(spark, delta_spark, copies, sizes, kind):
    ours, theirs = copies(kind, "p")
    DeltaTable.forPath(spark, str(ours)).optimize().executeCompaction()
    delta_spark.sql(*(f"SET {name} = {value}" for name, value in SIZES.items()), f"OPTIMIZE delta.`{theirs}`")
    for root in (ours, theirs):
        delta_spark.sql(f"DELETE FROM delta.`{root}` WHERE id = 4", f"INSERT INTO delta.`{root}` VALUES (99, NULL, NULL)")
        DeltaTable.forPath(spark, str(root)).delete("id = 8")
        DeltaTable.forPath(spark, str(root)).optimize().executeCompaction()
        delta_spark.sql(f"OPTIMIZE delta.`{root}`")
    found = [delta_spark.sql(f"SELECT id, p FROM delta.`{root}` ORDER BY id") for root in (ours, theirs)]
    assert found[0] == found[1]
    assert len(found[0]) == 45 - 3 + 1 - 2
