# SPDX-License-Identifier: Apache-2.0
"""The change data feed on a stock Spark Connect server."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.acceptance import reader as acceptance
from tests.acceptance.cases import Expected, core_cases, judged, prepared
from tests.support.tables.built import file_of, without_rows
from tests.support.tables.feeds import START, STORY, at_days, changed, gone, part, rows, seen, story, table

import bayou
from bayou.errors import InvalidOptionError, TimeTravelError, UnsupportedFeatureError
from bayou.spark.portable import changes
from bayou.spark.portable.scan import sources

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = dt.date(2026, 1, 1)


@pytest.fixture(params=["list", "list and join", "paths"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How Spark gets files, and how it gets deletion vectors."""
    if request.param.startswith("paths"):
        monkeypatch.setattr(sources, "scratch_of", lambda *_: None)
    if request.param.endswith("join"):
        monkeypatch.setattr(changes, "MOST_WORDS_IN_REQUEST", -1)
    return str(request.param)


def feed(spark: SparkSession, path: str, **options: Any) -> DataFrame:
    return spark.read.format("delta").option("readChangeFeed", "true").options(**options).load(path)


@pytest.mark.usefixtures("way")
def test_the_rows_of_the_feed(spark: SparkSession, table_path: str) -> None:
    story(table_path)
    assert seen(bayou.read(spark, table_path, changes=(0, None))) == sorted(STORY)


def test_parts_of_the_feed(spark: SparkSession, table_path: str) -> None:
    story(table_path)
    assert seen(feed(spark, table_path, startingVersion=2, endingVersion=3)) == part(2, 3)
    assert seen(feed(spark, table_path, startingVersion=4)) == part(4)
    assert seen(bayou.read(spark, table_path, changes=(5, 5))) == part(5)
    assert seen(bayou.read(spark, table_path, changes=(0, 0))) == []
    frame = bayou.read(spark, table_path, changes=(0, 0))
    assert frame.columns == ["id", "name", "_change_type", "_commit_version", "_commit_timestamp"]
    assert [kind for _, kind in frame.dtypes] == ["bigint", "string", "string", "bigint", "timestamp"]


def test_times_of_commits(spark: SparkSession, table_path: str) -> None:
    at_days(story(table_path))
    times = {
        row[0]: row[1]
        for row in feed(spark, table_path, startingVersion=1).select("_commit_version", "_commit_timestamp").collect()
    }
    assert {version: moment.astimezone(dt.timezone.utc) for version, moment in times.items()} == {
        version: START + dt.timedelta(days=version) for version in range(1, 6)
    }
    assert seen(feed(spark, table_path, startingTimestamp="2026-01-03 00:00:00", endingTimestamp="2026-01-04 12:00:00")) == part(
        2, 3
    )


@pytest.mark.usefixtures("way")
def test_several_commits_that_delete_rows_of_one_file(spark: SparkSession, table_path: str) -> None:
    builder = table(table_path)
    first = rows(table_path, "a.parquet", range(6))
    builder.commit(first)
    last = first
    for version in range(4):
        following = rows(table_path, "a.parquet", range(6), **without_rows(list(range(version + 1))))
        builder.commit(gone(last), following)
        last = following
    expected = [(each, f"n{each}", "delete", each + 2) for each in range(4)]
    assert seen(bayou.read(spark, table_path, changes=(2, None))) == expected
    frame = bayou.read(spark, table_path, changes=(1, None))
    assert frame.where("_commit_version = 3").select("id", "_change_type").collect() == [(1, "delete")]
    assert frame.count() == 10


def partitioned(path: str, **configuration: str) -> Any:
    builder = table(path, {"id": "long", "day": "date"}, partition_by=["day"], **configuration)
    first = file_of(path, "a.parquet", {"id": [1, 2]}, partitionValues={"day": "2026-01-01"})
    second = file_of(path, "b.parquet", {"id": [3]}, partitionValues={"day": None})
    builder.commit(first, second)
    update = {"id": pa.array([3, 4], pa.int64()), "_change_type": ["update_preimage", "update_postimage"]}
    return builder.commit(
        gone(second),
        gone(first),
        changed(path, "u.parquet", update, partitionValues={"day": None}),
        changed(path, "d.parquet", {"id": [1, 2], "_change_type": ["delete"] * 2}, partitionValues={"day": "2026-01-01"}),
    )


def test_partition_values_come_from_the_log(spark: SparkSession, table_path: str) -> None:
    partitioned(table_path)
    assert {tuple(row) for row in bayou.read(spark, table_path, changes=(0, None)).drop("_commit_timestamp").collect()} == {
        (1, DAY, "insert", 1),
        (2, DAY, "insert", 1),
        (3, None, "insert", 1),
        (3, None, "update_preimage", 2),
        (4, None, "update_postimage", 2),
        (1, DAY, "delete", 2),
        (2, DAY, "delete", 2),
    }


@pytest.mark.parametrize(
    ("condition", "files", "count"),
    [
        ("day = '2026-01-01'", ["a.parquet", "_change_data/d.parquet"], 4),
        ("day is null and _commit_version = 2", ["_change_data/u.parquet"], 2),
        ("_commit_version = 1", ["a.parquet", "b.parquet"], 3),
        ("_commit_timestamp > '2026-01-02 12:00:00'", ["_change_data/d.parquet", "_change_data/u.parquet"], 4),
    ],
)
def test_filters_on_constants_leave_files_out(
    spark: SparkSession, table_path: str, condition: str, files: list[str], count: int
) -> None:
    at_days(partitioned(table_path))
    frame = bayou.read(spark, table_path, changes=(0, None)).where(condition)
    frame.schema  # noqa: B018  (a list of the files is there)
    for each in Path(table_path).rglob("*.parquet"):
        if str(each.relative_to(table_path)) not in files:
            each.unlink()
    assert len(frame.collect()) == count


def test_a_frame_without_an_end_follows_the_table(spark: SparkSession, table_path: str) -> None:
    builder = story(table_path)
    frame, ended = bayou.read(spark, table_path, changes=(5, None)), bayou.read(spark, table_path, changes=(5, 5))
    assert seen(frame) == part(5)
    builder.commit(rows(table_path, "z.parquet", [99]))
    assert seen(frame) == sorted([*part(5), (99, "n99", "insert", 6)])
    assert seen(ended) == part(5)


def test_a_feed_in_a_view_and_in_a_join(spark: SparkSession, table_path: str) -> None:
    story(table_path)
    frame = bayou.read(spark, table_path, changes=(1, None))
    frame.createOrReplaceTempView("connect_changes")
    counted = "select _change_type, count(*) as n from connect_changes group by 1"
    assert {tuple(row) for row in spark.sql(counted).collect()} == {
        ("insert", 8),
        ("delete", 5),
        ("update_preimage", 1),
        ("update_postimage", 1),
    }
    spark.catalog.dropTempView("connect_changes")
    assert frame.alias("a").join(frame.alias("b"), "id").where("a.id = 4").count() == 9


def test_the_functions_in_sql(spark: SparkSession, table_path: str) -> None:
    story(table_path)
    assert seen(spark.sql(f"SELECT * FROM table_changes_by_path('{table_path}', 2, 3)")) == part(2, 3)
    assert seen(spark.sql(f"SELECT * FROM table_changes('delta.`{table_path}`', 4)")) == part(4)
    query = (
        f"SELECT c.id FROM table_changes_by_path('{table_path}', 1) AS c JOIN delta.`{table_path}` t ON c.id = t.id WHERE c.id > 10"
    )
    assert [tuple(row) for row in spark.sql(query).collect()] == [(11,)]
    with pytest.raises(InvalidOptionError):
        spark.sql(f"SELECT * FROM table_changes_by_path('{table_path}')").collect()


def test_the_feed_of_what_a_client_wrote(spark: SparkSession, table_path: str) -> None:
    options = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
    bayou.write(spark.range(6).selectExpr("id", "id % 2 as p"), table_path, partition_by=["p"], **options)
    spark.sql(f"DELETE FROM delta.`{table_path}` WHERE id = 3")
    spark.sql(f"UPDATE delta.`{table_path}` SET id = id + 100 WHERE id = 4")
    assert seen(bayou.read(spark, table_path, changes=(1, None))) == [
        (3, 1, "delete", 1),
        (4, 0, "update_preimage", 2),
        (104, 0, "update_postimage", 2),
    ]


def test_a_range_that_the_table_does_not_have_is_an_error_at_once(spark: SparkSession, table_path: str) -> None:
    story(table_path)
    with pytest.raises(TimeTravelError):
        bayou.read(spark, table_path, changes=(9, None))
    with pytest.raises(TimeTravelError):
        feed(spark, table_path, startingVersion=9).count()


def test_settings_of_the_session_apply(spark: SparkSession, table_path: str) -> None:
    story(table_path)
    spark.conf.set("spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled", "true")
    try:
        assert feed(spark, table_path, startingVersion=9).count() == 0
    finally:
        spark.conf.unset("spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled")


def test_net_changes(spark: SparkSession, table_path: str) -> None:
    options = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}
    bayou.write(spark.range(6).selectExpr("id", "0 as v"), table_path, **options)
    spark.sql(f"UPDATE delta.`{table_path}` SET v = 1 WHERE id = 1")
    spark.sql(f"UPDATE delta.`{table_path}` SET v = 2 WHERE id = 1")
    spark.sql(f"DELETE FROM delta.`{table_path}` WHERE id = 2")
    found = bayou.read(spark, table_path, changes=(1, None), net=True).collect()
    assert sorted(map(tuple, found), key=repr) == [
        (1, 0, "update_preimage", 2),
        (1, 2, "update_postimage", 2),
        (2, 0, "delete", None),
    ]


def test_net_changes_of_a_table_without_row_ids_are_refused(spark: SparkSession, table_path: str) -> None:
    story(table_path)
    with pytest.raises(UnsupportedFeatureError):
        bayou.read(spark, table_path, changes=(1, None), net=True)


def test_the_published_feeds(spark: SparkSession, corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptance, "_session", lambda: spark)
    reader, expected = SimpleNamespace(cdf=acceptance.cdf), Expected(corpora)
    cases = list(core_cases(corpora, "cdf", "ok"))
    failures = []
    for number, case in enumerate(cases):
        why = judged(case, prepared(corpora, case, tmp_path / str(number)), expected, reader)
        if why:
            failures.append(f"{case['id']}: {why}")
        shutil.rmtree(tmp_path / str(number), ignore_errors=True)
    assert cases
    assert not failures, "\n".join(failures)
