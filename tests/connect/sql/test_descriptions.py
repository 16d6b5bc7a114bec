# SPDX-License-Identifier: Apache-2.0
"""SHOW, DESCRIBE, CACHE and refused statements on tables by path on Spark Connect."""

from __future__ import annotations

import json

import pytest
from pyspark.errors import ParseException

import bayou
from bayou.errors import DeltaError, PathNotFoundError, UnsupportedFeatureError


@pytest.fixture
def name(spark, table_path):
    name = f"delta.`{table_path}`"
    spark.sql(
        f"create table {name} (id int, s string not null comment 'a text', v varchar(5),"
        " n struct<x:int,y:array<string>> default null) using delta partitioned by (id) comment 'my table'"
        " tblproperties ('a' = 'b', 'my.password' = 'x', 'delta.feature.allowColumnDefaults' = 'supported')"
    )
    spark.sql(f"insert into {name} (id, s) values (1, 'one'), (2, 'two')")
    return name


COLUMNS = [("id", "int", None), ("s", "string", "a text"), ("v", "string", None), ("n", "struct<x:int,y:array<string>>", None)]
PARTITIONING = [("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), ("id", "int", None)]


def test_describe(spark, name, table_path):
    assert spark.sql(f"describe {name}").collect() == [*COLUMNS, *PARTITIONING]
    extended = [tuple(row) for row in spark.sql(f"desc table extended {name}").collect()]
    assert extended[:7] == [*COLUMNS, *PARTITIONING]
    facts = {row[0]: row[1] for row in extended[7:]}
    assert (facts["Table"], facts["Provider"], facts["Comment"], facts["Type"]) == (table_path, "delta", "my table", "EXTERNAL")
    assert "a=b," in facts["Table Properties"]
    assert "my.password=*********(redacted)" in facts["Table Properties"]
    assert extended[-1] == ("n", "struct<x:int,y:array<string>>", "null")
    assert spark.sql(f"describe {name} s").collect() == [("col_name", "s"), ("data_type", "string"), ("comment", "a text")]
    with pytest.raises(DeltaError, match="UNRESOLVED_COLUMN"):
        spark.sql(f"describe {name} nope")
    found = json.loads(spark.sql(f"describe extended {name} as json").first()[0])
    assert [each["name"] for each in found["columns"]] == ["id", "s", "v", "n"]
    assert found["columns"][3]["type"]["fields"][1]["type"]["element_type"]["name"] == "string"
    assert [row[0] for row in spark.sql(f"describe select * from {name}").collect()] == ["id", "s", "v", "n"]


def test_show(spark, name, table_path):
    assert [row.col_name for row in spark.sql(f"show columns in {name}").collect()] == ["id", "s", "v", "n"]
    assert spark.sql(f"show partitions {name}").collect() == [(1,), (2,)]
    assert spark.sql(f"show partitions {name} partition (id = 2)").collect() == [(2,)]
    properties = dict(tuple(row) for row in spark.sql(f"show tblproperties {name}").collect())
    assert (properties["a"], properties["my.password"], properties["delta.minWriterVersion"]) == ("b", "*********(redacted)", "7")
    missing = f"Table spark_catalog.delta.`{table_path}` does not have property: nope"
    assert spark.sql(f"show tblproperties {name} (nope)").collect() == [("nope", missing)]


def test_show_create_table_is_a_statement(spark, name, table_path):
    text = spark.sql(f"show create table {name}").first()[0]
    copy = f"{table_path}_copy"
    assert "PARTITIONED BY (id)" in text
    assert "v VARCHAR(5)" in text
    changed = text.replace(table_path, copy).replace("  'my.password' = '*********(redacted)',\n", "")
    without_protocol = "\n".join(line for line in changed.splitlines() if "delta.min" not in line and "invariants" not in line)
    spark.sql(without_protocol.rstrip().rstrip(",") + ("" if without_protocol.rstrip().endswith(")") else ")"))
    assert bayou.open(copy).update().schema == bayou.open(table_path).update().schema


def test_tables_are_cached(spark, name, table_path):
    spark.sql(f"cache table {name}")
    spark.sql(f"cache table {name}")
    assert spark.read.table(name).count() == 2
    spark.sql(f"insert into {name} (id, s) values (3, 'three')")
    spark.sql(f"refresh table {name}")
    assert spark.read.table(name).count() == 3
    spark.sql(f"uncache table {name}")
    spark.sql(f"uncache table if exists {name}")
    spark.sql(f"cache lazy table {name} options ('storageLevel' = 'DISK_ONLY')")
    spark.sql(f"uncache table {name}")
    with pytest.raises(DeltaError, match="storage level"):
        spark.sql(f"cache table {name} options ('storageLevel' = 'NOWHERE')")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("DROP TABLE {t}", "DROP TABLE"),
        ("DROP TABLE IF EXISTS {t} PURGE", "DROP TABLE"),
        ("DROP TABLE spark_catalog.{t}", "DROP TABLE"),
        ("ANALYZE TABLE {t} COMPUTE STATISTICS", "ANALYZE TABLE"),
        ("MSCK REPAIR TABLE {t}", "MSCK REPAIR TABLE"),
        ("LOAD DATA INPATH '/nowhere' INTO TABLE {t}", "LOAD DATA"),
        ("SHOW CREATE TABLE {t} AS SERDE", "SHOW"),
        ("CREATE VIEW vv AS SELECT * FROM {t}", "CREATE VIEW"),
        ("BEGIN SELECT * FROM {t}; END", "A SQL script"),
        ("BEGIN INSERT INTO {t} (id, s) VALUES (1, 'x'); END", "A SQL script"),
        ("EXECUTE IMMEDIATE 'SELECT * FROM {t}'", "EXECUTE IMMEDIATE"),
        ("FROM {t} INSERT INTO {t} SELECT id, s INSERT INTO {t} SELECT id, 'x'", "FROM ... INSERT"),
    ],
)
def test_what_is_refused(spark, name, table_path, text, shown):
    with pytest.raises(UnsupportedFeatureError, match=shown) as caught:
        spark.sql(text.format(t=name))
    assert caught.value.next_step
    assert bayou.open(table_path).update().version == 1


def test_a_table_that_does_not_exist(spark, table_path):
    for text in ("show columns in {t}", "show partitions {t}", "describe {t}", "show create table {t}", "refresh table {t}"):
        with pytest.raises(PathNotFoundError):
            spark.sql(text.format(t=f"delta.`{table_path}`"))
    with pytest.raises(ParseException):
        spark.sql(f"show columns delta.`{table_path}`")


@pytest.mark.parametrize(
    "text",
    [
        *("truncate table {t}", "alter table {t} add column x int", "create or replace table {t} (a int) using delta"),
        *("insert into {t} (id, s) values (1, 'x')", "delete from {t} where id = 1", "update {t} set s = 'x' where id > 1"),
        "merge into {t} using (select 1 as k) q on id = q.k when matched then delete",
    ],
)
def test_explain_changes_nothing(spark, name, table_path, text):
    shown = spark.sql(f"explain extended {text.format(t=name)}").first()[0]
    assert "DeltaStatement" in shown
    assert table_path in shown
    assert "version 1" in shown
    assert bayou.open(table_path).update().version == 1


def test_the_catalog_knows_tables_by_path(spark, name, table_path):
    catalog = spark.catalog
    assert (catalog.tableExists(name), catalog.tableExists(f"delta.`{table_path}_2`")) == (True, False)
    columns = {each.name: each for each in catalog.listColumns(name)}
    assert (columns["s"].description, columns["s"].nullable, columns["id"].isPartition) == ("a text", False, True)
    table = catalog.getTable(name)
    assert (table.name, table.namespace, table.description, table.tableType) == (table_path, ["delta"], "my table", "EXTERNAL")
    catalog.cacheTable(name)
    assert catalog.isCached(name)
    spark.sql("clear cache")
    assert not catalog.isCached(name)
    spark.sql(f"cache table {name}")
    assert catalog.isCached(name)
    assert spark.read.table(name).count() == 2
    catalog.uncacheTable(name)
    assert not catalog.isCached(name)
    catalog.refreshTable(name)
    with pytest.raises(PathNotFoundError):
        catalog.listColumns(f"delta.`{table_path}_2`")
