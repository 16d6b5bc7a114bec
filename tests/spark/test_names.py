# SPDX-License-Identifier: Apache-2.0
"""Tables with names, on a stock session: every verb of Spark that names a table reaches the table's log."""

from __future__ import annotations

import json
import shutil
import threading
import uuid
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, NumberFormatException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.spark.tables import ids

import bayou
from bayou.errors import (
    ConstraintViolationError,
    DeltaError,
    InvalidOptionError,
    InvalidSchemaError,
    SchemaMismatchError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)


@pytest.fixture
def name(spark):
    """A name in the catalog that nobody has."""
    found = f"t_{uuid.uuid4().hex[:8]}"
    yield found
    spark.sql(f"DROP TABLE IF EXISTS {found}")


def log_of(spark, name):
    return bayou.open(bayou.DeltaTable.forName(spark, name).detail().first().location)


def operations(spark, name):
    return [each.operation for each in reversed(log_of(spark, name).history())]


def entry_of(spark, name):
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    return {row.col_name: row.data_type for row in rows}


def people(spark, *rows):
    return spark.createDataFrame(list(rows), "id long, name string")


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
        with pytest.raises(InvalidOptionError, match="no name of a table in the session's catalog"):
            bayou.DeltaTable.forName(spark, other)


def test_the_comment_is_what_the_log_says_last(spark, name):
    spark.sql(f"CREATE TABLE {name} (id LONG, p INT) USING delta PARTITIONED BY (p) COMMENT 'first'")
    for text in ("first", "second"):
        if text == "second":
            spark.sql(f"COMMENT ON TABLE {name} IS '{text}'")
        assert spark.catalog.getTable(name).description == text
        assert [each.description for each in spark.catalog.listTables() if each.name == name] == [text]
        assert entry_of(spark, name)["Comment"] == text
        assert "comment" not in {row.key for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    spark.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('comment')")
    assert spark.catalog.getTable(name).description is None
    assert "Comment" not in entry_of(spark, name)


def test_a_description_is_of_the_table_and_of_a_query_of_the_query(spark, name):
    spark.sql(f"CREATE TABLE {name} (id LONG COMMENT 'a number', p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES ('a' = 'b')")
    shown = [(row.col_name, row.data_type) for row in spark.sql(f"DESC FORMATTED {name}").collect()]
    assert shown[:2] == [("id", "bigint"), ("p", "int")]
    facts = dict(shown)
    assert facts["Provider"] == "delta"
    assert facts["Type"] == "MANAGED"
    assert facts["Location"] == log_of(spark, name).table_uri.replace("file:///", "file:/")
    assert "a=b" in facts["Table Properties"]
    assert "Owner" not in facts
    assert [row.col_name for row in spark.sql(f"DESCRIBE {name}").collect()][:2] == ["id", "p"]
    assert "a number" in str(spark.sql(f"DESCRIBE {name} id").collect())
    if spark.version >= "4":
        assert json.loads(spark.sql(f"DESC EXTENDED {name} AS JSON").first()[0])["provider"] == "delta"
    for text in (f"SELECT id FROM {name}", f"QUERY SELECT id FROM {name}", f"FROM {name} SELECT id", f"QUERY TABLE {name}"):
        assert spark.sql(f"DESCRIBE {text}").first().col_name == "id"


@pytest.mark.smoke
def test_a_table_is_saved_appended_to_and_overwritten_by_name_and_keeps_its_history(spark, name):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)
    table_id = log_of(spark, name).snapshot().metadata.id
    people(spark, (2, "b")).write.format("delta").mode("append").saveAsTable(name)
    people(spark, (3, "c")).write.insertInto(name)
    assert ids(spark.table(name)) == [1, 2, 3]
    people(spark, (4, "d")).write.format("delta").mode("overwrite").saveAsTable(name)
    assert ids(spark.table(name)) == [4]
    assert operations(spark, name) == ["CREATE TABLE AS SELECT", "WRITE", "WRITE", "CREATE OR REPLACE TABLE AS SELECT"]
    assert log_of(spark, name).snapshot().metadata.id == table_id
    parameters = log_of(spark, name).history(1)[0].operation_parameters
    assert (parameters["isV1SaveAsTableOverwrite"], parameters["isManaged"]) == ("true", "true")
    assert ids(bayou.read(spark, log_of(spark, name).table_uri, version=2)) == [1, 2, 3]


def test_saving_over_a_table_obeys_the_options_of_a_write(spark, name):
    people(spark, (1, "a"), (2, "b")).write.format("delta").partitionBy("name").saveAsTable(name)
    people(spark, (9, "b")).write.format("delta").mode("overwrite").option("replaceWhere", "name = 'b'").saveAsTable(name)
    assert ids(spark.table(name)) == [1, 9]
    other = spark.range(1).selectExpr("id", "'a' name", "1 more")
    with pytest.raises(DeltaError):
        other.write.format("delta").mode("overwrite").saveAsTable(name)
    other.write.format("delta").mode("append").option("mergeSchema", "true").saveAsTable(name)
    assert spark.table(name).columns == ["id", "name", "more"]
    other.drop("name").write.format("delta").mode("overwrite").option("overwriteSchema", "true").saveAsTable(name)
    assert spark.table(name).columns == ["id", "more"]


def test_saving_obeys_the_modes_error_and_ignore(spark, name):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)
    with pytest.raises(AnalysisException):
        people(spark, (2, "b")).write.format("delta").saveAsTable(name)
    people(spark, (2, "b")).write.format("delta").mode("ignore").saveAsTable(name)
    assert ids(spark.table(name)) == [1]


def test_rows_by_name_come_in_any_order_and_insert_into_goes_by_position(spark, name):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)
    turned = spark.sql("select 'b' name, 2L id")
    turned.write.format("delta").mode("append").saveAsTable(name)
    turned.writeTo(name).append()
    spark.sql("select 3L x, 'c' y").write.format("delta").insertInto(name)
    assert sorted(map(tuple, spark.table(name).collect())) == [(1, "a"), (2, "b"), (2, "b"), (3, "c")]


def test_an_append_by_name_without_a_struct_breaks_the_rules_of_its_fields_row_by_row(spark, name):
    spark.sql(f"create table {name} (id long, s struct<a: int not null>) using delta")
    spark.sql("select 1L id where false").writeTo(name).append()
    with pytest.raises(ConstraintViolationError) as caught:
        spark.sql("select 1L id").writeTo(name).append()
    assert caught.value.column == ("s", "a")
    assert spark.table(name).count() == 0


@pytest.mark.smoke
def test_a_table_is_written_to_by_all_verbs_of_the_second_writer(spark, name):
    rows = spark.range(4).withColumn("p", F.col("id") % 2)
    rows.writeTo(name).using("delta").partitionedBy("p").tableProperty("delta.enableChangeDataFeed", "true").create()
    first = log_of(spark, name).snapshot()
    assert first.partition_columns == ("p",)
    assert first.properties["delta.enableChangeDataFeed"] == "true"
    spark.sql("select 10L id, 0L p").writeTo(name).append()
    assert ids(spark.table(name)) == [0, 1, 2, 3, 10]
    spark.sql("select 20L id, 1L p").writeTo(name).overwritePartitions()
    assert ids(spark.table(name)) == [0, 2, 10, 20]
    spark.sql("select 30L id, 0L p").writeTo(name).overwrite(F.col("p") == 0)
    assert ids(spark.table(name)) == [20, 30]
    spark.sql("select 'x' other").writeTo(name).using("delta").createOrReplace()
    after = log_of(spark, name).snapshot()
    assert spark.table(name).columns == ["other"]
    assert after.metadata.id != first.metadata.id
    assert "delta.enableChangeDataFeed" not in after.properties
    spark.sql("select 'y' other").writeTo(name).using("delta").replace()
    assert operations(spark, name) == [
        "CREATE TABLE AS SELECT",
        "WRITE",
        "WRITE",
        "WRITE",
        "CREATE OR REPLACE TABLE AS SELECT",
        "REPLACE TABLE AS SELECT",
    ]


def test_an_overwrite_by_a_condition_refuses_rows_outside_of_it(spark, name):
    spark.range(4).write.format("delta").saveAsTable(name)
    with pytest.raises(ConstraintViolationError):
        spark.range(1).writeTo(name).overwrite(F.col("id") > 2)
    assert ids(spark.table(name)) == [0, 1, 2, 3]


@pytest.mark.smoke
def test_sql_makes_tables_with_everything_that_a_column_can_have(spark, name):
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT NOT NULL COMMENT 'who', code VARCHAR(3), at TIMESTAMP, "
        "day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), n INT DEFAULT 7) USING delta PARTITIONED BY (day) "
        "COMMENT 'orders' TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported', 'mine' = 'x')"
    )
    snapshot = log_of(spark, name).snapshot()
    assert snapshot.metadata.description == "orders"
    assert snapshot.properties == {"mine": "x"}
    assert snapshot.partition_columns == ("day",)
    assert not snapshot.schema.field("id").nullable
    assert snapshot.schema.field("id").metadata == {"comment": "who"}
    assert {"generatedColumns", "allowColumnDefaults", "invariants"} <= set(snapshot.protocol.writer_features)
    spark.sql(f"INSERT INTO {name} (id, at, code) VALUES (1, TIMESTAMP '2024-05-06 07:08:09', 'abc')")
    row = spark.table(name).selectExpr("id", "code", "cast(day as string) day", "n").first()
    assert tuple(row) == (1, "abc", "2024-05-06", 7)
    with pytest.raises(ConstraintViolationError, match="VARCHAR"):
        spark.sql(f"INSERT INTO {name} (id, code) VALUES (2, 'abcd')")
    with pytest.raises(ConstraintViolationError):
        spark.sql(f"INSERT INTO {name} (id, code) VALUES (NULL, 'abc')")
    assert spark.table(name).count() == 1


def test_sql_makes_replaces_and_adopts_tables(spark, name, table_path):
    people(spark, (1, "a")).write.format("delta").save(table_path)
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{table_path}'")
    assert ids(spark.table(name)) == [1]
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} (x INT) USING delta")
    with pytest.raises(AnalysisException):
        spark.sql(f"CREATE TABLE {name} (x INT) USING delta")
    spark.sql(f"CREATE OR REPLACE TABLE {name} (x INT) USING delta")
    assert spark.table(name).columns == ["x"]
    spark.sql(f"REPLACE TABLE {name} USING delta AS SELECT 5 AS y")
    assert [tuple(row) for row in bayou.read(spark, table_path).collect()] == [(5,)]
    spark.sql(f"DROP TABLE {name}")
    assert bayou.read(spark, table_path).count() == 1
    with pytest.raises(DeltaError):
        spark.sql(f"CREATE TABLE {name} (z STRING) USING delta LOCATION '{table_path}'")


def test_the_files_of_a_managed_table_go_with_it(spark, name):
    spark.sql(f"CREATE TABLE {name} USING delta AS SELECT 1 AS a")
    folder = Path(log_of(spark, name).table_uri.removeprefix("file://"))
    assert folder.is_dir()
    spark.sql(f"DROP TABLE {name}")
    assert not folder.exists()


@pytest.mark.smoke
def test_sql_inserts_by_position_by_partition_and_by_condition(spark, name):
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p STRING) USING delta PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql(f"INSERT INTO {name} PARTITION (p = 'd') VALUES (4)")
    spark.sql(f"INSERT OVERWRITE {name} PARTITION (p = 'a') SELECT 10")
    assert sorted(map(tuple, spark.table(name).collect())) == [(2, "b"), (3, "c"), (4, "d"), (10, "a")]
    spark.sql(f"INSERT INTO {name} REPLACE WHERE p = 'b' SELECT 20, 'b'")
    assert ids(spark.table(name)) == [3, 4, 10, 20]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql(f"INSERT OVERWRITE {name} SELECT 30, 'c'")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert ids(spark.table(name)) == [4, 10, 20, 30]
    spark.sql(f"INSERT OVERWRITE {name} SELECT 40, 'c'")
    assert ids(spark.table(name)) == [40]
    with pytest.raises(AnalysisException):
        spark.sql(f"INSERT INTO {name} VALUES (1)")
    assert ids(spark.table(name)) == [40]


def test_sql_by_path_has_the_same_verbs(spark, table_path):
    spark.sql(f"CREATE TABLE delta.`{table_path}` (id BIGINT, p STRING) USING delta PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO delta.`{table_path}` VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"INSERT OVERWRITE delta.`{table_path}` PARTITION (p = 'a') SELECT 3")
    spark.sql("select 4L id, 'c' p").writeTo(f"delta.`{table_path}`").append()
    spark.sql("select 5L id, 'c' p").write.format("delta").mode("append").saveAsTable(f"delta.`{table_path}`")
    assert ids(spark.table(f"delta.`{table_path}`")) == [2, 3, 4, 5]
    with pytest.raises(AnalysisException):
        spark.sql(f"CREATE TABLE delta.`{table_path}` (id BIGINT) USING delta")
    spark.sql(f"CREATE OR REPLACE TABLE delta.`{table_path}` USING delta AS SELECT 9L AS id")
    assert ids(spark.table(f"delta.`{table_path}`")) == [9]


def test_a_write_to_a_path_where_no_table_is_says_so(spark, table_path):
    with pytest.raises(AnalysisException):
        spark.range(1).writeTo(f"delta.`{table_path}`").append()
    assert not Path(table_path).exists()


@pytest.mark.smoke
def test_the_entry_is_delta_sparks_and_the_catalog_shows_the_log(spark, name):
    spark.sql(f"CREATE TABLE {name} (id BIGINT NOT NULL, p STRING COMMENT 'part') USING delta PARTITIONED BY (p)")
    entry = entry_of(spark, name)
    assert (entry["id"], entry["p"], entry["Provider"], entry["Type"]) == ("bigint", "string", "delta", "MANAGED")
    columns = spark.catalog.listColumns(name)
    assert [(c.name, c.dataType, c.nullable, c.isPartition) for c in columns] == [
        ("id", "bigint", False, False),
        ("p", "string", True, True),
    ]
    bayou.DeltaTable.forName(spark, name).setProperties({"mine": "x"})
    shown = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
    assert shown == {"mine": "x", "delta.minReaderVersion": "1", "delta.minWriterVersion": "2"}
    assert [tuple(row) for row in spark.sql(f"SHOW TBLPROPERTIES {name} ('mine')").collect()] == [("mine", "x")]


def test_a_name_shows_the_columns_that_another_writer_added(spark, name):
    spark.range(1).write.format("delta").saveAsTable(name)
    assert spark.table(name).columns == ["id"]
    location = log_of(spark, name).table_uri
    bayou.write(spark.sql("select 1L id, 'x' more"), location, mode="append", mergeSchema="true")
    assert spark.table(name).columns == ["id", "more"]
    assert [c.name for c in spark.catalog.listColumns(name)] == ["id", "more"]


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


def test_a_statement_that_fails_leaves_no_table_and_no_entry(spark, name):
    with pytest.raises(Exception, match="boom"):
        spark.sql(f"CREATE TABLE {name} USING delta AS SELECT cast(raise_error('boom') as int) AS a")
    assert not spark.catalog.tableExists(name)
    with pytest.raises(UnsupportedFeatureError, match="expressions"):
        spark.sql(f"CREATE TABLE {name} (at TIMESTAMP) USING delta PARTITIONED BY (days(at))")
    with pytest.raises(UnsupportedFeatureError, match=r"DELTA_OPERATION_NOT_ALLOWED_DETAIL.*Bucketing"):
        spark.range(1).write.format("delta").bucketBy(2, "id").saveAsTable(name)
    assert not spark.catalog.tableExists(name)


def test_tables_of_other_sources_are_sparks(spark, name):
    spark.range(2).write.format("parquet").saveAsTable(name)
    spark.range(2).write.format("parquet").mode("append").saveAsTable(name)
    spark.sql(f"INSERT INTO {name} VALUES (7)")
    assert ids(spark.table(name)) == [0, 0, 1, 1, 7]
    assert entry_of(spark, name)["Provider"].lower() == "parquet"
    spark.sql(f"DROP TABLE {name}")
    spark.sql(f"CREATE TABLE {name} USING json AS SELECT 1 AS a")
    assert spark.table(name).count() == 1
    assert spark.sql(f"SHOW TBLPROPERTIES {name}").count() == 0


def test_a_catalog_of_somebody_else_stays_and_delta_is_a_source_of_the_older_kind(spark):
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.spark_catalog", "org.example.Catalog")
    bayou.enable(session)
    assert session.conf.get("spark.sql.catalog.spark_catalog") == "org.example.Catalog"
    assert "delta" in session.conf.get("spark.sql.sources.useV1SourceList").split(",")


def test_a_mismatch_of_columns_by_name_is_shown_and_nothing_is_written(spark, name):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)
    with pytest.raises(SchemaMismatchError):
        spark.sql("select 1L id, 'x' nobody").writeTo(name).append()
    assert log_of(spark, name).version() == 0


def test_an_explained_insert_writes_nothing(spark, name):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)
    spark.sql(f"EXPLAIN INSERT INTO {name} VALUES (2, 'b')").collect()
    spark.sql(f"EXPLAIN CREATE OR REPLACE TABLE {name} USING delta AS SELECT 1 AS a").collect()
    assert log_of(spark, name).version() == 0


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
@pytest.mark.parametrize("partitions", ["", "partitioned by (p)"])
@pytest.mark.parametrize("by_name", [True, False])
def test_a_table_takes_rows_of_its_own(spark, tmp_path, partitions, by_name):
    path = str(tmp_path / "table")
    table = "own_rows" if by_name else f"delta.`{path}`"
    spark.sql(f"create table {table} (id bigint, p string) using delta {partitions}" + (f" location '{path}'" if by_name else ""))
    try:
        spark.sql(f"insert into {table} values (1, 'a'), (2, null)")
        spark.sql(f"insert into {table} select * from {table}")
        spark.sql(f"with own as (select id + 10 as id, p from {table}) insert into {table} (id) select id from own where p = 'a'")
        spark.sql(f"/* half of it */ insert overwrite {table} select id, p from {table} where id <> 2")
        rows = [(1, "a"), (1, "a"), (11, None), (11, None)]
        assert sorted(map(tuple, spark.table(table).collect()), key=str) == rows
        assert [row.operation for row in bayou.DeltaTable.forPath(spark, path).history().select("operation").collect()] == [
            *["WRITE"] * 4,
            "CREATE TABLE",
        ]
    finally:
        spark.sql("drop table if exists own_rows")


@pytest.mark.smoke
def test_rows_of_its_own_get_what_a_table_fills_in(spark, table_path):
    table = f"delta.`{table_path}`"
    (
        bayou.DeltaTable.create(spark)
        .location(table_path)
        .addColumn("id", "bigint")
        .addColumn("number", "bigint", generatedByDefaultAs=bayou.IdentityGenerator())
        .addColumn("twice", "bigint", generatedAlwaysAs="id * 2")
        .addColumn("c", "int")
        .property("delta.feature.allowColumnDefaults", "supported")
        .execute()
    )
    bayou.DeltaTable.forPath(spark, table_path).setDefault("c", "7")
    spark.sql(f"insert into {table} (id, c) values (1, 1)")
    spark.sql(f"insert into {table} (id) select id + 10 from {table}")
    assert sorted(map(tuple, spark.table(table).collect())) == [(1, 1, 2, 1), (11, 2, 22, 7)]


def test_partitions_are_pruned_by_a_join_in_an_insert_too(spark, tmp_path):
    facts, names, into = (f"delta.`{tmp_path / name}`" for name in ("facts", "names", "into"))
    spark.sql(f"create table {facts} (id bigint, p int) using delta partitioned by (p)")
    spark.sql(f"create table {names} (p int, name string) using delta")
    spark.sql(f"create table {into} (id bigint) using delta")
    spark.sql(f"insert into {facts} select id, id % 5 from range(50)")
    spark.sql(f"insert into {names} select id, concat('n', id) from range(5)")
    query = f"insert into {into} select f.id from {facts} f join {names} n on f.p = n.p where n.name = 'n4'"
    assert "dynamicpruning" in spark.sql(f"explain extended {query}").first()[0]


@pytest.mark.parametrize("way", ["sql", "frame"])
def test_a_table_that_is_replaced_loses_all_rows_whatever_the_session_says_of_partitions(spark, name, way):
    people(spark, (1, "a"), (2, "b")).write.format("delta").partitionBy("name").saveAsTable(name)
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        if way == "sql":
            spark.sql(f"CREATE OR REPLACE TABLE {name} USING delta PARTITIONED BY (name) AS SELECT 3L AS id, 'a' AS name")
        else:
            people(spark, (3, "a")).writeTo(name).using("delta").partitionedBy(F.col("name")).createOrReplace()
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert ids(spark.table(name)) == [3]


@pytest.mark.parametrize(
    ("option", "value", "error_class"),
    [
        ("replaceUsing", "name", "DELTA_DFV2_CREATE_REPLACE_INCOMPATIBLE_REPLACE_ON_OR_USING"),
        ("replaceWhere", "name = 'a'", "DELTA_ILLEGAL_USAGE"),
        ("partitionOverwriteMode", "dynamic", "DELTA_ILLEGAL_USAGE"),
        ("overwriteSchema", "false", "DELTA_ILLEGAL_USAGE"),
    ],
)
def test_a_table_is_replaced_as_a_whole_or_not_at_all(spark, name, option, value, error_class):
    people(spark, (1, "a")).write.format("delta").partitionBy("name").saveAsTable(name)
    writer = people(spark, (3, "a")).writeTo(name).using("delta").partitionedBy(F.col("name"))
    with pytest.raises(DeltaError) as caught:
        writer.option(option, value).createOrReplace()
    assert caught.value.error_class == error_class
    assert ids(spark.table(name)) == [1]


@pytest.mark.parametrize("verb", ["saveAsTable", "append", "overwritePartitions"])
def test_rows_are_cast_to_the_types_of_a_table_with_a_name(spark, name, verb):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)

    def write(query):
        rows = spark.sql(query)
        if verb == "saveAsTable":
            rows.write.format("delta").mode("append").saveAsTable(name)
        else:
            getattr(rows.writeTo(name), verb)()

    write("select 'b' as name, 2 as id")
    assert 2 in ids(spark.table(name))
    write("select 5 as name, '7' as id")
    assert 7 in ids(spark.table(name))
    for wrong in ("map(1, 2)", "'seven'"):
        with pytest.raises((AnalysisException, NumberFormatException), match=r"CAST|MISMATCH"):
            write(f"select 'b' as name, {wrong} as id")


@pytest.mark.parametrize("way", ["builder", "query"])
def test_mapped_columns_of_a_replaced_table_keep_their_ids_where_they_fit(spark, name, way):
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, v INT, gone INT) USING delta {mapped}")
    before = log_of(spark, name).snapshot()
    if way == "builder":
        builder = bayou.DeltaTable.replace(spark).tableName(name).addColumn("id", "BIGINT").addColumn("v", "STRING")
        builder.addColumn("new", "INT").property("delta.columnMapping.mode", "name").execute()
    else:
        spark.sql(f"CREATE OR REPLACE TABLE {name} USING delta {mapped} AS SELECT 1L AS id, 'a' AS v, 5 AS new")
    after = log_of(spark, name).snapshot()
    kept = [(after.schema.field(each).field_id, after.schema.field(each).physical_name) for each in ("id", "v", "new")]
    assert kept[0] == (before.schema.field("id").field_id, before.schema.field("id").physical_name)
    assert [number for number, _ in kept] == [1, 4, 5]
    assert after.properties["delta.columnMapping.maxColumnId"] == "5"
    assert spark.table(name).count() == (0 if way == "builder" else 1)


def test_a_folder_is_to_hold_the_table_whose_columns_nobody_says(spark, name, table_path):
    spark.range(2).write.parquet(table_path)
    with pytest.raises(TableNotFoundError) as caught:
        spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{table_path}'")
    assert caught.value.error_class == "DELTA_CREATE_EXTERNAL_TABLE_WITHOUT_TXN_LOG"
    with pytest.raises(TableExistsError) as caught:
        spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta LOCATION '{table_path}'")
    assert caught.value.error_class == "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
    assert not spark.catalog.tableExists(name)


def test_a_statement_that_names_two_folders_is_refused(spark, table_path):
    with pytest.raises(InvalidOptionError) as caught:
        spark.sql(f"CREATE TABLE delta.`{table_path}` (id BIGINT) USING delta LOCATION '{table_path}x'")
    assert caught.value.error_class == "DELTA_AMBIGUOUS_PATHS_IN_CREATE_TABLE"


@pytest.mark.smoke
def test_show_columns_lists_those_of_the_log(spark, table_path, name):
    spark.sql(f"CREATE TABLE {name} (a INT, s STRUCT<x: INT>, B STRING) USING delta LOCATION '{table_path}'")
    for statement in (f"SHOW COLUMNS IN {name}", f"SHOW COLUMNS IN {name} IN default", f"SHOW COLUMNS IN delta.`{table_path}`"):
        assert [row.col_name for row in spark.sql(statement).collect()] == ["a", "s", "B"]


def test_a_name_is_not_replaced_by_a_table_in_another_folder(spark, table_path, name):
    spark.sql(f"CREATE TABLE {name} (a INT) USING delta LOCATION '{table_path}'")
    other = f"{table_path}_other"
    for replacing in (
        lambda: spark.sql(f"CREATE OR REPLACE TABLE {name} (b INT) USING delta LOCATION '{other}'"),
        lambda: spark.sql(f"CREATE OR REPLACE TABLE {name} USING delta LOCATION '{other}' AS SELECT 1 b"),
        lambda: spark.range(1).write.format("delta").mode("overwrite").option("path", other).saveAsTable(name),
    ):
        with pytest.raises(InvalidOptionError) as caught:
            replacing()
        assert caught.value.error_class == "DELTA_TABLE_LOCATION_MISMATCH"
    spark.sql(f"CREATE OR REPLACE TABLE {name} (b INT) USING delta LOCATION '{table_path}'")
    assert spark.table(name).columns == ["b"]


def test_sql_by_path_can_be_turned_off(spark, table_path):
    bayou.enable(spark)
    spark.range(1).write.format("delta").save(table_path)
    spark.conf.set("spark.sql.runSQLOnFiles", "false")
    try:
        for statement in (f"SELECT * FROM delta.`{table_path}`", f"DELETE FROM delta.`{table_path}`"):
            with pytest.raises(AnalysisException):
                spark.sql(statement).collect()
    finally:
        spark.conf.unset("spark.sql.runSQLOnFiles")
    assert spark.sql(f"SELECT * FROM delta.`{table_path}`").count() == 1


@pytest.mark.parametrize("column", ["a INT NOT NULL", "a INT COMMENT 'x'", "a BIGINT"])
def test_a_name_for_a_table_that_is_there_describes_it_as_it_is(spark, table_path, name, column):
    bayou.enable(spark)
    spark.sql("SELECT 1 AS a, 2 AS p").write.format("delta").partitionBy("p").save(table_path)
    for columns in (f"{column}, p INT) USING delta PARTITIONED BY (p", "a INT, p INT) USING delta OPTIONS (x 'y'"):
        with pytest.raises(InvalidSchemaError):
            spark.sql(f"CREATE TABLE {name} ({columns}) LOCATION '{table_path}'")
    spark.sql(f"CREATE TABLE {name} (a INT, p INT) USING delta PARTITIONED BY (p) LOCATION '{table_path}'")
    assert spark.table(name).count() == 1


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


@pytest.mark.smoke
def test_describe_shows_the_whole_name_and_the_kind_once(spark, name):
    spark.range(1).write.format("delta").saveAsTable(name)
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    facts = {row.col_name: row.data_type for row in rows}
    if "Catalog" in facts:
        assert [facts["Catalog"], facts["Namespace"], facts["Table"]] == ["spark_catalog", "default", name]
    else:
        assert facts["Name"] == f"spark_catalog.default.{name}"
    assert [row.col_name for row in rows if row.data_type == "MANAGED"] == ["Type"]


@pytest.mark.smoke
def test_spark_is_told_whether_there_is_a_table_at_a_path(spark, tmp_path):
    bayou.write(spark.range(1), str(tmp_path / "table"))
    (tmp_path / "folder").mkdir()
    found = {each: spark.catalog.tableExists(f"delta.`{tmp_path / each}`") for each in ("table", "folder", "nothing")}
    assert found == {"table": True, "folder": False, "nothing": False}


@pytest.mark.smoke
def test_a_path_with_capitals_shows_the_columns_that_the_table_has_now(spark, tmp_path):
    """Spark forgets what it keeps of a table by its name in lower case."""
    upper, lower = f"delta.`{tmp_path}/Some/Table`", f"delta.`{tmp_path}/some/table`"
    for table, column in ((upper, "a"), (lower, "b")):
        spark.sql(f"create table {table} ({column} int) using delta tblproperties ('delta.columnMapping.mode' = 'name')")
        spark.sql(f"insert into {table} values (1), (2)")
        assert spark.table(table).columns == [column]
    spark.sql(f"alter table {upper} rename column a to c")
    spark.sql(f"delete from {upper} where c = 1")
    assert [tuple(row) for row in spark.sql(f"select c from {upper}").collect()] == [(2,)]
    spark.sql("select 3 c, 4 d").write.format("delta").mode("append").option("mergeSchema", "true").save(f"{tmp_path}/Some/Table")
    assert spark.sql(f"select d from {upper} where c = 3").first().d == 4
    assert spark.sql(f"select x.c, y.b from {upper} x join {lower} y on x.c = y.b").collect() == [(2, 2)]
