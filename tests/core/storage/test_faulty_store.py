# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bayou.errors import StorageError
from bayou.log.delta_log import DeltaLog
from bayou.storage import LocalStore, MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.log_store_conformance import LogStoreConformance
from bayou.testing.table_builder import TableBuilder, add

FIVE = "_delta_log/00000000000000000005.json"


class TestAroundMemory(LogStoreConformance):
    @pytest.fixture
    def store(self):
        return FaultyStore(MemoryStore())


class TestAroundLocal(LogStoreConformance):
    @pytest.fixture
    def store(self, tmp_path):
        return FaultyStore(LocalStore(tmp_path), maps_files=True)


def calls_of(store):
    """Each call of the contract once, on the path `a`."""
    return {
        "list_from": lambda: store.list_from("a"),
        "read": lambda: store.read("a"),
        "open": lambda: store.open("a"),
        "size": lambda: store.size("a"),
        "put_if_absent": lambda: store.put_if_absent("a", b"x"),
        "put": lambda: store.put("a", b"x"),
        "delete": lambda: store.delete("a"),
        "sync": lambda: store.sync(["a"]),
    }


def test_a_call_that_fails_before_has_done_nothing():
    store = FaultyStore(MemoryStore(), [Fault("put_if_absent", r"5\.json$")])
    with pytest.raises(StorageError, match=r"put_if_absent.*before anything happened") as caught:
        store.put_if_absent(FIVE, b"x")
    assert caught.value.file == FIVE
    assert list(store.inner.list_from("_delta_log/")) == []
    assert store.put_if_absent(FIVE, b"x")


def test_a_call_that_fails_after_has_been_done():
    store = FaultyStore(MemoryStore(), [Fault("put_if_absent", r"5\.json$", "after")])
    with pytest.raises(StorageError, match=r"put_if_absent.*after it was done"):
        store.put_if_absent(FIVE, b"x")
    assert store.inner.read(FIVE) == b"x"
    assert not store.put_if_absent(FIVE, b"y")


@pytest.mark.parametrize("name", calls_of(None))
def test_every_call_can_fail_and_is_recorded(name):
    store = FaultyStore(MemoryStore(), [Fault(name)])
    for each, call in calls_of(store).items():
        if each == name:
            with pytest.raises(StorageError, match=name):
                call()
        else:
            store.inner.put("a", b"x")
            call()
    assert store.calls == {(each, "a"): 1 for each in calls_of(store)}


def test_a_fault_strikes_the_calls_that_it_counts():
    store = FaultyStore(MemoryStore(), [Fault("put", "a", nth=2, times=2)])
    answers = []
    for path in ["a", "b", "a", "b", "a", "a"]:
        try:
            store.put(path, b"")
            answers.append("done")
        except StorageError:
            answers.append("failed")
    assert answers == ["done", "done", "failed", "done", "failed", "done"]


def test_a_store_can_be_gone_from_some_call_on():
    store = FaultyStore(MemoryStore(), [Fault(nth=2, times=None, error=ConnectionError("gone"))])
    store.put("a", b"")
    for call in calls_of(store).values():
        with pytest.raises(ConnectionError, match="gone"):
            call()


def test_an_error_that_stands_for_a_kill_is_raised_as_it_is():
    store = FaultyStore(MemoryStore(), [Fault("put", kind="after", error=KeyboardInterrupt())])
    with pytest.raises(KeyboardInterrupt):
        store.put("a", b"x")
    assert store.inner.read("a") == b"x"


def test_faults_come_in_the_order_of_the_plan():
    seen = []
    store = FaultyStore(MemoryStore())
    store.add(Fault("put", kind="hook", hook=lambda: seen.append("first")))
    store.add(Fault("put", kind="hook_after", hook=lambda: seen.append(store.inner.read("a"))))
    store.add(Fault("put", kind="after"))
    store.add(Fault("put", kind="hook_after", hook=lambda: seen.append("never")))
    with pytest.raises(StorageError):
        store.put("a", b"x")
    assert seen == ["first", b"x"]


def test_a_hook_can_hold_a_writer_at_its_commit():
    arrived, go_on = threading.Event(), threading.Event()
    hook = lambda: (arrived.set(), go_on.wait(30))  # noqa: E731
    store = FaultyStore(MemoryStore(), [Fault("put_if_absent", "0005", "hook", hook=hook)])
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(store.put_if_absent, FIVE, b"late")
        assert arrived.wait(30)
        assert store.put_if_absent(FIVE, b"early")
        go_on.set()
        assert late.result() is False
    assert store.read(FIVE) == b"early"


def test_a_delay_waits_first():
    store = FaultyStore(MemoryStore(), [Fault("put", kind="delay", seconds=0.05)])
    start = time.monotonic()
    store.put("a", b"x")
    assert time.monotonic() - start >= 0.05


@pytest.mark.parametrize(("kind", "hook"), [("hook", None), ("hook_after", None), ("before", print)])
def test_a_hook_belongs_to_the_kinds_that_call_it(kind, hook):
    with pytest.raises(ValueError, match="hook"):
        Fault(kind=kind, hook=hook)


def test_calls_are_kept_in_order_with_those_that_failed():
    store = FaultyStore(MemoryStore(), [Fault("sync", "b", "after")])
    store.put("a", b"")
    with pytest.raises(StorageError) as caught:
        store.sync(iter(["a", "b"]))
    assert caught.value.file == "a"
    store.put_if_absent(FIVE, b"")
    assert store.trace == (("put", "a"), ("sync", "a"), ("sync", "b"), ("put_if_absent", FIVE))
    assert (store.count(), store.count("sync"), store.count(path=r"\.json$"), store.count("put", "b")) == (4, 2, 1, 0)
    store.reset()
    assert (store.trace, store.calls, store.bytes_read) == ((), {}, {})
    store.sync(["b"])


def test_bytes_are_counted_for_each_path():
    store = FaultyStore(MemoryStore())
    store.put("a", b"0123456789\nabc")
    store.put("b", b"01234")
    assert store.read("b") == b"01234"
    with store.open("a") as file:
        assert file.read(4) == b"0123"
        assert file.seek(2) == 2
        assert file.readline() == b"23456789\n"
        assert file.readinto(bytearray(2)) == 2
        assert file.tell() == 13
        assert file.read() == b"c"
        assert file.read() == b""
    assert store.bytes_read == {"a": 4 + 9 + 2 + 1, "b": 5}


def test_a_counted_file_is_a_file():
    store = FaultyStore(MemoryStore())
    store.put("a", b"1\n2\n")
    file = store.open("a")
    assert (file.readable(), file.seekable(), file.writable()) == (True, True, False)
    assert list(file) == [b"1\n", b"2\n"]
    file.seek(-2, io.SEEK_END)
    assert file.readall() == b"2\n"
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.read()


def test_counts_hold_when_threads_share_the_store():
    store = FaultyStore(MemoryStore(), [Fault("read", nth=50)])
    store.put("a", b"12345")
    failures = []

    def work(_number):
        try:
            store.read("a")
        except StorageError as error:
            failures.append(error)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(400)))
    assert (len(failures), store.count("read"), store.bytes_read["a"]) == (1, 400, 399 * 5)


def test_files_have_a_local_path_only_where_that_is_asked_for(tmp_path):
    inner = LocalStore(tmp_path)
    assert FaultyStore(inner).local_path("a") is None
    assert FaultyStore(inner, maps_files=True).local_path("a") == str(tmp_path / "a")


def test_the_reads_of_a_log_are_seen(tmp_path):
    table = TableBuilder(tmp_path).create().commit(add("x")).checkpoint().commit(add("y"))
    store = FaultyStore(LocalStore(tmp_path))
    assert DeltaLog(table.uri, store).snapshot().num_files == 2
    checkpoint = "_delta_log/00000000000000000001.checkpoint.parquet"
    assert store.count("open", r"checkpoint\.parquet$") >= 1
    assert store.bytes_read[checkpoint] > 0
    assert store.count("read", "0000.json") == 0
    assert store.calls["list_from", "_delta_log/00000000000000000001"] == 1
