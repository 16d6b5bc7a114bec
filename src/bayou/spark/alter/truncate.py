# SPDX-License-Identifier: Apache-2.0
"""TRUNCATE TABLE: remove all files of a table in one commit, without reading data.

Source: delta-spark's operation `TRUNCATE`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bayou.protocol.features.protocol_rules import check_not_append_only

if TYPE_CHECKING:
    from bayou.spark.read.session_table import SessionTable


def truncate(target: SessionTable) -> None:
    """Empty a table; old versions stay readable. A no-op if the table has no files.

    Raises:
        AppendOnlyError: the table is append-only.
        UnsupportedFeatureError: the table needs a writer feature that bayou does not support.
        ConcurrentModificationError: another commit added or removed files in the meantime.
    """
    start = time.monotonic()
    snapshot = target.snapshot()
    check_not_append_only(snapshot.metadata, "TRUNCATE removes its rows", snapshot.table_uri, snapshot.version)
    with target.begin(snapshot, "TRUNCATE", {}) as transaction:
        files = transaction.files()
        if not files.num_rows:
            return
        removed = transaction.remove_files(files)
        metrics = {"numRemovedFiles": len(removed), "executionTimeMs": int((time.monotonic() - start) * 1000)}
        transaction.commit(metrics=metrics)
    target.refresh_caches()
