# SPDX-License-Identifier: Apache-2.0
"""Detect commits of a version that log cleanup has already deleted, by a writer that was suspended past the retention.

The file of such a commit is in the log's folder, but in no version of the table. It is newer than a checkpoint of a later version.

A listing before the put is not sufficient: the process may be suspended between the two, the store may answer the put late, and
the clock of the cleanup may be wrong. This module only compares times of the store.
"""

from __future__ import annotations

import contextlib
import enum
from typing import TYPE_CHECKING

from bayou.errors import DeltaError
from bayou.log.actions.commit_info import read_commit_info
from bayou.log.segment.listing import LogListing, list_versions
from bayou.log.segment.segment import earliest_version
from bayou.protocol.actions.file_names import commit_path
from bayou.storage.store import FileStatus

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot


class Standing(enum.Enum):
    """The status of a commit after its put."""

    HELD = "a version of the table"
    LATE = "a file that no version of the table holds"
    GONE = "not there any more, and older than every version that can be recreated"


def standing(log: LogReader, latest: Snapshot, version: int) -> Standing:
    """Return the status of a commit after its put.

    Lists the log only if a checkpoint of this or a later version exists, which is rare right after the commit.

    Args:
        latest: the table's latest version, as listed after the put.
    """
    checkpoint = latest.segment.checkpoint
    if checkpoint is None or checkpoint.version < version:
        return Standing.HELD
    listing = list_versions(log.store)
    first, ours = earliest_version(listing), listing.commits.get(version)
    if first is None or version >= first:
        return Standing.HELD
    if ours is None:
        return Standing.GONE
    return Standing.LATE if _is_newer(ours, listing, version) else Standing.HELD


def withdraw(log: LogReader, version: int, txn_id: str) -> None:
    """Delete the commit of a version if it is the given one. Readers ignore it if it stays."""
    with contextlib.suppress(DeltaError, OSError):
        path = commit_path(version)
        info = read_commit_info(log.store, FileStatus(path, 0, 0), version, log.table_uri)
        if info is not None and info.txn_id == txn_id:
            log.store.delete(path)


def _is_newer(commit: FileStatus, listing: LogListing, version: int) -> bool:
    """Whether a commit is newer than a checkpoint of its version or a later one."""
    later = (found for found in listing.checkpoints if found.version >= version)
    return any(max(each.modification_time for each in found.files) < commit.modification_time for found in later)
