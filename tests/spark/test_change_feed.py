# SPDX-License-Identifier: Apache-2.0
"""The change data feed through Spark: the rows that changed, whichever way they are asked for, by Spark's own scans."""

from __future__ import annotations

import datetime as dt
import os
import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.counting import files_read, jobs, plan_of
from tests.spark.tables import file_of, without_rows

import bayou
from bayou.errors import (
    DeltaError,
    InvalidOptionError,
    SchemaChangedError,
    TimestampOutOfRangeError,
    TimeTravelError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from bayou.protocol import file_names
from bayou.protocol.actions import Protocol
from bayou.protocol.schema import StructField, StructType
from bayou.spark.application import Application
from bayou.testing.table_builder import TableBuilder, metadata, remove

FEED = {"delta.enableChangeDataFeed": "true"}
ALL = ("deletionVectors", "columnMapping", "typeWidening")
PROTOCOL = Protocol(3, 7, ALL, (*ALL, "changeDataFeed"))
START = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)


@pytest.fixture
def session(spark):
    """A session whose settings a test may change."""
    return bayou.enable(spark.newSession())


def table(path, schema=None, *, partition_by=(), **configuration):
    """An empty table with a change data feed."""
    schema = {"id": "long", "name": "string"} if schema is None else schema
    return TableBuilder(path).create(schema, partition_by=partition_by, configuration={**FEED, **configuration}, protocol=PROTOCOL)


def rows(path, name, ids, **fields):
    """A data file of rows, as an `add` action."""
    values = {"id": pa.array(list(ids), pa.int64()), "name": [f"n{each}" for each in ids]}
    return file_of(path, name, values, **fields)


def gone(added, **fields):
    """The `remove` action for an `add` action."""
    had = {key: added["add"][key] for key in ("partitionValues", "size", "deletionVector") if key in added["add"]}
    return remove(added["add"]["path"], extendedFileMetadata=True, **had, **fields)


def changed(path, name, values, **fields):
    """A change file, as a `cdc` action."""
    file = Path(path, "_change_data", name)
    file.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(values), file)
    return {
        "cdc": {"path": f"_change_data/{name}", "partitionValues": {}, "size": file.stat().st_size, "dataChange": False, **fields}
    }


def story(path):
    """Versions 1 to 5: rows come, some go by a vector, one is updated, a vector is taken back, the rest goes."""
    builder = table(path)
    first = rows(path, "a.parquet", range(5))
    builder.commit(first, rows(path, "b.parquet", [10, 11]))
    second = rows(path, "a.parquet", range(5), **without_rows([0, 3]))
    builder.commit(gone(first), second)
    third = rows(path, "a.parquet", range(5), **without_rows([0, 3, 4]))
    update = {"id": pa.array([4, 4], pa.int64()), "name": ["n4", "new"], "_change_type": ["update_preimage", "update_postimage"]}
    builder.commit(
        gone(second), third, file_of(path, "c.parquet", {"id": [4], "name": ["new"]}), changed(path, "u.parquet", update)
    )
    fourth = rows(path, "a.parquet", range(5), **without_rows([3, 4]))
    builder.commit(gone(third), fourth)
    return builder.commit(gone(fourth))


STORY = [
    *((each, f"n{each}", "insert", 1) for each in (0, 1, 2, 3, 4, 10, 11)),
    (0, "n0", "delete", 2),
    (3, "n3", "delete", 2),
    (4, "n4", "update_preimage", 3),
    (4, "new", "update_postimage", 3),
    (0, "n0", "insert", 4),
    *((each, f"n{each}", "delete", 5) for each in (0, 1, 2)),
]


def seen(frame):
    """The rows of a feed without their times, sorted."""
    return sorted(tuple(row) for row in frame.drop("_commit_timestamp").collect())


def part(start, end=5):
    return sorted(each for each in STORY if start <= each[-1] <= end)


@pytest.mark.smoke
@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_rows_come_from_change_files_from_plain_files_and_from_differences_of_vectors(session, table_path, vectorised):
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorised)
    story(table_path)
    assert seen(bayou.read(session, table_path, changes=(0, None))) == sorted(STORY)
    assert seen(bayou.read(session, table_path, changes=(2, 4))) == part(2, 4)
    assert [seen(bayou.read(session, table_path, changes=(each, each))) for each in range(6)] == [
        part(each, each) for each in range(6)
    ]


def test_every_way_to_the_feed_gives_the_same_rows(session, table_path):
    story(table_path)
    reader = session.read.format("delta")
    delta = bayou.DeltaTable.forPath(session, table_path)
    session.sql("drop table if exists fed")
    session.sql(f"create table fed using delta location '{table_path}'")
    options = {"READCHANGEFEED": "True", "startingversion": "2", "endingVersion": 4}
    ways = {
        "read": bayou.read(session, table_path, changes=(2, 4)),
        "read by options": bayou.read(session, table_path, readChangeFeed="true", startingVersion=2, endingVersion=4),
        "a list": bayou.read(session, table_path, changes=[2, 4]),
        "the method": delta.changes(2, 4),
        "the method by names": delta.changes(startingVersion=2, endingVersion=4),
        "format": reader.options(**options).load(table_path),
        "the older option": session.read.format("delta")
        .option("readChangeData", "true")
        .option("startingVersion", 2)
        .option("endingVersion", 4)
        .load(table_path),
        "a name": session.read.options(**options).table("fed"),
    }
    assert {way: seen(frame) for way, frame in ways.items()} == dict.fromkeys(ways, part(2, 4))
    assert session.table("fed").columns == ["id", "name"]
    assert seen(session.read.options(**options).table("fed")) == part(2, 4)
    session.sql("drop table fed")


def test_the_columns_are_those_of_the_table_and_of_the_feed(spark, table_path):
    story(table_path)
    columns = {
        field.name: (field.dataType.simpleString(), field.nullable)
        for field in bayou.read(spark, table_path, changes=(0, 1)).schema
    }
    assert columns == {
        "id": ("bigint", True),
        "name": ("string", True),
        "_change_type": ("string", True),
        "_commit_version": ("bigint", True),
        "_commit_timestamp": ("timestamp", True),
    }


def at_days(builder):
    """Commits one day after the other, from START on."""
    for version in range(builder.version + 1):
        moment = (START + dt.timedelta(days=version)).timestamp()
        os.utime(Path(builder.uri.removeprefix("file://"), file_names.commit_path(version)), (moment, moment))


def test_each_row_has_the_time_of_its_commit(spark, table_path):
    at_days(story(table_path))
    frame = bayou.read(spark, table_path, changes=(0, None))
    found = {row[0]: row[1] for row in frame.selectExpr("_commit_version", "unix_millis(_commit_timestamp)").distinct().collect()}
    assert found == {each: int((START + dt.timedelta(days=each)).timestamp() * 1000) for each in range(1, 6)}
    history = bayou.DeltaTable.forPath(spark, table_path).history()
    times = dict(history.selectExpr("version", "unix_millis(timestamp)").collect())
    assert found == {version: times[version] for version in found}


def test_timestamps_mean_the_commits_between_them(session, table_path):
    at_days(story(table_path))
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    noon = START + dt.timedelta(hours=12)
    ways = [
        bayou.read(session, table_path, changes=(noon + dt.timedelta(days=1), noon + dt.timedelta(days=4))),
        bayou.read(session, table_path, changes=("2026-01-02 19:00:00", "2026-01-04 19:00:00")),  # midnight in UTC
        bayou.read(session, table_path, changes=(2, "2026-01-05T11:00:00Z")),
        bayou.DeltaTable.forPath(session, table_path).changes(startingTimestamp="2026-01-02 19:00:00", endingVersion=4),
        session.read.format("delta")
        .options(readChangeFeed="true", startingTimestamp="2026-01-02 19:00:00", endingTimestamp="2026-01-04 19:00:00")
        .load(table_path),
    ]
    assert [seen(frame) for frame in ways] == [part(2, 4)] * len(ways)


def test_a_range_between_two_commits_has_no_row_whatever_comes_later(spark, table_path):
    builder = story(table_path)
    at_days(builder)
    between = [(START + dt.timedelta(days=4, hours=each)).isoformat() for each in (1, 2)]
    frame = bayou.read(spark, table_path, changes=tuple(between))
    assert seen(frame) == []
    assert frame.columns == ["id", "name", "_change_type", "_commit_version", "_commit_timestamp"]
    builder.commit(rows(table_path, "later.parquet", [99]))
    assert frame.count() == 0


def test_without_an_end_each_execution_reads_up_to_the_latest_version(spark, table_path):
    builder = table(table_path).commit(rows(table_path, "0.parquet", [1]))
    open_end = bayou.read(spark, table_path, changes=(1, None))
    fixed = bayou.read(spark, table_path, changes=(1, 1))
    after_latest = bayou.read(spark, table_path, changes=(1, 2))
    assert [seen(each) for each in (open_end, fixed, after_latest)] == [[(1, "n1", "insert", 1)]] * 3
    builder.commit(rows(table_path, "1.parquet", [2]))
    builder.commit(rows(table_path, "2.parquet", [3]))
    assert [len(seen(each)) for each in (open_end, fixed, after_latest)] == [3, 1, 2]


def test_one_query_reads_one_version_of_the_feed(spark, table_path):
    story(table_path)
    frame = bayou.read(spark, table_path, changes=(0, None))
    joined = frame.alias("l").join(frame.alias("r"), ["id", "_change_type", "_commit_version"])
    assert joined.count() == len(STORY)
    both = frame.join(bayou.read(spark, table_path).select("id").withColumnRenamed("id", "now"), frame["id"] == 10)
    assert both.where("_commit_version = 1").count() == spark.read.format("delta").load(table_path).count()


def test_a_cached_feed_is_not_taken_for_another_range(spark, table_path):
    story(table_path)
    cached = bayou.read(spark, table_path, changes=(2, 3)).cache()
    assert seen(cached) == part(2, 3)
    assert seen(bayou.read(spark, table_path, changes=(2, 4))) == part(2, 4)
    assert bayou.read(spark, table_path).count() == 3
    cached.unpersist()


def test_the_feed_of_any_range_leads_from_the_version_before_it_to_its_last_one(spark, table_path):
    """Vectors grow and shrink, files come and go: inserts less deletes are always what the tables differ in."""
    rng = random.Random(7)
    builder, live, last = table(table_path), {}, 8
    for version in range(1, last + 1):
        actions = []
        for name in list(live):
            choice = rng.random()
            if choice < 0.6:
                old = live[name]
                hidden = rng.sample(range(30), rng.randrange(29))
                new = rows(table_path, name, range(30), **(without_rows(hidden) if hidden else {}))
                actions += [gone(old), new]
                live[name] = new
            elif choice < 0.75:
                actions.append(gone(live.pop(name)))
        added = rows(table_path, f"{version}.parquet", range(30))
        live[f"{version}.parquet"] = added
        builder.commit(*actions, added)

    def state(version):
        return Counter(row[0] for row in bayou.read(spark, table_path, version=version).collect())

    states = [state(version) for version in range(last + 1)]
    for start, end in [(1, 8), (2, 5), (3, 3), (4, 8), (6, 7)]:
        found = bayou.read(spark, table_path, changes=(start, end)).collect()
        inserts, deletes = (Counter(row[0] for row in found if row["_change_type"] == kind) for kind in ("insert", "delete"))
        after = states[start - 1].copy()
        after.update(inserts)
        after.subtract(deletes)
        assert +after == states[end], (start, end)
        assert min(after.values()) >= 0


@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_long_vectors_are_compared_row_by_row(session, table_path, vectorised):
    """Beyond a million rows a vector travels in another form."""
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorised)
    count = 1_300_000
    builder = table(table_path, {"id": "long"})
    values = pa.table({"id": pa.array(range(count), pa.int64())})
    first = file_of(table_path, "a.parquet", values, **without_rows([5, 1_250_000]))
    second = file_of(table_path, "a.parquet", values, **without_rows([1_250_000, 1_299_999, 4096, 4095]))
    builder.commit(first).commit(gone(first), second)
    assert seen(bayou.read(session, table_path, changes=(2, 2))) == [
        (5, "insert", 2),
        (4095, "delete", 2),
        (4096, "delete", 2),
        (1_299_999, "delete", 2),
    ]
    assert bayou.read(session, table_path, changes=(1, 1)).count() == count - 2


def partitioned(path, **configuration):
    """A table with two partitions and a change file in each, one of them that of NULL."""
    kind = StructType((StructField("id", "long"), StructField("day", "date")))
    builder = table(path, kind, partition_by=["day"], **configuration)
    first = file_of(path, "a.parquet", {"id": [1, 2]}, partitionValues={"day": "2026-01-01"})
    second = file_of(path, "b.parquet", {"id": [3]}, partitionValues={"day": None})
    builder.commit(first, second)
    update = {"id": pa.array([3, 4], pa.int64()), "_change_type": ["update_preimage", "update_postimage"]}
    builder.commit(
        gone(second),
        gone(first),
        changed(path, "u.parquet", update, partitionValues={"day": None}),
        changed(path, "d.parquet", {"id": [1, 2], "_change_type": ["delete"] * 2}, partitionValues={"day": "2026-01-01"}),
    )
    return builder


def test_partition_values_come_from_the_log(spark, table_path):
    partitioned(table_path)
    day = dt.date(2026, 1, 1)
    assert {tuple(row) for row in bayou.read(spark, table_path, changes=(0, None)).drop("_commit_timestamp").collect()} == {
        (1, day, "insert", 1),
        (2, day, "insert", 1),
        (3, None, "insert", 1),
        (3, None, "update_preimage", 2),
        (4, None, "update_postimage", 2),
        (1, day, "delete", 2),
        (2, day, "delete", 2),
    }


@pytest.mark.parametrize(
    ("condition", "files", "count"),
    [
        ("day = '2026-01-01'", 2, 4),
        ("day is null and _commit_version = 2", 1, 2),
        ("_commit_version = 1", 2, 3),
        ("_commit_version > 1 and id > 2", 2, 2),
        ("_change_type = 'insert'", 4, 3),
        ("_change_type = 'delete' and _commit_version < 2", 0, 0),
        ("_commit_timestamp > '2026-01-02 12:00:00'", 2, 4),
        ("year(day) = 2026 or _commit_version = 2", 3, 6),
    ],
)
def test_filters_on_partitions_and_versions_leave_files_out(spark, table_path, condition, files, count):
    at_days(partitioned(table_path))
    frame = bayou.read(spark, table_path, changes=(0, None)).where(condition)
    assert len(frame.collect()) == count
    assert files_read(frame) == files


def test_filters_and_the_columns_in_use_reach_the_scans(spark, table_path):
    story(table_path)
    frame = bayou.read(spark, table_path, changes=(0, None)).where("id > 2").select("id", "_change_type")
    assert sorted(row[0] for row in frame.collect()) == sorted(each[0] for each in STORY if each[0] > 2)
    plan = plan_of(frame)
    assert plan.count("FileScan parquet") == 3
    assert plan.count("GreaterThan(id,2)") == 3
    assert "name:string" not in plan
    assert "Python" not in plan


def test_a_feed_of_added_files_is_one_plain_scan(spark, table_path):
    table(table_path).commit(rows(table_path, "a.parquet", [1, 2])).commit(rows(table_path, "b.parquet", [3]))
    frame = bayou.read(spark, table_path, changes=(0, None))
    assert frame.where("_commit_version = 2").collect()[0][:4] == (3, "n3", "insert", 2)
    plan = plan_of(frame)
    assert plan.count("FileScan parquet") == 1
    assert "Union" not in plan
    assert "row_index" not in plan


def test_aggregates_limits_and_order_see_the_rows_of_the_feed(spark, table_path):
    story(table_path)
    frame = bayou.read(spark, table_path, changes=(0, None))
    assert frame.count() == len(STORY)
    assert frame.where("_commit_version = 2").count() == 2
    assert frame.selectExpr("min(id)", "max(id)", "max(_commit_version)").first() == (0, 11, 5)
    assert len(frame.limit(3).collect()) == 3
    assert frame.orderBy("_commit_version", "id").first()[:4] == (0, "n0", "insert", 1)
    counts = {row[0]: row[1] for row in frame.groupBy("_change_type").count().collect()}
    assert counts == Counter(each[2] for each in STORY)


def test_spark_knows_the_file_of_each_row(spark, table_path):
    story(table_path)
    frame = bayou.read(spark, table_path, changes=(2, 3)).selectExpr("id", "_metadata.file_name", "_commit_version")
    assert sorted(map(tuple, frame.collect())) == [
        (0, "a.parquet", 2),
        (3, "a.parquet", 2),
        (4, "u.parquet", 3),
        (4, "u.parquet", 3),
    ]


def test_no_job_runs_before_the_rows_are_asked_for_and_then_one(spark, table_path):
    story(table_path)
    with jobs(spark) as made:
        frame = bayou.read(spark, table_path, changes=(0, None)).where("id > 1")
        frame.explain()
    with jobs(spark) as run:
        frame.collect()
    assert (made.value, run.value) == (0, 1)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_are_found_under_their_physical_names(spark, table_path, mode):
    def column(number, name, kind="long"):
        mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return StructField(name, kind, metadata=mapping)

    inner = StructType((column(4, "x y"),))
    schema = StructType((column(1, "a.b"), column(2, "day", "string"), column(3, "s", inner)))
    mapping = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "4"}
    builder = table(table_path, schema, partition_by=["day"], **mapping)

    def field(name, number, kind):
        return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})

    kind = pa.struct([field("col-4", 4, pa.int64())])
    arrow = pa.schema([field("col-1", 1, pa.int64()), field("col-3", 3, kind)])
    values = pa.table({"col-1": [1, 2], "col-3": [{"col-4": 7}, None]}, schema=arrow)
    where = {"partitionValues": {"col-2": "monday"}}
    first = file_of(table_path, "a.parquet", values, **where)
    second = file_of(table_path, "a.parquet", values, **where, **without_rows([0]))
    builder.commit(first).commit(gone(first), second)
    changes = values.slice(1).append_column("_change_type", pa.array(["delete"]))
    builder.commit(gone(second), changed(table_path, "d.parquet", changes, **where))
    frame = bayou.read(spark, table_path, changes=(1, 3)).drop("_commit_timestamp")
    assert frame.columns == ["a.b", "day", "s", "_change_type", "_commit_version"]
    assert sorted((row[0], row[1], row[2] and row[2]["x y"], row[3], row[4]) for row in frame.collect()) == [
        (1, "monday", 7, "delete", 2),
        (1, "monday", 7, "insert", 1),
        (2, "monday", None, "delete", 3),
        (2, "monday", None, "insert", 1),
    ]
    assert frame.where("s.`x y` = 7").select("s.`x y`", "_commit_version").orderBy("_commit_version").collect() == [(7, 1), (7, 2)]


def test_a_column_that_came_later_is_null_in_older_changes(spark, table_path):
    builder = table(table_path, {"id": "long"}).commit(file_of(table_path, "a.parquet", {"id": [1]}))
    builder.commit(metadata({"id": "long", "more": "string"}, configuration=FEED))
    builder.commit(file_of(table_path, "b.parquet", {"id": [2], "more": ["x"]}))
    assert set(seen(bayou.read(spark, table_path, changes=(1, 3)))) == {(1, None, "insert", 1), (2, "x", "insert", 3)}


def test_files_of_a_narrower_type_are_read_as_the_widened_one(spark, table_path):
    wide = StructType((StructField("id", "long", metadata={"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}),))
    builder = table(table_path, {"id": "integer"})
    old = file_of(table_path, "old.parquet", {"id": pa.array([1, 2], pa.int32())})
    builder.commit(old).commit(metadata(wide, configuration=FEED))
    builder.commit(gone(old), file_of(table_path, "new.parquet", {"id": pa.array([1 << 40], pa.int64())}))
    assert seen(bayou.read(spark, table_path, changes=(2, 3))) == [(1, "delete", 3), (2, "delete", 3), (1 << 40, "insert", 3)]


def test_a_frame_whose_columns_are_gone_says_so(spark, table_path):
    builder = table(table_path).commit(rows(table_path, "a.parquet", [1]))
    frame = bayou.read(spark, table_path, changes=(1, None))
    builder.commit(metadata({"id": "long"}, configuration=FEED), remove("a.parquet", partitionValues={}, size=10))
    with pytest.raises((SchemaChangedError, UnsupportedFeatureError)):
        frame.collect()


@pytest.mark.filterwarnings("ignore:The Java adapters")
def test_without_the_java_adapters_a_frame_reads_the_range_that_it_was_made_for(spark, table_path, monkeypatch):
    monkeypatch.setattr(Application.of(spark), "native", False)
    monkeypatch.setattr(Application.of(spark), "why_not_native", "The Java adapters cannot be compiled on this session.")
    builder = story(table_path)
    frame = bayou.read(spark, table_path, changes=(2, None))
    builder.commit(rows(table_path, "late.parquet", [1]))
    assert frame.columns == ["id", "name", "_change_type", "_commit_version", "_commit_timestamp"]
    assert seen(frame) == part(2)
    assert seen(frame.where("_commit_version = 4 and id >= 0")) == part(4, 4)


OFF = {"delta.enableChangeDataFeed": "false"}
REFUSED = {
    "no start": ({}, InvalidOptionError, "DELTA_NO_START_FOR_CDC_READ"),
    "two starts": ({"startingVersion": 1, "startingTimestamp": "2026-01-01"}, InvalidOptionError, "DELTA_MULTIPLE_CDC_BOUNDARY"),
    "two ends": (
        {"startingVersion": 1, "endingVersion": 1, "endingTimestamp": "2026-01-01"},
        InvalidOptionError,
        "DELTA_MULTIPLE_CDC_BOUNDARY",
    ),
    "the end before the start": ({"startingVersion": 2, "endingVersion": 1}, InvalidOptionError, "DELTA_INVALID_CDC_RANGE"),
    "a start after the latest version": ({"startingVersion": 9}, VersionNotFoundError, "DELTA_CDC_START_VERSION_AFTER_LATEST"),
    "a start after the latest commit": (
        {"startingTimestamp": "2100-01-01"},
        TimestampOutOfRangeError,
        "DELTA_TIMESTAMP_GREATER_THAN_COMMIT",
    ),
    "no number": ({"startingVersion": "latest"}, InvalidOptionError, "DELTA_VERSION_INVALID"),
    "no boolean": ({"startingVersion": 1, "readChangeFeed": "maybe"}, InvalidOptionError, "DELTA_ILLEGAL_OPTION"),
    "time travel": ({"startingVersion": 1, "versionAsOf": 1}, TimeTravelError, "DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS"),
    "time travel by time": (
        {"startingVersion": 1, "timestampAsOf": "2026-01-01"},
        TimeTravelError,
        "DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS",
    ),
    "a version that recorded no changes": ({"startingVersion": 3}, TimeTravelError, "DELTA_MISSING_CHANGE_DATA"),
    "a range with such a version": ({"startingVersion": 1}, TimeTravelError, "DELTA_MISSING_CHANGE_DATA"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_by_name_when_the_frame_is_made(spark, table_path, case):
    options, error, name = REFUSED[case]
    builder = table(table_path).commit(rows(table_path, "a.parquet", [1])).commit(rows(table_path, "b.parquet", [2]))
    builder.commit(metadata({"id": "long", "name": "string"}, configuration=OFF))
    with pytest.raises(error) as caught:
        spark.read.format("delta").options(**{"readChangeFeed": "true", **options}).load(table_path)
    assert caught.value.error_class == name


@pytest.mark.parametrize(
    ("changes", "more", "what"),
    [
        (3, {}, "a start and an end"),
        ((1, 2, 3), {}, "a start and an end"),
        ((True, 2), {}, "neither a version nor a timestamp"),
        ((1, 2.5), {}, "neither a version nor a timestamp"),
        ((None, 2), {}, "startingVersion"),
        ((1, 2), {"version": 1}, "time travel"),
        ((1, 2), {"net": True}, "Net changes"),
    ],
)
def test_ranges_that_are_none_are_refused(spark, table_path, changes, more, what):
    story(table_path)
    with pytest.raises(DeltaError, match=what):
        bayou.read(spark, table_path, changes=changes, **more)


def test_net_changes_of_rows_without_ids_are_refused_by_name(spark, table_path):
    story(table_path)
    with pytest.raises(UnsupportedFeatureError) as caught:
        bayou.DeltaTable.forPath(spark, table_path).changes(1, net=True)
    assert list(caught.value.features) == ["net changes"]


def test_rows_cannot_be_inserted_into_a_feed(session, table_path):
    story(table_path)
    bayou.read(session, table_path, changes=(1, 2)).createOrReplaceTempView("fed_rows")
    with pytest.raises(Exception, match=r"(?i)insert|only be read"):
        session.sql("insert into fed_rows select * from fed_rows")
    assert bayou.open(table_path).snapshot().version == 5


def test_a_setting_lets_a_range_begin_after_the_latest_version(session, table_path):
    builder = story(table_path)
    session.conf.set("spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled", "true")
    frame = bayou.read(session, table_path, changes=(6, None))
    assert seen(frame) == []
    builder.commit(rows(table_path, "late.parquet", [1]))
    assert seen(frame) == []
    assert seen(bayou.read(session, table_path, changes=(5, "2100-01-01"))) == sorted([*part(5), (1, "n1", "insert", 6)])


def renamed(path):
    """A column is renamed at version 2."""

    def schema(name):
        mapping = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
        return StructType((StructField(name, "long", metadata=mapping),))

    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    builder = table(path, schema("old"), **mapping)
    builder.commit(file_of(path, "a.parquet", {"col-1": [1]}))
    builder.commit(metadata(schema("new"), configuration={**FEED, **mapping}))
    return builder.commit(file_of(path, "b.parquet", {"col-1": [2]}))


def test_a_range_up_to_a_rename_has_the_older_name_and_one_across_it_is_refused(session, table_path):
    renamed(table_path)
    before = bayou.read(session, table_path, changes=(1, 1))
    assert before.columns[0] == "old"
    assert seen(before) == [(1, "insert", 1)]
    assert bayou.read(session, table_path, changes=(2, 3)).columns[0] == "new"
    with pytest.raises(UnsupportedFeatureError) as caught:
        bayou.read(session, table_path, changes=(1, 3))
    assert caught.value.error_class.startswith("DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_")


def test_settings_choose_the_latest_schema_and_let_renames_pass(session, table_path):
    renamed(table_path)
    prefix = "spark.databricks.delta.changeDataFeed"
    session.conf.set(f"{prefix}.unsafeBatchReadOnIncompatibleSchemaChanges.enabled", "true")
    frame = bayou.read(session, table_path, changes=(1, None))
    assert (frame.columns[0], seen(frame)) == ("new", [(1, "insert", 1), (2, "insert", 3)])
    session.conf.set(f"{prefix}.defaultSchemaModeForColumnMappingTable", "latest")
    assert bayou.read(session, table_path, changes=(1, 1)).columns[0] == "new"
    session.conf.set(f"{prefix}.defaultSchemaModeForColumnMappingTable", "newest")
    with pytest.raises(InvalidOptionError, match="endVersion"):
        bayou.read(session, table_path, changes=(1, 1))


def test_a_feed_of_what_bayou_wrote(spark, table_path):
    frame = spark.range(3).selectExpr("id", "id % 2 as part")
    bayou.write(frame, table_path, partition_by=["part"], **{"delta.enableChangeDataFeed": "true"})
    bayou.write(frame.where("id > 1"), table_path, mode="append")
    bayou.write(frame.where("id = 1"), table_path, mode="overwrite")
    found = Counter(tuple(row) for row in bayou.read(spark, table_path, changes=(0, None)).drop("_commit_timestamp").collect())
    assert found == Counter(
        [
            *((each, each % 2, "insert", 0) for each in range(3)),
            (2, 0, "insert", 1),
            *((each, each % 2, "delete", 2) for each in (0, 1, 2, 2)),
            (1, 1, "insert", 2),
        ]
    )
