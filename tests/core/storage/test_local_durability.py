# SPDX-License-Identifier: Apache-2.0
"""What reaches the disk before a call returns, and what is left behind when the disk fails."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from bayou.errors import StorageError
from bayou.storage import LocalStore, durable_files
from bayou.testing.log_store_conformance import LogStoreConformance

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

COMMIT = "_delta_log/00000000000000000000.json"


def fail(code):
    def call(*_arguments, **_names):
        raise OSError(code, os.strerror(code))

    return call


def everything_under(folder):
    return sorted(str(each.relative_to(folder)) for each in Path(folder).rglob("*") if not each.is_dir())


@pytest.fixture
def steps(monkeypatch):
    """What was synced, linked and renamed, in order; temporary names are shortened to `.tmp`."""
    found = []
    fsync, link, replace = os.fsync, os.link, Path.replace
    lock = threading.Lock()

    def record(kind, path):
        with lock:
            found.append((kind, ".tmp" if path.endswith(".tmp") else path))

    def recorded_fsync(descriptor):
        record("sync", str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def recorded_link(source, target):
        record("link", str(target))
        link(source, target)

    def recorded_replace(self, target):
        record("replace", str(target))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "link", recorded_link)
    monkeypatch.setattr(Path, "replace", recorded_replace)
    return found


def test_a_commit_is_synced_before_its_name_and_its_name_before_the_answer(tmp_path, steps):
    (tmp_path / "_delta_log").mkdir()
    assert LocalStore(tmp_path).put_if_absent(COMMIT, b"x")
    log = f"{tmp_path}/_delta_log"
    assert steps == [("sync", ".tmp"), ("link", f"{tmp_path}/{COMMIT}"), ("sync", log)]


def test_new_folders_are_found_after_a_crash(tmp_path, steps):
    assert LocalStore(tmp_path / "new" / "table").put_if_absent(COMMIT, b"x")
    made = [str(tmp_path), f"{tmp_path}/new", f"{tmp_path}/new/table"]
    assert steps[:3] == [("sync", folder) for folder in made]
    assert [kind for kind, _ in steps[3:]] == ["sync", "link", "sync"]


def test_a_lost_race_syncs_nothing_but_its_own_file(tmp_path, steps, monkeypatch):
    store = LocalStore(tmp_path)
    store.put(COMMIT, b"theirs")
    steps.clear()
    monkeypatch.setattr(Path, "exists", lambda _self: False)
    assert not store.put_if_absent(COMMIT, b"ours")
    assert steps == [("sync", ".tmp"), ("link", f"{tmp_path}/{COMMIT}")]


def test_a_replaced_file_is_synced_before_its_name_and_its_name_before_the_answer(tmp_path, steps):
    (tmp_path / "_delta_log").mkdir()
    LocalStore(tmp_path).put("_delta_log/_last_checkpoint", b"x")
    target = f"{tmp_path}/_delta_log/_last_checkpoint"
    assert steps == [("sync", ".tmp"), ("replace", target), ("sync", f"{tmp_path}/_delta_log")]


def files_of(root, paths):
    for path in paths:
        file = Path(root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    return paths


def test_sync_reaches_every_file_and_each_folder_once(tmp_path, steps):
    paths = files_of(tmp_path, ["p-0", "a=1/b=1/p-1", "a=1/b=1/p-2", "a=1/b=2/p-3", "a=2/p-4"])
    files_of(tmp_path, [COMMIT, "a=3/not-asked-for"])
    LocalStore(tmp_path).sync([*paths, *paths])
    folders = ["", "/a=1", "/a=1/b=1", "/a=1/b=2", "/a=2"]
    synced = [path for _, path in steps]
    assert sorted(synced[:5]) == sorted(f"{tmp_path}/{path}" for path in paths)
    assert sorted(synced[5:]) == sorted(f"{tmp_path}{folder}" for folder in folders)


def test_sync_of_a_table_without_a_log_reaches_the_folders_above_it(tmp_path, steps):
    root = tmp_path / "new"
    LocalStore(root).sync(files_of(root, ["p-0"]))
    synced = [path for _, path in steps]
    assert synced[:4] == [f"{root}/p-0", str(root), str(tmp_path), str(tmp_path.parent)]
    assert len(set(synced)) == len(synced)


def test_sync_of_nothing_does_nothing(tmp_path, steps):
    LocalStore(tmp_path / "nowhere").sync([])
    assert steps == []


def test_sync_of_a_missing_file_is_an_error(tmp_path):
    files_of(tmp_path, ["p-0"])
    for paths in (["p-1"], ["p-0", "p-1"], ["p-0/under-a-file"]):
        with pytest.raises(FileNotFoundError):
            LocalStore(tmp_path).sync(paths)


@pytest.mark.parametrize("path", ["/etc/hostname", "../x", "a/../../x"])
def test_sync_stays_under_the_table(tmp_path, path):
    with pytest.raises(StorageError) as caught:
        LocalStore(tmp_path).sync([path])
    assert caught.value.file == path


def test_sync_names_the_file_that_could_not_be_synced(tmp_path, monkeypatch):
    paths = files_of(tmp_path, [f"p-{number}" for number in range(20)])
    fsync = os.fsync

    def fail_for_one(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").readlink().name == "p-7":
            fail(errno.EIO)()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_for_one)
    with pytest.raises(StorageError) as caught:
        LocalStore(tmp_path).sync(paths)
    assert (caught.value.file, caught.value.errno) == ("p-7", errno.EIO)


def test_a_file_system_that_cannot_sync_folders_is_taken_as_it_is(tmp_path, monkeypatch):
    fsync = os.fsync

    def refuse_folders(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").readlink().is_dir():
            fail(errno.EINVAL)()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    store = LocalStore(tmp_path / "table")
    assert store.put_if_absent(COMMIT, b"x")
    store.sync(files_of(tmp_path / "table", ["a=1/p-0"]))


@pytest.mark.parametrize(("code", "next_step"), [(errno.ENOSPC, "Free space"), (errno.EIO, "Check")])
def test_a_disk_that_fails_leaves_nothing_behind(tmp_path, monkeypatch, code, next_step):
    store = LocalStore(tmp_path)
    monkeypatch.setattr(os, "fsync", fail(code))
    for put in (store.put_if_absent, store.put):
        with pytest.raises(StorageError) as caught:
            put(COMMIT, b"x" * 100_000)
        assert caught.value.errno == code
        assert (caught.value.table, caught.value.file) == (str(tmp_path), COMMIT)
        assert next_step in caught.value.next_step
        assert everything_under(tmp_path) == []


def test_a_file_that_grows_too_large_leaves_nothing_behind(tmp_path):
    store = LocalStore(tmp_path)
    store.put(COMMIT, b"first")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(StorageError) as caught:
            store.put(COMMIT, b"x" * 3_000_000)
        with pytest.raises(StorageError):
            store.put_if_absent("_delta_log/00000000000000000001.json", b"x" * 3_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert everything_under(tmp_path) == [COMMIT]
    assert store.read(COMMIT) == b"first"


@contextlib.contextmanager
def without_privileges():
    """As a user who may not do everything, where the tests run as one who may."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_read_only_folder_is_an_error_and_stays_as_it_is():
    # Not below tmp_path, which other users cannot enter.
    with tempfile.TemporaryDirectory() as root:
        store = LocalStore(root)
        store.put(COMMIT, b"x")
        Path(root).chmod(0o555)
        Path(root, "_delta_log").chmod(0o555)
        with without_privileges():
            assert store.read(COMMIT) == b"x"
            assert not store.put_if_absent(COMMIT, b"y")
            for path in ("_delta_log/new", "new", "new-folder/new"):
                with pytest.raises(StorageError, match="Check the permissions") as caught:
                    store.put_if_absent(path, b"y")
                assert caught.value.errno == errno.EACCES
            with pytest.raises(StorageError):
                store.put(COMMIT, b"y")
            store.sync([COMMIT])
        assert everything_under(root) == [COMMIT]


def test_a_put_whose_folder_cannot_be_synced_raises_though_the_file_is_there(tmp_path, monkeypatch):
    (tmp_path / "_delta_log").mkdir()
    fsync = os.fsync

    def refuse_folders(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").readlink().is_dir():
            fail(errno.EIO)()
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    with pytest.raises(StorageError):
        LocalStore(tmp_path).put_if_absent(COMMIT, b"x")
    assert everything_under(tmp_path) == [COMMIT]


def test_a_temporary_file_that_cannot_be_deleted_does_not_hide_that_the_commit_landed(tmp_path, monkeypatch):
    store = LocalStore(tmp_path)
    unlink = Path.unlink

    def refuse_temporaries(self, *, missing_ok):
        if self.suffix == ".tmp":
            fail(errno.EIO)()
        unlink(self, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse_temporaries)
    assert store.put_if_absent(COMMIT, b"x")
    assert store.read(COMMIT) == b"x"


def test_a_folder_that_disappears_is_no_missing_file_to_a_writer(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", fail(errno.ENOENT))
    with pytest.raises(StorageError) as caught:
        LocalStore(tmp_path).put_if_absent(COMMIT, b"x")
    assert not isinstance(caught.value, FileNotFoundError)


class TestWithoutHardLinks(LogStoreConformance):
    """The exclusive rename keeps the guarantees alone."""

    @pytest.fixture
    def store(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "link", fail(errno.EPERM))
        return LocalStore(tmp_path / "table")

    def in_another_process(self, store):
        lines = ["import errno, os", "from bayou.storage import LocalStore", f"store = {store!r}"]
        refuse = ["def link(*names):", "    raise OSError(errno.EOPNOTSUPP, '')", "os.link = link"]
        return "\n".join([*lines, *refuse])


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS])
def test_without_hard_links_a_file_is_renamed_to_its_name(tmp_path, monkeypatch, code):
    monkeypatch.setattr(os, "link", fail(code))
    store = LocalStore(tmp_path)
    assert store.put_if_absent(COMMIT, b"first")
    monkeypatch.setattr(Path, "exists", lambda _self: False)
    assert not store.put_if_absent(COMMIT, b"second")
    assert store.read(COMMIT) == b"first"
    assert everything_under(tmp_path) == [COMMIT]


def test_any_other_failure_of_a_link_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", fail(errno.EIO))
    with pytest.raises(StorageError):
        LocalStore(tmp_path).put_if_absent(COMMIT, b"x")
    assert everything_under(tmp_path) == []


@pytest.mark.parametrize("has_call", [True, False])
def test_with_neither_links_nor_exclusive_renames_nothing_is_written(tmp_path, monkeypatch, has_call):
    def renameat2(*_arguments):
        durable_files.ctypes.set_errno(errno.EINVAL)
        return -1

    monkeypatch.setattr(os, "link", fail(errno.EPERM))
    monkeypatch.setattr(durable_files, "_renameat2", lambda: renameat2 if has_call else None)
    with pytest.raises(StorageError, match="hard links") as caught:
        LocalStore(tmp_path).put_if_absent(COMMIT, b"x")
    assert caught.value.next_step
    assert everything_under(tmp_path) == []


def test_an_exclusive_rename_does_not_replace(tmp_path):
    source, target = tmp_path / "ä source", tmp_path / "ä target"
    source.write_bytes(b"1")
    durable_files.rename_exclusively(source, target)
    assert target.read_bytes() == b"1"
    source.write_bytes(b"2")
    with pytest.raises(FileExistsError):
        durable_files.rename_exclusively(source, target)
    assert (source.read_bytes(), target.read_bytes()) == (b"2", b"1")
    with pytest.raises(FileNotFoundError):
        durable_files.rename_exclusively(tmp_path / "nothing", tmp_path / "x")
