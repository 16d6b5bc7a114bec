# SPDX-License-Identifier: Apache-2.0
"""Z-order and clustering by delta-spark and by us on copies of one table: the same answer and history, and cubes of both."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from deltalake import DeltaTable as RustTable

from bayou import DeltaTable

pytestmark = pytest.mark.oracle

KINDS = {
    "plain": "",
    "vectors": "'delta.enableDeletionVectors' = 'true'",
    "row ids": "'delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true'",
    "names": "'delta.columnMapping.mode' = 'name'",
}
COLUMNS = "id, pmod(hash(id), 100) a, concat('v', pmod(hash(id, 1), 50)) `b-c`, named_struct('x.y', id % 30) s, id % 2 p"
TYPES = "id BIGINT, a INT, `b-c` STRING, s STRUCT<`x.y`: BIGINT>, p BIGINT"


@pytest.fixture
def copies(delta_spark, tmp_path):
    def make(layout, kind="plain", inserts=3):
        first, second = tmp_path / "ours", tmp_path / "theirs"
        name = f"delta.`{first}`"
        properties = f"TBLPROPERTIES ({KINDS[kind]})" if KINDS[kind] else ""
        delta_spark.sql(
            "SET spark.sql.shuffle.partitions = 2",
            f"CREATE TABLE {name} ({TYPES}) USING delta {layout} {properties}",
            *(f"INSERT INTO {name} SELECT {COLUMNS} FROM range({n * 500}, {n * 500 + 500}, 1, 1)" for n in range(inserts)),
            f"DELETE FROM {name} WHERE id % 11 = 3",
        )
        shutil.copytree(first, second)
        return first, second

    return make


def actions(root, kind):
    file = max((root / "_delta_log").glob("*.json"))
    return [found[kind] for line in file.read_text().splitlines() if kind in (found := json.loads(line))]


def version(root):
    return len(list((root / "_delta_log").glob("*.json"))) - 1


def said(root):
    """What the last commit says, without what differs from run to run."""
    (info,) = actions(root, "commitInfo")
    counts = {name: info["operationMetrics"][name] for name in ("numAddedFiles", "numRemovedFiles")}
    adds = actions(root, "add")
    tags = {(each.get("clusteringProvider"), json.dumps((each.get("tags") or {}).get("ZCUBE_ZORDER_BY"))) for each in adds}
    flags = {each["dataChange"] for each in (*adds, *actions(root, "remove"))}
    return info["operation"], info["operationParameters"], info["isolationLevel"], counts, tags, flags


def comparable(metrics):
    """The metrics of an answer as text, without sizes, times and what depends on the machine."""
    names = "min|max|avg|totalSize|size|startTimeMs|endTimeMs|totalClusterParallelism"
    return re.sub(rf"\b({names})=[\d.]+", r"\1", str(metrics))


@pytest.mark.parametrize("by", [["a"], ["a", "s.`x.y`", "`b-c`"]], ids=["one column", "three columns"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.in_turn(2)
def test_a_z_order_answers_and_commits_the_same(spark, delta_spark, copies, kind, by):
    ours, theirs = copies("PARTITIONED BY (p)", kind)
    rows = f"SELECT id, a, `b-c`, s, p FROM delta.`{ours}` ORDER BY id"
    before = delta_spark.sql(rows)
    (answer,) = delta_spark.sql(f"OPTIMIZE delta.`{theirs}` ZORDER BY ({', '.join(by)})")
    found = DeltaTable.forPath(spark, str(ours)).optimize().executeZOrderBy(by)
    assert said(ours) == said(theirs)
    assert delta_spark.sql(rows) == before
    (row,) = found.collect()
    path, told = answer
    assert (row.path, comparable(row.metrics)) == (path.replace("/theirs", "/ours"), comparable(told))
    if kind == "plain":
        assert sorted(RustTable(str(ours)).to_pyarrow_table()["id"].to_pylist()) == [int(each[0]) for each in before]


@pytest.mark.parametrize("by", ["a", "a, s.`x.y`, `b-c`"], ids=["one column", "three columns"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.in_turn(2)
def test_clustering_answers_and_commits_the_same(spark, delta_spark, copies, kind, by):
    ours, theirs = copies(f"CLUSTER BY ({by})", kind)
    rows = f"SELECT id, a, `b-c`, s, p FROM delta.`{ours}` ORDER BY id"
    before = delta_spark.sql(rows)
    (answer,) = delta_spark.sql(f"OPTIMIZE delta.`{theirs}`")
    found = DeltaTable.forPath(spark, str(ours)).optimize().executeCompaction()
    assert said(ours) == said(theirs)
    assert delta_spark.sql(rows) == before
    (row,) = found.collect()
    path, told = answer
    assert (row.path, comparable(row.metrics)) == (path.replace("/theirs", "/ours"), comparable(told))


@pytest.mark.parametrize("kind", ["plain", "vectors"])
def test_each_engine_goes_on_with_the_others_cubes(spark, delta_spark, copies, kind):
    ours, theirs = copies("CLUSTER BY (a, `b-c`)", kind)
    DeltaTable.forPath(spark, str(ours)).optimize().executeCompaction()
    delta_spark.sql(f"OPTIMIZE delta.`{theirs}`")
    versions = [version(root) for root in (ours, theirs)]
    # Nothing is new, and there is one cube: the other engine sees that, too.
    delta_spark.sql(f"OPTIMIZE delta.`{ours}`")
    DeltaTable.forPath(spark, str(theirs)).optimize().executeCompaction()
    assert [version(root) for root in (ours, theirs)] == versions
    for root in (ours, theirs):
        delta_spark.sql(f"INSERT INTO delta.`{root}` SELECT {COLUMNS} FROM range(5000, 5100, 1, 1)")
    (answer,) = delta_spark.sql(f"OPTIMIZE delta.`{ours}`")  # merges the cube that is there, which is small
    assert "inputNumZCubes=1" in str(answer)
    (row,) = DeltaTable.forPath(spark, str(theirs)).optimize().executeCompaction().collect()
    stats = row.metrics.clusteringStats
    assert (stats.inputNumZCubes, stats.inputOtherFiles.numFiles, stats.numOutputZCubes) == (1, 1, 1)
    found = [delta_spark.sql(f"SELECT id, a, `b-c` FROM delta.`{root}` ORDER BY id") for root in (ours, theirs)]
    assert found[0] == found[1]


def test_other_columns_and_all_again(spark, delta_spark, copies):
    ours, theirs = copies("CLUSTER BY (a)")
    DeltaTable.forPath(spark, str(theirs)).optimize().executeCompaction()
    delta_spark.sql(f"OPTIMIZE delta.`{ours}`")
    for root in (ours, theirs):
        delta_spark.sql(f"ALTER TABLE delta.`{root}` CLUSTER BY (`b-c`)")
    versions = [version(root) for root in (ours, theirs)]
    DeltaTable.forPath(spark, str(ours)).optimize().executeCompaction()
    delta_spark.sql(f"OPTIMIZE delta.`{theirs}`")
    assert [version(root) for root in (ours, theirs)] == versions
    (row,) = DeltaTable.forPath(spark, str(ours)).optimize().executeFull().collect()
    (answer,) = delta_spark.sql(f"OPTIMIZE delta.`{theirs}` FULL")
    assert said(ours) == said(theirs)
    assert comparable(row.metrics) == comparable(answer[1])


def test_both_refuse_the_same(spark, delta_spark, copies):
    ours, _ = copies("CLUSTER BY (a)")
    name, table = f"delta.`{ours}`", DeltaTable.forPath(spark, str(ours))
    for statement, call in (
        (f"OPTIMIZE {name} WHERE a = 1", lambda: table.optimize().where("a = 1").executeCompaction()),
        (f"OPTIMIZE {name} ZORDER BY (a)", lambda: table.optimize().executeZOrderBy("a")),
    ):
        theirs = delta_spark.refused(statement)
        with pytest.raises(Exception) as caught:
            call()
        assert caught.value.error_class in str(theirs)
