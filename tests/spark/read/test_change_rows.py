# SPDX-License-Identifier: Apache-2.0
"""The change data feed through Spark: the rows that changed, of any range, whichever way they are asked for."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter

import pyarrow as pa
import pytest
from tests.support.tables.built import file_of, without_rows
from tests.support.tables.feeds import START, STORY, at_days, gone, part, rows, seen, story, table

import bayou


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


@pytest.mark.in_turn(2)
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
