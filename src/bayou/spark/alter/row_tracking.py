# SPDX-License-Identifier: Apache-2.0
"""Enable row tracking on an existing table: add the feature, then give ids to the files that lack them. Also the reverse.

Source: delta-spark's `RowTrackingBackfillCommand` and `RowTrackingUnBackfillCommand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.log.operations.row_id_backfill import FILES_PER_COMMIT, backfill_row_ids, check_countable, remove_row_ids
from bayou.protocol.evolution.property_rules import validated
from bayou.protocol.features.features import writer_features
from bayou.spark.alter.metadata_actions import upgrade
from bayou.spark.session.operations import operation
from bayou.spark.session.progress import phase
from bayou.spark.session.settings import is_on

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.session_table import SessionTable

_ENABLED: Final = "spark.databricks.delta.rowTracking.backfill.enabled"
_MAX_FILES: Final = ("spark.databricks.delta.backfill.maxNumFiles", "spark.databricks.delta.rowTracking.backfill.maxNumFiles")


def add_row_ids(target: SessionTable, snapshot: Snapshot) -> None:
    """Add the row tracking feature to a table, then give row ids to all its files, so that row tracking can be enabled.

    After the first commit every writer gives ids to the files that it adds.

    Raises:
        InvalidCommitError: the statistics of a file lack its number of rows. Nothing was committed.
        UnsupportedFeatureError: the session does not allow it (`rowTracking.backfill.enabled`).
        ConcurrentModificationError: other writers won every attempt.
    """
    if not is_on(target.settings, _ENABLED, default=True):
        raise failed("row-tracking-backfill-disabled", at=snapshot, setting=_ENABLED, features=("rowTracking",))
    files_per_commit = _files_per_commit(target)
    check_countable(snapshot)
    if "rowTracking" not in writer_features(snapshot.protocol):
        asked = validated({"delta.feature.rowTracking": "supported"}, table=target.uri, version=snapshot.version)
        upgrade(target, snapshot, asked)
    with operation("ROW TRACKING BACKFILL", target.spark, target.settings, target.shown):
        phase("committing")
        backfill_row_ids(target.log, target.begin, files_per_commit=files_per_commit)


def drop_row_ids(target: SessionTable) -> None:
    """Remove the row ids from all files of a table whose row tracking is suspended.

    Raises:
        UnsupportedFeatureError: another writer enabled row tracking again.
        ConcurrentModificationError: other writers won every attempt.
    """
    remove_row_ids(target.log, target.begin, files_per_commit=_files_per_commit(target))


def _files_per_commit(target: SessionTable) -> int:
    found = next(((key, target.settings[key]) for key in _MAX_FILES if key in target.settings), None)
    if found is None:
        return FILES_PER_COMMIT
    key, text = found
    if not text.strip().isdecimal() or int(text) < 1:
        raise failed("setting-not-positive", table=target.uri, option=key, value=text)
    return int(text)
