# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys

import pytest

import bayou
from bayou.errors import InvalidOptionError, StorageError
from bayou.storage import LocalStore, MemoryStore, open_store, qualify, register, registered_schemes, unregister
from bayou.testing.table_builder import TableBuilder


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr("bayou.storage.registry._registered", {})


def in_memory(place, options):
    store = MemoryStore()
    store.place, store.options = place, options
    return store


class FromPlace:
    """A factory that is found below a class by its name."""

    @staticmethod
    def make(place, options):
        return in_memory(place, options)


def test_the_store_of_a_local_path_is_the_local_one(tmp_path):
    assert isinstance(open_store(qualify(tmp_path)), LocalStore)
    assert isinstance(open_store(qualify(f"FILE://{tmp_path}")), LocalStore)
    assert {"file", "s3", "s3a", "gs", "abfss"} <= set(registered_schemes())


def test_a_registered_store_serves_its_scheme_in_any_case():
    register("Mem", in_memory)
    store = open_store(qualify("MEM://bucket/t/"), {"token": "x"})
    assert (store.place.uri, store.options) == ("mem://bucket/t", {"token": "x"})
    assert open_store(qualify("mem://bucket/t")).options == {}
    assert "mem" in registered_schemes()


def test_a_table_is_opened_through_a_registered_store():
    store = MemoryStore()
    TableBuilder(store=store).create()
    register("mem", lambda _place, _options: store)
    assert bayou.open("mem://bucket/t").version() == 0


def test_a_scheme_is_replaced_only_when_that_is_said():
    register("mem", in_memory)
    with pytest.raises(InvalidOptionError, match=r"'mem'.*:in_memory.*replace=True"):
        register("MEM", LocalStore)
    register("mem", lambda place, _: LocalStore(place.uri), replace=True)
    assert isinstance(open_store(qualify("mem://x/y")), LocalStore)


def test_local_paths_can_be_given_to_another_store(tmp_path):
    with pytest.raises(InvalidOptionError, match="already served"):
        register("file", in_memory)
    register("file", in_memory, replace=True)
    assert open_store(qualify(tmp_path)).place.local == str(tmp_path)
    unregister("FILE")
    assert isinstance(open_store(qualify(tmp_path)), LocalStore)


def test_unregistering_is_idempotent():
    register("mem", in_memory)
    unregister("MEM")
    unregister("mem")
    with pytest.raises(StorageError, match="'mem'"):
        open_store(qualify("mem://x/y"))


@pytest.mark.parametrize("scheme", ["", "c", "mem:", "mem://", "1a", "a b", "ä1"])
def test_a_scheme_that_no_uri_can_have_is_refused(scheme):
    with pytest.raises(InvalidOptionError, match="scheme"):
        register(scheme, in_memory)


@pytest.mark.parametrize("name", ["", "module", "module:", ":Name", "a b:c", "module:Name:x", "module.:x", "../x:y"])
def test_a_factory_name_that_names_nothing_is_refused(name):
    with pytest.raises(InvalidOptionError, match="factory"):
        register("mem", name)


def test_a_factory_is_imported_by_its_name_on_first_use(tmp_path, monkeypatch):
    (tmp_path / "stores_of_a_test.py").write_text(
        "from bayou.storage import MemoryStore\nclass Outer:\n    make = lambda place, options: MemoryStore()\n"
    )
    register("mem", "stores_of_a_test:Outer.make")
    assert "stores_of_a_test" not in sys.modules
    monkeypatch.syspath_prepend(tmp_path)
    assert isinstance(open_store(qualify("mem://x/y")), MemoryStore)
    monkeypatch.delitem(sys.modules, "stores_of_a_test")


@pytest.mark.parametrize("name", ["no_such_module_at_all:Store", "bayou.storage:NoSuchStore"])
def test_a_factory_that_cannot_be_imported_is_named(name):
    register("mem", name)
    with pytest.raises(StorageError) as caught:
        open_store(qualify("mem://key:secret@x/y"))
    assert name in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_is_no_log_store_is_refused_by_what_it_lacks():
    class Half(MemoryStore):
        sync = None
        put_if_absent = None

    register("mem", lambda _place, _options: Half())
    with pytest.raises(StorageError, match=r"Half.*put_if_absent, sync"):
        open_store(qualify("mem://x/y"))


@pytest.mark.parametrize("scheme", ["adl", "oss"])
def test_object_stores_without_a_store_are_refused_by_name(scheme):
    with pytest.raises(StorageError) as caught:
        open_store(qualify(f"{scheme.upper()}://key:secret@bucket/t"))
    text = str(caught.value)
    assert f"{scheme!r} (" in text
    assert " yet" in text
    assert f"bayou.storage.register({scheme!r}, factory)" in text
    assert "secret" not in text


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n", "gs", "wasb", "wasbs", "az"])
def test_credentials_in_the_uri_of_an_object_store_are_refused_and_not_shown(scheme):
    with pytest.raises(InvalidOptionError) as caught:
        open_store(qualify(f"{scheme.upper()}://key:secret@bucket/t"))
    assert "secret" not in str(caught.value)
    register(scheme, in_memory)  # a program may bring a store of its own
    assert isinstance(open_store(qualify(f"{scheme}://name/t")), MemoryStore)


@pytest.mark.parametrize("scheme", ["hdfs", "viewfs"])
def test_schemes_of_hadoop_ask_for_a_session(scheme):
    with pytest.raises(StorageError, match=r"bayou\.enable\(spark\)") as caught:
        open_store(qualify(f"{scheme}://name/t"))
    assert caught.value.table == f"{scheme}://name/t"
    register(scheme, in_memory)
    assert isinstance(open_store(qualify(f"{scheme}://name/t")), MemoryStore)


def test_a_scheme_that_nobody_knows_is_refused_by_name():
    with pytest.raises(StorageError, match="'ftp'") as caught:
        open_store(qualify("ftp://host/t"))
    assert " yet" not in str(caught.value)


def test_storage_and_listeners_are_reached_from_the_package_without_spark_or_arrow():
    code = (
        "import bayou, sys; bayou.storage.register('mem', 'a:b'); bayou.add_listener(print)()\n"
        "assert 'storage' in dir(bayou) and bayou.storage is sys.modules['bayou.storage']\n"
        "print(sorted({'pyspark', 'py4j', 'pyarrow', 'numpy'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert (run.stdout, run.stderr) == ("[]\n", "")
