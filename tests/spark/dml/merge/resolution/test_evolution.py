# SPDX-License-Identifier: Apache-2.0
"""MERGE and the table's schema: types that are widened, structs that grow, columns that are left out."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812

import bayou
from bayou.errors import CastOverflowError, SchemaMismatchError

LARGE = 5_000_000_000


def make(spark, path, query, **properties):
    bayou.write(spark.sql(query), path, **properties)
    return bayou.DeltaTable.forPath(spark, path).alias("t")


def rows(table, *columns):
    return sorted((tuple(row) for row in table.toDF().select(*columns or "*").collect()), key=repr)


@pytest.mark.parametrize("in_sql", [True, False])
def test_a_column_is_widened_for_the_sources_values_where_schemas_may_evolve(spark, table_path, way, joins, in_sql):
    query = "select cast(id as int) id, cast(id as int) v, named_struct('a', cast(id as smallint)) s from range(0, 4, 1, 1)"
    table = make(spark, table_path, query, **way, **{"delta.enableTypeWidening": "true"})
    given = f"select id, {LARGE} + id v, named_struct('a', 100000 + cast(id as int)) s from range(2, 6)"
    with pytest.raises(CastOverflowError):
        table.merge(spark.sql(given).alias("n"), "t.id = n.id").whenMatchedUpdateAll().execute()
    if in_sql and spark.version >= "4":
        text = "when matched then update set * when not matched then insert *"
        spark.sql(f"merge with schema evolution into delta.`{table_path}` t using ({given}) n on t.id = n.id {text}")
    else:
        merge = table.merge(spark.sql(given).alias("n"), "t.id = n.id").withSchemaEvolution()
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert dict(table.toDF().dtypes) == {"id": "bigint", "v": "bigint", "s": "struct<a:int>"}
    old = [(number, number, number) for number in range(2)]
    assert rows(table, "id", "v", "s.a") == [*old, *((number, LARGE + number, 100_000 + number) for number in range(2, 6))]


def test_structs_in_arrays_and_maps_get_the_sources_fields_and_old_rows_have_null_there(spark, table_path, way, joins):
    query = (
        "select id, array(named_struct('a', id, 'b', named_struct('c', id))) l, map('k', named_struct('a', id)) m "
        "from range(0, 3, 1, 1)"
    )
    table = make(spark, table_path, query, **way)
    given = (
        "select id, array(named_struct('b', named_struct('d', 'd', 'c', id * 10), 'z', 'z', 'a', id * 10), null) l, "
        "map('k', named_struct('z', id, 'a', id * 10)) m from range(2, 4)"
    )
    merge = table.merge(spark.sql(given).alias("n"), "t.id = n.id").withSchemaEvolution()
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    found = table.toDF().select("id", F.to_json("l"), F.to_json("m")).orderBy("id").collect()
    assert [tuple(row) for row in found] == [
        (0, '[{"a":0,"b":{"c":0}}]', '{"k":{"a":0}}'),
        (1, '[{"a":1,"b":{"c":1}}]', '{"k":{"a":1}}'),
        (2, '[{"a":20,"b":{"c":20,"d":"d"},"z":"z"},null]', '{"k":{"a":20,"z":2}}'),
        (3, '[{"a":30,"b":{"c":30,"d":"d"},"z":"z"},null]', '{"k":{"a":30,"z":3}}'),
    ]
    assert dict(table.toDF().dtypes)["l"] == "array<struct<a:bigint,b:struct<c:bigint,d:string>,z:string>>"


CLAUSES = {
    "not matched by source update": lambda merge: merge.whenNotMatchedBySourceUpdate(set={"v": "-1"}),
    "not matched by source delete": lambda merge: merge.whenNotMatchedBySourceDelete(),
    "matched delete": lambda merge: merge.whenMatchedDelete(),
    "both deletes": lambda merge: merge.whenMatchedDelete("s.w > 100").whenNotMatchedBySourceDelete("t.id = 0"),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("clauses", CLAUSES)
def test_clauses_that_take_no_column_of_the_source_leave_the_schema_as_it_is(spark, table_path, way, clauses):
    table = make(spark, table_path, "select id, cast(id as int) v from range(0, 3, 1, 1)", **way)
    before = bayou.open(table_path).snapshot().schema
    source = spark.sql("select id, 7L v, 5 w from range(2, 4)").alias("s")
    result = CLAUSES[clauses](table.merge(source, "t.id = s.id").withSchemaEvolution()).execute()
    assert result.committed
    assert bayou.open(table_path).snapshot().schema == before
    expected = {
        "not matched by source update": [(0, -1), (1, -1), (2, 2)],
        "not matched by source delete": [(2, 2)],
        "matched delete": [(0, 0), (1, 1)],
        "both deletes": [(1, 1), (2, 2)],
    }
    assert rows(table) == expected[clauses]


@pytest.mark.parametrize("in_sql", [True, False])
def test_a_row_that_is_inserted_without_a_column_gets_its_default(spark, table_path, way, joins, in_sql):
    properties = {**way, "delta.feature.allowColumnDefaults": "supported"}
    told = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    spark.sql(
        f"create table delta.`{table_path}` (id bigint, v string default concat('no', 'ne'), n int default 7, p string) "
        f"using delta tblproperties ({told})"
    )
    spark.sql(f"insert into delta.`{table_path}` values (1, 'a', 1, 'x'), (2, null, null, 'y')")
    given = "select id, id * 10 w from range(2, 4)"
    if in_sql:
        text = "when matched then update set n = s.w when not matched then insert (id, p) values (s.id, 'new')"
        spark.sql(f"merge into delta.`{table_path}` t using ({given}) s on t.id = s.id {text}")
    else:
        merge = bayou.DeltaTable.forPath(spark, table_path).alias("t").merge(spark.sql(given).alias("s"), "t.id = s.id")
        merge.whenMatchedUpdate(set={"n": "s.w"}).whenNotMatchedInsert(values={"id": "s.id", "p": "'new'"}).execute()
    assert rows(bayou.DeltaTable.forPath(spark, table_path)) == [(1, "a", 1, "x"), (2, None, 20, "y"), (3, "none", 7, "new")]


WIDENED = [
    ("int", "-1", "5000000000L", "t.p < 0"),
    ("float", "float(1.5)", "double(1e300)", "t.p > 1"),
    ("date", "date'2020-01-01'", "timestamp_ntz'2021-01-01 10:00:00'", "t.p >= timestamp_ntz'2019-06-01 00:00:00'"),
]


@pytest.mark.parametrize(("stored", "old", "new", "condition"), WIDENED, ids=[each[0] for each in WIDENED])
def test_a_condition_on_a_partition_column_that_is_widened_finds_the_rows(spark, table_path, stored, old, new, condition):
    """It takes the wider values, and the log has those of the table as it was."""
    query = f"select 1L id, cast({old} as {stored}) p, 'old' v"
    properties = {"delta.enableTypeWidening": "true", "delta.feature.timestampNtz": "supported"}
    bayou.write(spark.sql(query), table_path, partition_by=("p",), **properties)
    table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
    merge = table.merge(spark.sql(f"select 1L id, {new} p, 'new' v").alias("s"), f"t.id = s.id and {condition}")
    result = merge.withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert (result.num_updated_rows, result.num_inserted_rows) == (1, 0)
    assert rows(table, "id", "v") == [(1, "new")]


STRUCTS = {
    "a struct": ("named_struct('a', 1, 'b', 2)", "named_struct('a', 10, 'zz', 20)"),
    "structs in an array": ("array(named_struct('a', 1, 'b', 2))", "array(named_struct('a', 10, 'zz', 20))"),
    "a struct within one": ("named_struct('i', named_struct('a', 1, 'b', 2))", "named_struct('i', named_struct('lost', 9))"),
}


@pytest.mark.parametrize("kind", STRUCTS)
@pytest.mark.parametrize("inserts", [True, False])
def test_a_value_loses_no_field_where_it_lacks_others(spark, table_path, kind, inserts):
    old, new = STRUCTS[kind]
    table = make(spark, table_path, f"select 1L id, {old} st")
    merge = table.merge(spark.sql(f"select {2 if inserts else 1}L id, {new} other").alias("s"), "t.id = s.id").withSchemaEvolution()
    merge = (
        merge.whenNotMatchedInsert(values={"id": "s.id", "st": "s.other"})
        if inserts
        else merge.whenMatchedUpdate(set={"st": "s.other"})
    )
    before = rows(table)
    with pytest.raises(SchemaMismatchError):
        merge.execute()
    assert rows(table) == before


STAY = {
    "a number for a longer one": ("bigint", "1"),
    "a number in a text": ("string", "1"),
    "a text for a number": ("int", "'1'"),
    "a timestamp for a date": ("date", "timestamp '2026-01-02 03:04:05'"),
    "a text for bytes": ("binary", "'x'"),
    "a number in an array": ("array<bigint>", "array(1)"),
    "nothing": ("boolean", "null"),
}
REFUSED = {
    "an array for a text": ("string", "array(1)"),
    "a struct for a text": ("string", "named_struct('a', 1)"),
    "a map for a text": ("string", "map('a', 1)"),
    "a timestamp for a number": ("int", "timestamp '2026-01-02 03:04:05'"),
    "a number for a boolean": ("boolean", "1L"),
    "a text for a boolean": ("boolean", "'true'"),
    "a boolean for a number": ("int", "true"),
    "an interval for a number": ("int", "interval '1' day"),
    "an array in a struct": ("struct<a: string>", "named_struct('a', array(1))"),
    "an array in an array": ("array<string>", "array(array(1))"),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", STAY)
def test_a_column_keeps_its_type_for_values_that_spark_casts_to_it(spark, table_path, name):
    kind, value = STAY[name]
    table = make(spark, table_path, f"select 1 id, cast(null as {kind}) v")
    given = spark.sql(f"select explode(array(1, 2)) id, {value} v, 5 w").alias("s")
    table.merge(given, "t.id = s.id").withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert dict(table.toDF().dtypes) == {"id": "int", "v": kind, "w": "int"}
    assert table.toDF().where(f"v <=> cast({value} as {kind})").count() == 2


@pytest.mark.parametrize("name", REFUSED)
def test_values_that_spark_does_not_cast_by_itself_are_refused_where_the_schema_may_change(spark, table_path, name):
    kind, value = REFUSED[name]
    table = make(spark, table_path, f"select 1 id, cast(null as {kind}) v")
    given = spark.sql(f"select explode(array(1, 2)) id, {value} v").alias("s")
    with pytest.raises(SchemaMismatchError) as caught:
        table.merge(given, "t.id = s.id").withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert caught.value.error_class == "DELTA_FAILED_TO_MERGE_FIELDS"
    assert table.history(1).collect()[0].version == 0
