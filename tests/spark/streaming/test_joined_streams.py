# SPDX-License-Identifier: Apache-2.0
"""Streams of several tables or of one table twice in one query, and of the table that the query writes."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812
from tests.support.operations.streams import read, run, stream
from tests.support.tables.built import ids, numbers_table

from bayou.log.delta_log import open_log


def test_a_stream_may_write_into_the_table_that_it_reads(spark, table_path, checkpoint):
    numbers_table(table_path, [1, 2])
    run(stream(spark, table_path).where("id < 100").select((F.col("id") + 100).alias("id")), checkpoint, table_path)
    assert ids(read(spark, table_path)) == [1, 2, 101, 102]
    newest = next(iter(open_log(table_path).history(1)))
    assert not newest.is_blind_append


def test_two_tables_are_joined_and_united_as_streams(spark, tmp_path, checkpoint, out):
    numbers_table(str(tmp_path / "a"), [1, 2])
    numbers_table(str(tmp_path / "b"), [2, 3])
    a, b = stream(spark, str(tmp_path / "a")), stream(spark, str(tmp_path / "b"))
    run(a.union(b), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 2, 3]
    run(a.join(b, "id"), checkpoint + "2", out)
    assert ids(read(spark, out)) == [1, 2, 2, 2, 3]


def test_a_stream_is_joined_with_a_table(spark, tmp_path, checkpoint, out):
    numbers_table(str(tmp_path / "a"), [1, 2])
    numbers_table(str(tmp_path / "b"), [2, 3])
    run(stream(spark, str(tmp_path / "a")).join(read(spark, str(tmp_path / "b")), "id"), checkpoint, out)
    assert ids(read(spark, out)) == [2]


def test_two_sources_of_one_table_in_one_query_have_each_their_own_rows(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2])
    some = stream(spark, table_path, excludeRegex="0.parquet").select("id", F.lit("some").alias("of"))
    both = stream(spark, table_path).join(some, "id", "inner")
    run(both, checkpoint, out)
    assert ids(read(spark, out)) == [2]
