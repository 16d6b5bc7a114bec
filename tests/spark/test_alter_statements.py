# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE and COMMENT ON TABLE as SQL, on a name and on a path: Spark parses them, the table's log takes them."""

from __future__ import annotations

import uuid

import pyspark
import pytest
from pyspark.errors import AnalysisException, ParseException
from tests.spark.tables import ids

import bayou
from bayou.errors import (
    ConstraintViolationError,
    DeltaError,
    InvalidOptionError,
    InvalidSchemaError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from bayou.spark.jvm.bridge import Jvm
from bayou.spark.jvm.parser import table_name
from bayou.spark.jvm.session import java_session

PROPERTIES = (
    "'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true', 'delta.feature.allowColumnDefaults' = 'supported'"
)


@pytest.fixture(params=["name", "path"])
def table(request, spark, table_path):
    """A table with a row, by a name of the catalog or by its path."""
    named = f"t_{uuid.uuid4().hex[:8]}"
    found = named if request.param == "name" else f"delta.`{table_path}`"
    where = f"LOCATION '{table_path}'" if request.param == "name" else ""
    spark.sql(f"CREATE TABLE {found} (id BIGINT, name STRING, s STRUCT<x: INT>) USING delta {where} TBLPROPERTIES ({PROPERTIES})")
    spark.sql(f"INSERT INTO {found} VALUES (1, 'a', struct(1))")
    yield found
    spark.sql(f"DROP TABLE IF EXISTS {named}")


def snapshot(path):
    return bayou.open(path).snapshot()


@pytest.mark.smoke
def test_columns_are_added_renamed_moved_and_dropped(spark, table, table_path):
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (e INT COMMENT 'hi', f VARCHAR(3))")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN s.y STRING FIRST")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN g INT AFTER id")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN name TO called")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN e")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN IF EXISTS nobody")
    schema = snapshot(table_path).schema
    assert list(schema.names) == ["id", "g", "called", "s", "f"]
    assert [f.name for f in schema.field("s").type.fields] == ["y", "x"]
    assert schema.field("f").metadata["__CHAR_VARCHAR_TYPE_STRING"] == "varchar(3)"
    assert spark.table(table).select("id", "called", "s.x", "s.y", "g").collect() == [(1, "a", 1, None, None)]
    assert [each.operation for each in bayou.open(table_path).history()][:5] == [
        "DROP COLUMNS",
        "RENAME COLUMN",
        "ADD COLUMNS",
        "ADD COLUMNS",
        "ADD COLUMNS",
    ]


def test_columns_for_several_places_come_in_one_commit(spark, table, table_path):
    before = snapshot(table_path).version
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (e INT FIRST, s.y STRING FIRST, f INT AFTER id, g INT)")
    found = snapshot(table_path)
    assert found.version == before + 1
    assert list(found.schema.names) == ["e", "id", "f", "name", "s", "g"]
    assert [each.name for each in found.schema.field("s").type.fields] == ["y", "x"]


@pytest.mark.smoke
def test_a_column_gets_a_type_a_comment_a_place_and_a_default(spark, table, table_path):
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN s.x TYPE BIGINT")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN id COMMENT 'key'")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN name FIRST")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN name SET DEFAULT 'none'")
    spark.sql(f"INSERT INTO {table} (id) VALUES (2)")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN name DROP DEFAULT")
    spark.sql(f"INSERT INTO {table} (id) VALUES (3)")
    schema = snapshot(table_path).schema
    assert [f.name for f in schema.fields] == ["name", "id", "s"]
    assert schema.field("s").type.fields[0].type == "long"
    assert schema.field("id").metadata["comment"] == "key"
    assert dict(spark.table(table).select("id", "name").collect()) == {1: "a", 2: "none", 3: None}


@pytest.mark.smoke
def test_properties_and_the_comment_are_set_and_unset(spark, table, table_path):
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('mine' = 'x', 'delta.appendOnly' = 'true')")
    assert snapshot(table_path).properties["mine"] == "x"
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('mine', 'delta.appendOnly')")
    assert {"mine", "delta.appendOnly"}.isdisjoint(snapshot(table_path).properties)
    spark.sql(f"COMMENT ON TABLE {table} IS 'orders'")
    assert snapshot(table_path).metadata.description == "orders"
    with pytest.raises(InvalidOptionError):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.nonsense' = 'x')")
    with pytest.raises(DeltaError):
        spark.sql(f"ALTER TABLE {table} SET LOCATION '/elsewhere'")


def test_columns_are_replaced(spark, table, table_path):
    spark.sql(f"ALTER TABLE {table} REPLACE COLUMNS (name STRING COMMENT 'n', id BIGINT)")
    schema = snapshot(table_path).schema
    assert [(f.name, f.metadata.get("comment")) for f in schema.fields] == [("name", "n"), ("id", None)]
    assert ids(spark.table(table).select("id")) == [1]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {t} ALTER COLUMN id SET NOT NULL",
        "ALTER TABLE {t} ALTER COLUMN id TYPE DATE",
        "ALTER TABLE {t} ADD COLUMN id INT",
        "ALTER TABLE {t} DROP COLUMN nobody",
        "ALTER TABLE {t} ADD PARTITION (id = 1)",
        "ALTER TABLE {t} ADD COLUMN z INT NOT NULL",
    ],
)
def test_a_change_that_no_table_can_have_is_refused_before_a_commit(spark, table, table_path, statement):
    before = bayou.open(table_path).version()
    with pytest.raises((AnalysisException, DeltaError)):
        spark.sql(statement.format(t=table))
    assert bayou.open(table_path).version() == before


def test_an_explained_change_changes_nothing(spark, table, table_path):
    before = bayou.open(table_path).version()
    spark.sql(f"EXPLAIN ALTER TABLE {table} ADD COLUMN z INT").collect()
    assert bayou.open(table_path).version() == before


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


@pytest.fixture
def two_tables(spark, tmp_path):
    """A name for a table of two rows, and the path of another one with the same columns and three."""
    name, first, second = f"t_{uuid.uuid4().hex[:8]}", str(tmp_path / "first"), str(tmp_path / "second")
    bayou.write(spark.range(2), first)
    bayou.write(spark.range(3), second)
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{first}'")
    yield name, second
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.smoke
def test_a_name_stands_for_the_table_in_another_folder(spark, two_tables):
    name, second = two_tables
    assert spark.table(name).count() == 2
    spark.sql(f"ALTER TABLE {name} SET LOCATION '{second}'")
    assert spark.table(name).count() == 3
    spark.sql(f"INSERT INTO {name} VALUES (7)")
    assert sorted(ids(bayou.read(spark, second))) == [0, 1, 2, 7]
    assert bayou.open(second).version() == 1


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_table_of_other_columns_takes_no_name(spark, two_tables, tmp_path, partitioned):
    name, _ = two_tables
    other = str(tmp_path / "other")
    rows = spark.sql("select 1L id, 2 p") if partitioned else spark.sql("select 'a' id")
    bayou.write(rows, other, partition_by=["p"] if partitioned else [])
    with pytest.raises(InvalidSchemaError) as caught:
        spark.sql(f"ALTER TABLE {name} SET LOCATION '{other}'")
    assert caught.value.error_class == "DELTA_SET_LOCATION_SCHEMA_MISMATCH"
    assert spark.table(name).count() == 2
    spark.conf.set("spark.databricks.delta.alterLocation.bypassSchemaCheck", "true")
    try:
        spark.sql(f"ALTER TABLE {name} SET LOCATION '{other}'")
    finally:
        spark.conf.unset("spark.databricks.delta.alterLocation.bypassSchemaCheck")
    assert spark.table(name).count() == 1


def test_a_folder_without_a_table_takes_no_name_and_a_path_has_one_place(spark, two_tables, tmp_path):
    name, second = two_tables
    with pytest.raises(TableNotFoundError) as caught:
        spark.sql(f"ALTER TABLE {name} SET LOCATION '{tmp_path / 'nothing'}'")
    assert caught.value.error_class == "DELTA_MISSING_DELTA_TABLE"
    with pytest.raises(InvalidOptionError) as caught:
        spark.sql(f"ALTER TABLE delta.`{second}` SET LOCATION '{second}'")
    assert caught.value.error_class == "DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER"
    assert spark.table(name).count() == 2


@pytest.mark.skipif(not pyspark.__version__ >= "4.1", reason="older Sparks change one column in a statement")
def test_several_columns_of_one_statement_change_in_one_commit_or_not_at_all(spark, table, table_path):
    before = snapshot(table_path).version
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN name COMMENT 'two', id COMMENT 'one', s.x TYPE BIGINT")
    after = snapshot(table_path)
    assert after.version == before + 1
    assert [after.schema.field(name).metadata["comment"] for name in ("id", "name")] == ["one", "two"]
    entry = bayou.open(table_path).history()[0]
    assert (entry.operation, len(entry.operation_parameters["columns"]) > 0) == ("CHANGE COLUMNS", True)
    with pytest.raises((AnalysisException, InvalidSchemaError)):
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN id COMMENT 'changed', name TYPE INT")
    with pytest.raises((AnalysisException, InvalidSchemaError)):
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN id SET DEFAULT 5, name TYPE INT")
    assert snapshot(table_path).version == before + 1
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN id SET DEFAULT 5, name COMMENT 'three'")
    after = snapshot(table_path)
    assert (after.version, after.schema.field("id").metadata["CURRENT_DEFAULT"]) == (before + 2, "5")


def test_a_property_may_be_empty(spark, table):
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('zzz' = '')")
    assert ("zzz", "") in {tuple(row) for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}


# Scripts


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


def test_a_variable_in_the_text_does_not_move_the_tables_name(spark, table, table_path):
    spark.sql(f"SET bayou_test_table={table}")
    try:
        spark.sql("/* ${bayou_test_table} */ ALTER TABLE ${bayou_test_table} ADD COLUMN z INT")
        assert [row[0] for row in spark.sql("DESCRIBE TABLE ${bayou_test_table}").collect()][:4] == ["id", "name", "s", "z"]
        assert spark.sql("/* ${bayou_test_table} */ SELECT count(*) FROM ${bayou_test_table}").collect() == [(1,)]
    finally:
        spark.conf.unset("bayou_test_table")
