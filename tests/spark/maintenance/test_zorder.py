# SPDX-License-Identifier: Apache-2.0
"""Z-order: rows along a curve through columns of any type, in files of one size, and again only where there are new files."""

from __future__ import annotations

import itertools
import json

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.observing import feed, jobs, last, metrics, parquet_files, physical_plans, tracked, without_statistics

import bayou
from bayou import DeltaTable
from bayou.errors import DeltaError, InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError
from bayou.plan.maintenance.compaction import COMPACTED_TAG, TARGET_TAG
from bayou.spark.maintenance import optimize as module

SIZE = "spark.databricks.delta.optimize.maxFileSize"
KINDS = {
    "plain": {},
    "vectors": {"delta.enableDeletionVectors": "true"},
    "row ids": {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"},
    "feed": {"delta.enableChangeDataFeed": "true"},
    "names": {"delta.columnMapping.mode": "name"},
    "ids": {"delta.columnMapping.mode": "id"},
    "materialized": {"delta.feature.materializePartitionColumns": "supported"},
}
COUNT = 4000
ROWS = "id, pmod(hash(id), 1000) as a, pmod(hash(id, 1), 1000) as b, id % 2 as p, named_struct('x.y', pmod(hash(id, 2), 90)) as s"


@pytest.fixture
def into_files(spark, table_path):
    """Makes the size of new files such that the table becomes so many."""

    def make(count, path=None):
        snapshot = bayou.open(path or table_path).snapshot()
        spark.conf.set(SIZE, str(max(1, snapshot.size_bytes // count)))

    yield make
    spark.conf.unset(SIZE)


@pytest.fixture
def table(spark, table_path):
    def make(*, first=0, count=COUNT, files=2, partition_by=(), rows=ROWS, **properties):
        frame = spark.range(first, first + count, 1, files).selectExpr(*_split(rows))
        frame.write.format("delta").mode("append").partitionBy(*partition_by).options(**properties).save(table_path)
        return DeltaTable.forPath(spark, table_path)

    return make


def _split(text):
    parts, depth, start = [], 0, 0
    for place, each in enumerate(text):
        depth += (each == "(") - (each == ")")
        if each == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def rows(spark, path, **options):
    return sorted(map(str, spark.read.format("delta").options(**options).load(path).collect()))


def outcome(frame):
    (row,) = frame.collect()
    return row.metrics


def per_file(spark, path, *columns):
    """For each file its rows, and of each expression the least and the greatest value and the number of NULLs."""
    found = [each for text in columns for each in (F.min(F.expr(text)), F.max(F.expr(text)), F.count_if(F.expr(f"{text} is null")))]
    frame = spark.read.format("delta").load(path).groupBy(F.input_file_name()).agg(F.count("*"), *found)
    return [tuple(row)[1:] for row in frame.collect()]


def files_with(found, column, value):
    """How many files may hold a value of a column, by their least and greatest ones."""
    low, high = 1 + 3 * column, 2 + 3 * column
    return sum(each[low] is not None and each[low] <= value <= each[high] for each in found)


@pytest.mark.smoke
def test_files_are_of_one_size_and_a_filter_on_any_column_reads_few(spark, table_path, table, into_files):
    made = table(count=40_000)
    before = rows(spark, table_path)
    into_files(16)
    found = outcome(made.optimize().executeZOrderBy("a", "b"))
    assert rows(spark, table_path) == before
    files = per_file(spark, table_path, "a", "b")
    assert len(files) == found.numFilesAdded == 16
    counts = sorted(each[0] for each in files)
    assert counts[-1] - counts[0] < 0.06 * 40_000 / 16
    for column in (0, 1):
        read = [files_with(files, column, value) for value in range(0, 1000, 25)]
        assert sum(read) / len(read) <= 6  # a grid of four by four files; without order it would be 16
    entry = last(table_path)
    assert (entry.operation, entry.operation_parameters["zOrderBy"]) == ("OPTIMIZE", '["a","b"]')
    assert entry.operation_parameters["clusterBy"] == "[]"
    assert "isFull" not in entry.operation_parameters
    stats = found.zOrderStats
    assert (stats.strategyName, stats.inputNumCubes, stats.numOutputCubes, stats.mergedNumCubes) == ("all", 0, 1, None)
    assert stats.inputOtherFiles == stats.mergedFiles
    assert stats.mergedFiles.num == found.numFilesRemoved == found.totalConsideredFiles == 2
    assert metrics(table_path)["numAddedFiles"] == "16"


def test_one_column_divides_the_files_by_its_values(spark, table_path, table, into_files):
    made = table(count=40_000)
    into_files(10)
    made.optimize().executeZOrderBy(["a"])
    files = per_file(spark, table_path, "a")
    assert len(files) == 10
    assert max(files_with(files, 0, value) for value in range(1000)) <= 2


def test_columns_that_say_the_same_are_divided_as_well(spark, table_path, table, into_files):
    made = table(count=20_000, rows="id as a, id * 3 as b")
    into_files(8)
    made.optimize().executeZOrderBy("a", "b")
    files = per_file(spark, table_path, "a", "b")
    assert len(files) == 8
    assert max(each[0] for each in files) < 1.3 * 20_000 / 8
    assert max(files_with(files, 0, value) for value in range(0, 20_000, 100)) <= 2


@pytest.mark.parametrize("partition_by", [(), ("p",)], ids=["one folder", "partitions"])
@pytest.mark.parametrize("properties", KINDS.values(), ids=KINDS)
def test_every_kind_of_table_keeps_its_rows_and_ids(spark, table_path, table, into_files, properties, partition_by):
    if properties is KINDS["materialized"] and not partition_by:
        return
    table(partition_by=partition_by, **properties)
    made = table(first=COUNT, partition_by=partition_by)
    made.delete("id % 7 = 3")
    into_files(6)
    before, version = rows(spark, table_path), last(table_path).version
    ids = tracked(table_path) if "delta.enableRowTracking" in properties else None
    columns = ["a", "s.`x.y`"]
    found = outcome(made.optimize().executeZOrderBy(columns))
    assert rows(spark, table_path) == before == rows(spark, table_path, versionAsOf=version)
    if ids is not None:
        assert tracked(table_path) == ids
    snapshot = bayou.open(table_path).snapshot()
    assert snapshot.num_files == found.numFilesAdded >= 4
    assert found.partitionsOptimized == found.zOrderStats.numOutputCubes == (2 if partition_by else 1)
    assert snapshot.files(["deletion_vector"])["deletion_vector"].null_count == snapshot.num_files
    if properties.get("delta.enableChangeDataFeed"):
        assert feed(spark, table_path, "id", start=version + 1) == []
    files = per_file(spark, table_path, *columns)
    parts = len(files) // (2 if partition_by else 1)
    assert min(files_with(files, 0, value) for value in range(0, 1000, 50)) < len(files) or parts < 3
    assert last(table_path).version == version + 1
    assert json.loads(last(table_path).operation_parameters["zOrderBy"]) == ["a", "s.`x.y`"]
    made.optimize().executeZOrderBy(columns)
    assert last(table_path).version == version + 1  # there is nothing new


VALUES = {
    "tinyint": "cast(pmod(hash(id), 100) as tinyint)",
    "smallint": "cast(pmod(hash(id), 1000) as smallint)",
    "int": "hash(id)",
    "bigint": "xxhash64(id)",
    "float": "if(id % 50 = 1, cast('NaN' as float), cast(hash(id) / 7 as float))",
    "double": "if(id % 50 = 1, cast('-Infinity' as double), hash(id) / 7)",
    "decimal(38,2)": "cast(hash(id) as decimal(38, 2)) * 1000000000000",
    "date": "date_add(date'1950-01-01', pmod(hash(id), 40000))",
    "timestamp": "timestamp_micros(xxhash64(id) % 1000000000000000)",
    "timestamp_ntz": "cast(timestamp_micros(xxhash64(id) % 1000000000000000) as timestamp_ntz)",
    "string": "concat('a long beginning that all of them have, ', pmod(hash(id), 1000), 'ü')",
    "varchar(9)": "cast(pmod(hash(id), 1000) as string)",
    "boolean": "hash(id) > 0",
    "binary": "cast(cast(hash(id) as string) as binary)",
    "struct<x:int>": "named_struct('x', hash(id))",
    "array<int>": "array(hash(id))",
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.in_turn(4)
def test_values_of_every_type_with_an_order_are_put_in_order_and_nulls_come_first(spark, table_path, into_files, kind):
    made = DeltaTable.create(spark).location(table_path).addColumn("id", "bigint").addColumn("v", kind).execute()
    frame = spark.range(0, COUNT, 1, 2).selectExpr("id", f"if(id % 4 = 0, null, {VALUES[kind]}) as v")
    frame.write.format("delta").mode("append").save(table_path)
    before = rows(spark, table_path)
    into_files(8)
    spark.conf.set("spark.databricks.delta.optimize.zorder.checkStatsCollection.enabled", "false")
    try:
        made.optimize().executeZOrderBy("v")
    finally:
        spark.conf.unset("spark.databricks.delta.optimize.zorder.checkStatsCollection.enabled")
    assert rows(spark, table_path) == before
    files = per_file(spark, table_path, "v")
    assert len(files) == 8
    assert max(each[0] for each in files) < 1.3 * COUNT / 8
    with_nulls = [each for each in files if each[3]]
    assert len(with_nulls) <= 3
    assert sum(each[3] for each in with_nulls) == COUNT // 4
    of_values = sorted((each for each in files if each[1] is not None), key=lambda each: (each[1] != each[1], str(each[1])))
    assert len(of_values) >= 4
    if kind not in {"boolean", "struct<x:int>", "float"}:
        in_order = sorted(of_values, key=lambda each: each[1])
        assert all(one[2] <= other[1] for one, other in itertools.pairwise(in_order))
        assert all(each[3] == 0 for each in in_order[1:])  # NULLs are beside the least values


def test_a_cell_larger_than_a_file_is_split(spark, table_path, table, into_files):
    made = table(count=10_000, rows="id, if(id % 10 = 0, id, 7) as a, 1 as b")
    into_files(5)
    found = outcome(made.optimize().executeZOrderBy("a", "b"))
    counts = sorted(each[0] for each in per_file(spark, table_path, "a"))
    assert found.numFilesAdded == len(counts) == 5
    assert counts[-1] < 1.25 * 10_000 / 5
    assert sum(counts) == 10_000


def test_the_number_of_jobs_does_not_depend_on_columns_or_partitions(spark, table_path, table, into_files):
    made = table(partition_by=("p",))
    into_files(8)
    with physical_plans(spark) as plans, jobs(spark) as ran:
        made.optimize().executeZOrderBy("a")
    with jobs(spark) as ran_for_three:
        made.optimize().executeZOrderBy("a", "b", "id")
    assert ran.value == ran_for_three.value
    assert len(plans) == 3
    assert not [plan for plan in plans if "Python" in plan or "ArrowEval" in plan]
    assert "Sort" not in plans[0]  # the last one, which writes
    assert max(map(len, plans)) < 50_000  # they do not show what is looked up


def test_files_that_are_one_cube_of_one_file_are_written_without_a_shuffle(spark, table):
    made = table()
    with physical_plans(spark) as plans, jobs(spark) as ran:
        made.optimize().executeZOrderBy("a")
    assert ran.value == 1
    assert not [plan for plan in plans if "Exchange" in plan]


def test_a_later_run_touches_the_partitions_with_new_files_alone(spark, table_path, table, into_files):
    made = table(partition_by=("p",))
    into_files(8)
    made.optimize().executeZOrderBy("a", "b")
    before = set(bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist())
    rows_to_add = spark.range(COUNT, COUNT + 50, 1, 1).selectExpr(*_split(ROWS)).where("p = 1")
    rows_to_add.write.format("delta").mode("append").save(table_path)
    found = outcome(made.optimize().executeZOrderBy("a", "b"))
    assert (found.numFilesAdded, found.numFilesRemoved, found.partitionsOptimized) == (1, 1, 1)
    stats = found.zOrderStats
    assert (stats.strategyName, stats.inputCubeFiles.num, stats.inputOtherFiles.num) == ("sizeClasses", len(before), 1)
    assert (stats.inputNumCubes, stats.mergedFiles.num, stats.numOutputCubes) == (2, 1, 1)
    files = bayou.open(table_path).snapshot().files(["path", "tags"]).to_pylist()
    assert before < {each["path"] for each in files}
    assert len({dict(each["tags"])["BAYOU_ZORDER_ID"] for each in files}) == 3
    other = outcome(made.optimize().executeZOrderBy("b"))
    assert other.numFilesRemoved == len(files)  # by other columns, nothing is in order yet


def test_eight_small_runs_are_merged(spark, table_path, table):
    for number in range(8):
        made = table(first=100 * number, count=100, files=1)
        found = outcome(made.optimize().executeZOrderBy("a"))
        assert (found.numFilesAdded, found.numFilesRemoved) == ((1, 1) if number < 7 else (1, 8))
    assert found.zOrderStats.mergedNumCubes == 7
    assert bayou.open(table_path).snapshot().num_files == 1


def test_new_files_have_tags_and_compaction_leaves_them_alone(spark, table_path, table, into_files):
    made = table()
    into_files(4)
    made.optimize().executeZOrderBy("a")
    tags = [dict(each) for each in bayou.open(table_path).snapshot().files(["tags"])["tags"].to_pylist()]
    assert {each["BAYOU_ZORDER_BY"] for each in tags} == {'[["a"]]'}
    assert all({COMPACTED_TAG, TARGET_TAG} <= each.keys() for each in tags)
    version = last(table_path).version
    made.optimize().executeCompaction()
    assert last(table_path).version == version


def test_conditions_choose_files(spark, table_path, table):
    made = table(partition_by=("p",))
    found = outcome(made.optimize().where("p = 1").executeZOrderBy("a"))
    assert (found.numFilesAdded, found.totalConsideredFiles) == (1, 2)
    assert json.loads(last(table_path).operation_parameters["predicate"]) == ["p = 1"]
    assert outcome(made.optimize().whereFiles(f"id > {COUNT}").executeZOrderBy("a")).totalConsideredFiles == 0


def test_the_plan_of_a_z_order_is_that_of_its_request(table):
    made = table()
    builder = made.optimize()
    builder = type(builder)(builder._table, module.OptimizeRequest(z_order=("a",)))
    assert builder.plan().outputs == (1,)


ERRORS = [
    ("p", InvalidOptionError, "DELTA_ZORDERING_ON_PARTITION_COLUMN"),
    ("P", InvalidOptionError, "DELTA_ZORDERING_ON_PARTITION_COLUMN"),
    ("nothing", InvalidOptionError, "DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST"),
    ("s.x.y", InvalidOptionError, "DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST"),
    ("a, b", InvalidOptionError, "PARSE_SYNTAX_ERROR"),
    ("late", InvalidSchemaError, "DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS"),
    ("m", UnsupportedFeatureError, "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE"),
]


@pytest.mark.parametrize(("column", "error", "error_class"), ERRORS)
def test_columns_that_cannot_be_are_refused_before_anything_runs(spark, table_path, table, column, error, error_class):
    made = table(
        count=10, partition_by=("p",), rows=f"{ROWS}, map(1, 2) as m, 5 as late", **{"delta.dataSkippingNumIndexedCols": "5"}
    )
    files = parquet_files(table_path)
    with jobs(spark) as ran, pytest.raises(error) as caught:
        made.optimize().executeZOrderBy("a", column)
    assert caught.value.error_class == error_class
    assert isinstance(caught.value, PySparkException)
    assert isinstance(caught.value, DeltaError)
    assert ran.value == 0
    assert parquet_files(table_path) == files


def test_names_are_found_whatever_their_case_and_kept_as_the_schema_spells_them(spark, table_path, table):
    table().optimize().executeZOrderBy("A", "S.`X.Y`")
    assert json.loads(last(table_path).operation_parameters["zOrderBy"]) == ["a", "s.`x.y`"]


@pytest.fixture
def meanwhile(monkeypatch):
    """Does something after OPTIMIZE wrote its files and before it commits them."""

    def install(act):
        waiting, commit = [act], module._commit

        def with_others(*arguments):
            if waiting:
                waiting.pop()()
            return commit(*arguments)

        monkeypatch.setattr(module, "_commit", with_others)

    return install


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_a_cube_is_left_out_if_another_commit_changes_its_rows(spark, table_path, table, into_files, meanwhile, vectors):
    made = table(partition_by=("p",), **{"delta.enableDeletionVectors": vectors})
    into_files(8)
    expected = []

    def act():
        made.delete("id = 4")
        table(first=COUNT, count=3, partition_by=("p",))
        expected.append(rows(spark, table_path))

    meanwhile(act)
    found = outcome(made.optimize().executeZOrderBy("a", "b"))
    assert [rows(spark, table_path)] == expected
    assert (found.numFilesRemoved, found.numFilesAdded) == (2, 4)
    assert last(table_path).operation == "OPTIMIZE"
    snapshot = bayou.open(table_path).snapshot()
    named = {*snapshot.files(["path"])["path"].to_pylist(), *snapshot.tombstones()["path"].to_pylist()}
    assert parquet_files(table_path) == named


def test_files_whose_types_were_widened_are_put_in_order(spark, table_path, table, into_files):
    made = table(rows="id, cast(pmod(hash(id), 1000) as int) as a", **{"delta.enableTypeWidening": "true"})
    spark.sql(f"alter table delta.`{table_path}` alter column a type bigint")
    table(first=COUNT, rows="id, pmod(hash(id), 1000) + 5000000000 as a")
    before = rows(spark, table_path)
    into_files(6)
    made.optimize().executeZOrderBy("a")
    assert rows(spark, table_path) == before
    files = per_file(spark, table_path, "a")
    assert len(files) == 6
    assert max(files_with(files, 0, value) for value in (0, 500, 5_000_000_500)) <= 2


def test_a_log_without_statistics_is_no_obstacle(spark, table_path, table, into_files):
    made = table()
    without_statistics(table_path)
    before = rows(spark, table_path)
    into_files(4)
    DeltaTable.forPath(spark, table_path).optimize().executeZOrderBy("a", "b")
    assert rows(spark, table_path) == before
    assert len(per_file(spark, table_path, "a")) == 4
    assert made.toDF().count() == COUNT


def test_settings_of_the_session_change_neither_rows_nor_order(spark, table_path, table, into_files):
    made = table()
    before = rows(spark, table_path)
    into_files(4)
    odd = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.files.maxRecordsPerFile": "7",
        "spark.sql.caseSensitive": "true",
        "spark.sql.files.maxPartitionBytes": "20000",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.optimizeWrite.enabled": "true",
    }
    kept = {name: spark.conf.get(name, None) for name in odd}
    for name, value in odd.items():
        spark.conf.set(name, value)
    try:
        made.optimize().executeZOrderBy("A", "b")
    finally:
        for name, value in kept.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
    assert rows(spark, table_path) == before
    assert len(per_file(spark, table_path, "a")) == 4
