# SPDX-License-Identifier: Apache-2.0
"""Comments, quotes, parameters and variables in a statement's text: the table's name is found behind them."""

from __future__ import annotations

import pyspark
import pytest
from tests.spark.sql import statement_tables
from tests.spark.sql.statement_tables import snapshot
from tests.support.tables.built import ids

table = statement_tables.table


COMMENTS = {
    "one in another": "/* a /* b */ c */",
    "one that goes on in the next line": "-- it's \\\n ALTER TABLE nobody\n",
    "a quote": "/* it's */",
}


@pytest.mark.parametrize("comment", COMMENTS.values(), ids=list(COMMENTS))
def test_comments_may_stand_anywhere(spark, table, table_path, comment):
    spark.sql(f"{comment} ALTER {comment} TABLE {comment} {table} {comment} ADD COLUMN z INT")
    assert [row[0] for row in spark.sql(f"DESCRIBE {comment} TABLE {comment} {table}").collect()][:4] == ["id", "name", "s", "z"]
    assert spark.sql(f"{comment} SELECT '/* ', id FROM {comment} {table}").collect() == [("/* ", 1)]
    spark.sql(f"MERGE {comment} INTO {table} t USING (SELECT 2L id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (2)")
    assert sorted(ids(spark.table(table))) == [1, 2]
    spark.sql(f"TRUNCATE {comment} TABLE {table}")
    assert ids(spark.table(table)) == []


@pytest.mark.parametrize("table", ["name"], indirect=True)
def test_a_name_in_quotes_needs_no_blank_before_it(spark, table, table_path):
    spark.sql(f"ALTER TABLE`{table}` ADD COLUMN z INT")
    assert snapshot(table_path).schema.names[-1] == "z"


def test_texts_that_spark_counts_otherwise_do_not_move_the_tables_name(spark, table, table_path):
    spark.sql(f"/* \U0001f680\U0001f680 */ ALTER TABLE {table} ADD COLUMN z INT")
    assert [row[0] for row in spark.sql(f"/* \U0001f680 */ DESCRIBE TABLE {table}").collect()][:4] == ["id", "name", "s", "z"]
    assert spark.sql(f"SELECT '\U0001f680\U0001f680', id FROM {table}").collect() == [("\U0001f680\U0001f680", 1)]


@pytest.mark.skipif(pyspark.__version__.startswith(("3.", "4.0.")), reason="its parser is not told of parameters")
def test_parameters_in_the_text_do_not_move_the_tables_name(spark, table, table_path, scripts):
    script = f"BEGIN INSERT INTO {table} VALUES (:id, :name, NULL); ALTER TABLE {table} ADD COLUMN z INT; END"
    spark.sql(script, args={"id": 2, "name": "a name that is longer than the parameter's, and longer"})
    assert snapshot(table_path).schema.names[-1] == "z"
    spark.sql(f"UPDATE {table} SET z = :z WHERE name LIKE :like", args={"z": 5, "like": "a name%"})
    assert spark.table(table).where("z = 5").count() == 1


def test_a_variable_in_the_text_does_not_move_the_tables_name(spark, table, table_path):
    spark.sql(f"SET bayou_test_table={table}")
    try:
        spark.sql("/* ${bayou_test_table} */ ALTER TABLE ${bayou_test_table} ADD COLUMN z INT")
        assert [row[0] for row in spark.sql("DESCRIBE TABLE ${bayou_test_table}").collect()][:4] == ["id", "name", "s", "z"]
        assert spark.sql("/* ${bayou_test_table} */ SELECT count(*) FROM ${bayou_test_table}").collect() == [(1,)]
    finally:
        spark.conf.unset("bayou_test_table")
