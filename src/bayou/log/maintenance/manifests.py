# SPDX-License-Identifier: Apache-2.0
"""Manifests: lists of a table's files for engines that read no log, such as Presto, Athena and Redshift.

Each partition has one, `_symlink_format_manifest/day=2026-01-01/manifest`, with the URI of a file in each line. A reader that lists
several manifests during a write may see partitions of different versions. Source: delta-spark's `GenerateSymlinkManifest`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed, reason
from bayou.log.actions.keys import canonical_paths
from bayou.log.snapshot.partition_columns import partition_texts
from bayou.protocol.actions.paths import hadoop_text, to_uri
from bayou.protocol.features.features import table_features
from bayou.protocol.properties import COLUMN_MAPPING_MODE, SYMLINK_MANIFEST
from bayou.protocol.types.partition_values import partition_folder
from bayou.storage.trees import EVERY_NAME, delete_many, list_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.staged import StagedActions
    from bayou.protocol.actions.actions import Metadata

MANIFEST_FOLDER: Final = "_symlink_format_manifest"
_NAME: Final = "manifest"
_THREADS: Final = 8
_MOST_ROUNDS: Final = 20
"""How often manifests are rewritten because of concurrent commits, whose writers write them too."""


@dataclass(frozen=True, slots=True)
class GeneratedManifests:
    """The manifests that were written and deleted.

    Attributes:
        version: the version that the manifests describe.
        written: the manifests, relative to the table.
        deleted: manifests of partitions that the table no longer has.
    """

    version: int
    written: Sequence[str]
    deleted: Sequence[str]


def write_manifests(log: LogReader, snapshot: Snapshot, only: Collection[str] | None = None) -> GeneratedManifests:
    """Write the manifests of a table's latest version, then delete those of dropped partitions.

    A concurrent commit's writer may write the same manifest earlier, and this call would overwrite it with an older state.
    Therefore each writer checks the log again after writing, and rewrites outdated manifests.

    Args:
        snapshot: the latest known version.
        only: the manifests to write or delete, relative to the table; None for all.

    Raises:
        UnsupportedFeatureError: the table cannot have manifests.
        StorageError: the store failed.
    """
    written: Mapping[str, list[str]] = {}
    deleted: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        check_manifests(snapshot)
        wanted = _manifests(snapshot, only)
        changed = {path: uris for path, uris in wanted.items() if written.get(path) != uris}
        stale = (_stored_manifests(log) if only is None else set(only)) - wanted.keys() - deleted
        _put(log, changed)
        _delete(log, sorted(stale))
        written = wanted
        deleted = (deleted | stale) - wanted.keys()
        latest = log.update()
        # A round without writes cannot have replaced a newer manifest. The writers of later commits write theirs.
        if latest.version == snapshot.version or not (changed or stale):
            break
        snapshot = latest
    return GeneratedManifests(snapshot.version, sorted(written), sorted(deleted))


def follow_commit(log: LogReader, staged: StagedActions, before: Metadata | None) -> GeneratedManifests | None:
    """Write the manifests of the partitions that a commit touched, or all if the table has none; None if none changes.

    Args:
        before: the table's metadata before the commit; None if the commit created the table.
    """
    after = staged.metadata or before
    was_on = before is not None and SYMLINK_MANIFEST.read(before.configuration)
    if was_on and before is not None and after is not None and before.partition_columns == after.partition_columns:
        if not staged.touches_files:
            return None
        only = _touched(staged, after.partition_columns)
        if only is not None and next(iter(list_tree(log.store, EVERY_NAME, MANIFEST_FOLDER)), None) is not None:
            return write_manifests(log, log.update(), only)
    return write_manifests(log, log.update())


def check_manifests(snapshot: Snapshot) -> None:
    """Raise UnsupportedFeatureError if files have deletion vectors or columns are mapped: readers of manifests see no log."""
    _check_mapping(snapshot.metadata, snapshot.table_uri, snapshot.version)
    if len(_with_vectors(snapshot)):
        raise failed("DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS", at=snapshot, features=("deletionVectors",))


def check_commit(staged: StagedActions, snapshot: Snapshot | None, table: str) -> None:
    """Raise UnsupportedFeatureError if manifests are enabled and a commit maps columns or leaves deletion vectors.

    Args:
        snapshot: the snapshot of the commit; None if it creates the table.
    """
    before = None if snapshot is None else snapshot.metadata
    after = staged.metadata or before
    if after is None or not SYMLINK_MANIFEST.read(after.configuration):
        return
    version = None if snapshot is None else snapshot.version
    _check_mapping(after, table, version)
    is_new = before is None or not SYMLINK_MANIFEST.read(before.configuration)
    if any(add.deletion_vector is not None for add in staged.adds):
        raise failed(
            "DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS", table=table, version=version, features=("deletionVectors",)
        )
    if snapshot is None or not (is_new or staged.touches_files):
        return
    paths = canonical_paths(_with_vectors(snapshot), table)
    if pc.all(pc.is_in(paths, value_set=staged.removed_paths(table).combine_chunks())).as_py() is False:
        raise failed(
            "DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED.EXISTING_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION"
            if is_new
            else "DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS",
            table=table,
            version=version,
            features=("deletionVectors",),
        )


def _check_mapping(metadata: Metadata, table: str, version: int | None) -> None:
    if COLUMN_MAPPING_MODE.read(metadata.configuration).lower() != "none":
        raise failed(
            "DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING/files",
            table=table,
            version=version,
            features=("columnMapping",),
        )


def _with_vectors(snapshot: Snapshot) -> pa.ChunkedArray:
    """Return the paths of live files with deletion vectors, without reading the files if the protocol excludes them."""
    if "deletionVectors" not in table_features(snapshot.protocol):
        return pa.chunked_array([], pa.string())
    files = snapshot.files(["path", "deletion_vector"])
    return files["path"].filter(pc.is_valid(files["deletion_vector"]))


def _manifests(snapshot: Snapshot, only: Collection[str] | None) -> Mapping[str, list[str]]:
    """Return the URIs in each manifest of a version, by the manifest's path."""
    texts = snapshot.partition_texts()
    paths = snapshot.files(["path"])["path"]
    columns = dict(zip(snapshot.partition_columns, (texts[physical] for physical in texts), strict=True))
    found: dict[str, list[str]] = {} if columns else {_path(""): []}
    for path, positions in _by_manifest(columns, len(paths)):
        if only is None or path in only:
            uris = (hadoop_text(to_uri(each, snapshot.table_uri)) for each in paths.take(positions).to_pylist())
            found.setdefault(path, []).extend(uris)
    return found


def _touched(staged: StagedActions, columns: Sequence[str]) -> set[str] | None:
    """Return the manifests of the partitions of a commit's files; None if the partition of a removed file is unknown."""
    if not columns:
        return {_path("")}
    if any(each.partition_values is None for each in staged.removes):
        return None
    values = [*(each.partition_values or {} for each in staged.removes), *(each.partition_values for each in staged.adds)]
    found = {_path(partition_folder((name, each.get(name) or None) for name in columns)) for each in values}
    for files in (staged.removed_files, staged.added_files):
        if files is not None:
            texts = partition_texts(files.files["partition_values"], {name: name for name in columns})
            found.update(path for path, _ in _by_manifest(texts, len(files)))
    return found


def _by_manifest(columns: Mapping[str, pa.ChunkedArray], size: int) -> list[tuple[str, pa.Array]]:
    """Return the positions of files by manifest; a manifest appears twice if two values share a folder."""
    if not columns:
        return [(_path(""), pa.array(range(size), pa.int64()))]
    keys = [str(number) for number in range(len(columns))]
    table = pa.table([pc.fill_null(each, "") for each in columns.values()] + [pa.array(range(size), pa.int64())], [*keys, "file"])
    groups = table.group_by(keys, use_threads=False).aggregate([("file", "list")])
    rows = zip(*(groups[key].to_pylist() for key in keys), strict=True)
    folders = (partition_folder((name, text or None) for name, text in zip(columns, values, strict=True)) for values in rows)
    positions = groups["file_list"].combine_chunks()
    return [(_path(folder), positions[number].values) for number, folder in enumerate(folders)]


def _path(folder: str) -> str:
    return f"{MANIFEST_FOLDER}/{folder}/{_NAME}" if folder else f"{MANIFEST_FOLDER}/{_NAME}"


def _stored_manifests(log: LogReader) -> set[str]:
    batches = list_tree(log.store, EVERY_NAME, MANIFEST_FOLDER)
    files = (path for batch in batches for path in batch.filter(pc.invert(batch["is_folder"]))["path"].to_pylist())
    return {path for path in files if path.endswith(f"/{_NAME}")}


def _put(log: LogReader, manifests: Mapping[str, Sequence[str]]) -> None:
    if not manifests:
        return
    contents = {path: "".join(f"{uri}\n" for uri in uris).encode("utf-8") for path, uris in manifests.items()}
    with ThreadPoolExecutor(min(_THREADS, len(contents)), thread_name_prefix="bayou-manifest") as pool:
        list(pool.map(log.store.put, contents, contents.values()))


def _delete(log: LogReader, stale: Sequence[str]) -> None:
    failures = delete_many(log.store, stale).failed if stale else {}
    if failures:
        path, error = next(iter(failures.items()))
        raise failed("manifests-not-deleted", table=log.table_uri, file=path, num_files=len(failures), reason=reason(error))
