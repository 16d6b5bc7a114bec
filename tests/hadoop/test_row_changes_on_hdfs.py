# SPDX-License-Identifier: Apache-2.0
"""DELETE, UPDATE and MERGE of a table on a real HDFS: by files and by vectors, with and without a change data feed."""

from __future__ import annotations

import pytest
from tests.support.observing import feed as told

import bayou
from bayou.errors import ConcurrentModificationError
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor

TEN = "select id, id v, id % 2 p from range(0, 10, 1, 1)"
WAYS = {"files": "false", "vectors": "true"}
FEEDS = {"no feed": "false", "feed": "true"}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def vectors(request):
    return request.param


@pytest.fixture(params=FEEDS.values(), ids=FEEDS)
def feeds(request):
    return request.param


@pytest.fixture
def table(spark, folder, vectors, feeds):
    properties = {"delta.enableDeletionVectors": vectors, "delta.enableChangeDataFeed": feeds}
    bayou.write(spark.sql(TEN), folder, partition_by=["p"], **properties)
    return bayou.DeltaTable.forPath(spark, folder)


def merge(spark, table):
    new = spark.sql("select id, id * 10 v, id % 2 p from range(6, 12)").alias("s")
    merged = table.alias("t").merge(new, "t.id = s.id").whenMatchedDelete("s.id = 6").whenMatchedUpdateAll()
    return merged.whenNotMatchedInsertAll()


def files(hdfs, folder):
    """Every file of a table on HDFS but for its log."""
    found = set()
    for status in hdfs.files.listStatus(hdfs.path(folder)):
        uri = status.getPath().toString()
        if status.isDirectory() and status.getPath().getName() != "_delta_log":
            found |= files(hdfs, uri)
        elif not status.isDirectory():
            found.add(status.getPath().getName())
    return found


def named(folder):
    """The names of the files that the commits of a table have named."""
    found = set()
    for version in range(bayou.open(folder).version() + 1):
        for action in bayou.open(folder).snapshot(version).files().to_pylist():
            found.add(action["path"].rpartition("/")[2])
            if action["deletion_vector"] is not None:
                found.add(DeletionVectorDescriptor(**action["deletion_vector"]).relative_path.rpartition("/")[2])
    return found


def test_rows_are_deleted_updated_and_merged(spark, folder, hdfs, table, vectors, feeds):
    assert table.delete("id = 1 or id = 2").num_deleted_rows == 2
    assert table.update("id in (3, 4)", {"v": "-v"}).num_updated_rows == 2
    result = merge(spark, table).execute()
    assert (result.num_updated_rows, result.num_deleted_rows, result.num_inserted_rows) == (3, 1, 2)
    rows = sorted(tuple(row) for row in table.toDF().select("id", "v").collect())
    assert rows == [(0, 0), (3, -3), (4, -4), (5, 5), *((each, each * 10) for each in range(7, 12))]
    assert any(name.endswith(".bin") for name in files(hdfs, folder)) == (vectors == "true")
    if feeds == "true":
        changes = told(spark, folder, start=1)
        assert {row for row in changes if row[2] == "delete"} == {(1, 1, "delete"), (2, 2, "delete"), (6, 6, "delete")}
        assert {row for row in changes if row[2] == "insert"} == {(10, 100, "insert"), (11, 110, "insert")}
        assert {row[:2] for row in changes if row[2] == "update_postimage"} == {(3, -3), (4, -4), (7, 70), (8, 80), (9, 90)}
    else:
        assert files(hdfs, folder) == named(folder)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", ["delete", "update", "merge"])
def test_a_lost_commit_leaves_no_file(spark, folder, hdfs, table, kind):
    plans = {
        "delete": lambda: table.plan_delete("id = 7"),
        "update": lambda: table.plan_update("id = 7", {"v": "-v"}),
        "merge": lambda: merge(spark, table).plan(),
    }
    plan = plans[kind]()
    table.delete("id = 7 or id = 8")
    before = files(hdfs, folder)
    with pytest.raises(ConcurrentModificationError):
        plan.execute()
    assert files(hdfs, folder) == before
    assert bayou.open(folder).version() == 1
