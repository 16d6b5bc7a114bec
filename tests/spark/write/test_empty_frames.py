# SPDX-License-Identifier: Apache-2.0
"""Rows without a value: a DataFrame without columns, or with nothing but NULL that has no type, is refused on every way."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.observing import parquet_files

import bayou
from bayou.errors import DeltaError

WAYS = {
    "append": lambda rows, path, _name: rows.write.format("delta").mode("append").save(path),
    "overwrite": lambda rows, path, _name: rows.write.format("delta").mode("overwrite").save(path),
    "bayou.write": lambda rows, path, _name: bayou.write(rows, path, mode="append"),
    "mergeSchema": lambda rows, path, _name: rows.write.format("delta").mode("append").option("mergeSchema", "true").save(path),
    "overwriteSchema": lambda rows, path, _name: (
        rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    ),
    "replaceWhere": lambda rows, path, _name: (
        rows.write.format("delta").mode("overwrite").option("replaceWhere", "id = 1").save(path)
    ),
    "saveAsTable": lambda rows, _path, name: rows.write.format("delta").mode("append").saveAsTable(name),
    "saveAsTable overwrite": lambda rows, _path, name: rows.write.format("delta").mode("overwrite").saveAsTable(name),
    "insertInto": lambda rows, _path, name: rows.write.insertInto(name),
    "writeTo": lambda rows, _path, name: rows.writeTo(name).append(),
    "writeTo overwrite": lambda rows, _path, name: rows.writeTo(name).overwrite(F.lit(True)),
    "new table": lambda rows, path, _name: rows.write.format("delta").save(f"{path}-new"),
    "new name": lambda rows, _path, name: rows.write.format("delta").saveAsTable(f"{name}_new"),
}


@pytest.fixture(params=["", "partitioned by (id)"], ids=["plain", "partitioned"])
def existing(spark, table_path, name, request):
    spark.sql(f"create table {name} (id int, s string) using delta {request.param} location '{table_path}'")
    spark.sql(f"insert into {name} values (1, 'a')")
    return table_path, name


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["no column", "void", "struct of void"])
def test_rows_without_a_value_are_refused(spark, existing, way, kind):
    path, name = existing
    text = {"void": "null s", "struct of void": "named_struct('a', null) s"}
    rows = spark.range(3).select() if kind == "no column" else spark.sql(f"select {text[kind]} from range(3)")
    before = sorted(parquet_files(path))
    with pytest.raises(DeltaError) as caught:
        WAYS[way](rows, path, name)
    if kind == "no column":
        assert caught.value.getErrorClass() == "DELTA_EMPTY_DATA"
    assert sorted(parquet_files(path)) == before
    assert [tuple(row) for row in spark.table(name).collect()] == [(1, "a")]
    assert bayou.DeltaTable.forPath(spark, path).history(1).first().version == 1


def test_null_of_a_statement_is_a_value(spark, name):
    spark.sql(f"create table {name} (id int) using delta")
    spark.sql(f"insert into {name} values (null)")
    spark.sql(f"insert into {name} select null")
    assert [tuple(row) for row in spark.table(name).collect()] == [(None,), (None,)]


def test_a_stream_without_columns_is_refused(spark, tmp_path, checkpoint, existing):
    path, _ = existing
    source = str(tmp_path / "source")
    spark.range(3).write.parquet(source)
    rows = spark.readStream.schema("id bigint").parquet(source).select()
    query = rows.writeStream.format("delta").option("checkpointLocation", checkpoint).trigger(availableNow=True).start(path)
    with pytest.raises(Exception, match="DELTA_EMPTY_DATA"):
        query.awaitTermination(60)
    assert bayou.read(spark, path).count() == 1
