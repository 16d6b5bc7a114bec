# SPDX-License-Identifier: Apache-2.0
"""What a MERGE on a Connect session takes of its source, and of queries and functions in its clauses."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812
from tests.connect.dml.merge.sources import merged, new, source_of

from bayou.errors import InvalidOptionError, UnsupportedFeatureError


def test_the_latest_of_several_rows_of_a_key_is_taken(spark, make, rows):
    source = spark.sql(
        "select * from values (1L, 'old', 1), (1L, 'new', 2), (99L, 'a', 5), (99L, 'b', 6), (null, 'x', 1) s (id, v, at)"
    )
    merge = make().alias("t").merge(source.alias("s"), "t.id = s.id and t.v != 'no'", keep="latest", by="at")
    result = merge.whenMatchedUpdate(set={"v": "s.v"}).whenNotMatchedInsert(values={"id": "s.id", "v": "s.v"}).execute()
    assert (result.num_updated_rows, result.num_inserted_rows) == (1, 2)
    assert [row for row in rows("coalesce(id, -1) as id, v") if row[0] in (-1, 1, 99)] == [(-1, "x"), (1, "new"), (99, "b")]


def test_the_latest_row_needs_equalities_and_a_plain_order(spark, make):
    table, source = make().alias("t"), source_of(spark, *new(1)).alias("s")
    with pytest.raises(InvalidOptionError, match="equalities"):
        table.merge(source, "t.id = s.id and t.v < s.v", keep="latest", by="v").whenMatchedDelete().execute()
    for by in (F.col("v").desc(), "v desc", F.col("v").alias("w")):
        with pytest.raises(InvalidOptionError, match="a direction or a name"):
            table.merge(source, "t.id = s.id", keep="latest", by=by).whenMatchedDelete().execute()


def test_scalar_subqueries_of_clauses_read_tables_by_path(spark, make, rows, table_path):
    make()
    source_of(spark, *new(1, 3, 50)).createOrReplaceTempView("new_rows")
    spark.sql(
        f"merge into delta.`{table_path}` t using new_rows s on t.id = s.id "
        f"when matched and t.id < (select avg(id) from delta.`{table_path}` where id < 4) "
        f"then update set v = (select max(v) from delta.`{table_path}`) "
        "when matched and exists (select 1 from new_rows) then delete "
        "when not matched then insert (id, part, v) values (s.id, s.part, (select count(*) from new_rows))"
    )
    assert rows("id, v")[1:3] == [(1, "v9"), (2, "v2")]
    assert 3 not in {row[0] for row in rows("id, v")}
    assert rows("id, v")[-1] == (50, "3")


def test_conditions_may_call_functions_that_bayou_does_not_know(spark, make, rows):
    is_odd = F.udf(lambda number: number % 2 == 1, "boolean")
    source = source_of(spark, *new(1, 2, 3))
    table = make()
    merged(table, source).whenMatchedDelete(is_odd(F.col("t.id"))).execute()
    assert [row[0] for row in rows()][:4] == [0, 2, 4, 5]
    with pytest.raises(UnsupportedFeatureError, match="Non-deterministic"):
        merged(table, source).whenMatchedDelete(is_odd.asNondeterministic()(F.col("t.id"))).execute()
