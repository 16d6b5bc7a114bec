# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException, UnsupportedOperationException
from tests.support.tables.built import file_of, numbers, numbers_table, without_rows

import bayou
from bayou.errors import (
    ConstraintViolationError,
    DataFileNotFoundError,
    DeletionVectorError,
    DeltaError,
    InvalidOptionError,
    PathNotFoundError,
    SchemaMismatchError,
    SessionError,
    TableNotFoundError,
    UnsupportedFeatureError,
    VersionGapError,
    VersionNotFoundError,
)
from bayou.protocol.actions.actions import Protocol
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.jvm.core.bridge import Jvm
from bayou.testing.table_builder import TableBuilder


def no_trace(error):
    text = str(error)
    return "\n\tat " not in text and "java." not in text and "py4j" not in text and len(text) < 1000


WAYS = {
    "bayou.read": bayou.read,
    "format": lambda spark, path: spark.read.format("delta").load(path),
    "sql": lambda spark, path: spark.sql(f"select * from delta.`{path}`"),
    "forPath": bayou.DeltaTable.forPath,
}


@pytest.mark.smoke
@pytest.mark.parametrize("way", WAYS)
def test_a_path_without_a_table_is_bayous_error_and_an_analysis_exception(spark, tmp_path, way):
    spark.range(3).write.parquet(str(tmp_path / "plain"))
    with pytest.raises(AnalysisException) as caught:
        WAYS[way](spark, str(tmp_path / "plain"))
    assert isinstance(caught.value, (TableNotFoundError, FileNotFoundError))
    assert caught.value.getErrorClass() in ("DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE")
    assert caught.value.getSqlState() == "42P01"
    assert str(tmp_path / "plain") in str(caught.value)
    assert no_trace(caught.value)


@pytest.mark.parametrize("way", ["bayou.read", "format"])
def test_a_path_that_is_not_there_is_told_apart(spark, tmp_path, way):
    with pytest.raises(AnalysisException) as caught:
        WAYS[way](spark, str(tmp_path / "nothing"))
    assert isinstance(caught.value, PathNotFoundError)
    assert caught.value.getErrorClass() == "PATH_NOT_FOUND"
    assert "Path does not exist" in str(caught.value)


@pytest.mark.smoke
def test_a_version_that_is_not_there_names_the_range(spark, table_path):
    numbers_table(table_path, [1])
    for version in (7, -1):
        with pytest.raises(VersionNotFoundError) as caught:
            spark.read.format("delta").option("versionAsOf", version).load(table_path)
        assert isinstance(caught.value, AnalysisException)
        assert caught.value.getErrorClass() == "DELTA_VERSION_NOT_FOUND"
        assert caught.value.getMessageParameters() == {"userVersion": str(version), "earliest": "0", "latest": "1"}
        assert (caught.value.earliest, caught.value.latest) == (0, 1)
        assert no_trace(caught.value)


def test_an_unknown_reader_feature_is_refused_by_name(spark, table_path):
    protocol = Protocol(3, 7, ("fromTheFuture",), ("fromTheFuture",))
    TableBuilder(table_path).create(protocol=protocol)
    for way in WAYS.values():
        with pytest.raises(UnsupportedFeatureError, match="fromTheFuture") as caught:
            getattr(way(spark, table_path), "toDF", lambda: None)()
        assert isinstance(caught.value, UnsupportedOperationException)


@pytest.mark.parametrize(
    ("options", "error_class"),
    [
        ({"versionAsOf": 0, "timestampAsOf": "2026-01-01"}, "DELTA_ONEOF_IN_TIMETRAVEL"),
        ({"versionAsOf": "minus one"}, "DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE"),
        ({"versionAsOf": "1_0"}, "DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE"),
    ],
)
def test_options_that_make_no_sense_are_illegal_arguments(spark, table_path, options, error_class):
    numbers_table(table_path, [1])
    with pytest.raises(IllegalArgumentException) as caught:
        spark.read.format("delta").options(**options).load(table_path)
    assert isinstance(caught.value, InvalidOptionError)
    assert isinstance(caught.value, ValueError)
    assert caught.value.getErrorClass() == error_class


def test_a_version_in_the_path_and_another_one_in_an_option_are_told(spark, table_path):
    numbers_table(table_path, [1])
    for options in ({"versionAsOf": 0}, {"timestampAsOf": "2026-01-01"}):
        with pytest.raises(AnalysisException) as caught:
            spark.read.format("delta").options(**options).load(f"{table_path}@v1")
        assert caught.value.getErrorClass() == "DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS"


def test_a_missing_path_option_is_an_illegal_argument(spark):
    with pytest.raises(IllegalArgumentException, match="path"):
        spark.read.format("delta").load()


@pytest.mark.smoke
def test_a_missing_data_file_names_table_and_file_without_a_trace(spark, table_path):
    numbers_table(table_path, [1, 2], [3])
    Path(table_path, "1.parquet").unlink()
    with pytest.raises(TableNotFoundError):  # a folder above the table, whose log is remembered, too
        spark.read.format("delta").load(str(Path(table_path).parent)).collect()
    with pytest.raises(DataFileNotFoundError) as caught:
        spark.read.format("delta").load(table_path).collect()
    assert isinstance(caught.value, PySparkException)
    assert caught.value.file == "1.parquet"
    assert caught.value.table.endswith(table_path)
    assert no_trace(caught.value)


def test_a_missing_file_of_another_source_stays_sparks_error(spark, table_path, tmp_path):
    numbers_table(table_path, [1])
    spark.read.format("delta").load(table_path).collect()
    spark.range(2).coalesce(1).write.parquet(str(tmp_path / "plain"))
    frame = spark.read.parquet(str(tmp_path / "plain"))
    for file in (tmp_path / "plain").glob("*.parquet"):
        file.unlink()
    with pytest.raises(Exception) as caught:
        frame.collect()
    assert not isinstance(caught.value, DeltaError)


def test_a_vector_that_is_not_what_the_log_says_names_its_file(spark, table_path):
    builder = numbers_table(table_path, [1])
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 36, "cardinality": 2}
    builder.commit(numbers(table_path, "a.parquet", [2, 3], deletionVector=vector))
    with pytest.raises(DeletionVectorError) as caught:
        spark.read.format("delta").load(table_path).collect()
    assert isinstance(caught.value, PySparkException)
    assert "deletion_vector_" in caught.value.file
    assert no_trace(caught.value)


def test_a_vector_of_another_cardinality_is_refused(spark, table_path):
    vector = without_rows([0, 1])["deletionVector"]
    builder = numbers_table(table_path, [1])
    builder.commit(numbers(table_path, "a.parquet", [2, 3, 4], deletionVector={**vector, "cardinality": 1}))
    with pytest.raises(DeletionVectorError):
        spark.read.format("delta").load(table_path).collect()


def test_a_gap_in_the_log_is_named(spark, table_path):
    numbers_table(table_path, [1]).commit().commit()
    Path(table_path, "_delta_log", f"{2:020}.json").unlink()
    with pytest.raises(VersionGapError) as caught:
        spark.read.format("delta").load(table_path)
    assert caught.value.getErrorClass() == "DELTA_VERSIONS_NOT_CONTIGUOUS"
    assert no_trace(caught.value)


def test_a_broken_parquet_file_stays_sparks_error(spark, table_path):
    builder = TableBuilder(table_path).create()
    builder.commit(file_of(table_path, "a.parquet", {"id": [1]}))
    Path(table_path, "a.parquet").write_bytes(b"no parquet")
    with pytest.raises(Exception) as caught:
        spark.read.format("delta").load(table_path).collect()
    assert not isinstance(caught.value, FileNotFoundError)


def test_a_schema_that_is_not_the_tables_is_refused(spark, table_path):
    numbers_table(table_path, [1])
    with pytest.raises(SchemaMismatchError) as caught:
        spark.read.format("delta").schema("id long, other string").load(table_path)
    assert isinstance(caught.value, AnalysisException)
    assert "other" in str(caught.value)


def test_an_error_that_spark_declares_stays_pysparks_own_in_a_statement_that_python_carries_out(spark, table_path):
    spark.sql(f"CREATE TABLE delta.`{table_path}` (id BIGINT) USING delta")
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"INSERT INTO delta.`{table_path}` SELECT array(1)")
    assert str(caught.value).startswith("[DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION]")


def broken_check(spark, table_path, way):
    spark.sql(f"create table delta.`{table_path}` (id long) using delta")
    bayou.DeltaTable.forPath(spark, table_path).addConstraint("positive", "id > 0")
    rows = spark.sql("select -1L as id")
    match way:
        case "write":
            bayou.write(rows, table_path, mode="append")
        case "save":
            rows.write.format("delta").mode("append").save(table_path)
        case "insert":
            spark.sql(f"insert into delta.`{table_path}` values (-1)")
        case "merge":
            merge = bayou.DeltaTable.forPath(spark, table_path).alias("t").merge(rows.alias("s"), "t.id = s.id")
            merge.whenNotMatchedInsertAll().execute()
        case "statement":
            spark.sql(f"merge into delta.`{table_path}` t using (select -1L id) s on t.id = s.id when not matched then insert *")


@pytest.mark.smoke
@pytest.mark.parametrize("way", ["write", "save", "insert", "merge", "statement"])
def test_a_rule_that_rows_break_is_py4js_error_too_as_with_delta_spark(spark, table_path, way):
    """PySpark has no exception for delta-spark's, so that programs that were written for it catch py4j's."""
    with pytest.raises(Py4JJavaError, match="CHECK constraint positive") as caught:
        broken_check(spark, table_path, way)
    assert isinstance(caught.value, ConstraintViolationError)
    assert caught.value.getErrorClass() == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    assert caught.value.java_exception.getMessage().startswith("[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES]")
    assert no_trace(caught.value)


def test_an_error_that_pyspark_knows_is_not_py4js(spark, table_path):
    with pytest.raises(AnalysisException) as caught:
        bayou.DeltaTable.forPath(spark, table_path)
    assert not isinstance(caught.value, Py4JJavaError)


def test_py4js_error_comes_through_a_callback_as_itself(spark, table_path):
    """A program that writes within `foreachBatch` is called by the JVM."""
    spark.range(3).write.format("delta").save(f"{table_path}-source")
    query = (
        spark.readStream.format("delta")
        .load(f"{table_path}-source")
        .writeStream.foreachBatch(lambda *_: broken_check(spark, table_path, "save"))
        .option("checkpointLocation", f"{table_path}-checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(PySparkException, match="CHECK constraint positive"):
        query.awaitTermination()


@pytest.mark.smoke
def test_a_call_that_this_spark_lacks_says_which_and_what_to_do(spark):
    jvm = Jvm.of(spark)

    @raised_as_pyspark
    def call(make):
        return make()

    for make in (
        lambda: jvm.static("java.lang.Integer").parseInt("1", "2", "3", "4"),
        lambda: jvm.static("java.util.ArrayList")("a", "b", "c"),
        lambda: jvm.java_class("org.apache.spark.Gone", "org.apache.spark.OtherGone"),
        lambda: jvm.module("org.apache.spark.Gone"),
        lambda: jvm.call(jvm.static("java.util.ArrayList")(), "add", 1, 2, 3),
        lambda: jvm.construct(jvm.java_class("java.lang.Object"), 1),
    ):
        with pytest.raises(SessionError, match=spark.version) as caught:
            call(make)
        assert isinstance(caught.value, PySparkException)
        assert "README" in caught.value.next_step
