# SPDX-License-Identifier: Apache-2.0
"""CONVERT on a session: Parquet files of any writer, tables of the catalog, streaming sinks, and every refusal."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types
from tests.support.observing import actions, jobs, last, py4j_calls

import bayou
from bayou import DeltaTable
from bayou.errors import DeltaError, InvalidOptionError, InvalidSchemaError, TableNotFoundError, UnsupportedFeatureError

ZONE = "spark.sql.session.timeZone"
FOREIGN = {
    "u8": pa.array([1, 255], pa.uint8()),
    "u32": pa.array([1, 2**32 - 1], pa.uint32()),
    "u64": pa.array([1, 2**64 - 1], pa.uint64()),
    "i16": pa.array([-1, 1], pa.int16()),
    "text": pa.array(["a", None]),
    "raw": pa.array([b"a", b"b"]),
    "fixed": pa.array([b"ab", b"cd"], pa.binary(2)),
    "day": pa.array([0, 1], pa.date32()),
    "ms": pa.array([0, 1_767_225_600_123], pa.timestamp("ms", "UTC")),
    "wall": pa.array([0, 1_767_225_600_123_456], pa.timestamp("us")),
    "dec": pa.array([Decimal("1.25"), Decimal("-3.50")]),
    "words": pa.array(["x", "y"]).dictionary_encode(),
    "list": pa.array([[1], None]),
    "pairs": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
    "deep": pa.array([{"a": 1, "b": {"c": "x"}}, None]),
}
CONDITIONS = (
    *("u32 = 4294967295", "u64 > 5", "u8 = 255", "dec < 0", "text is null"),
    *("ms > '2025-12-31'", "wall > '2025-12-31'", "deep.b.c = 'x'", "fixed = 'cd'", "words = 'y'"),
)
"""Each is true for one row of a file."""
WAYS = {
    "plain": {},
    "old lists": {"use_compliant_nested_type": False},
    "INT96": {"use_deprecated_int96_timestamps": True},
    "version 1": {"version": "1.0"},
}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "folder"


def put(file, columns=None, **options):
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": [1]} if columns is None else columns), file, **options)


def convert(spark, folder, *arguments, **options):
    return DeltaTable.convertToDelta(spark, f"parquet.`{folder}`", *arguments, **options)


def refused(spark, identifier, error, error_class, *arguments):
    with pytest.raises(error) as caught:
        DeltaTable.convertToDelta(spark, identifier, *arguments)
    assert caught.value.error_class == error_class
    return caught.value


def rows(frame):
    return sorted(map(str, frame.collect()))


@pytest.mark.parametrize("way", WAYS)
def test_files_of_another_writer_have_the_schema_and_the_rows_that_spark_reads(spark, folder, way):
    put(folder / "a.parquet", FOREIGN, store_schema=False, **WAYS[way])
    put(folder / "b.parquet", FOREIGN, **WAYS[way])
    wanted = spark.read.parquet(str(folder))
    schema, found = wanted.schema, rows(wanted)
    table = convert(spark, folder)
    assert table.toDF().schema == schema
    assert rows(table.toDF()) == found
    for condition in CONDITIONS:
        assert table.toDF().filter(condition).count() == 2, condition


@pytest.mark.parametrize("setting", ["binaryAsString", "inferTimestampNTZ.enabled"])
def test_the_sessions_settings_decide_on_types(session, folder, setting):
    name = f"spark.sql.parquet.{setting}"
    session.conf.set(name, str(setting == "binaryAsString").lower())
    put(folder / "a.parquet", FOREIGN, store_schema=False)
    wanted = session.read.parquet(str(folder))
    schema, found = wanted.schema, rows(wanted)
    table = convert(session, folder)
    assert table.toDF().schema == schema
    assert rows(table.toDF()) == found


def test_files_of_spark_have_the_schema_that_it_notes(spark, folder):
    columns = types.StructType(
        [
            types.StructField("tiny", types.ByteType(), nullable=False, metadata={"comment": "small", "x": 1}),
            types.StructField("vector", VectorUDT()),
            types.StructField("short", types.StringType(), metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}),
        ]
    )
    frame = spark.createDataFrame([(1, Vectors.dense([1.0, 2.0]), "abc")], columns)
    frame.write.option("parquet.writelegacyformat", "true").parquet(str(folder))
    table = convert(spark, folder)
    tiny, vector, short = table.toDF().schema.fields
    assert (tiny.dataType, tiny.nullable, tiny.metadata) == (types.ByteType(), True, {"comment": "small"})
    assert (vector.dataType, short.dataType, short.metadata) == (VectorUDT(), types.StringType(), {})
    assert table.toDF().collect() == [(1, Vectors.dense([1.0, 2.0]), "abc")]


def test_no_row_is_read_and_calls_do_not_grow_with_the_files(spark, tmp_path):
    counts = []
    for number in (3, 60):
        for each in range(number):
            put(tmp_path / str(number) / f"{each}.parquet", {"id": [each]})
        with jobs(spark) as started, py4j_calls(spark) as calls:
            convert(spark, tmp_path / str(number))
        assert started.value == 0
        counts.append(calls.value)
    assert abs(counts[1] - counts[0]) < 20


def test_a_table_is_partitioned_by_its_folders(session, folder):
    session.conf.set(ZONE, "America/New_York")
    query = """SELECT id, if(id = 0, NULL, concat('a b/ü=%', id)) `_p`, timestamp_seconds(1767225600 + id * 3600) `at.x`,
        date '2026-01-01' + cast(id AS int) d FROM range(3)"""
    session.sql(query).write.partitionBy("_p", "at.x", "d").parquet(str(folder))
    wanted = rows(session.sql(query).select("id", "_p", "`at.x`", "d"))
    schema = types.StructType().add("_p", "string").add("at.x", types.TimestampType()).add("d", types.DateType())
    table = convert(session, folder, schema)
    assert rows(table.toDF()) == wanted
    assert table.toDF().filter("`at.x` = timestamp_seconds(1767229200)").count() == 1
    assert bayou.open(str(folder)).snapshot().partition_columns == ("_p", "at.x", "d")
    # Another session sees the same moments.
    session.conf.set(ZONE, "Asia/Tokyo")
    assert table.toDF().filter("`at.x` = timestamp_seconds(1767229200)").count() == 1


def test_the_table_goes_on(spark, folder):
    spark.range(10).selectExpr("id", "id % 2 p").write.partitionBy("p").parquet(str(folder))
    table = convert(spark, folder, "p bigint")
    table.delete("id = 3")
    table.update("p = 0", {"id": "id + 100"})
    spark.sql("select 50L id, 7L p").write.format("delta").mode("append").save(str(folder))
    assert table.toDF().filter("p = 0").agg({"id": "sum"}).collect() == [(520,)]
    assert table.toDF().count() == 10
    assert [each.operation for each in bayou.open(str(folder)).history()][-1] == "CONVERT"


def test_rows_are_counted_where_statistics_are_not_wanted(spark, folder):
    put(folder / "a.parquet")
    convert(spark, folder, collectStatistics=False)
    assert actions(str(folder), "add", 0)[0]["stats"] == '{"numRecords":1}'
    assert last(str(folder)).operation_parameters["collectStats"] == "false"


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_table_of_the_catalog_becomes_a_delta_table(spark, name, tmp_path, partitioned):
    by = "partitioned by (p, q)" if partitioned else ""
    spark.sql(f"create table {name} (id int, p string, q int) using parquet {by} location '{tmp_path / 't'}'")
    spark.sql(f"alter table {name} set tblproperties ('a' = 'b', 'delta.appendOnly' = 'false')")
    spark.sql(f"insert into {name} values (1, 'a b', 1), (2, null, 2)")
    put(tmp_path / "t" / "deeper" / "no.parquet")  # no partition, and not in the folder itself
    assert spark.table(name).count() == 2
    table = DeltaTable.convertToDelta(spark, f"default.{name}")
    assert rows(table.toDF()) == rows(spark.sql("select * from values (1, 'a b', 1), (2, null, 2) as t(id, p, q)"))
    spark.sql(f"insert into {name} values (3, 'c', null)")
    assert spark.table(name).count() == 3
    detail = table.detail().select("format", "name", "partitionColumns", "properties").first()
    properties = {"a": "b", "delta.appendOnly": "false"}
    assert tuple(detail) == ("delta", f"spark_catalog.default.{name}", ["p", "q"] if partitioned else [], properties)
    (first,) = actions(str(tmp_path / "t"), "commitInfo", 0)
    assert first["operationParameters"]["catalogTable"] == f"`spark_catalog`.`default`.`{name}`"
    assert spark.sql(f"describe table extended {name}").filter("col_name = 'Provider'").first()[1] == "delta"
    before = len(bayou.open(str(tmp_path / "t")).history())
    DeltaTable.convertToDelta(spark, name)
    assert len(bayou.open(str(tmp_path / "t")).history()) == before


def test_a_managed_table_stays_managed(spark, name):
    spark.sql(f"create table {name} using parquet as select 1 id")
    place = Path(spark.sql(f"describe table extended {name}").filter("col_name = 'Location'").first()[1].removeprefix("file:"))
    DeltaTable.convertToDelta(spark, name)
    spark.sql(f"drop table {name}")
    assert not place.exists()


def test_partitions_are_where_the_catalog_has_them(spark, name, tmp_path):
    spark.sql(f"create table {name} (id bigint, p int) using parquet partitioned by (p) location '{tmp_path / 't'}'")
    put(tmp_path / "t" / "elsewhere" / "a.parquet")
    spark.sql(f"alter table {name} add partition (p = 7) location '{tmp_path / 't' / 'elsewhere'}'")
    table = DeltaTable.convertToDelta(spark, name, "p int")
    assert table.toDF().collect() == [(1, 7)]


def test_the_catalog_knows_the_columns_unless_the_session_says_otherwise(session, tmp_path, name):
    path = tmp_path / "t"
    session.sql(f"create table {name} (id long not null comment 'c', code char(3), raw string) using parquet location '{path}'")
    put(path / "a.parquet", {"raw": pa.array([b"x"]), "id": pa.array([1], pa.int32()), "more": [1]}, store_schema=False)
    found = DeltaTable.convertToDelta(session, name).toDF()
    assert found.collect() == [(1, None, "x")]
    assert [(each.name, each.nullable) for each in found.schema] == [("id", True), ("code", True), ("raw", True)]
    assert found.schema["id"].metadata == {"comment": "c"}
    with pytest.raises(DeltaError):
        session.sql(f"insert into {name} values (2, 'too long', 'y')")
    session.sql(f"drop table {name}")
    shutil.rmtree(path / "_delta_log")
    session.sql(f"create table {name} (id long) using parquet location '{path}'")
    session.conf.set("spark.databricks.delta.convert.useCatalogSchema", "false")
    assert DeltaTable.convertToDelta(session, name).toDF().columns == ["raw", "id", "more"]


def test_a_partition_outside_is_refused(spark, name, tmp_path):
    spark.sql(f"create table {name} (id bigint, p int) using parquet partitioned by (p) location '{tmp_path / 't'}'")
    put(tmp_path / "x" / "a.parquet")
    spark.sql(f"alter table {name} add partition (p = 7) location '{tmp_path / 'x'}'")
    with pytest.raises(DeltaError, match="which is not in the table's folder"):
        DeltaTable.convertToDelta(spark, name)
    assert not (tmp_path / "t" / "_delta_log").exists()
    assert spark.table(name).collect() == [(1, 7)]


def test_a_streaming_sinks_log_says_which_files_there_are(spark, folder, tmp_path):
    source = tmp_path / "source"
    spark.range(10).selectExpr("id", "concat('a b', id % 2) p").write.parquet(str(source))
    stream = spark.readStream.schema("id bigint, p string").parquet(str(source)).writeStream.partitionBy("p")
    stream = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    stream.start(str(folder), format="parquet").awaitTermination()
    kept = next(folder.rglob("*.parquet"))
    shutil.copy(kept, kept.with_name("not-committed.parquet"))
    assert convert(spark, folder, "p string").toDF().count() == 10


def test_a_delta_table_is_left_alone(spark, name, table_path):
    spark.range(3).write.format("delta").save(table_path)
    for identifier in (f"parquet.`{table_path}`", f"delta.`{table_path}`"):
        assert DeltaTable.convertToDelta(spark, identifier).toDF().count() == 3
    spark.sql(f"create table {name} using delta location '{table_path}'")
    assert DeltaTable.convertToDelta(spark, name).toDF().count() == 3
    assert bayou.open(table_path).version() == 0


def test_a_path_that_was_converted_before_keeps_its_log(spark, name, tmp_path):
    """Only the catalog's entry is left to convert; its properties come into the log, if the log has none of its own."""
    path = str(tmp_path / "t")
    spark.sql(f"create table {name} (id int) using parquet location '{path}'")
    spark.sql(f"alter table {name} set tblproperties ('a' = 'b')")
    spark.sql(f"insert into {name} values (1)")
    convert(spark, path)
    assert DeltaTable.convertToDelta(spark, name).toDF().collect() == [(1,)]
    assert bayou.open(path).snapshot().properties == {"a": "b"}
    assert last(path).operation_parameters["numFiles"] == "0"


def test_other_properties_than_the_logs_are_refused(session, tmp_path, name):
    path = str(tmp_path / "t")
    session.sql(f"create table {name} (id int) using parquet location '{path}'")
    session.sql(f"alter table {name} set tblproperties ('a' = 'b')")
    session.sql(f"insert into {name} values (1)")
    convert(session, path)
    session.sql(f"alter table delta.`{path}` set tblproperties ('a' = 'c')")
    error = refused(session, name, InvalidOptionError, "DELTA_CONVERT_METASTORE_METADATA_MISMATCH")
    assert isinstance(error, AnalysisException)
    session.conf.set("spark.databricks.delta.convert.metadataCheck.enabled", "false")
    DeltaTable.convertToDelta(session, name)
    assert bayou.open(path).snapshot().properties == {"a": "b"}


def test_names_that_are_no_parquet_tables_are_refused(spark, name, tmp_path):
    put(tmp_path / "t" / "a.parquet")
    path = str(tmp_path / "t")
    assert "parquet.`" in refused(spark, f"`{path}`", InvalidOptionError, "DELTA_MISSING_PROVIDER_FOR_CONVERT").next_step
    refused(spark, f"csv.`{path}`", InvalidOptionError, "DELTA_CONVERT_NON_PARQUET_TABLE")
    refused(spark, f"iceberg.`{path}`", InvalidOptionError, "DELTA_CONVERT_NON_PARQUET_TABLE")
    refused(spark, "no_such_table", TableNotFoundError, "TABLE_OR_VIEW_NOT_FOUND")
    refused(spark, f"parquet.`{path}/none`", TableNotFoundError, "DELTA_PATH_DOES_NOT_EXIST")
    spark.sql(f"create table {name} (id int) using csv location '{tmp_path / 'csv'}'")
    refused(spark, name, InvalidOptionError, "DELTA_CONVERT_NON_PARQUET_TABLE")
    spark.range(1).createOrReplaceTempView("a_view")
    refused(spark, "a_view", InvalidOptionError, "DELTA_OPERATION_NOT_ALLOWED")
    with pytest.raises(DeltaError):
        DeltaTable.convertToDelta(spark, "not a name")
    with pytest.raises(DeltaError):
        DeltaTable.convertToDelta(spark, f"parquet.`{path}`", "p what")
    assert not (tmp_path / "t" / "_delta_log").exists()


def test_partitions_that_the_catalog_does_not_have_are_refused(spark, name, tmp_path):
    spark.sql(f"create table {name} (id int, p int) using parquet partitioned by (p) location '{tmp_path / 't'}'")
    refused(spark, name, InvalidOptionError, "DELTA_CONVERSION_NO_PARTITION_FOUND")
    refused(spark, name, InvalidSchemaError, "DELTA_UNEXPECTED_PARTITION_SCHEMA_FROM_USER", "p string")


def test_undeclared_partition_columns_are_refused_with_a_declaration(spark, folder):
    put(folder / "p=1" / "a.parquet")
    error = refused(spark, f"parquet.`{folder}`", InvalidSchemaError, "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME")
    assert isinstance(error, AnalysisException)
    assert "partitionSchema='p string'" in str(error)


def test_a_type_that_spark_does_not_read_is_refused_with_its_file(spark, folder):
    put(folder / "a.parquet", {"id": pa.array([0], pa.timestamp("ns"))}, store_schema=False)
    error = refused(spark, f"parquet.`{folder}`", DeltaError, "DELTA_FAILED_MERGE_SCHEMA_FILE")
    assert error.file == "a.parquet"


def test_the_sessions_default_of_column_mapping_is_refused(session, folder):
    put(folder / "a.parquet")
    session.conf.set("spark.databricks.delta.properties.defaults.columnMapping.mode", "name")
    refused(session, f"parquet.`{folder}`", UnsupportedFeatureError, "DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING")
    assert not (folder / "_delta_log").exists()
