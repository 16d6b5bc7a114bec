# SPDX-License-Identifier: Apache-2.0
"""What every log store must do, as tests: mix the class into a test class that makes the store.

Example:
    class TestMyStore(LogStoreConformance):
        @pytest.fixture
        def store(self, tmp_path):
            return MyStore(tmp_path)
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bayou.storage.store import LogStore

# A mix-in for pytest: each method is a test, its name says what holds, and it fails by an assertion.
# ruff: noqa: S101, D102, PLR2004


class LogStoreConformance:
    """The guarantees of `bayou.storage.LogStore`. Provide a fixture `store` that gives an empty store each time."""

    def test_a_file_reads_back_as_it_was_put(self, store: LogStore) -> None:
        data = bytes(range(256)) * 1000
        assert store.put_if_absent("_delta_log/a", data)
        assert store.read("_delta_log/a") == data
        assert store.size("_delta_log/a") == len(data)

    def test_an_empty_file_is_a_file(self, store: LogStore) -> None:
        assert store.put_if_absent("_delta_log/a", b"")
        assert store.read("_delta_log/a") == b""
        assert store.size("_delta_log/a") == 0

    def test_put_if_absent_leaves_an_existing_file_alone(self, store: LogStore) -> None:
        assert store.put_if_absent("_delta_log/a", b"first")
        assert not store.put_if_absent("_delta_log/a", b"second")
        assert store.read("_delta_log/a") == b"first"

    def test_of_many_writers_exactly_one_creates_a_file(self, store: LogStore) -> None:
        for version in range(20):
            path = f"_delta_log/{version:020d}.json"
            with ThreadPoolExecutor(8) as pool:
                won = list(pool.map(lambda writer, path=path: store.put_if_absent(path, b"%d" % writer), range(8)))
            assert won.count(True) == 1
            assert store.read(path) == b"%d" % won.index(True)

    def test_put_replaces_a_file(self, store: LogStore) -> None:
        store.put("_delta_log/_last_checkpoint", b"first")
        store.put("_delta_log/_last_checkpoint", b"second, longer")
        assert store.read("_delta_log/_last_checkpoint") == b"second, longer"

    def test_a_reader_never_sees_a_part_of_a_file(self, store: LogStore) -> None:
        whole = [bytes([digit]) * 200_000 for digit in b"01"]
        store.put("_delta_log/a", whole[0])

        def write() -> None:
            for turn in range(40):
                store.put("_delta_log/a", whole[turn % 2])

        with ThreadPoolExecutor(2) as pool:
            writing = pool.submit(write)
            while not writing.done():
                assert store.read("_delta_log/a") in whole
            writing.result()

    def test_open_reads_any_part_of_a_file(self, store: LogStore) -> None:
        store.put_if_absent("_delta_log/a", b"0123456789")
        with store.open("_delta_log/a") as file:
            file.seek(-4, 2)
            assert file.tell() == 6
            assert file.read(2) == b"67"
            file.seek(0)
            assert file.readline() == b"0123456789"

    def test_a_missing_file_is_not_found(self, store: LogStore) -> None:
        store.put_if_absent("_delta_log/a", b"")
        for call in (store.read, store.open, store.size):
            with pytest.raises(FileNotFoundError):
                call("_delta_log/b")
            with pytest.raises(FileNotFoundError):
                call("nowhere/b")

    def test_a_listing_starts_at_a_name_and_is_in_order(self, store: LogStore) -> None:
        for name in ("b", "a", "c", "B", "é", "a.b", "_last"):
            store.put_if_absent(f"_delta_log/{name}", b"x")
        assert [each.path for each in store.list_from("_delta_log/a.")] == [f"_delta_log/{name}" for name in ("a.b", "b", "c", "é")]
        assert [each.name for each in store.list_from("_delta_log/")] == ["B", "_last", "a", "a.b", "b", "c", "é"]

    def test_a_listing_does_not_open_folders(self, store: LogStore) -> None:
        store.put_if_absent("_delta_log/a", b"x")
        store.put_if_absent("_delta_log/_sidecars/b", b"x")
        store.put_if_absent("c", b"x")
        assert [each.path for each in store.list_from("_delta_log/")] == ["_delta_log/a"]
        assert [each.path for each in store.list_from("")] == ["c"]

    def test_a_listing_of_a_missing_folder_is_empty_or_not_found(self, store: LogStore) -> None:
        try:
            assert list(store.list_from("_delta_log/")) == []
        except FileNotFoundError:
            return

    def test_a_listing_knows_size_and_age(self, store: LogStore) -> None:
        store.put_if_absent("_delta_log/a", b"12345")
        (status,) = store.list_from("_delta_log/a")
        assert status.size == 5
        assert abs(status.modification_time - time.time() * 1000) < 3_600_000

    def test_a_file_that_was_replaced_has_another_status(self, store: LogStore) -> None:
        store.put_if_absent("_delta_log/a", b"12345")
        (first,) = store.list_from("_delta_log/a")
        (same,) = store.list_from("_delta_log/a")
        assert first == same
        if first.etag is not None:
            store.put("_delta_log/a", b"54321")
            (second,) = store.list_from("_delta_log/a")
            assert second != first

    def test_a_new_file_is_listed_at_once(self, store: LogStore) -> None:
        for version in range(50):
            store.put_if_absent(f"_delta_log/{version:020d}.json", b"x")
            assert [each.name for each in store.list_from(f"_delta_log/{version:020d}")] == [f"{version:020d}.json"]

    def test_delete_is_idempotent(self, store: LogStore) -> None:
        store.put_if_absent("_delta_log/a", b"x")
        store.delete("_delta_log/a")
        store.delete("_delta_log/a")
        with pytest.raises(FileNotFoundError):
            store.read("_delta_log/a")
        assert store.put_if_absent("_delta_log/a", b"y")

    def test_names_with_special_characters_are_themselves(self, store: LogStore) -> None:
        for name in ("a b", "a%20b", "ü", "a=b", "a'b", "a+b", "a#b", "a?b"):
            assert store.put_if_absent(f"_delta_log/{name}", name.encode())
        for status in store.list_from("_delta_log/"):
            assert store.read(status.path) == status.name.encode()

    def test_a_store_is_a_log_store(self, store: LogStore) -> None:
        assert isinstance(store, LogStore)
