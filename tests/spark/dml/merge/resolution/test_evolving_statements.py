# SPDX-License-Identifier: Apache-2.0
"""MERGE INTO as SQL with columns and fields that the table lacks, or that the source lacks."""

from __future__ import annotations

import contextlib

import pytest
from pyspark.errors import AnalysisException
from tests.support.operations.statements import BOTH, SAYS_SO, rows, setting

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"


@pytest.mark.smoke
@pytest.mark.parametrize(
    "says_so", [pytest.param(True, marks=pytest.mark.skipif(not SAYS_SO, reason="Spark 4 has the words")), False]
)
def test_a_statement_adds_columns_and_leaves_those_that_the_source_lacks(spark, people, says_so):
    words = "with schema evolution " if says_so else ""
    with contextlib.nullcontext() if says_so else setting(spark, AUTO_MERGE, "true"):
        spark.sql(f"merge {words}into {people} t using (select explode(array(2L, 3L)) id, 7 age) s on t.id = s.id {BOTH}")
        spark.sql(f"merge {words}into {people} using (select 4L id) s on {people}.id = s.id when not matched then insert *")
        assert spark.table(people).columns == ["id", "name", "age"]
        assert rows(spark, people) == [(1, "a", None), (2, "b", 7), (3, None, 7), (4, None, None)]
        one = "using (select 1L id, 1.5D w, 9 u) s on t.id = s.id when matched then update set w = s.w"
        spark.sql(f"merge {words}into {people} t {one}")
    assert spark.table(people).columns == ["id", "name", "age", "w"]
    assert rows(spark, people)[0] == (1, "a", None, 1.5)


def test_without_evolution_the_source_of_a_star_has_all_columns(spark, people):
    with pytest.raises(AnalysisException):
        spark.sql(f"merge into {people} t using (select 4L id) s on t.id = s.id when not matched then insert *")
    with pytest.raises(AnalysisException):
        spark.sql(f"merge into {people} t using (select 1L id, 2 w) s on t.id = s.id when matched then update set w = s.w")
    assert rows(spark, people) == [(1, "a"), (2, "b")]


@pytest.mark.smoke
def test_fields_of_structs_in_arrays_and_maps_go_by_their_names(spark, table_path):
    target = f"delta.`{table_path}`"
    spark.sql(
        f"create table {target} (id int, l array<struct<a: int, b: string>>, m map<string, struct<a: int, b: string>>) using delta"
    )
    spark.sql(f"insert into {target} values (1, null, null)")
    values = "array(named_struct('b', 'x', 'a', 5L)) l, map('k', named_struct('b', 'y', 'a', 6L)) m"
    spark.sql(f"merge into {target} t using (select explode(array(1, 2)) id, {values}) s on t.id = s.id {BOTH}")
    found = spark.sql(f"select id, l[0].a, l[0].b, m['k'].a, m['k'].b from {target} order by id").collect()
    assert list(map(tuple, found)) == [(1, 5, "x", 6, "y"), (2, 5, "x", 6, "y")]
