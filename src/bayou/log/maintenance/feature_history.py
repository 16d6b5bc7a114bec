# SPDX-License-Identifier: Apache-2.0
"""The log of a table for DROP FEATURE ... TRUNCATE HISTORY: which old versions use a feature, and their deletion.

Source: delta-spark's `RemovableFeature.historyContainsFeature` and `CheckpointProtectionTableFeature`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.log.actions.action_files import ActionFile
from bayou.log.maintenance.log_cleanup import clean_up
from bayou.log.segment.listing import list_versions
from bayou.protocol import properties
from bayou.protocol.actions.file_names import LogFileKind, parse_log_file_name
from bayou.protocol.evolution.feature_traces import action_uses, metadata_uses

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot


def truncate_log(snapshot: Snapshot, *, now_ms: int | None = None) -> None:
    """Delete the log before the newest checkpoint older than `delta.dropFeatureTruncateHistory.retentionDuration`.

    Raises:
        StorageError: the store failed. Some files are deleted, and all remaining versions can be read.
    """
    retention = properties.DROP_FEATURE_RETENTION_MS.read(snapshot.metadata.configuration)
    clean_up(snapshot, now_ms=now_ms, retention_ms=retention)


def history_uses(log: LogReader, feature: str) -> bool:
    """Return whether a version in the log uses a feature, whatever the protocol lists.

    Reads every commit of the log, and the oldest checkpoint if the first commits are gone. Files that were removed before that
    checkpoint do not count.

    Raises:
        CorruptLogError: a commit cannot be read.
    """
    listing = list_versions(log.store)
    if feature == "v2Checkpoint" and any(_is_v2(found.files[0].name) for found in listing.checkpoints):
        return True
    if 0 not in listing.commits and listing.checkpoints:
        oldest = min(found.version for found in listing.checkpoints)
        if _snapshot_uses(log.snapshot(oldest), feature):
            return True
    return any(_commit_uses(log, version, feature) for version in sorted(listing.commits))


def first_commit(log: LogReader) -> int | None:
    """Return the version of the oldest commit in the log; None if the log has no commit."""
    return min(list_versions(log.store).commits, default=None)


def _is_v2(name: str) -> bool:
    found = parse_log_file_name(name)
    return found is not None and found.kind is LogFileKind.V2_CHECKPOINT


def _snapshot_uses(snapshot: Snapshot, feature: str) -> bool:
    if metadata_uses(feature, snapshot.metadata.configuration, snapshot.metadata.schema_string):
        return True
    return feature == "deletionVectors" and _has_vectors(snapshot)


def _has_vectors(snapshot: Snapshot) -> bool:
    vectors = snapshot.files(["deletion_vector"])["deletion_vector"]
    return bool(len(vectors) > vectors.null_count)


def _commit_uses(log: LogReader, version: int, feature: str) -> bool:
    try:
        file = ActionFile.of_commit(log.store, version, log.table_uri)
    except FileNotFoundError:  # deleted by a concurrent cleanup
        return False
    return any(action_uses(feature, action) for action in file.actions())
