# SPDX-License-Identifier: Apache-2.0
"""Writes beside other writers: which go on top of what others commit, and that one which fails leaves no file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.operations.writes import actions, data_files
from tests.support.tables.built import file_of, ids, numbers, numbers_table

import bayou
from bayou.errors import ConcurrentAppendException, ConcurrentModificationError, TableExistsError
from bayou.log.commit.transaction import Transaction
from bayou.protocol.actions.actions import AddFile
from bayou.testing.table_builder import TableBuilder, add, metadata


def rival_commit(path, *actions):
    builder = TableBuilder(path)
    builder.version = bayou.open(path).version()
    builder.commit(*actions, info={"operation": "WRITE", "isBlindAppend": True})


def test_rows_that_were_read_from_the_table_itself_are_no_blind_append(spark, table_path):
    rows = spark.range(10).selectExpr("id", "cast(id % 2 as int) part")
    bayou.write(rows, table_path, partition_by=["part"])
    bayou.write(bayou.read(spark, table_path).where("part = 0"), table_path, mode="append")
    assert actions(table_path, 1, "commitInfo")[0]["isBlindAppend"] is False
    bayou.write(rows, table_path, mode="append")
    assert actions(table_path, 2, "commitInfo")[0]["isBlindAppend"] is True


@pytest.mark.parametrize(("part", "conflicts"), [(0, True), (1, False)])
def test_a_write_that_reads_its_table_conflicts_with_what_it_would_have_read(spark, table_path, monkeypatch, part, conflicts):
    rows = spark.range(10).selectExpr("id", "cast(id % 2 as int) part")
    bayou.write(rows, table_path, partition_by=["part"])
    rival = add("rival.parquet", partitionValues={"part": str(part)})
    race(monkeypatch, table_path, [rival])
    source = bayou.read(spark, table_path).where("part = 0")
    if conflicts:
        with pytest.raises(ConcurrentAppendException):
            bayou.write(source, table_path, mode="append")
    else:
        assert bayou.write(source, table_path, mode="append").version == 2


def test_reads_inside_a_transaction_see_its_snapshot_and_count_as_its_reads(spark, table_path):
    bayou.write(spark.range(10), table_path)
    log = bayou.open(table_path)
    with log.transaction("TEST") as transaction:
        frame = bayou.read(spark, table_path)
        rival_commit(table_path, add("rival.parquet", stats='{"numRecords": 1}'))
        assert frame.count() == 10
        assert spark.read.format("delta").load(table_path).count() == 10
        with pytest.raises(ConcurrentAppendException):
            transaction.commit([AddFile("new.parquet", {}, 1, 1)])
    assert bayou.open(table_path).snapshot().num_files == len(data_files(table_path)) + 1


@pytest.mark.smoke
def test_a_job_that_fails_leaves_no_file_and_no_commit(spark, table_path):
    bayou.write(spark.range(3), table_path)
    before = data_files(table_path)
    # One task: of several, one that ends after the job has failed leaves its file behind, as with Spark's own sinks.
    failing = spark.range(0, 1000, 1, 1).selectExpr("if(id = 999, raise_error('boom'), id) as id")
    with pytest.raises(Exception, match="boom"):
        bayou.write(failing, table_path, mode="append")
    with pytest.raises(Exception, match="boom"):
        failing.write.format("delta").mode("overwrite").save(table_path)
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 0
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2]


def race(monkeypatch, path, *rivals):
    """Before our commit is tried, other writers commit these actions."""
    original = Transaction.try_commit

    def late(self, *arguments, **options):
        builder = TableBuilder(path)
        builder.version = bayou.open(path).version() if Path(path, "_delta_log").exists() else -1
        for rival in rivals:
            builder.commit(*rival)
        return original(self, *arguments, **options)

    monkeypatch.setattr(Transaction, "try_commit", late)


def test_a_blind_append_goes_on_top_of_other_writers_commits(spark, table_path, monkeypatch):
    builder = numbers_table(table_path, [1])
    rival = numbers(table_path, "rival.parquet", [2])
    race(monkeypatch, table_path, [rival], [{"txn": {"appId": "other", "version": 1}}])
    done = bayou.write(spark.range(7, 8), table_path, mode="append")
    assert (done.version, builder.version) == (4, 1)
    assert ids(bayou.read(spark, table_path)) == [1, 2, 7]
    assert actions(table_path, 4, "commitInfo")[0]["readVersion"] == 1


@pytest.mark.parametrize(
    ("mode", "rival"),
    [
        ("append", metadata({"id": "long", "more": "string"})),
        ("append", {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["appendOnly"]}}),
        ("overwrite", "a file"),
    ],
    ids=["metadata", "protocol", "overwrite"],
)
def test_a_write_that_lost_raises_and_leaves_no_file(spark, table_path, monkeypatch, mode, rival):
    numbers_table(table_path, [1])
    action = file_of(table_path, "rival.parquet", {"id": [2]}) if rival == "a file" else rival
    before = data_files(table_path)
    race(monkeypatch, table_path, [action])
    with pytest.raises(ConcurrentModificationError) as caught:
        bayou.write(spark.range(7, 8), table_path, mode=mode)
    assert caught.value.conflicting_version == 2
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 2


def test_of_two_first_appends_at_once_both_land(spark, table_path, monkeypatch):
    race(monkeypatch, table_path, [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, metadata()])
    done = bayou.write(spark.range(3), table_path, mode="append")
    assert done.version >= 1
    assert ids(bayou.read(spark, table_path)) == [0, 1, 2]


def test_two_creations_at_once_leave_one_table(spark, table_path, monkeypatch):
    race(monkeypatch, table_path, [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, metadata()])
    with pytest.raises(TableExistsError):
        bayou.write(spark.range(3), table_path)
    assert bayou.open(table_path).version() == 0
    assert data_files(table_path) == []
