# SPDX-License-Identifier: Apache-2.0
"""Reads the deletion vectors of many files, each of their files once."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bayou.errors import DeltaError, failed
from bayou.protocol.actions import paths
from bayou.protocol.deletion_vectors import descriptor as deletion_vector
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pyarrow as pa

    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.storage import LogStore


class LocatedTable(Protocol):
    """A version of a table with a known URI, such as a snapshot."""

    @property
    def table_uri(self) -> str:
        """The table's URI, not percent-encoded."""
        ...

    @property
    def version(self) -> int:
        """The table version."""
        ...


@runtime_checkable
class ReadsMany(Protocol):
    """A store that reads many files in one call."""

    def read_all(self, paths: Sequence[str]) -> list[bytes | Exception]:
        """Return whole files; for an unreadable one, the exception that `read` would raise."""
        ...


def read_vectors(
    snapshot: LocatedTable,
    descriptors: pa.StructArray,
    storage_options: Mapping[str, str] | None = None,
    *,
    store: LogStore | None = None,
) -> list[Bitmap | None]:
    """Return the deletion vectors of some files, aligned with the descriptors.

    Args:
        descriptors: the `deletion_vector` column of the files; NULL for a file without one.
        store: the table's store, for files in the table; None opens a store by its URI.

    Raises:
        DeletionVectorError: a deletion vector's file is missing or does not match its descriptor.
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
    # The log has absolute paths percent-encoded; a relative one is derived from the root, which is not encoded.
    return paths.to_uri(uri, table_uri) if descriptor.storage_type == "p" else uri


class _Places:
    """Reads deletion vector files inside and outside the table."""

    def __init__(self, snapshot: LocatedTable, storage_options: Mapping[str, str], store: LogStore | None) -> None:
        self._snapshot = snapshot
        self._storage_options = storage_options
        self._store = store
        self._root = snapshot.table_uri.rstrip("/")

    def read(self, uris: Collection[str]) -> dict[str, bytes]:
        """Read whole files by their URIs, those of one folder together."""
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
        # A clone's deletion vector may be in the source table, so the file's own folder determines the store.
        return _read_all(open_store(qualify(folder), self._storage_options), names)


def _read_all(store: LogStore, names: Sequence[str]) -> Sequence[bytes | Exception]:
    return store.read_all(names) if isinstance(store, ReadsMany) else [_read(store, name) for name in names]


def _read(store: LogStore, name: str) -> bytes | OSError:
    try:
        return store.read(name)
    except OSError as error:
        return error


def _unreadable(snapshot: LocatedTable, uri: str, error: Exception) -> DeltaError:
    why = getattr(error, "strerror", None) or type(error).__name__
    return failed("DELTA_DELETION_VECTOR_FILE_NOT_FOUND", at=snapshot, file=uri, reason=why)
