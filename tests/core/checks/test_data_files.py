# SPDX-License-Identifier: Apache-2.0
"""The sizes of the files that a log names, in a folder that has more than files."""

from __future__ import annotations

import os
import sys

import pyarrow as pa
import pytest

from bayou.checks.data_files import DataFolder
from bayou.errors import StorageError
from bayou.storage import MemoryStore, open_store, qualify

NAMES = ("a/file", "a/b%C3%BC%20%25", "top", "a/missing", "none/file", "a/file/below", "a/folder")


def sizes(folder, names):
    return dict(zip(names, folder.sizes(pa.chunked_array([names], pa.string())).to_pylist(), strict=True))


@pytest.fixture
def folder(tmp_path):
    """A folder of the local disk with files of 1, 2 and 3 bytes."""
    (tmp_path / "a" / "folder").mkdir(parents=True)
    for size, name in enumerate(("a/file", "a/bü %", "top"), 1):
        (tmp_path / name).write_bytes(b"x" * size)
    return tmp_path


def of_disk(path):
    place = qualify(path)
    return DataFolder(place.uri, open_store(place, {}), {})


def of_memory(path):
    store = MemoryStore()
    for file in path.rglob("*"):
        if file.is_file():
            store.put(file.relative_to(path).as_posix(), file.read_bytes())
    return DataFolder("memory://table", store, {})


@pytest.mark.parametrize("open_folder", [of_disk, of_memory])
def test_a_missing_file_has_no_size(folder, open_folder):
    expected = dict.fromkeys(NAMES) | {"a/file": 1, "a/b%C3%BC%20%25": 2, "top": 3}
    assert sizes(open_folder(folder), NAMES) == expected


def test_the_folder_of_a_table_without_files_is_not_listed(tmp_path):
    assert sizes(of_disk(tmp_path / "missing"), ()) == {}


def test_an_absolute_path_may_name_a_file_outside_of_the_table(folder):
    names = (f"{folder}/a/file", f"file:{folder}/a/b%C3%BC%20%25", f"file://{folder}/top", f"{folder}/a/missing")
    assert list(sizes(of_disk(folder / "a" / "folder"), names).values()) == [1, 2, 3, None]


def test_a_link_has_the_size_of_its_file(folder):
    for name, target in (("to_file", "file"), ("to_nothing", "nothing"), ("to_itself", "to_itself")):
        (folder / "a" / name).symlink_to(target)
    (folder / "link").symlink_to("a")
    expected = {"a/to_file": 1, "link/file": 1, "a/to_nothing": None, "a/to_itself": None}
    assert sizes(of_disk(folder), tuple(expected)) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse a name that is not Unicode")
def test_a_name_that_no_log_can_have_does_not_hide_the_others(folder):
    (folder / "a" / os.fsdecode(b"\xff")).write_bytes(b"")
    assert sizes(of_disk(folder), ("a/file",)) == {"a/file": 1}


def test_a_folder_that_cannot_be_read_is_not_an_empty_one(folder, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr("bayou.checks.data_files.fs.LocalFileSystem", refuse)
    with pytest.raises(StorageError, match="Permission denied"):
        sizes(of_disk(folder), ("a/file",))
