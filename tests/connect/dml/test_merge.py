# SPDX-License-Identifier: Apache-2.0
"""MERGE on a Connect session, read back by delta-rs."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.connect.dml.conftest import FEED, VECTORS, WAYS, all_rows

from bayou.errors import DeltaError, MultipleMatchesError, SchemaMismatchError, UnsupportedFeatureError


def source_of(spark, *given):
    """Rows of a source: `(id, part, v)`."""
    return spark.createDataFrame(list(given), "id long, part string, v string")


def new(*ids):
    return [(each, "a" if each < 10 else "b", "new") for each in ids]


def merged(table, source, condition="t.id = s.id"):
    return table.alias("t").merge(source.alias("s"), condition)


@WAYS
def test_matches_are_updated_and_other_rows_inserted(spark, make, rows, ways):
    result = merged(make(ways), source_of(spark, *new(3, 12, 30))).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert (result.num_updated_rows, result.num_inserted_rows, result.num_deleted_rows) == (2, 1, 0)
    assert rows() == sorted([*all_rows(3, 12), *new(3, 12, 30)])


@WAYS
def test_clauses_are_tried_in_order(spark, make, rows, ways):
    merge = (
        merged(make(ways), source_of(spark, *new(1, 2, 3, 30, 31)))
        .whenMatchedDelete("s.id = 1")
        .whenMatchedUpdate("s.id = 2", {"v": "concat(t.v, s.v)"})
        .whenNotMatchedInsert("s.id = 30", {"id": "id", "t.part": "'c'"})
    )
    result = merge.execute()
    assert (result.num_updated_rows, result.num_inserted_rows, result.num_deleted_rows) == (1, 1, 1)
    assert rows() == sorted([*all_rows(1, 2), (2, "a", "v2new"), (30, "c", None)])


@WAYS
def test_rows_without_a_match_in_the_source(spark, make, rows, ways):
    merge = (
        merged(make(ways), source_of(spark, *new(1, 2, 19)))
        .whenMatchedUpdate("t.id = 1", {"v": "s.v"})
        .whenNotMatchedBySourceDelete("t.id >= 15")
        .whenNotMatchedBySourceUpdate("id < 4", {"v": "'gone'"})
    )
    result = merge.execute()
    assert (result.num_updated_rows, result.num_deleted_rows) == (3, 4)
    changed = [(0, "a", "gone"), (1, "a", "new"), (3, "a", "gone")]
    assert rows() == sorted([*all_rows(0, 1, 3, 15, 16, 17, 18), *changed])


def test_only_inserts_leave_the_files_of_the_table(spark, make, rows):
    result = merged(make(), source_of(spark, *new(1, 40))).whenNotMatchedInsertAll().execute()
    assert (result.num_inserted_rows, result.metrics["numTargetFilesRemoved"]) == (1, 0)
    assert rows() == [*all_rows(), *new(40)]


def test_nothing_changes_without_matches(spark, make, rows):
    result = merged(make(), source_of(spark, *new(40))).whenMatchedDelete().execute()
    assert result.num_affected_rows == 0
    assert rows() == all_rows()


@WAYS
def test_columns_as_expressions(spark, make, rows, ways):
    source = source_of(spark, *new(3, 30)).alias("s")
    merge = make(ways).alias("t").merge(source, F.col("t.id") == source.id)
    merge.whenMatchedUpdate(set={"v": F.upper(F.col("s.v"))}).whenNotMatchedInsert(
        values={"id": source.id, "part": F.lit("b"), "v": source["v"]}
    ).execute()
    assert rows() == sorted([*all_rows(3), (3, "a", "NEW"), *new(30)])


@WAYS
def test_the_feed(spark, make, rows, changes, ways):
    merge = (
        merged(make(ways | FEED), source_of(spark, *new(3, 4, 30)))
        .whenMatchedDelete("s.id = 4")
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
    )
    version = merge.execute().version
    assert rows() == sorted([*all_rows(3, 4), *new(3, 30)])
    assert changes(version) == [
        (3, "new", "update_postimage"),
        (3, "v3", "update_preimage"),
        (4, "v4", "delete"),
        (30, "new", "insert"),
    ]


@WAYS
def test_several_matches_for_a_row_are_an_error(spark, make, rows, ways):
    with pytest.raises(MultipleMatchesError, match=r'\{"id":3\}'):
        merged(make(ways), source_of(spark, *new(3, 3))).whenMatchedUpdateAll().execute()
    assert rows() == all_rows()


@pytest.mark.parametrize("ways", [{}, VECTORS, FEED, VECTORS | FEED])
def test_several_matches_may_delete_a_row(spark, make, rows, ways):
    result = merged(make(ways), source_of(spark, *new(3, 3, 4, 30, 30))).whenMatchedDelete().whenNotMatchedInsertAll().execute()
    assert (result.num_deleted_rows, result.num_inserted_rows) == (2, 2)
    assert rows() == sorted([*all_rows(3, 4), *new(30, 30)])


@WAYS
def test_one_of_several_matches_may_change_a_row(spark, make, rows, ways):
    source = source_of(spark, (3, "a", "x"), (3, "a", "y"), (3, "a", "z"))
    merged(make(ways), source).whenMatchedUpdate("s.v = 'y'", {"v": "s.v"}).execute()
    assert rows() == sorted([*all_rows(3), (3, "a", "y")])


@WAYS
def test_the_source_may_be_the_table(make, rows, ways):
    table = make(ways)
    merged(table, table.toDF().where("id < 2"), "t.id = s.id + 1").whenMatchedUpdate(set={"v": "s.v"}).execute()
    assert rows() == sorted([*all_rows(1, 2), (1, "a", "v0"), (2, "a", "v1")])


@WAYS
def test_a_source_with_random_values_is_evaluated_once(spark, make, rows, ways):
    source = spark.range(0, 200, 1, 4).selectExpr("cast(id % 40 as long) as id", "'b' as part", "uuid() as v", "rand() as r")
    source = source.orderBy("r").dropDuplicates(["id"]).select("id", "part", "v")
    merged(make(ways), source).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert [row[0] for row in rows()] == list(range(40))


@WAYS
def test_values_are_cast_to_the_types_of_their_columns(spark, make, rows, ways):
    source = spark.sql("select 3 as id, 5 as n").alias("s")
    table = make(ways)
    merged(table, source).whenMatchedUpdate(set={"v": "s.n"}).execute()
    assert rows() == sorted([*all_rows(3), (3, "a", "5")])
    with pytest.raises(DeltaError, match="DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"):
        merged(table, source).whenMatchedUpdate(set={"id": "'x'"}).execute()


@WAYS
def test_schema_evolution_adds_columns(spark, make, rows, ways):
    source = spark.createDataFrame([(3, "a", "new", 1), (30, "b", "new", 2)], "id long, part string, v string, extra int")
    merge = merged(make(ways), source).withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll()
    merge.execute()
    assert dict(rows("id, extra")) == {**dict.fromkeys(each[0] for each in all_rows()), 3: 1, 30: 2}


def test_invalid_merges(spark, make, rows):
    table, source = make(), source_of(spark, *new(3))
    with pytest.raises(SchemaMismatchError, match="nothing"):
        merged(table, source, "t.nothing = s.id").whenMatchedDelete().execute()
    with pytest.raises(SchemaMismatchError, match="ambiguous"):
        merged(table, source, "id = s.id").whenMatchedDelete().execute()
    with pytest.raises(UnsupportedFeatureError, match="Non-deterministic"):
        merged(table, source, "t.id = s.id and rand() < 1").whenMatchedDelete().execute()
    with pytest.raises(UnsupportedFeatureError, match="Subqueries"):
        merged(table, source).whenMatchedDelete("s.id in (select 1)").execute()
    with pytest.raises(SchemaMismatchError):
        merged(table, source).whenMatchedUpdate(set={"w": "1"}).execute()
    with pytest.raises(SchemaMismatchError):
        merged(table, source.drop("v")).whenMatchedUpdateAll().execute()
    with pytest.raises(DeltaError):
        merged(table, source).execute()
    with pytest.raises(SchemaMismatchError):
        merged(table, source).whenNotMatchedInsert(values={"id": "t.id"}).execute()
    assert rows() == all_rows()


def test_files_without_a_possible_match_are_not_read(spark, make):
    result = merged(make(), source_of(spark, *new(3)), "t.id = s.id and t.part = 'a'").whenMatchedDelete().execute()
    assert (result.num_scanned_files, result.num_pruned_files) == (2, 2)


def test_history(spark, make):
    table = make()
    merged(table, source_of(spark, *new(3, 30))).whenMatchedUpdateAll("s.id > 0").whenNotMatchedInsertAll().execute()
    last = table.history(1).collect()[0]
    assert last["operation"] == "MERGE"
    assert last["operationParameters"]["matchedPredicates"] == '[{"predicate":"s.id > 0","actionType":"update"}]'
    metrics = last["operationMetrics"]
    wanted = {"numSourceRows": "2", "numTargetRowsInserted": "1", "numTargetRowsUpdated": "1", "numTargetRowsCopied": "4"}
    assert {name: metrics[name] for name in wanted} == wanted


@WAYS
def test_merge_into(spark, make, rows, table_path, ways):
    make(ways)
    source_of(spark, *new(1, 3, 30, 31)).createOrReplaceTempView("of_merge")
    counts = spark.sql(
        f"""MERGE INTO delta.`{table_path}` AS t USING of_merge s ON t.id = s.id AND s.id < :most
        WHEN MATCHED AND s.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET t.v = concat(s.v, t.v)
        WHEN NOT MATCHED AND id = 30 THEN INSERT (id, part, v) VALUES (s.id, DEFAULT, 'its')
        WHEN NOT MATCHED BY SOURCE AND t.id = 19 THEN DELETE""",
        {"most": 31},
    ).collect()
    assert counts[0].asDict() == {
        "num_affected_rows": 4,
        "num_updated_rows": 1,
        "num_deleted_rows": 2,
        "num_inserted_rows": 1,
    }
    assert rows() == [*all_rows()[:1], (2, "a", "v2"), (3, "a", "newv3"), *all_rows(0, 1, 2, 3, 19), (30, None, "its")]


def test_merge_into_from_queries(spark, make, rows, table_path):
    make()
    merge = f"MERGE INTO delta.`{table_path}` t USING"
    star = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    spark.sql(f"{merge} (SELECT 3L AS id, 'a' AS part, 'x' AS v) ON t.id = 3 {star}").collect()
    spark.sql(f"{merge} (VALUES (4L, 'a', 'y')) AS s (id, part, v) ON t.id = s.id {star}").collect()
    spark.sql(f"WITH q AS (SELECT 30L AS id, 'b' AS part, 'z' AS v) {merge} q ON t.id = q.id {star}").collect()
    positional = f"{merge} delta.`{table_path}` s ON t.id = s.id AND s.id = ? WHEN MATCHED THEN UPDATE SET v = concat(s.v, ?)"
    spark.sql(positional, args=[5, "!"]).collect()
    assert rows() == sorted([*all_rows(3, 4, 5), (3, "a", "x"), (4, "a", "y"), (5, "a", "v5!"), (30, "b", "z")])


def test_merges_of_data_frames(spark, make, rows, table_path):
    make()
    source = source_of(spark, *new(3, 4, 30)).withColumnRenamed("id", "key").alias("s")
    merge = source.mergeInto(f"delta.`{table_path}`", F.col("id") == source.key)
    merge = merge.whenMatched(F.col("key") == 3).update({"v": F.col("s.v")}).whenMatched().delete()
    merge.whenNotMatched().insert({"id": F.col("key"), "part": F.col("part"), "v": F.lit("x")}).merge()
    assert rows() == sorted([*all_rows(3, 4), (3, "a", "new"), (30, "b", "x")])


def model(table, source, choice):
    """What a MERGE of `test_random_merges` has to leave: rows by id."""
    found = {}
    for each, part, v in table:
        pairs = [row for row in source if row[0] == each]
        if pairs:
            row = pairs[0]
            if choice["delete"] and each % 3 == 0:
                continue
            found[each] = (row[1], f"{v}+{row[2]}") if choice["update"] and each % 3 == 1 else (part, v)
        elif choice["by source"] and each % 2 == 0:
            found[each] = (part, "gone")
        else:
            found[each] = (part, v)
    known = {row[0] for row in table}
    found |= {row[0]: row[1:] for row in source if row[0] not in known and choice["insert"] and row[0] % 2 == 0}
    return sorted((each, *row) for each, row in found.items())


@pytest.mark.parametrize("seed", range(12))
def test_random_merges(spark, make, rows, seed):
    chosen = random.Random(seed)
    choice = {name: chosen.random() < 0.7 for name in ("delete", "update", "by source", "insert")}
    if not any(choice.values()):
        choice["update"] = True
    source = [(each, chosen.choice("abc"), f"s{each}") for each in chosen.sample(range(40), chosen.randint(0, 25))]
    ways = chosen.choice([{}, VECTORS]) | chosen.choice([{}, FEED])
    merge = merged(make(ways), source_of(spark, *source))
    if choice["delete"]:
        merge = merge.whenMatchedDelete("t.id % 3 = 0")
    if choice["update"]:
        merge = merge.whenMatchedUpdate("s.id % 3 = 1", {"part": "s.part", "v": "concat(t.v, '+', s.v)"})
    if choice["insert"]:
        merge = merge.whenNotMatchedInsertAll("id % 2 = 0")
    if choice["by source"]:
        merge = merge.whenNotMatchedBySourceUpdate("id % 2 = 0", {"v": "'gone'"})
    merge.execute()
    assert rows() == model(all_rows(), source, choice)
