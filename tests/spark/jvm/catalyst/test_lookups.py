# SPDX-License-Identifier: Apache-2.0
"""Values are looked up among bounds, numbers by their place, and keys send rows to the task that they are for."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.plan.maintenance.cells import keys_of_tasks
from bayou.spark.jvm.catalyst.lookups import bounds_of, looked_up, place_in, rank
from bayou.spark.jvm.core.bridge import Jvm

BOUNDS = {
    "int": ("array(1, 5, 2)", "cast({} as int)"),
    "long": ("array(1L, 5L, 2L)", "{}"),
    "double": ("array(1.0D, 5.0D, 2.0D)", "cast({} as double)"),
    "object": ("array('1', '5', '2')", "cast({} as string)"),
}


@pytest.mark.parametrize("kind", BOUNDS)
@pytest.mark.parametrize("generates", ["true", "false"])
def test_a_rank_counts_the_bounds_of_the_group_that_are_at_most_the_value(spark, kind, generates):
    array, value = BOUNDS[kind]
    jvm = Jvm.of(spark)
    (bounds,) = bounds_of(jvm, spark.sql(f"select {array} as v, '2,1,0' as sizes"), [kind])
    rows = spark.range(0, 7, 1, 1).crossJoin(spark.range(0, 3, 1, 1).selectExpr("cast(id as int) as g"))
    rows = rows.selectExpr("id", "g", f"if(id = 6, null, {value.format('id')}) as v")
    spark.conf.set("spark.sql.codegen.wholeStage", generates)
    try:
        found = rows.select("id", "g", rank(jvm, spark, bounds, F.col("g"), F.col("v"))).collect()
    finally:
        spark.conf.unset("spark.sql.codegen.wholeStage")
    groups = [[1, 5], [2], []]
    assert {tuple(each) for each in found} == {
        (number, group, None if number == 6 else sum(bound <= number for bound in bounds_of_group))
        for number in range(7)
        for group, bounds_of_group in enumerate(groups)
    }


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float64()], ids=str)
def test_numbers_are_found_by_their_place(spark, kind):
    jvm = Jvm.of(spark)
    values = pa.array([7, 8, 9], pa.int64()).cast(kind)
    place = place_in(jvm, spark, pa.array([10, 20, 30], pa.int64()), F.col("id"))
    rows = spark.range(10, 40, 10, 1).union(spark.range(25, 26, 1, 1)).select("id", looked_up(jvm, values, place))
    assert [tuple(each) for each in rows.collect()] == [(10, 7), (20, 8), (30, 9), (25, None)]


def test_a_key_is_sent_to_the_task_that_it_is_for(spark):
    keys = keys_of_tasks(11)
    rows = spark.createDataFrame([(task, key) for task, key in enumerate(keys)], "task int, key int").repartition(11, "key")
    assert all(row.task == row.at for row in rows.select("task", F.spark_partition_id().alias("at")).collect())
