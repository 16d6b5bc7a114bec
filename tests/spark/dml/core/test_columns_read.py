# SPDX-License-Identifier: Apache-2.0
"""Rows are looked for by the columns of the conditions, and by no others: the plans that ran say which columns were read."""

from __future__ import annotations

import re

import pytest
from tests.support.observing import physical_plans
from tests.support.tables.queried import FILES, VECTORS

import bayou

WIDE = "select id, id % 3 k, id v, cast(id as string) w, named_struct('a', id, 'b', id) s from range(0, 40, 1, 4)"


def make(spark, path, **properties):
    bayou.write(spark.sql(WIDE), path, **properties)
    return bayou.DeltaTable.forPath(spark, path).alias("t")


def columns_read(plans):
    """The columns that each query reads of files, in the order in which the queries began; Spark's own are left out."""
    found = []
    for plan in reversed(plans):
        schemas = re.findall(r"ReadSchema: struct<(\S*)>", plan)
        names = {name for each in schemas for name in re.findall(r"(?:^|[,<])(\w+):", each) if not name.startswith("_tmp")}
        found += [names] if schemas else []
    return found


@pytest.fixture(params=[FILES, VECTORS], ids=["files", "vectors"])
def table(request, spark, table_path):
    """A table of columns that a condition does not name."""
    return make(spark, table_path, **request.param)


def test_a_delete_looks_for_its_rows_by_the_columns_of_its_condition(spark, table):
    with physical_plans(spark) as plans:
        table.delete("k = 1 and id > 3")
    assert columns_read(plans)[0] == {"id", "k"}


def test_a_delete_reads_one_field_of_a_struct(spark, table):
    with physical_plans(spark) as plans:
        table.delete("s.b % 5 = 1")
    assert columns_read(plans)[0] == {"s", "b"}


def test_an_update_looks_for_its_rows_by_the_columns_of_its_condition(spark, table):
    with physical_plans(spark) as plans:
        table.update("k = 1", {"v": "v + id"})
    assert columns_read(plans)[0] == {"k"}


def pushed(plan):
    """What a query tells the reader of files to look for."""
    return re.findall(r"PushedFilters: \[([^]]*)\]", plan)


def test_a_delete_tells_the_reader_of_files_which_rows_it_looks_for(spark, table):
    with physical_plans(spark) as plans:
        table.delete("id > 3 and id < 7 and k <> 1")
    assert "GreaterThan(id,3)" in pushed(plans[-1])[0]


def test_rows_that_an_update_writes_anew_beside_vectors_are_looked_for_by_the_reader_of_files(spark, table_path):
    table = make(spark, table_path, **VECTORS)
    with physical_plans(spark) as plans:
        table.update("id = 5", {"v": "0"})
    found = [each for plan in plans for each in pushed(plan)]
    assert len(found) == 2
    assert all("EqualTo(id,5)" in each for each in found)


def test_a_merge_looks_for_its_rows_by_the_columns_of_its_conditions(spark, table, joins):
    news = spark.sql("select id, 7L v, 'x' w from range(30, 50)").alias("s")
    merge = table.merge(news, "t.id = s.id").whenMatchedUpdate("t.k > 0", {"v": "s.v", "w": "t.w"})
    plan = merge.whenNotMatchedInsert(values={"id": "s.id", "w": "s.w"}).plan()
    with physical_plans(spark) as plans:
        plan.execute()
    assert columns_read(plans)[0] == {"id", "k"}


def test_a_merge_that_only_inserts_reads_the_keys_of_the_table(spark, table, joins):
    news = spark.sql("select id, 7L k, 7L v, 'x' w, named_struct('a', 1L, 'b', 2L) s from range(30, 50)").alias("s")
    plan = table.merge(news, "t.id = s.id").whenNotMatchedInsertAll().plan()
    with physical_plans(spark) as plans:
        assert plan.execute().num_inserted_rows == 10
    assert columns_read(plans) == [{"id"}]
