# SPDX-License-Identifier: Apache-2.0
"""Ranges of the change data feed that cannot be read are refused by name, and rows cannot be inserted into it."""

from __future__ import annotations

import pytest
from tests.support.tables.feeds import part, rows, seen, story, table

import bayou
from bayou.errors import (
    DeltaError,
    InvalidOptionError,
    TimestampOutOfRangeError,
    TimeTravelError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from bayou.testing.table_builder import metadata

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
