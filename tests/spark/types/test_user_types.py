# SPDX-License-Identifier: Apache-2.0
"""Columns of user-defined types, such as the vectors of Spark's machine learning: the table says what they are."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

import pytest
from pyspark.ml.linalg import DenseVector, SparseVector, VectorUDT
from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType, UserDefinedType
from tests.support.tables.queried import FILES, VECTORS

import bayou
from bayou.errors import ConstraintViolationError, SchemaMismatchError

SCHEMA = StructType([StructField("id", LongType()), StructField("features", VectorUDT())])
ONE, TWO = DenseVector([1.0, 2.0]), SparseVector(3, {1: 4.0})


def make(spark, path, **properties):
    bayou.write(spark.createDataFrame([(1, ONE), (2, TWO)], SCHEMA), path, **properties)
    return bayou.DeltaTable.forPath(spark, path).alias("t")


def rows(spark, path):
    return sorted((row.id, row.features) for row in bayou.read(spark, path).collect())


def stored_type(path):
    log = sorted(Path(path, "_delta_log").glob("*.json"))
    actions = [json.loads(line) for file in log for line in file.read_text().splitlines()]
    *_, schema = [json.loads(each["metaData"]["schemaString"]) for each in actions if "metaData" in each]
    return next(field["type"] for field in schema["fields"] if field["name"] == "features")


def test_the_log_says_which_type_it_is_and_reads_give_it_back(spark, table_path):
    make(spark, table_path)
    assert stored_type(table_path) == VectorUDT().jsonValue()
    assert bayou.read(spark, table_path).schema["features"].dataType == VectorUDT()
    assert rows(spark, table_path) == [(1, ONE), (2, TWO)]
    with_source = spark.read.format("delta").load(table_path)
    assert with_source.where("id = 2").first().features == TWO


@pytest.mark.parametrize("way", [FILES, VECTORS], ids=["files", "vectors"])
@pytest.mark.parametrize("feeds", ["false", "true"])
def test_rows_change_and_keep_it(spark, table_path, way, feeds):
    table = make(spark, table_path, **way, **{"delta.enableChangeDataFeed": feeds})
    bayou.write(spark.createDataFrame([(3, ONE)], SCHEMA), table_path, mode="append")
    table.update("id = 1", {"id": "10"})
    table.delete("id = 2")
    news = spark.createDataFrame([(3, TWO), (4, ONE)], SCHEMA).alias("s")
    table.merge(news, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(spark, table_path) == [(3, TWO), (4, ONE), (10, ONE)]
    assert bayou.read(spark, table_path).schema["features"].dataType == VectorUDT()
    if feeds == "true":
        changes = bayou.read(spark, table_path, changes=(1, 4)).where("_change_type = 'update_preimage'")
        assert sorted((row.id, row.features) for row in changes.collect()) == [(1, ONE), (3, ONE)]


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_another_schema_says_it_still(spark, table_path, mapping):
    table = make(spark, table_path, **{"delta.columnMapping.mode": mapping})
    described = stored_type(table_path)
    table.addColumns([StructField("more", IntegerType())])
    wider = StructType([*SCHEMA.fields, StructField("more", IntegerType()), StructField("last", IntegerType())])
    bayou.write(spark.createDataFrame([(3, TWO, 1, 1)], wider), table_path, mode="append", mergeSchema=True)
    assert stored_type(table_path) == described == VectorUDT().jsonValue()
    assert rows(spark, table_path) == [(1, ONE), (2, TWO), (3, TWO)]


def test_a_merge_brings_one_along(spark, table_path):
    bayou.write(spark.range(1, 3), table_path)
    news = spark.createDataFrame([(2, TWO), (3, ONE)], SCHEMA).alias("s")
    table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
    table.merge(news, "t.id = s.id").withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(spark, table_path) == [(1, None), (2, TWO), (3, ONE)]
    assert stored_type(table_path) == VectorUDT().jsonValue()


def test_it_may_be_within_others(spark, table_path):
    nested = StructType(
        [StructField("all", ArrayType(VectorUDT())), StructField("one", StructType([StructField("v", VectorUDT())]))]
    )
    bayou.write(spark.createDataFrame([([ONE, TWO], (TWO,))], nested), table_path)
    found = bayou.read(spark, table_path)
    assert found.schema == nested
    assert found.first()["all"] == [ONE, TWO]
    assert found.select("one.v").first().v == TWO


def test_a_value_of_another_type_is_refused(spark, table_path):
    make(spark, table_path)
    with pytest.raises(SchemaMismatchError):
        bayou.write(spark.sql("select 3L id, 'x' features"), table_path, mode="append")
    assert bayou.open(table_path).version() == 0


def test_a_stream_hands_it_on(spark, table_path, tmp_path):
    make(spark, table_path)
    target = str(tmp_path / "target")
    stream = spark.readStream.format("delta").load(table_path).writeStream.format("delta")
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start(target)
    query.awaitTermination()
    assert rows(spark, target) == [(1, ONE), (2, TWO)]
    assert stored_type(target) == VectorUDT().jsonValue()


def test_a_table_with_a_name_has_it(spark, name):
    spark.createDataFrame([(1, ONE)], SCHEMA).write.format("delta").saveAsTable(name)
    spark.createDataFrame([(2, TWO)], SCHEMA).write.insertInto(name)
    spark.createDataFrame([(3, TWO)], SCHEMA).write.format("delta").mode("append").saveAsTable(name)
    assert spark.table(name).schema["features"].dataType == VectorUDT()
    assert {row.features for row in spark.table(name).collect()} == {ONE, TWO}


def merge(spark, path):
    table = bayou.DeltaTable.forPath(spark, path).alias("t")
    return table.merge(spark.sql("select 1L id, 5 more union all select 9, 6").alias("s"), "t.id = s.id")


def columns(spark, path):
    """The table's columns in another order, as a reader has them."""
    return StructType(list(reversed(bayou.read(spark, path).schema.fields)))


def streamed(spark, path):
    target = f"{path}_{uuid.uuid4().hex}"
    writer = spark.readStream.format("delta").load(path).writeStream.format("delta")
    query = writer.option("checkpointLocation", f"{target}_checkpoint").trigger(availableNow=True).start(target)
    query.awaitTermination()
    bayou.read(spark, target).collect()


def table_at(spark, path):
    return bayou.DeltaTable.forPath(spark, path)


WHAT_LOOKS_AT_TYPES = {
    "read": lambda spark, path: bayou.read(spark, path).collect(),
    "filter": lambda spark, path: spark.read.format("delta").load(path).where("features is not null and id = 1").collect(),
    "version": lambda spark, path: bayou.read(spark, path, version=0).collect(),
    "update": lambda spark, path: table_at(spark, path).update("id = 1", {"id": "id + 10"}),
    "delete": lambda spark, path: table_at(spark, path).delete("id = 1"),
    "append": lambda spark, path: bayou.write(spark.range(5, 7), path, mode="append"),
    "insert": lambda spark, path: spark.sql(f"insert into delta.`{path}` (id) values (8)"),
    "replaceWhere": lambda spark, path: bayou.write(spark.range(1, 2), path, mode="overwrite", replaceWhere="id < 2"),
    "replaceUsing": lambda spark, path: bayou.write(spark.range(1, 2), path, mode="overwrite", replaceUsing="id"),
    "merge": lambda spark, path: (
        merge(spark, path).whenMatchedUpdate(set={"id": "s.id"}).whenNotMatchedInsert(values={"id": "s.id"}).execute()
    ),
    "evolving merge": lambda spark, path: (
        merge(spark, path).withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    ),
    "changes": lambda spark, path: bayou.read(spark, path, changes=(0, None)).collect(),
    "constraint": lambda spark, path: table_at(spark, path).addConstraint("c", "id > -100"),
    "new column": lambda spark, path: table_at(spark, path).addColumns([StructField("added", IntegerType())]),
    "columns": lambda spark, path: table_at(spark, path).replaceColumns(columns(spark, path)),
    "description": lambda spark, path: spark.sql(f"describe delta.`{path}`").collect(),
    "stream": streamed,
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("mapping", ["none", "name"])
@pytest.mark.parametrize("what", WHAT_LOOKS_AT_TYPES)
def test_everything_works_beside_it(spark, table_path, what, mapping):
    make(spark, table_path, **{"delta.columnMapping.mode": mapping, "delta.enableChangeDataFeed": "true"})
    described = stored_type(table_path)
    WHAT_LOOKS_AT_TYPES[what](spark, table_path)
    assert stored_type(table_path) == described
    assert bayou.read(spark, table_path).schema["features"].dataType == VectorUDT()
    assert {row.features for row in bayou.read(spark, table_path).collect()} >= {TWO}


FOREIGN = {"type": "udt", "class": "nowhere.JavaType", "pyClass": "bayou_test_foreign.Type", "serializedClass": "gAWVAAAAAAA="}


def described(name, kind="integer"):
    """A type that the log describes; values are structs."""
    field = {"name": "x", "type": kind, "nullable": True, "metadata": {}}
    return {**FOREIGN, "pyClass": name, "sqlType": {"type": "struct", "fields": [field]}}


def say(path, kind):
    """Has a table's log say another type of its column."""
    commit = Path(path, "_delta_log", "00000000000000000000.json")
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"][1]["type"] = kind
            action["metaData"]["schemaString"] = json.dumps(schema)
    commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    for checksum in commit.parent.glob("*.crc"):
        checksum.unlink()


@pytest.fixture
def foreign(spark, table_path, tmp_path, monkeypatch):
    """A table with a type whose Python module leaves a mark when it is imported, and the mark's path."""
    rows = spark.sql("select 1L id, named_struct('x', 1) features union all select 2, named_struct('x', 2)")
    bayou.write(rows, table_path, **{"delta.enableChangeDataFeed": "true"})
    say(table_path, described("bayou_test_foreign.Type"))
    mark = tmp_path / "imported"
    module = tmp_path / "modules" / "bayou_test_foreign.py"
    module.parent.mkdir()
    module.write_text(f"open({str(mark)!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(str(module.parent))
    return table_path, mark


@pytest.mark.parametrize("what", WHAT_LOOKS_AT_TYPES)
def test_a_type_that_the_program_does_not_know_is_what_it_is_stored_as_and_no_code_of_the_log_runs(spark, foreign, what):
    path, mark = foreign
    before = stored_type(path)
    WHAT_LOOKS_AT_TYPES[what](spark, path)
    found = bayou.read(spark, path)
    assert found.schema["features"].dataType == StructType([StructField("x", IntegerType())])
    assert {row.features.x for row in found.collect() if row.features} >= {2}
    assert stored_type(path) == before
    assert not mark.exists()


@pytest.mark.parametrize(
    "name",
    [
        "pyspark.sql.types.UserDefinedType",
        "pyspark.sql.types.PythonOnlyUDT",
        "pyspark.sql.functions.col",
        "tests.spark.types.test_user_types.WantsArguments",
        "numpy.f2py.Type",
        "numpy.f2py",
    ],
)
def test_a_class_that_is_no_such_type_is_not_used(spark, foreign, name):
    path, _ = foreign
    say(path, described(name))
    sys.modules.pop("numpy.f2py", None)
    assert {row.features.x for row in bayou.read(spark, path).collect()} == {1, 2}
    assert "numpy.f2py" not in sys.modules


class WantsArguments(UserDefinedType):
    def __init__(self, argument):
        self.argument = argument


def test_a_type_within_a_type_is_what_it_is_stored_as(spark, foreign):
    path, mark = foreign
    inner = {**described("bayou_test_foreign.Type"), "sqlType": {**described("bayou_test_foreign.Type"), "sqlType": "integer"}}
    say(path, described("bayou_test_foreign.Type", inner))
    assert {row.features.x for row in spark.read.format("delta").load(path).collect()} == {1, 2}
    assert spark.sql(f"describe delta.`{path}`").count() == 2
    streamed(spark, path)
    assert not mark.exists()


def test_an_overwrite_of_the_schema_takes_the_type_of_the_rows(spark, foreign):
    path, _ = foreign
    rows = spark.sql("select 5L id, named_struct('x', 5) features")
    bayou.write(rows, path, mode="overwrite", overwriteSchema=True)
    assert stored_type(path)["type"] == "struct"


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_a_field_beside_it_may_not_be_null(spark, table_path, mapping):
    inner = StructType([StructField("x", IntegerType(), nullable=False), StructField("v", VectorUDT())])
    table = bayou.DeltaTable.create(spark).location(table_path).property("delta.columnMapping.mode", mapping)
    table.addColumn("s", inner).addColumn("b", "int").execute()
    free = StructType([StructField("x", IntegerType()), StructField("v", VectorUDT())])
    bayou.write(spark.createDataFrame([((1, ONE),)], StructType([StructField("s", free)])), table_path, mode="append")
    assert bayou.read(spark, table_path).first()["s"] == (1, ONE)
    with pytest.raises(ConstraintViolationError):
        bayou.write(spark.createDataFrame([((None, ONE),)], StructType([StructField("s", free)])), table_path, mode="append")
