# SPDX-License-Identifier: Apache-2.0
"""MERGE with conditions whose parts depend on each other, on the time, or on values that are equal and yet not the same."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.dml.merge.merges import make
from tests.support.tables.queried import rows

import bayou

HAS_COLLATIONS = HAS_VARIANTS = not pyspark.__version__.startswith("3.")
EXPIRING = "select id, current_timestamp() + make_dt_interval(0, 0, 0, id * 0.005) expires, 0L v from range(0, 4000, 1, 2)"


@pytest.fixture
def expiring(spark, table_path, way):
    """Rows that expire one after the other, every 5 ms: each pass over them that has a time of its own finds more."""
    return make(spark, table_path, EXPIRING, **way)


def upsert(table, source, condition):
    merge = table.merge(source, "t.id = s.id").whenMatchedUpdate(condition, {"v": "1"})
    return merge.whenNotMatchedInsert(values={"id": "s.id", "v": "2"})


def statement(spark, table, source, condition):
    source.createOrReplaceTempView("expired")
    return f"""MERGE INTO delta.`{table._path}` t USING expired s ON t.id = s.id
        WHEN MATCHED AND {condition} THEN UPDATE SET v = 1 WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 2)"""


@pytest.mark.smoke
@pytest.mark.parametrize("now", ["current_timestamp()", "now()", "to_timestamp(localtimestamp())"])
def test_the_time_is_the_same_in_all_passes_of_a_merge(spark, expiring, now):
    source = spark.range(0, 4001).alias("s")
    result = upsert(expiring, source, f"t.expires < {now}").execute()
    found = expiring.toDF()
    assert (found.count(), found.select("id").distinct().count()) == (4001, 4001)
    assert (result.num_updated_rows, result.num_inserted_rows) == (found.where("v = 1").count(), 1)


def test_the_time_is_the_same_in_all_passes_of_a_statement(spark, expiring):
    counts = spark.sql(statement(spark, expiring, spark.range(0, 4001), "t.expires < now()"))
    assert expiring.toDF().count() == 4001
    assert counts is not None


def test_the_time_in_a_source_is_the_same_in_all_passes(spark, expiring, tmp_path):
    spark.range(0, 4001).write.parquet(str(tmp_path / "source"))
    source = spark.read.parquet(str(tmp_path / "source")).withColumn("now", F.current_timestamp()).alias("s")
    result = upsert(expiring, source, "t.expires < s.now").execute()
    found = expiring.toDF()
    assert (found.count(), result.num_updated_rows) == (4001, found.where("v = 1").count())


def test_rows_that_only_the_source_decides_about_are_deleted_by_one_time(spark, expiring):
    source = spark.sql("select -1L id").alias("s")
    merge = expiring.merge(source, "t.id = s.id").whenNotMatchedBySourceDelete("t.expires < current_timestamp()")
    result = merge.whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert expiring.toDF().count() == 4000 - result.num_deleted_rows + 1


def test_all_values_of_a_merge_have_one_time(spark, table_path, way):
    table = make(spark, table_path, "select id, timestamp'2020-01-01' at from range(0, 4, 1, 2)", **way)
    source = spark.range(2, 6).alias("s")
    values = {"id": "s.id", "at": "current_timestamp()"}
    table.merge(source, "t.id = s.id").whenMatchedUpdate(set=values).whenNotMatchedInsert(values=values).execute()
    assert table.toDF().where("id > 1").select("at").distinct().count() == 1


EQUAL_BUT_NOT_THE_SAME = {
    "zeros": ("select '0.0' k, 0 v", "select * from values (0.0D, 1), (-0.0D, 2) s(k, v)", "t.k = cast(s.k as string)"),
    "collation": (
        "select 'a' k, 0 v",
        "select k collate utf8_lcase k, v from values ('a', 1), ('A', 2) s(k, v)",
        "t.k = (s.k collate utf8_binary)",
    ),
    "struct of zeros": (
        "select '0.0' k, 0 v",
        "select struct(k) k, v from values (0.0D, 1), (-0.0D, 2) s(k, v)",
        "t.k = cast(s.k.k as string)",
    ),
}


@pytest.mark.parametrize("kind", EQUAL_BUT_NOT_THE_SAME)
@pytest.mark.parametrize("shape", ["upsert", "insert only"])
def test_a_row_that_matches_nothing_is_inserted_though_an_equal_key_has_a_match(spark, table_path, way, kind, shape):
    if kind == "collation" and not HAS_COLLATIONS:
        pytest.skip("this Spark has no collations")
    target, source, condition = EQUAL_BUT_NOT_THE_SAME[kind]
    table = make(spark, table_path, target, **way)
    merge = table.merge(spark.sql(source).alias("s"), condition)
    merge = merge.whenMatchedUpdate(set={"v": "s.v"}) if shape == "upsert" else merge
    result = merge.whenNotMatchedInsert(values={"k": "'new'", "v": "s.v"}).execute()
    assert (result.num_updated_rows, result.num_inserted_rows) == (int(shape == "upsert"), 1)
    assert rows(table, "v") == [(int(shape == "upsert"),), (2,)]


def test_keys_that_are_not_compared_may_stand_in_a_condition(spark, table_path, way):
    table = make(spark, table_path, "select id, 0 v from range(0, 10, 1, 2)", **way)
    keys = ["select make_interval(0, 0, 0, cast(id as int)) k, cast(id as int) v, id from range(9, 12)"]
    conditions = ["t.id = s.id and extract(day from s.k) = t.id"]
    if HAS_VARIANTS:
        keys.append("""select parse_json(concat('{"id":', id, '}')) k, cast(id as int) v, id from range(8, 10)""")
        conditions.append("t.id = variant_get(s.k, '$.id', 'bigint')")
    for source, condition in zip(keys, conditions, strict=True):
        merge = table.merge(spark.sql(source).alias("s"), condition).whenMatchedUpdate(set={"v": "s.v"})
        merge.whenNotMatchedInsert(values={"id": "s.id", "v": "s.v"}).execute()
    found = dict(rows(table))
    assert (sorted(found), found[9], found[11]) == ([*range(12)], 9, 11)


GUARDED = {
    "cast": "s.kind = 'n' and t.id = cast(s.id as int)",
    "cast after": "t.id = cast(s.id as int) and s.kind = 'n'",
    "division": "s.b <> 0 and t.id = s.a div s.b",
}


@pytest.mark.parametrize("guard", GUARDED)
def test_a_part_of_the_condition_about_the_source_keeps_others_from_values_they_cannot_take(spark, table_path, way, guard):
    table = make(spark, table_path, "select cast(id as int) id, 0 v from range(0, 10, 1, 2)", **way)
    source = spark.sql("select * from values ('1', 'n', 5, 2, 2), ('x', 'junk', 6, 1, 0) s(id, kind, v, a, b)").alias("s")
    table.merge(source, GUARDED[guard]).whenMatchedUpdate(set={"v": "s.v"}).execute()
    assert [row for row in rows(table) if row[1]] == [(1, 5)]


@pytest.mark.parametrize("operation", ["merge", "delete", "update"])
def test_a_part_of_the_condition_about_partitions_keeps_others_from_values_they_cannot_take(spark, table_path, way, operation):
    query = "select id, if(id = 3, 'x', cast(id as string)) p, 0 v from range(0, 6, 1, 2)"
    table = make(spark, table_path, query, ["p"], **way)
    condition = "t.p <> 'x' and cast(t.p as int) > 4"
    if operation == "merge":
        table.merge(spark.sql("select 7 v").alias("s"), condition).whenMatchedUpdate(set={"v": "s.v"}).execute()
    elif operation == "update":
        table.update(condition, {"v": "7"})
    else:
        table.delete(condition)
    assert rows(table, "id", "v")[5:] == ([] if operation == "delete" else [(5, 7)])
    assert rows(table, "id")[:5] == [(each,) for each in range(5)]


@pytest.mark.parametrize("side", ["source", "table"])
def test_an_alias_that_is_called_like_a_struct_does_not_stand_for_it_in_a_star(spark, table_path, way, side):
    make(spark, table_path, "select 1 id, named_struct('a', 1, 'b', 2) x, 50 a", **way)
    target, source = ("x", "s") if side == "table" else ("t", "x")
    table = bayou.DeltaTable.forPath(spark, table_path).alias(target)
    rows_of_source = spark.sql("select 1 id, named_struct('a', 10) x, 99 a").alias(source)
    merge = table.merge(rows_of_source, f"{target}.id = {source}.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    merge.withSchemaEvolution().execute()
    assert [row.asDict(recursive=True) for row in table.toDF().collect()] == [{"id": 1, "x": {"a": 10, "b": 2}, "a": 99}]


NULL_STRUCTS = {
    "both": ("cast(null as struct<a: int, b: int>)", "cast(null as struct<a: int, c: int>)", None),
    "the source's": ("named_struct('a', 1, 'b', cast(null as int))", "cast(null as struct<a: int>)", {"a": None, "b": None}),
    "the table's": ("cast(null as struct<a: int, b: int>)", "named_struct('a', cast(null as int))", {"a": None, "b": None}),
    "inner ones": (
        "named_struct('y', cast(null as struct<a: int, b: int>), 'k', 3)",
        "named_struct('y', cast(null as struct<a: int>), 'k', 4)",
        {"y": None, "k": 4},
    ),
}


@pytest.mark.parametrize("which", NULL_STRUCTS)
def test_a_star_makes_null_of_a_struct_that_is_null_on_both_sides_and_sets_fields_of_others(spark, table_path, way, which):
    """As delta-spark 4.4 does."""
    before, given, after = NULL_STRUCTS[which]
    table = make(spark, table_path, f"select 1 id, {before} x", **way)
    merge = table.merge(spark.sql(f"select 1 id, {given} x").alias("s"), "t.id = s.id").withSchemaEvolution()
    merge.whenMatchedUpdateAll().execute()
    assert table.toDF().first().asDict(recursive=True)["x"] == after


def test_a_condition_that_is_null_is_never_true(spark, table_path, way):
    table = make(spark, table_path, "select 1 id, 0 v", **way)
    source = spark.sql("select 1 id, 5 v").alias("s")
    table.merge(source, "t.id = s.id").whenMatchedUpdate("null", {"v": "s.v"}).whenMatchedDelete("null").execute()
    assert rows(table) == [(1, 0)]
    table.merge(source, "null").whenMatchedDelete().whenNotMatchedInsertAll().execute()
    assert rows(table) == [(1, 0), (1, 5)]


@pytest.mark.parametrize("matches", [False, True], ids=["inserts", "upserts"])
def test_each_clause_that_leaves_an_identity_column_out_has_its_rows_numbered(spark, table_path, way, matches):
    builder = bayou.DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT")
    builder = builder.addColumn("k", "BIGINT", generatedByDefaultAs=bayou.IdentityGenerator())
    for each in way.items():
        builder = builder.property(*each)
    builder.execute()
    bayou.write(spark.range(0, 2, 1, 1), table_path, mode="append")
    table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
    merge = table.merge(spark.range(0, 6, 1, 1).alias("s"), "t.id = s.id")
    merge = merge.whenMatchedUpdate(set={"id": "s.id"}) if matches else merge
    merge = merge.whenNotMatchedInsert("s.id = 3", {"k": "1000", "id": "s.id"})
    result = merge.whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert (result.num_inserted_rows, result.num_updated_rows) == (4, 2 if matches else 0)
    found = dict(rows(table, "id", "k"))
    assert (sorted(found), found[3], len(set(found.values()))) == ([0, 1, 2, 3, 4, 5], 1000, 6)
    assert None not in found.values()


def test_two_identity_columns_are_numbered_for_each_clause_that_leaves_them_out(spark, table_path, way):
    builder = bayou.DeltaTable.create(spark).location(table_path)
    for name in ("a", "b"):
        builder = builder.addColumn(name, "BIGINT", generatedByDefaultAs=bayou.IdentityGenerator())
    for each in way.items():
        builder = builder.property(*each)
    builder.addColumn("k", "BIGINT").execute()
    table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
    merge = table.merge(spark.range(0, 9, 1, 1).alias("s"), "t.k = s.id")
    merge = merge.whenNotMatchedInsert("s.id < 3", {"k": "s.id"}).whenNotMatchedInsert(
        "s.id < 6", {"k": "s.id", "a": "1000 + s.id"}
    )
    merge.whenNotMatchedInsert(values={"k": "s.id", "b": "2000 + s.id"}).execute()
    spark.sql(f"INSERT INTO delta.`{table_path}` (k) VALUES (9)")
    found = rows(table, "k", "a", "b")
    assert [row[1] for row in found[3:6]] == [1003, 1004, 1005]
    assert [row[2] for row in found[6:9]] == [2006, 2007, 2008]
    assert [len({row[place] for row in found}) for place in range(3)] == [10, 10, 10]
    assert not any(None in row for row in found)


def test_values_are_cast_in_a_session_that_forbids_cross_joins(spark, table_path, way):
    table = make(spark, table_path, "select id, 0 v from range(4)", **way)
    source = spark.sql("select id, id + 10 v from range(3, 5)").alias("s")
    spark.conf.set("spark.sql.crossJoin.enabled", "false")
    try:
        table.merge(source, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        merge = f"merge into delta.`{table_path}` t using (select id, 7L w from range(1)) s on t.id = s.id"
        spark.sql(f"{merge} when matched then update set v = w")
    finally:
        spark.conf.unset("spark.sql.crossJoin.enabled")
    assert rows(table) == [(0, 7), (1, 0), (2, 0), (3, 13), (4, 14)]


def test_rows_are_found_in_a_session_whose_aggregates_lack_their_groups(spark, table_path, way):
    table = make(spark, table_path, "select id, 0 v from range(10)", **way)
    source = spark.sql("select id, 1 v from range(2, 4)").alias("s")
    spark.conf.set("spark.sql.retainGroupColumns", "false")
    try:
        table.merge(source, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        table.delete("id % 5 = 0")
        table.update("id = 9", {"v": "9"})
    finally:
        spark.conf.unset("spark.sql.retainGroupColumns")
    assert rows(table) == [(1, 0), (2, 1), (3, 1), (4, 0), (6, 0), (7, 0), (8, 0), (9, 9)]
