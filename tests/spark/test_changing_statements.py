# SPDX-License-Identifier: Apache-2.0
"""UPDATE and MERGE INTO as SQL mean what their text says, also where Spark's own analyzer would refuse it or cast otherwise."""

from __future__ import annotations

import contextlib
import uuid

import pyspark
import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

import bayou
from bayou.errors import CastOverflowError, SchemaMismatchError
from bayou.spark.jvm.bridge import Jvm
from bayou.spark.jvm.parser import knows_constraints

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
SAYS_SO = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 0)


@contextlib.contextmanager
def setting(spark, name, value):
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)


@pytest.fixture
def people(spark):
    """The name of a table of people in the catalog."""
    name = f"people_{uuid.uuid4().hex[:8]}"
    spark.sql(f"create table {name} (id bigint, name string) using delta")
    spark.sql(f"insert into {name} values (1, 'a'), (2, 'b')")
    yield name
    spark.sql(f"drop table {name}")


def rows(spark, name):
    return sorted(map(tuple, spark.table(name).collect()), key=repr)


BOTH = "when matched then update set * when not matched then insert *"


@pytest.mark.smoke
@pytest.mark.parametrize(
    "says_so", [pytest.param(True, marks=pytest.mark.skipif(not SAYS_SO, reason="Spark 4 has the words")), False]
)
def test_a_statement_adds_columns_and_leaves_those_that_the_source_lacks(spark, people, says_so):
    words = "with schema evolution " if says_so else ""
    with contextlib.nullcontext() if says_so else setting(spark, AUTO_MERGE, "true"):
        spark.sql(f"merge {words}into {people} t using (select explode(array(2L, 3L)) id, 7 age) s on t.id = s.id {BOTH}")
        spark.sql(f"merge {words}into {people} using (select 4L id) s on {people}.id = s.id when not matched then insert *")
        assert spark.table(people).columns == ["id", "name", "age"]
        assert rows(spark, people) == [(1, "a", None), (2, "b", 7), (3, None, 7), (4, None, None)]
        one = "using (select 1L id, 1.5D w, 9 u) s on t.id = s.id when matched then update set w = s.w"
        spark.sql(f"merge {words}into {people} t {one}")
    assert spark.table(people).columns == ["id", "name", "age", "w"]
    assert rows(spark, people)[0] == (1, "a", None, 1.5)


def test_without_evolution_the_source_of_a_star_has_all_columns(spark, people):
    with pytest.raises(AnalysisException):
        spark.sql(f"merge into {people} t using (select 4L id) s on t.id = s.id when not matched then insert *")
    with pytest.raises(AnalysisException):
        spark.sql(f"merge into {people} t using (select 1L id, 2 w) s on t.id = s.id when matched then update set w = s.w")
    assert rows(spark, people) == [(1, "a"), (2, "b")]


@pytest.mark.smoke
def test_fields_of_structs_in_arrays_and_maps_go_by_their_names(spark, table_path):
    target = f"delta.`{table_path}`"
    spark.sql(
        f"create table {target} (id int, l array<struct<a: int, b: string>>, m map<string, struct<a: int, b: string>>) using delta"
    )
    spark.sql(f"insert into {target} values (1, null, null)")
    values = "array(named_struct('b', 'x', 'a', 5L)) l, map('k', named_struct('b', 'y', 'a', 6L)) m"
    spark.sql(f"merge into {target} t using (select explode(array(1, 2)) id, {values}) s on t.id = s.id {BOTH}")
    found = spark.sql(f"select id, l[0].a, l[0].b, m['k'].a, m['k'].b from {target} order by id").collect()
    assert list(map(tuple, found)) == [(1, 5, "x", 6, "y"), (2, 5, "x", 6, "y")]


@pytest.mark.parametrize(
    ("clauses", "error_class"),
    [
        ("and max(s.id) > 1 when matched then delete", "DELTA_AGGREGATION_NOT_SUPPORTED"),
        ("when matched and rand() > 2 then delete", "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
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
    with pytest.raises(AnalysisException):
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


def test_the_strict_policy_refuses_what_may_lose_something(spark, people):
    with setting(spark, "spark.sql.storeAssignmentPolicy", "STRICT"):
        with pytest.raises(SchemaMismatchError) as caught:
            spark.sql(f"merge into {people} t using (select 1L id) s on t.id = s.id when matched then update set id = 2.5D")
        assert caught.value.error_class == "CANNOT_UP_CAST_DATATYPE"
        with pytest.raises(SchemaMismatchError):
            bayou.DeltaTable.forName(spark, people).update(set={"id": "'7'"})
        bayou.DeltaTable.forName(spark, people).update("id = 1", set={"id": "cast(5 as short)", "name": "null"})
    assert rows(spark, people) == [(2, "b"), (5, None)]


@pytest.mark.smoke
def test_values_of_an_update_are_cast_by_the_sessions_policy_for_what_is_stored(spark, people):
    with setting(spark, "spark.sql.storeAssignmentPolicy", "LEGACY"):
        spark.sql(f"update {people} set id = 'five' where id = 1")
    assert rows(spark, people) == [(2, "b"), (None, "a")]
    with pytest.raises(CastOverflowError):
        spark.sql(f"update {people} set id = 1e30D where id = 2")
    with setting(spark, "spark.sql.storeAssignmentPolicy", "STRICT"), pytest.raises(SchemaMismatchError):
        spark.sql(f"update {people} set id = '7' where id = 2")


@pytest.mark.smoke
def test_structs_in_an_update_go_by_their_names_wherever_they_are(spark, table_path):
    target = f"delta.`{table_path}`"
    spark.sql(f"create table {target} (id int, s struct<a: int, b: string>, l array<struct<a: int, b: string>>) using delta")
    spark.sql(f"insert into {target} values (1, null, null)")
    spark.sql(f"update {target} set s = named_struct('b', 'x', 'a', 5), l = array(named_struct('b', 'y', 'a', 6))")
    assert tuple(spark.sql(f"select s.a, s.b, l[0].a, l[0].b from {target}").first()) == (5, "x", 6, "y")
    with pytest.raises(SchemaMismatchError, match="All nested columns must match"):
        spark.sql(f"update {target} set s = named_struct('a', 5)")
    spark.sql(f"update {target} t set t.s.a = 9 where t.s.b = 'x'")
    assert spark.sql(f"select s.a from {target}").first()[0] == 9


@pytest.mark.smoke
def test_statements_may_call_tables_by_their_full_names(spark, people):
    database = spark.catalog.currentDatabase()
    full = f"{database}.{people}"
    spark.sql(f"update {full} set {full}.name = 'u' where {full}.id = 1")
    spark.sql(f"merge into {full} using {full} as s on {full}.id = s.id + 1 when matched then update set {full}.name = 'm'")
    assert rows(spark, people) == [(1, "u"), (2, "m")]


@pytest.mark.smoke
def test_an_update_to_default_sets_the_columns_default(spark, table_path):
    target = f"delta.`{table_path}`"
    feature = "tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    spark.sql(f"create table {target} (id int, v int default 7, w int) using delta {feature}")
    for way in ("statement", "method"):
        spark.sql(f"insert overwrite {target} values (1, 2, 3)")
        if way == "statement":
            spark.sql(f"update {target} as t set t.v = default, w = default where id = 1")
        else:
            bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"v": "default", "w": "DEFAULT"})
        assert tuple(spark.sql(f"select * from {target}").first()) == (1, 7, None)


def test_a_field_has_no_default(spark, table_path):
    spark.sql(f"create table delta.`{table_path}` (id int, s struct<a: int, b: int>) using delta")
    spark.sql(f"insert into delta.`{table_path}` values (1, named_struct('a', 1, 'b', 2))")
    merge = f"merge into delta.`{table_path}` t using (select 1 id) n on t.id = n.id when matched then update set"
    for text in (f"update delta.`{table_path}` set s.a = default", f"{merge} s.a = default"):
        with pytest.raises(AnalysisException):
            spark.sql(text)
    with pytest.raises(AnalysisException):
        bayou.DeltaTable.forPath(spark, table_path).update(set={"s.a": "default"})
    assert spark.sql(f"select s.a from delta.`{table_path}`").first()[0] == 1


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


@pytest.mark.smoke
def test_rows_are_found_by_values_of_char_columns_that_were_set(spark, table_path):
    target = f"delta.`{table_path}`"
    spark.sql(f"create table {target} (id int, c char(5)) using delta")
    spark.sql(f"insert into {target} values (1, 'x'), (2, 'ab'), (3, 'y')")
    spark.sql(f"update {target} set c = 'ab' where id = 1")
    bayou.DeltaTable.forPath(spark, table_path).update("id = 3", {"c": "'ab'"})
    assert spark.sql(f"select count(*) from {target} where c = 'ab'").first()[0] == 3
    spark.sql(f"update {target} set id = id + 10 where c = 'ab'")
    bayou.DeltaTable.forPath(spark, table_path).update("c = 'ab   '", {"id": "id + 10"})
    assert sorted(row[0] for row in spark.sql(f"select id from {target}").collect()) == [21, 22, 23]
    spark.sql(f"merge into {target} t using (select 'ab' k) s on t.c = s.k or t.c = rpad(s.k, 5, ' ') when matched then delete")
    assert spark.sql(f"select count(*) from {target}").first()[0] == 0


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_values_of_chars_in_structs_arrays_and_maps_are_compared_as_a_query_compares_them(spark, table_path, vectors):
    target = f"delta.`{table_path}`"
    spark.sql(
        f"create table {target} (id int, c char(3), s struct<x: char(2), y: int>, a array<char(2)>,"
        f" m map<char(2), struct<z: char(2)>>) using delta tblproperties ('delta.enableDeletionVectors' = '{vectors}')"
    )
    values = "'{0}', named_struct('x', '{0}', 'y', 1), array('{0}'), map('{0}', named_struct('z', '{0}'))"
    for number, text in enumerate("abcdefg"):
        spark.sql(f"insert into {target} select {number}, {values.format(text)}")
    spark.sql(f"insert into {target} (id) values (9)")
    conditions = ["s.x = 'a'", "a[0] = 'a'", "m['a'].z = 'a'", "length(s.x) = 1", "c like 'a'", "s.x like 'a'"]
    for condition in conditions:
        assert spark.sql(f"select * from {target} where {condition}").count() == 0
        assert bayou.DeltaTable.forPath(spark, table_path).delete(condition).num_affected_rows == 0
        spark.sql(f"update {target} set id = 100 where {condition}")
    spark.sql(f"delete from {target} where s.x = 'a '")
    spark.sql(f"delete from {target} where a[0] = 'b '")
    bayou.DeltaTable.forPath(spark, table_path).delete("m['c '].z = 'c '")
    spark.sql(f"update {target} set id = 20 where s.x = 'd ' and length(s.x) = 2")
    spark.sql(f"merge into {target} t using (select 'e ' k) s on t.s.x = s.k when matched then delete")
    assert sorted(row[0] for row in spark.sql(f"select id from {target}").collect()) == [5, 6, 9, 20]
    assert spark.sql(f"select s, a, m from {target} where id = 9").first()[:] == (None, None, None)


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


def test_values_may_be_cast_as_the_session_casts_any_others(spark, people):
    follows = "spark.databricks.delta.updateAndMergeCastingFollowsAnsiEnabledFlag"
    with setting(spark, follows, "true"), setting(spark, "spark.sql.ansi.enabled", "false"):
        spark.sql(f"update {people} set id = 'five' where id = 1")
    assert rows(spark, people) == [(2, "b"), (None, "a")]


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


@pytest.mark.smoke
def test_a_statement_gives_its_row_of_counts(spark, people):
    def given(text):
        frame = spark.sql(text)
        assert all(each.nullable and each.dataType.simpleString() == "bigint" for each in frame.schema)
        return [row.asDict() for row in frame.collect()]

    everyone = {"num_affected_rows": 2, "num_updated_rows": 1, "num_deleted_rows": 0, "num_inserted_rows": 1}
    merge = f"merge into {people} t using (select explode(array(2L, 3L)) id, 'm' name) s on t.id = s.id {BOTH}"
    assert given(merge) == [everyone]
    assert given(f"update {people} set name = 'u' where id < 3") == [{"num_affected_rows": 2}]
    assert given(f"update {people} set name = 'u' where id = 30") == [{"num_affected_rows": 0}]
    assert given(f"delete from {people} t where t.id = 1 or t.id = 3") == [{"num_affected_rows": 2}]
    assert given(f"delete from {people}") == [{"num_affected_rows": 1}]
    assert spark.sql(f"delete from {people}").select("num_affected_rows").first()[0] == 0


@pytest.mark.skipif(pyspark.__version__.startswith(("3.", "4.0.")), reason="its parser is not told of parameters")
def test_a_statement_with_parameters_gives_its_row_of_counts(spark, people):
    deleted = spark.sql(f"delete from {people} where id = :id", args={"id": 1})
    updated = spark.sql(f"update {people} set name = ? where id = ?", args=["x", 2])
    assert deleted.collect() == updated.collect() == [(1,)]
    assert rows(spark, people) == [(2, "x")]


def test_the_row_of_counts_is_not_a_second_run(spark, people):
    deleted = spark.sql(f"delete from {people} where id = 1")
    spark.sql(f"insert into {people} values (1, 'again')")
    assert deleted.collect() == deleted.collect() == [(1,)]
    assert rows(spark, people) == [(1, "again"), (2, "b")]


def test_a_delete_that_spark_refuses_is_sparks_error(spark, people):
    for where, name in (("nope = 1", "UNRESOLVED_COLUMN"), ("id + 1", "DATATYPE_MISMATCH"), ("x.id = 1", "UNRESOLVED_COLUMN")):
        with pytest.raises(AnalysisException) as caught:
            spark.sql(f"delete from {people} where {where}")
        assert str(caught.value).startswith(f"[{name}"), where
    assert rows(spark, people) == [(1, "a"), (2, "b")]
