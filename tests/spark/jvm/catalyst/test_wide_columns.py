# SPDX-License-Identifier: Apache-2.0
"""What a statement asks of the JVM does not grow with the number of columns: a round trip for each would cost minutes."""

from __future__ import annotations

import pytest
from tests.support.observing import py4j_calls

import bayou
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.native.merge import second_pass

FEW, SOME, MANY = 20, 200, 600


def columns(count, first=0):
    """Numbers and texts; the first one is the key."""
    kinds = (f"cast({number} + id as {'bigint' if number % 2 else 'string'}) c{number}" for number in range(1, count))
    return [f"id + {first} as c0", *kinds]


@pytest.fixture
def wide(spark, tmp_path):
    """Makes a table of rows 0 and 1, and of 1 and 2 as a source: of (columns, properties) the table and the source."""

    def make(count, **properties):
        path = str(tmp_path / f"{count}{''.join(properties)}")
        options = {f"delta.{name}": "true" for name in properties}
        spark.range(0, 2, 1, 1).selectExpr(*columns(count)).write.format("delta").options(**options).save(path)
        return bayou.DeltaTable.forPath(spark, path), spark.range(0, 2, 1, 1).selectExpr(*columns(count, first=1))

    return make


def upsert(table, source):
    merge = table.alias("t").merge(source.alias("s"), "t.c0 = s.c0")
    return merge.whenMatchedUpdateAll().whenNotMatchedInsertAll()


def evolving_upsert(table, source):
    return upsert(table, source.selectExpr("*", "1 as extra")).withSchemaEvolution()


def named_upsert(table, source):
    values = {name: f"s.{name}" for name in source.columns}
    merge = table.alias("t").merge(source.alias("s"), "t.c0 = s.c0")
    return merge.whenMatchedUpdate(set=values).whenNotMatchedInsert(values=values)


def update_of_all(table, source):
    return table.plan_update("c0 = 1", {name: name for name in source.columns})


STATEMENTS = {
    "upsert": lambda table, source: upsert(table, source).plan(),
    "evolving upsert": lambda table, source: evolving_upsert(table, source).plan(),
    "upsert by names": lambda table, source: named_upsert(table, source).plan(),
    "update of one": lambda table, _: table.plan_update("c0 = 1", {"c1": "7"}),
    "update of all": update_of_all,
    "delete": lambda table, _: table.plan_delete("c0 = 1"),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_planning_takes_the_same_number_of_calls_for_few_columns_and_for_many(spark, wide, statement):
    tables = {count: wide(count) for count in (FEW, MANY)}

    def calls(count):
        with py4j_calls(spark) as counted:
            STATEMENTS[statement](*tables[count])
        return counted.value

    for count in (FEW, MANY):  # what is looked up once, for the JVM or for a snapshot, is not to be counted
        calls(count)
    few, many = (min(calls(count) for _ in range(2)) for count in (FEW, MANY))
    assert few == many


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("properties", [{}, {"enableDeletionVectors": True}], ids=["files", "vectors"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_running_takes_less_than_a_call_for_each_column(spark, wide, statement, properties):
    def calls(count):
        change = STATEMENTS[statement](*wide(count, **properties))
        with py4j_calls(spark) as counted:
            change.run()
        return counted.value

    calls(FEW)
    assert abs(calls(SOME) - calls(FEW + 1)) < SOME // 2


def test_a_write_by_partition_takes_less_than_a_call_for_each_column(spark, tmp_path):
    def calls(count):
        path = str(tmp_path / str(count))
        rows = spark.range(0, 2, 1, 1).selectExpr(*columns(count))
        rows.write.format("delta").partitionBy("c1").save(path)
        with py4j_calls(spark) as counted:
            rows.write.format("delta").mode("append").save(path)
        return counted.value

    calls(FEW)
    assert abs(calls(SOME) - calls(FEW + 1)) < SOME // 2


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("most", [SOME, 10 * SOME])
def test_wide_rows_are_counted_so_that_spark_does_not_try_to_make_one_projection_of_two(spark, wide, monkeypatch, most):
    table, source = wide(SOME)
    write_new_files, plans = second_pass.write_new_files, []

    def noted(application, rows, *arguments, **options):
        plans.append(rows._jdf.queryExecution().optimizedPlan().toString())
        return write_new_files(application, rows, *arguments, **options)

    monkeypatch.setattr(second_pass, "_MANY_COLUMNS", most)
    monkeypatch.setattr(second_pass, "write_new_files", noted)
    result = upsert(table, source).execute()
    assert (result.num_updated_rows, result.num_inserted_rows) == (1, 1)
    assert ["CollectMetrics" in each for each in plans] == [most == SOME]


def aliases(spark, node):
    """How many columns get another id between the files that they are read from and a plan's result."""
    bridge = Jvm.of(spark)
    found = sum(aliases(spark, each) for each in bridge.list_of(node.children()))
    if node.nodeName() == "Project":
        found += sum(each.nodeName() == "Alias" for each in bridge.list_of(node.projectList()))
    return found


@pytest.mark.parametrize("statement", ["upsert", "update of one"])
@pytest.mark.parametrize("properties", [{}, {"enableDeletionVectors": True}], ids=["files", "vectors"])
def test_a_statement_gives_no_alias_to_a_column_that_it_reads(spark, wide, monkeypatch, statement, properties):
    """Spark compares each alias below a filter with all the others: 10,000 of them cost half a minute."""
    table, source = wide(SOME, **properties)
    statement_rows, plans = row_changes.statement_rows, []

    def noted(*arguments):
        plans.append(statement_rows(*arguments))
        return plans[-1]

    monkeypatch.setattr(row_changes, "statement_rows", noted)
    STATEMENTS[statement](table, source).run()
    of_rows_numbers = 1
    assert plans
    assert max(aliases(spark, each._jdf.queryExecution().analyzed()) for each in plans) <= of_rows_numbers


def test_every_column_of_a_wide_row_gets_its_own_value(spark, wide):
    table, source = wide(SOME)
    upsert(table, source).execute()
    table.update("c0 = 2", {name: f"concat({name}, 'x')" for name in source.columns[2::2]})
    found = {row["c0"]: row for row in table.toDF().collect()}
    before, changed, new = found[0], found[1], found[2]
    for number in range(1, SOME):
        kind, end = (int, 0) if number % 2 else (str, "x")
        assert (before[f"c{number}"], changed[f"c{number}"]) == (kind(number), kind(number))
        assert new[f"c{number}"] == kind(number + 1) + end
