# SPDX-License-Identifier: Apache-2.0
"""OPTIMIZE: fewer files with the same rows, by one job that shuffles nothing, whatever kind of table it is."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from tests.support.observing import data_files, feed, jobs, last, metrics, parquet_files, physical_plans, tracked

import bayou
from bayou import DeltaTable
from bayou.errors import DeltaError, InvalidOptionError, UnsupportedFeatureError
from bayou.plan.maintenance.compaction import COMPACTED_TAG, TARGET_TAG

CONF = "spark.databricks.delta.optimize"
KINDS = {
    "plain": {},
    "vectors": {"delta.enableDeletionVectors": "true"},
    "row ids": {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"},
    "feed": {"delta.enableChangeDataFeed": "true"},
    "names": {"delta.columnMapping.mode": "name"},
    "ids": {"delta.columnMapping.mode": "id"},
}


@pytest.fixture
def settings(spark):
    given = []

    def set_conf(name, value):
        given.append(name)
        spark.conf.set(name, value)

    yield set_conf
    for name in given:
        spark.conf.unset(name)


def append(spark, path, first, *, count=10, partition_by=(), **properties):
    rows = spark.range(first, first + count, 1, 1).selectExpr(
        "id", "if(id % 3 = 0, null, id % 2) as p", "named_struct('a', id, 'b', array(cast(id as string))) as `s.t`"
    )
    writer = rows.write.format("delta").mode("append").partitionBy(*partition_by)
    for key, value in properties.items():
        writer = writer.option(key, value)
    writer.save(path)


@pytest.fixture
def five_files(spark, table_path):
    def make(*, partition_by=(), properties=None):
        for number in range(5):
            append(spark, table_path, 10 * number, partition_by=partition_by, **(properties or {}))
        return DeltaTable.forPath(spark, table_path)

    return make


def rows(spark, path, **options):
    return sorted(map(str, spark.read.format("delta").options(**options).load(path).collect()))


def outcome(frame):
    (row,) = frame.collect()
    return row.metrics


@pytest.mark.smoke
@pytest.mark.parametrize("partition_by", [(), ("p",)], ids=["one folder", "partitions"])
@pytest.mark.parametrize("properties", KINDS.values(), ids=KINDS)
def test_small_files_become_one_for_each_partition_and_keep_their_rows(spark, table_path, five_files, properties, partition_by):
    table = five_files(partition_by=partition_by, properties=properties)
    table.delete("id in (3, 14, 15)")
    before, version = rows(spark, table_path), last(table_path).version
    files = bayou.open(table_path).snapshot().num_files
    ids = tracked(table_path) if "delta.enableRowTracking" in properties else None
    found = outcome(table.optimize().executeCompaction())
    assert rows(spark, table_path) == before == rows(spark, table_path, versionAsOf=version)
    count = 3 if partition_by else 1
    assert bayou.open(table_path).snapshot().num_files == found.numFilesAdded == found.numBins == found.partitionsOptimized == count
    assert found.numFilesRemoved == found.totalConsideredFiles == files
    if ids is not None:
        assert tracked(table_path) == ids
    entry = last(table_path)
    assert (entry.operation, entry.version) == ("OPTIMIZE", version + 1)
    told = metrics(table_path)
    assert (int(told["numAddedFiles"]), int(told["numRemovedFiles"])) == (count, files)
    if properties.get("delta.enableChangeDataFeed"):
        assert feed(spark, table_path, "id", start=version + 1) == []
    outcome(table.optimize().executeCompaction())
    assert last(table_path).version == version + 1  # a second run finds nothing


def test_it_runs_one_job_without_a_shuffle_and_sorts_nothing(spark, five_files):
    table = five_files(partition_by=("p",))
    with physical_plans(spark) as plans, jobs(spark) as ran:
        table.optimize().executeCompaction()
    assert ran.value == 1
    assert not [plan for plan in plans if "Exchange" in plan or "Sort" in plan]


def test_rows_are_in_the_order_of_the_files_and_types_stay(spark, table_path, five_files):
    table = five_files()
    before = next(Path(table_path).glob("*.parquet"))
    table.optimize().executeCompaction()
    (file,) = bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist()
    types = [str(pq.read_schema(each).remove_metadata()).replace(" not null", "") for each in (before, Path(table_path, file))]
    assert types[0] == types[1]
    ids = pq.read_table(Path(table_path, file))["id"].to_pylist()
    assert all(ids[start : start + 10] == list(range(ids[start], ids[start] + 10)) for start in range(0, 50, 10))


def test_the_plan_says_what_would_be_done_and_writes_nothing(spark, table_path, five_files, settings):
    settings(f"{CONF}.maxFileSize", "50000")
    table = five_files(partition_by=("p",))
    before = parquet_files(table_path)
    plan = table.optimize().where("p = 1").plan()
    assert plan.sizes.target == 50000
    assert plan.num_files == 5
    assert plan.untouched == {"not chosen": 10}
    assert parquet_files(table_path) == before


def test_the_sizes_are_those_of_the_session_then_of_the_table(spark, table_path, five_files, settings):
    table = five_files(properties={"delta.targetFileSize": "4kb"})
    assert table.optimize().plan().sizes.target == 4096
    settings(f"{CONF}.maxFileSize", "9000")
    settings(f"{CONF}.minFileSize", "10")
    settings(f"{CONF}.maxDeletedRowsRatio", "0.5")
    plan = table.optimize().plan()
    assert (plan.sizes.target, plan.sizes.small, plan.sizes.max_deleted) == (9000, 10, 0.5)
    assert plan.num_bins == 0
    for name, value in (("maxFileSize", "x"), ("maxFileSize", "0"), ("maxDeletedRowsRatio", "2"), ("batchSize", "-1")):
        settings(f"{CONF}.{name}", value)
        with pytest.raises(InvalidOptionError) as caught:
            table.optimize().executeCompaction()
        assert caught.value.facts["option"] == f"{CONF}.{name}"
        spark.conf.unset(f"{CONF}.{name}")


def test_new_files_are_tagged_and_a_full_one_is_left_alone(spark, table_path, five_files, settings):
    table = five_files()
    size = sum(bayou.open(table_path).snapshot().files(["size"])["size"].to_pylist())
    settings(f"{CONF}.maxFileSize", str(size))
    table.optimize().executeCompaction()
    (tags,) = bayou.open(table_path).snapshot().files(["tags"])["tags"].to_pylist()
    assert dict(tags) == {COMPACTED_TAG: "true", TARGET_TAG: str(size)}
    append(spark, table_path, 50)
    append(spark, table_path, 60)
    assert dict(table.optimize().plan().untouched) == {"optimized before": 1}


@pytest.mark.parametrize("property_on", [False, True])
def test_a_limit_of_rows_in_a_file_and_optimised_writes_do_not_matter(spark, table_path, five_files, settings, property_on):
    settings("spark.sql.files.maxRecordsPerFile", "3")
    settings("spark.databricks.delta.optimizeWrite.enabled", "true")
    table = five_files(properties={"delta.autoOptimize.optimizeWrite": str(property_on).lower()})
    table.optimize().executeCompaction()
    assert bayou.open(table_path).snapshot().num_files == 1


@pytest.mark.parametrize("size", ["1b", "100", "1g"])
def test_how_spark_splits_files_does_not_matter(spark, table_path, five_files, settings, size):
    settings("spark.sql.files.maxPartitionBytes", size)
    settings("spark.sql.files.maxPartitionNum", "1")
    table = five_files()
    before = rows(spark, table_path)
    table.optimize().executeCompaction()
    assert bayou.open(table_path).snapshot().num_files == 1
    assert rows(spark, table_path) == before


def test_many_deleted_rows_are_a_reason_of_their_own(spark, table_path, settings):
    settings(f"{CONF}.minFileSize", "0")
    append(spark, table_path, 0, **{"delta.enableDeletionVectors": "true"})
    append(spark, table_path, 10)
    table = DeltaTable.forPath(spark, table_path)
    table.delete("id = 4")
    found = outcome(table.optimize().executeCompaction())
    assert (found.numFilesAdded, found.numFilesRemoved) == (1, 1)
    assert found.deletionVectorStats.asDict() == {"numDeletionVectorsRemoved": 1, "numDeletionVectorRowsRemoved": 1}
    assert spark.read.format("delta").load(table_path).count() == 19
    table.delete("id < 10")
    assert outcome(table.optimize().executeCompaction()).numFilesAdded == 0


@pytest.mark.parametrize("setting", ["spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles"])
def test_a_file_that_cannot_be_read_fails_it_by_name_and_nothing_is_left(spark, table_path, five_files, settings, setting):
    settings(setting, "true")
    table = five_files()
    file = Path(table_path, min(data_files(table_path)))
    if "Missing" in setting:
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-20] + b"x" * 20)
    before, version = parquet_files(table_path), last(table_path).version
    with pytest.raises((DeltaError, PySparkException)) as caught:
        table.optimize().executeCompaction()
    assert file.name in str(caught.value)
    assert parquet_files(table_path) == before
    assert last(table_path).version == version


def test_conditions_choose_partitions_or_files(spark, table_path, five_files):
    table = five_files(partition_by=("p",))
    assert outcome(table.optimize().where("p is null").executeCompaction()).numFilesRemoved == 5
    assert json.loads(last(table_path).operation_parameters["predicate"]) == ["p is null"]
    found = outcome(table.optimize().where("p >= 0").where("p < 1").executeCompaction())
    assert (found.numFilesRemoved, found.partitionsOptimized) == (5, 1)
    assert outcome(table.optimize().whereFiles("id < 15").executeCompaction()).numFilesRemoved == 2
    assert outcome(table.optimize().where("p = 7").executeCompaction()).totalConsideredFiles == 0


@pytest.mark.parametrize(
    ("condition", "error_class"),
    [
        ("id = 1", "DELTA_NON_PARTITION_COLUMN_REFERENCE"),
        ("p = 1 and id = 1", "DELTA_NON_PARTITION_COLUMN_REFERENCE"),
        ("p in (select 1)", "DELTA_UNSUPPORTED_SUBQUERY"),
        ("p", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
        ("nothing = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("p = = 1", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_a_condition_that_is_none_of_partitions_is_refused(five_files, condition, error_class):
    table = five_files(partition_by=("p",))
    with pytest.raises((DeltaError, PySparkException)) as caught:
        table.optimize().where(condition).executeCompaction()
    found = getattr(caught.value, "error_class", None) or caught.value.getCondition()
    assert found == error_class


def test_a_condition_on_a_table_without_partitions_is_refused(five_files):
    with pytest.raises(InvalidOptionError) as caught:
        five_files().optimize().where("p = 1").executeCompaction()
    assert caught.value.error_class == "DELTA_NON_PARTITION_COLUMN_REFERENCE"


def test_batches_are_commits_of_their_own(spark, table_path, five_files, settings):
    settings(f"{CONF}.batchSize", "1")
    table = five_files(partition_by=("p",))
    found = outcome(table.optimize().executeCompaction())
    assert (found.numBatches, found.numFilesAdded, found.numFilesRemoved) == (3, 3, 15)
    assert [entry.operation for entry in bayou.open(table_path).history(3)] == ["OPTIMIZE"] * 3


def test_streams_see_no_change(spark, table_path, five_files, tmp_path):
    table = five_files()

    def run():
        query = spark.readStream.format("delta").load(table_path).writeStream.format("parquet")
        query.option("checkpointLocation", str(tmp_path / "log")).trigger(availableNow=True).start(
            str(tmp_path / "out")
        ).awaitTermination()
        return spark.read.parquet(str(tmp_path / "out")).count()

    assert run() == 50
    table.optimize().executeCompaction()
    append(spark, table_path, 50)
    assert run() == 60


def test_cached_frames_see_no_change(spark, table_path, five_files):
    table = five_files()
    frame = spark.read.format("delta").load(table_path).cache()
    before = frame.count()
    table.optimize().executeCompaction()
    assert frame.count() == before
    frame.unpersist()


def test_a_table_that_bayou_may_not_write_is_refused_before_anything_runs(spark, table_path, five_files):
    table = five_files()
    log = Path(table_path, "_delta_log", f"{5:020}.json")
    log.write_text(json.dumps({"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["x"]}}) + "\n")
    with jobs(spark) as ran, pytest.raises(UnsupportedFeatureError):
        table.optimize().executeCompaction()
    assert ran.value == 0


def test_the_answer_has_delta_sparks_columns(spark, five_files):
    found = five_files().optimize().executeCompaction()
    metrics_type = found.schema["metrics"].dataType
    assert found.columns == ["path", "metrics"]
    # delta-spark's OptimizeMetrics, in its order
    assert metrics_type.names == [
        *("numFilesAdded", "numFilesRemoved", "filesAdded", "filesRemoved", "partitionsOptimized", "zOrderStats"),
        *("clusteringStats", "numBins", "numBatches", "totalConsideredFiles", "totalFilesSkipped", "preserveInsertionOrder"),
        *("numFilesSkippedToReduceWriteAmplification", "numBytesSkippedToReduceWriteAmplification", "startTimeMs", "endTimeMs"),
        *("totalClusterParallelism", "totalScheduledTasks", "autoCompactParallelismStats", "deletionVectorStats"),
        *("numTableColumns", "numTableColumnsWithStats"),
    ]
    assert metrics_type["filesAdded"].dataType.simpleString() == (
        "struct<min:bigint,max:bigint,avg:double,totalFiles:bigint,totalSize:bigint>"
    )
    (row,) = found.select("metrics.filesAdded.*", "metrics.filesRemoved.totalFiles").collect()
    assert (row[0], row[1], row[2], row[3], row[5]) == (row.totalSize, row.totalSize, float(row.totalSize), 1, 5)


def test_files_of_narrower_types_get_the_type_of_the_table(spark, table_path):
    spark.range(5).selectExpr("cast(id as int) id", "cast(id as short) v").write.format("delta").option(
        "delta.enableTypeWidening", "true"
    ).save(table_path)
    spark.sql(f"alter table delta.`{table_path}` alter column v type int")
    spark.sql(f"alter table delta.`{table_path}` alter column id type bigint")
    spark.range(5, 9).selectExpr("id", "cast(id as int) v").write.format("delta").mode("append").save(table_path)
    before = rows(spark, table_path)
    DeltaTable.forPath(spark, table_path).optimize().executeCompaction()
    assert rows(spark, table_path) == before
    (file,) = bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist()
    assert [str(each.type) for each in pq.read_schema(Path(table_path, file))] == ["int64", "int32"]


def test_the_rules_and_defaults_of_a_table_do_not_matter(spark, table_path):
    made = DeltaTable.create(spark).location(table_path).addColumn("n", "int", nullable=False).addColumn("c", "char(4)")
    made.addColumn("g", "int", generatedAlwaysAs="n + 1").execute()
    spark.sql(f"alter table delta.`{table_path}` add constraint positive check (n > 0)")
    for number in range(1, 4):
        spark.sql(f"insert into delta.`{table_path}` (n, c) values ({number}, 'a')")
    before = rows(spark, table_path)
    DeltaTable.forPath(spark, table_path).optimize().executeCompaction()
    assert rows(spark, table_path) == before
    assert bayou.open(table_path).snapshot().num_files == 1


def test_an_empty_table_has_nothing_to_compact(spark, table_path):
    spark.range(0).write.format("delta").save(table_path)
    found = outcome(DeltaTable.forPath(spark, table_path).optimize().executeCompaction())
    assert (found.numFilesAdded, found.numBins, found.totalConsideredFiles) == (0, 0, 0)
