# SPDX-License-Identifier: Apache-2.0
"""The row of counts that UPDATE, DELETE and MERGE INTO give."""

from __future__ import annotations

import pyspark
import pytest
from tests.support.operations.statements import BOTH, rows


@pytest.mark.smoke
def test_a_statement_gives_its_row_of_counts(spark, people):
    def given(text):
        frame = spark.sql(text)
        assert all(each.nullable and each.dataType.simpleString() == "bigint" for each in frame.schema)
        return [row.asDict() for row in frame.collect()]

    everyone = {"num_affected_rows": 2, "num_updated_rows": 1, "num_deleted_rows": 0, "num_inserted_rows": 1}
    merge = f"merge into {people} t using (select explode(array(2L, 3L)) id, 'm' name) s on t.id = s.id {BOTH}"
    assert given(merge) == [everyone]
    assert given(f"update {people} set name = 'u' where id < 3") == [{"num_affected_rows": 2}]
    assert given(f"update {people} set name = 'u' where id = 30") == [{"num_affected_rows": 0}]
    assert given(f"delete from {people} t where t.id = 1 or t.id = 3") == [{"num_affected_rows": 2}]
    assert given(f"delete from {people}") == [{"num_affected_rows": 1}]
    assert spark.sql(f"delete from {people}").select("num_affected_rows").first()[0] == 0


@pytest.mark.skipif(pyspark.__version__.startswith(("3.", "4.0.")), reason="its parser is not told of parameters")
def test_a_statement_with_parameters_gives_its_row_of_counts(spark, people):
    deleted = spark.sql(f"delete from {people} where id = :id", args={"id": 1})
    updated = spark.sql(f"update {people} set name = ? where id = ?", args=["x", 2])
    assert deleted.collect() == updated.collect() == [(1,)]
    assert rows(spark, people) == [(2, "x")]


def test_the_row_of_counts_is_not_a_second_run(spark, people):
    deleted = spark.sql(f"delete from {people} where id = 1")
    spark.sql(f"insert into {people} values (1, 'again')")
    assert deleted.collect() == deleted.collect() == [(1,)]
    assert rows(spark, people) == [(1, "again"), (2, "b")]
