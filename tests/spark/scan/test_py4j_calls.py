# SPDX-License-Identifier: Apache-2.0
"""What planning asks of the JVM does not grow with the number of files: a round trip for each would cost minutes."""

from __future__ import annotations

import pytest
from tests.support.observing import jobs, physical_plans, py4j_calls
from tests.support.tables.built import numbers, only_log

import bayou
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.deletion_vectors.descriptor import encode_inline
from bayou.testing.table_builder import TableBuilder, add

FEW, MANY = 10, 1_000


def partitioned_log(path, count):
    stats = '{"numRecords":10}'
    files = (add(f"p={i % 100}/{i}.parquet", stats=stats, partitionValues={"p": str(i % 100)}) for i in range(count))
    return TableBuilder(path).create({"id": "long", "p": "integer"}, partition_by=["p"]).commit(*files)


def vectors_log(path, count):
    return only_log(path, count, deletionVector=encode_inline([1, 3]).to_json())


def odd_names_log(path, count):
    return TableBuilder(path).create().commit(*(add(f"a%20b/{i}%25.parquet") for i in range(count)))


KINDS = {"plain": only_log, "partitions": partitioned_log, "vectors": vectors_log, "odd names": odd_names_log}


def plan_all(frame):
    """Everything that lists files, without a job: the physical plan, its partitions, the size, and the input files."""
    plan = frame._jdf.queryExecution()
    plan.optimizedPlan().stats().sizeInBytes()
    return plan.executedPlan().execute().getNumPartitions()


ACTIONS = {
    "plan": plan_all,
    "filtered plan": lambda frame: plan_all(frame.where("id < 50")),
    "inputFiles": lambda frame: frame._jdf.inputFiles(),
    "count": lambda frame: frame.groupBy().count()._jdf.queryExecution().executedPlan(),
    "limit": lambda frame: plan_all(frame.limit(25)),
}


def calls_of(spark, path, action):
    frame = bayou.read(spark, path)
    with py4j_calls(spark) as calls:
        ACTIONS[action](frame)
    return calls.value


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_calls_is_the_same_for_few_files_and_for_many(spark, tmp_path, kind, action):
    for count in (FEW, MANY):
        KINDS[kind](str(tmp_path / str(count)), count)
    for count in (FEW, MANY):  # what is looked up once, for the JVM or for a snapshot, is not to be counted
        calls_of(spark, str(tmp_path / str(count)), action)
    # The least of several: what the session does from time to time may fall into one.
    few, many = (min(calls_of(spark, str(tmp_path / str(count)), action) for _ in range(3)) for count in (FEW, MANY))
    assert few == many


def test_vectors_that_a_condition_carries_cost_the_same_number_of_calls(spark, tmp_path):
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    for count in (FEW, MANY):
        vectors_log(str(tmp_path / str(count)), count)
    for count in (FEW, MANY):  # what is looked up once, for the JVM or for a snapshot, is not to be counted
        calls_of(session, str(tmp_path / str(count)), "plan")
    few, many = (min(calls_of(session, str(tmp_path / str(count)), "plan") for _ in range(3)) for count in (FEW, MANY))
    assert few == many


def test_a_partition_filter_costs_the_same_number_of_calls(spark, tmp_path):
    for count in (FEW, MANY):
        partitioned_log(str(tmp_path / str(count)), count)

    def calls(count, condition):
        frame = bayou.read(spark, str(tmp_path / str(count))).where(condition)
        with py4j_calls(spark) as counted:
            plan_all(frame)
        return counted.value

    for count in (FEW, MANY):  # what is looked up once, for the JVM or for a snapshot, is not to be counted
        calls(count, "p % 2 = 1")
    assert calls(FEW, "p % 2 = 1") == calls(MANY, "p % 2 = 1")


def test_a_hundred_thousand_files_cost_no_more_calls_and_no_job(spark, tmp_path):
    few, many = str(tmp_path / "few"), str(tmp_path / "many")
    only_log(few, FEW)
    only_log(many, 100_000)
    for what in ("inputFiles", "filtered plan"):  # some things are asked once for an application
        calls_of(spark, few, what)
    with jobs(spark) as ran:
        assert calls_of(spark, many, "inputFiles") == calls_of(spark, few, "inputFiles")
        assert calls_of(spark, many, "filtered plan") == calls_of(spark, few, "filtered plan")
        assert len(bayou.read(spark, many).inputFiles()) == 100_000
    assert ran.value == 0


def test_a_further_query_over_one_table_costs_no_more_than_the_one_before(spark, table_path):
    only_log(table_path, FEW)
    frame = bayou.read(spark, table_path)
    seen = []
    for _ in range(3):
        with py4j_calls(spark) as calls:
            plan_all(frame.where("id < 50"))
        seen.append(calls.value)
    assert seen[1] == seen[2]


def table_with_vectors(path, touched, untouched=0):
    """Files of ten numbers each: some are there, and the others, whose statistics rule them out, are in the log alone."""
    there = [numbers(path, f"{i}.parquet", range(i * 10, i * 10 + 10)) for i in range(touched)]
    stats = '{"numRecords":10,"minValues":{"id":-9},"maxValues":{"id":-1},"nullCount":{"id":0}}'
    others = [add(f"other-{i}.parquet", stats=stats) for i in range(untouched)]
    protocol = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    configuration = {"delta.enableDeletionVectors": "true"}
    return TableBuilder(path).create(protocol=protocol, configuration=configuration).commit(*there, *others)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("many", [(500, 0), (FEW, 10_000)], ids=["many files", "few of very many files"])
def test_a_delete_by_vectors_is_one_query_and_asks_no_more_for_many_files(spark, tmp_path, many):
    sizes = {"few": (FEW, 0), "many": many}
    for name, files in sizes.items():
        table_with_vectors(str(tmp_path / name), *files)

    def calls(name, digit):
        table = bayou.DeltaTable.forPath(spark, str(tmp_path / name))
        with physical_plans(spark) as plans, jobs(spark) as ran, py4j_calls(spark) as found:
            result = table.delete(f"id > 0 and id % 10 = {digit}")
        # Spark counts what comes before a shuffle as a job of its own.
        assert (len(plans), ran.value, result.num_scanned_files) == (1, 2, sizes[name][0])
        assert result.num_affected_rows == result.metrics["numDeletionVectorsAdded"] == sizes[name][0]
        return found.value

    for name in sizes:  # what is looked up once, for the JVM or for a table, is not to be counted
        calls(name, 1)
    few, many_files = (min(calls(name, digit) for digit in (2, 3, 4)) for name in sizes)
    assert few == many_files


SOME = 40
"""Files of which one task alone does not write the changed rows, as it does for very few."""


def updated(table, digit):
    return table.update(f"id > 0 and id % 10 = {digit}", {"id": "-id"})


def merged(table, digit):
    spark = table.toDF().sparkSession
    keys = spark.range(digit, 10 * MANY, 10).alias("s")
    return table.alias("t").merge(keys, "t.id = s.id").whenMatchedUpdate(set={"id": "-t.id"}).execute()


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("change", [updated, merged])
@pytest.mark.parametrize("many", [(300, 0), (SOME, 10_000)], ids=["many files", "few of very many files"])
def test_an_update_and_a_merge_by_vectors_ask_no_more_and_start_no_more_jobs_for_many_files(spark, tmp_path, many, change):
    sizes = {"few": (SOME, 0), "many": many}
    for name, files in sizes.items():
        table_with_vectors(str(tmp_path / name), *files)

    def cost(name, digit):
        table = bayou.DeltaTable.forPath(spark, str(tmp_path / name))
        with jobs(spark) as ran, py4j_calls(spark) as found:
            result = change(table, digit)
        assert result.num_updated_rows == sizes[name][0]
        return ran.value, found.value

    for name in sizes:  # what is looked up once, for the JVM or for a table, is not to be counted
        cost(name, 1)
    few, many_files = (min(cost(name, digit) for digit in (2, 3, 4)) for name in sizes)
    assert few == many_files


def test_conditions_and_values_in_sql_ask_nothing_of_the_dataframes_that_a_table_gave(spark, table_path):
    rows = spark.range(3).selectExpr("id", *(f"cast({number} as int) c{number}" for number in range(20)))
    rows.write.format("delta").save(table_path)
    source = spark.range(3)

    def calls(frames):
        table = bayou.DeltaTable.forPath(spark, table_path)
        given = [table.toDF() for _ in range(frames)]
        merge = table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedUpdate(set={"c1": "t.c2 + 1"})
        with py4j_calls(spark) as found:
            table.plan_delete("id = 7")
            table.plan_update("id = 7", {"c1": "5"})
            merge.plan()
        assert len(given) == frames
        return found.value

    calls(1)
    none, many = (min(calls(frames) for _ in range(3)) for frames in (0, 20))
    assert none == many
