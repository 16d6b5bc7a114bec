# SPDX-License-Identifier: Apache-2.0
"""Rewrite files with the rows that they have: without deletion vectors, with other types or column names.

One Spark job writes them, one commit replaces the old ones. No row changes, and rows keep their ids if the table tracks rows.
Source: delta-spark's `OptimizeExecutor` and `RemoveColumnMappingCommand`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.log.actions.keys import hadoop_uris
from bayou.plan.maintenance.cells import keys_of_tasks
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.data_files.new_files import write_new_files
from bayou.spark.data_files.request import WriteContext, WriteOptions, WriteRequest
from bayou.spark.data_files.target import WriteTarget
from bayou.spark.data_files.uncommitted_files import UncommittedFiles
from bayou.spark.dml.core.live_rows import check_moved_rows
from bayou.spark.read.stored_rows import FILE, GROUP, ROW, auxiliary_of_stored, file_tasks, rows_by_group, stored_rows
from bayou.spark.session.operations import described_jobs, operation
from bayou.spark.session.settings import string_prefix_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.backend import FileTasks
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.read.session_table import SessionTable


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What was rewritten, for the metrics of a commit.

    Attributes:
        added_sizes: the sizes of the new files in bytes, ascending.
        removed_files, removed_bytes: how many files are removed, and the sum of their sizes.
        removed_vectors: how many deletion vectors they have.
        rows: the rows in the new files.
    """

    added_sizes: tuple[int, ...]
    removed_files: int
    removed_bytes: int
    removed_vectors: int
    rows: int

    @classmethod
    def of(cls, old: pa.Table, new: NewFiles) -> Rewritten:
        """Count the removed files, as `Snapshot.files` has them, and the new ones."""
        vectors = old.num_rows - old["deletion_vector"].null_count
        size = pc.sum(old["size"]).as_py() or 0
        return cls(tuple(sorted(add.size for add in new.files)), old.num_rows, size, vectors, new.num_rows)

    def as_reorg(self) -> dict[str, int]:
        """Return the metrics of OPTIMIZE and REORG."""
        sizes = self.added_sizes
        count = len(sizes)
        names = ("minFileSize", "p25FileSize", "p50FileSize", "p75FileSize", "maxFileSize")
        places = (0, count // 4, count // 2, count * 3 // 4, count - 1)
        return {
            "numAddedFiles": count,
            "numAddedBytes": sum(sizes),
            "numRemovedFiles": self.removed_files,
            "numRemovedBytes": self.removed_bytes,
            "numDeletionVectorsRemoved": self.removed_vectors,
            **(dict(zip(names, (sizes[place] for place in places), strict=True)) if sizes else {}),
        }

    def as_mapping_removal(self) -> dict[str, int]:
        """Return the metrics of REMOVE COLUMN MAPPING."""
        return {
            "numRewrittenFiles": self.removed_files,
            "numCopiedRows": self.rows,
            "numOutputBytes": sum(self.added_sizes),
            "numRemovedBytes": self.removed_bytes,
        }


@dataclass(frozen=True, slots=True)
class Rewriting:
    """The purpose of a rewrite: the operation and its parameters in the history, and its metrics.

    `into` is the table afterwards, if the commit changes its definition; None if only files change.
    """

    operation: str
    parameters: Mapping[str, Any]
    metrics: Callable[[Rewritten], Mapping[str, int]]
    into: WriteTarget | None = None


def rewrite_files(target: SessionTable, snapshot: Snapshot, positions: pa.Array, rewriting: Rewriting) -> None:
    """Rewrite some files of a table, and commit them without a change of rows.

    Raises:
        ConcurrentModificationError: another commit removed one of the files; or it added files, and the table's definition
            changes. The new files are deleted.
        StorageError: the store failed; the commit may nevertheless be in the log.
    """
    shown = operation(rewriting.operation, target.spark, target.settings, target.shown)
    described = described_jobs(target.spark, f"{rewriting.operation} {target.shown}, {len(positions)} files")
    old = snapshot.files().take(positions)
    with (
        shown,
        described,
        target.begin(snapshot, rewriting.operation, rewriting.parameters) as transaction,
        UncommittedFiles(snapshot.table_uri, target.options) as uncommitted,
    ):
        if rewriting.into is None:
            transaction.reads.note_files(old["path"])
        else:
            transaction.read_whole_table()
        added = rewrite_uncommitted(target, snapshot, positions, uncommitted, rewriting.into)
        transaction.remove_files(old, data_change=False)
        metrics = rewriting.metrics(Rewritten.of(old, added))
        head = () if rewriting.into is None else rewriting.into.head
        uncommitted.commit(transaction, added, metrics, head=head, keeps_row_ids=True)


def rewrite_uncommitted(
    target: SessionTable,
    snapshot: Snapshot,
    positions: pa.Array,
    uncommitted: UncommittedFiles,
    into: WriteTarget | None = None,
    tasks: pa.Array | None = None,
) -> NewFiles:
    """Rewrite the rows of some files, and check that none is lost. Nothing is committed.

    The new files hold the ids of their rows where the table keeps them.

    Args:
        uncommitted: takes over the new files.
        into: the table afterwards; None for the same table.
        tasks: the number of the task that reads each file, from 0 on; each task writes one file. Spark decides if None.

    Raises:
        InvalidCommitError: the new files do not hold as many rows as the old ones.
    """
    if tasks is not None and not target.application.backend.is_native:
        return _rewritten_in_groups(target, snapshot, positions, uncommitted, into, tasks)
    frame = stored_rows(target.application, target.spark, snapshot, positions, options=target.options, tasks=tasks)
    grouped = None if tasks is None else file_tasks(snapshot, tasks)
    return rewrite_rows(target, snapshot, positions, frame, uncommitted, into, tasks=grouped)


def _rewritten_in_groups(
    target: SessionTable,
    snapshot: Snapshot,
    positions: pa.Array,
    uncommitted: UncommittedFiles,
    into: WriteTarget | None,
    groups: pa.Array,
) -> NewFiles:
    """Rewrite files in groups by a shuffle, for sessions whose tasks cannot read certain files. Each group becomes one file.

    Rows keep their order: a group has the rows of its files one after another, as if one task had read them.
    """
    count = pc.max(groups).as_py() + 1
    rows = rows_by_group(target.application, target.spark, snapshot, positions, groups, options=target.options)
    names = [quoted_name(name) for name in rows.columns if name not in (GROUP, FILE, ROW)]
    key = F.element_at(F.lit(keys_of_tasks(count)), F.col(GROUP) + 1)
    arranged = rows.repartition(count, key).sortWithinPartitions(FILE, ROW).select(*names)
    added = rewrite_rows(target, snapshot, positions, arranged, uncommitted, into, is_arranged=True)
    uris = hadoop_uris(snapshot.files(["path"])["path"].take(positions), snapshot.table_uri).to_pylist()
    read: list[list[str]] = [[] for _ in range(count)]
    for uri, group in zip(uris, groups.to_pylist(), strict=True):
        read[group].append(uri)
    return replace(added, read_by_tasks=read)


def rewrite_rows(
    target: SessionTable,
    snapshot: Snapshot,
    positions: pa.Array,
    frame: DataFrame,
    uncommitted: UncommittedFiles,
    into: WriteTarget | None = None,
    *,
    tasks: FileTasks | None = None,
    is_arranged: bool = False,
) -> NewFiles:
    """Write the rows of some files as new files, and check that none is lost. Nothing is committed.

    Args:
        frame: their rows, with the columns that keep their ids.
        uncommitted: takes over the new files.
        into: the table afterwards; None for the same table.
        tasks: the tasks of the job, if each reads certain files and writes one.
        is_arranged: whether each partition of the rows becomes one file.

    Raises:
        InvalidCommitError: the new files do not hold as many rows as the old ones.
    """
    optimizes = False if is_arranged or tasks is not None else None
    uri, hadoop = snapshot.table_uri, target.options
    options = WriteOptions(uri, "append", storage_options=hadoop, data_change=False, optimize_write=optimizes)
    request = WriteRequest(options, WriteContext(string_prefix=string_prefix_of(target.settings, uri)))
    auxiliary = replace(auxiliary_of_stored(snapshot), feeds=False)  # no row changes
    after = into or WriteTarget.of_snapshot(target.log, snapshot)
    added = write_new_files(
        target.application, frame, request, after, uncommitted, auxiliary=auxiliary, tasks=tasks, is_arranged=is_arranged
    )
    paths = snapshot.files(["path"])["path"].take(positions).combine_chunks()
    check_moved_rows(target.application.backend, snapshot, paths, added.num_rows, target.options)
    return added
