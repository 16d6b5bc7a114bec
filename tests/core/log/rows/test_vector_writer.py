# SPDX-License-Identifier: Apache-2.0
"""The deletion vector files of a commit: how vectors are packed, where they lie, and that they can be taken back."""

from __future__ import annotations

import re

import pytest

from bayou.errors import StorageError
from bayou.log.rows.vector_writer import VectorFiles
from bayou.protocol.deletion_vectors.descriptor import Bitmap, decode_inline, encode, read_from_file
from bayou.storage import LocalStore, MemoryStore

VECTORS = [Bitmap.from_positions(range(start, start + 900, 2)) for start in range(7)]
SIZE = len(encode(VECTORS[0])) + 8


def held(store, descriptors):
    return [read_from_file(store.read(each.relative_path), each).to_list() for each in descriptors]


@pytest.mark.parametrize(("target", "files"), [(1, 7), (3 * SIZE - 1, 4), (3 * SIZE, 3), (1 << 20, 1)])
def test_vectors_are_packed_into_files_up_to_a_size(target, files):
    store = MemoryStore()
    vectors = VectorFiles(store, "memory:/t", {}, target_bytes=target)
    descriptors = vectors.write(VECTORS)
    assert held(store, descriptors) == [each.to_list() for each in VECTORS]
    assert [each.cardinality for each in descriptors] == [450] * 7
    assert len(vectors.paths) == files
    assert {each.storage_type for each in descriptors} == {"u"}
    assert len({each.unique_id for each in descriptors}) == 7


def test_files_lie_in_the_root_of_a_plain_table():
    vectors = VectorFiles(MemoryStore(), "memory:/t", {})
    vectors.write(VECTORS)
    assert all(re.fullmatch(r"deletion_vector_[0-9a-f-]{36}\.bin", path) for path in vectors.paths)


@pytest.mark.parametrize(
    ("configuration", "length"),
    [
        ({"delta.randomizeFilePrefixes": "true"}, 2),
        ({"delta.columnMapping.mode": "name"}, 2),
        ({"delta.columnMapping.mode": "id", "delta.randomPrefixLength": "5"}, 5),
    ],
)
def test_files_lie_in_folders_of_random_names_where_the_table_wants_it(configuration, length):
    store = MemoryStore()
    vectors = VectorFiles(store, "memory:/t", configuration, target_bytes=1)
    descriptors = vectors.write(VECTORS)
    assert held(store, descriptors) == [each.to_list() for each in VECTORS]
    folders = {path.partition("/")[0] for path in vectors.paths}
    assert all(re.fullmatch(f"[a-zA-Z0-9]{{{length}}}", folder) for folder in folders)
    assert len(folders) > 1


def test_small_vectors_are_kept_in_the_log_where_that_is_asked_for():
    store = MemoryStore()
    vectors = VectorFiles(store, "memory:/t", {}, inline_bytes=64)
    few = Bitmap.from_positions([3, 5])
    inline, in_file = vectors.write([few, VECTORS[0]])
    assert (inline.storage_type, inline.offset) == ("i", None)
    assert decode_inline(inline) == few
    assert in_file.storage_type == "u"
    assert held(store, [in_file]) == [VECTORS[0].to_list()]


def test_nothing_is_written_for_no_vectors():
    vectors = VectorFiles(MemoryStore(), "memory:/t", {})
    assert vectors.write([]) == []
    assert vectors.paths == set()


def test_files_can_be_taken_back(tmp_path):
    vectors = VectorFiles(LocalStore(str(tmp_path)), str(tmp_path), {"delta.randomizeFilePrefixes": "true"}, target_bytes=1)
    first, second, *_ = vectors.write(VECTORS)
    vectors.discard_unused([second])
    assert [str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*.bin")] == [second.relative_path]
    vectors.discard()
    assert not list(tmp_path.rglob("*.bin"))
    assert vectors.paths == set()
    assert first.relative_path is not None


def test_a_file_whose_put_failed_is_taken_back_too():
    class Failing(MemoryStore):
        def put_if_absent(self, path, data):
            super().put_if_absent(path, data)
            raise StorageError("lost the answer")

    store = Failing()
    vectors = VectorFiles(store, "memory:/t", {})
    with pytest.raises(StorageError):
        vectors.write(VECTORS)
    vectors.discard()
    assert not list(store.list_from(""))
