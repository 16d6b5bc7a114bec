# SPDX-License-Identifier: Apache-2.0
"""Whatever is committed and however it is read: every file comes once, and the same files come again after a restart."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.log.streaming.streams import ONE, drain, next_batch, paths, source_of, table

from bayou.log.streaming.request.limits import ReadLimits
from bayou.storage import LocalStore, MemoryStore
from bayou.testing.table_builder import TableBuilder, add

SIZES = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6)
LIMITS = st.builds(ReadLimits, st.one_of(st.none(), st.integers(1, 5)), st.one_of(st.none(), st.integers(1, 20)))


def commit_all(builder, commits):
    """Commit files of these sizes, every third one without a change of rows; what a stream finds of them."""
    expected = []
    for number, sizes in enumerate(commits):
        adds = []
        for place, size in enumerate(sizes):
            path = f"{builder.version + 1}-{number}-{place}"
            is_new = (number + place) % 3 != 2
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
