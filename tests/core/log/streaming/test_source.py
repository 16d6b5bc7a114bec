# SPDX-License-Identifier: Apache-2.0
"""Whatever is committed and however it is read: every file comes once, and the same files come again after a restart."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.log.streaming.streams import ONE, drain, next_batch, paths, place, source_of, table

from bayou.errors import InvalidTimestampError, TimestampOutOfRangeError, UnsupportedProtocolError, VersionNotFoundError
from bayou.log.changes.range import OUT_OF_RANGE_CONF
from bayou.log.streaming.request.limits import ReadLimits
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.storage import LocalStore, MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove

SIZES = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6)
LIMITS = st.builds(ReadLimits, st.one_of(st.none(), st.integers(1, 5)), st.one_of(st.none(), st.integers(1, 20)))
ALLOWED = {OUT_OF_RANGE_CONF: "true"}


def commit_all(builder, commits):
    """Commit files of these sizes, every third one without a change of rows; what a stream finds of them."""
    expected = []
    for number, sizes in enumerate(commits):
        adds = []
        for position, size in enumerate(sizes):
            path = f"{builder.version + 1}-{number}-{position}"
            is_new = (number + position) % 3 != 2
            adds.append(add(path, size=size, dataChange=is_new, modificationTime=len(path)))
            expected += [path] * is_new
        builder.commit(*adds)
    return expected


@given(SIZES, SIZES, LIMITS, st.integers(0, 8))
def test_every_file_comes_once_and_restarts_read_the_same(before, after, limits, stop):
    builder = table()
    commit_all(builder, before)
    first = set(builder.log().snapshot().files(["path"])["path"].to_pylist())
    source = source_of(builder)
    expected = commit_all(builder, after)
    found, ends, at = [], [None], None
    while (end := source.latest_offset(at, limits)) != at:
        batch = paths(source.batch(at, end))
        assert end > (at or end) or at is None
        found.append(batch)
        ends.append(end)
        at = end
        if len(ends) == stop:
            source.commit(at)
            source = source_of(builder)
            at = source.parse_offset(at.to_json())
    names = [path for batch in found for path in batch]
    assert set(names[: len(first)]) == first
    assert names[len(first) :] == expected
    again = source_of(builder)
    for number, batch in enumerate(found):
        start, end = (None if each is None else again.parse_offset(each.to_json()) for each in ends[number : number + 2])
        if start is not None or number:
            assert paths(again.batch(start, end)) == batch


class Counting:
    """A store that counts what is asked of it."""

    def __init__(self, store):
        self._store = store
        self.lists = self.reads = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def list_from(self, path):
        self.lists += 1
        return self._store.list_from(path)

    def read(self, path):
        self.reads += 1
        return self._store.read(path)

    def taken(self):
        counts = self.lists, self.reads
        self.lists = self.reads = 0
        return counts


@pytest.fixture
def counted():
    store = Counting(MemoryStore())
    builder = TableBuilder(store=store).create().commit(add("a"))
    source = source_of(builder)
    at = next_batch(source)[0]
    store.taken()
    return builder, source, at, store


def test_an_idle_call_is_one_listing_and_reads_nothing(counted):
    _, source, at, store = counted
    for _ in range(3):
        assert source.latest_offset(at, source.limits) == at
        assert store.taken() == (1, 0)


def test_a_batch_costs_one_listing_and_reads_each_commit_once(counted):
    builder, source, at, store = counted
    for number in range(5):
        builder.commit(add(f"b{number}"), add(f"c{number}"))
    end, found = next_batch(source, at)
    assert len(found) == 10
    assert store.taken() == (1, 5)
    source.latest_offset(end, source.limits)
    source.commit(end)
    assert store.taken() == (1, 0)


def test_a_backlog_is_not_read_before_it_has_room(counted):
    builder, source, at, store = counted
    for number in range(100):
        builder.commit(add(f"b{number}"))
    total = 0
    for _ in range(100):
        at, found = next_batch(source, at, ONE)
        assert len(found) == 1
        source.commit(at)
        reads = store.taken()[1]
        total += reads
        assert reads <= 3
    assert total == 100


def test_commits_are_let_go_when_the_stream_is_past_them(counted):
    builder, source, at, _ = counted
    held = []
    for number in range(50):
        builder.commit(add(f"b{number}"))
        end, _ = next_batch(source, at)
        source.commit(at)
        at = end
        held.append(source._table.tail.held)
    assert max(held) <= 2
    assert len(source._table.tail._versions) <= 2


def test_a_fixed_end_lists_the_log_once(counted):
    builder, source, at, store = counted
    for number in range(5):
        builder.commit(add(f"b{number}"))
    source.fix_end()
    assert len(drain(source, at, ONE)[0]) == 5
    assert store.taken()[0] == 1


def test_the_backlog_is_what_the_last_listing_knows(counted):
    builder, source, at, store = counted
    for number in range(3):
        builder.commit(add(f"b{number}"), add(f"c{number}"), add(f"d{number}"))
    end, _ = next_batch(source, at, ReadLimits(2))
    store.taken()
    backlog = source.backlog(end)
    assert (backlog.files, backlog.bytes) == (1 + 2 * 1, 100 + 2 * 100)
    assert store.taken() == (0, 0)
    everything = drain(source, end)[1]
    assert source.backlog(everything).files == 0


def test_the_backlog_of_the_first_snapshot_is_exact():
    source = source_of(table().commit(add("a", size=1), add("b", size=2), add("c", size=4)))
    assert source.backlog(None).files == 0
    end, _ = next_batch(source, None, ONE)
    assert (source.backlog(end).files, source.backlog(end).bytes) == (2, 6)


def test_an_idle_call_on_a_disk_is_fast(tmp_path):
    builder = TableBuilder(tmp_path / "t").create()
    for number in range(100):
        builder.commit(add(f"b{number}"))
    assert isinstance(builder.store, LocalStore)
    source = source_of(builder)
    at = drain(source)[1]
    started = time.perf_counter()
    for _ in range(20):
        source.latest_offset(at, source.limits)
    assert (time.perf_counter() - started) / 20 < 0.01


def four_commits():
    """A table whose commits are a second apart, from 2026-01-01 on."""
    builder = table().commit(add("a")).commit(add("b")).commit(add("c"))
    for version in range(4):
        builder.store.set_modification_time(file_names.commit_path(version), 1_767_225_600_000 + version * 1000)
    return builder


def read(source):
    return [path for batch in drain(source)[0] for path in batch]


@pytest.mark.parametrize(("version", "found"), [(0, ["a", "b", "c"]), (2, ["b", "c"]), (3, ["c"])])
def test_a_starting_version_is_read_itself_and_the_snapshot_is_not(version, found):
    assert read(source_of(four_commits(), startingVersion=version)) == found


def test_what_was_removed_since_is_read_from_a_starting_version_on():
    builder = four_commits().commit(remove("b"))
    assert read(source_of(builder, startingVersion=1, ignoreDeletes=True)) == ["a", "b", "c"]


def test_a_starting_version_after_the_latest_one_is_refused():
    with pytest.raises(VersionNotFoundError) as caught:
        next_batch(source_of(four_commits(), startingVersion=4))
    assert caught.value.version == 4


def test_a_starting_version_after_the_latest_one_is_waited_for_where_that_is_allowed():
    builder = four_commits()
    source = source_of(builder, ALLOWED, startingVersion=5)
    assert next_batch(source) == (None, [])
    builder.commit(add("d"))
    assert next_batch(source) == (None, [])
    builder.commit(add("e"))
    assert next_batch(source)[1] == ["e"]


def test_a_starting_version_that_was_cleaned_up_is_refused_unless_data_loss_is_accepted():
    builder = four_commits().checkpoint()
    builder.delete(file_names.commit_path(0)).delete(file_names.commit_path(1))
    with pytest.raises(VersionNotFoundError):
        next_batch(source_of(builder, startingVersion=1))
    assert read(source_of(builder, startingVersion=1, failOnDataLoss=False)) == ["b", "c"]


def test_a_starting_version_is_enough_though_the_log_that_led_to_it_is_gone():
    builder = four_commits().checkpoint().delete(file_names.commit_path(0))
    assert read(source_of(builder, startingVersion=1)) == ["a", "b", "c"]


def test_a_starting_version_that_needs_a_newer_reader_is_refused():
    builder = (
        table().commit({"protocol": Protocol(99, 99).to_json()}).commit(add("a")).commit({"protocol": Protocol(1, 2).to_json()})
    )
    source = source_of(builder, startingVersion=2)
    with pytest.raises(UnsupportedProtocolError):
        next_batch(source)


def test_the_latest_version_as_a_start_is_found_once():
    builder = four_commits()
    source = source_of(builder, startingVersion="latest")
    end, found = next_batch(source)
    assert (place(end), found) == ((4, -100, False), [])
    builder.commit(add("d"))
    assert next_batch(source, end)[1] == ["d"]
    assert paths(source_of(builder, startingVersion="latest").batch(None, end)) == []


@pytest.mark.parametrize(
    ("moment", "found"),
    [
        ("2020-01-01", ["a", "b", "c"]),
        ("2026-01-01 00:00:02", ["b", "c"]),
        ("2026-01-01 00:00:01.001", ["b", "c"]),
        ("2026-01-01T01:00:03+01:00", ["c"]),
    ],
)
def test_a_starting_timestamp_begins_with_the_first_commit_that_is_not_before_it(moment, found):
    assert read(source_of(four_commits(), startingTimestamp=moment)) == found


def test_a_starting_timestamp_is_read_in_the_sessions_zone():
    from bayou.log.streaming.request.options import StreamOptions
    from bayou.log.streaming.source import StreamingSource

    builder = four_commits()
    log = builder.log()
    options = StreamOptions.from_options({"startingTimestamp": "2026-01-01 01:00:02"}, "/t")
    assert read(StreamingSource(log, log.snapshot(), options, time_zone="Europe/Berlin")) == ["b", "c"]


def test_a_starting_timestamp_after_the_latest_commit_is_refused():
    with pytest.raises(TimestampOutOfRangeError) as raised:
        next_batch(source_of(four_commits(), startingTimestamp="2026-01-02"))
    assert raised.value.error_class == "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"


def test_a_starting_timestamp_after_the_latest_commit_means_what_comes_where_that_is_allowed():
    builder = four_commits()
    source = source_of(builder, ALLOWED, startingTimestamp="2026-01-02")
    assert next_batch(source) == (None, [])
    builder.commit(add("d"))
    assert next_batch(source)[1] == ["d"]


def test_a_starting_timestamp_has_to_be_one():
    with pytest.raises(InvalidTimestampError):
        next_batch(source_of(four_commits(), startingTimestamp="soon"))


def test_a_start_counts_no_more_once_there_is_an_offset():
    builder = four_commits()
    end, _ = next_batch(source_of(builder), None, ReadLimits(2))
    assert [batch for (batch,) in drain(source_of(builder, startingVersion=0), end, ONE)[0]] == ["c"]


def test_the_first_batch_from_a_starting_version_is_the_same_again_after_a_restart():
    builder = four_commits()
    end, found = next_batch(source_of(builder, startingVersion=1), None, ReadLimits(2))
    builder.commit(add("d"))
    assert paths(source_of(builder, startingVersion=1).batch(None, end)) == found == ["a", "b"]


def test_a_fixed_end_is_what_is_committed_when_the_first_offset_is_asked_for():
    builder = four_commits()
    source = source_of(builder)
    source.fix_end()
    end, found = next_batch(source, None, ONE)
    builder.commit(add("d"))
    batches, end = drain(source, end, ONE)
    assert [found, *batches] == [["a"], ["b"], ["c"]]
    assert place(end) == (4, -100, False)
    assert source.latest_offset(end, ONE) == end
    assert next_batch(source_of(builder), end)[1] == ["d"]


def test_a_fixed_end_takes_in_commits_after_the_first_snapshot():
    builder = four_commits()
    source = source_of(builder)
    builder.commit(add("d"))
    source.fix_end()
    end, found = next_batch(source)
    assert found == ["a", "b", "c", "d"]
    builder.commit(add("e"))
    assert source.latest_offset(end, source.limits) == end


def test_a_fixed_end_where_nothing_is_new_is_the_start():
    builder = four_commits()
    at = drain(source_of(builder))[1]
    source = source_of(builder)
    source.fix_end()
    assert source.latest_offset(at, ONE) == at
    builder.commit(add("d"))
    assert source.latest_offset(at, ONE) == at
