# SPDX-License-Identifier: Apache-2.0
"""The Hadoop log store on a real HDFS: what it promises, what it does when a call fails, and what it refuses."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.hadoop.cluster import LISTED_AT_ONCE
from tests.support.observing import py4j_calls

import bayou
from bayou.errors import SessionError, StorageError
from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.relations import hadoop
from bayou.spark.jvm.relations.hadoop import HadoopError
from bayou.spark.native.session import hadoop_store
from bayou.spark.native.session.hadoop_store import HadoopStore, connect, open_hadoop_store, register_hadoop_stores
from bayou.spark.session.application import Application
from bayou.storage import open_store, qualify, register, unregister
from bayou.storage.object_stores.object_store import ObjectStore
from bayou.storage.registry import registered_name
from bayou.testing.log_store_conformance import LogStoreConformance

COMMIT = "_delta_log/00000000000000000000.json"


@pytest.fixture
def store(spark, folder):
    return connect(Jvm.of(spark), qualify(folder), {})


class TestHadoopStore(LogStoreConformance):
    def in_another_process(self, store):
        adapters = Adapters.of(Jvm.running()).load("bayou.Rule").getProtectionDomain().getCodeSource().getLocation().getPath()
        return f"from tests.hadoop.another_process import store_at; store = store_at({store._root!r}, {adapters!r})"


class Failing:
    """The files of a store, of which one method fails some times: before it has done anything, or after it has done all."""

    def __init__(self, files, method, *, afterwards, times=100):
        self._times = times
        self._files = files
        self._method = method
        self._afterwards = afterwards

    def __getattr__(self, name):
        found = getattr(self._files, name)
        if name != self._method or self._times == 0:
            return found
        self._times -= 1

        def call(*arguments, **options):
            if self._afterwards:
                found(*arguments, **options)
            raise HadoopError("ConnectException", "no answer came")

        return call


@pytest.mark.parametrize("afterwards", [False, True])
@pytest.mark.parametrize("method", ["write", "rename"])
def test_a_put_that_fails_raises_and_leaves_nothing_but_the_file(store, hdfs, folder, method, afterwards):
    store.put("_delta_log/first", b"")
    store._files = Failing(store._files, method, afterwards=afterwards)
    with pytest.raises(StorageError, match=r"ConnectException: no answer came.*correct the host"):
        store.put_if_absent(COMMIT, b"x")
    landed = method == "rename" and afterwards
    assert hdfs.names(f"{folder}/_delta_log") == (["00000000000000000000.json", "first"] if landed else ["first"])


def test_a_read_that_fails_once_is_made_again(store):
    store.put("_delta_log/_last_checkpoint", b"replaced while it was read")
    store._files = Failing(store._files, "read", afterwards=False, times=1)
    assert store.read("_delta_log/_last_checkpoint") == b"replaced while it was read"


def test_a_read_is_given_up_when_it_fails_twice_on_the_same_file(store):
    store.put("_delta_log/_last_checkpoint", b"x")
    store._files = Failing(store._files, "read", afterwards=False)
    with pytest.raises(StorageError, match="ConnectException: no answer came"):
        store.read("_delta_log/_last_checkpoint")
    assert store._files._times == 98


def test_a_rename_that_failed_and_can_take_place_no_more_has_lost_to_the_file_that_is_there(store, hdfs, folder):
    slow = HadoopStore(folder, Failing(store._files, "rename", afterwards=False))
    slow._exists = _first_not(slow._exists)
    store.put(COMMIT, b"the winner's")
    assert not slow.put_if_absent(COMMIT, b"x")
    assert store.read(COMMIT) == b"the winner's"
    assert hdfs.names(f"{folder}/_delta_log") == ["00000000000000000000.json"]


def _first_not(is_there):
    """Says "no" once, as if the file came between the look and the rename."""
    answers = iter([False])
    return lambda path: next(answers, None) is not False and is_there(path)


def test_losers_of_a_race_leave_no_temporary_files(store, hdfs, folder):
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda writer: store.put_if_absent(COMMIT, b"%d" % writer), range(8)))
    assert won.count(True) == 1
    assert hdfs.names(f"{folder}/_delta_log") == ["00000000000000000000.json"]


def test_a_file_is_listed_read_and_deleted_in_one_call_each_and_put_in_three(store, spark):
    data = os.urandom(100_000)
    store.put_if_absent("_delta_log/warm", data)
    actions = {
        "list": (1, lambda: list(store.list_from("_delta_log/"))),
        "read": (1, lambda: store.read("_delta_log/warm")),
        "size": (1, lambda: store.size("_delta_log/warm")),
        "put_if_absent": (3, lambda: store.put_if_absent("_delta_log/b", data)),
        "lost put_if_absent": (1, lambda: store.put_if_absent("_delta_log/b", data)),
        "put": (2, lambda: store.put("_delta_log/b", data)),
        "delete": (1, lambda: store.delete("_delta_log/b")),
    }
    for name, (most, action) in actions.items():
        with py4j_calls(spark) as calls:
            action()
        assert calls.value <= most, name


def test_many_files_are_listed_read_and_deleted_in_as_many_calls_as_few(store, spark):
    names = [f"_delta_log/{number:020d}.json" for number in range(3 * LISTED_AT_ONCE + 1)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: store._files.write(store._at(name), name.encode()), names))
    for chosen in (names[-2:], names[:-2]):
        with py4j_calls(spark) as calls:
            assert [file.path for file in store.list_from(chosen[0])] == chosen
        assert calls.value == 1
        with py4j_calls(spark) as calls:
            assert store.read_all(chosen) == [name.encode() for name in chosen]
        assert calls.value == 1
        with py4j_calls(spark) as calls:
            store._files.delete_all([store._at(name) for name in chosen])
        assert calls.value == 1


def test_what_is_too_much_for_one_call_crosses_in_parts(store, monkeypatch):
    monkeypatch.setattr(hadoop, "_PART_BYTES", 1 << 20)
    monkeypatch.setattr(hadoop, "_ENOUGH_BYTES", 1 << 20)
    data = os.urandom((17 << 20) + 3)
    store.put("large", data)
    assert store.size("large") == len(data)
    assert store.read("large") == data
    with store.open("large") as file:
        assert file.seek(-10, 2) == len(data) - 10
        assert file.read() == data[-10:]
        file.seek(5_000_000)
        assert file.read(3_000_000) == data[5_000_000:8_000_000]
    small = os.urandom(1 << 20)
    store.put("small", small)
    contents = store.read_all(["small", "large", "missing", *["small"] * 100])
    assert [contents[0], contents[1], *contents[3:]] == [small, data, *[small] * 100]
    assert isinstance(contents[2], FileNotFoundError)


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 2 << 20])
def test_parts_of_a_file_are_the_file(store, monkeypatch, size):
    monkeypatch.setattr(hadoop, "_PART_BYTES", 1 << 20)
    data = os.urandom(size)
    assert store.put_if_absent("a", data)
    assert store.read("a") == data
    with store.open("a") as file:
        assert file.read() == data


def test_what_the_name_node_refuses_is_one_line_without_a_trace(store, hdfs):
    store.put("a", b"")
    with hdfs.safe_mode(), pytest.raises(StorageError) as caught:
        store.put_if_absent("b", b"x")
    assert "SafeModeException: " in str(caught.value)
    assert "left its safe mode" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "org.apache" not in str(caught.value)
    assert isinstance(caught.value, OSError)
    assert store.put_if_absent("b", b"x")


def test_a_folder_below_a_file_is_an_error_when_written_and_missing_when_read(store):
    store.put("a", b"x")
    with pytest.raises(StorageError):
        store.put_if_absent("a/b", b"x")
    for call in (store.read, store.open, store.size):
        with pytest.raises(FileNotFoundError):
            call("a/b")
    with pytest.raises(FileNotFoundError):
        list(store.list_from("a/"))


def test_a_name_node_that_is_not_there_is_told_without_secrets():
    options = {"ipc.client.connect.max.retries": "0"}
    place = qualify("hdfs://user:secret@127.0.0.1:9/t")
    with pytest.raises(StorageError, match="ConnectException") as caught:
        connect(Jvm.running(), place, options).read("a")
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(connect(Jvm.running(), place, options))


def test_a_view_of_hdfs_is_served_and_other_views_are_refused(spark, hdfs, folder, tmp_path):
    links = "fs.viewfs.mounttable.views.link./"
    hdfs.files.mkdirs(hdfs.path(folder))
    options = {f"{links}data": folder, f"{links}disk": tmp_path.as_uri()}
    store = open_store(qualify("viewfs://views/data/t"), options)
    assert isinstance(store, HadoopStore)
    assert store.put_if_absent(COMMIT, b"x")
    assert not store.put_if_absent(COMMIT, b"y")
    store.put(COMMIT, b"z")
    assert store.read(COMMIT) == b"z"
    assert [file.path for file in store.list_from("_delta_log/")] == [COMMIT]
    assert hdfs.names(f"{folder}/t/_delta_log") == ["00000000000000000000.json"]
    with pytest.raises(StorageError, match=r"LocalFileSystem behind the view here, which is not known to rename atomically"):
        open_store(qualify("viewfs://views/disk/t"), options)
    with pytest.raises(StorageError):
        open_store(qualify("viewfs://views/t"), options)


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("fs.hdfs.impl", "org.apache.hadoop.fs.LocalFileSystem"),
        ("fs.hdfs.impl", "org.apache.hadoop.hdfs.ViewDistributedFileSystem"),
    ],
)
def test_another_file_system_under_an_allowed_scheme_is_refused_by_name(hdfs, folder, setting, name):
    with pytest.raises(StorageError, match="two writers could overwrite") as caught:
        open_store(qualify(folder), {setting: name, "fs.viewfs.mounttable.localhost.link./a": hdfs.uri})
    assert name in str(caught.value)
    assert "bayou.storage.register('hdfs', factory, replace=True)" in str(caught.value)


def test_a_file_system_that_the_session_lacks_is_named(spark):
    with pytest.raises(StorageError, match=r"azurebfs.*JAR"):
        open_store(qualify("abfss://box@account.dfs.core.windows.net/t"))


@pytest.mark.parametrize("scheme", ["s3a", "gs", "wasbs"])
def test_object_stores_are_no_hadoop_stores(spark, scheme):
    place = "container@account.blob.core.windows.net" if scheme == "wasbs" else "bucket"
    assert isinstance(open_store(qualify(f"{scheme}://{place}/t"), {}), ObjectStore)


def test_a_store_that_the_program_registered_stays(spark):
    mine = "my_package:store"
    register("hdfs", mine, replace=True)
    try:
        register_hadoop_stores()
        assert registered_name("hdfs") == mine
    finally:
        unregister("hdfs")
        register_hadoop_stores()
    assert registered_name("hdfs") == "bayou.spark.native.session.hadoop_store:open_hadoop_store"


def test_without_a_session_the_scheme_is_not_served(monkeypatch):
    monkeypatch.setattr(hadoop_store.Jvm, "running", lambda: None)
    with pytest.raises(StorageError, match=r"no session is active.*bayou\.enable"):
        open_hadoop_store(qualify("hdfs://nn/t"), {})


def test_a_session_without_adapters_does_not_serve_the_scheme(spark, folder, monkeypatch):
    def missing(jvm):
        raise SessionError("bayou's Java adapters cannot be compiled and loaded on this session: no compiler")

    monkeypatch.setattr(hadoop.Adapters, "of", missing)
    with pytest.raises(StorageError, match=r"'hdfs' is served by the Java adapters.*no compiler"):
        open_store(qualify(folder), {"dfs.client.retry.max.attempts": "9"})


@pytest.mark.parametrize("afterwards", [False, True])
def test_a_commit_whose_answer_was_lost_is_made_once(spark, folder, afterwards):
    bayou.write(spark.range(1).coalesce(1), folder)
    store = Application.of(spark).logs.get(folder, {}).store
    working = store._files
    store._files = Failing(working, "rename", afterwards=afterwards, times=1)
    try:
        assert bayou.write(spark.range(1).coalesce(1), folder, mode="append").version == 1
    finally:
        store._files = working
    assert bayou.read(spark, folder).count() == 2


def test_a_log_store_of_delta_spark_is_honored_or_refused(spark, folder):
    settings = Jvm.of(spark).context.conf()
    key = "spark.delta.logStore.hdfs.impl"
    try:
        settings.set(key, "io.delta.storage.HDFSLogStore")
        assert isinstance(open_store(qualify(folder)), HadoopStore)
        settings.set(key, "io.delta.storage.S3SingleDriverLogStore")
        with pytest.raises(StorageError, match="S3SingleDriverLogStore is not honored"):
            open_store(qualify(folder))
    finally:
        settings.remove(key)
    assert isinstance(open_store(qualify(folder)), HadoopStore)


def test_a_store_needs_no_call_to_be_opened_again(spark, folder):
    open_store(qualify(folder))
    with py4j_calls(spark) as calls:
        open_store(qualify(f"{folder}/other"))
    assert calls.value <= 6
