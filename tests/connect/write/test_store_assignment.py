# SPDX-License-Identifier: Apache-2.0
"""INSERT on Connect casts its rows as the session's store assignment says, whatever its other settings."""

from __future__ import annotations

import contextlib
import datetime as dt
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, ArithmeticException, NumberFormatException
from pyspark.sql import Row

import bayou
from bayou.errors import DeltaError

POLICY = "spark.sql.storeAssignmentPolicy"
ANSI = "spark.sql.ansi.enabled"


@contextlib.contextmanager
def setting(spark, name, value):
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)


@pytest.fixture
def table(spark, table_path):
    """A table with columns of several types."""
    query = "select 0L id, 0Y b, 0 i, 1.5D f, date'2024-02-03' d, named_struct('x', 1, 'y', 's') s where false"
    bayou.write(spark.sql(query), table_path)
    return f"delta.`{table_path}`"


def rows(spark, table):
    return sorted((tuple(row) for row in spark.table(table).collect()), key=repr)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_legacy_casts_truncate_or_make_null(spark, table, ansi):
    with setting(spark, POLICY, "LEGACY"), setting(spark, ANSI, ansi):
        spark.sql(f"insert into {table} values ('x', 300, 3000000000L, '1.5', 'no', struct('7', 2))")
        spark.sql(f"insert into {table} values ('12.7', 1e10D, -1e10D, true, timestamp'2024-01-01 05:00:00', null)")
        spark.sql(f"insert into {table} values (double('NaN'), -129, 1234567890123.9BD, null, null, null)")
    found = rows(spark, table)
    assert found[0][:3] == (0, 127, 1912276171)
    assert found[1] == (12, -1, -2147483648, 1.0, dt.date(2024, 1, 1), None)
    assert found[2] == (None, 44, -1294967296, 1.5, None, Row(x=7, y="2"))


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_values_that_do_not_fit_are_sparks_errors(spark, table, ansi):
    with setting(spark, ANSI, ansi):
        with pytest.raises(ArithmeticException, match=r"CAST_OVERFLOW_IN_TABLE_INSERT[^`]*`b`"):
            spark.sql(f"insert into {table} (b) values (300)")
        with pytest.raises(NumberFormatException, match=r"CAST_INVALID_INPUT.*'x'"):
            spark.sql(f"insert into {table} (i) values ('x')")
    assert rows(spark, table) == []


def test_strict_casts_lose_nothing(spark, table):
    with setting(spark, POLICY, "STRICT"):
        with pytest.raises(AnalysisException, match="INCOMPATIBLE_DATA_FOR_TABLE"):
            spark.sql(f"insert into {table} (i) values (1L)")
        spark.sql(f"insert into {table} (id, f) values (1Y, 2)")
    assert rows(spark, table)[0][:4] == (1, None, None, 2.0)


def test_fields_of_structs_match_by_position(spark, table):
    spark.sql(f"insert into {table} (s) select struct('1', 2)")
    spark.sql(f"insert into {table} select '7', 1, 2, 3, '2024-02-03', named_struct('y', 1, 'x', '2')")
    spark.sql(f"insert into {table} select v, v, v, v, d, named_struct('p', v, 'q', v) v from (select '1' v, '2024-01-01' d)")
    assert sorted(row[5] for row in rows(spark, table)) == [Row(x=1, y="1"), Row(x=1, y="2"), Row(x=1, y="2")]


def test_an_update_follows_the_policy(spark, table):
    spark.sql(f"insert into {table} (id) values (1)")
    with setting(spark, POLICY, "LEGACY"):
        spark.sql(f"update {table} set b = 300, i = 'x'")
    assert rows(spark, table)[0][1:3] == (44, None)


def test_errors_are_exceptions_of_pyspark(spark, table):
    with pytest.raises(AnalysisException, match="DELTA_METADATA_MISMATCH"):
        spark.sql("select 1 nobody").write.format("delta").mode("append").save(table[7:-1])


def test_columns_without_a_value_follow_the_session(spark, table):
    fills, missing = "spark.sql.defaultColumn.useNullsForMissingDefaultValues", "Cannot find data for the output column `b`"
    with setting(spark, fills, "false"), pytest.raises(AnalysisException, match=missing):
        spark.sql(f"insert into {table} (id) values (1)")
    with pytest.raises(AnalysisException, match="nobody"):
        spark.sql(f"insert with schema evolution into {table} (id, nobody) values (1, 2)")
    assert rows(spark, table) == []


def test_a_failed_write_leaves_no_file(spark, table, table_path):
    before = sorted(Path(table_path).rglob("*"))
    with pytest.raises(ArithmeticException):
        spark.sql(f"insert into {table} (b) values (300)")
    with pytest.raises(DeltaError):
        spark.sql("select 1L id, 5L b").write.format("delta").mode("overwrite").option("replaceWhere", "id = 2").save(table_path)
    assert sorted(Path(table_path).rglob("*")) == before
