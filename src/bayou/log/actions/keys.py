# SPDX-License-Identifier: Apache-2.0
"""The identity of a logical file: its canonical path and its deletion vector, as one string per row."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.statistics.members import one_array
from bayou.protocol.actions.paths import canonical, hadoop_uri, to_uri

# Paths that may have another spelling: encoded, absolute, or not normalised.
_SPECIAL: Final = r"[%:]|^\.{0,2}/|/\.{0,2}/|/\.{0,2}$"

# Relative paths that have only one spelling.
_PLAIN: Final = r"^[A-Za-z0-9._=-][A-Za-z0-9._=/-]*$"


def action_keys(paths: pa.ChunkedArray, vectors: pa.ChunkedArray, table_uri: str) -> pa.ChunkedArray:
    """Return one key for each file action; equal keys mean the same logical file.

    Source: PROTOCOL.md, "Action Reconciliation": the key is (path, deletion vector's unique id).
    """
    files = canonical_paths(paths, table_uri)
    if vectors.null_count == len(vectors):
        return files
    marked = pc.binary_join_element_wise(files, vector_ids(vectors), "\0")
    return pc.if_else(pc.is_valid(vectors), marked, files)


def vector_ids(vectors: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the unique ids of deletion vectors; null for files without one.

    Source: PROTOCOL.md, "Derived Fields".
    """
    names = pc.binary_join_element_wise(pc.struct_field(vectors, "storage_type"), pc.struct_field(vectors, "path_or_inline_dv"), "")
    offset = pc.struct_field(vectors, "offset")
    with_offset = pc.binary_join_element_wise(names, pc.cast(offset, pa.string()), "@")
    return pc.if_else(pc.is_valid(offset), with_offset, names)


def canonical_paths(paths: pa.ChunkedArray, table_uri: str) -> pa.ChunkedArray:
    """Return paths in canonical form. Only paths that may have another spelling are converted one by one."""
    special = pc.match_substring_regex(paths, _SPECIAL)
    if not pc.any(special).as_py():
        return paths
    return pa.chunked_array([_canonical_chunk(chunk, mask, table_uri) for chunk, mask in _aligned(paths, special)], pa.string())


def hadoop_uris(paths: pa.ChunkedArray, table_uri: str) -> pa.Array | pa.ChunkedArray:
    """Return the absolute URIs of files, as `hadoop_uri` writes them."""
    found = pc.binary_join_element_wise(hadoop_uri(to_uri("", table_uri)), paths, "")
    odd = pc.invert(pc.match_substring_regex(paths, _PLAIN))
    if not pc.any(odd).as_py():
        return found
    uris = [hadoop_uri(to_uri(path, table_uri)) for path in paths.filter(odd).to_pylist()]
    return pc.replace_with_mask(one_array(found), one_array(odd), pa.array(uris, pa.string()))


def _aligned(paths: pa.ChunkedArray, special: pa.ChunkedArray) -> list[tuple[pa.Array, pa.Array]]:
    table = pa.table([paths, special], names=["path", "special"])
    return [(batch["path"], batch["special"]) for batch in table.to_batches()]


def _canonical_chunk(paths: pa.Array, special: pa.Array, table_uri: str) -> pa.Array:
    # Partition folders repeat: convert each distinct folder once, and single paths only if their file name is special itself.
    odd = paths.filter(special)
    if not len(odd):
        return paths
    known: dict[str, str] = {}
    replaced = []
    for path in odd.to_pylist():
        folder, slash, name = path.rpartition("/")
        if "%" in name or name in {"", ".", ".."} or not slash:
            replaced.append(canonical(path, table_uri))
            continue
        prefix = known.get(folder)
        if prefix is None:
            prefix = known[folder] = canonical(f"{folder}/x", table_uri)[:-1]
        replaced.append(prefix + name)
    return pc.replace_with_mask(paths, special, pa.array(replaced, pa.string()))
