# SPDX-License-Identifier: Apache-2.0
"""The values of an UPDATE: fields of structs, casts to the column's type, values that no column can hold, subqueries."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, ArithmeticException
from tests.support.observing import jobs
from tests.support.tables.queried import FILES, TEN, VECTORS, make_table, rows

import bayou
from bayou.errors import CastOverflowError, ConcurrentAppendException, SchemaMismatchError, UnsupportedFeatureError

NESTED = (
    "select id, named_struct('a', id, 'b', named_struct('c', 'x', 'd', 1.5D)) s, array(named_struct('q', 1, 'r', 2)) l "
    "from range(0, 4, 1, 1)"
)


def test_fields_of_structs_are_set_one_by_one_and_the_others_stay(spark, table_path, way):
    table = make_table(spark, table_path, NESTED, **way)
    table.update("id = 1", {"s.b.c": "'y'", "s.a": "s.a + 10"})
    table.update("id = 2", {"s.b": "null"})
    table.update("id = 3", {"s": "null"})
    found = (
        [row[0] for row in rows(table, "to_json(s)")] if False else table.toDF().orderBy("id").selectExpr("to_json(s)").collect()
    )
    assert [row[0] for row in found] == [
        '{"a":0,"b":{"c":"x","d":1.5}}',
        '{"a":11,"b":{"c":"y","d":1.5}}',
        '{"a":2}',
        None,
    ]


def test_structs_are_stored_by_the_names_of_their_fields(spark, table_path, way):
    table = make_table(spark, table_path, NESTED, **way)
    table.update("id = 1", {"s": "named_struct('b', named_struct('d', 2, 'c', 'z'), 'a', 5)"})
    table.update("id = 2", {"l": "array(named_struct('r', 20, 'q', 10))"})
    spark.sql(f"update delta.`{table_path}` set s = named_struct('a', 7, 'b', s.b), l = null where id = 3")
    found = [tuple(row) for row in table.toDF().orderBy("id").selectExpr("to_json(s)", "to_json(l)").collect()]
    assert found == [
        ('{"a":0,"b":{"c":"x","d":1.5}}', '[{"q":1,"r":2}]'),
        ('{"a":5,"b":{"c":"z","d":2.0}}', '[{"q":1,"r":2}]'),
        ('{"a":2,"b":{"c":"x","d":1.5}}', '[{"q":10,"r":20}]'),
        ('{"a":7,"b":{"c":"x","d":1.5}}', None),
    ]


def test_in_sql_too_structs_are_stored_by_the_names_of_their_fields(spark, table_path, way):
    table = make_table(spark, table_path, "select id, named_struct('a', 'a', 'b', 'b') s from range(4)", **way)
    spark.sql(f"update delta.`{table_path}` set s = named_struct('b', 'B', 'a', 'A') where id = 1")
    spark.sql(f"update delta.`{table_path}` as t set s = named_struct('b', t.s.a, 'a', 'A') where t.id = 2")
    spark.sql(f"update delta.`{table_path}` set s = null where id = 3")
    found = [row[0] for row in table.toDF().orderBy("id").selectExpr("to_json(s)").collect()]
    assert found == ['{"a":"a","b":"b"}', '{"a":"A","b":"B"}', '{"a":"A","b":"a"}', None]


def test_a_struct_with_other_fields_is_refused(spark, table_path):
    table = make_table(spark, table_path, NESTED, **FILES)
    for value in ("named_struct('a', 1L)", "named_struct('a', 1L, 'b', s.b, 'c', 3)"):
        with pytest.raises((SchemaMismatchError, AnalysisException)):
            table.update("id = 1", {"s": value})
    assert bayou.open(table_path).version() == 0


def test_values_that_no_row_can_have_are_refused_before_rows_are_looked_for(spark, table_path, way):
    table = make_table(spark, table_path, NESTED, **way)
    with jobs(spark) as started, pytest.raises(SchemaMismatchError):
        table.update("id = 1", {"s": "named_struct('a', 1L)"})
    assert started.value == 0


def test_values_are_cast_as_spark_casts_what_is_stored(spark, table_path, way):
    table = make_table(spark, table_path, "select 1 id, cast(1 as smallint) s, date'2024-01-01' d, 1.25 c, 'x' t", **way)
    table.update("id = 1", {"s": "'7'", "d": "'2024-02-03'", "c": "3", "t": "5"})
    assert [str(value) for value in rows(table, "s", "d", "c", "t")[0]] == ["7", "2024-02-03", "3.00", "5"]
    with pytest.raises(Exception, match=r"CAST_INVALID_INPUT"):
        table.update("id = 1", {"d": "'no date'"})
    assert bayou.open(table_path).version() == 1


@pytest.mark.parametrize(
    ("assignments", "column"),
    [
        ({"s.b": "big"}, "`s`.`b`"),
        ({"s": "named_struct('a', id, 'b', big)"}, "`s`.`b`"),
        ({"l": "array(big)"}, "`l`.`element`"),
        ({"m": "map('k', big)"}, "`m`.`value`"),
        ({"odd``name": "big"}, "`odd``name`"),
        ({"t": "big / (id - id)"}, "`t`"),
    ],
)
def test_a_value_in_a_struct_an_array_or_a_map_is_named_by_its_path(spark, table_path, assignments, column):
    query = """select id, 100000 * id big, named_struct('a', id, 'b', cast(id as smallint)) s, array(cast(id as smallint)) l,
        map('k', cast(id as smallint)) m, cast(id as smallint) `odd``name`, cast(id as smallint) t from range(3)"""
    table = make_table(spark, table_path, query, **{"delta.columnMapping.mode": "name"})
    with pytest.raises(CastOverflowError) as caught:
        table.update("id > 0", {f"`{name}`" if "``" in name else name: value for name, value in assignments.items()})
    assert caught.value.column == column


@pytest.mark.parametrize("statement", [True, False])
def test_a_value_that_the_column_cannot_hold_is_named_with_its_column(spark, table_path, way, statement):
    table = make_table(spark, table_path, "select id, cast(id as smallint) s, 100000 * id big from range(3)", **way)
    text = f"update delta.`{table_path}` set s = big where id > 0"
    with pytest.raises(CastOverflowError) as caught:
        _ = spark.sql(text) if statement else table.update("id > 0", {"s": "big"})
    error = caught.value
    assert (error.error_class, error.sql_state) == ("DELTA_CAST_OVERFLOW_IN_TABLE_WRITE", "22003")
    assert (error.source_type, error.target_type) == ("BIGINT", "SMALLINT")
    assert error.column.endswith("`s`")
    assert isinstance(error, ArithmeticException)
    assert error.table is not None
    assert table_path in error.table
    assert error.version == bayou.open(table_path).version() == 0


@pytest.mark.parametrize(
    ("assignments", "columns"),
    [({"s": "null", "s.a": "1"}, "s"), ({"s.b": "null", "S.B.c": "'x'"}, "s.b"), ({"id": "1", "ID": "2"}, "id")],
)
def test_a_column_that_is_set_twice_is_refused(spark, table_path, assignments, columns):
    table = make_table(spark, table_path, NESTED, **FILES)
    with pytest.raises(SchemaMismatchError) as caught:
        table.update("id = 1", assignments)
    assert caught.value.getErrorClass() == "DELTA_CONFLICT_SET_COLUMN"
    assert f"`{columns}`" in str(caught.value)


def test_what_lies_in_arrays_cannot_be_set(spark, table_path):
    table = make_table(spark, table_path, NESTED, **FILES)
    for name in ("l.q", "l[0].q", "nope", "s.nope"):
        with pytest.raises((AnalysisException, UnsupportedFeatureError)):
            table.update("id = 1", {name: "1"})
    assert bayou.open(table_path).version() == 0


@pytest.mark.parametrize("values", [{"v": "rand()"}, {"v": "sum(id)"}, {"v": "nope"}, {"v": "row_number() over (order by id)"}])
def test_values_that_are_not_of_one_row_are_refused_as_spark_refuses_them(spark, table_path, values):
    table = make_table(spark, table_path, TEN, **FILES)
    with pytest.raises(AnalysisException):
        table.update("id = 1", values)


def test_a_subquery_may_be_a_value_and_a_part_of_a_condition(spark, table_path, way):
    table = make_table(spark, table_path, TEN, **way)
    table.update("id = 1", {"v": "(select max(id) from range(77))"})
    spark.sql(f"update delta.`{table_path}` set v = (select max(id) + 1 from delta.`{table_path}`) where id = 2")
    assert rows(table, "id", "v")[1:3] == [(1, 76), (2, 10)]
    table.update("id in (select 1)", {"v": "(select min(id) from range(5, 7))"})
    assert rows(table, "id", "v")[1:3] == [(1, 5), (2, 10)]


@pytest.fixture
def sums(spark, tmp_path):
    """Names for what a subquery may read, and the texts that read it: a table, files, and rows of neither."""
    bayou.write(spark.range(77), str(tmp_path / "sums"))
    spark.range(77).write.parquet(str(tmp_path / "files"))
    spark.read.format("delta").load(str(tmp_path / "sums")).createOrReplaceTempView("sums_of_others")
    yield [f"delta.`{tmp_path}/sums`", f"parquet.`{tmp_path}/files`", "range(77)", "sums_of_others"]
    spark.catalog.dropTempView("sums_of_others")


def test_a_subquery_of_something_else_depends_on_no_row_of_the_table(spark, table_path, sums, way):
    table = make_table(spark, table_path, TEN, **way)
    of_others = [*sums, f"{sums[0]} where id in (select id from {sums[0]})"]
    plan = table.plan_update("id = 1", {"v": " + ".join(f"(select max(id) from {each})" for each in of_others)})
    bayou.write(spark.sql("select 50L id, 0L p, 50L v"), table_path, mode="append")
    if way == VECTORS:
        table.delete("id = 2")
    assert plan.execute().version == bayou.open(table_path).version()
    assert rows(table, "id", "v")[1] == (1, 5 * 76)


def test_a_subquery_that_may_read_the_table_depends_on_all_of_it(spark, table_path, sums, way):
    table = make_table(spark, table_path, TEN, **way)
    Path(f"{table_path}_link").symlink_to(table_path)
    names = ["itself", "cached", "made_of_rows", "two_tables"]
    frames = [table.toDF(), table.toDF().where("id > 2").cache()]
    frames.append(spark.createDataFrame(table.toDF().select("id").rdd.map(tuple), "id bigint"))
    frames.append(table.toDF().select("id").union(spark.table(sums[-1])))
    for name, frame in zip(names, frames, strict=True):
        frame.createOrReplaceTempView(name)
    try:
        for each in (*names, f"delta.`{table_path}`", f"delta.`{table_path}_link`", f"parquet.`{table_path}`"):
            plan = table.plan_update("id = 1", {"v": f"(select max(id) from {each})"})
            bayou.write(spark.sql("select 50L id, 0L p, 50L v"), table_path, mode="append")
            with pytest.raises(ConcurrentAppendException):
                plan.execute()
    finally:
        frames[1].unpersist()
        for name in names:
            spark.catalog.dropTempView(name)
