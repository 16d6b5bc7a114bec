# SPDX-License-Identifier: Apache-2.0
"""Names of tables on a stock session: what they stand for, in which session, on which thread and at which time."""

from __future__ import annotations

import shutil
import threading

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.tables.built import ids
from tests.support.tables.queried import entry_of, log_of

import bayou
from bayou.errors import DeltaError, InvalidOptionError, UnsupportedFeatureError


@pytest.mark.smoke
def test_a_name_may_have_the_catalog_before_it(spark, name):
    full = f"spark_catalog.default.{name}"
    made = bayou.DeltaTable.create(spark).tableName(full).addColumn("id", "long").comment("first").execute()
    assert made.toDF().count() == 0
    spark.range(1).write.format("delta").mode("append").saveAsTable(full)
    spark.range(1, 2).write.insertInto(full)
    spark.range(2, 3).writeTo(full).append()
    spark.sql(f"INSERT INTO {full} VALUES (3)")
    spark.sql(f"DELETE FROM {full} WHERE id = 0")
    table = bayou.DeltaTable.forName(spark, full)
    table.update("id = 3", {"id": "30"})
    assert ids(spark.table(full)) == ids(table.toDF()) == [1, 2, 30]
    assert table.detail().first().name == bayou.DeltaTable.forName(spark, name).alias("t").detail().first().name == full
    for other in (f"elsewhere.default.{name}", f"spark_catalog.a.b.{name}"):
        with pytest.raises(InvalidOptionError, match="not the name of a table in the session's catalog"):
            bayou.DeltaTable.forName(spark, other)


def test_names_resolve_in_views_after_a_refresh_and_on_a_session_that_was_made_later(spark, name):
    spark.range(3).write.format("delta").saveAsTable(name)
    spark.sql(f"CREATE OR REPLACE VIEW {name}_view AS SELECT id FROM {name} WHERE id > 0")
    try:
        assert ids(spark.table(f"{name}_view")) == [1, 2]
        spark.sql(f"REFRESH TABLE {name}")
        spark.sql("CLEAR CACHE")
        assert ids(spark.table(name)) == [0, 1, 2]
        later = spark.newSession()
        assert ids(later.table(name)) == [0, 1, 2]
        later.range(3, 4).write.format("delta").mode("append").saveAsTable(name)
        assert ids(spark.table(f"{name}_view")) == [1, 2, 3]
    finally:
        spark.sql(f"DROP VIEW {name}_view")


def test_several_threads_write_to_a_name(spark, name):
    spark.range(0).write.format("delta").saveAsTable(name)
    failed = []

    def append(number):
        try:
            spark.range(number, number + 1).write.format("delta").mode("append").saveAsTable(name)
        except Exception as error:  # noqa: BLE001  (shown below)
            failed.append(error)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed, str(failed[0])
    assert ids(spark.table(name)) == [0, 1, 2, 3]


def test_tables_of_other_sources_are_sparks(spark, other_name):
    spark.range(2).write.format("parquet").saveAsTable(other_name)
    spark.range(2).write.format("parquet").mode("append").saveAsTable(other_name)
    spark.sql(f"INSERT INTO {other_name} VALUES (7)")
    assert ids(spark.table(other_name)) == [0, 0, 1, 1, 7]
    assert entry_of(spark, other_name)["Provider"].lower() == "parquet"
    spark.sql(f"DROP TABLE {other_name}")
    spark.sql(f"CREATE TABLE {other_name} USING json AS SELECT 1 AS a")
    assert spark.table(other_name).count() == 1
    assert spark.sql(f"SHOW TBLPROPERTIES {other_name}").count() == 0


def test_a_catalog_that_cannot_be_loaded_stays_and_delta_is_a_source_of_the_older_kind(spark):
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", "org.example.Catalog")
    with pytest.warns(UserWarning, match=r"org\.example\.Catalog"):
        bayou.enable(session)
    assert session.conf.get("spark.sql.catalog.spark_catalog") == "org.example.Catalog"
    assert "delta" in session.conf.get("spark.sql.sources.useV1SourceList").split(",")


@pytest.mark.smoke
def test_a_name_travels_to_a_version_and_to_a_time(spark, name):
    spark.range(1).write.format("delta").saveAsTable(name)
    spark.range(1, 3).write.format("delta").mode("append").saveAsTable(name)
    assert ids(spark.sql(f"SELECT * FROM {name} VERSION AS OF 0")) == [0]
    both = spark.sql(f"SELECT (SELECT count(*) FROM {name} VERSION AS OF 0) old, (SELECT count(*) FROM {name}) new").first()
    assert tuple(both) == (1, 3)
    location = log_of(spark, name).table_uri.removeprefix("file://")
    assert ids(spark.sql(f"SELECT * FROM delta.`{location}` VERSION AS OF 0")) == [0]
    at = log_of(spark, name).snapshot(0).timestamp
    assert ids(spark.sql(f"SELECT * FROM {name} TIMESTAMP AS OF timestamp_millis({at})")) == [0]
    assert ids(spark.read.option("versionAsOf", 0).table(name)) == [0]
    with pytest.raises(DeltaError):
        spark.sql(f"SELECT * FROM {name} VERSION AS OF 7").collect()


def test_a_session_that_asks_for_delta_sparks_catalog_without_its_jar_gets_ours(spark, name):
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    bayou.enable(session)
    session.range(2).write.format("delta").saveAsTable(name)
    assert ids(session.table(name)) == [0, 1]


def test_rows_change_by_statements_on_a_thread_where_no_session_is_active(spark, name):
    spark.range(4).withColumn("v", F.lit(0)).write.format("delta").saveAsTable(name)
    failed = []

    def change():
        try:
            spark.sql(f"DELETE FROM {name} WHERE id = 0")
            spark.sql(f"UPDATE {name} SET v = 1 WHERE id = 1")
            spark.sql(f"MERGE INTO {name} t USING (SELECT 2L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
        except Exception as error:  # noqa: BLE001  (shown below)
            failed.append(error)

    thread = threading.Thread(target=change)
    thread.start()
    thread.join()
    assert not failed, str(failed[0])
    assert sorted(map(tuple, spark.table(name).collect())) == [(1, 1), (3, 0)]


@pytest.mark.smoke
@pytest.mark.parametrize("source", ["parquet", "json"])
def test_a_table_is_not_dropped_for_one_of_another_source(spark, name, source):
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta")
    spark.sql(f"INSERT INTO {name} VALUES (1), (2)")
    with pytest.raises(UnsupportedFeatureError, match="Spark would drop it before it reads the rows"):
        spark.range(3).write.format(source).mode("overwrite").saveAsTable(name)
    assert ids(spark.table(name)) == [1, 2]
    spark.sql(f"DROP TABLE {name}")
    spark.range(3).write.format(source).mode("overwrite").saveAsTable(name)
    assert entry_of(spark, name)["Provider"] == source


@pytest.mark.smoke
def test_a_table_whose_files_are_gone_is_overwritten(spark, name):
    spark.range(2).write.format("delta").saveAsTable(name)
    shutil.rmtree(log_of(spark, name).table_uri.removeprefix("file://"))
    with pytest.raises(DeltaError):
        spark.range(3).write.format("delta").mode("append").saveAsTable(name)
    spark.range(3).write.format("delta").mode("overwrite").saveAsTable(name)
    assert ids(spark.table(name)) == [0, 1, 2]
