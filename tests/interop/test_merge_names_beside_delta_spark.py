# SPDX-License-Identifier: Apache-2.0
"""The same names of columns to set in a MERGE that may change the schema, by delta-spark and by bayou."""

from __future__ import annotations

import pytest
from tests.support.operations.assigned_names import AUTO_MERGE, REFUSED, TAKEN

pytestmark = pytest.mark.oracle
UNRESOLVED = "DELTA_MERGE_UNRESOLVED_EXPRESSION"
"""An error that PySpark 4.2 cannot show: delta-spark makes it with a place in the statement."""


def merged(table, query, source, clauses):
    """What makes a table and merges into it, for delta-spark."""
    statement = f"merge into {table} t using {source} s on t.id = s.id when {clauses}"
    return [f"create table {table} using delta as {query}", f"set {AUTO_MERGE} = true", statement, f"set {AUTO_MERGE} = false"]


@pytest.mark.parametrize("name", TAKEN)
def test_delta_spark_sets_the_same(delta_spark, spark, tmp_path, name):
    query, source, assignments, columns, expected = TAKEN[name]
    table = f"delta.`{tmp_path}/theirs`"
    delta_spark.sql(*merged(table, query, source, f"matched then update set {assignments}"))
    frame = spark.sql(f"select * from {table}")
    assert frame.columns == columns.split()
    assert sorted(map(tuple, frame.collect())) == expected


@pytest.mark.parametrize("name", REFUSED)
def test_delta_spark_refuses_the_same(delta_spark, spark, tmp_path, name):
    query, source, clauses, error_class = REFUSED[name]
    table = f"delta.`{tmp_path}/theirs`"
    said = delta_spark.refused(*merged(table, query, source, clauses)[:3])
    delta_spark.sql(f"set {AUTO_MERGE} = false")
    assert error_class in said or (error_class == UNRESOLVED and "SparkThrowableHelper.getMessage" in said), said
