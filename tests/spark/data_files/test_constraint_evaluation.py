# SPDX-License-Identifier: Apache-2.0
"""What a table asks of the rows that are written is checked by the job that writes them, or nothing is left of it."""

from __future__ import annotations

import re
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
from bayou.spark.data_files import constraint_evaluation


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
    assert (null.constraint, null.num_violations, null.rows) == ("short", 1, [{"name": None}])
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


# Of each type: a rule, rows that obey it, rows that break it.
RULES = {
    "long": ("id bigint", "id >= 0 and id < 10", "values (0L), (9L)", "values (0L), (10L)"),
    "null": ("id bigint", "id >= 0", "values (0L)", "values (0L), (null)"),
    "not null": ("id bigint", "id is not null", "values (0L)", "values (0L), (null)"),
    "date": ("d date", "d > date'2020-01-01'", "values (date'2020-01-02')", "values (date'2020-01-01')"),
    "decimal": ("m decimal(30, 2)", "m <= 1.50", "values (1.5BD)", "values (1.51BD)"),
    "double": ("x double", "x >= 0", "values (0D), (4.5D)", "values (double('NaN')), (-1D)"),
    "timestamp": ("t timestamp", "t <= timestamp'2024-01-01 00:00:00.000500'", "values (timestamp'2024-01-01 00:00:00.000500')",
                  "values (timestamp'2024-01-01 00:00:00.000501')"),
    "struct": ("s struct<x: int>", "s.x > 0", "select struct(1 as x) as s", "select struct(1 as x) as s union all select null"),
    "mapped": ("`a b` int", "`a b` > 0", "values (1)", "values (0)"),
    "two columns": ("a int, b int", "a > 0 and b < 0", "values (1, -1)", "values (1, 0)"),
}  # fmt: skip

# Rows that obey two rules, and rows that break the second.
TWO_RULES = {
    "in doubt": ("x double, p int", "x >= 0", "p in (1, 2)", "values (double('NaN'), 1), (1D, 2)", "values (double('NaN'), 3)"),
    "columns": ("a boolean, b boolean", "a", "b", "values (true, true)", "values (true, false)"),
}


def with_rule(spark, path, columns, rule, *, mapped=False):
    properties = "tblproperties ('delta.columnMapping.mode' = 'name')" if mapped else ""
    spark.sql(f"create table delta.`{path}` ({columns}) using delta {properties}")
    bayou.DeltaTable.forPath(spark, path).addConstraint("rule", rule)


def insert(spark, path, rows):
    spark.sql(f"insert into delta.`{path}` {rows}")


@pytest.mark.parametrize("case", RULES)
def test_a_rule_costs_no_job_and_no_row_that_violates_it_gets_in(spark, table_path, case):
    columns, rule, good, bad = RULES[case]
    with_rule(spark, table_path, columns, rule, mapped=case == "mapped")
    with jobs(spark) as found:
        insert(spark, table_path, good)
    assert found.value == 1
    with pytest.raises(ConstraintViolationError) as caught:
        insert(spark, table_path, bad)
    assert caught.value.facts["num_violations"] == 1
    assert len(caught.value.facts["rows"]) == 1
    # A task that ends while another one fails may leave its file, which VACUUM deletes, so that files are not compared.
    assert bayou.open(table_path).version() == 2


def test_the_error_names_the_first_rule_that_is_broken(spark, table_path):
    with_rule(spark, table_path, "id int, v int", "id > 0")
    bayou.DeltaTable.forPath(spark, table_path).addConstraint("also", "v in (1, 2)")
    with pytest.raises(ConstraintViolationError, match="rule id > 0") as caught:
        insert(spark, table_path, "values (1, 3), (0, 1), (0, 4), (2, 2)")
    assert caught.value.facts["num_violations"] == 3  # of either rule
    with pytest.raises(ConstraintViolationError, match="also v in"):
        insert(spark, table_path, "values (1, 3), (2, 2)")


def test_rows_that_differ_when_they_are_computed_again_are_refused_with_the_row_that_was_met(spark, table_path, monkeypatch):
    with_rule(spark, table_path, "id bigint", "id < 10")
    # The second evaluation of the rows, which counts the violations, finds none.
    monkeypatch.setattr(constraint_evaluation, "violations_in", lambda *_, **__: constraint_evaluation.Violations(0, ()))
    with pytest.raises(ConstraintViolationError) as caught:
        spark.range(20, 21).write.format("delta").mode("append").save(table_path)
    assert (caught.value.facts["num_violations"], caught.value.facts["rows"]) == (1, [{"id": 20}])


@pytest.mark.parametrize("case", TWO_RULES)
def test_rows_that_obey_two_rules_are_taken_and_one_that_breaks_the_second_is_refused(spark, table_path, case):
    columns, first, second, good, bad = TWO_RULES[case]
    with_rule(spark, table_path, columns, first)
    bayou.DeltaTable.forPath(spark, table_path).addConstraint("also", second)
    insert(spark, table_path, good)
    with pytest.raises(ConstraintViolationError, match=re.escape(f"also {second}")):
        insert(spark, table_path, bad)


def test_columns_without_a_type_stand_beside_rules(spark, table_path):
    with_rule(spark, table_path, "id int, s struct<x: int, v: void>", "s.x > 0")
    insert(spark, table_path, "select 1, named_struct('x', 1, 'v', null)")
    with pytest.raises(ConstraintViolationError):
        insert(spark, table_path, "select 1, named_struct('x', 0, 'v', null)")


def test_replaced_rows_obey_what_the_condition_says_of_any_column(spark, table_path):
    spark.sql("select 1 as id, 'x' as p").write.format("delta").partitionBy("p").save(table_path)
    writer = spark.sql("select 0 as id, 'x' as p").write.format("delta").mode("overwrite")
    with pytest.raises(ConstraintViolationError):
        writer.option("replaceWhere", "id > 0 and (p = 'x' or true)").save(table_path)


def test_a_rule_holds_for_what_a_rewrite_of_rows_writes(spark, table_path):
    with_rule(spark, table_path, "id int, v int", "v > 0")
    insert(spark, table_path, "values (1, 1), (2, 2)")
    with pytest.raises(ConstraintViolationError):
        bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"v": "v - 1"})
    bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"v": "v + 1"})
