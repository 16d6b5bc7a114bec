# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from bayou.errors import TableNotFoundError
from bayou.log.delta_log import open_log
from bayou.protocol.actions import file_names
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove


class CountingStore(MemoryStore):
    """Notes what is read."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def read(self, path):
        self.calls.append(path)
        return super().read(path)

    def list_from(self, path):
        self.calls.append(f"list {path}")
        return super().list_from(path)


def table():
    return TableBuilder(store=CountingStore()).create(actions=[add("a"), add("b")])


def paths(snapshot):
    return sorted(snapshot.files(["path"])["path"].to_pylist())


def test_an_update_without_news_costs_one_listing_and_keeps_the_snapshot():
    builder = table()
    log = builder.log()
    first = log.update()
    builder.store.calls.clear()
    assert log.update() is first
    assert builder.store.calls == ["list _delta_log/00000000000000000000"]


def test_an_update_reads_the_new_commits_alone_even_where_there_is_a_new_checkpoint():
    builder = table().checkpoint()
    log = builder.log()
    assert paths(log.update()) == ["a", "b"]
    builder.commit(add("c")).commit(remove("a")).checkpoint()
    builder.store.calls.clear()
    assert paths(log.update()) == ["b", "c"]
    assert builder.store.calls == [
        "list _delta_log/00000000000000000000",
        file_names.commit_path(1),
        file_names.commit_path(2),
    ]


def test_an_update_shares_the_columns_of_the_checkpoint():
    builder = table().checkpoint()
    log = builder.log()
    before = log.update().files(["path"])["path"].chunk(0)
    builder.commit(add("c"))
    after = log.update().files(["path"])["path"].chunk(0)
    assert before.buffers()[2].address == after.buffers()[2].address


def test_an_older_snapshot_does_not_change():
    builder = table()
    log = builder.log()
    first = log.update()
    builder.commit(remove("a"))
    second = log.update()
    assert (paths(first), paths(second)) == (["a", "b"], ["b"])
    assert (first.version, second.version) == (0, 1)


def test_a_snapshot_that_nobody_read_is_extended_all_the_same():
    builder = table()
    log = builder.log()
    log.update()
    for number in range(5):
        builder.commit(add(f"n{number}"))
        log.update()
    assert paths(log.update()) == ["a", "b", "n0", "n1", "n2", "n3", "n4"]


def test_a_table_that_was_made_again_at_the_path_is_noticed(tmp_path):
    TableBuilder(tmp_path).create(actions=[add("old")]).commit(add("old2"))
    log = open_log(tmp_path)
    assert paths(log.update()) == ["old", "old2"]
    shutil.rmtree(tmp_path / "_delta_log")
    TableBuilder(tmp_path).create(actions=[add("new")]).commit(add("new2")).commit(add("new3"))
    assert paths(log.update()) == ["new", "new2", "new3"]
    shutil.rmtree(tmp_path / "_delta_log")
    TableBuilder(tmp_path).create(actions=[add("newer")])
    assert paths(log.update()) == ["newer"]


def test_a_table_that_was_dropped_is_noticed(tmp_path):
    TableBuilder(tmp_path / "t").create()
    log = open_log(tmp_path / "t")
    log.update()
    shutil.rmtree(tmp_path / "t")
    with pytest.raises(TableNotFoundError):
        log.update()


def test_an_update_after_log_clean_up_starts_again_from_the_checkpoint():
    builder = table()
    log = builder.log()
    log.update()
    builder.commit(add("c")).commit(add("d")).checkpoint()
    for version in range(2):
        builder.delete(file_names.commit_path(version))
    assert paths(log.update()) == ["a", "b", "c", "d"]


def test_protocol_and_metadata_never_read_the_file_list(monkeypatch):
    builder = table().checkpoint("v2-parquet").commit(add("c"))
    snapshot = builder.log().snapshot()
    monkeypatch.setattr("bayou.log.snapshot.replay.FileState.columns", None)
    monkeypatch.setattr("bayou.log.snapshot.source.file_actions", None)
    assert snapshot.schema.names == ("id",)
    assert snapshot.protocol.min_reader_version == 1
    assert snapshot.transactions == {}
    assert snapshot.domain_metadata == {}
    assert not [path for path in builder.store.calls if "_sidecars" in path]


def test_size_and_number_come_from_the_checksum_where_there_is_one(monkeypatch):
    builder = table().commit(add("c")).checksum()
    snapshot = builder.log().snapshot()
    monkeypatch.setattr("bayou.log.snapshot.source.file_actions", None)
    assert (snapshot.num_files, snapshot.size_bytes) == (3, 300)


def test_threads_may_share_a_log():
    builder = table().checkpoint()
    log = builder.log()
    with ThreadPoolExecutor(8) as pool:
        for number in range(10):
            builder.commit(add(f"n{number}"))
            found = list(pool.map(lambda _: paths(log.update()), range(16)))
            assert all(each == found[0] for each in found)


def test_many_small_updates_keep_memory_flat():
    builder = table()
    log = builder.log()
    for number in range(300):
        builder.commit(add(f"n{number}"), *([remove(f"n{number - 1}")] if number else []))
        snapshot = log.update()
        assert snapshot.num_files == 3
    assert snapshot.files()["path"].num_chunks < 100
    assert snapshot.source.state().adds.num_rows == 3


def test_the_segment_of_a_snapshot_can_be_shown():
    snapshot = table().checkpoint().commit().log().snapshot()
    assert json.dumps([status.path for status in snapshot.segment.files])
    assert "version=1" in repr(snapshot)
