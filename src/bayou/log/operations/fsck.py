# SPDX-License-Identifier: Apache-2.0
"""FSCK REPAIR TABLE: remove files that cannot be read from the log, by a commit. The rows of these files are lost.

The names follow Databricks (FSCK REPAIR TABLE) and delta-rs (`DeltaTable.repair`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import ConcurrentModificationError
from bayou.log.actions.columns import DELETION_VECTOR
from bayou.log.actions.keys import vector_ids
from bayou.log.operations.maintained import Begin, missing_files, plain_transactions, writable_snapshot
from bayou.report.html import facts_html

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot

OPERATION: Final = "FSCK"
"""The name of the operation in the history."""

LOST_SCHEMA: Final = pa.schema(
    [
        ("dataFilePath", pa.string()),
        ("dataFileMissing", pa.bool_()),
        ("deletionVectorFileMissing", pa.bool_()),
        ("reason", pa.string()),
        ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()),
        ("numRecords", pa.int64()),
    ]
)
"""The columns of `FsckResult.files`."""

LogicalFile: TypeAlias = tuple[str, str]
"""The path of a file as in the log, and the unique id of its deletion vector; an empty string without one."""

_MOST_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class FsckResult:
    """The outcome of FSCK REPAIR TABLE.

    Attributes:
        version: the committed version; None for a dry run, or if no file is removed.
        files: the removed files with the columns of `LOST_SCHEMA`. `numRecords` is the number of lost rows; null if unknown.
    """

    version: int | None
    files: pa.Table

    @property
    def lost_rows(self) -> int | None:
        """The number of lost rows; None if a file has no statistics."""
        return None if self.files["numRecords"].null_count else pc.sum(self.files["numRecords"]).as_py() or 0

    @property
    def metrics(self) -> dict[str, int]:
        """The counts under the names of the history's metrics."""
        return {"numRemovedFiles": self.files.num_rows}

    def _repr_html_(self) -> str:
        what = "no commit" if self.version is None else f"made version {self.version}"
        return facts_html(f"FSCK REPAIR TABLE: {what}", {**self.metrics, "lostRows": self.lost_rows})


def fsck(
    log: LogReader,
    *,
    dry_run: bool = False,
    unreadable: Mapping[LogicalFile, str] | None = None,
    begin: Begin | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> FsckResult:
    """Remove the files that do not exist, or whose deletion vector does not, from the log. Their rows are lost.

    Args:
        log: the table.
        dry_run: only list the files.
        unreadable: further files to remove, and the reason of each.
        begin: begins the transaction; None for one without a session.
        storage_options: credentials and settings for stores of files outside the table.

    Raises:
        AppendOnlyError: the table accepts only appends.
        UnsupportedFeatureError: bayou cannot write to the table.
        ConcurrentModificationError: other writers committed first in all attempts.
        StorageError: a folder cannot be listed.
    """
    attempts = 0
    while True:
        snapshot = writable_snapshot(log, "FSCK REPAIR TABLE")
        files = snapshot.files()
        lost, places = _lost(log, snapshot, files, unreadable or {}, storage_options)
        result = FsckResult(None, lost)
        if dry_run or not lost.num_rows:
            return result
        try:
            with (begin or plain_transactions(log))(snapshot, OPERATION, {}) as transaction:
                transaction.remove_files(files.take(places))
                return replace(result, version=transaction.commit(metrics=result.metrics).version)
        except ConcurrentModificationError:
            # The winner may have removed the same files.
            attempts += 1
            if attempts == _MOST_ATTEMPTS:
                raise


def _lost(
    log: LogReader,
    snapshot: Snapshot,
    files: pa.Table,
    unreadable: Mapping[LogicalFile, str],
    storage_options: Mapping[str, str] | None,
) -> tuple[pa.Table, pa.Array]:
    """Return the files to remove with the columns of `LOST_SCHEMA`, and their places."""
    without_vectors = files.set_column(
        files.schema.get_field_index("deletion_vector"), "deletion_vector", pa.nulls(files.num_rows, DELETION_VECTOR)
    )
    missing = missing_files(log, without_vectors, storage_options)
    marked = files.filter(pc.is_valid(files["deletion_vector"]))
    lost_vectors = missing_files(log, marked, storage_options) - missing if marked.num_rows else set()
    reasons = {
        **{file[0]: unreadable[file] for file in _logical_files(files.slice(0, None if unreadable else 0)) if file in unreadable},
        **dict.fromkeys(lost_vectors, "the file of its deletion vector does not exist"),
        **dict.fromkeys(missing, "the data file does not exist"),
    }
    places = pc.indices_nonzero(pc.is_in(files["path"], value_set=pa.array(sorted(reasons), pa.string())))
    places = places.cast(pa.int64())
    chosen = files.take(places)
    paths = chosen["path"].to_pylist()
    columns: dict[str, Any] = {
        "dataFilePath": chosen["path"],
        "dataFileMissing": pa.array([each in missing for each in paths], pa.bool_()),
        "deletionVectorFileMissing": pa.array([each in lost_vectors for each in paths], pa.bool_()),
        "reason": pa.array([reasons[each] for each in paths], pa.string()),
        "partitionValues": chosen["partition_values"],
        "size": chosen["size"],
        "numRecords": snapshot.live_rows(places),
    }
    return pa.Table.from_arrays([columns[name] for name in LOST_SCHEMA.names], schema=LOST_SCHEMA), places


def _logical_files(files: pa.Table) -> Iterator[LogicalFile]:
    return zip(files["path"].to_pylist(), pc.fill_null(vector_ids(files["deletion_vector"]), "").to_pylist(), strict=True)
