# SPDX-License-Identifier: Apache-2.0
"""ADD CONSTRAINT and DROP CONSTRAINT as SQL, also in Sparks whose parsers do not know them."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.errors import AnalysisException, ParseException
from tests.spark.sql import statement_tables
from tests.spark.sql.statement_tables import snapshot

import bayou
from bayou.errors import ConstraintViolationError, InvalidSchemaError, UnsupportedFeatureError
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.parser import table_name

table = statement_tables.table


def constraints(path):
    prefix = "delta.constraints."
    return {key.removeprefix(prefix): text for key, text in snapshot(path).properties.items() if key.startswith(prefix)}


@pytest.mark.smoke
def test_constraints_are_added_and_dropped(spark, table, table_path):
    spark.sql(f"""-- a comment; ALTER TABLE x ADD CONSTRAINT y
        alter  table {table} /* DROP */ ADD\tconstraint `Of Ids` check (
            id>0 -- more than nothing)
            AND (name <> ') -- ' OR `name` IS NULL)
        );""")
    assert constraints(table_path) == {"of ids": "id > 0 AND ( name <> ') -- ' OR `name` IS NULL )"}
    with pytest.raises(ConstraintViolationError) as caught:
        spark.sql(f"INSERT INTO {table} VALUES (-1, 'a', NULL)")
    assert caught.value.constraint == "of ids"
    spark.sql(f"ALTER TABLE {table} DROP CONSTRAINT `of IDS`")
    spark.sql(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS nobody")
    assert constraints(table_path) == {}
    with pytest.raises(InvalidSchemaError):
        spark.sql(f"ALTER TABLE {table} DROP CONSTRAINT nobody")
    found = bayou.open(table_path).history()
    assert [each.operation for each in found][:3] == ["DROP CONSTRAINT", "ADD CONSTRAINT", "WRITE"]


REFUSED = {
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 1)": ConstraintViolationError,
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK (nobody > 1)": AnalysisException,
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK (rand() > 0)": AnalysisException,
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK (s)": AnalysisException,
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id in (select 1))": InvalidSchemaError,
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK (exists (select 1 from {t}))": InvalidSchemaError,
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK (sum(id) > 0)": AnalysisException,
    "ALTER TABLE {t} ADD CONSTRAINT c CHECK id > 1": ParseException,
    "ALTER TABLE {t} ADD CONSTRAINT c.d CHECK (id > 0)": ParseException,
    "ALTER TABLE {t} DROP CONSTRAINT 'c'": ParseException,
    "ALTER TABLE {t} ADD CONSTRAINT c PRIMARY KEY (id)": AnalysisException,
    "ALTER TABLE nobody ADD CONSTRAINT c CHECK (id > 0)": AnalysisException,
    "SELECT 'ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 0)' )": ParseException,
    "-- ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 0)": ParseException,
}


def test_constraints_that_no_table_can_have_are_refused_before_a_commit(spark, table, table_path):
    before = bayou.open(table_path).version()
    for statement, error in REFUSED.items():
        with pytest.raises(error):
            spark.sql(statement.format(t=table))
    assert bayou.open(table_path).version() == before


def test_conditions_that_spark_knows_to_be_true_are_constraints_too(spark, table, table_path):
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT always CHECK (1 = 1)")
    assert constraints(table_path) == {"always": "1 = 1"}


def test_a_name_of_three_parts_and_sessions_made_of_this_one_know_constraints(spark, table, table_path):
    if table.startswith("delta."):
        pytest.skip("a path has two parts")
    full = f"spark_catalog.{spark.catalog.currentDatabase()}.{table}"
    spark.newSession().sql(f"ALTER TABLE {full} ADD CONSTRAINT c CHECK (id > 0)")
    assert constraints(table_path) == {"c": "id > 0"}


def test_tables_of_others_have_no_constraints(spark):
    spark.sql("CREATE TABLE of_others (id INT) USING parquet")
    try:
        with pytest.raises(AnalysisException):
            spark.sql("ALTER TABLE of_others ADD CONSTRAINT c CHECK (id > 0)")
    finally:
        spark.sql("DROP TABLE of_others")


def test_an_explained_constraint_is_not_added(spark, table, table_path):
    before = bayou.open(table_path).version()
    try:
        shown = spark.sql(f"EXPLAIN ALTER TABLE {table} ADD CONSTRAINT c CHECK (id > 0)").collect()
    except ParseException:
        assert spark.version < "4.1"
    else:
        assert "ADD CONSTRAINT `c` CHECK (id > 0)" in str(shown)
    assert bayou.open(table_path).version() == before


@pytest.mark.skipif(pyspark.__version__.startswith(("3.", "4.0.")), reason="its parser does not know these words")
def test_a_constraint_that_spark_knows_to_be_true_is_explained(spark, table, table_path):
    shown = spark.sql(f"EXPLAIN ALTER TABLE {table} ADD CONSTRAINT always CHECK (1 = 1)").collect()
    assert "ADD CONSTRAINT `always` CHECK (1 = 1)" in str(shown)
    assert constraints(table_path) == {}


@pytest.mark.skipif(pyspark.__version__.startswith(("3.", "4.0.")), reason="its parser does not know these words")
@pytest.mark.parametrize("words", ["rely", "norely"])
def test_constraints_are_not_taken_with_what_they_cannot_be(spark, table, table_path, words):
    with pytest.raises(UnsupportedFeatureError):
        spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT c CHECK (id > 0) {words}")
    assert constraints(table_path) == {}


@pytest.mark.parametrize("active", [True, False])
def test_a_name_whose_first_part_is_a_catalog_is_none_of_the_sessions_tables(spark, active):
    (spark if active else spark.newSession()).createDataFrame([(1,)], "id int")  # makes its session the active one
    settings = {
        "spark.sql.catalog.elsewhere": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        "spark.sql.catalog.elsewhere.url": "jdbc:derby:memory:other;create=true",
        "spark.sql.catalog.elsewhere.driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    }
    jvm, session = Jvm.of(spark), java_session(spark)
    assert table_name(jvm, session, "elsewhere.t") == ("elsewhere", "t")
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        assert table_name(jvm, session, "elsewhere.t") is None
        assert table_name(jvm, session, "default.t") == ("default", "t")
    finally:
        for name in settings:
            spark.conf.unset(name)
        spark.createDataFrame([(1,)], "id int")
