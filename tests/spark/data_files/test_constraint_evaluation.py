# SPDX-License-Identifier: Apache-2.0
"""What a table asks of the rows that are written is checked by the job that writes them, or nothing is left of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.observing import data_files as files
from tests.support.observing import jobs
from tests.support.operations.streams import read
from tests.support.tables.ruled import append, create, refused

import bayou
from bayou.errors import ConstraintViolationError, SchemaMismatchError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType


@pytest.mark.smoke
def test_rows_that_break_a_check_are_counted_and_some_are_shown(spark, table_path):
    create(
        table_path,
        StructField("id", "long"),
        StructField("name", "string"),
        protocol=Protocol(1, 3),
        delta__constraints__positive="id >= 0",
        delta__constraints__short="length(name) < 4",
    )
    append(spark.range(5).selectExpr("id", "cast(id as string) name"), table_path)
    error = refused(spark, table_path, spark.range(-1000, 5).selectExpr("id", "cast(id as string) name"))
    assert error.constraint == "positive"
    assert error.num_violations == 1000
    assert 1 <= len(error.rows) <= 5
    assert all(row["id"] < 0 for row in error.rows)
    assert "CHECK constraint positive" in str(error)
    assert error.getErrorClass() == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    null = refused(spark, table_path, spark.sql("select 1L id, cast(null as string) name"))
    assert (null.constraint, null.num_violations, null.rows) == ("short", 1, ({"name": None},))
    assert read(spark, table_path).count() == 5


def test_the_check_is_part_of_the_job_that_writes(spark, table_path):
    create(table_path, StructField("id", "long"), protocol=Protocol(1, 3), delta__constraints__c="id >= 0")
    with jobs(spark) as started:
        append(spark.range(100), table_path)
    assert started.value == 1


@pytest.mark.smoke
def test_not_null_holds_for_columns_and_for_fields_of_structs(spark, table_path):
    inner = StructType((StructField("x", "long", nullable=False), StructField("y", "long")))
    create(table_path, StructField("id", "long", nullable=False), StructField("s", inner))
    append(spark.sql("select 1L id, struct(1L x, 2L y) s"), table_path)
    error = refused(spark, table_path, spark.sql("select cast(null as bigint) id, struct(1L x, 2L y) s"))
    assert error.getErrorClass() == "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"
    assert "NOT NULL constraint violated for column: id" in str(error)
    assert "s.x" in str(refused(spark, table_path, spark.sql("select 1L id, struct(cast(null as bigint) x, 2L y) s")))
    missing = refused(spark, table_path, spark.sql("select struct(1L x, 2L y) s"), SchemaMismatchError)
    assert missing.getErrorClass() == "DELTA_MISSING_NOT_NULL_COLUMN_VALUE"


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_not_null_within_a_struct_is_looked_at_whatever_the_rows_columns_say(spark, table_path, mapping):
    made = bayou.DeltaTable.create(spark).location(table_path).property("delta.columnMapping.mode", mapping)
    made.addColumn("id", "int").addColumn("s", "struct<x: int not null, y: int>").execute()
    bayou.write(spark.sql("select 1 id, from_json('{\"x\": 1}', 'x int, y int') s"), table_path, mode="append")
    for broken in ("from_json('{\"y\": 1}', 'x int, y int')", "cast(null as struct<x: int, y: int>)"):
        with pytest.raises(ConstraintViolationError, match=r"NOT NULL constraint violated for column: s\.x"):
            bayou.write(spark.sql(f"select 2 id, {broken} s"), table_path, mode="append")
    assert bayou.read(spark, table_path).select("id", "s.x").collect() == [(1, 1)]


def test_invariants_in_a_fields_metadata_hold(spark, table_path):
    create(table_path, StructField("id", "long", True, {"delta.invariants": '{"expression":{"expression":"id < 3"}}'}))
    append(spark.range(3), table_path)
    refused(spark, table_path, spark.range(4))


def test_texts_keep_to_the_length_of_their_column(spark, table_path):
    create(table_path, StructField("t", "string", True, {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}))
    append(spark.sql("select 'abc' t union all select null"), table_path)
    error = refused(spark, table_path, spark.sql("select 'abcd' t"))
    assert error.getErrorClass() == "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"


def test_a_constraint_added_by_another_writer_stops_rows_that_were_not_checked(spark, table_path, monkeypatch):
    from bayou.errors import MetadataChangedException
    from bayou.log.commit.transaction import Transaction

    spark.range(1).write.format("delta").save(table_path)
    original = Transaction.try_commit

    def race(self, *arguments, **options):
        monkeypatch.setattr(Transaction, "try_commit", original)
        with bayou.open(table_path).transaction("ADD CONSTRAINT") as other:
            metadata = replace(other.snapshot.metadata, configuration={"delta.constraints.c": "id < 0"})
            other.commit([Protocol(1, 3), metadata])
        return original(self, *arguments, **options)

    monkeypatch.setattr(Transaction, "try_commit", race)
    with pytest.raises(MetadataChangedException):
        append(spark.range(5), table_path)
    assert read(spark, table_path).count() == 1


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_rows_that_turn_out_to_be_none_break_no_rule(spark, table_path, mode):
    table = f"delta.`{table_path}`"
    spark.sql(f"create table {table} (id int, v int, p string) using delta partitioned by (p)")
    bayou.DeltaTable.forPath(spark, table_path).addConstraint("c", "v > 0")
    spark.sql(f"insert into {table} values (1, 1, 'a'), (2, 2, 'b')")
    # Spark sees that there are none only when it has shuffled them, and leaves all that was to be done with them out of the plan.
    none = spark.sql(f"select id, max(v) v, p from {table} where v + id > 50 group by id, p")
    options = {"optimizeWrite": "true", **({} if mode == "append" else {"replaceWhere": "p = 'c'"})}
    none.write.format("delta").mode(mode).options(**options).save(table_path)
    source = spark.createDataFrame([(1, 1, "a"), (2, 2, "b")], "id int, v int, p string")
    merge = bayou.DeltaTable.forPath(spark, table_path).alias("t").merge(source.alias("s"), "t.id = s.id and t.p = s.p")
    merge.whenMatchedUpdateAll("t.v <> s.v").whenNotMatchedInsertAll("s.v > 100").execute()
    assert sorted(row.id for row in read(spark, table_path).collect()) == [1, 2]


EMPTY = {
    "save": lambda rows, path: rows.write.format("delta").mode("append").save(path),
    "append by name": lambda rows, path: rows.writeTo(f"delta.`{path}`").append(),
    "insertInto": lambda rows, path: rows.write.insertInto(f"delta.`{path}`"),
    "update": lambda rows, path: rows.sparkSession.sql(f"update delta.`{path}` set p = {rows.first()['empty']}"),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("how", EMPTY)
@pytest.mark.parametrize(("kind", "empty"), [("string", "''"), ("varchar(3)", "''"), ("binary", "X''")])
@pytest.mark.parametrize("rule", ["not null", "check (length(p) < 5)"])
def test_the_empty_text_of_a_partition_column_is_null_to_the_rules_as_it_is_to_readers(spark, table_path, how, kind, empty, rule):
    declared = "not null" if rule == "not null" else ""
    spark.sql(f"create table delta.`{table_path}` (id long, p {kind} {declared}) using delta partitioned by (p)")
    if not declared:
        spark.sql(f"alter table delta.`{table_path}` add constraint short {rule}")
    spark.sql(f"insert into delta.`{table_path}` values (1, {empty.replace(chr(39) * 2, chr(39) + '41' + chr(39))})")
    before = files(table_path)
    rows = spark.sql(f"select 2L id, {empty} p") if how != "update" else spark.sql(f"""select "{empty}" empty""")
    with pytest.raises(ConstraintViolationError):
        EMPTY[how](rows, table_path)
    assert files(table_path) == before
