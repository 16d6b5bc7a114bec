# SPDX-License-Identifier: Apache-2.0
"""What a MERGE's clauses set where the schema may change: columns of the table, else those that the source brings."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from tests.support.operations.assigned_names import AUTO_MERGE, FIELDS, MORE, NUMBERS, REFUSED, STRUCTS, TAKEN
from tests.support.operations.statements import rows, setting

import bayou


@pytest.fixture
def target(spark, table_path):
    """Makes a table of a query; the name that statements have for it."""

    def made(query):
        bayou.write(spark.sql(query), table_path)
        return f"delta.`{table_path}`"

    return made


def merge(spark, table, source, clauses):
    spark.sql(f"merge into {table} t using {source} s on t.id = s.id when {clauses}")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("in_sql", [True, False])
@pytest.mark.parametrize("name", TAKEN)
def test_a_clause_sets_what_the_table_calls_so_and_else_what_the_source_does(spark, table_path, target, name, in_sql):
    query, source, assignments, columns, expected = TAKEN[name]
    table = target(query)
    with setting(spark, AUTO_MERGE, "true"):
        if in_sql:
            merge(spark, table, source, f"matched then update set {assignments}")
        else:
            given = spark.sql(f"select * from {source}").alias("s")
            builder = bayou.DeltaTable.forPath(spark, table_path).alias("t").merge(given, "t.id = s.id")
            builder.whenMatchedUpdate(set=dict(each.split(" = ") for each in assignments.split(", "))).execute()
    assert spark.table(table).columns == columns.split()
    assert rows(spark, table) == expected


def test_rows_are_inserted_by_columns_that_carry_the_sources_alias(spark, target):
    table = target(NUMBERS)
    with setting(spark, AUTO_MERGE, "true"):
        merge(spark, table, MORE, "not matched then insert (s.id, s.v, s.extra) values (s.id, s.v, s.extra)")
    assert rows(spark, table) == [(1, 1, None), (2, 2, None), (3, 30, "y")]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_set_is_refused_where_neither_has_it_or_none_may_set_it(spark, table_path, target, name):
    query, source, clauses, error_class = REFUSED[name]
    table = target(query)
    with setting(spark, AUTO_MERGE, "true"), pytest.raises(bayou.errors.DeltaError) as caught:
        merge(spark, table, source, clauses)
    assert caught.value.error_class == error_class
    assert bayou.open(table_path).version() == 0


@pytest.mark.parametrize("evolves", ["true", "false"])
def test_a_field_of_the_columns_that_the_alias_could_be_has_no_default(spark, table_path, target, evolves):
    table = target(STRUCTS)
    with setting(spark, AUTO_MERGE, evolves), pytest.raises(bayou.errors.DeltaError) as caught:
        merge(spark, table, FIELDS, "matched then update set t.a = default")
    assert caught.value.error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"
    with pytest.raises(AnalysisException, match="default"):
        spark.sql(f"update {table} t set t.a = default")
    assert bayou.open(table_path).version() == 0
