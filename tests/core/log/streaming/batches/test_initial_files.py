# SPDX-License-Identifier: Apache-2.0
"""A stream without a start reads the table as it is, file by file, and then what is committed."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from tests.core.log.streaming.streams import ONE, drain, next_batch, paths, place, source_of, table

from bayou.errors import InvalidOptionError, VersionNotFoundError
from bayou.log.streaming.batches.indexed_files import STREAM_FILES, take_rows
from bayou.log.streaming.request.limits import ReadLimits
from bayou.log.streaming.request.offsets import SourceOffset
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.deletion_vectors.descriptor import encode_inline
from bayou.testing.table_builder import add, metadata, remove

FOUR = (add("d", modificationTime=1), add("c", modificationTime=2), add("a", modificationTime=3), add("b", modificationTime=2))


def test_files_come_in_the_order_of_their_time_and_their_path():
    batches, end = drain(source_of(table().commit(*FOUR)), limits=ONE)
    assert batches == [["d"], ["b"], ["c"], ["a"]]
    assert place(end) == (2, -100, False)


def test_the_offset_says_that_the_first_snapshot_is_being_read_until_it_is_read():
    source = source_of(table().commit(*FOUR))
    end, _ = next_batch(source, None, ReadLimits(2))
    assert place(end) == (1, 1, True)
    end, _ = next_batch(source, end, ReadLimits(2))
    assert place(end) == (2, -100, False)


def test_a_batch_goes_on_from_the_snapshot_into_the_log():
    builder = table().commit(*FOUR)
    source = source_of(builder)
    builder.commit(add("e")).commit(add("f"))
    end, found = next_batch(source, None, ReadLimits(5))
    assert found == ["d", "b", "c", "a", "e"]
    assert place(end) == (3, -100, False)
    assert source.batch(None, end).files["commit_version"].to_pylist() == [1, 1, 1, 1, 2]


def test_an_empty_table_gives_an_offset_and_no_file():
    end, found = next_batch(source_of(table()))
    assert (place(end), found) == ((1, -100, False), [])


def test_removed_files_are_no_part_of_the_snapshot_whatever_the_options_say():
    batches, _ = drain(source_of(table().commit(add("a"), add("b")).commit(remove("a"))))
    assert batches == [["b"]]


@pytest.mark.parametrize("stop", [0, 1, 2, 3])
def test_a_restart_in_the_middle_goes_on_where_it_was_though_the_table_went_on(stop):
    builder = table().commit(*FOUR)
    source, at, before = source_of(builder), None, []
    for _ in range(stop):
        at, found = next_batch(source, at, ONE)
        before += found
    builder.commit(add("e")).commit(add("f"))
    again = None if at is None else source_of(builder).parse_offset(at.to_json())
    restarted = source_of(builder, snapshot=builder.log().snapshot(1) if again is None else None)
    after, _ = drain(restarted, again, ONE)
    assert before + [path for batch in after for path in batch] == ["d", "b", "c", "a", "e", "f"]


def test_a_batch_of_the_snapshot_is_the_same_again_after_a_restart():
    builder = table().commit(*FOUR)
    source = source_of(builder)
    one, _ = next_batch(source, None, ONE)
    two, found = next_batch(source, one, ReadLimits(2))
    builder.commit(add("e"))
    assert paths(source_of(builder).batch(one, two)) == found == ["b", "c"]
    assert paths(source_of(builder).batch(None, two)) == ["d", "b", "c"]


def test_the_first_batch_is_read_again_from_the_snapshot_that_led_to_its_end():
    builder = table().commit(add("a")).commit(add("b")).commit(add("c"), add("d"))
    end = SourceOffset(source_of(builder).table_id, 3, 0)
    assert paths(source_of(builder).batch(None, end)) == ["a", "b", "c"]


def test_the_log_that_led_to_the_snapshot_may_be_gone():
    builder = table().commit(*FOUR).commit(add("e")).checkpoint()
    for version in (0, 1):
        builder.delete(file_names.commit_path(version))
    source = source_of(builder)
    with pytest.raises(VersionNotFoundError, match="lagging behind") as raised:
        source.latest_offset(SourceOffset(source.table_id, 1, 0, is_starting_version=True), ONE)
    assert raised.value.error_class == "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE"


def test_a_file_of_a_batch_carries_what_a_reader_needs():
    vector = encode_inline([1]).to_json()
    builder = table(
        {"id": "long", "day": "string"},
        partition_by=["day"],
        protocol=Protocol(3, 7, ("deletionVectors",), ("deletionVectors",)),
        actions=[add("day=1/a%20b", partitionValues={"day": "1"}, size=12, modificationTime=34, deletionVector=vector)],
    )
    source = source_of(builder)
    end, _ = next_batch(source)
    files = source.batch(None, end)
    assert files.files.schema == STREAM_FILES
    (row,) = files.files.to_pylist()
    assert (row["path"], row["size"], row["modification_time"], row["commit_version"]) == ("day=1/a%20b", 12, 34, 0)
    assert row["deletion_vector"]["path_or_inline_dv"] == vector["pathOrInlineDv"]
    assert files.partition_texts()["day"].to_pylist() == ["1"]
    assert files.size_bytes == 12
    assert files.snapshot.version == 0


def test_filters_prune_the_files_of_the_snapshot_and_of_the_log():
    def stats(low, high):
        return {"numRecords": 1, "minValues": {"id": low}, "maxValues": {"id": high}, "nullCount": {"id": 0}}

    builder = table().commit(add("a", stats=stats(1, 5)), add("b", stats=stats(6, 9)), add("c"))
    source = source_of(builder)
    builder.commit(add("d", stats=stats(1, 2)), add("e", stats=stats(8, 8)))
    end, found = next_batch(source)
    assert found == ["a", "b", "c", "d", "e"]
    assert source.batch(None, end).may_match([("id", ">", 5)]).to_pylist() == [False, True, True, False, True]
    kept = source.batch(None, end).which_may_match([("id", ">", 5)])
    assert kept.files["path"].to_pylist() == ["b", "c", "e"]
    assert kept.num_records().to_pylist() == [1, None, 1]
    assert kept.may_match([("id", ">", 8)]).to_pylist() == [True, True, False]
    assert kept.which_may_match([("id", ">", 8)]).files["path"].to_pylist() == ["b", "c"]


def test_excluded_files_are_left_out_before_files_are_counted_and_keep_their_index():
    source = source_of(table().commit(*FOUR), excludeRegex="^[bc]$")
    end, found = next_batch(source, None, ONE)
    assert (place(end), found) == ((1, 0, True), ["d"])
    end, found = next_batch(source, end, ONE)
    assert (place(end), found) == ((2, -100, False), ["a"])


def test_the_files_of_a_large_snapshot_are_taken_from_any_chunk():
    column = pa.chunked_array([["a", "b"], [], ["c"], ["d", "e"]], pa.string())
    assert take_rows(column, pa.array([4, 0, 2, 1])).to_pylist() == ["e", "a", "c", "b"]
    assert take_rows(column, pa.array([], pa.int64())).to_pylist() == []


def test_event_time_orders_the_snapshot_by_the_least_value_of_each_file():
    def stats(minimum):
        return {"numRecords": 1, "minValues": {"at": minimum}, "maxValues": {"at": "2030-01-01T00:00:00.000Z"}}

    builder = table({"at": "timestamp"}).commit(
        add("late", stats=stats("2026-03-01T00:00:00.000Z"), modificationTime=1),
        add("early", stats=stats("2026-01-01T00:00:00.000Z"), modificationTime=9),
        add("unknown", modificationTime=5),
        add("same", stats=stats("2026-01-01T00:00:00.000Z"), modificationTime=3),
        add("older", modificationTime=4),
    )
    batches, _ = drain(source_of(builder, event_time="At"), limits=ONE)
    assert batches == [["older"], ["unknown"], ["same"], ["early"], ["late"]]


def test_event_time_may_be_a_partition_column():
    days = ["2026-01-02", "2026-01-01", None]
    adds = [add(f"f{number}", partitionValues={"day": day}, modificationTime=number) for number, day in enumerate(days)]
    builder = table({"id": "long", "day": "date"}, partition_by=["day"], actions=adds)
    assert drain(source_of(builder, event_time="day"), limits=ONE)[0] == [["f2"], ["f1"], ["f0"]]


def test_event_time_has_to_be_a_column():
    with pytest.raises(InvalidOptionError, match="'when'"):
        next_batch(source_of(table().commit(*FOUR), event_time="when"))


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_a_snapshot_of_many_files_is_read_in_flat_memory(count):
    line = '{"add":{"path":"part-%07d","partitionValues":{},"size":1,"modificationTime":%d,"dataChange":true}}'
    lines = [line % (number, 1_700_000_000_000 - number) for number in range(count)]
    head = [json.dumps({"protocol": Protocol(1, 2).to_json()}), json.dumps(metadata())]
    builder = table()
    builder.write(file_names.commit_path(0), "\n".join([*head, *lines]))
    builder.checkpoint("multipart", parts=3)
    source, at = source_of(builder), None
    source.latest_offset(None, ReadLimits(1))
    before = pa.total_allocated_bytes()
    for number in range(20):
        end = source.latest_offset(at, ReadLimits(count // 20))
        files = source.batch(at, end)
        assert files.files["path"][0].as_py() == f"part-{count - 1 - number * (count // 20):07d}"
        at = end
        del files
    assert place(at) == (1, -100, False)
    assert pa.total_allocated_bytes() - before < 10 * count * 8


def test_event_time_in_a_column_without_statistics_keeps_the_order_of_modification():
    builder = table({"id": "long", "data": "binary"}).commit(add("b", modificationTime=1), add("a", modificationTime=2))
    assert drain(source_of(builder, event_time="data"), limits=ONE)[0] == [["b"], ["a"]]
