# SPDX-License-Identifier: Apache-2.0
"""A fork leaves lists of files and the folders of streams to the process that wrote them."""

from __future__ import annotations

import gc
import os

import pytest

from bayou.spark.portable.scan import carrier as carriers
from bayou.spark.portable.scan.carrier import Carrier
from bayou.spark.portable.scan.manifest import LIST, Numbers
from bayou.spark.portable.scratch.folders import Scratch
from bayou.spark.portable.streams.folder import StreamFolder
from bayou.storage import open_store, qualify


@pytest.fixture
def scratch(tmp_path):
    return Scratch(str(tmp_path), open_store(qualify(str(tmp_path))))


@pytest.fixture
def as_fork(monkeypatch):
    """Return a function that makes this process look like a fork of itself, and one that ends this."""
    process = os.getpid()
    return lambda: monkeypatch.setattr(os, "getpid", lambda: process + 1), monkeypatch.undo


@pytest.mark.parametrize("is_fork", [False, True], ids=["same process", "fork"])
def test_a_fork_deletes_no_lists_that_it_inherited(scratch, tmp_path, as_fork, is_fork):
    carriers._delete_discarded()
    list_file = tmp_path / "0-list" / LIST
    scratch.put(f"0-list/{LIST}", b"v1")
    made = Carrier(scratch, "file:///t", 0, "0-list", Numbers.of(0), 2)
    begin, end = as_fork
    if is_fork:
        begin()
    del made
    gc.collect()
    carriers._delete_discarded()
    assert list_file.exists() == is_fork
    end()


def test_a_fork_deletes_no_folder_of_a_stream(scratch, tmp_path, as_fork):
    folder = StreamFolder(scratch)
    folder.create()
    begin, end = as_fork
    begin()
    folder.delete()
    assert (tmp_path / folder.name / LIST).exists()
    end()
    folder.delete()
    assert not (tmp_path / folder.name).exists()
