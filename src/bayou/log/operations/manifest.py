# SPDX-License-Identifier: Apache-2.0
"""GENERATE: manifests that name a table's files, for engines that read no log, such as Presto, Athena and Redshift.

Each partition has one, `_symlink_format_manifest/day=2026-01-01/manifest`, with the URI of a file in each line. A reader that lists
several of them while they are written may see some partitions of one version and some of another. Source: delta-spark's
`GenerateSymlinkManifest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from bayou.errors import StorageError, UnsupportedFeatureError
from bayou.log.operations.maintained import writable_snapshot
from bayou.protocol.actions.paths import to_uri
from bayou.protocol.properties import COLUMN_MAPPING_MODE
from bayou.protocol.types.partition_values import partition_folder
from bayou.storage.trees import EVERY_NAME, delete_many, list_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot

MANIFEST_FOLDER: Final = "_symlink_format_manifest"
_NAME: Final = "manifest"


@dataclass(frozen=True, slots=True)
class GeneratedManifests:
    """What GENERATE wrote and deleted.

    Attributes:
        version: the version that the manifests describe.
        written: the manifests, relative to the table.
        deleted: manifests of partitions that the table does not have any more.
    """

    version: int
    written: Sequence[str]
    deleted: Sequence[str]


def generate_manifests(log: LogReader) -> GeneratedManifests:
    """Write the manifests of a table's latest version; see `DeltaLog.generate_manifests`."""
    snapshot = writable_snapshot(log, "GENERATE")
    check_manifests(snapshot)
    manifests = _manifests(snapshot)
    for path, uris in manifests.items():
        log.store.put(path, "".join(f"{uri}\n" for uri in uris).encode("utf-8"))
    batches = list_tree(log.store, EVERY_NAME, MANIFEST_FOLDER)
    there = [path for batch in batches for path in batch.filter(pc.invert(batch["is_folder"]))["path"].to_pylist()]
    stale = sorted(path for path in there if path not in manifests and path.endswith(f"/{_NAME}"))
    failed = delete_many(log.store, stale).failed if stale else {}
    if failed:
        path, error = next(iter(failed.items()))
        raise StorageError(
            f"{len(failed)} manifests of partitions that are gone could not be deleted: {error.message}",
            table=log.table_uri,
            file=path,
            next_step="Engines that read manifests still see these partitions. Delete the files, or run GENERATE again.",
        )
    return GeneratedManifests(snapshot.version, sorted(manifests), stale)


def check_manifests(snapshot: Snapshot) -> None:
    """Refuse a table whose files mean nothing without its log.

    Raises:
        UnsupportedFeatureError: rows are deleted by deletion vectors, or columns are mapped.
    """
    if COLUMN_MAPPING_MODE.read(snapshot.metadata.configuration).lower() != "none":
        raise UnsupportedFeatureError(
            "A table with column mapping has no manifests: whoever reads them does not know which column is which.",
            table=snapshot.table_uri,
            version=snapshot.version,
            error_class="DELTA_UNSUPPORTED_MANIFEST_GENERATION_WITH_COLUMN_MAPPING",
            sql_state="0AKDC",
            features=("columnMapping",),
        )
    vectors = snapshot.files(["deletion_vector"])["deletion_vector"]
    if vectors.null_count < len(vectors):
        raise UnsupportedFeatureError(
            "A table with deletion vectors has no manifests: whoever reads them would see rows that are deleted.",
            table=snapshot.table_uri,
            version=snapshot.version,
            error_class="DELTA_UNSUPPORTED_GENERATE_WITH_DELETION_VECTORS",
            sql_state="0A000",
            next_step="Set delta.enableDeletionVectors to false, and have the files with deleted rows written anew (REORG).",
            features=("deletionVectors",),
        )


def _manifests(snapshot: Snapshot) -> Mapping[str, list[str]]:
    """The manifests of a version: the URIs in each, by its path."""
    texts = snapshot.partition_texts()
    uris = [_shown(to_uri(path, snapshot.table_uri)) for path in snapshot.files(["path"])["path"].to_pylist()]
    columns = [texts[physical].to_pylist() for physical in texts]
    if not columns:
        return {f"{MANIFEST_FOLDER}/{_NAME}": uris}
    partitions: dict[tuple[str | None, ...], list[str]] = {}
    for values, uri in zip(zip(*columns, strict=True), uris, strict=True):
        partitions.setdefault(values, []).append(uri)
    manifests: dict[str, list[str]] = {}
    for values, found in partitions.items():  # NULL and the empty text have one folder
        folder = partition_folder(zip(snapshot.partition_columns, (text or None for text in values), strict=True))
        manifests.setdefault(f"{MANIFEST_FOLDER}/{folder}/{_NAME}", []).extend(found)
    return manifests


def _shown(uri: str) -> str:
    """A URI as Hadoop spells it, which engines that read manifests expect: `file:/a`, `s3://bucket/a`."""
    return uri.replace("file:///", "file:/", 1) if uri.startswith("file:///") else uri
