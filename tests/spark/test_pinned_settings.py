# SPDX-License-Identifier: Apache-2.0
"""Settings of a session change what Spark answers, and never what a table loses or what its files and its SQL mean."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.operations.statements import settings

import bayou
from bayou.errors import DataFileNotFoundError, DeltaError, InvalidCommitError, SessionError, UnreadableDataFileError
from bayou.spark.data_files import new_files
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.relations import own_sql
from bayou.spark.native.session import log_jobs

TOLERANT = {"spark.sql.files.ignoreMissingFiles": "true", "spark.sql.files.ignoreCorruptFiles": "true"}
NO_ZONES = {"spark.sql.timestampType": "TIMESTAMP_NTZ"}
ODD_PARSER = {
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
}


def data_files(path):
    return sorted(Path(path).rglob("part-*.parquet"))


def two_files(spark, path, **properties):
    for first in (0, 10):
        bayou.write(spark.range(first, first + 10).selectExpr("id", "id v").coalesce(1), path, mode="append", **properties)
    return bayou.DeltaTable.forPath(spark, path)


def zeroed(file):
    file.write_bytes(bytes(file.stat().st_size))


def halved(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


DAMAGE = {"missing": Path.unlink, "zeroed": zeroed, "halved": halved}
REWRITES = {
    "DELETE": lambda table, _: table.delete("id % 3 = 0"),
    "UPDATE": lambda table, _: table.update("id % 3 = 0", {"v": "-1"}),
    "MERGE": lambda table, spark: (
        table.alias("t")
        .merge(spark.range(30).alias("s"), "t.id = s.id")
        .whenMatchedUpdate(set={"v": "7"})
        .whenNotMatchedInsert(values={"id": "s.id"})
        .execute()
    ),
    "replaceWhere": lambda table, spark: bayou.write(
        spark.range(1).selectExpr("id", "id v"),
        table.detail().head().location,
        mode="overwrite",
        replaceWhere="id + v > 8 or id = 0",
    ),
    "ADD CONSTRAINT": lambda table, _: table.addConstraint("small", "v < 100"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("rewrite", REWRITES)
def test_a_file_that_cannot_be_read_fails_a_rewrite_by_name(spark, table_path, rewrite, damage):
    table = two_files(spark, table_path)
    version, file = bayou.open(table_path).snapshot().version, data_files(table_path)[0]
    DAMAGE[damage](file)
    wanted = DataFileNotFoundError if damage == "missing" else UnreadableDataFileError
    with settings(spark, TOLERANT), pytest.raises(wanted) as found:
        REWRITES[rewrite](table, spark)
    assert found.value.file == file.name
    assert bayou.open(table_path).snapshot().version == version
    assert spark.conf.get("spark.sql.files.ignoreMissingFiles") == "false"


@pytest.mark.parametrize("damage", DAMAGE)
def test_rows_that_only_move_are_all_there_or_nothing_is_committed(spark, table_path, damage):
    two_files(spark, table_path)
    DAMAGE[damage](data_files(table_path)[0])
    with settings(spark, TOLERANT), pytest.raises(InvalidCommitError, match="20 rows by 10") as found:
        bayou.write(bayou.read(spark, table_path), table_path, mode="overwrite", dataChange="false")
    assert found.value.error_class == "DELTA_NUM_RECORDS_MISMATCH"
    assert bayou.open(table_path).snapshot().version == 1


@pytest.mark.parametrize("damage", ["zeroed", "halved"])
def test_a_log_job_does_not_pass_over_a_damaged_part_of_a_checkpoint(spark, table_path, damage):
    bayou.write(spark.range(10).repartition(5), table_path)
    bayou.open(table_path).checkpoint()
    (checkpoint,) = Path(table_path, "_delta_log").glob("*.checkpoint*.parquet")
    columns = bayou.open(table_path).snapshot().read_source(lambda found: log_jobs._columns(found, f"_delta_log/{checkpoint.name}"))

    def files():
        return log_jobs._frame(spark, [checkpoint.as_uri()], columns).where("add is not null").count()

    with settings(spark, TOLERANT):
        assert files() == 5
        DAMAGE[damage](checkpoint)
        with pytest.raises((PySparkException, Py4JJavaError), match=checkpoint.name):
            files()


@pytest.mark.parametrize("wrong", [("timestamp", "INT64"), ("integer", "INT64"), ("missing", "missing")])
def test_a_file_that_does_not_hold_the_tables_columns_is_never_committed(spark, table_path, monkeypatch, wrong):
    bayou.write(spark.range(1).selectExpr("id", "cast(null as int) n", "timestamp'2024-01-01 00:00:00' ts"), table_path)
    kinds = {"timestamp": "timestamp_ntz'2024-01-01 00:00:00' ts, 1 n", "integer": "timestamp'2024-01-01 00:00:00' ts, 1L n"}
    query = kinds.get(wrong[0], "timestamp'2024-01-01 00:00:00' ts")
    other = spark.range(1).selectExpr("id", *query.split(", "))
    written = new_files.write_into
    monkeypatch.setattr(new_files, "write_into", lambda jvm, _, *rest: written(jvm, other, *rest))
    before = data_files(table_path)
    with pytest.raises(SessionError, match=wrong[1]):
        bayou.write(spark.range(1).selectExpr("id", "1 n", "timestamp'2024-01-01 00:00:00' ts"), table_path, mode="append")
    assert data_files(table_path) == before


def test_keys_of_hadoop_do_not_take_statistics_away(spark, table_path):
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    keys = ("parquet.column.statistics.enabled", "parquet.column.statistics.enabled#id", "spark.sql.parquet.writeLegacyFormat")
    for key, value in zip(keys, ("false", "false", "true"), strict=True):
        hadoop.set(key, value)
    try:
        bayou.write(spark.range(4).selectExpr("id", "cast(id as decimal(5,2)) d").coalesce(1), table_path)
    finally:
        for key in keys:
            hadoop.unset(key)
    (stats,) = bayou.open(table_path).snapshot().files(["stats"])["stats"].to_pylist()
    assert json.loads(stats)["maxValues"] == {"id": 3, "d": 3.0}


def test_instants_are_instants_whatever_the_word_timestamp_means(spark, table_path):
    builder = bayou.DeltaTable.create(spark).location(table_path).addColumn("t", "string")
    builder.addColumn("g", "timestamp", generatedAlwaysAs="cast(t as timestamp)").addColumn("n", "struct<a: timestamp>").execute()
    text = "2024-01-01 00:00:00+05:00"
    rows = spark.createDataFrame([(text,)], "t string")
    with settings(spark, NO_ZONES):
        bayou.write(rows, table_path, mode="append")
        table = bayou.DeltaTable.forPath(spark, table_path)
        table.update(set={"t": F.lit(text)})
        source = rows.selectExpr("t as other").alias("s")
        table.alias("t").merge(source, "false").whenNotMatchedInsert(values={"t": "s.other"}).execute()
    moments = {row[0] for row in bayou.read(spark, table_path).selectExpr("unix_micros(g)").collect()}
    assert moments == {int(dt.datetime(2023, 12, 31, 19, tzinfo=dt.timezone.utc).timestamp()) * 1_000_000}
    for file in data_files(table_path):
        assert pq.read_schema(file).field("g").type.tz == "UTC"


def test_partition_values_do_not_depend_on_the_session_that_read_a_table_first(spark, table_path):
    bayou.write(spark.sql("select 1 id, timestamp'2024-01-01 12:00:00' ts"), f"{table_path}/a", partition_by=["ts"])
    bayou.write(spark.sql("select 1 id, timestamp'2024-01-01 12:00:00' ts"), f"{table_path}/b", partition_by=["ts"])
    zone = {"spark.sql.session.timeZone": "Pacific/Chatham"}  # no other test has made bayou's session for it
    with settings(spark, {**zone, **NO_ZONES, "spark.sql.execution.arrow.useLargeVarTypes": "true"}):
        first = bayou.read(spark, f"{table_path}/a").selectExpr("unix_micros(ts)").collect()
        assert bayou.DeltaTable.forPath(spark, f"{table_path}/a").detail().count() == 1
    with settings(spark, zone):
        assert bayou.read(spark, f"{table_path}/b").selectExpr("unix_micros(ts)").collect() == first
        assert not bayou.read(spark, f"{table_path}/b").where("ts < timestamp'2024-01-01 08:00:00'").count()


@pytest.mark.parametrize(
    "properties",
    [{"delta.enableChangeDataFeed": "true"}, {"delta.enableRowTracking": "true"}, {"delta.enableDeletionVectors": "true"}],
    ids=lambda found: next(iter(found)),
)
def test_names_and_texts_are_those_of_the_table_whatever_the_parser_is_told(spark, table_path, properties):
    name = "a '`\\d+ ${spark.app.name}"
    rows = spark.range(4).select("id", F.lit("x").alias(name), F.struct(F.lit(1).alias("b b")).alias("s s"))
    with settings(spark, ODD_PARSER):
        bayou.write(rows.coalesce(1), table_path, **properties, **{"delta.columnMapping.mode": "name"})
        table = bayou.DeltaTable.forPath(spark, table_path)
        table.update(F.col("id") == 1, {"id": F.lit(10)})
        table.delete(F.col("id") == 3)
        merge = table.alias("t").merge(spark.range(3).alias("s"), F.col("t.id") == F.col("s.id"))
        merge.whenMatchedUpdate(set={"id": F.col("s.id") + 100}).whenNotMatchedInsert(values={"id": F.col("s.id")}).execute()
        found = sorted((row[0], row[1], row[2] and row[2][0]) for row in bayou.read(spark, table_path).collect())
    assert found == [(1, None, None), (10, "x", 1), (100, "x", 1), (102, "x", 1)]


def test_stored_conditions_mean_what_they_meant_when_they_were_stored(spark, table_path):
    bayou.write(spark.sql("select 'a' t"), table_path)
    bayou.DeltaTable.forPath(spark, table_path).addConstraint("c", r"""t != "b" and t != '\\'""")
    with settings(spark, ODD_PARSER):
        bayou.write(spark.createDataFrame([("c",)], "t string"), table_path, mode="append")
        for text in ("b", "\\"):
            with pytest.raises(DeltaError, match="c"):
                bayou.write(spark.createDataFrame([(text,)], "t string"), table_path, mode="append")


def test_own_sql_is_parsed_alike_whatever_the_session_says_of_its_parser(spark):
    jvm, session = Jvm.of(spark), spark._jsparkSession
    texts = ("cast(`a.*` as timestamp)", '"x"', r"'\\'", "1e2")
    with settings(spark, {"spark.sql.ansi.enabled": "true"}):
        plain = [own_sql.parsed_plainly(jvm, session, text).toJSON() for text in texts]
    with settings(spark, {**ODD_PARSER, **NO_ZONES}):
        odd = [own_sql.parsed_plainly(jvm, session, text).toJSON() for text in texts]
    assert odd == plain
    assert '"timestamp"' in odd[0]


@pytest.mark.parametrize(
    ("setting", "default"),
    [
        ("spark.sql.parser.escapedStringLiterals", r"'a\tb'"),
        ("spark.sql.legacy.exponentLiteralAsDecimal.enabled", "concat('', 1e0 / 3)"),
    ],
)
def test_a_default_that_the_session_would_read_differently_is_refused(spark, name, setting, default):
    feature = "tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    spark.sql(f"create table {name} (id int, q string default {default}) using delta {feature}")
    spark.sql(f"insert into {name} (id) values (1)")
    spark.conf.set(setting, "true")
    try:
        with pytest.raises(Exception, match="changes what the default"):
            spark.sql(f"insert into {name} (id) values (2)")
        spark.sql(f"insert into {name} values (3, 'given')")
    finally:
        spark.conf.unset(setting)
    assert [row.id for row in spark.sql(f"select id from {name} order by id").collect()] == [1, 3]
