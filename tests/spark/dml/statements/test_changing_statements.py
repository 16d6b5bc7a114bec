# SPDX-License-Identifier: Apache-2.0
"""UPDATE and MERGE INTO as SQL mean what their text says, also where Spark's own analyzer would refuse it."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.operations.statements import SAYS_SO, rows

import bayou
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.relations.parser import knows_constraints


@pytest.mark.parametrize(
    ("clauses", "error_class"),
    [
        ("and max(s.id) > 1 when matched then delete", "DELTA_AGGREGATION_NOT_SUPPORTED"),
        ("when matched and rand() > 2 then delete", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
        (
            "when matched and s.id > 1 then update set name = default when matched and max(s.id) = 1 then delete",
            "DELTA_AGGREGATION_NOT_SUPPORTED",
        ),
    ],
)
def test_conditions_are_refused_by_delta_sparks_names(spark, people, clauses, error_class):
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"merge into {people} t using (select 1L id) s on t.id = s.id {clauses}")
    assert error_class in str(caught.value)


def test_explaining_a_statement_looks_at_it_and_runs_nothing(spark, people):
    merge = f"merge into {people} t using (select 9L id, 1 w) s on t.id = s.id when not matched then insert (id) values (s.id)"
    for text in (merge, f"update {people} set id = 7"):
        for kind in ("", "extended ", "formatted "):
            assert people in spark.sql(f"explain {kind}{text}").first()[0]
    for text in (merge.replace("s.id)", "s.nope)"), f"update {people} set nope = 7"):
        assert "UNRESOLVED_COLUMN" in str(spark.sql(f"explain {text}").collect())
    assert rows(spark, people) == [(1, "a"), (2, "b")]


def test_tables_that_are_not_ours_are_refused(spark, people):
    other = f"{people}_parquet"
    spark.sql(f"create table {other} using parquet as select 1L id")
    with pytest.raises(PySparkException):
        spark.sql(f"merge into {other} t using {people} s on t.id = s.id when matched then delete")
    assert rows(spark, other) == [(1,)]
    spark.sql(f"drop table {other}")


def test_a_temporary_view_hides_a_table_of_its_name(spark, people, table_path):
    spark.range(5).write.format("delta").save(table_path)
    spark.read.format("delta").load(table_path).createOrReplaceTempView(people)
    spark.sql(f"merge into {people} t using (select 4L id) s on t.id = s.id when matched then delete")
    spark.catalog.dropTempView(people)
    assert rows(spark, people) == [(1, "a"), (2, "b")]
    assert bayou.read(spark, table_path).count() == 4


@pytest.mark.smoke
def test_statements_may_call_tables_by_their_full_names(spark, people):
    database = spark.catalog.currentDatabase()
    full = f"{database}.{people}"
    spark.sql(f"update {full} set {full}.name = 'u' where {full}.id = 1")
    spark.sql(f"merge into {full} using {full} as s on {full}.id = s.id + 1 when matched then update set {full}.name = 'm'")
    assert rows(spark, people) == [(1, "u"), (2, "m")]


@pytest.mark.smoke
def test_what_spark_resolves_is_still_taken_from_its_text(spark, people):
    name = f"{people}_d"
    feature = "tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    spark.sql(f"create table {name} (id int, v int default 7, s struct<a: int, b: int>) using delta {feature}")
    full = f"{spark.catalog.currentDatabase()}.{name}"
    spark.sql(f"insert into {name} values (1, 2, null)")
    spark.sql(f"update {full} set {full}.v = default, s = named_struct('b', 2, 'a', 1) where {full}.id = 1")
    assert tuple(spark.sql(f"select v, s.a, s.b from {name}").first()) == (7, 1, 2)
    spark.table(name).createOrReplaceTempView(f"{name}_view")
    spark.sql(f"update {name}_view set v = 5 where id = 1")
    assert spark.sql(f"select v from {name}").first()[0] == 5
    spark.sql(f"drop view {name}_view")
    spark.sql(f"drop table {name}")


@pytest.mark.smoke
def test_parameters_have_their_values_wherever_they_stand(spark, table_path):
    columns = ", ".join(f"c{number} int" for number in range(30))
    spark.sql(f"create table delta.`{table_path}` ({columns}) using delta")
    spark.sql(f"insert into delta.`{table_path}` values ({', '.join(['1'] * 30)})")
    values = ", ".join(f"c{number} = 0" for number in range(29))
    spark.sql(f"update delta.`{table_path}` set {values}, c29 = :last where c0 = :first", args={"last": 7, "first": 1})
    assert spark.sql(f"select sum(c28 + c29) from delta.`{table_path}`").first()[0] == 7


def test_the_history_shows_the_condition_as_it_is(spark, people):
    spark.sql(f"update {people} set id = 5 where name = '{people}.x' or name = 'a{people}.y' or {people}.id = 1")
    shown = bayou.DeltaTable.forName(spark, people).history(1).first().operationParameters["predicate"]
    assert f"'{people}.x'" in shown
    assert f"'a{people}.y'" in shown
    assert f"{people}.id" not in shown


@pytest.mark.smoke
def test_the_sessions_parser_stays_what_it_was_for_other_extensions(spark):
    parser = spark._jsparkSession.sessionState().sqlParser()
    for name in ("org.apache.spark.sql.catalyst.parser.ParserInterface", "org.apache.spark.internal.Logging"):
        assert spark._jvm.java.lang.Class.forName(name).isInstance(parser)
    with pytest.raises(ParseException):
        spark.sql("merge into nothing")


def test_a_table_taken_by_its_name_is_called_by_it(spark, people):
    table = bayou.DeltaTable.forName(spark, people)
    table.update(f"{people}.id = 1", {f"{people}.name": f"upper({people}.name)"})
    table.delete(f"{people}.id = 2")
    source = spark.sql("select 1L id, 'new' name").alias("s")
    table.merge(source, f"{people}.id = s.id").whenMatchedUpdate(set={"name": f"concat({people}.name, s.name)"}).execute()
    assert rows(spark, people) == [(1, "Anew")]
    both = table.alias("x").toDF().join(table.alias("y").toDF(), F.expr("x.id = y.id"))
    assert both.select("x.name", "y.name").first() == ("Anew", "Anew")


def test_what_a_job_of_a_statement_fails_with_is_the_error(spark, people):
    with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS") as caught:
        spark.sql(f"update {people} set name = (select name from {people})")
    assert "UndeclaredThrowable" not in str(caught.value).split("\n\tat")[0]


def test_a_statement_about_a_constraint_that_spark_refuses_is_not_asked_for_where_spark_knows_them(spark):
    jvm = Jvm.of(spark)
    parser = spark._jsparkSession.sessionState().sqlParser()
    text = "alter table nothing add constraint c check (id >)"
    if knows_constraints(jvm):
        with pytest.raises(ParseException):
            parser.parsePlan(text)
    else:
        assert parser.parsePlan(text).nodeName() == "RowChange"


@pytest.mark.parametrize(
    "text",
    [
        "delete from {} where raise_error('mine') is null",
        "update {} set id = 5 where raise_error('mine') is null and id > 0",
        "merge into {} t using (select 1L id) s on t.id = s.id and raise_error('mine') is null when matched then delete",
    ],
)
def test_a_condition_without_columns_is_asked_of_the_rows(spark, people, text):
    with pytest.raises(Exception, match="mine"):
        spark.sql(text.format(people))
    assert rows(spark, people) == [(1, "a"), (2, "b")]


def test_a_condition_without_columns_is_asked_of_the_rows_that_are_replaced(spark, people):
    with pytest.raises(Exception, match="mine"):
        spark.table(people).write.format("delta").mode("overwrite").option(
            "replaceWhere", "raise_error('mine') is null"
        ).saveAsTable(people)
    assert rows(spark, people) == [(1, "a"), (2, "b")]


@pytest.mark.smoke
@pytest.mark.skipif(not SAYS_SO, reason="Spark has variables from 4.0 on")
def test_a_statement_may_name_the_sessions_variables(spark, people):
    spark.sql("declare or replace variable wanted bigint default 2")
    try:
        spark.sql(f"update {people} set name = concat(name, wanted) where id = wanted")
        bayou.DeltaTable.forName(spark, people).update("id + 1 = wanted", {"name": "cast(wanted as string)"})
        assert rows(spark, people) == [(1, "2"), (2, "b2")]
        source = "(select explode(array(2L, 3L)) i)"
        spark.sql(
            f"merge into {people} t using {source} s on t.id = s.i and s.i >= wanted "
            "when matched then update set name = concat('m', wanted) "
            "when not matched and s.i > wanted then insert (id, name) values (i, wanted)"
        )
        assert rows(spark, people) == [(1, "2"), (2, "m2"), (3, "2")]
        spark.sql(f"delete from {people} where id = wanted")
        assert rows(spark, people) == [(1, "2"), (3, "2")]
    finally:
        spark.sql("drop temporary variable wanted")


@pytest.mark.skipif(not SAYS_SO, reason="Spark has functions in SQL from 4.0 on")
def test_functions_in_sql_are_refused_by_sparks_name_for_them(spark, people):
    spark.sql("create or replace temporary function one_more(x bigint) returns bigint return x + 1")
    source = "(select 2L i)"
    for statement in (
        f"delete from {people} where one_more(id) = 2",
        f"update {people} set id = one_more(id)",
        f"merge into {people} t using {source} s on t.id = one_more(s.i) when matched then delete",
        f"merge into {people} t using {source} s on t.id = s.i when matched then update set id = one_more(s.i)",
    ):
        with pytest.raises(AnalysisException, match="UNSUPPORTED_SQL_UDF_USAGE"):
            spark.sql(statement).collect()
    assert rows(spark, people) == [(1, "a"), (2, "b")]
    merge = bayou.DeltaTable.forName(spark, people).merge(spark.sql("select 20L sid"), "id = sid")
    with pytest.raises(AnalysisException, match="UNSUPPORTED_SQL_UDF_USAGE"):
        merge.whenNotMatchedInsert(values={"id": "one_more(sid)"}).execute()


def test_a_delete_that_spark_refuses_is_sparks_error(spark, people):
    for where, name in (("nope = 1", "UNRESOLVED_COLUMN"), ("id + 1", "DATATYPE_MISMATCH"), ("x.id = 1", "UNRESOLVED_COLUMN")):
        with pytest.raises(AnalysisException) as caught:
            spark.sql(f"delete from {people} where {where}")
        assert str(caught.value).startswith(f"[{name}"), where
    assert rows(spark, people) == [(1, "a"), (2, "b")]
