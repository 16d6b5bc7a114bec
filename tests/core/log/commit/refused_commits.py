# SPDX-License-Identifier: Apache-2.0
"""A table of two files, with or without deletion vectors, and commits that it refuses."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidCommitError
from bayou.protocol.actions.actions import AddFile, Protocol
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add

FIRST = DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None, 40, 6)
SECOND = DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 10, 2, 1)
VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly", "invariants"))
LOOSE = '{"numRecords":10,"tightBounds":false}'


def table(protocol=None, *, vector=None):
    builder = TableBuilder(store=MemoryStore()).create(protocol=protocol)
    fields = {} if vector is None else {"deletionVector": vector.to_json()}
    return builder.commit(add("a", stats=LOOSE, **fields), add("b", stats=LOOSE))


def marked(path, vector):
    return AddFile(path, {}, 1, 1, stats=LOOSE, deletion_vector=vector)


def refused(builder, *actions):
    before = builder.log().version()
    with pytest.raises(InvalidCommitError) as caught:
        builder.log().transaction("WRITE").commit(actions)
    assert builder.log().version() == before
    return caught.value


def live(builder):
    files = builder.log().snapshot().files(["path", "deletion_vector"])
    return {row["path"]: row["deletion_vector"] and row["deletion_vector"]["cardinality"] for row in files.to_pylist()}
