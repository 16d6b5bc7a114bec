# SPDX-License-Identifier: Apache-2.0
"""Snapshots from what the store lists: opened anew, or made of the one before and the commits since.

Checkpoints and log compaction files only sum up what commits say: one that cannot be read is passed over, as long as the commits
that it stands for are there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bayou.errors import (
    CorruptLogError,
    DeltaError,
    PathNotFoundError,
    StorageError,
    TableNotFoundError,
    VersionGapError,
    VersionNotFoundError,
    redact_uri,
)
from bayou.log.actions.action_files import DerivedFileError
from bayou.log.segment.listing import LogListing, list_versions
from bayou.log.segment.segment import extend_segment, find_segment, newest_recreatable, no_table
from bayou.log.snapshot.snapshot import Snapshot
from bayou.log.snapshot.source import SnapshotSource
from bayou.protocol.actions.file_names import parse_log_file_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.storage import LogStore


def load(store: LogStore, table_uri: str, version: int | None = None, *, written: Mapping[str, bytes] | None = None) -> Snapshot:
    """A table at a version, of which nothing is known yet.

    Args:
        version: the version; the latest where None.
        written: what this process has just written itself, by path.

    Raises:
        TableNotFoundError: there is no table.
        VersionNotFoundError: the version does not exist, or the log that led to it is gone.
        CorruptLogError: the log is broken.
    """
    unreadable: frozenset[str] = frozenset()
    failed: DerivedFileError | None = None
    while True:
        try:
            segment = find_segment(store, table_uri, version, unreadable=unreadable)
        except TableNotFoundError:
            raise _not_found(store, table_uri) from None
        except Exception as error:
            if failed is not None:
                raise failed from error
            raise
        try:
            return Snapshot(SnapshotSource.open(segment, store, table_uri, unreadable=unreadable, written=written))
        except DerivedFileError as error:
            if error.file is None or error.file in unreadable:
                raise
            failed = error
            unreadable |= {error.file}


def advance(known: Snapshot, written: Mapping[str, bytes] | None = None) -> Snapshot:
    """The latest version of a table, by one that was read before: only what was committed since is read.

    Args:
        known: the table as it was read before; it is returned where it is the latest still.

    Raises:
        TableNotFoundError: there is no table any more.
        CorruptLogError: the log is broken.
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
    """The newest version that can be read if the latest cannot be; None if no version can be.

    Each attempt begins before the version that made the one before it fail, so that there are as many as there are broken
    files.

    Args:
        failure: why the latest version cannot be read.
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
    """The version that cannot be read, by the error of an attempt."""
    if isinstance(failure, VersionGapError) and failure.facts.get("missing"):
        return int(failure.facts["missing"][0])
    name = parse_log_file_name((failure.file or "").rpartition("/")[2])
    known = [failure.version, None if name is None else name.version]
    return min((version for version in known if version is not None), default=tried)


def find_version(store: LogStore, table_uri: str) -> int:
    """The latest version of a table; no commit is read.

    Raises:
        TableNotFoundError: there is no table.
    """
    try:
        return find_segment(store, table_uri).version
    except TableNotFoundError:
        raise _not_found(store, table_uri) from None


def _not_found(store: LogStore, table_uri: str) -> TableNotFoundError:
    try:
        something = next(iter(store.list_from("")), None) is not None
    except FileNotFoundError:
        something = False
    local = store.local_path("")
    if local is not None and os.path.isfile(local):  # noqa: PTH113
        return TableNotFoundError(
            f"`{redact_uri(table_uri)}` is a file, and a Delta table is a folder.",
            table=table_uri,
            next_step="give the folder that holds _delta_log.",
        )
    if something or (local is not None and os.path.isdir(local)):  # noqa: PTH112
        return no_table(table_uri)
    return PathNotFoundError(f"Path does not exist: {redact_uri(table_uri)}.", table=table_uri, next_step="check the path.")
