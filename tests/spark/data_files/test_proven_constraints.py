# SPDX-License-Identifier: Apache-2.0
"""Rules that compare columns with constants are proven by the footers of the new files; no row is looked at, none gets by."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.observing import jobs

import bayou
from bayou.errors import ConstraintViolationError
from bayou.spark.data_files import projection

# Of each type: a rule, rows that obey it, rows that break it.
RULES = {
    "long": ("id bigint", "id >= 0 and id < 10", "values (0L), (9L)", "values (0L), (10L)"),
    "null": ("id bigint", "id >= 0", "values (0L)", "values (0L), (null)"),
    "not null": ("id bigint", "id is not null", "values (0L)", "values (0L), (null)"),
    "date": ("d date", "d > date'2020-01-01'", "values (date'2020-01-02')", "values (date'2020-01-01')"),
    "decimal": ("m decimal(30, 2)", "m <= 1.50", "values (1.5BD)", "values (1.51BD)"),
    "double": ("x double", "x >= 0", "values (0D), (4.5D)", "values (double('NaN')), (-1D)"),
    "timestamp": ("t timestamp", "t <= timestamp'2024-01-01 00:00:00.000500'", "values (timestamp'2024-01-01 00:00:00.000500')",
                  "values (timestamp'2024-01-01 00:00:00.000501')"),
    "struct": ("s struct<x: int>", "s.x > 0", "select struct(1 as x) as s", "select struct(1 as x) as s union all select null"),
    "mapped": ("`a b` int", "`a b` > 0", "values (1)", "values (0)"),
    "two columns": ("a int, b int", "a > 0 and b < 0", "values (1, -1)", "values (1, 0)"),
}  # fmt: skip

# Rows that obey two rules, and rows that break the second.
TWO_RULES = {
    "in doubt": ("x double, p int", "x >= 0", "p in (1, 2)", "values (double('NaN'), 1), (1D, 2)", "values (double('NaN'), 3)"),
    "columns": ("a boolean, b boolean", "a", "b", "values (true, true)", "values (true, false)"),
}


def create(spark, path, columns, rule, *, mapped=False):
    properties = "tblproperties ('delta.columnMapping.mode' = 'name')" if mapped else ""
    spark.sql(f"create table delta.`{path}` ({columns}) using delta {properties}")
    bayou.DeltaTable.forPath(spark, path).addConstraint("rule", rule)


def append(spark, path, rows):
    spark.sql(f"insert into delta.`{path}` {rows}")


def data_files(path):
    return [each for each in Path(path).rglob("*.parquet") if "_delta_log" not in each.parts]


@pytest.fixture
def observed(monkeypatch):
    """The expressions of the rules that writes observe."""
    found, real = [], projection.observing

    def noted(frame, rules, *args, **kwargs):
        found.extend(rule.constraint.expression for rule in rules)
        return real(frame, rules, *args, **kwargs)

    monkeypatch.setattr(projection, "observing", noted)
    return found


@pytest.mark.parametrize("case", RULES)
def test_a_rule_is_proven_by_statistics_and_no_row_that_breaks_it_gets_in(spark, table_path, observed, case):
    columns, rule, good, bad = RULES[case]
    create(spark, table_path, columns, rule, mapped=case == "mapped")
    with jobs(spark) as found:
        append(spark, table_path, good)
    assert (found.value == 1) == (case != "timestamp")  # whose bounds are cut to milliseconds
    kept = data_files(table_path)
    with pytest.raises(ConstraintViolationError) as caught:
        append(spark, table_path, bad)
    assert caught.value.facts["num_violations"] == 1
    assert len(caught.value.facts["rows"]) == 1
    assert data_files(table_path) == kept
    assert not observed


def test_nothing_but_the_write_runs_where_the_footers_prove_the_rules(spark, table_path):
    create(spark, table_path, "id bigint not null, v int", "id >= 0")
    with jobs(spark) as found:
        spark.range(1000).selectExpr("id", "1 as v").write.format("delta").mode("append").save(table_path)
    assert found.value == 1


@pytest.mark.parametrize(
    "rule",
    ["id in (1, 2)", "id != 0", "id > v", "id > 0 or v > 0", "id = 1", "length(s) < 5", "s >= 'a'", "s is not null", "x < 5"],
)
def test_a_rule_that_bounds_say_little_of_is_checked_row_by_row(spark, table_path, observed, rule):
    create(spark, table_path, "id int, v int, s string, x double", rule)
    append(spark, table_path, "values (1, 0, 'a', 1D)")
    assert observed == [rule]


def test_a_rule_on_columns_without_statistics_is_checked_row_by_row(spark, table_path, observed):
    spark.sql(
        f"create table delta.`{table_path}` (id int, v int) using delta tblproperties ('delta.dataSkippingNumIndexedCols' = '1')"
    )
    bayou.DeltaTable.forPath(spark, table_path).addConstraint("rule", "v > 0")
    append(spark, table_path, "values (1, 1)")
    assert observed == ["v > 0"]


@pytest.mark.parametrize(("kind", "value", "is_looked_at"), [("date", "date'2024-01-01'", False), ("string", "'a'", True)])
def test_a_partition_column_that_cannot_be_null_is_looked_at_where_an_empty_text_is_null(
    spark, table_path, observed, kind, value, is_looked_at
):
    spark.sql(f"create table delta.`{table_path}` (id bigint, p {kind} not null) using delta partitioned by (p)")
    bayou.DeltaTable.forPath(spark, table_path).addConstraint("rule", "id >= 0")
    spark.sql(f"select 1L id, {value} p").write.format("delta").mode("append").save(table_path)
    assert bool(observed) == is_looked_at


def test_the_first_rule_that_is_broken_is_told_wherever_it_is_checked(spark, table_path):
    create(spark, table_path, "id int, v int", "id > 0")
    bayou.DeltaTable.forPath(spark, table_path).addConstraint("also", "v in (1, 2)")
    with pytest.raises(ConstraintViolationError, match="rule id > 0") as caught:
        append(spark, table_path, "values (1, 3), (0, 1), (0, 4), (2, 2)")
    assert caught.value.facts["num_violations"] == 3  # of either rule
    with pytest.raises(ConstraintViolationError, match="also v in"):
        append(spark, table_path, "values (1, 3), (2, 2)")


@pytest.mark.parametrize("case", TWO_RULES)
def test_rows_that_obey_two_rules_are_taken_and_one_that_breaks_the_second_is_refused(spark, table_path, case):
    columns, first, second, good, bad = TWO_RULES[case]
    create(spark, table_path, columns, first)
    bayou.DeltaTable.forPath(spark, table_path).addConstraint("also", second)
    append(spark, table_path, good)
    with pytest.raises(ConstraintViolationError, match=re.escape(f"also {second}")):
        append(spark, table_path, bad)


def test_columns_without_a_type_stand_beside_rules(spark, table_path):
    create(spark, table_path, "id int, s struct<x: int, v: void>", "s.x > 0")
    append(spark, table_path, "select 1, named_struct('x', 1, 'v', null)")
    with pytest.raises(ConstraintViolationError):
        append(spark, table_path, "select 1, named_struct('x', 0, 'v', null)")


def test_replaced_rows_obey_what_the_condition_says_of_any_column(spark, table_path):
    spark.sql("select 1 as id, 'x' as p").write.format("delta").partitionBy("p").save(table_path)
    writer = spark.sql("select 0 as id, 'x' as p").write.format("delta").mode("overwrite")
    with pytest.raises(ConstraintViolationError):
        writer.option("replaceWhere", "id > 0 and (p = 'x' or true)").save(table_path)


def test_a_rule_holds_for_what_a_rewrite_of_rows_writes(spark, table_path):
    create(spark, table_path, "id int, v int", "v > 0")
    append(spark, table_path, "values (1, 1), (2, 2)")
    with pytest.raises(ConstraintViolationError):
        bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"v": "v - 1"})
    bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"v": "v + 1"})


def test_folders_whose_names_look_like_patterns_or_partitions_are_read_as_they_are(spark, tmp_path):
    path = str(tmp_path / "v=x" / "a [b]{c}")
    spark.sql("select 1 as id").where("false").write.format("delta").save(path)
    bayou.DeltaTable.forPath(spark, path).addConstraint("rule", "id > 0")
    with pytest.raises(ConstraintViolationError, match="id : 0"):
        spark.sql("select 0 as id").write.format("delta").mode("append").save(path)
