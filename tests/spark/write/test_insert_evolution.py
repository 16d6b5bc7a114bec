# SPDX-License-Identifier: Apache-2.0
"""INSERT of rows that have more than the table: refused, or the table gets it, where the session or the writer says so."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.errors import AnalysisException

import bayou
from bayou.errors import DeltaError, InvalidSchemaError, SchemaMismatchError

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


@pytest.fixture
def merging(spark):
    """A session whose writes may change the schema."""
    spark.conf.set(AUTO_MERGE, "true")
    yield spark
    spark.conf.unset(AUTO_MERGE)


def made(spark, name, columns="id bigint, name string", more=""):
    spark.sql(f"CREATE TABLE {name} ({columns}) USING delta {more}")


def found(spark, name):
    frame = spark.table(name)
    return frame.schema.simpleString().removeprefix("struct<").removesuffix(">"), sorted(map(tuple, frame.collect()), key=str)


STATEMENTS = {
    "INSERT INTO {t} SELECT 1L, 'a', 5 AS more": ("id:bigint,name:string,more:int", [(1, "a", 5)]),
    "INSERT INTO {t} VALUES (1, 'a', 9)": ("id:bigint,name:string,col3:int", [(1, "a", 9)]),
    "INSERT INTO {t} BY NAME SELECT 'a' name, 1L ID, 5 AS more": ("id:bigint,name:string,more:int", [(1, "a", 5)]),
    "INSERT INTO {t} BY NAME SELECT 1L id, 5 AS more": ("id:bigint,name:string,more:int", [(1, None, 5)]),
    "INSERT OVERWRITE {t} SELECT 1L, 'a', 6 AS extra": ("id:bigint,name:string,extra:int", [(1, "a", 6)]),
    "INSERT INTO {t} REPLACE WHERE id = 1 SELECT 1L, 'a', 9 AS z": ("id:bigint,name:string,z:int", [(1, "a", 9)]),
}


@pytest.mark.smoke
@pytest.mark.parametrize("statement", STATEMENTS)
def test_columns_that_the_table_lacks_are_refused_or_added(spark, name, statement):
    made(spark, name)
    if "BY NAME" in statement and spark.version.startswith("3.4"):
        pytest.skip("no BY NAME")
    with pytest.raises(SchemaMismatchError) as caught:
        spark.sql(statement.format(t=name))
    assert caught.value.getErrorClass() == "DELTA_METADATA_MISMATCH"
    assert found(spark, name) == ("id:bigint,name:string", [])
    spark.conf.set(AUTO_MERGE, "true")
    try:
        spark.sql(statement.format(t=name))
    finally:
        spark.conf.unset(AUTO_MERGE)
    assert found(spark, name) == STATEMENTS[statement]


HAS_CLAUSE = tuple(int(each) for each in pyspark.__version__.split(".")[:2]) >= (4, 2)


@pytest.mark.smoke
@pytest.mark.skipif(not HAS_CLAUSE, reason="Spark has WITH SCHEMA EVOLUTION from 4.2 on")
@pytest.mark.parametrize("statement", STATEMENTS)
def test_an_insert_with_schema_evolution_adds_them(spark, name, table_path, statement):
    clause = statement.replace("INSERT", "INSERT WITH SCHEMA EVOLUTION", 1)
    made(spark, name)
    spark.sql(f"EXPLAIN {clause.format(t=name)}").collect()
    assert found(spark, name) == ("id:bigint,name:string", [])
    spark.sql(clause.format(t=name))
    assert found(spark, name) == STATEMENTS[statement]
    by_path = f"delta.`{table_path}_2`"
    made(spark, by_path)
    spark.sql(clause.format(t=by_path))
    assert found(spark, by_path) == STATEMENTS[statement]


@pytest.mark.skipif(not HAS_CLAUSE, reason="Spark has WITH SCHEMA EVOLUTION from 4.2 on")
def test_an_insert_with_schema_evolution_widens_types_and_keeps_what_does_not_fit_out(spark, name):
    made(spark, name, "id int, s struct<x: int>", "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {name} SELECT 5000000000L, named_struct('x', 1, 'y', 'b')")
    assert found(spark, name) == ("id:bigint,s:struct<x:int,y:string>", [(5000000000, (1, "b"))])
    with pytest.raises(SchemaMismatchError):
        spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {name} SELECT 1L")
    with pytest.raises(AnalysisException):
        spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {name} SELECT array(1), null")
    with pytest.raises(AnalysisException):
        spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {name} (id, nobody) VALUES (1, 2)")


def test_fewer_columns_by_position_are_refused_all_the_same(merging, name):
    made(merging, name)
    with pytest.raises(SchemaMismatchError) as caught:
        merging.sql(f"INSERT INTO {name} SELECT 1L")
    assert caught.value.getErrorClass() == "DELTA_INSERT_COLUMN_ARITY_MISMATCH"


def test_a_new_column_of_a_name_that_is_there_is_refused(merging, name):
    made(merging, name)
    with pytest.raises(InvalidSchemaError) as caught:
        merging.sql(f"INSERT INTO {name} SELECT 1L, 'x', 7L AS ID")
    assert caught.value.getErrorClass().startswith("DELTA_DUPLICATE_COLUMNS_FOUND")
    assert found(merging, name) == ("id:bigint,name:string", [])


def test_nested_fields_are_added_by_position_and_by_name(merging, name):
    made(merging, name, "id bigint, s struct<x: int>, a array<struct<y: int>>, m map<string, struct<z: int>>")
    rows = "array(named_struct('q', 2, 'w', 3)), map('k', named_struct('z', 4, 'v', 5))"
    merging.sql(f"INSERT INTO {name} SELECT 1L, named_struct('p', 1, 'y', 'b'), {rows}")
    merging.sql(f"INSERT INTO {name} BY NAME SELECT named_struct('new', 6, 'Y', 'c', 'X', 7) s, 2L id, null a, null m")
    assert found(merging, name) == (
        "id:bigint,s:struct<x:int,y:string,new:int>,a:array<struct<y:int,w:int>>,m:map<string,struct<z:int,v:int>>",
        [(1, (1, "b", None), [(2, 3)], {"k": (4, 5)}), (2, (7, "c", 6), None, None)],
    )


def test_types_are_widened_where_the_table_allows_it(spark, name):
    made(spark, name, "id int, d decimal(5, 2), t string", "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    with pytest.raises(Exception, match=r"(?i)overflow"):
        spark.sql(f"INSERT INTO {name} SELECT 5000000000L, 1, 'a'")
    spark.conf.set(AUTO_MERGE, "true")
    try:
        spark.sql(f"INSERT INTO {name} SELECT 5000000000L, cast(1 as decimal(8, 2)), 7, 'more' AS more")
    finally:
        spark.conf.unset(AUTO_MERGE)
    assert found(spark, name)[0] == "id:bigint,d:decimal(8,2),t:string,more:string"
    assert spark.sql(f"SELECT id, t, more FROM {name}").first() == (5000000000, "7", "more")


def test_partitions_and_filled_columns_keep_their_values(merging, name):
    columns = "id bigint, g bigint GENERATED ALWAYS AS (id * 2), p int"
    made(merging, name, columns, "PARTITIONED BY (p)")
    merging.sql(f"INSERT INTO {name} BY NAME SELECT 3L id, 1 p, 'n' note")
    assert found(merging, name) == ("id:bigint,g:bigint,p:int,note:string", [(3, 6, 1, "n")])
    other = f"{name}_2"
    try:
        made(merging, other, "id bigint, p int", "PARTITIONED BY (p)")
        merging.sql(f"INSERT INTO {other} PARTITION (p = 1) SELECT 7L, 8 AS extra")
        assert found(merging, other) == ("id:bigint,p:int,extra:int", [(7, 1, 8)])
    finally:
        merging.sql(f"DROP TABLE IF EXISTS {other}")


@pytest.mark.smoke
def test_the_option_of_a_writer_adds_columns_by_position(spark, name):
    made(spark, name)
    rows = spark.sql("select 1L a, 'x' b, 2 more")
    with pytest.raises(DeltaError):
        rows.write.insertInto(name)
    rows.write.format("delta").option("mergeSchema", "true").insertInto(name)
    assert found(spark, name) == ("id:bigint,name:string,more:int", [(1, "x", 2)])
    spark.conf.set(AUTO_MERGE, "true")
    try:
        with pytest.raises(DeltaError):
            spark.sql("select 1L a, 'x' b, 2 c, 3 d").write.format("delta").option("mergeSchema", "false").insertInto(name)
    finally:
        spark.conf.unset(AUTO_MERGE)
    location = bayou.DeltaTable.forName(spark, name).detail().first().location
    assert [row.operation for row in bayou.open(location).history()] == ["WRITE", "CREATE TABLE"]


def test_a_table_without_columns_gets_those_of_the_rows(merging, name):
    merging.sql(f"CREATE TABLE {name} USING delta")
    merging.sql(f"INSERT INTO {name} SELECT 1L AS id, 'a' AS name")
    assert found(merging, name) == ("id:bigint,name:string", [(1, "a")])


@pytest.mark.parametrize("value", ["'a'", "struct(1 AS x, 'a' AS y)"])
def test_a_column_without_a_type_takes_that_of_the_rows(merging, name, value):
    for way in ("INSERT", "writeTo"):
        made(merging, f"{name}_{way}", "id bigint, v void")
        rows = merging.sql(f"SELECT '1' AS id, {value} AS v")
        if way == "INSERT":
            merging.sql(f"INSERT INTO {name}_{way} SELECT '1', {value}")
        else:
            rows.writeTo(f"{name}_{way}").append()
        assert merging.table(f"{name}_{way}").collect() == rows.selectExpr("cast(id as bigint) as id", "v").collect()
        merging.sql(f"DROP TABLE {name}_{way}")
