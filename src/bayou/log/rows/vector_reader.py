# SPDX-License-Identifier: Apache-2.0
"""Reads the deletion vectors of many files at once, each vector file once."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bayou.errors import DeletionVectorError
from bayou.protocol.actions import paths
from bayou.protocol.deletion_vectors import descriptor as deletion_vector
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pyarrow as pa

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.storage import LogStore


@runtime_checkable
class ReadsMany(Protocol):
    """A store that reads many files in one call."""

    def read_all(self, paths: Sequence[str]) -> list[bytes | Exception]:
        """Whole files; for one that cannot be read the exception that `read` would raise."""
        ...


def read_vectors(
    snapshot: Snapshot,
    descriptors: pa.StructArray,
    storage_options: Mapping[str, str] | None = None,
    *,
    store: LogStore | None = None,
) -> list[Bitmap | None]:
    """The vectors of some files, aligned with the descriptors.

    Args:
        descriptors: the `deletion_vector` column of the files; NULL for a file without one.
        store: the table's store, to read what lies in the table; a store is opened by its URI where None.

    Raises:
        DeletionVectorError: a vector's file is missing, or is not what its descriptor says.
    """
    known = [None if value is None else DeletionVectorDescriptor(**value) for value in descriptors.to_pylist()]
    in_files = [each for each in known if each is not None and not each.is_inline]
    places = _Places(snapshot, storage_options or {}, store)
    held = places.read({_uri(each, snapshot.table_uri) for each in in_files})
    decoded: dict[DeletionVectorDescriptor, Bitmap] = {}
    for descriptor in known:
        if descriptor is None or descriptor in decoded:
            continue
        if descriptor.is_inline:
            decoded[descriptor] = deletion_vector.decode_inline(descriptor, table=snapshot.table_uri)
        else:
            uri = _uri(descriptor, snapshot.table_uri)
            decoded[descriptor] = deletion_vector.read_from_file(held[uri], descriptor, table=snapshot.table_uri, file=uri)
    return [None if each is None else decoded[each] for each in known]


def _uri(descriptor: DeletionVectorDescriptor, table_uri: str) -> str:
    uri = descriptor.absolute_uri(table_uri)
    # An absolute path stands percent-encoded in the log; a relative one is made from the root, which is not.
    return paths.to_uri(uri, table_uri) if descriptor.storage_type == "p" else uri


class _Places:
    """Where vector files are."""

    def __init__(self, snapshot: Snapshot, storage_options: Mapping[str, str], store: LogStore | None) -> None:
        self._snapshot = snapshot
        self._storage_options = storage_options
        self._store = store
        self._root = snapshot.table_uri.rstrip("/")

    def read(self, uris: Collection[str]) -> dict[str, bytes]:
        """Whole files by their URIs, those of one folder together."""
        folders: defaultdict[str, list[str]] = defaultdict(list)
        for uri in uris:
            folder, _, name = uri.rpartition("/")
            folders[folder].append(name)
        held: dict[str, bytes] = {}
        for folder, names in folders.items():
            for name, content in zip(names, self._folder(folder, names), strict=True):
                if not isinstance(content, bytes):
                    raise _unreadable(self._snapshot, f"{folder}/{name}", content) from content
                held[f"{folder}/{name}"] = content
        return held

    def _folder(self, folder: str, names: Sequence[str]) -> Sequence[bytes | Exception]:
        inside = f"{folder}/".removeprefix(f"{self._root}/")
        if self._store is not None and f"{folder}/" != inside:
            return _read_all(self._store, [inside + name for name in names])
        # A vector of a cloned table may lie in the table that it was cloned from, so the store is the file's own folder's.
        return _read_all(open_store(qualify(folder), self._storage_options), names)


def _read_all(store: LogStore, names: Sequence[str]) -> Sequence[bytes | Exception]:
    return store.read_all(names) if isinstance(store, ReadsMany) else [_read(store, name) for name in names]


def _read(store: LogStore, name: str) -> bytes | OSError:
    try:
        return store.read(name)
    except OSError as error:
        return error


def _unreadable(snapshot: Snapshot, uri: str, error: Exception) -> DeletionVectorError:
    message = f"The deletion vector file cannot be read: {getattr(error, 'strerror', None) or type(error).__name__}."
    return DeletionVectorError(
        message,
        at=snapshot,
        file=uri,
        error_class="DELTA_DELETION_VECTOR_FILE_NOT_FOUND",
        next_step="restore the file, or restore the table to a version that does not need it.",
    )
