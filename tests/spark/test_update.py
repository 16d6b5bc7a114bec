# SPDX-License-Identifier: Apache-2.0
"""UPDATE: new values of the right type in the right rows, checked against the table's rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, ArithmeticException
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.changes import files, without_statistics
from tests.spark.counting import jobs
from tests.spark.session_settings import settings
from tests.spark.tables import numbers_table
from tests.spark.ways import FILES, VECTORS

import bayou
from bayou.errors import (
    AppendOnlyError,
    CastOverflowError,
    ConcurrentAppendException,
    ConstraintViolationError,
    InvalidSchemaError,
    SchemaMismatchError,
    StorageError,
    UnsupportedFeatureError,
)
from bayou.log.vector_files import VectorFiles
from bayou.spark.jvm.callbacks import FAILED_CALL, error_class_of


def make(spark, path, query, partition_by=(), **properties):
    bayou.write(spark.sql(query), path, partition_by=partition_by, **properties)
    return bayou.DeltaTable.forPath(spark, path)


def rows(table, *columns):
    return sorted((tuple(row) for row in table.toDF().select(*columns).collect()), key=repr)


def last(path):
    return next(iter(bayou.open(path).history()))


def data_files(path):
    return {str(file) for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts}


TEN = "select id, id % 2 p, if(id % 5 = 0, null, id) v from range(0, 10, 1, 1)"
NESTED = (
    "select id, named_struct('a', id, 'b', named_struct('c', 'x', 'd', 1.5D)) s, array(named_struct('q', 1, 'r', 2)) l "
    "from range(0, 4, 1, 1)"
)


UNUSUAL = {
    "an aggregate": ({"v": "max(v)"}, None, "UNSUPPORTED_EXPR_FOR_OPERATOR"),
    "a window function": ({"v": "row_number() over (order by id)"}, None, "UNSUPPORTED_EXPR_FOR_OPERATOR"),
    "a generator": ({"v": "explode(array(id))"}, None, "UNSUPPORTED_GENERATOR"),
    "a condition by an aggregate": ({"v": "1"}, "max(v) > id", "UNSUPPORTED_EXPR_FOR_OPERATOR"),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_what_spark_says_of_a_refused_update_is_about_an_update(spark, table_path, case):
    table = make(spark, table_path, TEN)
    values, condition, name = UNUSUAL[case]
    sets = ", ".join(f"{column} = {value}" for column, value in values.items())
    where = "" if condition is None else f" where {condition}"
    for change in (lambda: table.update(condition, values), lambda: spark.sql(f"update delta.`{table_path}` set {sets}{where}")):
        with pytest.raises(AnalysisException, match="UpdateTable") as caught:
            change()
        assert error_class_of(caught.value).startswith(name)
        assert "DeleteFromTable" not in str(caught.value)


@pytest.mark.smoke
def test_rows_for_which_the_condition_is_true_get_the_values(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    result = table.update("v > 5", {"v": "v * 10 + id", "p": "7"})
    expected = [(i, 7 if i in (6, 7, 8, 9) else i % 2, None if i % 5 == 0 else i * 11 if i > 5 else i) for i in range(10)]
    assert rows(table, "id", "p", "v") == sorted(expected, key=repr)
    assert (result.num_affected_rows, result.num_updated_rows, result.num_deleted_rows) == (4, 4, 0)
    metrics = last(table_path).operation_metrics
    assert metrics["numUpdatedRows"] == "4"
    assert metrics["numCopiedRows"] == ("0" if way is VECTORS else "6")
    assert last(table_path).operation == "UPDATE"


def test_conditions_and_values_may_be_columns_and_use_an_alias(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    table.alias("t").update("t.id = 1", {"t.v": "t.id + 100"})
    table.update(F.col("id") == 2, {"v": F.lit(5) + F.col("id")})
    table.update(condition="id = 3", set={"V": "-1"})
    assert [row[1] for row in rows(table, "id", "v") if row[0] in (1, 2, 3)] == [101, 7, -1]


def test_without_a_condition_every_row_changes_in_one_job(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    with jobs(spark) as started:
        result = table.update(set={"v": "0"})
    assert started.value == 1
    assert {row[0] for row in rows(table, "v")} == {0}
    assert (result.num_affected_rows, result.num_copied_rows, result.metrics["numRemovedFiles"]) == (10, 0, 1)
    assert last(table_path).operation_parameters["predicate"] == "[]"


def test_a_condition_on_partitions_needs_no_search_and_partition_columns_may_be_set(spark, table_path, way):
    table = make(spark, table_path, TEN, partition_by=["p"], **way)
    with jobs(spark) as started:
        result = table.update("p = 1", {"p": "p + 5", "v": "null"})
    assert started.value == 1
    assert result.metrics["numDeletionVectorsAdded"] == 0
    assert rows(table, "id", "p")[:3] == [(0, 0), (1, 6), (2, 0)]
    table.update("id = 2", {"p": "9"})
    assert (2, 9) in rows(table, "id", "p")
    assert bayou.open(table_path).snapshot().files(where=[("p", "==", 9)]).num_rows == 1


def test_values_see_the_row_as_it_was(spark, table_path, way):
    table = make(spark, table_path, "select 1 a, 2 b", **way)
    table.update("a = 1", {"a": "b", "b": "a"})
    assert rows(table, "a", "b") == [(2, 1)]


def test_no_match_is_no_commit(spark, table_path, way):
    table = make(spark, table_path, TEN, partition_by=["p"], **way)
    for condition in ("id = 1000", "v = 0", "p = 5", "false", "null"):
        result = table.update(condition, {"v": "1"})
        assert (result.committed, result.num_affected_rows) == (False, 0)
    assert bayou.open(table_path).version() == 0


def test_fields_of_structs_are_set_one_by_one_and_the_others_stay(spark, table_path, way):
    table = make(spark, table_path, NESTED, **way)
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
    table = make(spark, table_path, NESTED, **way)
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
    table = make(spark, table_path, "select id, named_struct('a', 'a', 'b', 'b') s from range(4)", **way)
    spark.sql(f"update delta.`{table_path}` set s = named_struct('b', 'B', 'a', 'A') where id = 1")
    spark.sql(f"update delta.`{table_path}` as t set s = named_struct('b', t.s.a, 'a', 'A') where t.id = 2")
    spark.sql(f"update delta.`{table_path}` set s = null where id = 3")
    found = [row[0] for row in table.toDF().orderBy("id").selectExpr("to_json(s)").collect()]
    assert found == ['{"a":"a","b":"b"}', '{"a":"A","b":"B"}', '{"a":"A","b":"a"}', None]


def test_a_struct_with_other_fields_is_refused(spark, table_path):
    table = make(spark, table_path, NESTED, **FILES)
    for value in ("named_struct('a', 1L)", "named_struct('a', 1L, 'b', s.b, 'c', 3)"):
        with pytest.raises((SchemaMismatchError, AnalysisException)):
            table.update("id = 1", {"s": value})
    assert bayou.open(table_path).version() == 0


def test_values_that_no_row_can_have_are_refused_before_rows_are_looked_for(spark, table_path, way):
    table = make(spark, table_path, NESTED, **way)
    with jobs(spark) as started, pytest.raises(SchemaMismatchError):
        table.update("id = 1", {"s": "named_struct('a', 1L)"})
    assert started.value == 0


def test_values_are_cast_as_spark_casts_what_is_stored(spark, table_path, way):
    table = make(spark, table_path, "select 1 id, cast(1 as smallint) s, date'2024-01-01' d, 1.25 c, 'x' t", **way)
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
    table = make(spark, table_path, query, **{"delta.columnMapping.mode": "name"})
    with pytest.raises(CastOverflowError) as caught:
        table.update("id > 0", {f"`{name}`" if "``" in name else name: value for name, value in assignments.items()})
    assert caught.value.column == column


@pytest.mark.parametrize("statement", [True, False])
def test_a_value_that_the_column_cannot_hold_is_named_with_its_column(spark, table_path, way, statement):
    table = make(spark, table_path, "select id, cast(id as smallint) s, 100000 * id big from range(3)", **way)
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
    table = make(spark, table_path, NESTED, **FILES)
    with pytest.raises(SchemaMismatchError) as caught:
        table.update("id = 1", assignments)
    assert caught.value.getErrorClass() == "DELTA_CONFLICT_SET_COLUMN"
    assert f"`{columns}`" in str(caught.value)


def test_what_lies_in_arrays_cannot_be_set(spark, table_path):
    table = make(spark, table_path, NESTED, **FILES)
    for name in ("l.q", "l[0].q", "nope", "s.nope"):
        with pytest.raises((AnalysisException, UnsupportedFeatureError)):
            table.update("id = 1", {name: "1"})
    assert bayou.open(table_path).version() == 0


def test_arguments_are_checked_as_delta_spark_checks_them(spark, table_path):
    table = make(spark, table_path, TEN, **FILES)
    with pytest.raises(ValueError, match="'set' cannot be None"):
        table.update("id = 1")
    with pytest.raises(TypeError, match="'set' must be a dict"):
        table.update("id = 1", [("v", "1")])
    with pytest.raises(TypeError, match="Keys of dict in 'set' must contain only strings"):
        table.update("id = 1", {1: "1"})
    with pytest.raises(TypeError, match="Values of dict in 'set' must contain only Spark SQL Columns or strings"):
        table.update("id = 1", {"v": 1})
    with pytest.raises(TypeError, match="'condition' must be a Spark SQL Column or a string"):
        table.update(1, {"v": "1"})


@pytest.mark.parametrize("values", [{"v": "rand()"}, {"v": "sum(id)"}, {"v": "nope"}, {"v": "row_number() over (order by id)"}])
def test_values_that_are_not_of_one_row_are_refused_as_spark_refuses_them(spark, table_path, values):
    table = make(spark, table_path, TEN, **FILES)
    with pytest.raises(AnalysisException):
        table.update("id = 1", values)


def test_a_subquery_may_be_a_value_and_no_part_of_a_condition(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    table.update("id = 1", {"v": "(select max(id) from range(77))"})
    spark.sql(f"update delta.`{table_path}` set v = (select max(id) + 1 from delta.`{table_path}`) where id = 2")
    assert rows(table, "id", "v")[1:3] == [(1, 76), (2, 10)]
    with pytest.raises(UnsupportedFeatureError) as caught:
        table.update("id in (select 1)", {"v": "1"})
    assert caught.value.getErrorClass() == "DELTA_UNSUPPORTED_SUBQUERY"


def test_the_session_can_ask_for_files_where_the_table_has_vectors(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS)
    with settings(spark, {"spark.databricks.delta.update.deletionVectors.persistent": "false"}):
        found = table.update("id = 3", {"v": "-3"}).metrics
    assert (found["numDeletionVectorsAdded"], found["numCopiedRows"] > 0) == (0, True)
    assert files(table_path, "*.bin") == set()
    assert table.update("id = 4", {"v": "-4"}).metrics["numDeletionVectorsAdded"] == 1
    assert {row[0] for row in rows(table, "v")} >= {-3, -4}


def test_rows_of_files_without_statistics_are_updated_by_vectors(spark, table_path):
    properties = VECTORS | {"delta.dataSkippingNumIndexedCols": "0"}
    table = make(spark, table_path, TEN, **properties)
    without_statistics(table_path)
    result = table.update("id >= 3 and id < 5", {"v": "-1"})
    assert (result.num_updated_rows, result.metrics["numDeletionVectorsAdded"] > 0) == (2, True)
    assert [row[0] for row in rows(table, "id")] == list(range(10))
    assert [row for row in rows(table, "id", "v") if row[1] == -1] == [(3, -1), (4, -1)]


@pytest.fixture
def sums(spark, tmp_path):
    """Names for what a subquery may read, and the texts that read it: a table, files, and rows of neither."""
    bayou.write(spark.range(77), str(tmp_path / "sums"))
    spark.range(77).write.parquet(str(tmp_path / "files"))
    spark.read.format("delta").load(str(tmp_path / "sums")).createOrReplaceTempView("sums_of_others")
    yield [f"delta.`{tmp_path}/sums`", f"parquet.`{tmp_path}/files`", "range(77)", "sums_of_others"]
    spark.catalog.dropTempView("sums_of_others")


def test_a_subquery_of_something_else_depends_on_no_row_of_the_table(spark, table_path, sums, way):
    table = make(spark, table_path, TEN, **way)
    of_others = [*sums, f"{sums[0]} where id in (select id from {sums[0]})"]
    plan = table.plan_update("id = 1", {"v": " + ".join(f"(select max(id) from {each})" for each in of_others)})
    bayou.write(spark.sql("select 50L id, 0L p, 50L v"), table_path, mode="append")
    if way == VECTORS:
        table.delete("id = 2")
    assert plan.execute().version == bayou.open(table_path).version()
    assert rows(table, "id", "v")[1] == (1, 5 * 76)


def test_a_subquery_that_may_read_the_table_depends_on_all_of_it(spark, table_path, sums, way):
    table = make(spark, table_path, TEN, **way)
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


# The table's rules


def test_new_rows_obey_the_constraints_or_nothing_is_left(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    table.addConstraint("small", "v is null or v < 100")
    before = data_files(table_path)
    with pytest.raises(ConstraintViolationError) as caught:
        table.update("id < 5 and v is not null", {"v": "v * 40"})
    assert caught.value.num_violations == 2
    assert data_files(table_path) == before
    assert last(table_path).operation == "ADD CONSTRAINT"
    assert table.update("id = 1", {"v": "99"}).committed


def test_a_column_that_is_not_null_takes_no_null(spark, tmp_path, way):
    path = str(tmp_path / "t")
    builder = bayou.DeltaTable.create(spark).location(path).addColumn("a", "int", nullable=False).addColumn("b", "int")
    for key, value in way.items():
        builder = builder.property(key, value)
    table = builder.execute()
    spark.sql("select 1 a, 2 b").write.format("delta").mode("append").save(path)
    with pytest.raises(ConstraintViolationError) as caught:
        table.update("a = 1", {"a": "null"})
    assert caught.value.getErrorClass() == "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"
    table.update("a = 1", {"a": "b"})
    assert rows(table, "a", "b") == [(2, 2)]


def test_generated_columns_are_computed_anew_for_the_rows_that_change(spark, tmp_path, way):
    path = str(tmp_path / "t")
    builder = bayou.DeltaTable.create(spark).location(path).addColumn("at", "timestamp").addColumn("n", "int")
    builder = builder.addColumn("day", "date", generatedAlwaysAs="cast(at as date)").partitionedBy("day")
    for key, value in way.items():
        builder = builder.property(key, value)
    table = builder.execute()
    query = "select cast(concat('2024-01-0', id + 1, ' 10:00:00') as timestamp) at, cast(id as int) n from range(3)"
    spark.sql(query).write.format("delta").mode("append").save(path)
    table.update("n = 1", {"at": "at + interval 10 days"})
    assert [(n, str(day)) for n, day in rows(table, "n", "day")] == [(0, "2024-01-01"), (1, "2024-01-12"), (2, "2024-01-03")]
    table.update("n = 2", {"at": "timestamp'2025-01-01 00:00:00'", "day": "date'2025-01-01'"})
    with pytest.raises(ConstraintViolationError):
        table.update("n = 2", {"day": "date'2000-01-01'"})


def test_identity_columns_cannot_be_set_and_keep_their_numbers(spark, tmp_path, way):
    path = str(tmp_path / "t")
    identity = bayou.IdentityGenerator(start=10, step=5)
    builder = bayou.DeltaTable.create(spark).location(path).addColumn("v", "int")
    builder = builder.addColumn("k", "bigint", generatedAlwaysAs=identity)
    for key, value in way.items():
        builder = builder.property(key, value)
    table = builder.execute()
    spark.sql("select cast(id as int) v from range(4)").write.format("delta").mode("append").save(path)
    before = rows(table, "k")
    table.update("v = 2", {"v": "20"})
    assert rows(table, "k") == before
    with pytest.raises(InvalidSchemaError) as caught:
        table.update("v = 20", {"k": "1"})
    assert caught.value.getErrorClass() == "DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED"


def test_defaults_are_what_sql_sets_by_that_word(spark, tmp_path):
    path = str(tmp_path / "t")
    spark.sql(
        f"create table defaults (a int, b string default concat('no', 'ne')) using delta location '{path}' "
        "tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    try:
        spark.sql("insert into defaults values (1, 'x'), (2, 'y'), (3, 'z')")
        spark.sql("update defaults set b = default where a = 1")
        spark.sql("update defaults set b = null, a = default where a = 2")
        assert sorted(map(tuple, spark.table("defaults").collect()), key=repr) == [(1, "none"), (3, "z"), (None, None)]
    finally:
        spark.sql("drop table defaults")


def test_a_table_that_only_takes_appends_is_refused(spark, table_path):
    appends = make(spark, table_path, TEN, **{"delta.appendOnly": "true"})
    with pytest.raises(AppendOnlyError):
        appends.update("id = 1", {"v": "1"})


# Around it


def test_a_replay_is_no_second_update(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    results = [table.update("id = 1", {"v": "v + 1"}, txn=("job", 1)) for _ in range(2)]
    assert [(each.committed, each.reason) for each in results] == [(True, ""), (False, "replayed")]
    assert rows(table, "id", "v")[1] == (1, 2)
    assert bayou.open(table_path).version() == 1


def test_a_batch_without_a_match_is_noted_and_not_done_later(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    first = table.update("id = 1000", {"v": "-1"}, txn=("job", 1))
    table.update("id = 1 and v = 2", {"v": "-1"}, txn=("job", 2))
    assert (first.committed, first.num_affected_rows, first.version) == (True, 0, 1)
    bayou.write(spark.sql("select 1000L id, 0L p, 0L v"), table_path, mode="append")
    replays = [table.update(condition, {"v": "-1"}, txn=("job", 2)) for condition in ("id = 1000", "id = 1")]
    assert [(each.committed, each.reason) for each in replays] == [(False, "replayed")] * 2
    assert -1 not in {row[0] for row in rows(table, "v")}


def test_the_sessions_batch_is_spent_by_an_update_without_a_match(spark, table_path, way):
    make(spark, table_path, TEN, **way)
    name = "spark.databricks.delta.write.txn"
    with settings(spark, {f"{name}AppId": "job", f"{name}Version": "1", f"{name}Version.autoReset.enabled": "true"}):
        assert spark.sql(f"update delta.`{table_path}` set v = -1 where id = 1000").first()[0] == 0
        assert spark.conf.get(f"{name}Version", None) is None
    assert bayou.open(table_path).snapshot().transactions["job"].version == 1


def test_the_plan_says_how_rows_will_change_and_what_is_read(spark, table_path):
    table = make(spark, table_path, TEN, partition_by=["p"], **FILES)
    found = table.plan_update("p = 1 and id < 100", {"v": "1"}).plan
    assert (found.operation, found.pruned_by_partition.files, found.to_read.files, found.may_rewrite.files) == ("UPDATE", 1, 1, 1)
    assert found.wholly_matched.files == 0
    table.setProperties({"delta.enableDeletionVectors": "true"})
    assert table.plan_update("id = 1", {"v": "1"}).plan.way.value == "by deletion vectors"
    assert table.plan_update("p = 1", {"v": "1"}).plan.way.value == "by rewriting files"
    assert bayou.open(table_path).version() == 1


def test_an_update_whose_vectors_cannot_be_written_leaves_no_file(spark, table_path, monkeypatch):
    table = make(spark, table_path, TEN, **VECTORS)
    before = files(table_path)

    def failing(self, vectors):
        assert files(table_path) > before
        raise StorageError("the disk is full")

    monkeypatch.setattr(VectorFiles, "write", failing)
    with pytest.raises(StorageError):
        table.update("id = 1", {"v": "7"})
    assert files(table_path) == before


def test_updating_rows_of_files_with_vectors(spark, table_path):
    table = make(spark, table_path, "select id, 0 v from range(0, 1000, 1, 1)", **VECTORS)
    table.delete("id % 10 = 0")
    table.update("id % 10 = 1", {"v": "1"})
    table.update("v = 1 and id > 500", {"v": "2"})
    table.update("id >= 0", {"v": "v + 10"})
    found = dict(rows(table, "id", "v"))
    assert found == {i: 10 + (0 if i % 10 > 1 else 2 if i > 500 else 1) for i in range(1000) if i % 10}


def test_cached_dataframes_see_the_update(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    cached = table.toDF().cache()
    try:
        assert cached.where("v = 77").count() == 0
        table.update("id < 3", {"v": "77"})
        assert cached.where("v = 77").count() == 3
    finally:
        cached.unpersist()


@pytest.mark.parametrize("mode", ["name", "id"])
def test_tables_with_mapped_columns(spark, table_path, way, mode):
    properties = {"delta.columnMapping.mode": mode, **way}
    table = make(spark, table_path, "select id, id % 2 `the p`, named_struct('x y', id) s from range(6)", ["the p"], **properties)
    table.renameColumn("id", "the id")
    table.update(
        "`the id` > 2", {"s.`x y`": "`the id` * 10", "the p": "5"} if False else {"s.`x y`": "`the id` * 10", "`the p`": "5"}
    )
    found = sorted(tuple(row) for row in table.toDF().selectExpr("`the id`", "`the p`", "s.`x y`").collect())
    assert found == [(i, 5 if i > 2 else i % 2, i * 10 if i > 2 else i) for i in range(6)]


# SQL


@pytest.mark.smoke
def test_sql_updates_by_name_and_by_path(spark, tmp_path, way):
    path = str(tmp_path / "t")
    table = make(spark, path, TEN, **way)
    spark.sql(f"create table rows_to_update using delta location '{path}'")
    try:
        assert spark.sql("update rows_to_update as t set t.v = t.id * 2, p = 9 where t.id > 7").collect() == [(2,)]
        spark.sql(f"update delta.`{path}` set v = 0 where v is null")
        assert dict(rows(table, "id", "v")) == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 0, 6: 6, 7: 7, 8: 16, 9: 18}
        shown = spark.sql("explain update rows_to_update set v = 1 where id = 5").collect()[0][0]
        assert "RowChange" in shown
        spark.sql("update rows_to_update set v = 1")
        assert {row[0] for row in rows(table, "v")} == {1}
        assert bayou.open(path).version() == 3
    finally:
        spark.sql("drop table rows_to_update")


@pytest.mark.parametrize("setting", ["spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles"])
def test_a_file_that_cannot_be_read_stops_an_update_whatever_the_session_says(spark, table_path, setting):
    numbers_table(table_path, [1, 2], [1, 3])
    broken = Path(table_path, "1.parquet")
    if setting.endswith("CorruptFiles"):
        broken.write_bytes(b"no Parquet" * (broken.stat().st_size // 10))
    else:
        broken.unlink()
    spark.conf.set(setting, "true")
    try:
        with pytest.raises(FAILED_CALL, match=r"1\.parquet"):
            bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"id": "5L"})
    finally:
        spark.conf.unset(setting)
    assert bayou.open(table_path).version() == 1
