# SPDX-License-Identifier: Apache-2.0
"""Rows that UPDATE and DELETE write again keep their ids and the version that changed them last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.spark.changes import tracked

import bayou

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
