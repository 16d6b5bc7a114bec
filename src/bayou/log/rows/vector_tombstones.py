# SPDX-License-Identifier: Apache-2.0
"""Tombstones of deletion vector files, for clients without deletion vectors.

Old versions of a table that dropped the feature still need the deletion vectors of removed files. A VACUUM without deletion vectors
keeps only what a `remove` names during its retention, so these files get a `remove` too. Source: delta-spark's
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
    """Return a `remove` at a time, in ms, for each deletion vector file of a removed file, unless one exists already."""
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
    """Return the path of a deletion vector's file as actions have it."""
    relative = vector.relative_path
    if relative is not None:
        return paths.encode(relative)
    return paths.encode_uri(vector.absolute_uri(table_uri))
