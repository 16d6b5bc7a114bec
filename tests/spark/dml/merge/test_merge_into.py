# SPDX-License-Identifier: Apache-2.0
"""`DataFrame.mergeInto` does what `DeltaTable.merge` does."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.tables.queried import log_of

import bayou
from bayou.errors import DeltaError

pytestmark = pytest.mark.skipif(not hasattr(DataFrame, "mergeInto"), reason="DataFrames have mergeInto from Spark 4.0 on")

COLUMNS = {
    "struct": ("st struct<a:int,b:struct<x:int,y:int>>", "named_struct('a', 1, 'b', named_struct('x', 2, 'y', 3))"),
    "array": ("st array<struct<a:int,b:int>>", "array(named_struct('a', 1, 'b', 2))"),
    "map": ("st map<string,struct<a:int,b:int>>", "map('k', named_struct('a', 1, 'b', 2))"),
    "default": ("st int default 7", "1"),
}
VALUES = {
    "struct": "named_struct('b', named_struct('y', 30, 'x', 20), 'a', 10)",
    "array": "array(named_struct('b', 20, 'a', 10))",
    "map": "map('k', named_struct('b', 20, 'a', 10))",
    "default": "10",
}
WIDER = {
    "struct": "named_struct('a', 10, 'c', 'new', 'b', named_struct('y', 30, 'z', 40, 'x', 20))",
    "array": "array(named_struct('a', 10, 'b', 20, 'c', 'new'))",
    "map": "map('k', named_struct('a', 10, 'b', 20, 'c', 'new'))",
    "default": "10",
}


def table_of(spark, name, kind):
    """Two rows."""
    column, value = COLUMNS[kind]
    features = "'delta.feature.allowColumnDefaults' = 'supported'"
    spark.sql(f"create or replace table {name} (id bigint, {column}, note string) using delta tblproperties ({features})")
    spark.sql(f"insert into {name} select 1, {value}, 'old' union all select 3, {value}, 'old'")
    return name


def all_of_it(merger):
    return merger.whenMatched().updateAll().whenNotMatched().insertAll().whenNotMatchedBySource().delete()


def all_of_the_builder(builder):
    return builder.whenMatchedUpdateAll().whenNotMatchedInsertAll().whenNotMatchedBySourceDelete()


def outcome(spark, name):
    found = spark.table(name)
    return sorted(
        json.dumps(row.asDict(recursive=True), sort_keys=True, default=str) for row in found.collect()
    ), found.schema.simpleString()


@pytest.fixture
def merged(spark, name):
    """What both ways give: one table, the same source, one after the other."""

    def both(kind, source, into, built, *, evolves=False):
        found = []
        condition = f"{name}.id = s.id"
        for way in ("frame", "builder"):
            table_of(spark, name, kind)
            if way == "frame":
                writer = source.alias("s").mergeInto(name, F.expr(condition))
                into(writer.withSchemaEvolution() if evolves else writer).merge()
            else:
                builder = bayou.DeltaTable.forName(spark, name).alias(name).merge(source.alias("s"), condition)
                built(builder.withSchemaEvolution() if evolves else builder).execute()
            found.append(outcome(spark, name))
        assert found[0] == found[1]
        return found[0]

    return both


@pytest.mark.smoke
@pytest.mark.parametrize("kind", COLUMNS)
def test_all_columns_are_updated_and_inserted(spark, merged, kind):
    source = spark.sql(f"select 'new' note, {VALUES[kind]} st, id + 1 id from range(2)")
    rows, _ = merged(kind, source, all_of_it, all_of_the_builder)
    assert [json.loads(row)["id"] for row in rows] == [1, 2]


@pytest.mark.parametrize("kind", COLUMNS)
def test_some_columns_are_updated_and_inserted(spark, merged, kind):
    source = spark.sql(f"select 'new' note, {VALUES[kind]} st, id + 1 id from range(2)")
    update = {"st": F.col("s.st")}
    insert = {"id": F.col("s.id"), "note": F.lit("made")}
    merged(
        kind,
        source,
        lambda merger: merger.whenMatched(F.expr("s.id > 0")).update(update).whenNotMatched(F.lit(True)).insert(insert),
        lambda builder: builder.whenMatchedUpdate("s.id > 0", update).whenNotMatchedInsert("true", insert),
    )


def test_a_field_of_a_struct_is_updated_and_the_others_stay(spark, merged):
    source = spark.sql("select 1L id, 99 v")
    update = {"st.a": F.col("v"), "st.b.y": F.expr("st.b.y + v")}
    rows, _ = merged(
        "struct", source, lambda merger: merger.whenMatched().update(update), lambda builder: builder.whenMatchedUpdate(set=update)
    )
    assert json.loads(rows[0])["st"] == {"a": 99, "b": {"x": 2, "y": 102}}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("evolves", [True, "autoMerge"])
@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("columns", ["more", "fewer"])
def test_the_schema_evolves(spark, merged, kind, columns, evolves):
    note = "'new' note, current_date() more" if columns == "more" else "id other"
    source = spark.sql(f"select id + 1 id, {WIDER[kind]} st, {note} from range(2)")
    if evolves == "autoMerge":
        spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    try:
        _, schema = merged(kind, source, all_of_it, all_of_the_builder, evolves=evolves is True)
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert ("more:date" if columns == "more" else "other:bigint") in schema
    assert kind == "default" or "c:string" in schema


def test_a_source_with_fewer_columns_is_refused_without_evolution_as_the_builder_refuses_it(spark, name):
    table_of(spark, name, "default")
    source = spark.sql("select 1L id").alias("s")
    with pytest.raises(DeltaError) as given:
        source.mergeInto(name, F.expr(f"{name}.id = s.id")).whenMatched().updateAll().merge()
    with pytest.raises(DeltaError) as wanted:
        bayou.DeltaTable.forName(spark, name).alias(name).merge(source, f"{name}.id = s.id").whenMatchedUpdateAll().execute()
    assert given.value.error_class == wanted.value.error_class
    assert log_of(spark, name).version() == 1


@pytest.mark.parametrize("first", [True, False])
def test_a_session_of_the_sessions_own_merges_the_same(spark, name, first):
    table_of(spark, name, "struct")
    session = spark.newSession()
    if not first:
        session.range(1).collect()
    source = session.sql(f"select 1L id, {VALUES['struct']} st, 'new' note").alias("s")
    source.mergeInto(name, F.expr(f"{name}.id = s.id")).whenMatched().updateAll().merge()
    assert spark.table(name).where("id = 1").first().st.asDict(recursive=True) == {"a": 10, "b": {"x": 20, "y": 30}}


def test_a_table_by_its_path_is_merged_into(spark, table_path):
    bayou.write(spark.sql("select 1L id, named_struct('a', 1, 'b', 2) st"), table_path)
    source = spark.sql("select 1L id, named_struct('b', 20, 'a', 10) st").alias("s")
    source.mergeInto(f"delta.`{table_path}`", F.expr(f"delta.`{table_path}`.id = s.id")).whenMatched().updateAll().merge()
    assert spark.read.format("delta").load(table_path).first().st.asDict() == {"a": 10, "b": 20}
