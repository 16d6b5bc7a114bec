# SPDX-License-Identifier: Apache-2.0
"""SQL that a classic session runs and that the server alone could not: it works, or is refused with a next step."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from tests.support.cases import in_one_test

import bayou
from bayou.errors import (
    DataFileNotFoundError,
    InvalidOptionError,
    SchemaMismatchError,
    UnreadableDataFileError,
    UnsupportedFeatureError,
)

DOUBLE_QUOTES = "spark.sql.ansi.doubleQuotedIdentifiers"


@pytest.fixture
def made(spark, tmp_path):
    """A table of two rows with a default, as a name in SQL."""
    path = str(tmp_path / "table")
    table = bayou.DeltaTable.create(spark).location(path).addColumn("id", "INT").addColumn("c", "INT")
    table.property("delta.feature.allowColumnDefaults", "supported").property("delta.enableChangeDataFeed", "true").execute()
    name = f"delta.`{path}`"
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN c SET DEFAULT 7")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
    return path, name


def found(spark, text, **arguments):
    return sorted(tuple(row) for row in spark.sql(text, **arguments).collect())


@in_one_test(
    ("query", "wanted"),
    [
        ("SELECT * FROM {t}@v0", []),
        ("SELECT x.id FROM {t}@v2 x WHERE x.id = 1", [(1,)]),
        ("SELECT {t}.id FROM {t}", [(1,), (2,)]),
        ("SELECT `{p}`.id FROM {t}", [(1,), (2,)]),
        ("SELECT spark_catalog.{t}.id FROM {t} WHERE {t}.c > 1", [(2,)]),
        ("SELECT {t}.* FROM {t} JOIN (SELECT 2 AS k) ON {t}.id = k", [(2, 2)]),
        ("SELECT x.id FROM {t} x WHERE EXISTS (SELECT 1 FROM {t} WHERE {t}.id = x.id + 1)", [(1,)]),
        ("SELECT version FROM (DESCRIBE HISTORY {t})", [(0,), (1,), (2,)]),
        ("SELECT h.version FROM (desc history '{p}' LIMIT 1) AS h", [(2,)]),
        ("WITH h AS (DESCRIBE HISTORY {t}) SELECT max(version) FROM h", [(2,)]),
        ("SELECT format FROM (DESCRIBE DETAIL {t})", [("delta",)]),
        ("SELECT id FROM {t} WHERE id IN (SELECT version FROM (DESCRIBE HISTORY {t}))", [(1,), (2,)]),
        ("SELECT count(*) FROM table_history('{p}')", [(3,)]),
        ("SELECT h.version FROM table_history('{t}', 1) h", [(2,)]),
        ("SELECT format FROM table_detail('{p}')", [("delta",)]),
        ("SELECT sum(numRecords) FROM table_files('{t}')", [(2,)]),
        ("SELECT id FROM table_changes_by_path('{p}', 1 + 1)", [(1,), (2,)]),
        ("SELECT id FROM table_changes('{t}', current_timestamp() - INTERVAL 1 DAY)", [(1,), (2,)]),
        ("SELECT id FROM table_changes_by_path('{p}', date_sub(current_date(), 2))", [(1,), (2,)]),
        ("SELECT id FROM table_changes_by_path('{p}', CAST('2020-01-01' AS timestamp_ntz))", [(1,), (2,)]),
    ],
)
def test_queries(spark, made, query, wanted):
    path, name = made
    assert found(spark, query.format(t=name, p=path)) == wanted


def test_arguments_of_functions(spark, made):
    path, name = made
    assert found(spark, f"SELECT id FROM table_changes_by_path('{path}', :since)", args={"since": 2}) == [(1,), (2,)]
    query = f"SELECT id FROM {name} WHERE id > ? AND id IN (SELECT id FROM table_changes_by_path('{path}', ?)) AND c = ?"
    assert found(spark, query, args=[0, 2, 2]) == [(2,)]


@in_one_test(
    "query",
    [
        "(VALUES (3, DEFAULT))",
        "SELECT * FROM VALUES (3, DEFAULT) AS x(a, b)",
        "SELECT 3, DEFAULT WHERE true",
        "SELECT 3, DEFAULT LIMIT 1",
        "(SELECT 3, DEFAULT)",
        "SELECT id, DEFAULT FROM range(3, 4) WHERE id > 0",
    ],
)
def test_defaults(spark, made, query):
    _, name = made
    spark.sql(f"INSERT OVERWRITE {name} {query}")
    assert found(spark, f"SELECT * FROM {name}") == [(3, 7)]


def test_a_column_of_the_query_with_the_name_default(spark, made):
    _, name = made
    spark.sql(f"INSERT OVERWRITE {name} SELECT id, default FROM (SELECT 3 AS id, 4 AS default)")
    assert found(spark, f"SELECT * FROM {name}") == [(3, 4)]
    spark.sql(f"INSERT OVERWRITE {name} SELECT 5 AS default, default")
    assert found(spark, f"SELECT * FROM {name}") == [(5, 5)]
    spark.sql(f"WITH s AS (SELECT 5 AS id, 6 AS default) INSERT OVERWRITE {name} WITH t AS (FROM s) SELECT id, default FROM t")
    assert found(spark, f"SELECT * FROM {name}") == [(5, 6)]


@pytest.fixture
def dated(spark, tmp_path):
    """A table of a row in each of two partitions, as a name in SQL."""
    name = f"delta.`{tmp_path / 'dated'}`"
    spark.sql(f"CREATE TABLE {name} (id INT, d STRING) USING delta PARTITIONED BY (d)")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    return name


def test_options_of_tables(spark, dated):
    spark.sql(f"INSERT OVERWRITE {dated} WITH ('replaceWhere' = \"d = 'a'\") SELECT 3, 'a'")
    assert found(spark, f"SELECT * FROM {dated}") == [(2, "b"), (3, "a")]
    query = f"INSERT OVERWRITE {dated} WITH ('replaceWhere' = ?) SELECT ?, ?"
    spark.sql(query, args=["d = 'b'", 4, "b"])
    assert found(spark, f"SELECT * FROM {dated}") == [(3, "a"), (4, "b")]
    for _ in range(2):
        spark.sql(f"INSERT INTO {dated} WITH ('txnAppId' = 'job', 'txnVersion' = '7') VALUES (5, 'c')")
    assert found(spark, f"SELECT id FROM {dated}") == [(3,), (4,), (5,)]
    assert found(spark, f"SELECT id FROM {dated} WITH (versionAsOf = 1) AS x WHERE d = ?", args=["a"]) == [(1,)]
    assert found(spark, f"SELECT id FROM {dated} WITH (versionAsOf = :v)", args={"v": 1}) == [(1,), (2,)]
    with pytest.raises(InvalidOptionError, match="names another one"):
        spark.sql(f"SELECT id FROM {dated} VERSION AS OF 1 WITH (versionAsOf = 2)").collect()
    when = "WHEN MATCHED THEN DELETE"
    spark.sql(f"MERGE INTO {dated} t USING {dated} WITH (versionAsOf = 2) AS s ON t.id = s.id {when}")
    assert found(spark, f"SELECT id FROM {dated}") == [(4,), (5,)]
    with pytest.raises(UnsupportedFeatureError, match="options after WITH"):
        spark.sql(f"DELETE FROM {dated} WITH (a = 1)")


def test_partitions_of_inserts(spark, dated):
    spark.sql(f"INSERT OVERWRITE {dated} PARTITION (d = ? -- one day\n) SELECT ?", args=["a", 3])
    assert found(spark, f"SELECT * FROM {dated}") == [(2, "b"), (3, "a")]
    with pytest.raises(UnsupportedFeatureError, match="INSERT_PARTITION_SPEC_IF_NOT_EXISTS"):
        spark.sql(f"INSERT OVERWRITE {dated} PARTITION (d = 'a') IF NOT EXISTS SELECT 4")


def test_arguments_of_clauses(spark, dated):
    spark.sql(f"COMMENT ON TABLE {dated} IS :c", args={"c": "Bob's"})
    spark.sql(f"ALTER TABLE {dated} SET TBLPROPERTIES ('k' = :v)", args={"v": "Bob's"})
    detail = spark.sql(f"DESCRIBE DETAIL {dated}").first()
    assert (detail.description, detail.properties["k"]) == ("Bob's", "Bob's")
    late = "timestamp'2026-01-02 00:00:00' - :i > timestamp'2026-01-01 00:00:00'"
    spark.sql(f"DELETE FROM {dated} WHERE id = 1 AND {late}", args={"i": dt.timedelta(hours=23)})
    assert found(spark, f"SELECT id FROM {dated}") == [(2,)]


def test_a_column_that_an_insert_lists_twice(spark, made):
    with pytest.raises(SchemaMismatchError, match=r"\[COLUMN_ALREADY_EXISTS\].*`c` is listed twice") as caught:
        spark.sql(f"INSERT INTO {made[1]} (id, C, c) VALUES (1, 2, 3)")
    assert isinstance(caught.value, AnalysisException)


def test_parameters_of_replacing_inserts(spark, made):
    _, name = made
    spark.sql(f"INSERT INTO {name} REPLACE WHERE id = :i VALUES (:i, 20)", args={"i": 2})
    assert found(spark, f"SELECT * FROM {name}") == [(1, 1), (2, 20)]
    spark.sql(f"INSERT INTO {name} REPLACE WHERE id = ? VALUES (?, ?)", args=[2, 2, 21])
    assert found(spark, f"SELECT * FROM {name}") == [(1, 1), (2, 21)]
    spark.sql(f"INSERT INTO {name} AS z REPLACE ON (z.id = s.id + :o) (SELECT 2 AS id, :v AS c) s", args={"o": 0, "v": 22})
    assert found(spark, f"SELECT * FROM {name}") == [(1, 1), (2, 22)]


def test_names_in_double_quotes(spark, made):
    path, name = made
    spark.conf.set(DOUBLE_QUOTES, "true")
    try:
        quoted = f'delta."{path}"'
        spark.sql(f'INSERT INTO {quoted} ("id", c) VALUES (3, 3)')
        spark.sql(f'UPDATE {name} SET "c" = 30 WHERE "id" = 3')
        spark.sql(f'MERGE INTO {quoted} t USING (SELECT 1 AS "id") s ON t."id" = s."id" WHEN MATCHED THEN UPDATE SET "c" = 10')
        spark.sql(f'DELETE FROM {quoted} WHERE "id" = 2')
        assert found(spark, f'SELECT "id", c FROM {quoted}') == [(1, 10), (3, 30)]
        assert found(spark, f'SELECT "id" FROM {quoted} VERSION AS OF 2') == [(1,), (2,)]
    finally:
        spark.conf.unset(DOUBLE_QUOTES)
    assert found(spark, f'SELECT "id" FROM {name} WHERE id = 1') == [("id",)]


def test_temporary_views_of_a_path(spark, made):
    path, name = made
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW of_a_path USING delta OPTIONS (path '{path}')")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW of_types (id INT, c INT) USING delta OPTIONS (path '{path}', versionAsOf 2);")
    spark.sql(f"INSERT INTO {name} VALUES (3, 3)")
    assert found(spark, "SELECT id FROM of_a_path") == [(1,), (2,), (3,)]
    assert found(spark, "SELECT id FROM of_types") == [(1,), (2,)]


@pytest.mark.parametrize(
    "text", ["FROM {t} INSERT INTO {t} SELECT id, c INSERT INTO {t} SELECT c, id", "FROM x INSERT INTO {t} SELECT 1, 2"]
)
def test_inserts_after_from_are_refused(spark, made, text):
    with pytest.raises(UnsupportedFeatureError, match="one statement for each table"):
        spark.sql(text.format(t=made[1]))


def test_writes_to_names_of_the_catalog_are_refused(spark):
    for write in (
        lambda: spark.range(1).write.format("delta").saveAsTable("a_name"),
        lambda: spark.range(1).writeTo("a_name").using("delta").create(),
    ):
        with pytest.raises(UnsupportedFeatureError, match="use the table by its path"):
            write()
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.range(1).write.format("delta").mode("append").insertInto("a_name")


def test_the_history_has_the_name_of_the_table(spark, made):
    path, name = made
    merge = f"MERGE INTO {name} USING (SELECT 1 AS id) s ON {name}.id = s.id WHEN MATCHED AND {name}.c < 5 THEN DELETE"
    spark.sql(merge)
    parameters = bayou.DeltaTable.forPath(spark, path).history(1).collect()[0].operationParameters
    assert json.loads(parameters["predicate"]) == [f"{name}.id = s.id"]
    assert json.loads(parameters["matchedPredicates"])[0]["predicate"] == f"{name}.c < 5"
    spark.sql(f"DELETE FROM {name} WHERE {name}.id = 2")
    parameters = bayou.DeltaTable.forPath(spark, path).history(1).collect()[0].operationParameters
    assert json.loads(parameters["predicate"]) == [f"{name}.id = 2"]


def data_files(path):
    return [file for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts]


def test_a_missing_or_damaged_data_file_is_named(spark, made):
    path, name = made
    for file in data_files(path):
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        file.write_bytes(b"damaged" * 300)
    with pytest.raises(UnreadableDataFileError, match=r"is not a Parquet file.*table.*file.*Next: Restore the file"):
        spark.read.format("delta").load(path).collect()
    for file in data_files(path):
        file.unlink()
    for read in (
        lambda: spark.read.format("delta").load(path).collect(),
        lambda: spark.sql(f"SELECT sum(id) FROM {name}").collect(),
        lambda: spark.sql(f"UPDATE {name} SET c = 1"),
        lambda: spark.read.format("delta").load(path).write.format("delta").save(f"{path}-copy"),
    ):
        with pytest.raises(DataFileNotFoundError, match=r"FOUND_DETAILED.*table.*file.*Next: Restore the file") as caught:
            read()
        assert "JVM stacktrace" not in str(caught.value)


def test_a_failed_first_write_leaves_no_folder(spark, tmp_path):
    path = tmp_path / "new"
    with pytest.raises(Exception, match="no rows today"):
        spark.range(3).selectExpr("CAST(raise_error('no rows today') AS INT) AS id").write.format("delta").save(str(path))
    assert not path.exists()
