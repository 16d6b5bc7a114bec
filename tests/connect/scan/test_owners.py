# SPDX-License-Identifier: Apache-2.0
"""Whose folder for lists of files is deleted: without a server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bayou.spark.portable.scratch import owners
from bayou.spark.portable.scratch.owners import OWNER, PREFIX, delete_orphans, disown, own
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAY = 24 * 3600


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[str]:
    """The name of this process's folder."""
    name = f"{PREFIX}mine"
    store = open_store(qualify(str(tmp_path)))
    own(store, f"{name}/")
    yield name
    disown(store, f"{name}/")


def swept(tmp_path: Path, mine: str) -> set[str]:
    """The folders that are left."""
    delete_orphans(open_store(qualify(str(tmp_path))), "", mine)
    return {path.name.removeprefix(PREFIX) for path in tmp_path.iterdir()}


def client(tmp_path: Path, name: str, machine: str | None, age: float) -> None:
    """The folder of another client that is gone, with a list, and a mark of some age in seconds."""
    folder = tmp_path / f"{PREFIX}{name}"
    (folder / "0-abc/_spark_metadata").mkdir(parents=True)
    (folder / "0-abc/_spark_metadata/0").write_text("v1")
    if machine is not None:
        (folder / OWNER).write_text(machine)
    now = (tmp_path / f"{PREFIX}mine" / OWNER).stat().st_mtime
    for path in folder.rglob("*"):
        os.utime(path, (now - age, now - age))


def test_folders_of_clients_that_are_gone_are_deleted(tmp_path: Path, mine: str) -> None:
    client(tmp_path, "this machine", owners._machine(), 1)
    client(tmp_path, "another machine, silent for two days", "another", 2 * DAY)
    client(tmp_path, "without a mark for two days", None, 2 * DAY)
    assert swept(tmp_path, mine) == {"mine"}


def test_folders_of_clients_that_may_run_are_kept(tmp_path: Path, mine: str) -> None:
    client(tmp_path, "another machine", "another", DAY / 2)
    client(tmp_path, "just begun", None, 1)
    (tmp_path / "other").mkdir()
    assert swept(tmp_path, mine) == {"mine", "another machine", "just begun", "other"}


def test_a_folder_whose_mark_is_locked_is_kept(tmp_path: Path, mine: str) -> None:
    other = f"{PREFIX}other"
    store = open_store(qualify(str(tmp_path)))
    own(store, f"{other}/")
    assert [path.name for path in (tmp_path / other).iterdir()] == [OWNER]
    assert swept(tmp_path, mine) == {"mine", "other"}
    before = (tmp_path / other / OWNER).stat().st_mtime - 2 * DAY  # as after the sleep of a machine, which renews no marks
    os.utime(tmp_path / other / OWNER, (before, before))
    assert swept(tmp_path, mine) == {"mine", "other"}
    disown(store, f"{other}/")
    assert not (tmp_path / other / OWNER).exists()


def test_a_mark_is_locked_before_others_see_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")
    seen: list[bool] = []
    lock = fcntl.flock

    def flock(file: object, how: int) -> None:
        seen.append((tmp_path / "x" / OWNER).exists())
        lock(file, how)

    monkeypatch.setattr(owners.fcntl, "flock", flock)
    store = open_store(qualify(str(tmp_path)))
    own(store, "x/")
    disown(store, "x/")
    assert seen == [False]
