# SPDX-License-Identifier: Apache-2.0
"""Constraints are added once all rows are checked, and dropped; what expressions of a table use is not changed."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from tests.support.observing import jobs
from tests.support.tables.altered import INNER, append, create, last, refused, rows, state, unchanged

from bayou.errors import ConcurrentAppendException, ConstraintViolationError, InvalidOptionError, InvalidSchemaError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField
from bayou.spark.alter import constraints as alter_constraints


def test_what_expressions_of_the_table_use_is_neither_renamed_nor_dropped_nor_retyped(spark, table_path):
    generated = StructField("g", "integer", True, {"delta.generationExpression": "b + 1"})
    table = create(
        spark,
        table_path,
        StructField("a", "integer"),
        StructField("b", "integer"),
        StructField("s", INNER),
        generated,
        protocol=Protocol(2, 5),
        delta__columnMapping__mode="none",
        delta__enableTypeWidening="false",
    )
    append(spark.sql("select 1 a, 2 b, struct(3 x, 'y' y) s"), table)
    table.setProperties({"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"})
    table.addConstraint("small", "a < 10 and s.x < 10")
    for column in ("a", "s.x", "s"):
        found = refused(
            table, lambda c=column: table.renameColumn(c, "z"), InvalidSchemaError, "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE"
        )
        assert found.dependents == ("small",)
        refused(table, lambda c=column: table.dropColumns(c), InvalidSchemaError, "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE")
    constrained = "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE"
    refused(table, lambda: table.changeColumn("s.x", dataType="bigint"), InvalidSchemaError, constrained)
    dependent = "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE"
    refused(table, lambda: table.renameColumn("b", "z"), InvalidSchemaError, dependent)
    refused(table, lambda: table.dropColumns("b"), InvalidSchemaError, dependent)
    refused(table, lambda: table.changeColumn("b", dataType="bigint"), InvalidSchemaError, dependent)
    of_its_expression = "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH"
    refused(table, lambda: table.changeColumn("g", dataType="bigint"), InvalidSchemaError, of_its_expression)
    table.renameColumn("s.y", "z")
    table.dropColumns("b", "g")
    assert rows(table) == [(1, (3, "y"))]


@pytest.mark.smoke
def test_a_constraint_is_checked_against_all_rows_in_one_query_and_then_holds(spark, table):
    with jobs(spark) as started:
        table.addConstraint("Positive", "id >= 0 and s.x is not null")
    assert started.value <= 2  # one for each stage of the aggregate
    assert state(table).properties["delta.constraints.positive"] == "id >= 0 and s.x is not null"
    assert state(table).protocol == Protocol(1, 3)
    assert last(table) == ("ADD CONSTRAINT", {"name": "Positive", "expr": "id >= 0 and s.x is not null"})
    with pytest.raises(ConstraintViolationError):
        append(spark.sql("select -1 id, 'n' name, struct(1 x, 'y' y) s"), table)
    taken = "DELTA_CONSTRAINT_ALREADY_EXISTS"
    refused(table, lambda: table.addConstraint("POSITIVE", "id < 9"), InvalidSchemaError, taken)
    table.dropConstraint("POSITIVE")
    dropped = {"name": "POSITIVE", "expr": "id >= 0 and s.x is not null", "existed": "true"}
    assert last(table) == ("DROP CONSTRAINT", dropped)
    assert "delta.constraints.positive" not in state(table).properties
    append(spark.sql("select -1 id, 'n' name, struct(1 x, 'y' y) s"), table)
    unchanged(table, lambda: table.dropConstraint("positive", ifExists=True))
    refused(table, lambda: table.dropConstraint("positive"), InvalidSchemaError, "DELTA_CONSTRAINT_DOES_NOT_EXIST")


@pytest.mark.smoke
def test_rows_that_break_a_new_constraint_are_counted_and_some_are_shown(spark, table_path):
    table = create(spark, table_path, StructField("id", "long"), StructField("t", "string"))
    append(spark.range(1000).selectExpr("if(id < 10, null, id) id", "'t' t"), table)
    found = refused(
        table,
        lambda: table.addConstraint("large", "id >= 500 -- NULL breaks it too"),
        ConstraintViolationError,
        "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION",
    )
    assert found.num_violations == 500
    assert "500 rows in" in str(found)
    assert 1 <= len(found.rows) <= 5
    assert all(row["id"] is None or row["id"] < 500 for row in found.rows)
    assert found.constraint == "large"


def test_a_constraint_is_a_condition_on_the_columns_of_a_row(table):
    refused(table, lambda: table.addConstraint("c", "id + 1"), InvalidSchemaError, "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT")
    refused(table, lambda: table.addConstraint("c", "no > 1"), InvalidSchemaError, "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES")
    refused(
        table,
        lambda: table.addConstraint("c", "rand() > 1"),
        InvalidSchemaError,
        "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT",
    )
    subquery = "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"
    refused(table, lambda: table.addConstraint("c", "id in (select 1)"), InvalidSchemaError, subquery)
    refused(table, lambda: table.addConstraint("c", "id >"), InvalidSchemaError)
    refused(table, lambda: table.addConstraint("c", "s.no > 1"), AnalysisException)
    refused(table, lambda: table.setProperties({"delta.constraints.c": "id > 0"}), InvalidOptionError, "DELTA_ADD_CONSTRAINTS")
    table.addConstraint("today", "current_date() > date'2000-01-01'")


def test_rows_that_come_while_a_constraint_is_checked_are_a_conflict(spark, table, monkeypatch):
    original = alter_constraints.violations_in

    def late(*arguments):
        found = original(*arguments)
        append(spark.sql("select -1 id, 'n' name, struct(1 x, 'y' y) s"), table)
        return found

    monkeypatch.setattr(alter_constraints, "violations_in", late)
    with pytest.raises(ConcurrentAppendException):
        table.addConstraint("positive", "id >= 0")
    assert "delta.constraints.positive" not in state(table).properties
