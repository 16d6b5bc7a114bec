# SPDX-License-Identifier: Apache-2.0
"""The values that a MERGE writes: cast and put in place, checked by the table's rules, into columns that may be new."""

from __future__ import annotations

import pytest
from tests.spark.dml.merge.merges import counts, make, source
from tests.support.observing import data_files
from tests.support.tables.queried import rows

import bayou
from bayou.errors import CastOverflowError, ConstraintViolationError, InvalidSchemaError, SchemaMismatchError


def test_values_are_cast_to_the_columns_types_and_must_fit(spark, table_path, way):
    table = make(spark, table_path, "select cast(1 as smallint) id, cast('a' as string) v", **way)
    new = source(spark, "select 1L id, 5 v union all select 2L, 6")
    table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(table) == [(1, "5"), (2, "6")]
    with pytest.raises(CastOverflowError, match="DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"):
        table.merge(source(spark, "select 70000 id"), "t.id = s.id").whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert bayou.open(table_path).version() == 1


def test_structs_are_set_by_the_names_of_their_fields(spark, table_path, way):
    table = make(spark, table_path, "select 1 id, named_struct('a', 1, 'b', 'x') s", **way)
    new = spark.sql("select 1 id, named_struct('b', 'y', 'a', 2) s union all select 2, null").alias("n")
    table.merge(new, "t.id = n.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    found = {row.id: row.s for row in table.toDF().collect()}
    assert (found[1].a, found[1].b, found[2]) == (2, "y", None)
    other = spark.sql("select 1 id, named_struct('a', 2, 'c', 3) s").alias("n")
    with pytest.raises(SchemaMismatchError) as error:
        table.merge(other, "t.id = n.id").whenMatchedUpdateAll().execute()
    assert error.value.error_class == "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION"


def test_a_star_with_schema_evolution_adds_the_sources_columns(spark, table_path, way, joins):
    table = make(spark, table_path, "select id, named_struct('a', id) s from range(3)", **way)
    new = source(spark, "select id, named_struct('b', id * 2) s, id * 10 w from range(2, 4)")
    result = table.merge(new, "t.id = s.id").withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert counts(result) == (1, 0, 1)
    assert rows(table, "id", "s.a", "s.b", "w") == sorted(
        [(0, 0, None, None), (1, 1, None, None), (2, 2, 4, 20), (3, None, 6, 30)], key=repr
    )


def test_assigned_columns_evolve_and_others_do_not(spark, table_path):
    table = make(spark, table_path, "select id, id v from range(3)")
    new = source(spark, "select id, 5 w, 6 x from range(2, 4)")
    begun = table.merge(new, "t.id = s.id")
    with pytest.raises(SchemaMismatchError):
        begun.whenMatchedUpdate(set={"w": "s.w"}).execute()
    begun.withSchemaEvolution().whenMatchedUpdate(set={"w": "s.w"}).whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert table.toDF().columns == ["id", "v", "w"]
    assert rows(table) == sorted([(0, 0, None), (1, 1, None), (2, 2, 5), (3, None, None)], key=repr)


def test_the_session_may_let_schemas_evolve(spark, table_path):
    table = make(spark, table_path, "select id from range(3)")
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    try:
        table.merge(source(spark, "select 9L id, 1 w"), "t.id = s.id").whenNotMatchedInsertAll().execute()
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert rows(table)[-1] == (9, 1)


def test_rows_that_break_a_rule_are_refused_and_nothing_is_left(spark, table_path, way):
    table = make(spark, table_path, "select id, id v from range(3)", **way)
    table.addConstraint("small", "v < 100")
    before = data_files(table_path)
    new = source(spark, "select id, 100 + id v from range(2, 5)")
    with pytest.raises(ConstraintViolationError):
        table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll("s.id > 100").execute()
    with pytest.raises(ConstraintViolationError):
        table.merge(new, "t.id = s.id").whenNotMatchedInsertAll().execute()
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 1


def test_generated_columns_are_computed_and_given_ones_compared(spark, table_path, way):
    builder = bayou.DeltaTable.create(spark).location(table_path).addColumn("id", "bigint")
    builder = builder.addColumn("twice", "bigint", generatedAlwaysAs="id * 2").addColumn("v", "bigint")
    for name, value in way.items():
        builder = builder.property(name, value)
    table = builder.execute().alias("t")
    bayou.write(spark.sql("select id, id v from range(3)"), table_path, mode="append")
    new = source(spark, "select id, 100L v from range(2, 4)")
    begun = table.merge(new, "t.id = s.id")
    begun.whenMatchedUpdate(set={"id": "t.id + 10", "v": "s.v"}).whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert rows(table) == sorted([(0, 0, 0), (1, 2, 1), (12, 24, 100), (3, 6, None)], key=repr)
    with pytest.raises(ConstraintViolationError):
        begun.whenNotMatchedInsert(values={"id": "s.id", "twice": "5"}).execute()


def test_identity_columns_number_what_is_inserted(spark, table_path, way):
    builder = bayou.DeltaTable.create(spark).location(table_path)
    builder = builder.addColumn("k", "bigint", generatedAlwaysAs=bayou.IdentityGenerator()).addColumn("id", "bigint")
    for name, value in way.items():
        builder = builder.property(name, value)
    table = builder.addColumn("v", "bigint").execute().alias("t")
    bayou.write(spark.sql("select id, id v from range(0, 3, 1, 1)"), table_path, mode="append")
    new = source(spark, "select id, 100L v from range(2, 5)")
    begun = table.merge(new, "t.id = s.id")
    result = begun.whenMatchedUpdate(set={"v": "s.v"}).whenNotMatchedInsert(values={"id": "s.id", "v": "s.v"}).execute()
    assert counts(result) == (1, 0, 2)
    found = rows(table, "id", "k", "v")
    assert [row[::2] for row in found] == [(0, 0), (1, 1), (2, 100), (3, 100), (4, 100)]
    keys = [row[1] for row in found]
    assert keys[:3] == [1, 2, 3]
    assert len(set(keys)) == 5
    assert min(keys[3:]) > 3
    with pytest.raises(SchemaMismatchError):
        begun.whenNotMatchedInsert(values={"k": "1"}).execute()
    with pytest.raises(InvalidSchemaError):
        begun.whenMatchedUpdate(set={"k": "1"}).execute()


@pytest.mark.smoke
@pytest.mark.parametrize("in_sql", [False, True], ids=["method", "SQL"])
def test_a_column_that_the_table_gets_is_the_sources_in_conditions_and_values(spark, table_path, in_sql):
    table = make(spark, table_path, "select id, id v from range(3)")
    source(spark, "select * from values (1L, 10L, 'x'), (2L, 20L, 'y'), (7L, 70L, 'z') s(id, v, extra)").createOrReplaceTempView(
        "given"
    )
    if in_sql:
        bayou.enable(spark)
        spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
        try:
            spark.sql(
                f"merge into delta.`{table_path}` t using given s on t.id = s.id and extra is not null "
                "when matched and extra = 'x' then update set extra = upper(extra), v = s.v "
                "when not matched and extra = 'z' then insert (id, extra) values (s.id, concat(extra, extra))"
            )
        finally:
            spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    else:
        merge = table.alias("t").merge(spark.table("given").alias("s"), "t.id = s.id and extra is not null").withSchemaEvolution()
        merge = merge.whenMatchedUpdate("extra = 'x'", {"extra": "upper(extra)", "v": "s.v"})
        merge.whenNotMatchedInsert("extra = 'z'", {"id": "s.id", "extra": "concat(extra, extra)"}).execute()
    assert rows(table, "id", "v", "extra") == [(0, 0, None), (1, 10, "X"), (2, 2, None), (7, None, "zz")]
