# SPDX-License-Identifier: Apache-2.0
"""Rows that UPDATE and DELETE write again keep their ids and the version that changed them last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from tests.support.observing import tracked

import bayou
from bayou.errors import InvalidSchemaError, SchemaChangedError, UnsupportedFeatureError

# Both ways to change rows define what these tests check.
pytestmark = pytest.mark.every_way

TRACKED = {"delta.enableRowTracking": "true"}
FILES = {**TRACKED, "delta.enableDeletionVectors": "false"}
VECTORS = {**TRACKED, "delta.enableDeletionVectors": "true"}


@pytest.fixture(params=[FILES, VECTORS], ids=["files", "vectors"])
def way(request):
    """The properties of a table: its rows change by rewriting files, or by deletion vectors and new files."""
    return request.param


def make(spark, path, partition_by=(), **properties):
    bayou.write(spark.sql("select id, id % 2 p, id v from range(0, 6, 1, 1)"), path, partition_by=partition_by, **properties)
    bayou.write(spark.sql("select id, id % 2 p, id v from range(6, 10, 1, 1)"), path, mode="append")
    return bayou.DeltaTable.forPath(spark, path)


def live(table):
    return {row.id for row in table.toDF().select("id").collect()}


@pytest.mark.smoke
@pytest.mark.parametrize("partition_by", [(), ("p",)])
def test_an_update_keeps_ids_and_changes_the_versions_of_its_rows(spark, table_path, way, partition_by):
    table = make(spark, table_path, partition_by, **way)
    before = tracked(table_path)
    assert len({row_id for row_id, _ in before.values()}) == 10
    table.update("id in (1, 2, 7)", {"v": "-1"})
    assert tracked(table_path) == {key: (row_id, 2 if key in (1, 2, 7) else version) for key, (row_id, version) in before.items()}
    assert live(table) == set(range(10))


def test_rows_that_stay_after_a_delete_keep_ids_and_versions(spark, table_path, way):
    table = make(spark, table_path, **way)
    before = tracked(table_path)
    table.delete("id in (0, 3, 8)")
    stay = live(table)
    assert stay == set(range(10)) - {0, 3, 8}
    assert {key: value for key, value in tracked(table_path).items() if key in stay} == {key: before[key] for key in stay}


def test_ids_last_over_many_changes(spark, table_path, way):
    table = make(spark, table_path, ("p",), **way)
    before = tracked(table_path)
    versions = {key: version for key, (_, version) in before.items()}
    for number, rows in enumerate([(1, 2), (2, 3, 9), (9,)]):
        table.update(f"id in ({', '.join(map(str, rows))})", {"v": "v + 1", "p": "p + 1" if number else "p"})
        versions |= dict.fromkeys(rows, bayou.open(table_path).version())
    table.delete("id = 5")
    stay = live(table)
    assert {key: value for key, value in tracked(table_path).items() if key in stay} == {
        key: (before[key][0], versions[key]) for key in stay
    }


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("mode", ["name", "id"])
def test_ids_are_kept_with_column_mapping_and_a_change_data_feed(spark, table_path, way, mode):
    feed = {"delta.columnMapping.mode": mode, "delta.enableChangeDataFeed": "true"}
    table = make(spark, table_path, ("p",), **way, **feed)
    before = tracked(table_path)
    table.update("id = 4", {"v": "0"})
    table.update("id = 4", {"v": "1"})
    table.delete("id = 1")
    changed = {key: (row_id, 3 if key == 4 else version) for key, (row_id, version) in before.items() if key != 1}
    assert {key: value for key, value in tracked(table_path).items() if key != 1} == changed
    changes = bayou.read(spark, table_path, changes=(2, None)).select("id", "v", "_change_type", "_commit_version").collect()
    assert sorted(map(tuple, changes)) == [
        (1, 1, "delete", 4),
        (4, 0, "update_postimage", 2),
        (4, 0, "update_preimage", 3),
        (4, 1, "update_postimage", 3),
        (4, 4, "update_preimage", 2),
    ]


def test_readers_of_the_table_do_not_see_the_columns_of_ids(spark, table_path, way):
    table = make(spark, table_path, **way)
    table.update("id = 1", {"v": "0"})
    assert table.toDF().columns == ["id", "p", "v"]
    assert bayou.read(spark, table_path).where("id = 1").collect() == [(1, 1, 0)]


def test_the_commit_says_that_ids_were_kept(spark, table_path, way):
    make(spark, table_path, **way).update("id = 1", {"v": "0"})
    first = Path(table_path, "_delta_log", f"{2:020d}.json").read_text(encoding="utf-8").splitlines()[0]
    assert json.loads(first)["commitInfo"]["tags"]["delta.rowTracking.preserved"] == "true"


ROW = "id, _metadata.row_id, _metadata.row_commit_version"


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("partition_by", "mapping"), [pytest.param((), "none", marks=pytest.mark.smoke), (("p",), "name"), ((), "id"), (("p",), "none")]
)
def test_a_query_reads_the_ids_of_rows_in_the_metadata_column(spark, table_path, way, partition_by, mapping):
    bayou.enable(spark)
    table = make(spark, table_path, partition_by, **way, **{"delta.columnMapping.mode": mapping})
    before = {row[0]: tuple(row[1:]) for row in table.toDF().selectExpr(ROW.split(", ")).collect()}
    assert sorted(row_id for row_id, _ in before.values()) == list(range(10))
    assert {version for _, version in before.values()} == {0, 1}
    table.update("id in (1, 7)", {"v": "-1"})
    table.delete("id in (0, 3)")
    frame = spark.read.format("delta").load(table_path)
    after = {row[0]: tuple(row[1:]) for row in frame.selectExpr(ROW.split(", ")).collect()}
    expected = {key: (row_id, 2 if key in (1, 7) else version) for key, (row_id, version) in before.items() if key not in (0, 3)}
    assert after == expected
    wanted = before[7][0]
    assert [row.id for row in frame.where(f"_metadata.row_id = {wanted} and p = 1").select("id").collect()] == [7]
    assert frame.selectExpr("max(_metadata.row_id)", "count(*)").first() == (max(row_id for row_id, _ in after.values()), 8)
    of = f"delta.`{table_path}`"
    joined = spark.sql(f"select 1 from {of} a join {of} b on a._metadata.row_id = b._metadata.row_id where a.id <> b.id")
    assert joined.count() == 0


def test_the_metadata_column_has_ids_beside_the_facts_about_files(spark, table_path, way):
    bayou.enable(spark)
    make(spark, table_path, **way)
    frame = spark.read.format("delta").option("versionAsOf", 0).load(table_path)
    everything = frame.where("id = 4").select("_metadata").first()[0]
    ids = ("row_id", "base_row_id", "default_row_commit_version", "row_commit_version")
    assert [everything[name] for name in ids] == [4, 0, 0, 0]
    assert everything["row_index"] == 4
    assert everything["file_path"].endswith(everything["file_name"])
    spark.sql(f"select *, _metadata.row_id as r from delta.`{table_path}`").createOrReplaceTempView("with_ids")
    assert spark.sql("select id from with_ids where r = 9").collect() == [(9,)]


def test_a_table_that_does_not_track_its_rows_has_no_ids(spark, table_path):
    bayou.enable(spark)
    make(spark, table_path)
    with pytest.raises(AnalysisException, match="row_id"):
        spark.read.format("delta").load(table_path).select("_metadata.row_id")


def test_no_column_gets_the_name_under_which_files_hold_row_ids(spark, table_path, way):
    table = make(spark, table_path, **way)
    name = bayou.open(table_path).snapshot().properties["delta.rowTracking.materializedRowIdColumnName"]
    with pytest.raises(InvalidSchemaError, match="INTERNAL_NAME"):
        table.addColumns(f"`{name}` BIGINT")
    files = len(list(Path(table_path).rglob("*.parquet")))
    with pytest.raises(InvalidSchemaError, match="INTERNAL_NAME"):
        bayou.write(spark.sql(f"select 20L id, 0L p, 1L v, 5L `{name.upper()}`"), table_path, mode="append", mergeSchema="true")
    assert len(list(Path(table_path).rglob("*.parquet"))) == files
    assert bayou.open(table_path).version() == 1


def test_a_frame_that_asks_for_ids_of_a_table_that_has_none_any_more_is_refused(spark, table_path, way):
    bayou.enable(spark)
    table = make(spark, table_path, **way)
    frame = spark.read.format("delta").load(table_path).select("_metadata.row_id")
    table.setProperties({"delta.enableRowTracking": "false"})
    with pytest.raises(SchemaChangedError):
        frame.collect()


@pytest.mark.parametrize("statement", ["DELETE FROM {t}", "UPDATE {t} SET v = 1"])
def test_rows_are_not_changed_by_their_ids(spark, table_path, way, statement):
    bayou.enable(spark)
    make(spark, table_path, **way)
    with pytest.raises(UnsupportedFeatureError, match="_metadata"):
        spark.sql(statement.format(t=f"delta.`{table_path}`") + " WHERE _metadata.row_id = 5")
