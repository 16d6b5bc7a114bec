# SPDX-License-Identifier: Apache-2.0
"""Types that the JVM knows and PySpark does not: timestamps of nanoseconds, and user-defined types without a Python class."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

import bayou
from bayou.spark.jvm.core.bridge import Jvm

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NANOSECONDS = "spark.sql.timestampNanosTypes.enabled"
KINDS = {
    "timestamp_ntz(9)": "'v' is timestamp_ntz(9)",
    "timestamp_ltz(7)": "'v' is timestamp_ltz(7)",
    "array<timestamp_ntz(9)>": "'v.element' is timestamp_ntz(9)",
    "struct<a: timestamp_ltz(9)>": "'v.a' is timestamp_ltz(9)",
    "map<string, timestamp_ntz(9)>": "'v.value' is timestamp_ntz(9)",
}


@pytest.fixture
def nanoseconds(spark):
    """The session with these types, where Spark has them; a writer asks the active one."""
    spark.conf.set(NANOSECONDS, "true")
    try:
        spark.sql("select cast(null as timestamp_ntz(9)) v")
    except PySparkException:
        pytest.skip("this Spark has no timestamps of nanoseconds")
    else:
        yield spark
    finally:
        spark.conf.unset(NANOSECONDS)


def rows(spark, kind):
    return spark.sql(f"select 1L id, cast(null as {kind}) v")


WAYS = {
    "save": lambda spark, path, kind: rows(spark, kind).write.format("delta").save(f"{path}-new"),
    "bayou.write": lambda spark, path, kind: bayou.write(rows(spark, kind), f"{path}-new"),
    "mergeSchema": lambda spark, path, kind: bayou.write(rows(spark, kind), path, mode="append", mergeSchema=True),
    "overwriteSchema": lambda spark, path, kind: bayou.write(rows(spark, kind), path, mode="overwrite", overwriteSchema=True),
    "partition": lambda spark, path, kind: rows(spark, kind).write.format("delta").partitionBy("v").save(f"{path}-new"),
    "as select": lambda spark, path, kind: spark.sql(
        f"create table delta.`{path}-new` using delta as select 1L id, cast(null as {kind}) v"
    ),
    "create": lambda spark, path, kind: spark.sql(f"create table delta.`{path}-new` (id bigint, v {kind}) using delta"),
    "add column": lambda spark, path, kind: spark.sql(f"alter table delta.`{path}` add columns (v {kind})"),
    "merge": lambda spark, path, kind: spark.sql(
        f"merge with schema evolution into delta.`{path}` t using (select 9L id, cast(null as {kind}) v) s on t.id = s.id "
        "when not matched then insert *"
    ).collect(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_timestamps_of_nanoseconds_are_refused_by_name(nanoseconds, table_path, way, kind):
    bayou.write(nanoseconds.range(3), table_path)
    with pytest.raises(PySparkException) as caught:
        WAYS[way](nanoseconds, table_path, kind)
    assert caught.value.getErrorClass() == "DELTA_UNSUPPORTED_DATA_TYPES"
    assert KINDS[kind] in str(caught.value)


TYPE = """package {package};
public class PointType extends org.apache.spark.sql.types.UserDefinedType {{
  public org.apache.spark.sql.types.DataType sqlType() {{ return org.apache.spark.sql.types.BinaryType$.MODULE$; }}
  public Object serialize(Object given) {{ return given; }}
  public Object deserialize(Object given) {{ return given; }}
  public Class userClass() {{ return byte[].class; }}
  {python}
}}
"""


def points(spark, folder: Path, python: str) -> DataFrame:
    """Rows with a column of a type that only the JVM has."""
    package, jvm = f"p{uuid.uuid4().hex[:12]}", Jvm.of(spark)
    source = folder / "PointType.java"
    source.write_text(TYPE.format(package=package, python=python))
    file = jvm.static("java.io.File")
    compiler = jvm.static("org.codehaus.janino.CompilerFactory")().newCompiler()
    compiler.setDestinationDirectory(file(str(folder)), False)
    compiler.compile(jvm.array(file, [file(str(source))]))
    jvm.loader.addURL(file(str(folder)).toURI().toURL())
    kind = jvm.construct(jvm.loader.loadClass(f"{package}.PointType"))
    struct, types = (jvm.static(f"org.apache.spark.sql.types.{name}") for name in ("StructType", "DataType"))
    schema = struct().add("id", types.fromDDL("bigint")).add("g", kind)
    plain = spark.sql("select id, cast(concat('b', id) as binary) g from range(3)")
    made = spark._jsparkSession.internalCreateDataFrame(plain._jdf.queryExecution().toRdd(), schema, False)
    return DataFrame(made, spark)


WRITES: dict[str, Callable[[DataFrame, str, str], object]] = {
    "save": lambda given, path, _name: given.write.format("delta").mode("append").save(path),
    "bayou.write": lambda given, path, _name: bayou.write(given, path, mode="append"),
    "saveAsTable": lambda given, _path, name: given.write.format("delta").mode("append").saveAsTable(name),
    "insertInto": lambda given, _path, name: given.write.insertInto(name),
    "writeTo": lambda given, _path, name: given.writeTo(name).append(),
}


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.parametrize("python", ["", 'public String pyUDT() { return "no_such_module.PointType"; }'], ids=["none", "missing"])
def test_a_user_defined_type_without_its_python_class_is_written(spark, table_path, tmp_path, name, way, python):
    given = points(spark, tmp_path, python)
    bayou.write(given, table_path)
    spark.sql(f"create table {name} using delta location '{table_path}'")
    WRITES[way](given, table_path, name)
    found = sorted((row.id, bytes(row.g)) for row in bayou.read(spark, table_path).collect())
    assert found == sorted([(0, b"b0"), (1, b"b1"), (2, b"b2")] * 2)
