# SPDX-License-Identifier: Apache-2.0
"""TRUNCATE TABLE: all files leave the table, in one commit; no data is read.

Source: delta-spark's operation `TRUNCATE`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bayou.protocol.features.protocol_rules import check_not_append_only

if TYPE_CHECKING:
    from bayou.spark.read.session_table import SessionTable


def truncate(target: SessionTable) -> None:
    """Empties a table. Old versions can still be read, and a table without files gets no commit.

    Raises:
        AppendOnlyError: the table only takes appends.
        UnsupportedFeatureError: the table asks its writers for what bayou does not do.
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
