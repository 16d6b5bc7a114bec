# SPDX-License-Identifier: Apache-2.0
"""TRUNCATE TABLE, and CREATE TABLE ... LIKE, on tables with names and on paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from tests.support.on_connect import name_beside

import bayou
from bayou.errors import AppendOnlyError, DeltaError, TableExistsError, TableNotFoundError, UnsupportedFeatureError


@pytest.fixture
def name(spark, name):
    """A name in the catalog that nobody has; those that begin with it and two underscores go, too."""
    yield name
    for table in spark.catalog.listTables():
        if table.name.startswith(f"{name}__"):
            spark.sql(f"DROP TABLE IF EXISTS {table.name}")


def other(name, what):
    return name_beside(name, f"__{what}")


def state(spark, name):
    return bayou.open(bayou.DeltaTable.forName(spark, name).detail().first().location).snapshot()


def history(spark, name):
    return [(row.operation, row.operationParameters) for row in bayou.DeltaTable.forName(spark, name).history().collect()]


@pytest.mark.smoke
def test_a_table_is_emptied_by_name_and_by_path_and_keeps_its_versions(spark, name, table_path):
    spark.range(4).selectExpr("id", "id % 2 p").coalesce(1).write.format("delta").partitionBy("p").saveAsTable(name)
    spark.range(2).write.format("delta").save(table_path)
    cached = spark.table(name).cache()
    assert cached.count() == 4
    spark.sql(f"-- gone with it\nTRUNCATE TABLE {name}")
    spark.sql(f"truncate  table delta.`{table_path}`")
    assert (spark.table(name).count(), cached.count()) == (0, 0)
    cached.unpersist()
    assert spark.read.format("delta").load(table_path).count() == 0
    assert spark.sql(f"SELECT * FROM {name} VERSION AS OF 0").count() == 4
    row = bayou.DeltaTable.forName(spark, name).history(1).first()
    assert (row.version, row.operation, row.operationParameters) == (1, "TRUNCATE", {})
    assert row.operationMetrics["numRemovedFiles"] == "2"
    spark.sql(f"TRUNCATE TABLE {name}")
    assert state(spark, name).version == 1
    spark.sql(f"INSERT INTO {name} VALUES (7, 1)")
    assert [tuple(row) for row in spark.table(name).collect()] == [(7, 1)]


def test_rows_that_truncation_removes_are_in_the_change_data_feed(spark, name):
    spark.sql(f"CREATE TABLE {name} (id bigint) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    spark.sql(f"INSERT INTO {name} VALUES (1)")
    spark.sql(f"TRUNCATE TABLE {name}")
    location = bayou.DeltaTable.forName(spark, name).detail().first().location
    changes = bayou.read(spark, location, readChangeFeed="true", startingVersion=2)
    assert [(row.id, row._change_type) for row in changes.collect()] == [(1, "delete")]


def test_what_cannot_be_truncated_is_refused(spark, name):
    spark.sql(f"CREATE TABLE {name} (id bigint, p int) USING delta PARTITIONED BY (p) TBLPROPERTIES ('delta.appendOnly' = 'true')")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1)")
    with pytest.raises(AppendOnlyError):
        spark.sql(f"TRUNCATE TABLE {name}")
    with pytest.raises(UnsupportedFeatureError) as caught:
        spark.sql(f"TRUNCATE TABLE {name} PARTITION (p = 1)")
    assert caught.value.getErrorClass() == "DELTA_TRUNCATE_TABLE_PARTITION_NOT_SUPPORTED"
    assert spark.table(name).count() == 1


@pytest.mark.smoke
def test_statements_are_known_whatever_they_hold_and_however_they_are_laid_out(spark, name):
    spark.sql(f"CREATE TABLE {name} (id bigint, p int) USING delta PARTITIONED BY (p)")
    spark.sql(" " * 20_000 + f"ALTER TABLE {name} SET TBLPROPERTIES ('note' = 'truncate table x partition (p)')")
    assert state(spark, name).properties["note"] == "truncate table x partition (p)"
    for statement in (
        f"TRUNCATE TABLE {name} -- not the partition (p)",
        f"/* a partition (p = 1) */ TRUNCATE /* all */ TABLE {name} /* truncate table x partition (p) */",
        "-- two lines\n" * 10_000 + f"TRUNCATE TABLE `default`.`{name}`",
    ):
        spark.sql(f"INSERT INTO {name} VALUES (1, 1)")
        spark.sql(statement)
        assert spark.table(name).count() == 0
    for table in (name, f"default . `{name}` -- partitions\n", f"`default`.`{name}`/**/"):
        with pytest.raises(UnsupportedFeatureError):
            spark.sql(f"TRUNCATE TABLE {table} PARTITION (p = 1)")


def test_a_table_of_another_source_is_truncated_by_spark(spark, other_name):
    spark.range(3).write.format("parquet").saveAsTable(other_name)
    spark.sql(f"TRUNCATE TABLE {other_name}")
    assert spark.table(other_name).count() == 0


def source(spark, name):
    """A table with everything that a table can be made with, and two rows."""
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT NOT NULL COMMENT 'who', code VARCHAR(5), g INT GENERATED ALWAYS AS (CAST(id AS INT)), "
        "n INT DEFAULT 3, p STRING) USING delta PARTITIONED BY (p) COMMENT 'orders' TBLPROPERTIES ("
        "'delta.feature.allowColumnDefaults' = 'supported', 'delta.enableChangeDataFeed' = 'true', 'mine' = 'x')"
    )
    bayou.DeltaTable.forName(spark, name).addConstraint("positive", "id > 0")
    spark.sql(f"INSERT INTO {name} (id, code, p) VALUES (1, 'a', 'x'), (2, 'b', 'y')")


@pytest.mark.smoke
def test_a_table_like_another_one_has_all_of_it_but_the_rows(spark, name):
    source(spark, name)
    copy = other(name, "copy")
    spark.sql(f"CREATE TABLE {copy} LIKE {name}")
    old, new = state(spark, name), state(spark, copy)
    assert (new.version, new.num_files) == (0, 0)
    assert new.metadata.id != old.metadata.id
    assert (new.schema, new.partition_columns, new.properties) == (old.schema, old.partition_columns, old.properties)
    assert (new.metadata.description, set(new.protocol.writer_features)) == ("orders", set(old.protocol.writer_features))
    ((operation, parameters),) = history(spark, copy)
    assert (operation, parameters["isManaged"], parameters["partitionBy"]) == ("CREATE TABLE", "true", '["p"]')
    spark.sql(f"INSERT INTO {copy} (id, code, p) VALUES (5, 'abcde', 'z')")
    assert [tuple(row) for row in spark.table(copy).collect()] == [(5, "abcde", 5, 3, "z")]
    with pytest.raises(DeltaError):
        spark.sql(f"INSERT INTO {copy} (id, code, p) VALUES (-5, 'a', 'z')")
    assert spark.table(name).count() == 2
    with pytest.raises((TableExistsError, AnalysisException)):
        spark.sql(f"CREATE TABLE {copy} LIKE {name}")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {copy} LIKE {name}")
    assert spark.table(copy).count() == 1


def test_the_statements_clauses_are_obeyed(spark, name, tmp_path):
    source(spark, name)
    spark.sql(f"CREATE TABLE {other(name, 'a')} LIKE {name} USING delta TBLPROPERTIES ('mine' = 'y', 'delta.appendOnly' = 'true')")
    assert {
        key: state(spark, other(name, "a")).properties[key] for key in ("mine", "delta.appendOnly", "delta.enableChangeDataFeed")
    } == {
        "mine": "y",
        "delta.appendOnly": "true",
        "delta.enableChangeDataFeed": "true",
    }
    spark.sql(f"CREATE TABLE {other(name, 'b')} LIKE {name} LOCATION '{tmp_path / 'b'}'")
    assert Path(tmp_path, "b", "_delta_log").is_dir()
    assert history(spark, other(name, "b"))[0][1]["isManaged"] == "false"
    spark.sql(f"CREATE TABLE delta.`{tmp_path / 'c'}` LIKE {name}")
    spark.sql(f"CREATE TABLE {other(name, 'd')} LIKE delta.`{tmp_path / 'c'}`")
    assert state(spark, other(name, "d")).schema == state(spark, name).schema
    with pytest.raises(DeltaError):
        spark.sql(f"CREATE TABLE {other(name, 'e')} LIKE {name} TBLPROPERTIES ('delta.noSuchThing' = '1')")
    with pytest.raises(UnsupportedFeatureError):
        spark.sql(f"CREATE TABLE {other(name, 'e')} LIKE {name} USING parquet")
    assert not spark.catalog.tableExists(other(name, "e"))


def test_what_belongs_to_one_tables_files_is_not_copied(spark, name):
    spark.sql(
        f"CREATE TABLE {name} (id bigint, v int) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
        "'delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true', 'delta.enableTypeWidening' = 'true')"
    )
    table = bayou.DeltaTable.forName(spark, name)
    table.clusterBy("v")
    table.changeColumn("v", dataType="bigint")
    spark.sql(f"INSERT INTO {name} VALUES (1, 2)")
    spark.sql(f"CREATE TABLE {other(name, 'copy')} LIKE {name}")
    old, new = state(spark, name), state(spark, other(name, "copy"))
    names = "delta.rowTracking.materializedRowIdColumnName"
    assert new.properties[names] != old.properties[names]
    assert {f.physical_name for f in new.schema.fields}.isdisjoint(f.physical_name for f in old.schema.fields)
    assert "typeChanges" not in new.metadata.schema_string
    assert "delta.rowTracking" not in new.domain_metadata
    assert bayou.DeltaTable.forName(spark, other(name, "copy")).detail().first().clusteringColumns == ["v"]
    spark.sql(f"INSERT INTO {other(name, 'copy')} VALUES (3, 4)")
    assert [tuple(row) for row in spark.table(other(name, "copy")).collect()] == [(3, 4)]


def test_identity_columns_begin_anew(spark, name):
    table = bayou.DeltaTable.create(spark).tableName(name).addColumn("v", "int")
    table.addColumn("i", "bigint", generatedAlwaysAs=bayou.IdentityGenerator())
    table.execute()
    spark.sql("select 1 v").write.format("delta").mode("append").saveAsTable(name)
    spark.sql(f"CREATE TABLE {other(name, 'copy')} LIKE {name}")
    spark.sql("select 1 v").write.format("delta").mode("append").saveAsTable(other(name, "copy"))
    assert spark.table(other(name, "copy")).first() == spark.table(name).first()


def test_tables_and_views_of_other_sources_can_be_the_pattern(spark, name):
    spark.sql(f"CREATE TABLE {name} (a int, b string) USING parquet PARTITIONED BY (b) COMMENT 'c' TBLPROPERTIES ('mine' = 'x')")
    spark.sql(f"CREATE TABLE {other(name, 'copy')} LIKE {name} USING delta")
    found = state(spark, other(name, "copy"))
    assert (found.schema.names, found.partition_columns, found.properties) == (("a", "b"), ("b",), {"mine": "x"})
    spark.sql("CREATE OR REPLACE TEMP VIEW pattern AS SELECT 1 AS one, 'x' AS two")
    spark.sql(f"CREATE TABLE {other(name, 'view')} LIKE pattern USING delta")
    assert state(spark, other(name, "view")).schema.names == ("one", "two")
    for using in ("", "USING delta"):
        with pytest.raises((AnalysisException, TableNotFoundError)):
            spark.sql(f"CREATE TABLE {other(name, 'none')} LIKE {other(name, 'nothing')} {using}")
    spark.sql(f"CREATE TABLE {other(name, 'plain')} LIKE {name}")
    assert spark.table(other(name, "plain")).columns == ["a", "b"]
    assert "parquet" in str(spark.sql(f"DESCRIBE EXTENDED {other(name, 'plain')}").collect())
