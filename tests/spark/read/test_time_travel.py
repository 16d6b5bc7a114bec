# SPDX-License-Identifier: Apache-2.0
"""Every way to an older version, by its number or by a time, gives the rows of that version."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.support.tables.built import commit_at, ids, moment, numbers_table, three_versions

import bayou

TRAVEL = {
    "bayou.read": lambda spark, path, v: bayou.read(spark, path, version=v),
    "versionAsOf": lambda spark, path, v: spark.read.format("delta").option("versionAsOf", v).load(path),
    "versionAsOf as text": lambda spark, path, v: spark.read.format("delta").option("versionasof", str(v)).load(path),
    "path@v": lambda spark, path, v: spark.read.format("delta").load(f"{path}@v{v}"),
    "sql path@v": lambda spark, path, v: spark.sql(f"select * from delta.`{path}@v{v}`"),
}


@pytest.mark.smoke
@pytest.mark.parametrize("way", TRAVEL)
def test_every_way_travels_to_a_version(spark, table_path, way):
    three_versions(table_path)
    seen = [ids(TRAVEL[way](spark, table_path, version)) for version in range(4)]
    assert seen == [[], [1, 2], [1, 2, 3], [2, 3]]


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2026-01-02", [1, 2]),
        ("2026-01-02 23:59:59", [1, 2]),
        ("2026-01-03T00:00:00", [1, 2, 3]),
        (moment("2026-01-02"), [1, 2]),
        (dt.date(2026, 1, 3), [1, 2, 3]),
    ],
    ids=str,
)
def test_a_timestamp_means_the_version_of_its_time(spark, table_path, timestamp, expected):
    three_versions(table_path)
    for version in range(4):
        commit_at(table_path, version, moment(f"2026-01-{version + 1:02}"))
    assert ids(bayou.read(spark, table_path, timestamp=timestamp)) == expected
    if isinstance(timestamp, str):
        assert ids(spark.read.format("delta").option("timestampAsOf", timestamp).load(table_path)) == expected


def test_a_timestamp_is_read_in_the_sessions_zone(spark, table_path):
    three_versions(table_path)
    for version in range(4):
        commit_at(table_path, version, moment(f"2026-01-{version + 1:02}"))
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    frame = session.read.format("delta").option("timestampAsOf", "2026-01-02 20:00:00").load(table_path)
    assert ids(frame) == [1, 2, 3]


def test_a_path_with_a_timestamp_travels(spark, table_path):
    three_versions(table_path)
    for version in range(4):
        commit_at(table_path, version, moment(f"2026-01-{version + 1:02}"))
    assert ids(spark.read.format("delta").load(f"{table_path}@20260103000000000")) == [1, 2, 3]


def test_a_table_whose_name_looks_like_a_version_is_itself(spark, tmp_path):
    path = str(tmp_path / "table@v0")
    numbers_table(path, [5])
    assert ids(spark.read.format("delta").load(path)) == [5]
