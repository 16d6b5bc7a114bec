# SPDX-License-Identifier: Apache-2.0
"""SQL scripts: what a statement is about is known when it runs, and what it fails with is handled."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.errors import AnalysisException
from tests.support.tables.built import ids

import bayou
from bayou.errors import UnsupportedFeatureError

pytestmark = [
    pytest.mark.usefixtures("scripts"),
    pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark has scripts from 4.0 on"),
]
KNOWS_CONSTRAINTS = not pyspark.__version__.startswith(("3.", "4.0."))
HAS_HANDLERS = KNOWS_CONSTRAINTS
STRUCT = "named_struct('b', 5, 'a', 6)"
FAILING = "SELECT id FROM range(3) WHERE raise_error('x') IS NULL"
CHANGES = {
    "update of a struct": f"UPDATE {{t}} SET s = {STRUCT}, d = 1",
    "update to a default": "UPDATE {t} SET d = DEFAULT, s.a = 6, s.b = 5",
    "merge": f"MERGE INTO {{t}} USING (SELECT 1 id) x ON {{t}}.id = x.id WHEN MATCHED THEN UPDATE SET s = {STRUCT}, d = DEFAULT",
    "update of a name in an expression": f"UPDATE IDENTIFIER('{{t}}') SET s = {STRUCT}, d = DEFAULT",
    "update behind WITH": f"WITH q AS (SELECT 1) UPDATE {{t}} SET s = {STRUCT}, id = (SELECT * FROM q)",
    "merge behind WITH": f"WITH q AS (SELECT 1) MERGE INTO {{t}} USING q ON {{t}}.id = 1 WHEN MATCHED THEN UPDATE SET s = {STRUCT}",
}


def constraints(session, table):
    return [row.key for row in session.sql(f"SHOW TBLPROPERTIES {table}").collect() if row.key.startswith("delta.constraints.")]


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_script_changes_the_rows_of_a_table_that_it_makes(spark, name, change):
    rows = spark.sql(f"""
        BEGIN
            CREATE TABLE {name} (id INT, s STRUCT<a: INT, b: INT>, d INT DEFAULT 7) USING delta
                TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported');
            INSERT INTO {name} VALUES (1, named_struct('a', 1, 'b', 2), 0);
            {change.format(t=name)};
            SELECT id, s.a, s.b FROM {name};
        END""").collect()
    assert rows == [(1, 6, 5)]


@pytest.mark.smoke
def test_a_merge_adds_columns_to_a_table_that_the_script_makes(spark, name):
    rows = spark.sql(f"""
        BEGIN
            CREATE TABLE {name} USING delta AS SELECT 1 id;
            MERGE WITH SCHEMA EVOLUTION INTO {name} USING (SELECT 1 id, 5 q) x ON {name}.id = x.id WHEN MATCHED THEN UPDATE SET *;
            DELETE FROM {name} WHERE id > 1;
            SELECT * FROM {name};
        END""").collect()
    assert rows == [(1, 5)]


def test_sparks_own_error_tells_that_another_sources_rows_cannot_be_changed(spark, other_name):
    spark.sql(f"CREATE TABLE {other_name} USING parquet AS SELECT 1 id")
    with pytest.raises(AnalysisException, match="does not support DELETE"):
        spark.sql(f"BEGIN DELETE FROM {other_name}; END")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"BEGIN UPDATE no_{other_name} SET id = 1; END")


def test_a_setting_that_changes_in_a_script_does_not_move_a_tables_name(spark, name):
    spark.sql(f"CREATE TABLE {name} USING delta AS SELECT 1 id")
    spark.conf.set("bayou_test_value", "1")
    try:
        spark.sql(f"""
            BEGIN
                EXECUTE IMMEDIATE 'SET bayou_test_value=a_longer_one';
                /* ${{bayou_test_value}} */ ALTER TABLE {name} ADD COLUMN z INT;
                TRUNCATE TABLE {name};
            END""")
    finally:
        spark.conf.unset("bayou_test_value")
    assert spark.table(name).columns == ["id", "z"]
    assert spark.table(name).count() == 0


@pytest.mark.skipif(not KNOWS_CONSTRAINTS, reason="its parser does not know these words")
def test_a_constraint_is_not_added_to_a_table_of_the_same_name_in_another_catalog(spark, name):
    spark.sql(f"CREATE TABLE {name} USING delta AS SELECT 1 id")
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.catalog.far", "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    session.conf.set("spark.sql.catalog.far.url", f"jdbc:derby:memory:{name};create=true")
    session.conf.set("spark.sql.catalog.far.driver", "org.apache.derby.iapi.jdbc.AutoloadedDriver")
    session.sql(f"CREATE TABLE far.APP.{name} (id INT)")
    with pytest.raises(AnalysisException, match="does not support table constraint"):
        session.sql(f"BEGIN USE far.APP; ALTER TABLE {name} ADD CONSTRAINT c CHECK (id > 0); END")
    assert constraints(spark, name) == []


@pytest.mark.skipif(not KNOWS_CONSTRAINTS, reason="its parser does not know these words")
def test_a_constraint_is_added_to_a_table_that_the_script_makes(spark, name):
    spark.sql(f"BEGIN CREATE TABLE {name} USING delta AS SELECT 1 id; ALTER TABLE {name} ADD CONSTRAINT c CHECK (id > 0); END")
    assert constraints(spark, name) == ["delta.constraints.c"]


@pytest.mark.skipif(not HAS_HANDLERS, reason="its scripts have no handlers")
def test_a_statement_that_is_refused_is_so_only_when_it_runs(spark, name):
    spark.sql(f"CREATE TABLE {name} USING delta AS SELECT 1 id")
    refused = f"ALTER TABLE {name} ADD CONSTRAINT c CHECK (id > 0) RELY"
    assert spark.sql(f"BEGIN IF 1 = 2 THEN {refused}; END IF; SELECT 'done'; END").collect() == [("done",)]
    handler = "DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 'handled'; END"
    assert spark.sql(f"BEGIN {handler}; {refused}; END").collect() == [("handled",)]
    with pytest.raises(UnsupportedFeatureError):
        spark.sql(f"BEGIN {refused}; END")


@pytest.mark.skipif(not HAS_HANDLERS, reason="its scripts have no handlers")
@pytest.mark.parametrize(
    "statement",
    [
        f"INSERT INTO {{t}} {FAILING}",
        f"INSERT OVERWRITE {{t}} {FAILING}",
        f"CREATE TABLE {{t}}_new USING delta AS {FAILING}",
        f"CREATE OR REPLACE TABLE {{t}} USING delta AS {FAILING}",
        "DELETE FROM {t} WHERE raise_error('x') IS NULL",
        "UPDATE {t} SET id = raise_error('x')",
    ],
)
def test_a_script_can_handle_what_a_job_of_a_statement_fails_with(spark, name, statement):
    spark.sql(f"CREATE TABLE {name} USING delta AS SELECT 1L id")
    for what in ("SQLEXCEPTION", "USER_RAISED_EXCEPTION"):
        handler = f"DECLARE EXIT HANDLER FOR {what} BEGIN SELECT 'handled'; END"
        assert spark.sql(f"BEGIN {handler}; {statement.format(t=name)}; END").collect() == [("handled",)]
    assert ids(spark.table(name)) == [1]
    assert not spark.catalog.tableExists(f"{name}_new")
