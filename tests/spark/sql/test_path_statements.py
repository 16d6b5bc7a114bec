# SPDX-License-Identifier: Apache-2.0
"""Statements with the path of a table: each works, or is refused by name; and Spark's settings for names hold for all alike."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException

import bayou
from bayou.errors import DeltaError, UnsupportedFeatureError

REFUSED = {
    "DROP TABLE {t}": "DROP TABLE",
    "DROP TABLE IF EXISTS {t} PURGE": "DROP TABLE",
    "DROP TABLE spark_catalog.{t}": "DROP TABLE",
    "ALTER TABLE {t} RENAME TO another": "ALTER TABLE ... RENAME TO",
    "ANALYZE TABLE {t} COMPUTE STATISTICS": "ANALYZE TABLE",
    "ANALYZE TABLE {t} COMPUTE STATISTICS NOSCAN": "ANALYZE TABLE",
    "ANALYZE TABLE {t} COMPUTE STATISTICS FOR ALL COLUMNS": "ANALYZE TABLE",
    "MSCK REPAIR TABLE {t}": "MSCK REPAIR TABLE",
    "LOAD DATA INPATH '/nowhere' INTO TABLE {t}": "LOAD DATA",
}


@pytest.fixture
def at_path(spark, table_path):
    spark.range(3).write.format("delta").save(table_path)
    return table_path


@pytest.mark.parametrize(("text", "shown"), REFUSED.items(), ids=REFUSED)
@pytest.mark.parametrize("source", ["delta", "DELTA"])
def test_a_statement_that_would_do_nothing_is_refused_by_name(spark, at_path, text, shown, source):
    with pytest.raises(UnsupportedFeatureError) as caught:
        spark.sql(text.format(t=f"{source}.`{at_path}`"))
    assert shown in str(caught.value)
    assert caught.value.next_step
    assert spark.read.format("delta").load(at_path).count() == 3


WORK = ["CACHE TABLE {t}", "UNCACHE TABLE {t}", "UNCACHE TABLE IF EXISTS {t}", "REFRESH TABLE {t}", "DROP VIEW IF EXISTS {t}"]


@pytest.mark.parametrize("text", WORK)
def test_a_statement_that_works_is_let_through(spark, at_path, text):
    spark.sql(text.format(t=f"delta.`{at_path}`"))
    spark.catalog.clearCache()
    assert spark.read.format("delta").load(at_path).count() == 3


def test_where_no_table_is_there_is_none_to_drop(spark, table_path):
    spark.sql(f"DROP TABLE IF EXISTS delta.`{table_path}`")
    with pytest.raises(AnalysisException):
        spark.sql(f"DROP TABLE delta.`{table_path}`")


def test_named_tables_are_dropped_renamed_and_analyzed(spark, name, at_path):
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{at_path}'")
    spark.sql(f"ANALYZE TABLE {name} COMPUTE STATISTICS")
    spark.sql(f"ALTER TABLE {name} RENAME TO {name}_b")
    spark.sql(f"DROP TABLE {name}_b")
    assert spark.read.format("delta").load(at_path).count() == 3


STATEMENTS = [
    "SELECT * FROM {t}",
    "INSERT INTO {t} VALUES (9)",
    "DELETE FROM {t} WHERE id = 9",
    "UPDATE {t} SET id = 8 WHERE id = 9",
    "MERGE INTO {t} a USING (SELECT 1 AS k) b ON a.id = b.k WHEN MATCHED THEN DELETE",
    "UPDATE IDENTIFIER('{t}' || '') SET id = 8",
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id >= 0)",
    "ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')",
    "TRUNCATE TABLE {t}",
    "DESCRIBE TABLE {t}",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_session_without_sql_on_files_has_no_paths(session, at_path, text):
    session.conf.set("spark.sql.runSQLOnFiles", "false")
    with pytest.raises(AnalysisException) as caught:
        session.sql(text.format(t=f"delta.`{at_path}`"))
    assert not isinstance(caught.value, DeltaError)
    assert bayou.open(at_path).snapshot().version == 0


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("text", STATEMENTS)
@pytest.mark.parametrize("by", ["name", "path"])
def test_a_session_without_catalogs_in_names_has_tables(session, name, at_path, text, by):
    session.sql(f"CREATE TABLE {name} USING delta LOCATION '{at_path}'")
    session.conf.set("spark.sql.legacy.v1IdentifierNoCatalog", "true")
    session.sql(text.format(t=name if by == "name" else f"delta.`{at_path}`")).collect()
    session.sql(f"ALTER TABLE {name} ADD COLUMNS (more INT)")
    assert session.table(name).columns == ["id", "more"]
    assert session.sql(f"SELECT * FROM delta.`{at_path}`").columns == ["id", "more"]
