# SPDX-License-Identifier: Apache-2.0
"""A filter on a column finds the partitions that are generated from it, where the files say nothing of the column itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from itertools import count
from zoneinfo import ZoneInfo

import pytest
from pyspark.errors import PySparkException
from tests.support.cases import in_one_test
from tests.support.observing import files_read, py4j_calls
from tests.support.tables.built import ids

import bayou
from bayou import DeltaTable
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.native.backend import NativeBackend
from bayou.testing.table_builder import TableBuilder, add

DAYS = ("2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02", "2024-02-03", "2024-02-04", "2024-02-05")


@pytest.fixture(scope="module")
def days(spark, tmp_path_factory):
    """A row for each day, in a partition of its own; the files have no statistics."""
    path = str(tmp_path_factory.mktemp("days") / "t")
    table = DeltaTable.create(spark).location(path).addColumn("id", "BIGINT").addColumn("at", "TIMESTAMP")
    table = table.addColumn("day", "DATE", generatedAlwaysAs="CAST(at AS DATE)").partitionedBy("day")
    table.property("delta.dataSkippingNumIndexedCols", "0").execute()
    rows = " union all ".join(f"select {n}L id, timestamp'{day} 12:00:00' at" for n, day in enumerate(DAYS))
    spark.sql(rows).write.format("delta").mode("append").save(path)
    assert bayou.open(path).snapshot().num_files == len(DAYS)
    return spark.read.format("delta").load(path)


# A day more on either side, because the writer may have been in any zone.
@pytest.mark.parametrize(
    ("condition", "found", "files"),
    [
        ("at = timestamp'2024-02-02 12:00:00'", [3], 3),
        ("at >= timestamp'2024-02-04 00:00:00'", [5, 6], 3),
        ("at < timestamp'2024-01-31 00:00:00'", [0], 3),
        ("at between timestamp'2024-02-01 00:00:00' and timestamp'2024-02-02 00:00:00'", [2], 4),
        ("at is null", [], 0),
        ("id = 4", [4], 7),
        ("at = timestamp'2024-02-02 12:00:00' or id = 6", [3, 6], 7),
    ],
)
def test_a_filter_on_the_base_column_skips_partitions(days, condition, found, files):
    frame = days.where(condition)
    assert files_read(frame) <= files
    assert ids(frame) == found


NUMBERS = count()
SOURCES = {"at": "timestamp", "local": "timestamp_ntz", "day": "date", "name": "string"}
WRITES_GENERATED_COLUMNS = Protocol(3, 7, ("timestampNtz",), ("generatedColumns", "timestampNtz"))
MARCH = "timestamp'2024-03-15 12:00:00'"


def table_of(path, columns, values, protocol=WRITES_GENERATED_COLUMNS, partition_by=None):
    """A table of files that are in the log alone: one for each tuple of partition values, without statistics."""
    fields = [StructField(name, kind) for name, kind in SOURCES.items()]
    fields.append(StructField("s", StructType(tuple(fields))))
    fields += [StructField(name, kind, metadata={"delta.generationExpression": text}) for name, kind, text in columns]
    names = [name for name, _, _ in columns] if partition_by is None else partition_by
    files = (add(f"{n}.parquet", partitionValues=dict(zip(names, each, strict=True))) for n, each in enumerate(values))
    TableBuilder(path).create(StructType(tuple(fields)), partition_by=names, protocol=protocol).commit(*files)
    return str(path)


def kept(frame, condition):
    """The numbers of the files that a filter leaves."""
    return sorted(int(file.rpartition("/")[2].removesuffix(".parquet")) for file in frame.where(condition).inputFiles())


MONTHS = [("2024-02-01",), ("2024-03-01",), ("2024-04-01",)]
DATES = [("2024-03-13",), ("2024-03-15",), ("2024-03-17",)]
# The text of a timestamp without a zone is never compared: it means another moment to each reader.
STARTS = [("2024-02-01T00:00:00Z",), ("2024-03-01T00:00:00Z",), ("2024-04-01T00:00:00Z",)]
HOURS = [("2024-03-13T12:00:00Z",), ("2024-03-15T12:00:00Z",), ("2024-03-17T12:00:00Z",)]


def around(source, value):
    """Filters on a source, with those of three partitions around the value that each of them leaves."""
    return {f"{source} = {value}": [1], f"{source} <= {value}": [0, 1], f"{source} >= {value}": [1, 2]}


PREFIXES = {"name = 'abc'": [0], "name like 'a%'": [0, 2], "name >= 'b'": [1]}


@in_one_test(
    ("kind", "expression", "values", "filters"),
    [
        ("date", "CAST(at AS DATE)", DATES, around("at", MARCH)),
        ("date", "try_cast(`AT` as date)", DATES, around("at", MARCH)),
        ("date", "date(at)", DATES, around("at", MARCH)),
        ("date", "to_date(local)", DATES, around("local", "timestamp_ntz'2024-03-15 12:00:00'")),
        ("date", "(day)", DATES, around("day", "date'2024-03-15'")),
        ("date", "to_date(day)", DATES, around("day", "date'2024-03-15'")),
        ("date", "s.`at`::date", DATES, around("s.at", MARCH)),
        ("date", "trunc(at, 'MM')", MONTHS, around("at", MARCH)),
        ("date", "trunc(CAST(at AS DATE), 'Month')", MONTHS, around("at", MARCH)),
        ("date", "trunc(day, 'quarter')", [("2023-10-01",), ("2024-01-01",)], {"day > date'2024-03-15'": [1]}),
        ("timestamp", "date_trunc('MONTH', at)", STARTS, around("at", MARCH)),
        ("timestamp", "date_trunc('hour', at)", HOURS, around("at", MARCH)),
        ("string", "date_format(at, 'yyyy-MM')", [("2024-02",), ("2024-03",), ("2024-04",)], around("at", MARCH)),
        ("string", "date_format(at, 'yyyy-MM-dd')", DATES, around("at", MARCH)),
        ("string", "date_format(at, 'yyyy-MM-dd-HH')", [("2024-03-13-00",), ("2024-03-15-12",)], {f"at = {MARCH}": [1]}),
        ("string", "date_format(day, 'yyyy-MM')", [("2024-02",), ("2024-03",)], {"day = date'2024-03-15'": [1]}),
        ("integer", "year(at)", [("2023",), ("2024",), ("2025",)], around("at", MARCH)),
        ("integer", "extract(year from day)", [("2023",), ("2024",)], {"day > date'2024-03-15'": [1]}),
        ("string", "substring(name, 1, 2)", [("ab",), ("b",), ("ac",)], PREFIXES),
        ("string", "substr(name, 0, 2)", [("ab",), ("b",), ("ac",)], PREFIXES),
        ("string", "SUBSTRING(name FROM 1 FOR 2)", [("ab",), ("b",), ("ac",)], PREFIXES),
        ("string", "left(name, 2)", [("ab",), ("b",), ("ac",)], PREFIXES),
        ("string", "substr(name, -2)", [("bc",), ("ab",)], {"name = 'abc'": [0]}),
    ],
)
def test_a_filter_leaves_the_partitions_that_an_expression_may_give(spark, tmp_path, kind, expression, values, filters):
    frame = bayou.read(spark, table_of(tmp_path / str(next(NUMBERS)), [("p", kind, expression)], values))
    assert {condition: kept(frame, condition) for condition in filters} == filters


def test_the_year_the_month_the_day_and_the_hour_are_one_order(spark, tmp_path):
    columns = [
        ("y", "integer", "YEAR(at)"),
        ("m", "integer", "MONTH(at)"),
        ("d", "integer", "DAY(at)"),
        ("h", "integer", "HOUR(at)"),
    ]
    values = [("2023", "12", "30", "1"), ("2023", "12", "31", "12"), ("2024", "1", "2", "20"), ("2024", "2", "1", "0")]
    frame = bayou.read(spark, table_of(tmp_path / "t", columns, values))
    assert kept(frame, "at between timestamp'2023-12-31 20:00:00' and timestamp'2024-01-01 04:00:00'") == [1]
    assert kept(frame, "at >= timestamp'2024-01-01 12:00:00'") == [2, 3]


ZONES = ["Pacific/Kiritimati", "Pacific/Midway", "America/St_Johns"]


@in_one_test("reader", ZONES)
@in_one_test("writer", ZONES)
def test_a_row_is_found_whatever_the_zones_of_its_writer_and_its_reader(spark, tmp_path, writer, reader):
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.session.timeZone", reader)
    moments = [datetime(2024, 2, day, 23, 30, tzinfo=timezone.utc).astimezone(ZoneInfo(writer)) for day in range(20, 25)]
    columns = [("p", "date", "CAST(at AS DATE)"), ("h", "string", "date_format(at, 'yyyy-MM-dd-HH')")]
    path = table_of(tmp_path / str(next(NUMBERS)), columns, [(f"{each:%Y-%m-%d}", f"{each:%Y-%m-%d-%H}") for each in moments])
    found = kept(bayou.read(session, path), "at = timestamp'2024-02-22 23:30:00Z'")
    assert 2 in found
    assert len(found) <= 3  # a day more on either side


@in_one_test(
    "column",
    [
        ("p", "date", "date_add(day, 1)"),
        ("p", "date", "to_date(at, 'yyyy')"),
        ("p", "string", "date_format(at, 'y-MM')"),
        ("p", "string", "concat('a', date_format(at, 'yyyy-MM'))"),
        ("p", "timestamp", "date_trunc('century', at)"),
        ("p", "integer", "YEAR(at) + 1"),
        ("p", "string", "upper(name)"),
        ("p", "string", "gone"),
        ("p", "string", "((("),
        ("p", "string", "(select max(name) from t)"),
        ("p", "string", "reflect('java.util.UUID', 'randomUUID')"),
        ("p", "string", "raise_error('never')"),
        ("p", "string", f"{'lower(' * 250}name{')' * 250}"),
    ],
)
def test_an_expression_that_is_not_understood_or_not_allowed_leaves_all_partitions(spark, tmp_path, column):
    frame = bayou.read(spark, table_of(tmp_path / str(next(NUMBERS)), [column], [("1",), (None,)]))
    assert kept(frame, f"at = {MARCH} and name = 'a' and day = date'2024-03-15'") == [0, 1]


def test_an_expression_of_a_table_without_the_feature_and_of_a_plain_column_means_nothing(spark, tmp_path):
    columns = [("p", "date", "CAST(at AS DATE)")]
    old = table_of(tmp_path / "old", columns, DATES, protocol=Protocol(1, 2))
    assert kept(bayou.read(spark, old), f"at = {MARCH}") == [0, 1, 2]
    plain = table_of(tmp_path / "plain", columns, [("a",), ("b",)], partition_by=["name"])
    assert kept(bayou.read(spark, plain), f"at = {MARCH}") == [0, 1]


def test_names_and_settings_of_a_session_do_not_matter(spark, tmp_path):
    session = bayou.enable(spark.newSession())
    settings = {"caseSensitive": "true", "ansi.enabled": "true", "timestampType": "TIMESTAMP_NTZ"}
    for name, value in settings.items():
        session.conf.set(f"spark.sql.{name}", value)
    frame = bayou.read(session, table_of(tmp_path / "t", [("p", "date", "cast(AT as date)")], DATES))
    assert kept(frame, "at = timestamp_ltz'2024-03-15 12:00:00'") == [1]


def test_a_delete_on_a_thread_without_an_active_session_finds_the_partitions(spark, tmp_path):
    path = table_of(
        tmp_path / "t",
        [("p", "date", "cast(at as date)"), ("n", "string", "substring(name, 1, 1)")],
        [
            ("2024-03-13", "a"),
            ("2024-03-15", "b"),
            ("2024-03-17", "c"),
        ],
    )
    table = DeltaTable.forPath(bayou.enable(spark.newSession()), path)
    with ThreadPoolExecutor(1) as pool:
        planned = pool.submit(table.plan_delete, f"at >= {MARCH} and name < 'bb'").result()
    assert planned.plan.to_read.files == 1


def test_a_failed_call_costs_one_query_its_pruning_and_no_later_one(spark, tmp_path, monkeypatch):
    columns = [("p", "date", "CAST(at AS DATE)"), ("n", "string", "substring(name, 1, 1)")]
    path = table_of(tmp_path / "t", columns, [("2024-03-13", "a"), ("2024-03-15", "b"), ("2024-03-15", "c")])
    frame, resolve = bayou.read(spark, path), NativeBackend.expressions_in_json

    def failing(backend, session, schema, texts):
        if "name" in texts[0]:
            raise PySparkException("[INTERRUPTED] the thread was interrupted")
        return resolve(backend, session, schema, texts)

    condition = f"at = {MARCH} and name = 'bb'"
    monkeypatch.setattr(NativeBackend, "expressions_in_json", failing)
    assert kept(frame, condition) == [1, 2]
    monkeypatch.setattr(NativeBackend, "expressions_in_json", resolve)
    assert kept(frame, condition) == [1]


def test_expressions_are_resolved_once_for_a_schema(spark, tmp_path):
    columns = [("p", "date", "date(at)"), ("y", "integer", "year(at)")]
    frames = [bayou.read(spark, table_of(tmp_path / str(n), columns, [("2024-03-15", "2024")] * n)) for n in (2, 200)]

    def calls(frame, condition):
        with py4j_calls(spark) as found:
            frame.where(condition)._jdf.inputFiles()
        return found.value

    for frame in frames:  # what is looked up once, for the JVM or for a snapshot, is not to be counted
        calls(frame, "true")
    first = calls(frames[0], f"at = {MARCH}")
    again, other = calls(frames[0], f"at = {MARCH}"), calls(frames[1], f"at = {MARCH}")
    assert again == other < first
