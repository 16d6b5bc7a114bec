# SPDX-License-Identifier: Apache-2.0
"""A MERGE by vectors whose new values are the source's alone: what it writes is what reading the table's old rows would give."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.dml.merge.merges import TEN, counts, make, source
from tests.support.observing import physical_plans
from tests.support.tables.queried import FILES, VECTORS, rows

from bayou.errors import MultipleMatchesError
from bayou.spark.native.merge.source_rows import SourceRows
from bayou.spark.native.merge.target_rows import Merge

WHOLE = {"id": "s.id", "p": "s.p", "v": "s.v"}
GIVEN = "select id, 7L p, id * 100 v, id % 2 = 0 even from range(6, 14)"
FANS_OUT = "select id % 3 id, id p, id v from range(0, 10, 1, 2)"
NULLS = "select if(id < 8, id, null) id, id p, id v from range(0, 9, 1, 2)"


def upsert(builder):
    return builder.whenMatchedUpdateAll().whenNotMatchedInsertAll()


BY_KEYS = {
    "an upsert": (TEN, GIVEN, "t.id = s.id", upsert),
    "updates alone": (TEN, GIVEN, "t.id = s.id", lambda b: b.whenMatchedUpdateAll()),
    "computed values of other types": (
        TEN,
        GIVEN,
        "t.id = s.id",
        lambda b: b.whenMatchedUpdate(set={"id": "s.id + 100", "p": "cast(s.v as int)", "v": "cast(s.p as string)"}),
    ),
    "a condition about the table": (
        TEN,
        GIVEN,
        "t.id = s.id",
        lambda b: b.whenMatchedUpdate("t.v > 6 and s.even", WHOLE).whenNotMatchedInsertAll("s.even"),
    ),
    "several clauses": (
        TEN,
        GIVEN,
        "t.id = s.id",
        lambda b: (
            b.whenMatchedDelete("t.id = 6")
            .whenMatchedUpdate("t.id = 7", WHOLE)
            .whenMatchedUpdate("s.even", {**WHOLE, "v": "-1"})
            .whenNotMatchedInsert("s.id > 12", {"id": "s.id"})
            .whenNotMatchedInsertAll("s.id > 11")
            .whenNotMatchedBySourceDelete("t.id < 2")
        ),
    ),
    "a part of the condition about the source": (TEN, GIVEN, "t.id = s.id and s.even", upsert),
    "a key without an equality": (TEN, "select 3L id, 7L p, 8L v", "t.id > s.id + 5 and t.id < s.id + 7", upsert),
    "several rows of the table for one of the source": (FANS_OUT, "select id, 7L p, 8L v from range(1, 12)", "t.id = s.id", upsert),
    "keys that are NULL": (NULLS, "select if(id < 9, id, null) id, 7L p, id v from range(6, 10)", "t.id <=> s.id", upsert),
    "keys that are NULL and match nothing": (
        NULLS,
        "select if(id < 9, id, null) id, 7L p, id v from range(6, 11)",
        "t.id = s.id",
        upsert,
    ),
    "a source with the same rows twice that match nothing": (
        TEN,
        "select id + 9 id, 7L p, id v from range(0, 4) union all select 12L, 7L, 1L union all select 12L, 7L, 1L",
        "t.id = s.id",
        upsert,
    ),
    "an evaluated source": (
        TEN,
        f"select id, max(p) p, max(v) v from ({GIVEN}) group by id",
        "t.id = s.id",
        upsert,
    ),
}
NOT_BY_KEYS = {
    "a value of the table": (
        TEN,
        GIVEN,
        "t.id = s.id",
        lambda b: b.whenMatchedUpdate(set={**WHOLE, "v": "t.v + s.v"}).whenNotMatchedInsertAll(),
    ),
    "a column that stays": (TEN, GIVEN, "t.id = s.id", lambda b: b.whenMatchedUpdate(set={"id": "s.id", "v": "s.v"})),
    "an update without a match": (
        TEN,
        GIVEN,
        "t.id = s.id",
        lambda b: upsert(b).whenNotMatchedBySourceUpdate("t.id < 2", {"id": "-1", "p": "0", "v": "0"}),
    ),
    "two rows of the source for one row, of which a clause takes one": (
        TEN,
        "select id, 7L p, v from (select explode(array(8L, 9L)) id) lateral view explode(array(1L, 2L)) e as v",
        "t.id = s.id",
        lambda b: b.whenMatchedUpdate("s.v = 2", WHOLE).whenNotMatchedInsertAll(),
    ),
    "more pairs than rows of the source": (FANS_OUT, "select 1L id, 7L p, 8L v", "t.id = s.id", upsert),
}


def merged(spark, path, case, monkeypatch, *, way=VECTORS):
    """The table's rows, the counts, and whether the updated rows were made of the source's alone."""
    table_rows, given, condition, clauses = case
    table = make(spark, path, table_rows, **way)
    seen = []
    with monkeypatch.context() as patched:
        original = SourceRows._with_matches
        patched.setattr(SourceRows, "_with_matches", lambda self, rows: seen.append(1) or original(self, rows))
        result = clauses(table.merge(source(spark, given), condition)).execute()
    numbers = {name: result.metrics[name] for name in sorted(result.metrics) if name.startswith("numTargetRows")}
    return rows(table), counts(result), numbers, bool(seen)


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("name", [*BY_KEYS, *NOT_BY_KEYS])
def test_rows_are_the_ones_that_a_join_with_the_table_gives(spark, tmp_path, name, monkeypatch):
    case = {**BY_KEYS, **NOT_BY_KEYS}[name]
    *found, by_keys = merged(spark, str(tmp_path / "keys"), case, monkeypatch)
    monkeypatch.setattr(Merge, "_updates_from_source", lambda _: False)
    *expected, _ = merged(spark, str(tmp_path / "join"), case, monkeypatch)
    assert found == expected
    assert by_keys == (name in BY_KEYS)
    assert found[1][0] > 0  # rows were updated


@pytest.mark.parametrize(
    "way",
    [FILES, {**VECTORS, "delta.enableChangeDataFeed": "true"}, {**VECTORS, "delta.enableRowTracking": "true"}],
    ids=["files that are written again", "a change data feed", "row ids"],
)
def test_old_rows_are_read_where_something_of_them_is_kept(spark, table_path, way, monkeypatch):
    found, numbers, _, by_keys = merged(spark, table_path, BY_KEYS["an upsert"], monkeypatch, way=way)
    old = [(i, i % 2, None if i % 5 == 0 else i) for i in range(6)]
    assert found == sorted([*old, *((i, 7, i * 100) for i in range(6, 14))], key=repr)
    assert (numbers, by_keys) == ((4, 0, 4), False)


def test_the_table_is_read_once_and_for_its_keys_alone(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS)
    merge = upsert(table.merge(source(spark, "select id, 7L p, id * 100 v from range(6, 14)"), "t.id = s.id"))
    with physical_plans(spark) as plans:
        merge.execute()
    read = [line for plan in plans for line in plan.split("\n") if line.startswith("ReadSchema")]
    assert read
    assert not [each for each in read if "p:" in each or "v:" in each]


def test_a_struct_that_is_set_by_its_fields_keeps_the_others(spark, table_path):
    table = make(spark, table_path, "select 1L id, named_struct('a', 2L, 'b', 3L) st", **VECTORS)
    new = source(spark, "select 1L id, 9L a")
    table.merge(new, "t.id = s.id").whenMatchedUpdate(set={"id": "s.id", "st.a": "s.a"}).execute()
    assert [(row[0], tuple(row[1])) for row in rows(table)] == [(1, (9, 3))]


def test_a_generated_column_that_no_clause_sets_is_computed_of_the_new_values(spark, table_path):
    spark.sql(
        f"create table delta.`{table_path}` (id long, v long, twice long generated always as (v * 2)) using delta "
        "tblproperties ('delta.enableDeletionVectors' = 'true')"
    )
    spark.sql("select 1L id, 2L v").write.format("delta").mode("append").save(table_path)
    given = "(select 1L id, 5L v union all select 2L, 6L) s"
    update = "when matched then update set id = s.id, v = s.v when not matched then insert (id, v) values (s.id, s.v)"
    spark.sql(f"merge into delta.`{table_path}` t using {given} on t.id = s.id {update}")
    assert sorted(map(tuple, spark.read.format("delta").load(table_path).collect())) == [(1, 5, 10), (2, 6, 12)]


def test_two_rows_of_the_source_for_one_row_are_refused(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS)
    new = source(spark, "select 3L id, 7L p, id v from range(2)")
    with pytest.raises(MultipleMatchesError):
        upsert(table.merge(new, "t.id = s.id")).execute()


def test_rows_move_to_other_partitions(spark, table_path):
    table = make(spark, table_path, TEN, ("p",), **VECTORS)
    upsert(table.merge(source(spark, GIVEN).drop("even").alias("s"), "t.id = s.id")).execute()
    old = [(i, i % 2, None if i % 5 == 0 else i) for i in range(6)]
    assert rows(table) == sorted([*old, *((i, 7, i * 100) for i in range(6, 14))], key=repr)


def test_the_latest_of_several_rows_is_the_one_that_counts(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS)
    new = source(spark, "select id, 7L p, explode(array(id, id * 100)) v from range(8, 12)")
    upsert(table.merge(new, "t.id = s.id", keep="latest", by="v")).execute()
    assert rows(table)[-2:] == [(8, 7, 800), (9, 7, 900)]
    assert rows(table)[2:4] == [(10, 7, 1000), (11, 7, 1100)]


def test_without_adaptive_execution_rows_are_the_same(spark, table_path):
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        table = make(spark, table_path, TEN, **VECTORS)
        upsert(table.merge(source(spark, "select id, 7L p, 8L v from range(9, 11)"), "t.id = s.id")).execute()
        assert [row for row in rows(table) if row[1] == 7] == [(10, 7, 8), (9, 7, 8)]
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_a_new_column_is_filled_where_the_schema_may_change(spark, table_path):
    table = make(spark, table_path, "select id, id v from range(3)", **VECTORS)
    new = source(spark, "select id, -id v, 'x' w from range(2, 4)")
    upsert(table.merge(new, "t.id = s.id").withSchemaEvolution()).execute()
    assert rows(table) == [(0, 0, None), (1, 1, None), (2, -2, "x"), (3, -3, "x")]


def test_a_source_of_unknown_size_that_is_not_kept_is_joined_with_the_table(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS)
    spark.conf.set("spark.databricks.delta.merge.materializeSource", "none")
    try:
        new = spark.createDataFrame([(9, 7, 8), (10, 7, 8)], "id long, p long, v long").alias("s")
        upsert(table.merge(new, "t.id = s.id")).execute()
    finally:
        spark.conf.unset("spark.databricks.delta.merge.materializeSource")
    assert [row for row in rows(table) if row[1] == 7] == [(10, 7, 8), (9, 7, 8)]


def test_a_function_of_the_users_is_called_for_rows_that_are_updated_alone(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS)
    inverse = F.udf(lambda value: 1000 // value, "long")
    begun = table.merge(source(spark, "select id, 7L p, if(id < 10, id, 0) v from range(8, 12)"), "t.id = s.id")
    values = {"id": F.col("s.id"), "p": F.col("s.p"), "v": inverse(F.col("s.v"))}
    begun.whenMatchedUpdate(set=values).whenNotMatchedInsertAll().execute()
    assert [row for row in rows(table) if row[1] == 7] == [(10, 7, 0), (11, 7, 0), (8, 7, 125), (9, 7, 111)]


def test_a_small_source_of_many_parts_leaves_one_file(spark, table_path):
    table = make(spark, table_path, "select id, id p, id v from range(0, 100000, 1, 2)", **VECTORS)
    new = spark.range(0, 200, 1, 16).selectExpr("id * 400 id", "7L p", "8L v").alias("s")
    result = upsert(table.merge(new, "t.id = s.id")).execute()
    assert result.metrics["numTargetFilesAdded"] == 1
