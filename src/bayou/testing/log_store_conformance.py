# SPDX-License-Identifier: Apache-2.0
"""What every log store must do, as tests: mix the class into a test class that makes the store.

Example:
    class TestMyStore(LogStoreConformance):
        @pytest.fixture
        def store(self, tmp_path):
            return MyStore(tmp_path)

        def in_another_process(self, store):  # where other processes see the same files
            return f"from my_package import MyStore; store = MyStore({store.root!r})"
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bayou.storage.store import LogStore
from bayou.storage.trees import TreeStore, list_tree

# A mix-in for pytest: each method is a test, its name says what holds, and it fails by an assertion.
# ruff: noqa: S101, D102, PLR2004

_THREADS = 16
_PROCESSES = 4
_VERSIONS = 100

# What a process does that races for every version: it waits for a line, and says which ones it created.
_RACE = """
import sys
name, versions = sys.argv[1].encode(), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
print(*[each for each in range(versions) if store.put_if_absent(f"_delta_log/{each:020d}.json", name)])
"""


class LogStoreConformance:
    """The guarantees of `bayou.storage.LogStore`. Provide a fixture `store` that gives an empty store each time."""

    def in_another_process(self, store: LogStore) -> str | None:  # noqa: ARG002  (for those who override it)
        """Return Python statements that open `store` in another process, with the same files.

        None, unless overridden, if no other process can see the files. Tests of several processes are skipped then.
        """
        return None

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

    def test_of_many_writers_on_one_path_at_one_moment_exactly_one_creates_it(self, store: LogStore) -> None:
        path = "_delta_log/00000000000000000000.json"
        start = threading.Barrier(_THREADS, timeout=60)

        def write(writer: int) -> bool:
            start.wait()
            return store.put_if_absent(path, b"%d" % writer * 10_000)

        with ThreadPoolExecutor(_THREADS) as pool:
            won = list(pool.map(write, range(_THREADS)))
        assert won.count(True) == 1
        assert store.read(path) == b"%d" % won.index(True) * 10_000
        assert [each.path for each in store.list_from(path)] == [path]

    def test_of_many_processes_exactly_one_creates_each_file(self, store: LogStore) -> None:
        source = self.in_another_process(store)
        if source is None:
            pytest.skip("the store does not say how another process opens it")
        for writer, versions in enumerate(_race(source)):
            for version in versions:
                assert store.read(f"_delta_log/{version:020d}.json") == b"%d" % writer
        listed = [each.name for each in store.list_from("_delta_log/0")]
        assert listed == [f"{version:020d}.json" for version in range(_VERSIONS)]

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

    def test_a_file_is_not_changed_through_the_bytes_that_were_put(self, store: LogStore) -> None:
        data = bytearray(b"12345")
        store.put_if_absent("_delta_log/a", bytes(data))
        data[0] = 0
        assert store.read("_delta_log/a") == b"12345"

    def test_a_listing_is_not_disturbed_by_what_happens_after_it(self, store: LogStore) -> None:
        for name in "abc":
            store.put_if_absent(f"_delta_log/{name}", b"x")
        listing = store.list_from("_delta_log/")
        first = next(listing)
        store.delete("_delta_log/a")
        store.put_if_absent("_delta_log/d", b"x")
        rest = [each.name for each in listing]
        assert first.name == "a"
        assert rest[:2] == ["b", "c"]
        assert set(rest) <= {"b", "c", "d"}

    def test_sync_changes_no_file(self, store: LogStore) -> None:
        for path in ("_delta_log/a", "part-0.parquet", "day=1/hour=2/part-1.parquet"):
            store.put(path, path.encode())
        store.sync([])
        store.sync(["part-0.parquet", "day=1/hour=2/part-1.parquet", "part-0.parquet"])
        store.sync(iter(["_delta_log/a"]))
        assert store.read("part-0.parquet") == b"part-0.parquet"
        assert store.read("day=1/hour=2/part-1.parquet") == b"day=1/hour=2/part-1.parquet"
        assert [each.path for each in store.list_from("")] == ["part-0.parquet"]

    def test_sync_of_a_missing_file_says_so_or_does_nothing(self, store: LogStore) -> None:
        store.put("a", b"x")
        try:
            store.sync(["a", "b"])
        except FileNotFoundError:
            return

    def test_threads_may_share_a_store(self, store: LogStore) -> None:
        def work(number: int) -> None:
            path = f"_delta_log/{number:02d}"
            assert store.put_if_absent(path, b"x")
            store.put(path, b"y" * number)
            assert store.read(path) == b"y" * number
            assert path in [each.path for each in store.list_from("_delta_log/")]
            store.sync([path])
            if number % 2:
                store.delete(path)

        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(work, range(_THREADS)))
        assert [each.name for each in store.list_from("_delta_log/")] == [f"{number:02d}" for number in range(0, _THREADS, 2)]

    def test_a_tree_is_listed_at_any_depth_without_what_is_hidden(self, store: LogStore) -> None:
        if not isinstance(store, TreeStore):
            return
        files = ["a", "p=1/q=2/b", "p=1/c", "_change_data/d", "_x=1/e", "\u00fc %/f"]
        for path in [*files, "_delta_log/0.json", "p=1/_temporary/g", ".hidden/h", "p=1/.a.crc"]:
            store.put(path, path.encode("utf-8"))
        found = {row["path"]: row for batch in list_tree(store, ("_change_data", "_x=")) for row in batch.to_pylist()}
        assert sorted(path for path, row in found.items() if not row["is_folder"]) == sorted(files)
        assert {path: found[path]["size"] for path in files} == {path: len(path.encode("utf-8")) for path in files}
        assert found["p=1"]["size"] == 4  # how many entries it has, hidden ones too
        now = time.time() * 1000
        assert all(now - 600_000 < row["modification_time"] < now + 600_000 for row in found.values())

    def test_a_folder_that_is_not_there_is_an_empty_one(self, store: LogStore) -> None:
        if isinstance(store, TreeStore):
            (found,) = store.list_folders(["nowhere"], ())
            assert (found.num_entries, list(found.files), list(found.folders)) == (0, [], [])

    def test_many_files_are_deleted_at_once_and_missing_ones_are_no_error(self, store: LogStore) -> None:
        if not isinstance(store, TreeStore):
            return
        paths = [f"p={number % 3}/{number}" for number in range(30)]
        for path in [*paths, "kept"]:
            store.put(path, b"x")
        done = store.delete_many([*paths, "p=0/missing", "missing/too"])
        assert not done.failed
        assert done.deleted in {len(paths), len(paths) + 2}  # an object store does not report which existed
        left = [row["path"] for batch in list_tree(store) for row in batch.to_pylist() if not row["is_folder"]]
        assert left == ["kept"]

    def test_a_folder_that_is_not_empty_stays_and_is_no_failure(self, store: LogStore) -> None:
        if isinstance(store, TreeStore):
            store.put("p=1/a", b"x")
            done = store.delete_many(["p=1"])
            assert not done.failed
            assert store.read("p=1/a") == b"x"

    def test_nothing_outside_the_root_is_deleted(self, store: LogStore) -> None:
        if isinstance(store, TreeStore):
            store.put("a", b"x")
            done = store.delete_many(["../a", "p/../../a", "/a"])
            assert done.deleted == 0
            assert store.read("a") == b"x"

    def test_a_store_is_a_log_store(self, store: LogStore) -> None:
        assert isinstance(store, LogStore)


def _race(source: str) -> list[list[int]]:
    """The versions that each of several processes created, all of which began at the same moment."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writers = [
        subprocess.Popen(  # noqa: S603  (the source is the test's own)
            [sys.executable, "-c", source + _RACE, str(number), str(_VERSIONS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in range(_PROCESSES)
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        return [_created(writer) for writer in writers]
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()


def _created(writer: subprocess.Popen[str]) -> list[int]:
    answer, _ = writer.communicate(timeout=60)
    assert writer.returncode == 0
    return [int(version) for version in answer.split()]
