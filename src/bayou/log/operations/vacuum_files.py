# SPDX-License-Identifier: Apache-2.0
"""The files that VACUUM must keep, and the files that commits removed.

Paths are canonical: decoded, and relative to the table's root if the file is below it.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.log.actions.action_files import ActionFile, file_actions
from bayou.log.actions.keys import canonical_paths
from bayou.log.segment.time_travel import format_timestamp
from bayou.log.snapshot.snapshot import Snapshot
from bayou.plan.maintenance.vacuum import Retention
from bayou.protocol.actions.file_names import LOG_FOLDER
from bayou.protocol.actions.paths import canonical, local_path
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.storage.parallel import read_each
from bayou.storage.trees import tree_schema

if TYPE_CHECKING:
    from bayou.log.segment.commit_times import CommitTimes
    from bayou.log.segment.listing import LogListing
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.storage.store import LogStore

_PATHS: Final = ("path", "deletion_vector")


class Paths:
    """A collection of canonical paths of a table's files."""

    def __init__(self, table_uri: str) -> None:
        self._table_uri = table_uri
        self._chunks: list[pa.Array] = []
        self._root = local_path(table_uri)

    def add(self, paths: pa.ChunkedArray, vectors: pa.ChunkedArray | None = None) -> None:
        """Add the files of some actions, and the files of their deletion vectors."""
        self._chunks += canonical_paths(paths, self._table_uri).chunks
        if vectors is not None and vectors.null_count < len(vectors):
            self._chunks.append(pa.array(self._vector_files(vectors), pa.string()))

    def add_live(self, *snapshots: Snapshot) -> None:
        """Add the files of some versions."""
        for each in snapshots:
            files = each.files(_PATHS)
            self.add(files["path"], files["deletion_vector"])

    def values(self) -> pa.Array:
        """Return all paths, and the other paths in the table that may reach the same files."""
        found = pc.unique(pa.chunked_array(self._chunks, pa.string()))
        further = _of_other_stores(found, self._table_uri) if self._root is None else _behind_links(found, self._root)
        return pa.concat_arrays([found, pa.array(further, pa.string())])

    def _vector_files(self, vectors: pa.ChunkedArray) -> list[str]:
        parts = [pc.struct_field(vectors, name) for name in ("storage_type", "path_or_inline_dv")]
        distinct = pa.table(parts, names=["storage_type", "path"]).filter(pc.is_in(parts[0], value_set=pa.array(["u", "p"])))
        found = []
        for row in distinct.group_by(["storage_type", "path"]).aggregate([]).to_pylist():
            vector = DeletionVectorDescriptor(row["storage_type"], row["path"], None, 0, 0)
            relative = vector.relative_path
            found.append(canonical(row["path"], self._table_uri) if relative is None else relative)
        return found


class Names:
    """Compares paths like the table's file system, which may ignore case and Unicode normalisation."""

    def __init__(self, store: LogStore) -> None:
        place = store.local_path(LOG_FOLDER.upper())
        self._folds = place is not None and os.path.exists(place)  # noqa: PTH110  (the path is a string)

    def not_among(self, paths: pa.ChunkedArray, others: pa.Array) -> pa.ChunkedArray:
        """Return a mask of the paths that are not among others."""
        if self._folds:
            paths, others = (pc.utf8_lower(pc.utf8_normalize(each, "NFC")) for each in (paths, others))
        return pc.invert(pc.is_in(paths, value_set=others))


def _behind_links(found: pa.Array, root: str) -> list[str]:
    """Return the real paths of files whose paths lead through a link."""
    folders = pc.replace_substring_regex(found, "[^/]*$", "")
    real_root = os.path.realpath(root)
    real: dict[str, str] = {}
    links: dict[str, bool] = {}
    for folder in pc.unique(folders).to_pylist():
        place = folder if folder.startswith("/") else f"{root}/{folder}"
        if folder.startswith("/") or _has_link(folder.rstrip("/"), root, links):
            real[folder] = os.path.realpath(place)
    prefixes = {
        folder: place[len(real_root) :].lstrip("/")
        for folder, place in real.items()
        if place == real_root or place.startswith(f"{real_root}/")
    }
    if not prefixes:
        return []
    inside = found.filter(pc.is_in(folders, value_set=pa.array(list(prefixes), pa.string())))
    split = [path.rpartition("/") for path in inside.to_pylist()]
    return [f"{prefixes[folder + slash]}/{name}".lstrip("/") for folder, slash, name in split]


def _has_link(folder: str, root: str, known: dict[str, bool]) -> bool:
    if not folder:
        return False
    if folder not in known:
        known[folder] = os.path.islink(f"{root}/{folder}") or _has_link(folder.rpartition("/")[0], root, known)  # noqa: PTH114
    return known[folder]


def _of_other_stores(found: pa.Array, table_uri: str) -> list[str]:
    """Return the paths in the table of files named by another spelling of its store: `s3:` for `s3a:`, or without its host.

    A file of another store with the same path matches too, so VACUUM may keep one file too many.
    """
    root = _without_store(table_uri)
    absolute = found.filter(pc.match_substring_regex(found, r"^/|^[A-Za-z][A-Za-z0-9+.\-]+:/"))
    inside = []
    for path in absolute.to_pylist():
        _, separator, after_scheme = path.partition("://")
        places = {_without_store(path), after_scheme.lstrip("/") if separator else path.lstrip("/")}
        inside += [place[len(root) :].lstrip("/") for place in places if not root or place.startswith(f"{root}/")]
    return inside


def _without_store(uri: str) -> str:
    """Return a path without its scheme and its host or bucket."""
    _, separator, rest = uri.partition("://")
    return (rest.partition("/")[2] if separator else uri).strip("/")


def needed_paths(
    log: LogReader, snapshot: Snapshot, retention: Retention, kept: Iterable[Snapshot], listing: LogListing, times: CommitTimes
) -> pa.Array:
    """Return the files to keep: live ones, those removed since the cutoff, those of kept versions, and their deletion vectors.

    Raises:
        TimeTravelError: the log does not reach back to the cutoff.
    """
    found = Paths(log.table_uri)
    found.add_live(snapshot, *kept)
    removed = snapshot.tombstones()
    recent = removed.filter(pc.greater_equal(pc.fill_null(removed["deletion_timestamp"], 0), retention.cutoff))
    found.add(recent["path"], recent["deletion_vector"])
    if retention.exceeds_default:
        versions = _versions_since(log, retention.cutoff, listing, times)
        for file in _commits(log, versions):
            _, removes = _file_actions(file.without_adds())
            found.add(removes["path"], removes["deletion_vector"])
    return found.values()


def live_paths(table_uri: str, snapshots: Iterable[Snapshot]) -> pa.Array:
    """Return the files of some versions, and their deletion vectors."""
    found = Paths(table_uri)
    found.add_live(*snapshots)
    return found.values()


def added_since(log: LogReader, version: int, latest: int) -> pa.Array:
    """Return the files that commits after a version added, with their deletion vectors and change files."""
    found = Paths(log.table_uri)
    for file in _commits(log, range(version + 1, latest + 1)):
        adds, _ = _file_actions(file)
        found.add(adds["path"], adds["deletion_vector"])
        found.add(pa.chunked_array([[each["path"] for each in file.changes()]], pa.string()))
    return found.values()


def removed_by_commits(log: LogReader, versions: Sequence[int]) -> pa.Table:
    """Return the files that some commits made unnecessary, as rows of `tree_schema` with a modification time of 0.

    These are removed files, their deletion vectors, and added change data files. They may still be needed, or be deleted already.
    """
    found = Paths(log.table_uri)
    sizes: dict[str, int] = {}
    for file in _commits(log, versions):
        _, removes = _file_actions(file.without_adds())
        found.add(removes["path"], removes["deletion_vector"])
        paths = canonical_paths(removes["path"], log.table_uri).to_pylist()
        sizes.update(zip(paths, (size or 0 for size in removes["size"].to_pylist()), strict=True))
        changes = file.changes()
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
    # A commit before a gap may be left over from a cleanup; what was removed in the gap is not known.
    first = next((each for each in reversed(versions) if each - 1 not in listing.commits), None)
    if first is None or (first > 0 and times.of(first) > cutoff):
        reached = "no version" if first is None else f"version {first}, {format_timestamp(times.of(first))}"
        raise failed(
            "DELTA_VERSION_NOT_FOUND/vacuum", table=log.table_uri, earliest=first, since=format_timestamp(cutoff), reached=reached
        )
    return versions[bisect_left(versions, cutoff, lo=versions.index(first), key=times.of) :]


def _commits(log: LogReader, versions: Sequence[int]) -> Iterable[ActionFile]:
    return read_each(log.store, versions, lambda version: ActionFile.of_commit(log.store, version, log.table_uri))


def _file_actions(file: ActionFile) -> tuple[pa.Table, pa.Table]:
    found = file_actions([file])
    return found.adds, found.removes
