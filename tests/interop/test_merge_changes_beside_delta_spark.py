# SPDX-License-Identifier: Apache-2.0
"""The same MERGE or overwrite by delta-spark and by bayou: each finds the same changes in both tables, and the same row ids."""

from __future__ import annotations

import pytest
from tests.interop.made_tables import TABLES, WAYS, MadeTables
from tests.interop.sampled import sampled
from tests.interop.test_change_files_beside_delta_spark import changes, row_ids
from tests.interop.test_merge_beside_delta_spark import STATEMENTS, counts
from tests.support.observing import tracked_rows

import bayou

pytestmark = pytest.mark.oracle

DATA = (
    "select id, id % 3 k, if(id % 4 = 0, null, id * 2) v, named_struct('a', id, 'b', cast(id as string)) s, "
    "date_add(date'2024-01-01', cast(id as int)) day from range(0, 40, 1, 1)"
)
COLUMNS = "id bigint, k bigint, v bigint, s struct<a: bigint, b: string>, day date"
PROPERTIES = {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}
EVOLVING = "select id, -id v, named_struct('a', id, 'c', 1) s, 'new' w from range(35, 45)"
MERGES = {
    **STATEMENTS,
    "evolution": (
        f"({EVOLVING}) s on t.id = s.id when matched and s.id > 38 then delete when matched then update set * "
        "when not matched then insert *"
    ),
}
CASES = [
    *((name, "partitioned", way) for name in MERGES for way in WAYS),
    *((name, kind, way) for name in ("upsert", "several clauses", "evolution") for kind in ("plain", "mapped") for way in WAYS),
]
NEW = "select id, 9L k, -id v, named_struct('a', -id, 'b', 'new') s, date'2030-01-01' day from range({0}, {1})"
OVERWRITES = {
    "a condition on data": (NEW.format(10, 15), {"replaceWhere": "id >= 10 and id < 20"}),
    "a condition on both": (NEW.format(10, 15).replace("9L k", "1L k"), {"replaceWhere": "k = 1 and id < 20"}),
    "a condition on partitions": (NEW.format(10, 15), {"replaceWhere": "k in (1, 9)"}),
    "a condition that is NULL for some": (NEW.format(-50, -40), {"replaceWhere": "v > 30"}),
    "nothing in its place": (NEW.format(0, 0), {"replaceWhere": "id = 7"}),
    "the same values": (NEW.format(35, 45), {"replaceUsing": "id"}),
    "what matches": (NEW.format(35, 45), {"replaceOn": "t.id + 1 = given.id", "targetAlias": "t"}),
    "partitions": (NEW.format(35, 45).replace("9L k", "id % 2 k"), {"partitionOverwriteMode": "dynamic"}),
}

REPLACED = [
    (name, kind, way)
    for name in OVERWRITES
    for kind in TABLES
    for way in WAYS
    if kind != "plain" or name not in ("a condition on partitions", "partitions")
]


@pytest.fixture(scope="module")
def made(delta_spark, tmp_path_factory):
    return MadeTables(delta_spark, tmp_path_factory.mktemp("made"), DATA, columns=COLUMNS, properties=PROPERTIES)


def found_by_bayou(spark, path, version):
    rows = bayou.read(spark, str(path), changes=(version, version)).drop("_commit_version", "_commit_timestamp")
    return sorted([row[0], str(version)] for row in rows.selectExpr("to_json(struct(*))").collect())


def check(delta_spark, spark, theirs, ours, known):
    """Both engines find the same changes in both tables, and rows that were there have the same ids in both."""
    version = bayou.open(str(theirs)).version()
    assert bayou.open(str(ours)).version() == version
    expected = changes(delta_spark, theirs, version)
    assert changes(delta_spark, ours, version) == expected
    for path in (theirs, ours):
        assert found_by_bayou(spark, path, version) == expected
    before = {row_id for row_id, _, _ in known}
    mine, other = row_ids(delta_spark, ours), row_ids(delta_spark, theirs)
    assert [row for row in mine if row[0] in before] == [row for row in other if row[0] in before]
    assert sorted(row[1:] for row in mine) == sorted(row[1:] for row in other)
    assert len({row[0] for row in mine}) == len(mine)
    for path, rows in ((ours, mine), (theirs, other)):
        assert sorted((row_id, at) for _, row_id, at in tracked_rows(str(path))) == sorted(
            (int(row[0]), int(row[1])) for row in rows
        )
    bayou.open(str(ours)).verify_checksum()


def entries(*paths):
    return [next(iter(bayou.open(str(path)).history())) for path in paths]


@pytest.mark.parametrize("case", sampled(CASES, 20), ids="-".join)
def test_a_merge_makes_the_same_changes_and_keeps_the_same_ids(delta_spark, spark, made, tmp_path, case):
    name, kind, way = case
    theirs, ours = made.copies(tmp_path, kind, way)
    known = row_ids(delta_spark, ours)
    evolution = "with schema evolution " if name == "evolution" else ""
    delta_spark.sql(f"merge {evolution}into delta.`{theirs}` t using {MERGES[name]}", "select 1")
    if evolution:  # Spark itself asks for all columns in the statement
        begun = bayou.DeltaTable.forPath(spark, str(ours)).alias("t").merge(spark.sql(EVOLVING).alias("s"), "t.id = s.id")
        begun = begun.withSchemaEvolution().whenMatchedDelete("s.id > 38").whenMatchedUpdateAll()
        begun.whenNotMatchedInsertAll().execute()
    else:
        spark.sql(f"merge into delta.`{ours}` t using {MERGES[name]}")
    mine, other = entries(ours, theirs)
    if other.operation != "MERGE":
        assert mine.version == other.version
        return
    check(delta_spark, spark, theirs, ours, known)
    assert counts(mine) == counts(other)
    written = [int(each.operation_metrics["numTargetChangeFilesAdded"]) for each in (mine, other)]
    if mine.operation_metrics["numTargetRowsUpdated"] != "0":
        assert all(written)
    assert written[1] or not written[0]


@pytest.mark.parametrize("case", sampled(REPLACED, 23), ids="-".join)
def test_an_overwrite_of_a_part_makes_the_same_changes_and_keeps_the_same_ids(delta_spark, spark, made, tmp_path, case):
    name, kind, way = case
    theirs, ours = made.copies(tmp_path, kind, way)
    query, options = OVERWRITES[name]
    known = row_ids(delta_spark, ours)
    error = delta_spark.write(query, str(theirs), "overwrite", options, [])
    assert error is None
    spark.sql(query).alias("given").write.format("delta").mode("overwrite").options(**options).save(str(ours))
    check(delta_spark, spark, theirs, ours, known)


@pytest.mark.parametrize("way", WAYS)
def test_ids_and_changes_last_while_both_merge_into_one_table_in_turns(delta_spark, spark, made, tmp_path, way):
    path = made.copy(tmp_path / "t", "mapped", way)
    query = f"select id, _metadata.row_id from delta.`{path}`"
    before = dict(delta_spark.sql(query))
    first = bayou.open(str(path)).version() + 1
    statement = (
        f"merge into delta.`{path}` t using (select id from range({{0}}, {{0}} + 10)) s on t.id = s.id "
        "when matched and s.id % 5 = 0 then delete when matched then update set v = {0} "
        "when not matched then insert (id, k, v) values (s.id, 1, {0})"
    )
    for turn, start in enumerate((0, 5, 12, 33)):
        if turn % 2:
            delta_spark.sql(statement.format(start), "select 1")
        else:
            spark.sql(statement.format(start))
    after = dict(delta_spark.sql(query))
    kept = {key: row_id for key, row_id in before.items() if key in after and row_id == after[key]}
    gone = {str(key) for start in (0, 5, 12, 33) for key in range(start, start + 10) if key % 5 == 0}
    assert set(before) - set(kept) <= gone
    assert len(set(after.values())) == len(after)
    for version in range(first, first + 4):
        assert found_by_bayou(spark, path, version) == changes(delta_spark, path, version)
