# SPDX-License-Identifier: Apache-2.0
"""What the rows of a stream on Spark Connect need: each file once, with all of its changes."""

from __future__ import annotations

from tests.core.log.streaming.streams import source_of, table
from tests.support.tables.feed_actions import FEED, VECTORS, cdc, gone, vector

from bayou.spark.portable.streams.facts import NO_FACTS, Changes, FactReader, joined
from bayou.testing.table_builder import add

READER = FactReader(("day",), True, {})


def read(builder, **options):
    source = source_of(builder, startingVersion=0, **options)
    return READER.read(source.batch(None, source.latest_offset(None, source.limits)))


def recorded(*adds):
    return table({"id": "long", "day": "string"}, configuration=FEED, protocol=VECTORS, partition_by=["day"], actions=adds)


def of(day, **fields):
    return {"partitionValues": {"day": day}, **fields}


def test_a_file_has_all_of_its_changes():
    builder = recorded(add("a", **of("1")), add("b", **of("2")))
    builder.commit(gone("a", **of("1")), cdc("c", **of("1")))
    builder.commit(gone("b", **of("2")), add("b", **of("2", **vector(0, 65))))
    builder.commit(gone("b", **of("2", **vector(0, 65))), add("b", **of("2", **vector(0, 3))))
    batch = read(builder, readChangeFeed=True)
    assert batch.files["path"].to_pylist() == ["a", "b", "c"]
    assert batch.facts.partitions == {"day": ["1", "2", "1"]}
    changes = batch.facts.changes
    assert changes is not None
    assert changes.of_files == [[0], [1, 3, 4, 5], [2]]
    assert changes.kinds == ["insert", "insert", None, "delete", "delete", "insert"]
    assert changes.versions == [0, 0, 1, 2, 3, 3]
    assert changes.wanted == [0, 0, 0, 1, 1, 1]
    assert batch.facts.words == [[], [], [], [1, 2], [8], [0, 2]]


def test_a_stream_of_rows_leaves_out_files_and_has_no_changes():
    builder = recorded(add("a", **of("1")), add("b", **of("2", **vector(1))))
    source = source_of(builder)
    files = source.batch(None, source.latest_offset(None, source.limits))
    assert READER.read(files).facts.words == [[], [2]]
    batch = FactReader(("day",), True, {}, [("day", "=", "2")]).read(files)
    assert batch.files["path"].to_pylist() == ["b"]
    assert batch.facts == type(batch.facts)({"day": ["2"]}, [[2]])


def test_the_facts_of_several_batches_follow_each_other():
    first = read(recorded(add("a", **of("1")), add("b", **of("2"))), readChangeFeed=True).facts
    both = joined([first, NO_FACTS, first], ["day"])
    assert both.partitions == {"day": ["1", "2", "1", "2"]}
    assert both.changes is not None
    assert both.changes.of_files == [[0], [1], [2], [3]]
    assert len(both.changes.times) == len(both.words) == 4
    assert joined([], ["day"]) == type(first)({"day": []}, [], None)
    assert Changes().of_files == ()
