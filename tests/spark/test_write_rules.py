# SPDX-License-Identifier: Apache-2.0
"""What a table asks of the rows that are written: checked and computed by the job that writes them, or nothing is left of it."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row
from tests.spark.counting import jobs

import bayou
from bayou.errors import ConstraintViolationError, InvalidSchemaError, SchemaMismatchError
from bayou.protocol.actions import Protocol
from bayou.protocol.schema import ArrayType, MapType, StructField, StructType
from bayou.testing.table_builder import TableBuilder

GENERATES = Protocol(1, 4)
IDENTITY = {"delta.identity.start": 10, "delta.identity.step": 5, "delta.identity.allowExplicitInsert": False}


def create(path, *fields, protocol=None, **configuration):
    names = {name.replace("__", "."): value for name, value in configuration.items()}
    TableBuilder(path).create(schema=StructType(fields), configuration=names, **({"protocol": protocol} if protocol else {}))


def append(frame, path, **options):
    frame.write.format("delta").mode("append").options(**options).save(path)


def read(spark, path):
    return spark.read.format("delta").load(path)


def files(path):
    return {str(file) for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts}


def refused(spark, path, frame, error=ConstraintViolationError, **options):
    """A write that is refused, and of which nothing is left."""
    before, version = files(path), bayou.open(path).version()
    with pytest.raises(error) as caught:
        append(frame, path, **options)
    assert isinstance(caught.value, PySparkException)
    assert files(path) == before
    assert bayou.open(path).version() == version
    return caught.value


@pytest.mark.smoke
def test_rows_that_break_a_check_are_counted_and_some_are_shown(spark, table_path):
    create(
        table_path,
        StructField("id", "long"),
        StructField("name", "string"),
        protocol=Protocol(1, 3),
        delta__constraints__positive="id >= 0",
        delta__constraints__short="length(name) < 4",
    )
    append(spark.range(5).selectExpr("id", "cast(id as string) name"), table_path)
    error = refused(spark, table_path, spark.range(-1000, 5).selectExpr("id", "cast(id as string) name"))
    assert error.constraint == "positive"
    assert error.num_violations == 1000
    assert 1 <= len(error.rows) <= 5
    assert all(row["id"] < 0 for row in error.rows)
    assert "CHECK constraint positive" in str(error)
    assert error.getErrorClass() == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    null = refused(spark, table_path, spark.sql("select 1L id, cast(null as string) name"))
    assert (null.constraint, null.num_violations, null.rows) == ("short", 1, [{"name": None}])
    assert read(spark, table_path).count() == 5


def test_the_check_is_part_of_the_job_that_writes(spark, table_path):
    create(table_path, StructField("id", "long"), protocol=Protocol(1, 3), delta__constraints__c="id >= 0")
    with jobs(spark) as started:
        append(spark.range(100), table_path)
    assert started.value == 1


@pytest.mark.smoke
def test_not_null_holds_for_columns_and_for_fields_of_structs(spark, table_path):
    inner = StructType((StructField("x", "long", nullable=False), StructField("y", "long")))
    create(table_path, StructField("id", "long", nullable=False), StructField("s", inner))
    append(spark.sql("select 1L id, struct(1L x, 2L y) s"), table_path)
    error = refused(spark, table_path, spark.sql("select cast(null as bigint) id, struct(1L x, 2L y) s"))
    assert error.getErrorClass() == "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"
    assert "NOT NULL constraint violated for column: id" in str(error)
    assert "s.x" in str(refused(spark, table_path, spark.sql("select 1L id, struct(cast(null as bigint) x, 2L y) s")))
    missing = refused(spark, table_path, spark.sql("select struct(1L x, 2L y) s"), SchemaMismatchError)
    assert missing.getErrorClass() == "DELTA_MISSING_NOT_NULL_COLUMN_VALUE"


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_not_null_within_a_struct_is_looked_at_whatever_the_rows_columns_say(spark, table_path, mapping):
    made = bayou.DeltaTable.create(spark).location(table_path).property("delta.columnMapping.mode", mapping)
    made.addColumn("id", "int").addColumn("s", "struct<x: int not null, y: int>").execute()
    bayou.write(spark.sql("select 1 id, from_json('{\"x\": 1}', 'x int, y int') s"), table_path, mode="append")
    for broken in ("from_json('{\"y\": 1}', 'x int, y int')", "cast(null as struct<x: int, y: int>)"):
        with pytest.raises(ConstraintViolationError, match=r"NOT NULL constraint violated for column: s\.x"):
            bayou.write(spark.sql(f"select 2 id, {broken} s"), table_path, mode="append")
    assert bayou.read(spark, table_path).select("id", "s.x").collect() == [(1, 1)]


def test_invariants_in_a_fields_metadata_hold(spark, table_path):
    create(table_path, StructField("id", "long", True, {"delta.invariants": '{"expression":{"expression":"id < 3"}}'}))
    append(spark.range(3), table_path)
    refused(spark, table_path, spark.range(4))


def test_texts_keep_to_the_length_of_their_column(spark, table_path):
    create(table_path, StructField("t", "string", True, {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}))
    append(spark.sql("select 'abc' t union all select null"), table_path)
    error = refused(spark, table_path, spark.sql("select 'abcd' t"))
    assert error.getErrorClass() == "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"


@pytest.mark.smoke
def test_generated_columns_and_defaults_are_filled_and_checked(spark, table_path):
    create(
        table_path,
        StructField("at", "timestamp"),
        StructField("day", "date", True, {"delta.generationExpression": "CAST(at AS DATE)"}),
        StructField("n", "integer", True, {"CURRENT_DEFAULT": "3 + 4"}),
        protocol=Protocol(1, 7, None, ("generatedColumns", "allowColumnDefaults")),
    )
    append(spark.sql("select timestamp'2024-01-02 03:04:05' at"), table_path)
    append(spark.sql("select date'2024-01-02' DAY, timestamp'2024-01-02 03:04:05' AT, 1 N"), table_path)
    wrong = spark.sql("select timestamp'2024-01-02 03:04:05' at, date'2024-01-03' day, 1 n")
    error = refused(spark, table_path, wrong)
    assert "Generated Column" in str(error)
    found = {(row.day, row.n) for row in read(spark, table_path).collect()}
    assert found == {(dt.date(2024, 1, 2), 7), (dt.date(2024, 1, 2), 1)}


def test_the_expressions_are_ignored_where_the_protocol_has_no_generated_columns(spark, table_path):
    create(table_path, StructField("a", "long"), StructField("b", "long", True, {"delta.generationExpression": "a + 1"}))
    append(spark.sql("select 1L a, 7L b"), table_path)
    append(spark.sql("select 1L a"), table_path)
    assert sorted(map(str, read(spark, table_path).collect())) == ["Row(a=1, b=7)", "Row(a=1, b=None)"]
    bayou.DeltaTable.forPath(spark, table_path).update("b = 7", {"a": "5"})
    assert sorted(map(str, read(spark, table_path).collect())) == ["Row(a=1, b=None)", "Row(a=5, b=7)"]


@pytest.mark.smoke
def test_identity_columns_count_on_over_writes_and_partitions(spark, table_path):
    create(table_path, StructField("k", "long", True, IDENTITY), StructField("v", "long"), protocol=Protocol(1, 6))
    for _ in range(3):
        append(spark.range(10).selectExpr("id as v").repartition(3), table_path)
    keys = [row.k for row in read(spark, table_path).collect()]
    assert len(set(keys)) == len(keys) == 30
    assert all(key >= 10 and key % 5 == 0 for key in keys)
    mark = bayou.open(table_path).snapshot().schema.field("k").metadata["delta.identity.highWaterMark"]
    assert mark == max(keys)
    error = refused(spark, table_path, spark.sql("select 1000L k, 1L v"), SchemaMismatchError)
    assert "k" in str(error)


def test_an_identity_column_that_falls(spark, table_path):
    falling = {**IDENTITY, "delta.identity.step": -1, "delta.identity.allowExplicitInsert": True}
    create(table_path, StructField("k", "long", True, falling), StructField("v", "long"), protocol=Protocol(1, 6))
    append(spark.range(4, numPartitions=2).selectExpr("id as v"), table_path)
    append(spark.sql("select 77L k, 1L v"), table_path)
    append(spark.range(1).selectExpr("id as v"), table_path)
    keys = sorted(row.k for row in read(spark, table_path).collect())
    assert keys[-1] == 77
    assert len(set(keys)) == 6
    assert max(keys[:-1]) == 10


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_are_written_under_their_physical_names_with_ids(spark, table_path, mode):
    rows = spark.sql("select 1 a, 'z' `b c`, struct(1 as `x y`) s, array(struct(2 as q)) l, 'p 1' p")
    rows.write.format("delta").partitionBy("p").option("delta.columnMapping.mode", mode).save(table_path)
    append(spark.sql("select 2 A, 'z2' `B c`, struct(2 as `X y`) s, array(struct(3 as Q)) l, 'p2' p"), table_path)
    snapshot = bayou.open(table_path).snapshot()
    assert snapshot.protocol == Protocol(2, 7, None, ("appendOnly", "invariants", "columnMapping"))
    assert snapshot.properties["delta.columnMapping.maxColumnId"] == "7"
    physical = snapshot.schema.field("p").physical_name
    assert physical.startswith("col-")
    assert sorted(
        value for values in snapshot.files(["partition_values"])["partition_values"].to_pylist() for _, value in values
    ) == [
        "p 1",
        "p2",
    ]
    found = read(spark, table_path).where("p = 'p2'").select("a", "b c", "s.x y", "l").collect()
    assert [tuple(row) for row in found] == [(2, "z2", 2, [Row(q=3)])]
    assert read(spark, table_path).where("a = 1").count() == 1


def test_rows_get_ids_and_versions_where_the_table_tracks_them(spark, table_path):
    spark.range(10).coalesce(1).write.format("delta").option("delta.enableRowTracking", "true").save(table_path)
    append(spark.range(6).coalesce(1), table_path)
    found = bayou.open(table_path).snapshot().files(["base_row_id", "default_row_commit_version"]).to_pylist()
    assert {(each["base_row_id"], each["default_row_commit_version"]) for each in found} == {(0, 0), (10, 1)}


EVIL = {
    "reflect": "reflect('java.lang.System', 'getProperty', 'user.home') IS NOT NULL",
    "java_method": "java_method('java.lang.System', 'lineSeparator') IS NOT NULL",
    "a subquery": "(SELECT count(*) FROM range(3)) > 0",
    "an unknown function": "my_function(id) > 0",
    "a function of the catalog": "spark_catalog.default.f(id) > 0",
    "the file's name": "input_file_name() = ''",
    "a window": "sum(id) OVER () > 0",
    "a computed name of a function": "IDENTIFIER('re' || 'flect')('java.lang.System', 'getProperty', 'user.home') IS NOT NULL",
    "a computed name of a column": "IDENTIFIER('id') > 0",
    "the user": "current_user = 'root'",
    "no SQL": "id >",
}


@pytest.mark.parametrize("what", EVIL)
def test_expressions_that_do_more_than_compute_are_not_run(spark, table_path, what):
    create(table_path, StructField("id", "long"), protocol=Protocol(1, 3), delta__constraints__c=EVIL[what])
    error = refused(spark, table_path, spark.range(3), InvalidSchemaError)
    assert EVIL[what] in str(error)


EVIL_VALUES = (
    "reflect('java.lang.System', 'getProperty', 'user.home')",
    "IDENTIFIER('re' || 'flect')('java.lang.System', 'getProperty', 'user.home')",
    "version()",
    "(SELECT max(id) FROM range(3))",
)


@pytest.mark.parametrize("evil", EVIL_VALUES)
def test_generated_columns_of_others_that_do_more_than_compute_are_not_run(spark, table_path, evil):
    generated = StructField("b", "string", metadata={"delta.generationExpression": evil})
    create(table_path, StructField("a", "long"), generated, protocol=GENERATES)
    error = refused(spark, table_path, spark.range(3).toDF("a"), InvalidSchemaError)
    assert evil in str(error)


@pytest.mark.parametrize("evil", EVIL_VALUES)
@pytest.mark.parametrize("how", ["save", "insert", "default", "by name", "merge", "update"])
def test_defaults_of_others_that_do_more_than_compute_are_not_run(spark, table_path, evil, how):
    with_default = StructField("b", "string", metadata={"CURRENT_DEFAULT": evil})
    protocol = Protocol(1, 7, writer_features=("allowColumnDefaults", "appendOnly"))
    create(table_path, StructField("a", "long"), with_default, protocol=protocol)
    append(spark.sql("select 1L a, 'x' b"), table_path)
    before, name = files(table_path), f"delta.`{table_path}`"
    table = bayou.DeltaTable.forPath(spark, table_path)
    statements = {
        "save": lambda: append(spark.range(3).toDF("a"), table_path),
        "insert": lambda: spark.sql(f"insert into {name} (a) values (2)"),
        "default": lambda: spark.sql(f"insert into {name} values (2, default)"),
        "by name": lambda: spark.sql(f"insert into {name} by name select 2L a"),
        "merge": lambda: (
            table.alias("t").merge(spark.range(9).alias("s"), "t.a = s.id").whenNotMatchedInsert(values={"a": "s.id"}).execute()
        ),
        "update": lambda: spark.sql(f"update {name} set b = default"),
    }
    with pytest.raises(PySparkException) as caught:
        statements[how]()
    assert evil.replace("'", "").replace(" ", "") in str(caught.value).replace("'", "").replace(" ", "")
    assert files(table_path) == before
    assert [tuple(each) for each in spark.sql(f"select * from {name}").collect()] == [(1, "x")]
    spark.sql(f"insert into {name} values (2, 'y')")
    assert read(spark, table_path).count() == 2


def test_nested_columns_come_in_any_order_and_case_and_may_lack_fields(spark, table_path):
    inner = StructType((StructField("a", "long"), StructField("b", "string")))
    create(
        table_path,
        StructField("s", inner),
        StructField("l", ArrayType(inner)),
        StructField("m", MapType("string", inner)),
    )
    rows = "select struct('x' as B, 1L as A) S, array(struct(2L as a)) L, map('k', struct('y' as b)) M"
    append(spark.sql(rows), table_path)
    append(spark.sql("select cast(null as struct<b:string,a:bigint>) s"), table_path)
    assert read(spark, table_path).where("s is not null").collect() == [
        Row(s=Row(a=1, b="x"), l=[Row(a=2, b=None)], m={"k": Row(a=None, b="y")})
    ]
    assert read(spark, table_path).where("s is null and l is null and m is null").count() == 1


@pytest.mark.smoke
def test_a_schema_grows_by_merging(spark, table_path):
    spark.range(2).write.format("delta").save(table_path)
    refused(spark, table_path, spark.sql("select 7L id, 'x' b"), SchemaMismatchError)
    append(spark.sql("select 7L id, 'x' b, struct(1 as u) s"), table_path, mergeSchema="true")
    append(spark.sql("select struct(2 as U, 3 as v) S, 8L id"), table_path, mergeSchema="true")
    found = read(spark, table_path).orderBy("id").collect()
    assert [tuple(row) for row in found] == [
        (0, None, None),
        (1, None, None),
        (7, "x", Row(u=1, v=None)),
        (8, None, Row(u=2, v=3)),
    ]
    assert bayou.open(table_path).snapshot().schema.names == ("id", "b", "s")


def test_the_sessions_setting_merges_too_and_the_option_beats_it(spark, table_path):
    spark.range(2).write.format("delta").save(table_path)
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    try:
        append(spark.sql("select 1L id, 1 a"), table_path)
        refused(spark, table_path, spark.sql("select 1L id, 1 b"), SchemaMismatchError, mergeSchema="false")
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert read(spark, table_path).columns == ["id", "a"]


def test_types_are_widened_where_the_table_allows_it(spark, table_path):
    spark.sql("select 1 a, cast(1 as float) f").write.format("delta").option("delta.enableTypeWidening", "true").save(table_path)
    append(spark.sql("select 5000000000L a, 2.5D f"), table_path, mergeSchema="true")
    assert sorted(tuple(row) for row in read(spark, table_path).collect()) == [(1, 1.0), (5000000000, 2.5)]
    assert bayou.open(table_path).snapshot().schema.field("a").metadata["delta.typeChanges"] == [
        {"fromType": "integer", "toType": "long"}
    ]


def test_an_overwrite_replaces_the_schema_and_the_partitions_where_it_is_told_to(spark, table_path):
    spark.range(3).write.format("delta").option("delta.appendOnly", "false").save(table_path)
    rows = spark.sql("select 'x' b, 1 p")
    with pytest.raises(SchemaMismatchError, match="overwriteSchema"):
        rows.write.format("delta").mode("overwrite").save(table_path)
    before = bayou.open(table_path).snapshot()
    rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").partitionBy("p").save(table_path)
    after = bayou.open(table_path).snapshot()
    assert after.schema.names == ("b", "p")
    assert after.partition_columns == ("p",)
    assert after.metadata.id == before.metadata.id
    assert after.properties == before.properties
    assert [tuple(row) for row in read(spark, table_path).collect()] == [("x", 1)]


def test_a_small_integer_goes_into_a_wider_column_and_others_do_not(spark, table_path):
    spark.sql("select 1 i, 1L l").write.format("delta").save(table_path)
    append(spark.sql("select 1Y i, 1L l"), table_path)
    refused(spark, table_path, spark.sql("select 1L i, 1L l"), SchemaMismatchError)
    refused(spark, table_path, spark.sql("select 1 i, 1 l"), SchemaMismatchError)
    assert read(spark, table_path).schema.simpleString() == "struct<i:int,l:bigint>"


def test_properties_of_the_session_are_defaults_of_new_tables(spark, table_path):
    spark.conf.set("spark.databricks.delta.properties.defaults.enableChangeDataFeed", "true")
    try:
        spark.range(1).write.format("delta").save(table_path)
    finally:
        spark.conf.unset("spark.databricks.delta.properties.defaults.enableChangeDataFeed")
    snapshot = bayou.open(table_path).snapshot()
    assert snapshot.properties == {"delta.enableChangeDataFeed": "true"}
    assert snapshot.protocol == Protocol(1, 7, None, ("appendOnly", "invariants", "changeDataFeed"))
    append(spark.range(2), table_path)
    assert read(spark, table_path).count() == 3


def test_two_writers_of_an_identity_column_never_give_a_number_twice(spark, table_path, monkeypatch):
    from bayou.errors import MetadataChangedException
    from bayou.log.transaction import Transaction

    create(table_path, StructField("k", "long", True, IDENTITY), StructField("v", "long"), protocol=Protocol(1, 6))
    original = Transaction.try_commit
    raced = []

    def race(self, *arguments, **options):
        if not raced:
            raced.append(True)
            append(spark.range(5).selectExpr("id as v"), table_path)
        return original(self, *arguments, **options)

    monkeypatch.setattr(Transaction, "try_commit", race)
    with pytest.raises(MetadataChangedException):
        append(spark.range(5).selectExpr("id as v"), table_path)
    keys = [row.k for row in read(spark, table_path).collect()]
    assert len(keys) == len(set(keys)) == 5
    assert len(files(table_path)) == bayou.open(table_path).snapshot().num_files


def test_a_constraint_added_by_another_writer_stops_rows_that_were_not_checked(spark, table_path, monkeypatch):
    from bayou.errors import MetadataChangedException
    from bayou.log.transaction import Transaction

    spark.range(1).write.format("delta").save(table_path)
    original = Transaction.try_commit

    def race(self, *arguments, **options):
        monkeypatch.setattr(Transaction, "try_commit", original)
        with bayou.open(table_path).transaction("ADD CONSTRAINT") as other:
            metadata = replace(other.snapshot.metadata, configuration={"delta.constraints.c": "id < 0"})
            other.commit([Protocol(1, 3), metadata])
        return original(self, *arguments, **options)

    monkeypatch.setattr(Transaction, "try_commit", race)
    with pytest.raises(MetadataChangedException):
        append(spark.range(5), table_path)
    assert read(spark, table_path).count() == 1


OPERATORS = (
    "id BETWEEN 0 AND 9",
    "id NOT BETWEEN 20 AND 30",
    "id IN (0, 1, 2, 3)",
    "name LIKE 'n%' OR name RLIKE '^n'",
    "name || 'x' = concat(name, 'x')",
    "CASE WHEN id > 1 THEN name IS NOT NULL ELSE true END",
    "id % 2 IN (0, 1) AND NOT id < 0 AND ~id < 0",
    "CAST(id AS STRING) <=> string(id)",
    "extract(YEAR FROM at) = 2024",
    "at < timestamp'2025-01-01' + INTERVAL 1 DAY",
    "substring(name FROM 1 FOR 1) = 'n' AND trim(BOTH ' ' FROM name) = name",
    "exists(array(id, 1), x -> x >= 0)",
    "s.x = id",
)


def test_conditions_of_every_operator_are_checked(spark, table_path):
    rules = {f"delta__constraints__c{number}": text for number, text in enumerate(OPERATORS)}
    create(
        table_path,
        StructField("id", "long"),
        StructField("name", "string"),
        StructField("at", "timestamp"),
        StructField("s", StructType((StructField("x", "long"),))),
        protocol=Protocol(1, 3),
        **rules,
    )
    append(
        spark.range(4).selectExpr("id", "concat('n', id) name", "timestamp'2024-02-03 04:05:06' at", "struct(id as x) s"),
        table_path,
    )
    assert read(spark, table_path).count() == 4
    refused(spark, table_path, spark.sql("select 1L id, 'n' name, timestamp'2023-02-03' at, struct(1L as x) s"))


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_a_void_field_of_a_struct_is_in_no_file_and_null_when_it_is_read(spark, table_path, mode):
    rows = spark.sql("select 1 id, struct(1 as a, null as v, struct(null as w, 'x' as b) as t) s")
    rows.write.format("delta").option("delta.columnMapping.mode", mode).save(table_path)
    append(spark.sql("select 2 id, struct(struct('y' as b) as t, 2 as a) s union all select 3, null"), table_path)
    found = read(spark, table_path)
    kinds = dict(found.dtypes)
    assert kinds["s"] == "struct<a:int,v:void,t:struct<w:void,b:string>>"
    by_id = {row.id: row.s for row in found.collect()}
    assert [by_id[1].a, by_id[1].v, by_id[1].t.w, by_id[1].t.b] == [1, None, None, "x"]
    assert [by_id[2].a, by_id[2].v, by_id[2].t.b, by_id[3]] == [2, None, "y", None]
    assert found.where("s.t.b = 'y'").select("id", "s.a", "s.v").collect() == [(2, 2, None)]
    (file, *_) = (each for each in Path(table_path).rglob("*.parquet") if "_delta_log" not in each.parts)
    assert len(pq.read_metadata(file).schema.names) == 3
    append(spark.sql("select 4 id, struct(4 as a, 4.5D as v) s"), table_path, mergeSchema="true")
    assert {row.id: row.v for row in read(spark, table_path).select("id", "s.v").collect()} == {1: None, 2: None, 3: None, 4: 4.5}


def test_a_void_field_beside_one_of_a_wider_type_is_read_from_files_of_both_kinds(spark, table_path):
    rows = spark.sql("select struct(1 as a, null as v) s")
    rows.write.format("delta").option("delta.enableTypeWidening", "true").save(table_path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.changeColumn("s.a", dataType="decimal(12,2)")
    append(spark.sql("select struct(cast(2.5 as decimal(12,2)) as a) s"), table_path)
    assert sorted(float(row.s.a) for row in read(spark, table_path).collect()) == [1.0, 2.5]
    assert {row.s.v for row in read(spark, table_path).collect()} == {None}


def test_merging_brings_the_partition_columns_too(spark, table_path):
    spark.sql("select 1 a, 2 p").write.format("delta").partitionBy("p").save(table_path)
    refused(spark, table_path, spark.sql("select 1 a, 3 b"), SchemaMismatchError, mergeSchema="true")


def test_a_column_under_a_rule_is_not_widened_by_merging(spark, table_path):
    create(
        table_path,
        StructField("a", "integer"),
        protocol=Protocol(3, 7, ("typeWidening",), ("typeWidening", "checkConstraints", "invariants", "appendOnly")),
        delta__enableTypeWidening="true",
        delta__constraints__c="a > 0",
    )
    error = refused(spark, table_path, spark.sql("select 5000000000L a"), SchemaMismatchError, mergeSchema="true")
    assert error.getErrorClass() == "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH"


def test_a_generated_column_keeps_the_type_of_its_expression(spark, table_path):
    create(
        table_path,
        StructField("a", "integer"),
        StructField("g", "integer", True, {"delta.generationExpression": "a + 1"}),
        protocol=Protocol(3, 7, ("typeWidening",), ("typeWidening", "generatedColumns", "invariants", "appendOnly")),
        delta__enableTypeWidening="true",
    )
    wider = spark.sql("select 1 a, 2L g")
    error = refused(spark, table_path, wider, InvalidSchemaError, mergeSchema="true")
    assert error.getErrorClass() == "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH"
    merge = bayou.DeltaTable.forPath(spark, table_path).merge(wider, "false").withSchemaEvolution().whenNotMatchedInsertAll()
    with pytest.raises(InvalidSchemaError, match="generated column g is integer, but the column type is long"):
        merge.execute()
    spark.sql("select 1 a").write.format("delta").mode("append").save(table_path)
    assert [tuple(row) for row in read(spark, table_path).collect()] == [(1, 2)]


def test_a_column_beside_rules_is_widened(spark, table_path):
    create(
        table_path,
        StructField("a", "integer"),
        StructField("b", "integer", nullable=False),
        StructField("s", StructType((StructField("x", "short"),))),
        protocol=Protocol(3, 7, ("typeWidening",), ("typeWidening", "checkConstraints", "invariants", "appendOnly")),
        delta__enableTypeWidening="true",
        delta__constraints__c="a > 0",
    )
    rows = "select 1 a, 5000000000L b, struct(70000 as x, 'new' as y) s"
    append(spark.sql(rows), table_path, mergeSchema="true")
    assert [f.simpleString() for f in read(spark, table_path).schema] == ["a:int", "b:bigint", "s:struct<x:int,y:string>"]
    source = spark.sql("select 5000000000L a, 1 b").alias("s")
    merge = bayou.DeltaTable.forPath(spark, table_path).alias("t").merge(source, "t.b = s.b").withSchemaEvolution()
    with pytest.raises(SchemaMismatchError, match="altered to another data type"):
        merge.whenNotMatchedInsertAll().execute()


def test_fields_with_odd_names_are_brought_to_their_places(spark, table_path):
    names = ["it's", "a\\b", "x-y", "größe", 'q"q', "`t", "a.b"]
    inner = StructType(tuple(StructField(name, "long") for name in names))
    create(table_path, StructField("s", StructType((StructField("in-ner", inner), StructField("z", "long")))))
    fields = ", ".join(f"{number}L as `{name.replace('`', '``')}`" for number, name in reversed(list(enumerate(names))))
    append(spark.range(1).selectExpr(f"struct(1L as z, struct({fields}) as `in-ner`) as s"), table_path)
    (row,) = read(spark, table_path).collect()
    assert list(row.s["in-ner"]) == list(range(len(names)))


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_rows_that_turn_out_to_be_none_break_no_rule(spark, table_path, mode):
    table = f"delta.`{table_path}`"
    spark.sql(f"create table {table} (id int, v int, p string) using delta partitioned by (p)")
    bayou.DeltaTable.forPath(spark, table_path).addConstraint("c", "v > 0")
    spark.sql(f"insert into {table} values (1, 1, 'a'), (2, 2, 'b')")
    # Spark sees that there are none only when it has shuffled them, and leaves all that was to be done with them out of the plan.
    none = spark.sql(f"select id, max(v) v, p from {table} where v + id > 50 group by id, p")
    options = {"optimizeWrite": "true", **({} if mode == "append" else {"replaceWhere": "p = 'c'"})}
    none.write.format("delta").mode(mode).options(**options).save(table_path)
    source = spark.createDataFrame([(1, 1, "a"), (2, 2, "b")], "id int, v int, p string")
    merge = bayou.DeltaTable.forPath(spark, table_path).alias("t").merge(source.alias("s"), "t.id = s.id and t.p = s.p")
    merge.whenMatchedUpdateAll("t.v <> s.v").whenNotMatchedInsertAll("s.v > 100").execute()
    assert sorted(row.id for row in read(spark, table_path).collect()) == [1, 2]


EMPTY = {
    "save": lambda rows, path: rows.write.format("delta").mode("append").save(path),
    "append by name": lambda rows, path: rows.writeTo(f"delta.`{path}`").append(),
    "insertInto": lambda rows, path: rows.write.insertInto(f"delta.`{path}`"),
    "update": lambda rows, path: rows.sparkSession.sql(f"update delta.`{path}` set p = {rows.first()['empty']}"),
}


@pytest.mark.parametrize("how", EMPTY)
@pytest.mark.parametrize(("kind", "empty"), [("string", "''"), ("varchar(3)", "''"), ("binary", "X''")])
@pytest.mark.parametrize("rule", ["not null", "check (length(p) < 5)"])
def test_the_empty_text_of_a_partition_column_is_null_to_the_rules_as_it_is_to_readers(spark, table_path, how, kind, empty, rule):
    declared = "not null" if rule == "not null" else ""
    spark.sql(f"create table delta.`{table_path}` (id long, p {kind} {declared}) using delta partitioned by (p)")
    if not declared:
        spark.sql(f"alter table delta.`{table_path}` add constraint short {rule}")
    spark.sql(f"insert into delta.`{table_path}` values (1, {empty.replace(chr(39) * 2, chr(39) + '41' + chr(39))})")
    before = files(table_path)
    rows = spark.sql(f"select 2L id, {empty} p") if how != "update" else spark.sql(f"""select "{empty}" empty""")
    with pytest.raises(ConstraintViolationError):
        EMPTY[how](rows, table_path)
    assert files(table_path) == before


def test_rules_are_parsed_one_by_one(spark, table_path):
    """Behind the word `array` of one rule Spark takes `>>` of another for the end of a type."""
    spark.sql(f"CREATE TABLE delta.`{table_path}` (id INT, v STRING) USING delta")
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.addConstraint("known", "array_contains(array('a', 'b'), v)")
    table.addConstraint("shifted", "id >> 1 >= 0")
    spark.sql(f"INSERT INTO delta.`{table_path}` VALUES (4, 'a')")
    table.update("id >> 2 = 1", {"v": "'b'"})
    for row, rule in (("(-4, 'a')", "shifted"), ("(4, 'c')", "known")):
        with pytest.raises(ConstraintViolationError) as caught:
            spark.sql(f"INSERT INTO delta.`{table_path}` VALUES {row}")
        assert caught.value.constraint == rule
    assert [tuple(row) for row in table.toDF().collect()] == [(4, "b")]
