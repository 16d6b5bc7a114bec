# SPDX-License-Identifier: Apache-2.0
"""What an UPDATE heeds: the table's rules for new rows, and that a batch is done once."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions
from tests.support.observing import data_files, last
from tests.support.operations.statements import settings
from tests.support.tables.queried import TEN, make_table, rows

import bayou
from bayou.errors import AppendOnlyError, ConstraintViolationError, InvalidSchemaError, SchemaMismatchError


def test_new_rows_obey_the_constraints_or_nothing_is_left(spark, table_path, way):
    table = make_table(spark, table_path, TEN, **way)
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
    appends = make_table(spark, table_path, TEN, **{"delta.appendOnly": "true"})
    with pytest.raises(AppendOnlyError):
        appends.update("id = 1", {"v": "1"})


def test_a_replay_is_no_second_update(spark, table_path, way):
    table = make_table(spark, table_path, TEN, **way)
    results = [table.update("id = 1", {"v": "v + 1"}, txn=("job", 1)) for _ in range(2)]
    assert [(each.committed, each.reason) for each in results] == [(True, ""), (False, "replayed")]
    assert rows(table, "id", "v")[1] == (1, 2)
    assert bayou.open(table_path).version() == 1


def test_a_batch_without_a_match_is_noted_and_not_done_later(spark, table_path, way):
    table = make_table(spark, table_path, TEN, **way)
    first = table.update("id = 1000", {"v": "-1"}, txn=("job", 1))
    table.update("id = 1 and v = 2", {"v": "-1"}, txn=("job", 2))
    assert (first.committed, first.num_affected_rows, first.version) == (True, 0, 1)
    bayou.write(spark.sql("select 1000L id, 0L p, 0L v"), table_path, mode="append")
    replays = [table.update(condition, {"v": "-1"}, txn=("job", 2)) for condition in ("id = 1000", "id = 1")]
    assert [(each.committed, each.reason) for each in replays] == [(False, "replayed")] * 2
    assert -1 not in {row[0] for row in rows(table, "v")}


def test_the_sessions_batch_is_spent_by_an_update_without_a_match(spark, table_path, way):
    make_table(spark, table_path, TEN, **way)
    name = "spark.databricks.delta.write.txn"
    with settings(spark, {f"{name}AppId": "job", f"{name}Version": "1", f"{name}Version.autoReset.enabled": "true"}):
        assert spark.sql(f"update delta.`{table_path}` set v = -1 where id = 1000").first()[0] == 0
        assert spark.conf.get(f"{name}Version", None) is None
    assert bayou.open(table_path).snapshot().transactions["job"].version == 1


def test_the_error_for_an_unknown_column_of_a_method_says_what_to_write(spark, table_path):
    table = make_table(spark, table_path, TEN)
    calls = {
        "a column to set": (lambda: table.update("id = 1", {"other": "1"}), "`other`", False),
        "a word as a value": (lambda: table.update("id = 1", {"v": "sent"}), "`sent`", True),
        "a word in a condition": (lambda: table.delete("v = sent"), "`sent`", True),
        "a part of another word": (lambda: table.update("id = 1", {"i": "v"}), "`i`", False),
        "a column with a prefix": (lambda: table.alias("t").delete("t.other = 1"), "`t`.`other`", False),
        "a Column": (lambda: table.delete(functions.col("other") == 1), "`other`", False),
    }
    for name, (call, column, may_be_string) in calls.items():
        with pytest.raises(SchemaMismatchError) as caught:
            call()
        error = caught.value
        assert isinstance(error, AnalysisException), name
        assert error.getErrorClass() == "UNRESOLVED_COLUMN.WITH_SUGGESTION", name
        assert (error.getSqlState(), error.column) == ("42703", column), name
        assert error.getMessageParameters()["objectName"] == column, name
        assert "`id`" in error.next_step, name
        assert ("quotes" in error.next_step) == may_be_string, name
        assert error.__cause__ is None, name


def test_the_error_for_an_unknown_column_in_sql_shows_its_place(spark, table_path):
    make_table(spark, table_path, TEN)
    for statement in ("update delta.`{}` set other = 1", "delete from delta.`{}` where other = 1"):
        with pytest.raises(AnalysisException) as caught:
            spark.sql(statement.format(table_path))
        assert not isinstance(caught.value, SchemaMismatchError), statement
        assert "'other" in str(caught.value), statement
