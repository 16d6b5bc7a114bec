# SPDX-License-Identifier: Apache-2.0
"""A store without some files: they cannot be listed, read or measured, until they are written through it."""

from __future__ import annotations

import pytest

from bayou.errors import StorageError
from bayou.repairs.hidden_files import HiddenFiles
from bayou.storage import LogStore, MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore


@pytest.fixture
def store():
    found = MemoryStore()
    for name in ("a", "b"):
        found.put(f"_delta_log/{name}", name.encode())
    return found


def names(store):
    return [each.name for each in store.list_from("_delta_log/")]


def test_it_is_a_log_store(store):
    assert isinstance(HiddenFiles(store, ()), LogStore)


def test_a_hidden_file_does_not_exist(store):
    hidden = HiddenFiles(store, ["_delta_log/a"])
    assert names(hidden) == ["b"]
    for call in (hidden.read, hidden.open, hidden.size):
        with pytest.raises(FileNotFoundError):
            call("_delta_log/a")
    assert hidden.local_path("_delta_log/a") is None
    assert (hidden.read("_delta_log/b"), hidden.size("_delta_log/b")) == (b"b", 1)
    assert names(store) == ["a", "b"]


@pytest.mark.parametrize("call", ["read", "open", "size", "list_from"])
def test_a_failure_of_the_store_is_noted(store, call):
    hidden = HiddenFiles(FaultyStore(store, [Fault(None, times=1)]), ())
    with pytest.raises(StorageError) as caught:
        getattr(hidden, call)("_delta_log/b")
    assert hidden.failure is caught.value


@pytest.mark.parametrize("method", ["put", "put_if_absent"])
def test_a_file_that_is_written_is_visible_again(store, method):
    hidden = HiddenFiles(store, ["_delta_log/a"])
    assert getattr(hidden, method)("_delta_log/a", b"new") in {None, True}
    assert names(hidden) == ["a", "b"]
    assert hidden.read("_delta_log/a") == store.read("_delta_log/a") == b"new"


def test_an_existing_file_is_not_replaced_by_put_if_absent(store):
    assert not HiddenFiles(store, ()).put_if_absent("_delta_log/a", b"new")


def test_deleting_reaches_the_store(store):
    HiddenFiles(store, ["_delta_log/a"]).delete("_delta_log/a")
    assert names(store) == ["b"]
