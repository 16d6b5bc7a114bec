# SPDX-License-Identifier: Apache-2.0
"""Streams of the change data feed on Spark Connect: each change comes once, with its kind, its version and its time."""

from __future__ import annotations

import pytest
from pyspark.errors.exceptions.connect import StreamingQueryException

import bayou
from bayou.errors import InvalidSchemaError

FEED = {"delta.enableChangeDataFeed": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}
KINDS = ("id", "_change_type", "_commit_version")


def changes(source, **options):
    """Read all changes as a stream until now."""
    return source.run(readChangeFeed=True, **options)


def feed(source, *columns):
    """All changes, by the batch reader."""
    rows = source.spark.read.format("delta").options(readChangeFeed=True, startingVersion=0).load(source.path)
    return sorted(map(tuple, rows.select(*columns).collect()), key=repr)


@pytest.fixture(params=[{}, VECTORS], ids=["rewritten files", "vectors"])
def changed(source, request):
    """A table whose files are added, rewritten, removed, marked by vectors, and restored."""
    columns = "id; id % 3 as part; cast(id as string) as `some text`"
    properties = {**FEED, **request.param, "delta.columnMapping.mode": "name"}
    source.add(*range(9), columns=columns, partition_by=["part"], **properties)
    table = bayou.DeltaTable.forPath(source.spark, source.path)
    source.delete("id in (3, 4)")
    table.update("id = 5", {"`some text`": "'new'"})
    source.delete("part = 0")
    source.add(20, columns=columns)
    table.restoreToVersion(0)
    return source


@pytest.mark.parametrize("options", [{}, {"maxFilesPerTrigger": 1}], ids=["together", "one by one"])
def test_changes_are_those_of_the_batch_reader(changed, options):
    assert changed.stream(readChangeFeed=True).columns == ["id", "part", "some text", *KINDS[1:], "_commit_timestamp"]
    changes(changed, startingVersion=0, **options)
    names = ["id", "part", "some text", *KINDS[1:], "_commit_timestamp"]
    wanted = feed(changed, *names)
    assert len({row[4] for row in wanted}) == 6
    assert changed.ids(*names) == wanted
    assert (changed.batches() > 1) == bool(options)


def test_the_trigger_once_has_a_file_that_was_added_and_removed(source):
    source.add(1, **FEED)
    source.add(2)
    source.delete("id = 1")
    changes(source, trigger={"once": True}, startingVersion=0)
    assert source.ids(*KINDS) == [(1, "delete", 2), (1, "insert", 0), (2, "insert", 1)]
    assert source.batches() == 1


def test_a_file_may_have_both_deleted_and_restored_rows_in_a_commit(source):
    source.add(1, 2, 3, **FEED, **VECTORS)
    table = bayou.DeltaTable.forPath(source.spark, source.path)
    source.delete("id = 1")
    table.restoreToVersion(0)
    source.delete("id = 2")
    table.restoreToVersion(1)
    changes(source, startingVersion=4)
    assert source.ids(*KINDS) == [(1, "delete", 4), (2, "insert", 4)]


def test_the_first_snapshot_is_inserts_and_a_running_query_gets_what_follows(source):
    source.add(1, 2, **FEED)
    source.add(3)
    query = source.start(trigger={}, readChangeFeed=True)
    query.processAllAvailable()
    assert source.ids(*KINDS) == [(1, "insert", 1), (2, "insert", 1), (3, "insert", 1)]
    source.delete("id = 1")
    query.processAllAvailable()
    query.stop()
    source.add(4)
    changes(source)
    assert source.ids(*KINDS)[1:] == [(1, "insert", 1), (2, "insert", 1), (3, "insert", 1), (4, "insert", 3)]
    assert source.ids(*KINDS)[0] == (1, "delete", 2)


def test_a_batch_that_failed_has_the_same_changes_again(source):
    source.add(1, 2, 3, **FEED, **VECTORS)
    for each in (1, 2, 3):
        source.delete(f"id = {each}")
    fails = "if(id = 2 and _change_type = 'delete', raise_error('not yet'), id) as id"
    with pytest.raises(StreamingQueryException, match="not yet"):
        changes(source, change=lambda stream: stream.selectExpr(fails, *KINDS[1:]), startingVersion=0, maxFilesPerTrigger=1)
    source.add(4)
    changes(source, maxFilesPerTrigger=100)
    assert source.ids(*KINDS) == feed(source, *KINDS)


def test_filters_on_all_kinds_of_columns(changed):
    condition = "part = 1 and _change_type <> 'update_preimage' and _commit_version < 5 and id > 2"
    changes(changed, change=lambda stream: stream.where(condition), startingVersion=0)
    assert changed.ids(*KINDS) == [(4, "delete", 1), (4, "insert", 0), (7, "insert", 0)]


def test_a_table_without_a_feed_is_refused(source):
    source.add(1)
    source.add(2)
    with pytest.raises(StreamingQueryException, match="DELTA_MISSING_CHANGE_DATA"):
        changes(source, startingVersion=0)
    assert source.ids() == []


def test_a_table_with_a_column_of_the_feed_is_refused(source):
    source.add(1, columns="id; 'x' as _change_type")
    with pytest.raises(InvalidSchemaError, match="_change_type"):
        changes(source)
