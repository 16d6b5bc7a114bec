# SPDX-License-Identifier: Apache-2.0
"""Statements that change rows of tables with variants, which Spark's optimizer reads as structs of what is taken from them."""

from __future__ import annotations

import pyspark
import pytest

import bayou
from bayou.errors import UnsupportedFeatureError

pytestmark = pytest.mark.skipif(int(pyspark.__version__.partition(".")[0]) < 4, reason="this Spark has no variants")
ROWS = "select id, parse_json('{\"a\": ' || id || '}') v, named_struct('w', parse_json('[' || id || ']')) s from range(0, 4, 1, 1)"
CHANGES = {
    "a column beside it": ("delete from {0} where id = 1", [(0, 0), (2, 2), (3, 3)]),
    "a field of it": ("delete from {0} where variant_get(v, '$.a', 'int') = 1", [(0, 0), (2, 2), (3, 3)]),
    "two fields, and itself": (
        "delete from {0} where variant_get(v, '$.a', 'int') = 1 and variant_get(v, '$.b', 'int') is null and v is not null",
        [(0, 0), (2, 2), (3, 3)],
    ),
    "one in a struct": ("delete from {0} where variant_get(s.w, '$[0]', 'int') = 1 or s is null", [(0, 0), (2, 2), (3, 3)]),
    "a parameter": ("delete from {0} where variant_get(v, '$.a', 'int') = :one", [(0, 0), (2, 2), (3, 3)]),
    "an update of it": (
        "update {0} set v = parse_json('{{\"a\": 9}}') where variant_get(v, '$.a', 'int') = 1",
        [(0, 0), (1, 9), (2, 2), (3, 3)],
    ),
    "an update beside it": ("update {0} set id = 9 where variant_get(v, '$.a', 'int') = 1", [(0, 0), (2, 2), (3, 3), (9, 1)]),
    "a merge": (
        "merge into {0} t using (select 1L id) s on t.id = s.id when matched and variant_get(t.v, '$.a', 'int') = 1 then delete",
        [(0, 0), (2, 2), (3, 3)],
    ),
}
VIEWS = {
    "all columns": ("select * from {0}", True),
    "the columns one by one": ("select id, v, s from {0}", True),
    "a field under its name": ("select id, variant_get(v, '$.a', 'variant') v, s from {0}", False),
    "a number under its name": ("select id, variant_get(v, '$.a', 'int') v, s from {0}", False),
}


@pytest.fixture
def table(spark, table_path, way):
    bayou.write(spark.sql(ROWS), table_path, **way)
    return f"delta.`{table_path}`"


def rows(spark, table):
    return sorted(map(tuple, spark.sql(f"select id, variant_get(v, '$.a', 'int') from {table}").collect()))


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", CHANGES)
def test_a_statement_changes_rows_by_what_is_in_a_variant_and_beside_it(spark, table, name):
    statement, expected = CHANGES[name]
    spark.sql(statement.format(table), args={"one": 1} if ":one" in statement else None)
    assert rows(spark, table) == expected
    assert max(row[0] for row in spark.sql(f"select variant_get(s.w, '$[0]', 'int') from {table}").collect()) == 3


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_the_table_where_it_has_the_whole_variant(spark, table, view):
    query, is_table = VIEWS[view]
    spark.sql(query.format(table)).createOrReplaceTempView("variants_seen")
    if is_table:
        spark.sql("delete from variants_seen where id = 1")
        assert rows(spark, table) == [(0, 0), (2, 2), (3, 3)]
    else:
        with pytest.raises(UnsupportedFeatureError, match="not of a query"):
            spark.sql("delete from variants_seen where v is null")
    spark.catalog.dropTempView("variants_seen")


def test_rows_of_a_cached_table_are_deleted(spark, table):
    frame = spark.table(table).cache()
    assert frame.count() == 4
    spark.sql(f"delete from {table} where variant_get(v, '$.a', 'int') = 1")
    assert rows(spark, table) == [(0, 0), (2, 2), (3, 3)]
    frame.unpersist()
