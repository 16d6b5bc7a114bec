# SPDX-License-Identifier: Apache-2.0
"""Loading snapshots from a log: from scratch, or from the previous snapshot and the commits since.

Checkpoints and log compaction files only repeat commits: an unreadable one is skipped if the commits still exist.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bayou.errors import (
    CorruptLogError,
    DeltaError,
    StorageError,
    TableNotFoundError,
    VersionGapError,
    VersionNotFoundError,
    failed,
)
from bayou.log.actions.action_files import DerivedFileError
from bayou.log.segment.listing import LogListing, list_versions
from bayou.log.segment.segment import extend_segment, find_segment, newest_recreatable
from bayou.log.snapshot.snapshot import Snapshot
from bayou.log.snapshot.source import SnapshotSource
from bayou.protocol.actions.file_names import LOG_FOLDER, parse_log_file_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.storage import LogStore


def load(store: LogStore, table_uri: str, version: int | None = None, *, written: Mapping[str, bytes] | None = None) -> Snapshot:
    """Load a table at a version from scratch.

    Args:
        version: the version; None for the latest.
        written: files that this process has just written, by path.

    Raises:
        TableNotFoundError: the table does not exist.
        VersionNotFoundError: the version does not exist, or its log is gone.
        CorruptLogError: the log is corrupt.
    """
    unreadable: frozenset[str] = frozenset()
    broken: DerivedFileError | None = None
    while True:
        try:
            segment = find_segment(store, table_uri, version, unreadable=unreadable)
        except TableNotFoundError:
            raise _not_found(store, table_uri) from None
        except Exception as error:
            if broken is not None:
                raise broken from error
            raise
        try:
            return Snapshot(SnapshotSource.open(segment, store, table_uri, unreadable=unreadable, written=written))
        except DerivedFileError as error:
            # Without this, a file that is unreadable in spite of being left out would cause an endless loop.
            if error.file is None or error.file in unreadable:
                raise
            broken = error
            unreadable |= {error.file}


def advance(known: Snapshot, written: Mapping[str, bytes] | None = None) -> Snapshot:
    """Load the latest version of a table from a known one, which is returned if it is the latest; only newer commits are read.

    If the newer commits do not continue the known version, or a checkpoint is unreadable, the table is loaded from scratch.

    Args:
        written: files that this process has just written, by path.

    Raises:
        TableNotFoundError: the table no longer exists.
        CorruptLogError: the log is corrupt.
    """
    store, table_uri = known.source.store, known.source.table_uri
    segment = extend_segment(known.segment, list_versions(store, known.version))
    if segment is None:
        return load(store, table_uri, written=written)
    if segment is known.segment:
        return known
    try:
        return Snapshot(known.source.extend(segment, known.protocol, known.metadata, written))
    except DerivedFileError:
        return load(store, table_uri)


def newest_before(failure: DeltaError, store: LogStore, table_uri: str, listing: LogListing) -> Snapshot | None:
    """Load the newest readable version if the latest cannot be read; None if no version can be.

    Each attempt begins before the version at which the last one failed, so there are at most as many attempts as broken files.
    """
    tried = listing.latest
    while tried is not None:
        tried = newest_recreatable(listing, before=min(tried, _broken_version(failure, tried)))
        try:
            return None if tried is None else load(store, table_uri, tried)
        except (CorruptLogError, StorageError, VersionNotFoundError) as error:
            failure = error
    return None


def _broken_version(failure: DeltaError, tried: int) -> int:
    """Return the version that cannot be read, according to the error of an attempt."""
    if isinstance(failure, VersionGapError) and failure.facts.get("missing"):
        return int(failure.facts["missing"][0])
    name = parse_log_file_name((failure.file or "").rpartition("/")[2])
    known = [failure.version, None if name is None else name.version]
    return min((version for version in known if version is not None), default=tried)


def find_version(store: LogStore, table_uri: str) -> int:
    """Return the latest version of a table without reading a commit, or raise TableNotFoundError if the table does not exist."""
    try:
        return find_segment(store, table_uri).version
    except TableNotFoundError:
        raise _not_found(store, table_uri) from None


def _not_found(store: LogStore, table_uri: str) -> DeltaError:
    try:
        something = next(iter(store.list_from("")), None) is not None
    except FileNotFoundError:
        something = False
    local = store.local_path("")
    if local is not None and os.path.isfile(local):  # noqa: PTH113
        return failed("DELTA_TABLE_NOT_FOUND/file", table=table_uri)
    outer = None if local is None else _table_around(local)
    if outer is not None:
        return failed("DELTA_TABLE_NOT_FOUND/inside", table=table_uri, outer=outer)
    if something or (local is not None and os.path.isdir(local)):  # noqa: PTH112
        return failed("DELTA_TABLE_NOT_FOUND", table=table_uri)
    return failed("PATH_NOT_FOUND", table=table_uri)


def _table_around(folder: str) -> str | None:
    """Return the nearest folder above a folder that has a log, or None."""
    parents = Path(folder).parents
    return next((str(each) for each in parents if (each / LOG_FOLDER).is_dir()), None) if os.path.isdir(folder) else None  # noqa: PTH112
