# SPDX-License-Identifier: Apache-2.0
"""Reads the deletion vectors of a scan's files, each vector file once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import DeletionVectorError
from bayou.protocol import deletion_vector, paths
from bayou.protocol.deletion_vector import DeletionVectorDescriptor
from bayou.spark.deletion_vectors import EncodedVector, encode
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.log.snapshot import Snapshot


def load_vectors(snapshot: Snapshot, descriptors: pa.StructArray) -> list[EncodedVector | None]:
    """The vectors of some files as constants, aligned with the descriptors.

    Args:
        snapshot: the state that the files belong to.
        descriptors: the `deletion_vector` column of the files; NULL for a file without one.

    Raises:
        DeletionVectorError: a vector's file is missing, or is not what its descriptor says.
    """
    held: dict[str, bytes] = {}
    found: list[EncodedVector | None] = []
    for value in descriptors.to_pylist():
        if value is None:
            found.append(None)
            continue
        descriptor = DeletionVectorDescriptor(**value)
        if descriptor.is_inline:
            bitmap = deletion_vector.decode_inline(descriptor, table=snapshot.table_uri)
        else:
            uri = _uri(descriptor, snapshot.table_uri)
            if uri not in held:
                held[uri] = _read(snapshot, uri)
            bitmap = deletion_vector.read_from_file(held[uri], descriptor, table=snapshot.table_uri, file=uri)
        found.append(encode(bitmap))
    return found


def _uri(descriptor: DeletionVectorDescriptor, table_uri: str) -> str:
    uri = descriptor.absolute_uri(table_uri)
    # An absolute path stands percent-encoded in the log; a relative one is made from the root, which is not.
    return paths.to_uri(uri, table_uri) if descriptor.storage_type == "p" else uri


def _read(snapshot: Snapshot, uri: str) -> bytes:
    # A vector of a cloned table may lie in the table that it was cloned from, so the store is the file's own folder's.
    folder, _, name = uri.rpartition("/")
    try:
        return open_store(qualify(folder)).read(name)
    except OSError as error:
        message = f"The deletion vector file cannot be read: {error.strerror or type(error).__name__}."
        raise DeletionVectorError(
            message,
            table=snapshot.table_uri,
            version=snapshot.version,
            file=uri,
            error_class="DELTA_DELETION_VECTOR_FILE_NOT_FOUND",
            next_step="restore the file, or restore the table to a version that does not need it.",
        ) from error
