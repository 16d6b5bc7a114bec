# SPDX-License-Identifier: Apache-2.0
"""`format("delta")`, names by path and SQL on a classic session of a Spark whose internals bayou does not know."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

import bayou
from bayou.errors import DataFileNotFoundError, InvalidOptionError, SchemaMismatchError, SqlSyntaxError, UnsupportedFeatureError
from bayou.spark import backend
from bayou.spark.enable import enable_documented

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def session(plain_spark: SparkSession) -> Iterator[SparkSession]:
    was_so = backend.is_portable(plain_spark)
    enable_documented(plain_spark, "the test says so")
    yield plain_spark
    if not was_so:
        backend._portable.discard(plain_spark.sparkContext)


@pytest.fixture
def table(session: SparkSession, table_path: str) -> str:
    """Ten rows in two versions: `id`, `v` and the partition column `p`."""
    rows = session.range(10).selectExpr("id", "concat('v', id) AS v", "id % 2 AS p")
    rows.where("id < 6").write.format("delta").partitionBy("p").option("userMetadata", "first").save(table_path)
    rows.where("id >= 6").write.mode("append").save(table_path, format="delta")
    return f"delta.`{table_path}`"


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def test_the_reader_takes_options_a_schema_and_a_name(session: SparkSession, table: str, table_path: str) -> None:
    assert ids(session.read.format("delta").load(table_path)) == list(range(10))
    assert ids(session.read.load(table_path, format="delta", versionAsOf=0)) == list(range(6))
    assert ids(session.read.format("delta").option("versionAsOf", 0).option("path", table_path).load()) == list(range(6))
    assert ids(session.read.option("versionAsOf", 0).table(table)) == list(range(6))
    assert ids(session.table(table).where("p = 1")) == [1, 3, 5, 7, 9]
    assert session.read.format("delta").schema("id long, v string, p long").load(table_path).count() == 10
    with pytest.raises(SchemaMismatchError):
        session.read.format("delta").schema("id string").load(table_path)


def test_the_writer_knows_all_modes_and_ways(session: SparkSession, table: str, table_path: str) -> None:
    one = session.sql("SELECT 10L AS id, 'x' AS v, 0L AS p")
    with pytest.raises(AnalysisException):
        one.write.format("delta").save(table_path)
    one.write.format("delta").mode("ignore").save(table_path)
    one.write.insertInto(table)
    one.write.format("delta").mode("append").saveAsTable(table)
    one.writeTo(table).append()
    assert ids(session.table(table)) == [*range(10), 10, 10, 10]
    one.write.format("delta").mode("overwrite").option("replaceWhere", "p = 0").save(table_path)
    assert ids(session.table(table)) == [1, 3, 5, 7, 9, 10]
    one.write.insertInto(table, overwrite=True)
    one.withColumn("w", F.lit(1)).write.format("delta").options(mergeSchema=True).mode("append").save(table_path)
    assert session.table(table).columns == ["id", "v", "p", "w"]
    history = session.sql(f"DESCRIBE HISTORY {table}").orderBy("version").collect()
    assert (history[0].userMetadata, history[0].operationParameters["partitionBy"]) == ("first", '["p"]')


def test_a_table_is_created_with_properties_by_write_to(session: SparkSession, table_path: str) -> None:
    name, rows = f"delta.`{table_path}`", session.range(3).withColumn("p", F.lit(1))
    rows.writeTo(name).using("delta").partitionedBy(F.col("p")).tableProperty("delta.appendOnly", "true").create()
    assert session.sql(f"DESCRIBE DETAIL {name}").first()["partitionColumns"] == ["p"]  # type: ignore[index]
    with pytest.raises(UnsupportedFeatureError, match="columns"):
        rows.writeTo(name).partitionedBy(F.col("p") + 1)
    with pytest.raises(UnsupportedFeatureError, match="replace_where"):
        rows.writeTo(name).overwrite(F.col("p") == 1)


def test_queries_name_tables_by_path(session: SparkSession, table: str) -> None:
    assert ids(session.sql(f"SELECT * FROM {table} WHERE id > 7")) == [8, 9]
    joined = f"WITH a AS (SELECT id FROM {table} VERSION AS OF 0) SELECT b.id FROM a JOIN {table} b USING (id) WHERE b.p = 1"
    assert ids(session.sql(joined)) == [1, 3, 5]
    assert ids(session.sql(f"SELECT * FROM {table} WHERE id = ? OR v = ?", args=[1, "v2"])) == [1, 2]
    assert ids(session.sql(f"SELECT * FROM {table} WHERE id < :most", args={"most": F.lit(2)})) == [0, 1]
    assert ids(session.sql("SELECT * FROM IDENTIFIER(:name) WHERE id = :id", args={"name": table, "id": 3})) == [3]
    assert ids(session.sql("SELECT * FROM IDENTIFIER(?) WHERE v = ?", args=[table, "v3"])) == [3]
    given = session.range(4, 20)
    assert ids(session.sql(f"SELECT id FROM {{given}} WHERE id IN (SELECT id FROM {table})", given=given)) == list(range(4, 10))
    assert not [each for each in session.catalog.listTables() if each.name.startswith("bayou_")]


def test_a_query_leaves_what_is_cached(session: SparkSession, table: str) -> None:
    cached = session.table(table).cache()
    try:
        assert session.sql(f"SELECT * FROM {table}").count() == cached.count() == 10
        assert cached.storageLevel.useMemory
    finally:
        cached.unpersist()


def test_statements_change_tables(session: SparkSession, table: str, table_path: str) -> None:
    assert session.sql(f"DELETE FROM {table} WHERE id = :id", args={"id": 1}).first()[0] == 1  # type: ignore[index]
    session.sql(f"UPDATE {table} SET v = ? WHERE id IN (2, 3)", args=["x"])
    source = session.createDataFrame([(3, "m"), (30, "n")], "id long, v string")
    merge = "MERGE INTO {} t USING {{source}} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    session.sql(f"{merge.format(table)[:-1]}(id, v, p) VALUES (s.id, s.v, 0)", source=source)
    session.sql(f"INSERT INTO {table} SELECT id + 100, v, p FROM {table} WHERE id = 3")
    found = {row.id: row.v for row in session.table(table).collect()}
    assert 1 not in found
    assert [found[each] for each in (2, 3, 30, 103)] == ["x", "m", "n", "m"]
    session.sql(f"OPTIMIZE {table}")
    session.sql(f"VACUUM '{table_path}'")
    session.sql(f"ALTER TABLE {table} ADD COLUMN w INT")
    assert session.sql(f"DESCRIBE TABLE {table}").first().col_name == "id"  # type: ignore[union-attr]


def test_a_table_is_created_in_sql(session: SparkSession, table: str, table_path: str) -> None:
    session.sql(f"CREATE TABLE delta.`{table_path}_copy` USING delta AS SELECT * FROM {table} WHERE p = 0")
    assert ids(session.table(f"delta.`{table_path}_copy`")) == [0, 2, 4, 6, 8]
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW of_table AS SELECT * FROM {table} WHERE p = 1")
    try:
        assert ids(session.sql("SELECT * FROM of_table")) == [1, 3, 5, 7, 9]
    finally:
        session.catalog.dropTempView("of_table")


def test_a_stream_writes_each_batch_once(session: SparkSession, tmp_path: Path) -> None:
    given, path = str(tmp_path / "given"), str(tmp_path / "table")
    session.range(3).withColumn("p", F.lit(1)).write.parquet(given)
    stream = session.readStream.schema("id long, p int").parquet(given)
    with pytest.raises(InvalidOptionError, match="checkpoint"):
        stream.writeStream.format("delta").start(path)
    for _ in range(2):
        writer = stream.writeStream.format("delta").partitionBy("p").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).toTable(f"delta.`{path}`").awaitTermination()
    assert ids(session.table(f"delta.`{path}`")) == [0, 1, 2]
    assert session.sql(f"DESCRIBE HISTORY delta.`{path}`").count() == 1


def test_what_does_not_work_says_what_does(session: SparkSession, table: str, table_path: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"bayou\.read"):
        session.readStream.format("delta").load(table_path)
    with pytest.raises(UnsupportedFeatureError, match=r"bayou\.DeltaTable"):
        session.range(1).mergeInto(table, F.lit(True))
    with pytest.raises(UnsupportedFeatureError, match="by its path"):
        session.range(1).write.format("delta").saveAsTable("a_name")
    with pytest.raises(SqlSyntaxError, match="id"):
        session.sql(f"DELETE FROM {table} WHERE id = :id")


def test_a_job_whose_data_file_is_gone_names_it(session: SparkSession, table: str, table_path: str) -> None:
    gone = next(Path(table_path).rglob("part-*.parquet"))
    gone.unlink()
    with pytest.raises(DataFileNotFoundError, match=gone.name):
        session.sql(f"OPTIMIZE {table}")


def test_a_folder_of_a_partition_has_its_rows(session: SparkSession, table: str, table_path: str) -> None:
    assert session.table(table).count() == 10
    assert ids(bayou.read(session, f"{table_path}/p=1")) == [1, 3, 5, 7, 9]


def test_a_source_is_known_by_its_alias(session: SparkSession, table: str, table_path: str) -> None:
    target = bayou.DeltaTable.forPath(session, table_path)
    source = session.sql("SELECT 1L AS id, 'old' AS v, 1 AS at UNION ALL SELECT 1L, 'new', 2").alias("s")
    merge = target.alias("t").merge(source, "t.id = s.id", keep="latest", by="at")
    merge.whenMatchedUpdate(set={"v": "s.v"}).execute()
    assert session.table(table).where("id = 1").first().v == "new"


def test_columns_of_dataframes_are_refused_in_changes(session: SparkSession, table: str, table_path: str) -> None:
    target = bayou.DeltaTable.forPath(session, table_path)
    frame = target.toDF()
    part = frame.where("id = 1")
    with pytest.raises(UnsupportedFeatureError, match=r"columns .*id.* of a DataFrame"):
        target.delete(frame.id == 5)
    with pytest.raises(UnsupportedFeatureError, match="only columns of the source"):
        target.merge(part, frame.id == part.id).whenMatchedDelete().execute()
    assert session.table(table).count() == 10
    target.alias("t").merge(part.alias("s"), F.col("t.id") == F.col("s.id")).whenMatchedDelete().execute()
    assert session.table(table).count() == 9


def test_rows_that_turn_out_to_be_none_are_written(session: SparkSession, table: str, table_path: str) -> None:
    bayou.DeltaTable.forPath(session, table_path).addConstraint("c", "id >= 0")
    none = session.sql(f"SELECT max(id) AS id, v, p FROM {table} WHERE id + p > 50 GROUP BY v, p")
    none.write.format("delta").mode("append").option("optimizeWrite", "true").save(table_path)
    assert session.table(table).count() == 10


def test_a_table_is_not_replaced_by_rows_of_an_older_version(session: SparkSession, table_path: str) -> None:
    session.range(3).write.format("delta").save(table_path)
    old = session.read.format("delta").load(table_path).where("id < 9")
    before = bayou.open(table_path).version()
    session.range(3, 5).write.format("delta").mode("append").save(table_path)
    with pytest.raises(UnsupportedFeatureError, match="reads the table again"):
        old.write.format("delta").mode("overwrite").save(table_path)
    old.write.format("delta").mode("append").save(table_path)
    new = bayou.read(session, table_path)
    new.where("id > 1").write.format("delta").mode("overwrite").save(table_path)
    assert ids(session.table(f"delta.`{table_path}`")) == [2, 2, 3, 4]
    with pytest.raises(UnsupportedFeatureError, match="reads the table again"):
        new.write.format("delta").mode("overwrite").save(table_path)
    first = bayou.read(session, table_path, version=before)
    first.write.format("delta").mode("overwrite").save(table_path)
    assert ids(session.table(f"delta.`{table_path}`")) == [0, 1, 2]
