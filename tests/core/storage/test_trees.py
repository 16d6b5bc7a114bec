# SPDX-License-Identifier: Apache-2.0
"""Trees of files on the local disk, and stores that have no operations for trees."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

from bayou.errors import StorageError
from bayou.storage import LocalStore, MemoryStore, TreeStore, delete_many, list_tree
from bayou.storage.trees import tree_schema


class PlainStore:
    """A store with the operations of a log store alone."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        if name in {"list_folders", "delete_many"}:
            raise AttributeError(name)
        return getattr(self._inner, name)


def paths(store, *shown):
    return sorted(row["path"] for batch in list_tree(store, shown) for row in batch.to_pylist())


def test_a_link_to_a_folder_is_not_shown_and_nobody_walks_through_it(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x")
    table = tmp_path / "table"
    table.mkdir()
    (table / "link").symlink_to(outside)
    store = LocalStore(table)
    assert paths(store) == []
    assert store.list_folders([""], ())[0].num_entries == 1
    done = store.delete_many(["link/precious"])
    assert done.deleted == 0
    assert list(done.failed) == ["link/precious"]
    assert "outside the table" in str(done.failed["link/precious"])
    assert (outside / "precious").exists()
    assert store.delete_many(["link"]).deleted == 1
    assert (outside / "precious").exists()


def test_the_tables_own_folder_may_be_a_link(tmp_path):
    real = tmp_path / "real"
    (real / "p=1").mkdir(parents=True)
    (real / "p=1" / "a").write_bytes(b"x")
    (tmp_path / "link").symlink_to(real)
    store = LocalStore(tmp_path / "link")
    assert paths(store) == ["p=1", "p=1/a"]
    assert store.delete_many(["p=1/a"]).deleted == 1


def test_a_folder_is_deleted_where_it_is_empty_alone(tmp_path):
    store = LocalStore(tmp_path)
    (tmp_path / "empty").mkdir()
    store.put("full/a", b"x")
    done = store.delete_many(["empty", "full"])
    assert (done.deleted, dict(done.failed)) == (1, {})
    assert paths(store) == ["full", "full/a"]


def test_the_checksum_that_hadoop_keeps_goes_with_its_file(tmp_path):
    store = LocalStore(tmp_path)
    store.put("p=1/a", b"x")
    (tmp_path / "p=1" / ".a.crc").write_bytes(b"crc")
    store.delete_many(["p=1/a"])
    assert list((tmp_path / "p=1").iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root deletes what it likes")
def test_what_cannot_be_deleted_is_named_and_the_rest_is_deleted(tmp_path):
    store = LocalStore(tmp_path)
    store.put("locked/a", b"x")
    store.put("b", b"x")
    (tmp_path / "locked").chmod(0o500)
    done = store.delete_many(["locked/a", "b"])
    assert (done.deleted, list(done.failed)) == (1, ["locked/a"])


def test_many_folders_and_files_come_in_batches(tmp_path):
    store = LocalStore(tmp_path)
    for number in range(300):
        folder = tmp_path / f"p={number}" / "q"
        folder.mkdir(parents=True)
        (folder / "a").write_bytes(b"")
    batches = list(list_tree(store))
    assert all(batch.schema == tree_schema() for batch in batches)
    rows = pa.Table.from_batches(batches)
    assert rows.num_rows == 900
    assert rows["is_folder"].to_pylist().count(True) == 600


def test_a_store_without_operations_for_trees_is_walked_on_the_disk_and_deletes_one_by_one(tmp_path):
    store = PlainStore(LocalStore(tmp_path))
    assert not isinstance(store, TreeStore)
    store.put("p=1/a", b"x")
    assert paths(store) == ["p=1", "p=1/a"]
    assert delete_many(store, ["p=1/a"]).deleted == 1
    assert paths(store) == ["p=1"]


def test_a_store_that_cannot_list_folders_says_what_it_lacks():
    with pytest.raises(StorageError, match="list_folders"):
        list(list_tree(PlainStore(MemoryStore())))
