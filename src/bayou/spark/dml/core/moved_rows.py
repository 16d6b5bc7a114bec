# SPDX-License-Identifier: Apache-2.0
"""Rows that only move to other files: a commit that says so (`dataChange` is false) adds as many rows as it removes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import InvalidCommitError
from bayou.spark.dml.core.live_rows import count_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import Jvm


def check_moved_rows(jvm: Jvm, snapshot: Snapshot, gone: pa.Array, written: int, options: Mapping[str, str]) -> None:
    """Refuses new files that do not hold as many rows as the files that they replace. Opens files without statistics.

    Args:
        jvm: the bridge.
        snapshot: the table's state.
        gone: the paths in the log of the files that are removed.
        written: how many rows the new files hold.
        options: options for the file system.

    Raises:
        InvalidCommitError: they hold more rows, or fewer.
    """
    if not len(gone):
        return
    positions = pc.index_in(gone, value_set=snapshot.files(["path"])["path"].combine_chunks()).cast(pa.int64())
    removed = count_rows(jvm, snapshot, positions, options)
    if written != removed:
        raise InvalidCommitError(
            f"The write states that it changes no data (dataChange is false), and it replaces {removed} rows by {written}.",
            table=snapshot.table_uri,
            version=snapshot.version,
            error_class="DELTA_NUM_RECORDS_MISMATCH",
            sql_state="XXKDS",
            next_step="write all rows of the files that are replaced, or leave dataChange out. The settings "
            "spark.sql.files.ignoreMissingFiles and spark.sql.files.ignoreCorruptFiles leave rows out.",
        )
