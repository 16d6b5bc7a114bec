# SPDX-License-Identifier: Apache-2.0
"""Scripts of several statements that alter a table and change its rows."""

from __future__ import annotations

import uuid

import pyspark
import pytest
from tests.spark.sql import statement_tables
from tests.spark.sql.statement_tables import snapshot
from tests.support.tables.built import ids

from bayou.errors import ConstraintViolationError

table = statement_tables.table


@pytest.mark.smoke
@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark has scripts from 4.0 on")
def test_statements_in_a_script_change_the_table(spark, table, table_path, scripts):
    spark.sql(f"""
        BEGIN
            INSERT INTO {table} VALUES (2, 'b', struct(2));
            ALTER TABLE {table} ADD COLUMN z INT AFTER id;
            IF (SELECT count(*) FROM {table}) = 2 THEN
                alter /* table */ table -- alter table nobody
                  {table} SET TBLPROPERTIES ('team' = 'alter table; t');
            END IF;
            DESCRIBE TABLE {table};
            UPDATE {table} SET z = 7 WHERE id = 2;
            DELETE FROM {table} WHERE id = 1;
        END""")
    assert spark.table(table).collect() == [(2, 7, "b", (2,))]
    assert snapshot(table_path).metadata.configuration["team"] == "alter table; t"
    assert spark.sql(f"BEGIN TRUNCATE TABLE {table}; SELECT count(*) FROM {table}; END").collect() == [(0,)]


@pytest.mark.skipif(pyspark.__version__.startswith(("3.", "4.0.")), reason="its parser does not know these words")
def test_constraints_are_added_and_dropped_in_a_script(spark, table, table_path, scripts):
    adds = f"ALTER TABLE {table} ADD CONSTRAINT"
    spark.sql(f"BEGIN {adds} c CHECK (id > 0); {adds} d CHECK (id > 1 OR id = 1); END")
    assert snapshot(table_path).metadata.configuration["delta.constraints.c"] == "id > 0"
    with pytest.raises(ConstraintViolationError):
        spark.sql(f"BEGIN INSERT INTO {table} VALUES (-1, 'c', NULL); END")
    spark.sql(f"BEGIN ALTER TABLE {table} DROP CONSTRAINT c; END")
    assert "delta.constraints.c" not in snapshot(table_path).metadata.configuration
    with pytest.raises(ConstraintViolationError):
        spark.sql(f"BEGIN ALTER TABLE {table} ADD CONSTRAINT e CHECK (id > 100); END")


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark has scripts from 4.0 on")
def test_rows_are_changed_in_a_script_by_its_variables(spark, table, table_path, scripts):
    spark.sql(f"""
        BEGIN
            DECLARE one INT DEFAULT 1;
            UPDATE {table} SET name = concat('n', one) WHERE id = one;
            MERGE INTO {table} t USING (SELECT 2L AS id) s ON t.id = s.id
                WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id + one, 'm');
        END""")
    assert sorted(spark.table(table).select("id", "name").collect()) == [(1, "n1"), (3, "m")]
    spark.sql(f"BEGIN DECLARE three INT DEFAULT 3; DELETE FROM {table} WHERE id = three; END")
    assert ids(spark.table(table)) == [1]


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark has scripts from 4.0 on")
def test_the_branches_of_a_script_stay_where_they_are(spark, table, table_path, scripts):
    delete, update = f"DELETE FROM {table}", f"UPDATE {table} SET name = concat(name, 'u')"
    spark.sql(f"BEGIN IF 1 = 2 THEN {delete}; ELSE {update}; END IF; END")
    spark.sql(f"BEGIN CASE WHEN 1 = 2 THEN {delete}; ELSE {update}; END CASE; END")
    spark.sql(f"BEGIN CASE 1 WHEN 2 THEN {delete}; ELSE {update}; END CASE; END")
    spark.sql(f"BEGIN DECLARE n INT DEFAULT 0; WHILE n < 2 DO {update}; SET n = n + 1; END WHILE; END")
    assert spark.table(table).select("id", "name").collect() == [(1, "auuuuu")]


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark has scripts from 4.0 on")
def test_a_name_in_a_script_is_what_it_is_when_the_statement_runs(spark, tmp_path, scripts):
    database = f"db_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE DATABASE {database} LOCATION '{tmp_path}'")
    try:
        for name in (f"{database}.t", f"{database}.t_{database}", f"t_{database}"):
            spark.sql(f"CREATE TABLE {name} USING delta AS SELECT 1 AS id")
        spark.sql(f"BEGIN USE {database}; UPDATE t_{database} SET id = 2; DELETE FROM t; USE default; END")
        found = [ids(spark.table(each)) for each in (f"t_{database}", f"{database}.t_{database}", f"{database}.t")]
        assert found == [[1], [2], []]
    finally:
        spark.sql("USE default")
        spark.sql(f"DROP TABLE IF EXISTS t_{database}")
        spark.sql(f"DROP DATABASE {database} CASCADE")


@pytest.mark.skipif(pyspark.__version__.startswith(("3.", "4.0.")), reason="its scripts have no handlers")
def test_a_script_can_handle_an_error_of_bayous(spark, table, scripts):
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT c CHECK (id > 0)")
    handled = """
        BEGIN
            DECLARE EXIT HANDLER FOR {what} BEGIN SELECT 'handled'; END;
            UPDATE {table} SET name = 'again';
            INSERT INTO {table} VALUES (-1, 'c', NULL);
            DELETE FROM {table};
        END"""
    for what in ("SQLEXCEPTION", "SQLSTATE '23001'"):
        assert spark.sql(handled.format(what=what, table=table)).collect() == [("handled",)]
    assert spark.table(table).select("id", "name").collect() == [(1, "again")]
