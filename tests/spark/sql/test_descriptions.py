# SPDX-License-Identifier: Apache-2.0
"""What Spark shows of a table with a name is what the log says last: its columns, its comment, its properties."""

from __future__ import annotations

import json

import pytest
from tests.support.tables.queried import entry_of, log_of

import bayou


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


@pytest.mark.smoke
def test_show_columns_lists_those_of_the_log(spark, table_path, name):
    spark.sql(f"CREATE TABLE {name} (a INT, s STRUCT<x: INT>, B STRING) USING delta LOCATION '{table_path}'")
    for statement in (f"SHOW COLUMNS IN {name}", f"SHOW COLUMNS IN {name} IN default", f"SHOW COLUMNS IN delta.`{table_path}`"):
        assert [row.col_name for row in spark.sql(statement).collect()] == ["a", "s", "B"]


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
