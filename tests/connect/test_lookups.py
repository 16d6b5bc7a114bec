# SPDX-License-Identifier: Apache-2.0
"""Binary searches by higher-order functions give what Python's `bisect` gives."""

from __future__ import annotations

import random
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.portable.lookups import PortableLookups

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOKUPS = PortableLookups()
DRAWN = random.Random(7)
KINDS = {"date": "date_add(DATE'2026-01-01', CAST({} AS INT))", "string": "concat('é', lpad(CAST({} AS STRING), 4, '0'))"}
"""SQL of a value of each kind that has the order of a number."""


@pytest.mark.parametrize("kind", ["bigint", "string", "double", "date"])
@pytest.mark.parametrize("sizes", [[5], [0, 1, 16], [3, 0, 7, 2]])
def test_ranks_count_the_bounds_of_a_group(spark: SparkSession, kind: str, sizes: list[int]) -> None:
    groups = [sorted(DRAWN.sample(range(100, 200), size)) for size in sizes]
    of_kind = KINDS.get(kind, f"CAST({{}} AS {kind})")
    texts = ", ".join(of_kind.format(value) for group in groups for value in group)
    row = spark.sql(f"SELECT array({texts}) AS v, '{','.join(map(str, sizes))}' AS v_sizes")
    (bounds,) = LOOKUPS.bounds_of(row, [""])
    values = spark.sql(f"SELECT CAST(g.id AS INT) AS g, CAST(v.id AS INT) + 95 AS v FROM range({len(sizes)}) g, range(110) v")
    found = values.select("g", "v", LOOKUPS.rank(bounds, F.col("g"), F.expr(of_kind.format("v"))).alias("rank")).collect()
    assert [each.rank for each in found] == [bisect_right(groups[each.g], each.v) for each in found]
    nothing = values.limit(1).select(LOOKUPS.rank(bounds, F.col("g"), F.expr(f"CAST(NULL AS {kind})")).alias("rank"))
    assert nothing.collect()[0].rank is None


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65])
def test_places_are_those_of_equal_values(spark: SparkSession, count: int) -> None:
    values: list[Any] = sorted(DRAWN.sample(range(200), count))
    array = pa.array(values, pa.int64())
    rows = spark.range(200).select("id", LOOKUPS.place_in(array, F.col("id")).alias("place")).collect()
    assert all((row.place == values.index(row.id)) if row.id in values else row.place < 0 for row in rows)
    looked = spark.range(-1, count + 1).select("id", LOOKUPS.looked_up(array, F.col("id").cast("int")).alias("value")).collect()
    assert [row.value for row in looked] == [None, *values, None]
