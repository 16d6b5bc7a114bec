# SPDX-License-Identifier: Apache-2.0
"""One file by many spellings of its URI: as the table, and in the log."""

from __future__ import annotations

import os
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayou
from bayou.log.actions.keys import canonical_paths
from bayou.protocol.actions.paths import canonical, to_uri
from bayou.storage import MemoryStore, qualify
from bayou.testing.table_builder import TableBuilder, add, remove

FILE_ROOTS = ["/", "//", "file:/", "file:///", "file://localhost/", "file://LOCALHOST/", "FILE:/", "File:///", "FILE://LocalHost//"]
HDFS_ROOTS = ["hdfs://name:8020/", "HDFS://name:8020/", "hdfs://NAME:8020/", "hdfs://name:8020//", "Hdfs://Name:8020/./"]
NAMES = st.text("aB% é:.+", min_size=1, max_size=8).filter(lambda name: name.strip("."))


def spelled(root, *names):
    """The path below a root with its characters percent-encoded, some of them needlessly."""
    chooser = random.Random(repr((root, names)))
    return root + "/".join(
        "".join(each if each.isalnum() and each.isascii() and chooser.random() < 0.7 else percent(each) for each in name)
        for name in names
    )


def percent(character):
    return "".join(f"%{byte:02X}" for byte in character.encode())


@pytest.mark.parametrize("root", FILE_ROOTS)
@given(names=st.lists(NAMES, min_size=1, max_size=3))
def test_a_file_below_the_table_has_one_key_and_one_place(root, names):
    path = spelled(root, "data", "t", *names)
    for table in ("file:///data/t", "/data/t", "file://localhost/data/t", "FILE:///data/t/"):
        assert canonical(path, table) == "/".join(names)
        assert canonical_paths(pa.chunked_array([[path]]), table).to_pylist() == ["/".join(names)]
    assert qualify(to_uri(path, "file:///elsewhere")).local == os.path.normpath("/data/t/" + "/".join(names))


@pytest.mark.parametrize("root", HDFS_ROOTS)
def test_a_file_on_another_file_system_has_one_key(root):
    path = f"{root}data/t/a%20b"
    assert canonical(path, "hdfs://name:8020/data/t") == "a b"
    assert canonical(path, "file:///data/t") == "hdfs://name:8020/data/t/a b"
    assert to_uri(path, "file:///data/t").startswith("hdfs://")


@pytest.mark.parametrize("other", ["s3a://Bucket/x", "s3a://bucket/X", "gs://bucket/x", "hdfs://bucket/x", "/bucket/x"])
def test_other_places_have_other_keys(other):
    assert canonical("s3a://bucket/x", "file:///t") != canonical(other, "file:///t")


@pytest.mark.parametrize("other", ["s3://bucket/x", "S3N://bucket/x", "s3a://bucket//x"])
def test_an_object_has_one_key_under_all_schemes_of_its_store(other):
    assert canonical("s3a://bucket/x", "file:///t") == canonical(other, "file:///t")
    assert canonical(f"{other}/y", "s3a://bucket/x") == "y"


@pytest.mark.parametrize("root", FILE_ROOTS)
@pytest.mark.parametrize("end", ["", "/", "//", "/."])
def test_a_table_is_opened_by_every_spelling(root, end, tmp_path):
    TableBuilder(tmp_path / "t").create(actions=[add("a")])
    path = f"{root}{str(tmp_path).lstrip('/')}/t{end}"
    log = bayou.open(path)
    assert log.table_uri == f"file://{tmp_path}/t"
    assert log.snapshot().num_files == 1


@pytest.mark.parametrize("path", ["file:///data/t", "hdfs://name/data/t", "s3a://bucket/t"])
def test_a_qualified_path_stays_as_it_is(path):
    once = qualify(path.upper().replace("DATA/T", "data/t").replace("BUCKET/T", "bucket/t").replace("NAME", "name"))
    assert once.uri == path
    assert qualify(once.uri) == once


@given(st.sampled_from(FILE_ROOTS), st.sampled_from(FILE_ROOTS))
def test_a_remove_takes_out_what_another_spelling_added(first, second):
    builder = TableBuilder(store=MemoryStore()).create()
    root = builder.uri.removeprefix("file:///")
    builder.commit(add(f"{first}{root}/x%20y"), add("z")).commit(remove(f"{second}{root}/x%20y"))
    assert builder.log().snapshot().files(["path"])["path"].to_pylist() == ["z"]
    builder.checkpoint().commit(remove(f"{first}{root}/z"))
    assert builder.log().snapshot().num_files == 0
