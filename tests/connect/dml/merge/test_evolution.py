# SPDX-License-Identifier: Apache-2.0
"""MERGE with schema evolution on a Connect session: wider types, fields of structs, and what assigned names mean."""

from __future__ import annotations

import pytest

import bayou
from bayou.errors import CastOverflowError, SchemaMismatchError

LARGE = 5_000_000_000


@pytest.fixture
def made(spark, table_path):
    """Makes a table of a query."""

    def make(query, **properties):
        bayou.write(spark.sql(query), table_path, **properties)
        return bayou.DeltaTable.forPath(spark, table_path).alias("t")

    return make


def rows(table, *columns):
    return sorted((tuple(row) for row in table.toDF().select(*columns or "*").collect()), key=repr)


def test_types_are_widened_for_the_sources_values(spark, made):
    query = "select id, cast(id as int) v, named_struct('a', cast(id as smallint)) s from range(0, 3, 1, 1)"
    table = made(query, **{"delta.enableTypeWidening": "true", "delta.enableChangeDataFeed": "true"})
    source = spark.sql(f"select id, {LARGE} + id v, named_struct('a', 100000) s from range(2, 4)").alias("n")
    with pytest.raises(CastOverflowError):
        table.merge(source, "t.id = n.id").whenMatchedUpdateAll().execute()
    merge = table.merge(source, "t.id = n.id and t.v < n.v").withSchemaEvolution()
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert dict(table.toDF().dtypes) == {"id": "bigint", "v": "bigint", "s": "struct<a:int>"}
    assert rows(table, "id", "v", "s.a") == [(0, 0, 0), (1, 1, 1), (2, LARGE + 2, 100000), (3, LARGE + 3, 100000)]


def test_fields_that_the_source_lacks_keep_their_values(spark, made):
    table = made("select id, named_struct('a', id, 'b', id) s from range(0, 2, 1, 1)")
    source = spark.sql("select id, named_struct('c', 'x', 'a', id * 10) s from range(1, 3)").alias("n")
    merge = table.merge(source, "t.id = n.id").withSchemaEvolution()
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(table, "id", "s.a", "s.b", "s.c") == [(0, 0, 0, None), (1, 10, 1, "x"), (2, 20, None, "x")]


def test_structs_in_collections_get_the_sources_fields(spark, made):
    table = made("select id, array(named_struct('a', id)) l, map('k', named_struct('a', id)) m from range(0, 2, 1, 1)")
    value = "named_struct('z', 'z', 'a', id * 10)"
    source = spark.sql(f"select id, array({value}, null) l, map('k', {value}) m from range(1, 3)").alias("n")
    merge = table.merge(source, "t.id = n.id").withSchemaEvolution()
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    found = sorted(map(tuple, table.toDF().selectExpr("id", "l[0].a", "l[0].z", "m['k'].a").collect()))
    assert found == [
        (0, 0, None, 0),
        (1, 10, "z", 10),
        (2, 20, "z", 20),
    ]


def test_a_value_loses_no_field_where_it_lacks_others(spark, made):
    table = made("select 1L id, named_struct('a', 1, 'b', 2) st")
    source = spark.sql("select 1L id, named_struct('a', 10, 'zz', 20) other").alias("s")
    with pytest.raises(SchemaMismatchError):
        table.merge(source, "t.id = s.id").withSchemaEvolution().whenMatchedUpdate(set={"st": "s.other"}).execute()


@pytest.mark.parametrize(
    ("assigned", "columns", "expected"),
    [
        ("s.v = s.v", ["id", "v"], [(1, 10), (2, 2)]),
        ("s.extra = s.extra", ["id", "v", "extra"], [(1, 1, "x"), (2, 2, None)]),
        ("EXTRA = s.extra, V = s.v", ["id", "v", "extra"], [(1, 10, "x"), (2, 2, None)]),
    ],
)
def test_assigned_names_mean_columns_of_the_table_and_else_of_the_source(spark, made, table_path, assigned, columns, expected):
    table = made("select id, v from values (1, 1), (2, 2) as (id, v)")
    spark.sql(
        f"merge with schema evolution into delta.`{table_path}` t using (select 1 id, 10 v, 'x' extra) s on t.id = s.id "
        f"when matched then update set {assigned}"
    )
    assert table.toDF().columns == columns
    assert rows(table) == expected


def test_a_name_that_neither_has_is_refused(spark, made):
    table, source = made("select 1L id, 1 v"), spark.sql("select 1L id, 2 extra").alias("s")
    for name in ("t.extra", "nobody"):
        with pytest.raises(SchemaMismatchError) as caught:
            table.merge(source, "t.id = s.id").withSchemaEvolution().whenMatchedUpdate(set={name: "1"}).execute()
        assert caught.value.error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"


def test_types_that_spark_does_not_cast_by_itself_are_refused(spark, made):
    table = made("select 1L id, true v")
    with pytest.raises(SchemaMismatchError) as caught:
        table.merge(
            spark.sql("select 1L id, 5L v").alias("s"), "t.id = s.id"
        ).withSchemaEvolution().whenMatchedUpdateAll().execute()
    assert caught.value.error_class == "DELTA_FAILED_TO_MERGE_FIELDS"
