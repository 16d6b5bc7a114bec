# SPDX-License-Identifier: Apache-2.0
"""OPTIMIZE of clustered tables: by the table's columns, cube by cube, and all of it again on demand."""

from __future__ import annotations

import json

import pytest
from tests.support.observing import last, tracked

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidOptionError, UnsupportedFeatureError

CONF = "spark.databricks.delta.optimize"
SIZE = f"{CONF}.maxFileSize"
THRESHOLD = f"{CONF}.clustering.mergeStrategy.minCubeSize.threshold"
KINDS = {
    "plain": {},
    "vectors": {"delta.enableDeletionVectors": "true"},
    "row ids": {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"},
    "names": {"delta.columnMapping.mode": "name"},
}


@pytest.fixture
def settings(spark):
    given = []

    def set_conf(name, value):
        given.append(name)
        spark.conf.set(name, str(value))

    yield set_conf
    for name in given:
        spark.conf.unset(name)


@pytest.fixture
def clustered(spark, table_path):
    def make(*columns, **properties):
        builder = DeltaTable.create(spark).location(table_path)
        builder = builder.addColumns(spark.range(0).selectExpr("id", "id as a", "id as b", "struct(id as `x.y`) as s").schema)
        for name, value in properties.items():
            builder = builder.property(name, value)
        return builder.clusterBy(*columns).execute()

    return make


@pytest.fixture
def append(spark, table_path):
    def make(first, count=1000, files=2):
        frame = spark.range(first, first + count, 1, files)
        frame = frame.selectExpr("id", "pmod(hash(id), 1000L) as a", "pmod(hash(id, 1), 1000L) as b", "struct(id as `x.y`) as s")
        frame.write.format("delta").mode("append").save(table_path)

    return make


def rows(spark, path):
    return sorted(map(str, spark.read.format("delta").load(path).collect()))


def outcome(frame):
    (row,) = frame.collect()
    return row.metrics


def files(path):
    return bayou.open(path).snapshot().files().to_pylist()


def cubes(path):
    return {dict(each["tags"] or ()).get("ZCUBE_ID") for each in files(path)}


@pytest.mark.smoke
@pytest.mark.parametrize("properties", KINDS.values(), ids=KINDS)
def test_a_clustered_table_is_clustered_by_its_columns(spark, table_path, clustered, append, settings, properties):
    made = clustered("a", "s.`x.y`", **properties)
    append(0, 4000)
    made.delete("id % 9 = 4")
    before = rows(spark, table_path)
    ids = tracked(table_path) if "delta.enableRowTracking" in properties else None
    settings(SIZE, sum(each["size"] for each in files(table_path)) // 4)
    found = outcome(made.optimize().executeCompaction())
    assert rows(spark, table_path) == before
    if ids is not None:
        assert tracked(table_path) == ids
    new = files(table_path)
    assert len(new) == found.numFilesAdded >= 3
    assert {each["clustering_provider"] for each in new} == {"liquid"}
    tags = [dict(each["tags"]) for each in new]
    assert {(each["ZCUBE_ZORDER_BY"], each["ZCUBE_ZORDER_CURVE"]) for each in tags} == {('["a","s.`x.y`"]', "hilbert")}
    assert len(cubes(table_path)) == 1
    parameters = last(table_path).operation_parameters
    assert json.loads(parameters["clusterBy"]) == ["a", "s.`x.y`"]
    assert (parameters["zOrderBy"], parameters["isFull"]) == ("[]", "false")
    stats = found.clusteringStats
    assert (stats.inputNumZCubes, stats.numOutputZCubes, found.zOrderStats) == (0, 1, None)
    assert stats.inputOtherFiles == stats.mergedFiles
    version = last(table_path).version
    again = outcome(made.optimize().executeCompaction())
    assert last(table_path).version == version
    assert (again.clusteringStats.inputNumZCubes, again.clusteringStats.numOutputZCubes) == (1, 0)


def test_new_files_become_a_cube_and_eight_cubes_one(spark, table_path, clustered, append):
    made = clustered("a", "b")
    for number in range(8):
        append(1000 * number, files=1)
        found = outcome(made.optimize().executeCompaction())
        assert found.numFilesRemoved == (1 if number < 7 else 8)
        assert len(cubes(table_path)) == (number + 1 if number < 7 else 1)
    assert found.clusteringStats.inputNumZCubes == 7
    assert len(rows(spark, table_path)) == 8000


def test_a_threshold_that_is_set_merges_every_smaller_cube(spark, table_path, clustered, append, settings):
    made = clustered("a", "b")
    append(0)
    made.optimize().executeCompaction()
    (size,) = (each["size"] for each in files(table_path))
    settings(THRESHOLD, size + 1)
    append(1000, 10, 1)
    made.optimize().executeCompaction()
    assert len(files(table_path)) == 1
    append(2000, 10, 1)
    made.optimize().executeCompaction()
    assert len(cubes(table_path)) == 2  # the first one is large enough by now
    settings(THRESHOLD, "many")
    with pytest.raises(InvalidOptionError) as caught:
        made.optimize().executeCompaction()
    assert caught.value.facts["option"] == THRESHOLD


def test_other_columns_leave_clustered_files_alone_until_all_are_clustered_again(spark, table_path, clustered, append):
    made = clustered("a")
    append(0)
    made.optimize().executeCompaction()
    made.clusterBy("b")
    version = last(table_path).version
    made.optimize().executeCompaction()
    assert last(table_path).version == version
    append(1000)
    found = outcome(made.optimize().executeCompaction())
    assert (found.numFilesRemoved, len(cubes(table_path))) == (2, 2)
    found = outcome(made.optimize().executeFull())
    assert found.numFilesRemoved == 2
    assert last(table_path).operation_parameters["isFull"] == "true"
    assert {dict(each["tags"])["ZCUBE_ZORDER_BY"] for each in files(table_path)} == {'["b"]'}
    version = last(table_path).version
    made.optimize().executeFull()
    assert last(table_path).version == version
    assert len(rows(spark, table_path)) == 2000


def test_a_table_without_clustering_columns_is_compacted_and_never_clustered_in_full(spark, table_path, clustered, append):
    made = clustered("a")
    append(0)
    made.clusterBy()
    found = outcome(made.optimize().executeCompaction())
    assert (found.numFilesAdded, found.clusteringStats) == (1, None)
    assert cubes(table_path) == {None}
    for refused, error_class in (
        (made.optimize().executeFull, "DELTA_OPTIMIZE_FULL_NOT_SUPPORTED"),
        (lambda: made.optimize().where("id = 1").executeCompaction(), "DELTA_CLUSTERING_WITH_PARTITION_PREDICATE"),
        (lambda: made.optimize().executeZOrderBy("a"), "DELTA_CLUSTERING_WITH_ZORDER_BY"),
    ):
        with pytest.raises(UnsupportedFeatureError) as refusal:
            refused()
        assert refusal.value.error_class == error_class


def test_a_condition_on_any_column_chooses_files_of_a_clustered_table(table_path, clustered, append):
    made = clustered("a")
    append(0, files=1)
    append(5000, files=1)
    found = outcome(made.optimize().whereFiles("id < 1000").executeCompaction())
    assert (found.numFilesRemoved, found.totalConsideredFiles) == (1, 1)
    assert len(cubes(table_path) - {None}) == 1


def test_rows_that_were_deleted_by_vectors_let_a_file_be_clustered_again(spark, table_path, clustered, append):
    made = clustered("a", **KINDS["vectors"])
    append(0)
    made.optimize().executeCompaction()
    made.delete("id % 3 = 0")
    before = rows(spark, table_path)
    found = outcome(made.optimize().executeCompaction())
    assert (found.numFilesRemoved, found.deletionVectorStats.numDeletionVectorsRemoved) == (1, 1)
    assert rows(spark, table_path) == before
    assert len(cubes(table_path)) == 1


def test_reorg_of_a_clustered_table_is_no_clustering(table_path, clustered, append):
    made = clustered("a", **KINDS["vectors"])
    append(0)
    made.delete("id % 3 = 0")
    made.reorg()
    assert last(table_path).operation == "REORG"
    assert cubes(table_path) == {None}
