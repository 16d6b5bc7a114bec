# SPDX-License-Identifier: Apache-2.0
"""DataFrames written to a table by its name, and tables that are replaced, beside delta-spark: the same rows, ids and refusals."""

from __future__ import annotations

import re

import pytest
from tests.interop.oracle import write_by_name
from tests.interop.sampled import sampled

import bayou
from bayou.protocol.columns.mapping_rules import fields_by_path

pytestmark = pytest.mark.oracle
POLICY = "spark.sql.storeAssignmentPolicy"
COLUMNS = "id bigint, n int, t string, s struct<x: int, y: string>"
ROWS = {
    "narrower": "select 1 as id, cast(2 as short) as n, 'a' as t",
    "wider": "select 1L as id, 2L as n, 'a' as t",
    "too wide": "select 1L as id, 5000000000L as n, 'a' as t",
    "text for a number": "select '1' as id, 2 as n, 'a' as t",
    "number for a text": "select 1L as id, 2 as n, 3 as t",
    "a double": "select 1.5D as id, 2 as n, 'a' as t",
    "a date": "select 1L as id, 2 as n, date'2024-01-01' as t",
    "fewer": "select 1L as id",
    "more": "select 1L as id, 2 as n, 'a' as t, 9 as extra",
    "another case": "select 1 as ID, 2 as N",
    "a struct": "select 1L as id, named_struct('y', 'b', 'x', 1L) as s",
    "a struct with less": "select 1L as id, named_struct('x', 1) as s",
    "an array": "select array(1) as id",
}
CASES = [
    (rows, verb, policy)
    for policy in ("ANSI", "STRICT", "LEGACY")
    for verb in ("saveAsTable", "append", "overwritePartitions")
    for rows in ROWS
]


# Every column of a table, one of them with another kind of value at a time.
TYPES = {
    "id": "bigint",
    "d": "date",
    "s": "struct<x: int, y: string>",
    "a": "array<int>",
    "m": "map<string, int>",
    "l": "array<struct<k: int>>",
    "b": "boolean",
}
VALUES = {
    "id": "1L",
    "d": "date'2024-01-01'",
    "s": "named_struct('x', 1, 'y', 'a')",
    "a": "array(1)",
    "m": "map('k', 1)",
    "l": "array(named_struct('k', 1))",
    "b": "true",
}
OTHER_VALUES = (
    ("id", "'7'"),
    ("id", "'no number'"),
    ("id", "true"),
    ("id", "date'2024-01-01'"),
    ("id", "null"),
    ("d", "'2024-02-03'"),
    ("d", "'no date'"),
    ("d", "5"),
    ("d", "timestamp'2024-02-03 04:05:06'"),
    ("s", "named_struct('x', '7', 'y', 8)"),
    ("s", "named_struct('x', 'no number', 'y', 8)"),
    ("s", "named_struct('p', '7', 'q', 8)"),
    ("s", "named_struct('x', '7')"),
    ("s", "named_struct('x', '7', 'y', 'a', 'z', 1)"),
    ("s", "'a struct'"),
    ("a", "array('7')"),
    ("a", "array('no number')"),
    ("a", "array(5000000000)"),
    ("a", "map(1, 2)"),
    ("m", "map('k', '7')"),
    ("m", "map(3, 7L)"),
    ("m", "map(3, 'no number')"),
    ("l", "array(named_struct('k', '7'))"),
    ("l", "array(named_struct('other', '7'))"),
    ("b", "'true'"),
    ("b", "1"),
)
VERBS = ("INSERT", "INSERT BY NAME", "insertInto", "append", "saveAsTable")
NESTED_CASES = [
    (column, value, verb, policy) for policy in ("ANSI", "STRICT", "LEGACY") for verb in VERBS for column, value in OTHER_VALUES
]

# One refusal in two words: the cast is Spark's.
SAME = [
    {"INCOMPATIBLE_DATA_FOR_TABLE", "CANNOT_UP_CAST_DATATYPE"},
    {"CAST_INVALID_INPUT", "TASK_WRITE_FAILED"},
    {"CAST_OVERFLOW_IN_TABLE_INSERT", "TASK_WRITE_FAILED"},
]


def error_class(text):
    found = re.search(r"\[([A-Z_0-9]+)", text)
    return found.group(1) if found else text[:200]


@pytest.mark.parametrize("case", sampled(CASES, 11))
def test_rows_are_cast_as_delta_spark_casts_them(spark, delta_spark, tmp_path, case):
    rows, verb, policy = case
    compare(spark, delta_spark, tmp_path, columns=COLUMNS, rows=ROWS[rows], verb=verb, policy=policy)


@pytest.mark.parametrize("case", sampled(NESTED_CASES, 41))
def test_a_value_of_another_kind_is_cast_as_delta_spark_casts_it(spark, delta_spark, tmp_path, case):
    column, value, verb, policy = case
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    rows = ", ".join(f"{text} as {name}" for name, text in {**VALUES, column: value}.items())
    compare(spark, delta_spark, tmp_path, columns=columns, rows=f"select {rows}", verb=verb, policy=policy)


def test_by_name_is_by_name_in_structs_too(spark, delta_spark, tmp_path):
    path = str(tmp_path / "table")
    spark.sql(f"create table delta.`{path}` (id bigint, s struct<x: int, y: string>) using delta")
    spark.sql(f"insert into delta.`{path}` by name select named_struct('y', 'b', 'x', '7') as s, 1 as id")
    assert delta_spark.sql(f"select s.x, s.y from delta.`{path}`") == [["7", "b"]]
    said = delta_spark.refused(f"insert into delta.`{path}` by name select named_struct('y', 'b', 'x', '7') as s, 1 as id")
    assert "CAST_INVALID_INPUT" in said


def compare(spark, delta_spark, tmp_path, *, columns, rows, verb, policy):
    """Writes rows to a table of either engine, and compares what both say and have then."""
    mine, their = str(tmp_path / "ours"), str(tmp_path / "theirs")
    for make, path in ((spark.sql, mine), (delta_spark.sql, their)):
        make(f"create table delta.`{path}` ({columns}) using delta")
    delta_spark.sql(f"set {POLICY} = {policy}")
    spark.conf.set(POLICY, policy)
    try:
        theirs = delta_spark.write_by_name(rows, verb, their, {})
        try:
            write_by_name(spark.sql(rows), verb, f"delta.`{mine}`", {})
            ours = None
        except Exception as error:  # noqa: BLE001  (compared)
            ours = str(error)
    finally:
        spark.conf.unset(POLICY)
        delta_spark.sql(f"set {POLICY} = ANSI")
    assert (ours is None) == (theirs is None), (ours, theirs)
    if ours is not None:
        said = {error_class(ours), error_class(theirs)}
        assert len(said) == 1 or said in SAME, said
    read = "select to_json(struct(*)) from delta.`{}`"
    assert delta_spark.sql(read.format(mine)) == delta_spark.sql(read.format(their))


def test_a_replaced_table_keeps_the_ids_that_delta_spark_keeps(spark, delta_spark, tmp_path):
    mapped = "tblproperties ('delta.columnMapping.mode' = 'name')"
    found = []
    for run, path in ((spark.sql, str(tmp_path / "ours")), (delta_spark.sql, str(tmp_path / "theirs"))):
        run(f"create table delta.`{path}` (id bigint, v int, s struct<a: int, b: int>, gone int) using delta {mapped}")
        before = bayou.open(path).snapshot().schema
        run(
            f"create or replace table delta.`{path}` using delta {mapped} "
            "as select 1L as id, 'a' as v, named_struct('a', 1, 'c', 2) as s, 5 as new"
        )
        after = bayou.open(path).snapshot()
        names = {field.physical_name for _, field in fields_by_path(before)}
        columns = [(path, field.field_id, field.physical_name in names) for path, field in fields_by_path(after.schema)]
        found.append((columns, after.properties["delta.columnMapping.maxColumnId"]))
    assert found[0] == found[1]
