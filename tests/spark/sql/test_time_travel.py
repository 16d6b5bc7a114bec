# SPDX-License-Identifier: Apache-2.0
"""Versions and times of a table, by clauses and at the end of its name, in every place of a query."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from tests.support.cases import in_one_test
from tests.support.operations.statements import settings

import bayou
from bayou.errors import DeltaError

ZONE = "spark.sql.session.timeZone"


@pytest.fixture
def delta(spark, name, table_path):
    """The name of a table with an id more in each of three versions, the first of which has none."""
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta LOCATION '{table_path}'")
    for start in range(3):
        spark.sql(f"INSERT INTO {name} VALUES ({start})")
    return name


def moment(spark, path, version):
    """The time of a version as digits, in the session's zone."""
    time = next(each.timestamp for each in bayou.open(path).history() if each.version == version)
    text = f"SELECT date_format(timestamp_millis({time}), 'yyyyMMddHHmmssSSS') AS digits"
    return spark.sql(text).first().digits


def ids(spark, text):
    return sorted(row.id for row in spark.sql(text).collect())


@pytest.mark.smoke
@in_one_test(
    "place",
    [
        "SELECT * FROM {0}",
        "SELECT * FROM {0} AS t WHERE t.id >= 0",
        "SELECT * FROM (SELECT * FROM {0})",
        "WITH c AS (SELECT * FROM {0}) SELECT * FROM c",
        "SELECT * FROM {1} WHERE id IN (SELECT id FROM {0})",
        "SELECT * FROM {1} AS o WHERE EXISTS (SELECT * FROM {0} AS i WHERE i.id = o.id)",
        "SELECT explode(sequence(0L, (SELECT max(id) FROM {0}))) AS id",
        "SELECT a.id FROM {0} AS a JOIN {1} AS b ON a.id = b.id",
        "SELECT * FROM {0} UNION SELECT * FROM {0}",
        "SELECT l.id FROM {1} AS o, LATERAL (SELECT id FROM {0} AS i WHERE i.id = o.id) AS l",
    ],
)
def test_a_version_may_be_read_in_every_place_of_a_query(spark, delta, table_path, place):
    for table in (
        f"{delta} VERSION AS OF 2",
        f"default.{delta} FOR SYSTEM_VERSION AS OF 2",
        f"`{delta}@v2`",
        f"spark_catalog.default.`{delta}@V2`",
        f"delta.`{table_path}` VERSION AS OF 2",
        f"delta.`{table_path}@v2`",
    ):
        assert ids(spark, place.format(table, delta)) == [0, 1], table


def test_a_time_at_the_end_of_a_name_is_of_the_sessions_zone(spark, delta, table_path):
    for other in ({}, {ZONE: "America/Los_Angeles"}):
        with settings(spark, other):
            digits = moment(spark, table_path, 1)
            assert ids(spark, f"SELECT * FROM `{delta}@{digits}`") == [0]
            text = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]} {digits[8:10]}:{digits[10:12]}:{digits[12:14]}.{digits[14:]}"
            assert ids(spark, f"SELECT * FROM {delta} TIMESTAMP AS OF '{text}'") == [0]


@pytest.mark.smoke
def test_a_name_with_a_version_is_what_other_statements_read(spark, delta, table_path):
    old = f"`{delta}@v2`"
    assert sorted(row.id for row in spark.table(old).collect()) == [0, 1]
    assert sorted(row.id for row in spark.read.table(f"default.{old}").collect()) == [0, 1]
    made = []
    try:
        for number, statement in enumerate(
            (
                f"CREATE TABLE {{0}} USING delta AS SELECT * FROM {old}",
                f"CREATE TABLE {{0}} SHALLOW CLONE {old}",
                f"CREATE TABLE {{0}} CLONE default.{old}",
                f"CREATE TABLE {{0}} SHALLOW CLONE delta.`{table_path}@v2`",
                f"CREATE TABLE {{0}} SHALLOW CLONE `{delta}@{moment(spark, table_path, 2)}`",
                f"CREATE VIEW {{0}} AS SELECT * FROM {old}",
            )
        ):
            made.append(f"{delta}_{number}")
            spark.sql(statement.format(made[-1]))
            assert ids(spark, f"SELECT * FROM {made[-1]}") == [0, 1], statement
        spark.sql(f"INSERT INTO {made[0]} SELECT id + 10 FROM `{delta}@v1`")
        spark.sql(f"MERGE INTO {made[0]} t USING `{delta}@v1` s ON t.id = s.id WHEN MATCHED THEN DELETE")
        assert ids(spark, f"SELECT * FROM {made[0]}") == [1, 10]
        spark.sql(f"DELETE FROM {made[1]} WHERE id >= 1")
        spark.sql(
            f"MERGE INTO {made[1]} t USING (SELECT * FROM {delta} VERSION AS OF 3) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
        )
        assert ids(spark, f"SELECT * FROM {made[1]}") == [0, 1, 2]
    finally:
        for name in made[:-1]:
            spark.sql(f"DROP TABLE IF EXISTS {name}")
        spark.sql(f"DROP VIEW IF EXISTS {made[-1]}")


def test_what_really_has_such_a_name_goes_first(spark, delta):
    spark.sql(f"CREATE TEMPORARY VIEW `{delta}@v1` AS SELECT 7L AS id")
    try:
        assert ids(spark, f"SELECT * FROM `{delta}@v1`") == [7]
    finally:
        spark.sql(f"DROP VIEW `{delta}@v1`")


@in_one_test(
    ("text", "error_class"),
    [
        ("SELECT * FROM `{0}@v9`", "DELTA_VERSION_NOT_FOUND"),
        ("SELECT * FROM `{0}@v1` VERSION AS OF 1", "DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS"),
        ("CREATE TABLE {0}_x CLONE `{0}@v1` VERSION AS OF 1", "DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS"),
        ("SELECT * FROM `{0}@20010101000000000`", "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION"),
        ("SELECT * FROM `{0}_x@v1`", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT * FROM `{0}@x1`", "TABLE_OR_VIEW_NOT_FOUND"),
        ("INSERT INTO `{0}@v1` VALUES (1)", "TABLE_OR_VIEW_NOT_FOUND"),
        ("DROP TABLE `{0}@v1`", "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_wrong_names_are_refused(spark, delta, text, error_class):
    with pytest.raises((AnalysisException, DeltaError)) as caught:
        spark.sql(text.format(delta)).collect()
    assert f"[{error_class}]" in str(caught.value)
