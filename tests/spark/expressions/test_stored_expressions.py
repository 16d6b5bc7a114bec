# SPDX-License-Identifier: Apache-2.0
"""The expressions of a table's rules: every operator is known, and what does more than compute is not run."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from tests.support.observing import data_files as files
from tests.support.operations.streams import read
from tests.support.tables.ruled import append, create, refused

import bayou
from bayou.errors import ConstraintViolationError, InvalidSchemaError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType

GENERATES = Protocol(1, 4)
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


@pytest.mark.in_turn(4)
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
