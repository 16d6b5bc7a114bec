# SPDX-License-Identifier: Apache-2.0
"""Tables with a column `_metadata`, which Spark calls its own facts about files by: everything works on them."""

from __future__ import annotations

import pytest
from tests.support.tables.built import file_of, without_rows

import bayou
from bayou.testing.table_builder import TableBuilder

PROPERTIES = ("enableDeletionVectors", "enableRowTracking", "enableChangeDataFeed")


@pytest.fixture(params=[("true", "true"), ("true", "false"), ("false", "true"), ("false", "false")], ids="/".join)
def kind(request):
    return dict(zip(PROPERTIES, (*request.param, "true"), strict=True))


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    "by", [pytest.param("", marks=pytest.mark.smoke), "partitioned by (`_metadata`)"], ids=["plain", "partitioned"]
)
def test_rows_change_and_are_fed_and_keep_their_ids(spark, table_path, kind, by):
    properties = ", ".join(f"'delta.{key}' = '{value}'" for key, value in kind.items())
    spark.sql(f"create table delta.`{table_path}` (id bigint, _metadata string) using delta {by} tblproperties ({properties})")
    bayou.write(spark.range(0, 10, 1, 1).selectExpr("id", "'x' _metadata"), table_path, mode="append")
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.delete("id = 3")
    table.update("_metadata = 'x' and id = 4", {"_metadata": "'u'"})
    source = spark.sql("select 5L id, 'm' _metadata union all select 50L, 'n'")
    table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    changed = {4: "u", 5: "m", 50: "n"}
    expected = [(key, changed.get(key, "x")) for key in (0, 1, 2, 4, 5, 6, 7, 8, 9, 50)]
    frame = spark.read.format("delta").load(table_path)
    assert sorted(map(tuple, frame.collect())) == expected
    assert sorted(map(tuple, frame.where("_metadata <> 'x'").collect())) == sorted(changed.items())
    fed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 2).load(table_path)
    assert sorted(map(tuple, fed.select("id", "_metadata", "_change_type").collect())) == [
        (3, "x", "delete"),
        (4, "u", "update_postimage"),
        (4, "x", "update_preimage"),
        (5, "m", "update_postimage"),
        (5, "x", "update_preimage"),
        (50, "n", "insert"),
    ]
    if kind["enableRowTracking"] == "true":
        # Spark's facts make way for the column.
        facts = frame.select("id", "__metadata.row_id", "__metadata.row_commit_version").collect()
        ids = {row.id: (row.row_id, row.row_commit_version) for row in facts}
        assert {key: row for key, (row, _) in ids.items() if key < 10} == {key: key for key, _ in expected if key < 10}
        assert [ids[key][1] for key in (0, 4, 5, 50)] == [1, 3, 4, 4]


def test_a_stream_reads_beside_vectors(spark, table_path):
    builder = TableBuilder(table_path).create({"id": "long", "_metadata": "string"})
    builder.commit(file_of(table_path, "a.parquet", {"id": [7, 8, 9], "_metadata": ["x", "x", "x"]}, **without_rows([0])))
    stream = spark.readStream.format("delta").load(table_path).writeStream.format("memory").queryName("beside_vectors")
    query = stream.trigger(availableNow=True).start()
    query.awaitTermination()
    assert sorted(map(tuple, spark.table("beside_vectors").collect())) == [(8, "x"), (9, "x")]
    spark.catalog.dropTempView("beside_vectors")
