# SPDX-License-Identifier: Apache-2.0
"""Tables with types that some Sparks lack: each is read as what it is, or refused by name; see `test_variants` for variants."""

from __future__ import annotations

import logging

import pyarrow as pa
import pyspark
import pytest
from tests.support.tables.built import file_of

import bayou
from bayou.errors import DeltaError, InvalidSchemaError, UnsupportedFeatureError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import ArrayType, StructField, StructType
from bayou.testing.table_builder import TableBuilder

VERSION = tuple(map(int, pyspark.__version__.split(".")[:2]))
HAS_COLLATIONS = VERSION >= (4, 0)
HAS_TIME = VERSION >= (4, 1)
LOWER = {"__COLLATIONS": {"c": "spark.UTF8_LCASE"}}
COLLATED = StructType((StructField("id", "long"), StructField("c", "string", metadata=LOWER)))
LISTED = Protocol(1, 7, (), ("collations", "domainMetadata", "appendOnly", "invariants"))
CHANGES = {
    "append": lambda spark, path: spark.range(1).selectExpr("id", "'b' c").write.format("delta").mode("append").save(path),
    "overwrite": lambda spark, path: spark.range(1).selectExpr("id", "'b' c").write.format("delta").mode("overwrite").save(path),
    "insert": lambda spark, path: spark.sql(f"insert into delta.`{path}` values (3, 'b')"),
    "delete": lambda spark, path: bayou.DeltaTable.forPath(spark, path).delete("c = 'A'"),
    "update": lambda spark, path: spark.sql(f"update delta.`{path}` set id = 2 where c = 'A'"),
    "properties": lambda spark, path: bayou.DeltaTable.forPath(spark, path).setProperties({"k": "v"}),
}
READS = {
    "read": lambda spark, path: spark.read.format("delta").load(path).collect(),
    "another column": lambda spark, path: spark.sql(f"select id from delta.`{path}`").collect(),
    "bayou.read": lambda spark, path: bayou.read(spark, path).collect(),
    "append": lambda spark, path: spark.range(1).write.format("delta").mode("append").save(path),
    "delete": lambda spark, path: bayou.DeltaTable.forPath(spark, path).delete("id = 1"),
    "stream": lambda spark, path: spark.readStream.format("delta").load(path),
}


def collated(path, protocol):
    file = file_of(path, "a.parquet", {"id": pa.array([1, 2], pa.int64()), "c": ["a", "A"]})
    TableBuilder(path).create(COLLATED, protocol=protocol).commit(file)
    return path


def of_type(path, kind, values):
    schema = StructType((StructField("id", "long"), StructField("x", kind)))
    TableBuilder(path).create(schema).commit(file_of(path, "a.parquet", {"id": pa.array([1], pa.int64()), "x": values}))
    return path


@pytest.mark.smoke
@pytest.mark.parametrize("protocol", [LISTED, Protocol(1, 2)], ids=["listed", "not listed"])
def test_collated_texts_are_compared_as_the_table_says_or_by_their_bytes_where_spark_has_no_collations(
    spark, table_path, protocol, caplog
):
    collated(table_path, protocol)
    with caplog.at_level(logging.WARNING, "bayou"):
        for found in (spark.read.format("delta").load(table_path), bayou.read(spark, table_path)):
            assert sorted(row.id for row in found.where("c = 'A'").collect()) == ([1, 2] if HAS_COLLATIONS else [2])
            assert found.groupBy("c").count().count() == (1 if HAS_COLLATIONS else 2)
    told = [record.getMessage() for record in caplog.records if "collations" in record.getMessage()]
    assert len(told) == (0 if HAS_COLLATIONS else 1)
    assert all("texts of c " in text and table_path in text for text in told)


@pytest.mark.smoke
@pytest.mark.parametrize("protocol", [LISTED, Protocol(1, 2)], ids=["listed", "not listed"])
@pytest.mark.parametrize("what", CHANGES)
def test_a_table_with_collated_columns_is_refused_for_writing_whatever_its_protocol_lists(spark, table_path, protocol, what):
    collated(table_path, protocol)
    with pytest.raises(UnsupportedFeatureError, match="collations") as caught:
        CHANGES[what](spark, table_path)
    assert "collations" in caught.value.features
    assert bayou.open(table_path).version() == 1


@pytest.mark.skipif(not HAS_COLLATIONS, reason="this Spark has no collations")
@pytest.mark.parametrize(
    "column", ["'a' collate UTF8_LCASE", "array('a' collate UNICODE_CI)", "named_struct('f', 'a' collate UNICODE)"]
)
def test_no_table_gets_a_collated_column(spark, table_path, column):
    rows = spark.sql(f"select 1L id, {column} c")
    kind = rows.schema["c"].dataType.simpleString()
    with pytest.raises(InvalidSchemaError) as caught:
        rows.write.format("delta").save(table_path)
    assert caught.value.error_class == "DELTA_UNSUPPORTED_DATA_TYPES"
    spark.range(1).write.format("delta").save(table_path)
    for change in (
        lambda: rows.write.format("delta").mode("append").option("mergeSchema", "true").save(table_path),
        lambda: spark.sql(f"alter table delta.`{table_path}` add column c {kind}"),
        lambda: spark.sql(f"create or replace table delta.`{table_path}` (c {kind}) using delta"),
    ):
        with pytest.raises(DeltaError) as caught:
            change()
        assert caught.value.error_class == "DELTA_UNSUPPORTED_DATA_TYPES"
    assert bayou.open(table_path).version() == 0


@pytest.mark.smoke
@pytest.mark.skipif(HAS_TIME, reason="this Spark has the type time")
@pytest.mark.parametrize("what", READS)
def test_a_table_with_times_is_refused_by_name_where_spark_has_none(spark, table_path, what):
    of_type(table_path, "time(6)", pa.array([12345], pa.time64("us")))
    with pytest.raises(UnsupportedFeatureError, match=r"time\(6\)") as caught:
        READS[what](spark, table_path)
    assert "4.1" in caught.value.next_step
    assert bayou.open(table_path).version() == 1


@pytest.mark.skipif(not HAS_TIME, reason="this Spark has no type time")
def test_times_are_read_where_spark_has_them_turned_on_and_are_spark_s_refusal_where_not(spark, table_path):
    of_type(table_path, "time(6)", pa.array([12345], pa.time64("us")))
    spark.conf.set("spark.sql.timeType.enabled", "true")
    try:
        assert spark.read.format("delta").load(table_path).selectExpr("cast(x as string)").first()[0] == "00:00:00.012345"
        spark.conf.set("spark.sql.timeType.enabled", "false")
        with pytest.raises(pyspark.errors.AnalysisException, match="TIME"):
            spark.read.format("delta").load(table_path).collect()
    finally:
        spark.conf.unset("spark.sql.timeType.enabled")


@pytest.mark.smoke
@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("kind", ["money", ArrayType("geometry(4326)"), "decimal(39,0)"], ids=str)
def test_a_type_that_no_spark_has_is_refused_by_name(spark, table_path, what, kind):
    of_type(table_path, kind, pa.array([1], pa.int64()))
    with pytest.raises(UnsupportedFeatureError, match="does not know the type") as caught:
        READS[what](spark, table_path)
    assert caught.value.error_class == "DELTA_UNSUPPORTED_DATA_TYPES"
    assert bayou.open(table_path).version() == 1


@pytest.mark.skipif(not HAS_COLLATIONS, reason="this Spark has no collations")
def test_a_collation_that_spark_does_not_know_is_refused_by_name(spark, table_path):
    schema = StructType((StructField("c", "string", metadata={"__COLLATIONS": {"c": "ICU.klingon"}}),))
    TableBuilder(table_path).create(schema).commit(file_of(table_path, "a.parquet", {"c": ["a"]}))
    with pytest.raises(UnsupportedFeatureError, match="klingon"):
        spark.read.format("delta").load(table_path)


@pytest.mark.smoke
def test_an_overwrite_takes_a_column_away_that_spark_cannot_read(spark, table_path):
    of_type(table_path, "money", pa.array([1], pa.int64()))
    spark.range(2).write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(table_path)
    assert sorted(row.id for row in spark.read.format("delta").load(table_path).collect()) == [0, 1]
