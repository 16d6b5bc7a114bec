# SPDX-License-Identifier: Apache-2.0
"""Which files a table still needs, and which ones its log says that it needs no more: what VACUUM decides from.

Paths are canonical: decoded, and relative to the table's root where the file is below it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import TimeTravelError
from bayou.log.actions.action_files import ActionFile, file_actions
from bayou.log.actions.keys import canonical_paths
from bayou.log.segment.time_travel import format_timestamp
from bayou.log.snapshot.snapshot import Snapshot
from bayou.plan.maintenance.vacuum import Retention
from bayou.protocol.actions.paths import canonical, encode_uri, local_path
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.storage.trees import tree_schema

if TYPE_CHECKING:
    from bayou.log.segment.commit_times import CommitTimes
    from bayou.log.segment.listing import LogListing
    from bayou.log.snapshot.log_reader import LogReader

_PATHS: Final = ("path", "deletion_vector")


class Paths:
    """Canonical paths of a table's files, collected from actions."""

    def __init__(self, table_uri: str) -> None:
        self._table_uri = table_uri
        self._chunks: list[pa.Array] = []
        root = local_path(table_uri)
        real = None if root is None else os.path.realpath(root)
        self._real = None if real is None or real == root else f"file://{real}"

    def add(self, paths: pa.ChunkedArray, vectors: pa.ChunkedArray | None = None) -> None:
        """Take the files of some actions.

        Args:
            paths: the actions' paths, as in the log.
            vectors: their deletion vectors, whose files are taken too.
        """
        self._chunks += canonical_paths(paths, self._table_uri).chunks
        if vectors is not None and vectors.null_count < len(vectors):
            self._chunks.append(pa.array(self._vector_files(vectors), pa.string()))

    def values(self) -> pa.Array:
        """All of them, each once."""
        found = pc.unique(pa.chunked_array(self._chunks, pa.string()))
        if self._real is None:
            return found
        # The table is opened through a link: an absolute path may name its folder by the link or by what it leads to.
        outside = [canonical(encode_uri(path), self._real) for path in found.filter(pc.starts_with(found, "/")).to_pylist()]
        return pa.concat_arrays([found, pa.array(outside, pa.string())])

    def _vector_files(self, vectors: pa.ChunkedArray) -> list[str]:
        parts = [pc.struct_field(vectors, name) for name in ("storage_type", "path_or_inline_dv")]
        distinct = pa.table(parts, names=["storage_type", "path"]).filter(pc.is_in(parts[0], value_set=pa.array(["u", "p"])))
        found = []
        for row in distinct.group_by(["storage_type", "path"]).aggregate([]).to_pylist():
            vector = DeletionVectorDescriptor(row["storage_type"], row["path"], None, 0, 0)
            relative = vector.relative_path
            found.append(canonical(row["path"], self._table_uri) if relative is None else relative)
        return found


def needed_paths(
    log: LogReader, snapshot: Snapshot, retention: Retention, kept: Iterable[Snapshot], listing: LogListing, times: CommitTimes
) -> pa.Array:
    """The files that VACUUM keeps: of live files, of files removed since the cutoff, of versions to keep, and their vectors.

    Args:
        log: the table's log.
        snapshot: the latest version.
        retention: how long files are kept.
        kept: further versions whose files are kept.
        listing: the whole log.
        times: its commit times.

    Raises:
        TimeTravelError: files are to be kept for longer than the log knows what was removed.
    """
    found = Paths(log.table_uri)
    for each in (snapshot, *kept):
        files = each.files(_PATHS)
        found.add(files["path"], files["deletion_vector"])
    removed = snapshot.tombstones()
    recent = removed.filter(pc.greater_equal(pc.fill_null(removed["deletion_timestamp"], 0), retention.cutoff))
    found.add(recent["path"], recent["deletion_vector"])
    if retention.exceeds_default:
        versions = _versions_since(log, retention.cutoff, listing, times)
        for file in _commits(log, versions):
            _, removes = _file_actions(file)
            found.add(removes["path"], removes["deletion_vector"])
    return found.values()


def added_since(log: LogReader, version: int, latest: int) -> pa.Array:
    """The files that commits after a version added, and their deletion vectors: nobody may delete them.

    Args:
        log: the table's log.
        version: the version that is known.
        latest: the last version to look at.
    """
    found = Paths(log.table_uri)
    for file in _commits(log, range(version + 1, latest + 1)):
        adds, _ = _file_actions(file)
        found.add(adds["path"], adds["deletion_vector"])
    return found.values()


def removed_by_commits(log: LogReader, versions: Sequence[int]) -> pa.Table:
    """What some commits say that their table needs no more, as rows of `tree_schema` with a modification time of 0.

    These are the files that they removed, the files of the removed ones' deletion vectors, and the files of changed rows that
    they added. A file may be needed all the same, or be deleted already.
    """
    found = Paths(log.table_uri)
    sizes: dict[str, int] = {}
    for file in _commits(log, versions):
        _, removes = _file_actions(file)
        found.add(removes["path"], removes["deletion_vector"])
        paths = canonical_paths(removes["path"], log.table_uri).to_pylist()
        sizes.update(zip(paths, (size or 0 for size in removes["size"].to_pylist()), strict=True))
        changes = [action["cdc"] for action in file.actions() if action.get("cdc") is not None]
        if changes:
            found.add(pa.chunked_array([[each["path"] for each in changes]], pa.string()))
            sizes.update((canonical(each["path"], log.table_uri), each.get("size") or 0) for each in changes)
    paths = found.values()
    inside = paths.filter(pc.invert(pc.match_substring_regex(paths, r"^/|^[A-Za-z][A-Za-z0-9+.\-]+:/|^\.\.(/|$)")))
    columns = [
        inside,
        pa.array([sizes.get(path, 0) for path in inside.to_pylist()], pa.int64()),
        pa.repeat(pa.scalar(0, pa.int64()), len(inside)),
        pa.repeat(pa.scalar(False), len(inside)),
    ]
    return pa.Table.from_arrays(columns, schema=tree_schema())


def _versions_since(log: LogReader, cutoff: int, listing: LogListing, times: CommitTimes) -> list[int]:
    versions = sorted(listing.commits)
    first = versions[0] if versions else None
    if first is None or (first > 0 and times.of(first) > cutoff):
        reached = "nothing" if first is None else f"version {first}, {format_timestamp(times.of(first))}"
        raise TimeTravelError(
            f"VACUUM is to keep what was removed since {format_timestamp(cutoff)}, and the log reaches back to {reached} only.",
            table=log.table_uri,
            next_step="Give fewer hours. To keep more from now on, raise delta.logRetentionDuration and "
            "delta.deletedFileRetentionDuration.",
            earliest=first,
        )
    return [version for version in versions if times.of(version) >= cutoff]


def _commits(log: LogReader, versions: Iterable[int]) -> Iterable[ActionFile]:
    for version in versions:
        yield ActionFile.of_commit(log.store, version, log.table_uri)


def _file_actions(file: ActionFile) -> tuple[pa.Table, pa.Table]:
    """The `add` and the `remove` actions of a commit."""
    found = file_actions([file])
    return found.adds, found.removes
