# SPDX-License-Identifier: Apache-2.0
"""delta-spark sees in our tables what we wrote: rows, and what filters leave."""

from __future__ import annotations

import pytest
from tests.interop import written_tables
from tests.interop.written_tables import TABLES, TEXT, filters, matching

import bayou

pytestmark = pytest.mark.oracle


def texts(frame):
    return sorted(row[0] for row in frame.collect())


@pytest.fixture(scope="module", params=TABLES)
def written(request, spark, tmp_path_factory):
    """A table that we wrote: its name, its path, and its rows from no file."""
    path = str(tmp_path_factory.mktemp("ours") / request.param)
    return request.param, path, written_tables.write(spark, request.param, path)


def test_delta_spark_reads_the_rows_that_we_wrote(delta_spark, written):
    _, path, rows = written
    found = delta_spark.sql(f"select {TEXT.replace('*', ', '.join(rows.columns))} from delta.`{path}`")
    expected = texts(rows.selectExpr(TEXT))
    if "c_string" in rows.columns and "partitions" in path:
        expected = [text.replace('"c_string":""', '"c_string":null') for text in expected]
    assert sorted(row[0] for row in found) == sorted(expected)


def test_delta_spark_filters_leave_the_rows_that_they_leave_of_no_file(spark, delta_spark, written):
    table, path, rows = written
    conditions = filters(table)
    if table == "partitions":
        rows = rows.selectExpr(*(f"nullif({c}, '') as {c}" if c == "c_string" else c for c in rows.columns))
    rows.createOrReplaceTempView("from_no_file")
    expected = texts(spark.sql(matching("from_no_file", conditions)))
    found = sorted(row[0] for row in delta_spark.sql(matching(f"delta.`{path}`", conditions)))
    assert found == expected
    spark.catalog.dropTempView("from_no_file")


def test_delta_spark_writes_on_after_us_and_we_after_it(spark, delta_spark, table_path):
    bayou.write(spark.range(3), table_path)
    delta_spark.sql(f"insert into delta.`{table_path}` values (10)", f"delete from delta.`{table_path}` where id = 0")
    bayou.write(spark.range(20, 21), table_path, mode="append")
    delta_spark.sql(f"optimize delta.`{table_path}`")
    rows = delta_spark.sql(f"select id from delta.`{table_path}`")
    assert sorted(int(row[0]) for row in rows) == [1, 2, 10, 20]
    assert sorted(row.id for row in bayou.read(spark, table_path).collect()) == [1, 2, 10, 20]


def test_delta_spark_shows_our_history_and_detail(spark, delta_spark, table_path):
    bayou.write(spark.range(3), table_path, userMetadata="a note")
    bayou.write(spark.range(3), table_path, mode="overwrite")
    table = bayou.DeltaTable.forPath(spark, table_path)
    theirs = delta_spark.sql(f"describe history delta.`{table_path}`")
    ours = table.history()
    assert [str(row.version) for row in ours.collect()] == [row[0] for row in theirs]
    assert [row.operation for row in ours.collect()] == [row[4] for row in theirs]
    assert [row.userMetadata for row in ours.collect()] == [row[13] for row in theirs]
    assert [str(row.operationParameters) for row in ours.collect()] == [row[5] for row in theirs]
    (detail,) = delta_spark.sql(f"describe detail delta.`{table_path}`")
    found = table.detail().first()
    shown = [None if value is None else str(value) for value in found]
    names = list(found.asDict())
    for name in ("format", "id", "location", "numFiles", "sizeInBytes", "minReaderVersion", "minWriterVersion"):
        assert shown[names.index(name)] == detail[names.index(name)], name
