# SPDX-License-Identifier: Apache-2.0
"""Commits of writers that slept through a cleanup: their version is an old one, whose name a cleanup has made free again.

Such a commit is in the log's folder and in no version of the table. It is known by the checkpoint that stands for it: that
is older than the commit, though it comes after.

A listing before the put cannot make up for this: the process may be suspended between the two, the store may answer the put
late, and the clock of the cleanup may be wrong. All times that are compared here are the store's own.
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
    """What a commit is worth that was just put."""

    HELD = "a version of the table"
    LATE = "a file that no version of the table holds"
    GONE = "not there any more, and older than every version that can be recreated"


def standing(log: LogReader, latest: Snapshot, version: int) -> Standing:
    """What a commit is worth that was just put.

    Lists the log only where a checkpoint stands for the version, which it hardly ever does right after the commit.

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
    """Delete the commit of a version if it is the one of that name. One that stays is passed over by readers."""
    with contextlib.suppress(DeltaError, OSError):
        path = commit_path(version)
        info = read_commit_info(log.store, FileStatus(path, 0, 0), version, log.table_uri)
        if info is not None and info.txn_id == txn_id:
            log.store.delete(path)


def _is_newer(commit: FileStatus, listing: LogListing, version: int) -> bool:
    """Whether a commit was put after a checkpoint was there that stands for its version."""
    later = (found for found in listing.checkpoints if found.version >= version)
    return any(max(each.modification_time for each in found.files) < commit.modification_time for found in later)
