# SPDX-License-Identifier: Apache-2.0
"""INSERT in all its forms, and what writers by name leave out."""

from __future__ import annotations

import pytest
from pyspark.errors import ParseException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

import bayou
from bayou.errors import DeltaError, SchemaMismatchError, TableNotFoundError


@pytest.fixture
def name(spark, name):
    """A table of two rows, which the catalog knows."""
    spark.sql(f"CREATE TABLE {name} (id BIGINT, data STRING) USING delta")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    return name


def rows(spark, name):
    return sorted(tuple(row) for row in spark.table(name).collect())


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("query", "added"),
    [
        ("SELECT * FROM others WHERE id NOT IN (SELECT id FROM {t})", [(3, "c")]),
        ("SELECT * FROM others WHERE id = (SELECT max(id) FROM {t})", [(2, "x")]),
        ("SELECT * FROM others o WHERE EXISTS (SELECT 1 FROM {t} WHERE {t}.id = o.id AND {t}.data < 'b')", []),
        ("SELECT * FROM others o WHERE NOT EXISTS (SELECT 1 FROM {t} WHERE {t}.id = o.id)", [(3, "c")]),
        ("SELECT id + 10, (SELECT max(data) FROM {t}) FROM others WHERE id = 3", [(13, "b")]),
        ("SELECT * FROM {t} WHERE id = (SELECT max(id) FROM {t})", [(2, "b")]),
    ],
)
def test_a_subquery_of_an_insert_reads_the_table_that_the_rows_go_into(spark, name, query, added):
    spark.createDataFrame([(2, "x"), (3, "c")], "id long, data string").createOrReplaceTempView("others")
    spark.sql(f"INSERT INTO {name} {query.format(t=name)}")
    assert rows(spark, name) == sorted([(1, "a"), (2, "b"), *added])


@pytest.mark.smoke
def test_a_subquery_of_an_insert_overwrite_reads_the_rows_that_go(spark, name):
    spark.createDataFrame([(2, "x"), (3, "c")], "id long, data string").createOrReplaceTempView("others")
    spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM others WHERE id IN (SELECT id FROM {name})")
    assert rows(spark, name) == [(2, "x")]


@pytest.mark.smoke
def test_one_query_feeds_several_inserts(spark, name):
    spark.createDataFrame([(3, "c"), (4, "d")], "id long, data string").createOrReplaceTempView("others")
    spark.sql(f"FROM others INSERT INTO {name} SELECT * WHERE id = 3 INSERT INTO {name} SELECT id, upper(data) WHERE id = 4")
    assert rows(spark, name) == [(1, "a"), (2, "b"), (3, "c"), (4, "D")]


@pytest.mark.smoke
@pytest.mark.parametrize("statement", ["INSERT INTO {t} (id) SELECT 5L", "INSERT INTO {t} BY NAME SELECT 5L id LIMIT 0"])
def test_an_insert_may_not_leave_out_what_must_not_be_null(spark, name, statement):
    if "LIMIT 0" not in statement and spark.version < "4":
        pytest.skip("Spark 3.5 does not tell a column that is left out from NULL")
    spark.sql(f"CREATE OR REPLACE TABLE {name} (id BIGINT, data STRING NOT NULL) USING delta")
    with pytest.raises(SchemaMismatchError, match="Column data is not specified in INSERT"):
        spark.sql(statement.format(t=name))
    spark.sql(f"INSERT INTO {name} (data, id) VALUES ('c', 3)")
    assert rows(spark, name) == [(3, "c")]


def test_a_writer_by_name_may_leave_out_partition_columns_and_all_others(spark, table_path, name):
    other = f"{name}_p"
    spark.sql(f"CREATE TABLE {other} (id BIGINT, data STRING, p INT) USING delta PARTITIONED BY (p) LOCATION '{table_path}'")
    try:
        spark.range(1).writeTo(other).append()
        spark.range(1).select(F.lit(7).alias("P")).writeTo(other).append()
        spark.range(2, 3).write.format("delta").mode("append").saveAsTable(other)
        found = {tuple(row) for row in spark.table(other).collect()}
    finally:
        spark.sql(f"DROP TABLE {other}")
    assert found == {(0, None, None), (None, None, 7), (2, None, None)}


@pytest.mark.smoke
@pytest.mark.parametrize("column", ["by.4", "by-4", "by%4", "by#4", "by/4", "by`4"])
def test_partition_columns_may_have_any_name_that_files_may_have(spark, table_path, column):
    bayou.enable(spark)
    frame = spark.range(4).select("id", (F.col("id") % 2).alias(column))
    frame.write.format("delta").partitionBy(column).save(table_path)
    frame.write.format("delta").mode("append").partitionBy(column).save(table_path)
    quoted = column.replace("`", "``")
    assert spark.read.format("delta").load(table_path).where(f"`{quoted}` = 1").count() == 4
    assert bayou.open(table_path).snapshot().partition_columns == (column,)


def test_a_partition_column_that_files_cannot_have_is_refused_as_one(spark, table_path):
    bayou.enable(spark)
    frame = spark.range(4).select("id", (F.col("id") % 2).alias("by 4"))
    with pytest.raises(DeltaError) as caught:
        frame.write.format("delta").partitionBy("by 4").save(table_path)
    assert caught.value.error_class == "DELTA_INVALID_PARTITION_COLUMN_NAME"


@pytest.mark.parametrize(
    ("option", "value"), [("partitionOverwriteMode", "adaptive"), ("overwriteSchema", "maybe"), ("mergeSchema", "perhaps")]
)
def test_a_wrong_value_of_an_option_is_an_error_in_any_mode(spark, name, option, value):
    with pytest.raises(DeltaError) as caught:
        spark.range(1).write.format("delta").mode("append").option(option, value).saveAsTable(name)
    assert caught.value.error_class == "DELTA_ILLEGAL_OPTION"
    assert len(rows(spark, name)) == 2


def test_the_clause_options_gives_a_table_its_properties(spark, name):
    for statement in (
        f"CREATE OR REPLACE TABLE {name} (id INT) USING delta OPTIONS ('delta.checkpointInterval' = '7', 'other' = 'x')",
        f"CREATE OR REPLACE TABLE {name} USING delta OPTIONS ('delta.checkpointInterval' = '7', 'other' = 'x') AS SELECT 1 id",
    ):
        spark.sql(statement)
        shown = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
        assert shown["delta.checkpointInterval"] == "7"
        assert "other" not in shown


def test_a_table_is_replaced_by_one_that_only_takes_appends(spark, name):
    spark.range(3).writeTo(name).using("delta").tableProperty("delta.appendOnly", "true").replace()
    assert rows(spark, name) == [(0,), (1,), (2,)]
    with pytest.raises(DeltaError) as caught:
        spark.range(3).writeTo(name).using("delta").replace()
    assert caught.value.error_class == "DELTA_CANNOT_MODIFY_APPEND_ONLY"


def last_version(spark):
    return spark.conf.get("spark.databricks.delta.lastCommitVersionInSession")


@pytest.mark.smoke
def test_the_session_knows_the_version_of_its_last_commit(spark, name):
    assert last_version(spark) == "1"
    bayou.DeltaTable.forName(spark, name).delete("id = 1")
    assert last_version(spark) == "2"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('a' = 'b')")
    assert last_version(spark) == "3"
    spark.sql(f"CREATE OR REPLACE TABLE {name} (id INT) USING delta")
    assert last_version(spark) == "4"
    bayou.DeltaTable.forName(spark, name).delete()
    assert last_version(spark) == "4"


@pytest.fixture
def note(spark):
    """The session's note for the history."""
    key = "spark.databricks.delta.commitInfo.userMetadata"
    spark.conf.set(key, "mine")
    yield "mine"
    spark.conf.unset(key)


def test_the_sessions_note_is_in_every_commit_and_an_empty_one_of_the_writer_beats_it(spark, name, note):
    spark.sql(f"CREATE OR REPLACE TABLE {name} (id BIGINT) USING delta")
    table = bayou.DeltaTable.createOrReplace(spark).tableName(name).addColumn("id", "BIGINT").execute()
    spark.range(1).write.format("delta").mode("append").option("userMetadata", "").saveAsTable(name)
    assert [row.userMetadata for row in table.history(3).collect()] == ["", note, note]


def test_an_overwrite_of_some_rows_counts_those_that_go_and_those_that_stay(spark, table_path):
    bayou.enable(spark)
    writer = spark.range(10).selectExpr("id", "id % 2 as p").repartition(1).write.format("delta").mode("overwrite")
    writer.partitionBy("p").save(table_path)
    first = bayou.open(table_path).history()[0].operation_metrics
    assert (first["numRemovedFiles"], first["numRemovedBytes"]) == ("0", "0")

    def counted(condition, rows):
        spark.sql(rows).write.format("delta").mode("overwrite").option("replaceWhere", condition).save(table_path)
        found = bayou.open(table_path).history()[0].operation_metrics
        return tuple(int(found[name]) for name in ("numDeletedRows", "numCopiedRows", "numOutputRows"))

    assert counted("p = 0", "select 0L as id, 0L as p") == (5, 0, 1)
    assert counted("id < 4", "select 1L as id, 1L as p") == (3, 3, 4)
    assert counted("id = 77", "select 77L as id, 1L as p") == (0, 0, 1)


@pytest.mark.parametrize("condition", ["P > 0", "p > '0'", "P = 1 and Id >= 0"])
def test_the_condition_of_an_overwrite_may_spell_names_in_any_case(spark, table_path, condition):
    bayou.enable(spark)
    frame = spark.range(4).selectExpr("id", "id % 2 as p")
    frame.write.format("delta").partitionBy("p").save(table_path)
    new = spark.sql("select 9L as id, 1L as p").write.format("delta").mode("overwrite")
    new.partitionBy("P").option("replaceWhere", condition).save(table_path)
    found = spark.read.format("delta").load(table_path).select("id", "p").collect()
    assert sorted(map(tuple, found)) == [(0, 0), (2, 0), (9, 1)]


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("option", "value", "error_class"),
    [
        ("replaceWhere", "", "DELTA_FAILED_RECOGNIZE_PREDICATE"),
        ("replaceWhere", " ", "DELTA_FAILED_RECOGNIZE_PREDICATE"),
        ("replaceWhere", "id = (select max(id) from range(2))", "DELTA_UNSUPPORTED_SUBQUERY"),
        ("replaceOn", "t.id = s.nope", "DELTA_INSERT_REPLACE_ON_UNRESOLVED_COLUMNS_IN_CONDITION"),
        ("replaceOn", "", "DELTA_ILLEGAL_OPTION"),
    ],
)
def test_an_overwrite_without_a_condition_that_can_be_used_replaces_nothing(spark, table_path, option, value, error_class):
    bayou.enable(spark)
    spark.range(3).write.format("delta").save(table_path)
    writer = spark.range(1).alias("s").write.format("delta").mode("overwrite").option(option, value)
    with pytest.raises((DeltaError, ParseException)) as caught:
        writer.option("targetAlias", "t").save(table_path) if option == "replaceOn" else writer.save(table_path)
    assert error_class in str(caught.value)
    assert spark.read.format("delta").load(table_path).count() == 3


@pytest.mark.parametrize("option", ["replaceOn", "replaceUsing"])
def test_rows_cannot_be_replaced_where_there_is_no_table(spark, table_path, option):
    bayou.enable(spark)
    writer = spark.range(1).write.format("delta").mode("overwrite").option(option, "true" if option == "replaceOn" else "id")
    with pytest.raises(TableNotFoundError):
        writer.save(table_path)


def test_an_overwrite_of_matching_rows_counts_those_that_go_and_those_that_stay(spark, table_path):
    bayou.enable(spark)
    spark.range(10).repartition(1).write.format("delta").save(table_path)
    writer = spark.range(7, 12).write.format("delta").mode("overwrite").option("replaceUsing", "id")
    writer.save(table_path)
    found = bayou.open(table_path).history()[0].operation_metrics
    assert [int(found[name]) for name in ("numDeletedRows", "numCopiedRows", "numOutputRows")] == [3, 7, 12]


def test_a_partition_column_that_says_what_is_replaced_is_not_left_out(spark, table_path, name):
    other = f"{name}_p"
    spark.sql(f"CREATE TABLE {other} (id BIGINT, p INT) USING delta PARTITIONED BY (p) LOCATION '{table_path}'")
    spark.sql(f"INSERT INTO {other} VALUES (1, NULL), (2, 2)")
    try:
        for replacing in (
            lambda: spark.range(1).write.format("delta").mode("overwrite").option("replaceUsing", "p").saveAsTable(other),
            lambda: spark.range(1).writeTo(other).overwritePartitions(),
        ):
            with pytest.raises(DeltaError):
                replacing()
        assert spark.table(other).count() == 2
    finally:
        spark.sql(f"DROP TABLE {other}")


FIELDS = {
    "select 1L id, named_struct('y', '7', 'x', 2) s": (2, "7"),
    "select 1L id, named_struct('x', 7, 'y', '2') s": (7, "2"),
    # Fields go by position where any column has another type or another name.
    "select 1 id, named_struct('y', '7', 'x', 2) s": (7, "2"),
    "select 1L id, named_struct('y', '7', 'x', 2) other": (7, "2"),
    "select 1L id, named_struct('Y', '7', 'x', 2) s": (7, "2"),
    "select 1L id, named_struct('y', '7', 'x', 2S) s": (7, "2"),
}


@pytest.mark.parametrize("form", ["{kind} s", "{kind} array(s)", "{kind} map('k', s)", "insertInto"])
@pytest.mark.parametrize("query", FIELDS)
def test_fields_of_structs_go_by_name_where_all_columns_of_an_insert_are_the_tables(spark, table_path, form, query):
    kinds = {"{kind} s": "{}", "{kind} array(s)": "array<{}>", "{kind} map('k', s)": "map<string, {}>"}
    kind = kinds.get(form, "{}").format("struct<x: int, y: string>")
    spark.sql(f"create table delta.`{table_path}` (id long, s {kind}) using delta")
    if form == "insertInto":
        spark.sql(query).write.insertInto(f"delta.`{table_path}`")
    else:
        column = query.rpartition(" ")[2]
        wrapped = form.format(kind="").strip().replace("s)", f"{column})") if "(" in form else column
        spark.sql(f"insert into delta.`{table_path}` select id, {wrapped} as {column} from ({query})")
    value = spark.read.format("delta").load(table_path).first()["s"]
    found = value["k"] if isinstance(value, dict) else value[0] if isinstance(value, list) else value
    assert tuple(found) == FIELDS[query]


def test_a_struct_with_a_new_field_between_the_others_grows_by_name_where_the_others_are_the_tables(spark, table_path):
    spark.sql(f"create table delta.`{table_path}` (id long, s struct<x: int, y: string>) using delta")
    rows = spark.sql("select 1L id, named_struct('y', '7', 'z', 5, 'x', 2) s")
    rows.write.format("delta").option("mergeSchema", "true").insertInto(f"delta.`{table_path}`")
    assert spark.read.format("delta").load(table_path).first()["s"].asDict() == {"x": 2, "y": "7", "z": 5}
