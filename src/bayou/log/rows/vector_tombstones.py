# SPDX-License-Identifier: Apache-2.0
"""Tombstones of deletion vector files, for clients that know no deletion vectors.

Old versions of a table that lost the feature still need the vectors of files that were removed. A VACUUM that knows no vectors
keeps what a `remove` names until the retention is over, and would delete the vectors' files otherwise. Source: delta-spark's
`DeletionVectorsPreDowngradeCommand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.log.actions.keys import canonical_paths
from bayou.protocol.actions import paths
from bayou.protocol.actions.actions import RemoveFile
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot


def vector_tombstones(snapshot: Snapshot, now_ms: int) -> list[RemoveFile]:
    """A `remove` for each file of deletion vectors that a removed file had, but for those that are named already.

    Args:
        now_ms: the time of removal, in ms since the epoch.

    Raises:
        DeletionVectorError: a vector's path cannot be read.
    """
    removed = snapshot.tombstones()
    vectors = [None if each is None else DeletionVectorDescriptor(**each) for each in removed["deletion_vector"].to_pylist()]
    named = canonical_paths(removed["path"], snapshot.table_uri).to_pylist()
    known = {path for path, vector in zip(named, vectors, strict=True) if vector is None}
    found: dict[str, RemoveFile] = {}
    for vector in vectors:
        if vector is None or vector.is_inline:
            continue
        path = _path(vector, snapshot.table_uri)
        key = paths.canonical(path, snapshot.table_uri)
        if key not in known:
            found.setdefault(key, RemoveFile(path, deletion_timestamp=now_ms, data_change=False))
    return list(found.values())


def _path(vector: DeletionVectorDescriptor, table_uri: str) -> str:
    """Where a vector's file is, as an action has it."""
    relative = vector.relative_path
    if relative is not None:
        return paths.encode(relative)
    return paths.encode_uri(vector.absolute_uri(table_uri))
