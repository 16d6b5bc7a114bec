# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import ConcurrentAppendException, ConcurrentDeleteReadException
from bayou.protocol.actions.actions import AddFile, Protocol, RemoveFile
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove

VECTOR = DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None, 40, 6)
VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly", "invariants"))
LOOSE = '{"numRecords":10,"tightBounds":false}'


def table():
    return TableBuilder(store=MemoryStore()).create(protocol=VECTORS).commit(add("a", stats=LOOSE))


def test_two_that_add_one_path_conflict():
    builder = table()
    first, second = builder.log().transaction("WRITE"), builder.log().transaction("WRITE")
    assert first.commit([AddFile("p q", {}, 1, 1)]).version == 2
    with pytest.raises(ConcurrentAppendException, match="adds too") as caught:
        second.commit([AddFile("./p%20q", {}, 1, 1)])
    assert caught.value.conflicting_version == 2
    assert builder.log().snapshot().num_files == 2


def test_who_adds_a_file_anew_does_not_undo_a_delete():
    builder = table()
    statistics = builder.log().transaction("COMPUTE STATS")
    marked = AddFile("a", {}, 1, 1, stats=LOOSE, deletion_vector=VECTOR)
    builder.log().transaction("DELETE").commit([RemoveFile("a"), marked])
    with pytest.raises((ConcurrentAppendException, ConcurrentDeleteReadException)):
        statistics.commit([AddFile("a", {}, 1, 1, data_change=False, stats='{"numRecords":10}')])
    again = builder.log().transaction("COMPUTE STATS")
    builder.version = 2
    builder.commit(remove("a", deletionVector=VECTOR.to_json()))
    with pytest.raises(ConcurrentDeleteReadException):
        again.commit([AddFile("a", {}, 1, 1, data_change=False, stats=LOOSE, deletion_vector=VECTOR)])
    assert builder.log().snapshot().num_files == 0
