# SPDX-License-Identifier: Apache-2.0
"""Bad input to what changes a table: each is refused by its error class, and neither the log nor a file tells of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from tests.spark.dml.core.refused_by_rules import OTHERS, TABLES
from tests.spark.dml.core.refused_changes import PLAIN

import bayou
from bayou import DeltaTable
from bayou.errors import DeltaError


@pytest.fixture(scope="module")
def paths(spark, tmp_path_factory):
    """Tables that no test changes."""
    found = {}
    for kind, (columns, layout, properties) in TABLES.items():
        path = found[kind] = str(tmp_path_factory.mktemp("refused") / "table")
        spark.sql(f"create table delta.`{path}` ({columns}) using delta {layout}")
        table = DeltaTable.forPath(spark, path)
        for name, value in properties.items():
            if name.startswith("delta.constraints."):
                table.addConstraint(name.rpartition(".")[2], value)
            else:
                table.setProperties({name: value})
    rows = {
        "plain": "1, 'a', struct(1), map('k', 1), array(1), 1), (2, null, null, null, null, null",
        "ruled": "1, 'a', null",
        "strict": "1, 'a', struct(1)",
        "mapped": "1, 'a', 1",
        "clustered": "1, 'a'",
        "append only": "1, 'a'",
        "change feed": "1, 'a'",
    }
    for kind, values in rows.items():
        spark.sql(f"insert into delta.`{found[kind]}` values ({values})")
    spark.sql(f"insert into delta.`{found['generated']}` (id) values (1)")
    return found


CASES = {("plain", name): case for name, case in PLAIN.items()} | OTHERS


def files(path):
    return {str(file): file.stat().st_mtime_ns for file in Path(path).rglob("*") if file.is_file()}


def condition(error):
    return error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("case", CASES, ids=": ".join)
def test_bad_input_is_refused_by_its_class_and_writes_nothing(spark, paths, case):
    path = paths[case[0]]
    expected, change = CASES[case]
    before = files(path)
    with pytest.raises((DeltaError, PySparkException)) as caught:
        spark.sql(change.format(t=f"delta.`{path}`", p=path)) if isinstance(change, str) else change(
            DeltaTable.forPath(spark, path)
        )
    assert condition(caught.value) == expected
    assert files(path) == before


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("value", "error_class"),
    [
        ("s = named_struct('a', 1)", "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION"),
        ("k = array(1)", "DATATYPE_MISMATCH"),
        ("k = 'x'", "CAST_INVALID_INPUT"),
        ("s = 5", "DATATYPE_MISMATCH"),
        ("k = 5000000000", "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"),
    ],
)
def test_a_value_that_no_row_can_have_is_refused_where_no_row_is_meant(spark, table_path, value, error_class):
    table = f"delta.`{table_path}`"
    spark.sql(f"create table {table} (k int, s struct<a: int, b: string>) using delta")
    spark.sql(f"insert into {table} (k) values (1)")
    statements = [
        f"update {table} set {value} where k = 100",
        f"update {table} set {value} where false",
        f"update {table} set {value} where length(cast(k as string)) = 9",
        f"merge into {table} using (select 100 id) on k = id when matched then update set {value}",
        f"merge into {table} using (select 1 id) on k = id when matched and id = 7 then update set {value}",
    ]
    for statement in statements:
        with pytest.raises(PySparkException, match=error_class):
            spark.sql(statement)
    assert bayou.open(table_path).version() == 1
