# SPDX-License-Identifier: Apache-2.0
"""Copies of files: all of them, or none is left."""

from __future__ import annotations

import errno
import shutil
import threading

import pytest

from bayou.errors import StorageError
from bayou.storage import LocalStore
from bayou.storage import copies as module
from bayou.storage.copies import FileCopy, copy_files
from bayou.storage.memory import MemoryStore


@pytest.fixture
def stores(tmp_path):
    for name in ("source", "target"):
        (tmp_path / name).mkdir()
    return LocalStore(tmp_path / "source"), LocalStore(tmp_path / "target")


def test_a_name_may_be_as_long_as_names_can_be(tmp_path, stores):
    source, target = stores
    name = "n" * 255
    (tmp_path / "source" / name).write_bytes(b"x")
    copy_files(target, [FileCopy(source, name, name)])
    assert [(each.name, each.read_bytes()) for each in (tmp_path / "target").iterdir()] == [(name, b"x")]


def test_after_a_failure_no_further_file_is_copied_and_none_is_left(tmp_path, stores, monkeypatch):
    source, target = stores
    names = [f"f{number}" for number in range(200)]
    for name in names[1:]:
        (tmp_path / "source" / name).write_bytes(b"x")
    begun, failed = [], threading.Event()
    copied = module._copied_on_disk

    def slowly(one, place, begin):
        begun.append(one.name)
        if one.name != "f0":
            failed.wait(5)
            return copied(one, place, begin)
        try:
            return copied(one, place, begin)
        finally:
            threading.Timer(0.2, failed.set).start()

    monkeypatch.setattr(module, "_copied_on_disk", slowly)
    with pytest.raises(FileNotFoundError):
        copy_files(target, [FileCopy(source, name, name) for name in names])
    assert len(begun) < 20
    assert list((tmp_path / "target").iterdir()) == []


def test_what_the_disk_says_is_an_error_of_the_store_that_names_the_file(tmp_path, stores, monkeypatch):
    source, target = stores
    (tmp_path / "source" / "f").write_bytes(b"x")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(StorageError, match="No space left") as caught:
        copy_files(target, [FileCopy(source, "f", "g")])
    assert caught.value.file == "g"
    (tmp_path / "target" / "g").write_bytes(b"y")
    monkeypatch.undo()
    with pytest.raises(StorageError, match="Another program"):
        copy_files(target, [FileCopy(source, "f", "g")])
    assert (tmp_path / "target" / "g").read_bytes() == b"y"


@pytest.mark.parametrize("names", [["f"], ["missing"]])
def test_a_file_of_another_program_stays_after_a_failure_before_the_copy(tmp_path, stores, monkeypatch, names):
    source, target = stores
    (tmp_path / "source" / "f").write_bytes(b"x")
    for name in names:
        (tmp_path / "target" / name).write_bytes(b"of another program")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    if "f" in names:
        monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(OSError, match=r"No space|No such file"):
        copy_files(target, [FileCopy(source, name, name) for name in names])
    assert all((tmp_path / "target" / name).read_bytes() == b"of another program" for name in names)


def test_a_file_that_cannot_be_read_deletes_none_of_the_same_name(stores):
    class Failing(MemoryStore):
        def read(self, path):
            raise StorageError("the server is busy", file=path)

    target = MemoryStore()
    target.put("f", b"of another program")
    with pytest.raises(StorageError, match="busy"):
        copy_files(target, [FileCopy(Failing(), "f", "f")])
    assert target.read("f") == b"of another program"
