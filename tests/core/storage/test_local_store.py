# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from bayou.errors import StorageError
from bayou.protocol.actions.file_names import commit_path
from bayou.storage import LocalStore
from bayou.testing.log_store_conformance import LogStoreConformance


class TestLocalStore(LogStoreConformance):
    @pytest.fixture
    def store(self, tmp_path):
        return LocalStore(tmp_path / "table")

    def in_another_process(self, store):
        return f"from bayou.storage import LocalStore; store = {store!r}"


def test_no_temporary_file_is_left_behind(tmp_path):
    store = LocalStore(tmp_path)
    store.put_if_absent("_delta_log/a", b"1")
    store.put_if_absent("_delta_log/a", b"2")
    store.put("_delta_log/a", b"3")
    assert [each.name for each in (tmp_path / "_delta_log").iterdir()] == ["a"]


def test_a_stale_hadoop_checksum_is_deleted_with_every_write(tmp_path):
    store = LocalStore(tmp_path)
    sibling = tmp_path / "_delta_log" / "._last_checkpoint.crc"
    for write in (store.put, store.put_if_absent, lambda path, _: store.delete(path)):
        store.delete("_delta_log/_last_checkpoint")
        sibling.parent.mkdir(exist_ok=True)
        sibling.write_bytes(b"crc")
        write("_delta_log/_last_checkpoint", b"{}")
        assert not sibling.exists()


@pytest.mark.parametrize("what", ["link to nothing", "link to itself", "link to a folder", "folder"])
def test_what_hides_a_commit_is_listed_and_cannot_be_read(what, tmp_path):
    store = LocalStore(tmp_path)
    store.put(commit_path(0), b"{}")
    for name in ("00000000000000000001.json", "x"):
        place = tmp_path / "_delta_log" / name
        if what == "folder":
            place.mkdir()
        else:
            place.symlink_to({"link to nothing": tmp_path / "gone", "link to itself": place}.get(what, tmp_path))
    assert [each.path for each in store.list_from("_delta_log/")] == [commit_path(0), commit_path(1)]
    with pytest.raises((FileNotFoundError, StorageError)):
        store.read(commit_path(1))
    assert not store.put_if_absent(commit_path(1), b"{}")


def test_a_link_to_a_file_is_that_file(tmp_path):
    store = LocalStore(tmp_path)
    (tmp_path / "elsewhere").write_bytes(b"12345")
    store.put(commit_path(0), b"{}")
    (tmp_path / commit_path(1)).symlink_to(tmp_path / "elsewhere")
    assert [each.size for each in store.list_from("_delta_log/")] == [2, 5]


def test_a_failure_of_the_file_system_names_table_and_file(tmp_path):
    (tmp_path / "_delta_log").write_bytes(b"a file where the folder should be")
    with pytest.raises(StorageError) as caught:
        LocalStore(tmp_path).put_if_absent("_delta_log/a", b"x")
    assert caught.value.table == str(tmp_path)
    assert caught.value.file == "_delta_log/a"


def test_a_file_is_found_on_disk(tmp_path):
    store = LocalStore(tmp_path)
    store.put("_delta_log/a", b"x")
    assert Path(store.local_path("_delta_log/a")).read_bytes() == b"x"
