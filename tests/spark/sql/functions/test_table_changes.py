# SPDX-License-Identifier: Apache-2.0
"""The change data feed as a function, wherever a query names a table."""

from __future__ import annotations

import re

import pytest
from tests.support.cases import in_one_test
from tests.support.observing import plan_of
from tests.support.operations.statements import settings

import bayou
from bayou.errors import DeltaError

ZONE = "spark.sql.session.timeZone"


@pytest.fixture
def changed(spark, name, table_path):
    """The name of a table with changes: two inserts of three rows, and a row that is deleted."""
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, p INT) USING delta PARTITIONED BY (p) LOCATION '{table_path}' "
        "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    )
    for start in (0, 3):
        spark.sql(f"INSERT INTO {name} SELECT id, CAST(id % 2 AS INT) FROM range({start}, {start + 3}, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE id = 1")
    return name


def rows(frame):
    return sorted(map(tuple, frame.collect()), key=str)


def by_option(spark, path, start, end=None):
    reader = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", start)
    return (reader if end is None else reader.option("endingVersion", end)).load(path)


@pytest.mark.smoke
def test_the_rows_are_those_of_the_readers_option(spark, changed, table_path):
    assert len(rows(by_option(spark, table_path, 0))) == 7
    for text, bounds in (("0", (0,)), ("1, 2", (1, 2)), ("2L", (2,)), ("3S, 3", (3, 3)), ("1 + 1", (2,))):
        wanted = rows(by_option(spark, table_path, *bounds))
        for name in (changed, f"default.{changed}", f"spark_catalog.`default`.{changed}", f"delta.`{table_path}`"):
            assert rows(spark.sql(f"SELECT * FROM table_changes('{name}', {text})")) == wanted
        assert rows(spark.sql(f"SELECT * FROM table_changes_by_path('{table_path}', {text})")) == wanted
    assert spark.sql(f"SELECT * FROM table_changes('{changed}', 0)").schema == by_option(spark, table_path, 0).schema


def test_the_plans_are_those_of_the_readers_option(spark, changed, table_path):
    def plan(frame):
        frame.collect()
        return re.sub(r"#\d+L?|plan_id=\d+", "", plan_of(frame))

    by_function = spark.sql(f"SELECT id, _change_type FROM table_changes('{changed}', 1, 3) WHERE p = 1 AND id > 0")
    assert plan(by_function) == plan(by_option(spark, table_path, 1, 3).where("p = 1 AND id > 0").select("id", "_change_type"))


def test_each_execution_reads_the_newest_changes(spark, changed):
    spark.sql(f"CREATE TEMPORARY VIEW changes_of_{changed} AS SELECT * FROM table_changes('{changed}', 1)")
    try:
        assert spark.table(f"changes_of_{changed}").count() == 7
        spark.sql(f"INSERT INTO {changed} VALUES (9, 1)")
        assert spark.table(f"changes_of_{changed}").count() == 8
        assert spark.sql(f"SELECT * FROM table_changes('{changed}', 1)").count() == 8
    finally:
        spark.sql(f"DROP VIEW changes_of_{changed}")


def test_strings_and_timestamps_are_times_in_the_sessions_zone(spark, changed):
    times = [row.timestamp for row in spark.sql(f"SELECT * FROM table_history('{changed}') ORDER BY version").collect()]
    second = spark.sql(f"SELECT CAST(timestamp AS STRING) t FROM table_history('{changed}') WHERE version = 2").first().t
    assert len(times) == 4
    for start in (f"'{second}'", f"TIMESTAMP '{second}'", f"to_timestamp('{second}')", f"TIMESTAMP_NTZ '{second}'"):
        found = spark.sql(f"SELECT DISTINCT _commit_version v FROM table_changes('{changed}', {start})")
        assert sorted(row.v for row in found.collect()) == [2, 3], start
    with settings(spark, {ZONE: "Pacific/Kiritimati"}):
        second = spark.sql(f"SELECT CAST(timestamp AS STRING) t FROM table_history('{changed}') WHERE version = 2").first().t
        for start in (f"'{second}'", f"TIMESTAMP '{second}'", f"TIMESTAMP_NTZ '{second}'"):
            assert spark.sql(f"SELECT DISTINCT _commit_version FROM table_changes('{changed}', {start})").count() == 2, start
    for start in ("current_timestamp() - INTERVAL 1 DAY", "now() - INTERVAL 2 HOURS", "current_date() - 2", "'2001'"):
        assert spark.sql(f"SELECT * FROM table_changes('{changed}', {start})").count() == 7, start


def test_a_table_reference_may_be_a_function_everywhere(spark, changed):
    call = f"table_changes('{changed}', 1)"
    assert spark.sql(f"SELECT a.id FROM {call} a JOIN {call} b ON a.id = b.id AND a._change_type < b._change_type").count() == 1
    assert spark.sql(f"WITH c AS (SELECT * FROM {call}) SELECT * FROM c WHERE _change_type = 'delete'").first().id == 1
    assert spark.sql(f"SELECT * FROM {changed} WHERE id IN (SELECT id FROM {call} WHERE _commit_version = 2)").count() == 3
    assert spark.sql(f"SELECT (SELECT max(_commit_version) FROM {call}) AS last").first().last == 3
    other = spark.newSession()
    assert other.sql(f"SELECT * FROM {call}").count() == 7
    assert spark.sql(f"SELECT count(*) n FROM {call} GROUP BY _commit_version ORDER BY n").first().n == 1
    assert len(spark._jsparkSession.sql(f"SELECT * FROM {call}").collect()) == 7


@pytest.mark.parametrize("kind", ["VIEW", "TEMPORARY VIEW"])
def test_in_a_view_names_are_of_the_database_that_it_was_made_in(spark, changed, kind):
    spark.sql(f"CREATE {kind} v_{changed} AS SELECT * FROM table_changes('{changed}', 1)")
    spark.sql(f"CREATE DATABASE db_{changed}")
    view = f"v_{changed}" if kind.startswith("TEMP") else f"default.v_{changed}"
    try:
        spark.sql(f"USE db_{changed}")
        assert spark.table(view).count() == 7
        with pytest.raises(DeltaError, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.sql(f"SELECT * FROM table_changes('{changed}', 1)")
    finally:
        spark.sql("USE default")
        spark.sql(f"DROP DATABASE db_{changed}")
        spark.sql(f"DROP VIEW v_{changed}")


@pytest.mark.smoke
@in_one_test(
    ("arguments", "error_class"),
    [
        ("", "INCORRECT_NUMBER_OF_ARGUMENTS"),
        ("'{0}'", "INCORRECT_NUMBER_OF_ARGUMENTS"),
        ("'{0}', 1, 2, 3", "INCORRECT_NUMBER_OF_ARGUMENTS"),
        ("'{0}', NULL", "DELTA_CDC_READ_NULL_RANGE_BOUNDARY"),
        ("'{0}', 1, CAST(NULL AS INT)", "DELTA_CDC_READ_NULL_RANGE_BOUNDARY"),
        ("'{0}', rand()", "DELTA_CDC_NON_CONSTANT_ARGUMENT"),
        ("'{0}', (SELECT 1)", "DELTA_CDC_NON_CONSTANT_ARGUMENT"),
        ("'{0}', 1.5", "DELTA_UNSUPPORTED_EXPRESSION"),
        ("7, 1", "DELTA_UNSUPPORTED_EXPRESSION"),
        ("'{0}', 99", "DELTA_CDC_START_VERSION_AFTER_LATEST"),
        ("'{0}', 3, 1", "DELTA_INVALID_CDC_RANGE"),
        ("'{0}', '2999-01-01'", "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"),
        ("'{0}_x', 1", "TABLE_OR_VIEW_NOT_FOUND"),
        ("'{0} x', 1", "DELTA_MISSING_DELTA_TABLE"),
    ],
)
def test_wrong_arguments_are_refused(spark, changed, arguments, error_class):
    with pytest.raises(DeltaError) as caught:
        spark.sql(f"SELECT * FROM table_changes({arguments.format(changed)})")
    assert caught.value.error_class == error_class


def test_tables_without_changes_are_refused(spark, changed, name):
    spark.sql(f"CREATE TABLE plain_{name} (id BIGINT) USING parquet")
    spark.sql(f"CREATE TEMPORARY VIEW v_{name} AS SELECT 1 id")
    try:
        for table, error_class in ((f"plain_{name}", "DELTA_TABLE_ONLY_OPERATION"), (f"v_{name}", "EXPECT_TABLE_NOT_VIEW")):
            with pytest.raises(DeltaError, match=error_class):
                spark.sql(f"SELECT * FROM table_changes('{table}', 0)")
    finally:
        spark.sql(f"DROP TABLE plain_{name}")
        spark.sql(f"DROP VIEW v_{name}")


def test_names_that_need_quotes_work(spark, table_path):
    path = f"{table_path}/it's a.b"
    bayou.write(spark.range(3), path, **{"delta.enableChangeDataFeed": "true"})
    quoted = path.replace("'", "\\'")
    assert spark.sql(f"SELECT * FROM table_changes_by_path('{quoted}', 0)").count() == 3
    assert spark.sql(f"SELECT * FROM table_changes('delta.`{quoted}`', 0)").count() == 3


def test_arguments_may_be_variables_and_parameters(spark, changed):
    if spark.version < "4":
        pytest.skip("Spark has no variables before 4.0")
    assert spark.sql("SELECT * FROM table_changes(:t, :v)", args={"t": changed, "v": 2}).count() == 4
    spark.sql("DECLARE OR REPLACE VARIABLE since INT DEFAULT 3")
    try:
        assert spark.sql(f"SELECT * FROM table_changes('{changed}', since)").count() == 1
    finally:
        spark.sql("DROP TEMPORARY VARIABLE since")


def test_the_clause_of_newer_sparks_is_refused_with_the_functions_name(spark, changed):
    if spark.version < "4.2":
        pytest.skip("Spark has the clause from 4.2 on")
    with pytest.raises(DeltaError, match="table_changes") as caught:
        spark.sql(f"SELECT * FROM {changed} CHANGES FROM VERSION 0 TO VERSION 1")
    assert caught.value.error_class == "DELTA_CHANGELOG_REQUIRES_V2_TABLE"
