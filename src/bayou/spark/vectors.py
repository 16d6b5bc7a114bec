# SPDX-License-Identifier: Apache-2.0
"""Reads the deletion vectors of a scan's files, each vector file once."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from bayou.errors import DeletionVectorError
from bayou.protocol import deletion_vector, paths
from bayou.protocol.deletion_vector import DeletionVectorDescriptor
from bayou.spark.deletion_vectors import EncodedVector, encode
from bayou.spark.hadoop_store import HadoopStore
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pyarrow as pa

    from bayou.log.snapshot import Snapshot
    from bayou.storage import LogStore


def load_vectors(
    snapshot: Snapshot, descriptors: pa.StructArray, storage_options: Mapping[str, str] | None = None
) -> list[EncodedVector | None]:
    """The vectors of some files as constants, aligned with the descriptors.

    Args:
        snapshot: the state that the files belong to.
        descriptors: the `deletion_vector` column of the files; NULL for a file without one.
        storage_options: settings for the file system.

    Raises:
        DeletionVectorError: a vector's file is missing, or is not what its descriptor says.
    """
    known = [None if value is None else DeletionVectorDescriptor(**value) for value in descriptors.to_pylist()]
    in_files = [each for each in known if each is not None and not each.is_inline]
    held = _read_all(snapshot, {_uri(each, snapshot.table_uri) for each in in_files}, storage_options)
    found: list[EncodedVector | None] = []
    for descriptor in known:
        if descriptor is None:
            found.append(None)
            continue
        if descriptor.is_inline:
            bitmap = deletion_vector.decode_inline(descriptor, table=snapshot.table_uri)
        else:
            uri = _uri(descriptor, snapshot.table_uri)
            bitmap = deletion_vector.read_from_file(held[uri], descriptor, table=snapshot.table_uri, file=uri)
        found.append(encode(bitmap))
    return found


def _uri(descriptor: DeletionVectorDescriptor, table_uri: str) -> str:
    uri = descriptor.absolute_uri(table_uri)
    # An absolute path stands percent-encoded in the log; a relative one is made from the root, which is not.
    return paths.to_uri(uri, table_uri) if descriptor.storage_type == "p" else uri


def _read_all(snapshot: Snapshot, uris: Collection[str], storage_options: Mapping[str, str] | None) -> dict[str, bytes]:
    """Whole files by their URIs, those of one folder together."""
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for uri in uris:
        folder, _, name = uri.rpartition("/")
        folders[folder].append(name)
    held: dict[str, bytes] = {}
    for folder, names in folders.items():
        # A vector of a cloned table may lie in the table that it was cloned from, so the store is the file's own folder's.
        store = open_store(qualify(folder), storage_options)
        contents = store.read_all(names) if isinstance(store, HadoopStore) else [_read(store, name) for name in names]
        for name, content in zip(names, contents, strict=True):
            if not isinstance(content, bytes):
                raise _unreadable(snapshot, f"{folder}/{name}", content) from content
            held[f"{folder}/{name}"] = content
    return held


def _read(store: LogStore, name: str) -> bytes | OSError:
    try:
        return store.read(name)
    except OSError as error:
        return error


def _unreadable(snapshot: Snapshot, uri: str, error: Exception) -> DeletionVectorError:
    message = f"The deletion vector file cannot be read: {getattr(error, 'strerror', None) or type(error).__name__}."
    return DeletionVectorError(
        message,
        table=snapshot.table_uri,
        version=snapshot.version,
        file=uri,
        error_class="DELTA_DELETION_VECTOR_FILE_NOT_FOUND",
        next_step="restore the file, or restore the table to a version that does not need it.",
    )
