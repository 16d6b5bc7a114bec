# SPDX-License-Identifier: Apache-2.0
"""Where `spark.sql.sources.default` is `delta`, what names no format makes Delta tables."""

from __future__ import annotations

import uuid

import pytest
from tests.support.operations.statements import settings
from tests.support.tables.built import ids

import bayou

pytestmark = pytest.mark.smoke
SETTINGS = {"spark.sql.sources.default": "delta", "spark.sql.legacy.createHiveTableByDefault": "false"}


@pytest.fixture
def name(spark):
    """A name that nobody has, on a session whose tables are Delta's where nothing else is said."""
    bayou.enable(spark)
    found = f"t_{uuid.uuid4().hex[:8]}"
    with settings(spark, SETTINGS):
        yield found
    spark.sql(f"drop table if exists {found}")


MAKES = {
    "CREATE": lambda spark, name: [spark.sql(f"create table {name} (id long)"), spark.sql(f"insert into {name} values (1)")],
    "CREATE with properties": lambda spark, name: [
        spark.sql(f"create table {name} (id long, p int) partitioned by (p) comment 'c' tblproperties ('k' = 'v')"),
        spark.sql(f"insert into {name} values (1, 1)"),
    ],
    "CREATE AS SELECT": lambda spark, name: spark.sql(f"create table {name} as select 1L id"),
    "CREATE IF NOT EXISTS AS SELECT": lambda spark, name: spark.sql(f"create table if not exists {name} as select 1L id"),
    "CREATE OR REPLACE AS SELECT": lambda spark, name: spark.sql(f"create or replace table {name} as select 1L id"),
    "writeTo.create": lambda spark, name: spark.range(1, 2).writeTo(name).create(),
    "writeTo.createOrReplace": lambda spark, name: spark.range(1, 2).writeTo(name).createOrReplace(),
    "saveAsTable": lambda spark, name: spark.range(1, 2).write.saveAsTable(name),
}


@pytest.mark.parametrize("make", MAKES)
def test_a_table_that_is_made_without_a_format_is_a_delta_table(spark, name, make):
    MAKES[make](spark, name)
    table = bayou.DeltaTable.forName(spark, name)
    assert ids(table.toDF()) == [1]
    assert table.detail().first()["format"] == "delta"
    spark.range(2, 3).write.mode("append").saveAsTable(name)
    assert ids(spark.table(name)) == [1, 2]
    assert spark.sql(f"show create table {name}").first()[0].lower().count("using delta") == 1


@pytest.mark.parametrize("statement", ["create or replace table {0} as", "replace table {0} as"])
def test_a_table_is_replaced_by_rows_of_its_own_in_one_commit(spark, name, statement):
    spark.range(10).write.saveAsTable(name)
    spark.sql(f"{statement.format(name)} select id from {name} where id < 3")
    assert ids(spark.table(name)) == [0, 1, 2]
    assert bayou.DeltaTable.forName(spark, name).history().count() == 2


def test_another_format_is_still_another_format(spark, name):
    spark.sql(f"create table {name} (id long) using parquet")
    spark.sql(f"insert into {name} values (1)")
    assert ids(spark.table(name)) == [1]
    assert "using parquet" in spark.sql(f"show create table {name}").first()[0].lower()


def test_the_text_of_show_create_table_makes_the_same_columns(spark, name):
    columns = "a string not null, c char(3), m map<string, array<string>>, d decimal(5,2), s struct<x: string, y: timestamp>"
    spark.sql(f"create table {name} ({columns}) using delta partitioned by (d)")
    text = spark.sql(f"show create table {name}").first()[0]
    schema = spark.table(name).schema
    spark.sql(f"drop table {name}")
    spark.sql(text)
    assert spark.table(name).schema == schema
