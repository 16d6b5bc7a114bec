# SPDX-License-Identifier: Apache-2.0
"""What maintenance operations share: a writable snapshot, transactions, and checks whether files exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import pyarrow.compute as pc

from bayou.errors import UnsupportedFeatureError
from bayou.log.actions.columns import to_objects
from bayou.log.actions.keys import canonical_paths
from bayou.log.commit.transaction import Transaction
from bayou.protocol.actions.paths import canonical, is_absolute, to_uri
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.protocol.features.features import check_not_catalog_managed, check_writable
from bayou.storage.open_store import open_store
from bayou.storage.paths import qualify
from bayou.storage.trees import EVERY_NAME, TreeStore

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.storage.store import LogStore

Begin: TypeAlias = "Callable[..., Transaction]"
"""Begins a transaction on a snapshot, with an operation's name and parameters; `dropped_features` as in `Transaction`."""


def writable_snapshot(log: LogReader, operation: str) -> Snapshot:
    """Return the latest version of a table, or raise UnsupportedFeatureError if bayou may not write it."""
    try:
        snapshot = log.update()
    except UnsupportedFeatureError as error:
        check_not_catalog_managed(error, operation, log.table_uri)
        raise
    check_writable(snapshot.protocol, snapshot.metadata, log.table_uri, snapshot.version)
    return snapshot


def plain_transactions(log: LogReader) -> Begin:
    """Return a function that begins transactions without a session."""
    return lambda *arguments, **options: Transaction(log, *arguments, **options)


def missing_files(log: LogReader, files: pa.Table, storage_options: Mapping[str, str] | None = None) -> set[str]:
    """Return the paths, as in the log, of files that do not exist or whose deletion vector does not.

    Folders are listed concurrently, each of them once. `storage_options` are for stores of files elsewhere.
    """
    paths: list[str] = files["path"].to_pylist()
    relative: list[str] = canonical_paths(files["path"], log.table_uri).to_pylist()
    # Paths outside the table are resolved one by one.
    needed = [
        ("", inside) if not is_absolute(inside) else place_in_store(path, log.table_uri)
        for path, inside in zip(paths, relative, strict=True)
    ]
    marked = pc.is_valid(files["deletion_vector"])
    vectors = [DeletionVectorDescriptor(**each) for each in to_objects(files["deletion_vector"].filter(marked))]
    owners = [*paths, *files["path"].filter(marked).to_pylist()]
    places = [*needed, *(("", "") if each.is_inline else vector_place(each, log.table_uri) for each in vectors)]
    wanted: dict[str, set[str]] = {}
    for root, path in places:
        if path:
            wanted.setdefault(root, set()).add(path)
    there = {root: those_there(store_of(log, root, storage_options), some) for root, some in wanted.items()}
    return {owner for owner, (root, path) in zip(owners, places, strict=True) if path and path not in there[root]}


def place_in_store(path: str, table_uri: str) -> tuple[str, str]:
    """Split a path into the root of a store and a path below it; an empty root means the table's own."""
    relative = canonical(path, table_uri)
    if not is_absolute(path) or not is_absolute(relative):
        return "", relative
    uri = to_uri(path, table_uri)
    root, _, name = uri.rpartition("/")
    return root, name


def vector_place(vector: DeletionVectorDescriptor, table_uri: str) -> tuple[str, str]:
    """Return where a deletion vector's file is, as `place_in_store` does."""
    relative = vector.relative_path
    return place_in_store(vector.path_or_inline_dv, table_uri) if relative is None else ("", relative)


def store_of(log: LogReader, root: str, storage_options: Mapping[str, str] | None) -> LogStore:
    """Return the store of a root that `place_in_store` returned."""
    return open_store(qualify(root), storage_options) if root else log.store


def those_there(store: LogStore, paths: set[str]) -> set[str]:
    """Return the existing paths of those asked for, and possibly of others in their folders. Each folder is listed once."""
    if not isinstance(store, TreeStore):
        return {path for path in paths if _is_there(store, path)}
    folders = sorted({path.rpartition("/")[0] for path in paths})
    listed = store.list_folders(folders, EVERY_NAME)
    return {path for folder in listed for batch in folder.files for path in batch["path"].to_pylist()}


def _is_there(store: LogStore, path: str) -> bool:
    try:
        store.size(path)
    except FileNotFoundError:
        return False
    return True
