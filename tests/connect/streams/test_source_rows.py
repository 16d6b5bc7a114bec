# SPDX-License-Identifier: Apache-2.0
"""The rows of streams from Delta tables on Spark Connect: partition values, column mapping, deletion vectors."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors.exceptions.connect import StreamingQueryException

import bayou

SQL = """
    id; cast(id as string) as text; if(id % 2 = 0, null, 'a b/c=%d"\\'') as odd; date_add(date'2024-01-31', cast(id as int)) as day;
    timestamp'2024-03-31 01:30:00.123456' + make_interval(0, 0, 0, cast(id as int)) as moment;
    cast(id as decimal(10, 3)) / 8 as price
"""
VECTORS = {"delta.enableDeletionVectors": "true"}
COLUMNS = SQL.replace("\n", " ").strip()


def test_partition_values_have_the_types_of_the_table(source):
    source.add(1, 2, columns=COLUMNS, partition_by=["odd", "day", "moment", "price"])
    source.run(maxFilesPerTrigger=1)
    source.add(3, 4, columns=COLUMNS)
    source.run()
    names = ["id", "text", "odd", "day", "moment", "price"]
    wanted = source.spark.read.format("delta").load(source.path).select(*names).collect()
    assert source.ids(*names) == sorted(map(tuple, wanted), key=repr)
    assert len(wanted) == 4


def test_filters_on_partition_columns(source):
    source.add(1, 2, 3, columns="id; id % 2 as part", partition_by=["part"])
    source.run(lambda stream: stream.where("part = 1"))
    source.add(4, 5, columns="id; id % 2 as part")
    source.run(lambda stream: stream.where("part = 1"))
    assert source.ids("id", "part") == [(1, 1), (3, 1), (5, 1)]


def test_filters_leave_out_files_by_partitions_and_statistics(source):
    for each in range(4):
        source.add(each, 10 + each, columns="id; id % 2 as part", partition_by=["part"])
    removed = [each for each in bayou.open(source.path).snapshot().files(["path"])["path"].to_pylist() if "part=1" in each]
    for each in removed or pytest.fail("no files of part 1"):
        Path(source.path, each).unlink()
    source.run(lambda stream: stream.where("part = 0").select("id").where("id <> 99"), maxFilesPerTrigger=1)
    assert source.ids() == [0, 2, 10, 12]
    assert source.batches() == 4


def test_the_filters_of_a_run_are_those_of_the_batches_that_it_runs_again(source):
    source.add(1, 2)
    source.add(3)
    with pytest.raises(StreamingQueryException, match="not yet"):
        source.run(lambda stream: stream.where("id > 2").selectExpr("if(id = 3, raise_error('not yet'), id) as id"))
    source.run()
    assert source.ids() == [1, 2, 3]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_are_found_by_their_physical_names(source, mode):
    source.add(1, columns="id; 'a' as `a value`; named_struct('x', id) as nested", **{"delta.columnMapping.mode": mode})
    table = bayou.DeltaTable.forPath(source.spark, source.path)
    table.renameColumn("a value", "renamed, once")
    source.add(2, columns="id; 'b' as `renamed, once`; named_struct('x', id) as nested")
    stream = lambda frame: frame.selectExpr("id", "`renamed, once` as text", "nested.x as x")  # noqa: E731
    source.run(stream)
    assert source.ids("id", "text", "x") == [(1, "a", 1), (2, "b", 2)]


def test_rows_in_deletion_vectors_do_not_come(source):
    source.add(*range(200), **VECTORS)
    source.delete("id % 3 = 0")
    source.add(300)
    source.run(maxFilesPerTrigger=1)
    assert source.ids() == [*(each for each in range(200) if each % 3), 300]
    source.delete("id = 300 or id = 100")
    with pytest.raises(StreamingQueryException, match="DELTA_SOURCE_"):
        source.run()
    source.add(301)
    source.run(skipChangeCommits=True)
    assert source.ids() == [*(each for each in range(200) if each % 3), 300, 301]


def test_a_file_that_comes_again_with_another_vector_is_in_another_batch(source):
    source.add(1, 2, 3, **VECTORS)
    source.delete("id = 1")
    source.delete("id = 2")
    source.run(startingVersion=0, ignoreChanges=True)
    assert source.ids() == [1, 2, 2, 3, 3, 3]
    assert source.batches() == 3


def test_vectors_that_are_too_large_are_refused(source, monkeypatch):
    monkeypatch.setattr("bayou.spark.portable.streams.running._MOST_WORDS", 1)
    source.add(*range(200), **VECTORS)
    source.delete("id = 199")
    with pytest.raises(StreamingQueryException, match=r"deletion vectors of 1 files.*REORG TABLE"):
        source.run()
    assert source.ids() == []


def test_vectors_that_the_plan_does_not_know_stop_the_stream(source):
    source.add(1, 2)
    query = source.start(trigger={}, ignoreChanges=True)
    query.processAllAvailable()
    bayou.DeltaTable.forPath(source.spark, source.path).setProperties(VECTORS)
    source.delete("id = 1")
    with pytest.raises(StreamingQueryException, match=r"Deletion vectors were enabled"):
        query.awaitTermination(60)
    assert source.ids() == [1, 2]
    source.run(ignoreChanges=True)
    assert source.ids() == [1, 2, 2]


def test_metadata_of_a_file_is_spark_own(source):
    source.add(1)
    source.run(lambda stream: stream.selectExpr("id", "_metadata.file_path as file", "_metadata.row_index as row"))
    ((_, file, row),) = source.ids("id", "file", "row")
    assert file.startswith("file:")
    assert source.path in file
    assert row == 0


def test_a_path_with_odd_characters(source):
    source.path += " ü+%20#&"
    source.add(1, columns="id; 'x y%z' as part", partition_by=["part"])
    source.run()
    source.add(2, columns="id; 'x y%z' as part")
    source.run()
    assert source.ids("id", "part") == [(1, "x y%z"), (2, "x y%z")]


def test_a_path_with_characters_of_patterns_needs_another_folder(source):
    source.path += "[1]{a,b}*"
    source.add(1)
    source.run()  # by the checkpoint's folder
    source.add(2)
    source.run()
    assert source.ids() == [1, 2]
