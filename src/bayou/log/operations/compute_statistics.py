# SPDX-License-Identifier: Apache-2.0
"""COMPUTE STATS: compute the statistics of a table's files again, from their footers if possible, and commit them.

No row changes. Source: delta-spark's `StatisticsCollection.recompute`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bayou.errors import ConcurrentModificationError, DeltaError, StorageError, failed, reason
from bayou.log.actions.commit_info import COMPUTE_STATS
from bayou.log.operations.maintained import Begin, place_in_store, plain_transactions, store_of, writable_snapshot
from bayou.log.rows.deleted_rows import live_files
from bayou.log.snapshot.data_skipping import to_predicate
from bayou.log.staging.footer_statistics import stated_statistics
from bayou.plan.predicates.predicate import columns
from bayou.protocol.features.features import writer_features
from bayou.protocol.stats.file_stats import IndexedLeaf, LeafStatistics, indexed_leaves, skipping_types, to_json

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.snapshot.statistics_cache import ColumnPath
    from bayou.plan.predicates.predicate import Filters
    from bayou.protocol.actions.actions import AddFile

_THREADS: Final = 8
_ATTEMPTS: Final = 20
_EVERY_FILE: Final = ("true",)
"""The history's `predicate` of a run without a condition, as delta-spark writes it."""


@dataclass(frozen=True, slots=True)
class ComputedStatistics:
    """The outcome of a COMPUTE STATS.

    Attributes:
        version: the committed version; None if all statistics were right.
        num_files: how many files were examined.
        num_updated_files: how many files got other statistics.
        num_scanned_files: how many files had their rows read.
        incomplete: the paths, as in the log, of files whose footers lack statistics and whose rows were not read. They keep their
            old statistics; a file without any gets those of its footer.
    """

    version: int | None
    num_files: int
    num_updated_files: int
    num_scanned_files: int = 0
    incomplete: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """The statistics of one file, as far as they are known.

    Attributes:
        num_records: its rows, deleted ones included.
        leaves: the statistics of its columns, in the order of the schema.
        unsure: the columns whose statistics are incomplete. These are all columns if the file has a deletion vector, because a
            footer counts deleted rows too.
    """

    add: AddFile
    num_records: int
    leaves: Sequence[LeafStatistics]
    unsure: frozenset[ColumnPath]

    @classmethod
    def of(cls, add: AddFile, footer: pq.FileMetaData, leaves: Sequence[IndexedLeaf]) -> FileStatistics:
        """Return the statistics in a file's footer."""
        found, unsure = stated_statistics(footer, leaves)
        if add.deletion_vector is not None:
            unsure = {leaf.path for leaf in leaves}
        return cls(add, footer.num_rows, found, frozenset(unsure))

    @property
    def is_sure(self) -> bool:
        """Whether the statistics are those of the live rows."""
        return self.add.deletion_vector is None and not self.unsure

    @property
    def num_live(self) -> int:
        """The number of rows without deleted ones."""
        return self.num_records - (0 if self.add.deletion_vector is None else self.add.deletion_vector.cardinality)

    def with_leaves(self, found: Mapping[ColumnPath, LeafStatistics]) -> FileStatistics:
        """Return a copy with the statistics that were computed from the rows of some columns."""
        leaves = [found.get(leaf.path, leaf) for leaf in self.leaves]
        return FileStatistics(self.add, self.num_records, leaves, self.unsure - found.keys())

    def text(self, snapshot: Snapshot) -> str:
        """Return the statistics as the log's JSON."""
        names_bounds = "deletionVectors" in writer_features(snapshot.protocol)
        is_tight = self.add.deletion_vector is None or not self.unsure
        return to_json(self.num_records, self.leaves, tight_bounds=is_tight if names_bounds else None)


def compute_statistics(log: LogReader, where: Filters | None = None, *, missing_only: bool = False) -> ComputedStatistics:
    """Compute statistics from footers only; see `DeltaLog.compute_statistics`."""
    snapshot = writable_snapshot(log, COMPUTE_STATS)
    chosen = None if where is None else _in_partitions(snapshot, where)
    adds = files_to_describe(snapshot, chosen, missing_only=missing_only)
    leaves = indexed_leaves(snapshot.schema, snapshot.properties, snapshot.partition_columns)
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="bayou-footers") as pool:
        found = list(pool.map(lambda add: FileStatistics.of(add, _footer(log, add), leaves), adds))
    better = [each for each in found if each.is_sure or not _says_anything(each.add)]
    predicates = _EVERY_FILE if where is None else (str(where),)
    version, updated = commit_statistics(log, plain_transactions(log), snapshot, better, predicates)
    return ComputedStatistics(version, len(adds), updated, incomplete=[each.add.path for each in found if not each.is_sure])


def files_to_describe(snapshot: Snapshot, chosen: pa.Array | None, *, missing_only: bool) -> list[AddFile]:
    """Return the files whose statistics are computed.

    Args:
        chosen: a mask of the snapshot's files; None selects all.
        missing_only: whether to leave out files whose statistics are complete and tight.
    """
    files = snapshot.files()
    mask = pa.array([True] * files.num_rows, pa.bool_()) if chosen is None else chosen
    if missing_only:
        leaves = indexed_leaves(snapshot.schema, snapshot.properties, snapshot.partition_columns)
        types = skipping_types(snapshot.schema)
        known = snapshot.statistics({leaf.path: types[leaf.path] for leaf in leaves if isinstance(leaf.field.type, str)})
        missing = pc.or_(pc.is_null(known.num_records), pc.invert(known.tight_bounds))
        for leaf in leaves:
            missing = pc.or_(missing, known.lacks(leaf))
        mask = pc.and_(mask, missing)
    return live_files(files.filter(mask))


def commit_statistics(
    log: LogReader,
    begin: Begin,
    snapshot: Snapshot,
    found: Sequence[FileStatistics],
    predicates: Sequence[str],
) -> tuple[int | None, int]:
    """Commit the files whose statistics differ, and return the version and their number; None and 0 if nothing differs.

    Files that another commit removed, or gave another deletion vector, are left out. `predicates` are for the history.

    Raises:
        ConcurrentModificationError: every attempt conflicted with another commit, or the table was replaced.
    """
    texts = {each.add.path: (each.text(snapshot), each.add.deletion_vector) for each in found}
    parameters = {"predicate": json.dumps(list(predicates))}
    table = snapshot.metadata.id
    attempt = 0
    while True:
        attempt += 1
        files = snapshot.files()
        live = live_files(files.filter(pc.is_in(files["path"], value_set=pa.array(list(texts), pa.string()))))
        adds = [_added_again(add, *texts[add.path]) for add in live]
        changed = [add for add in adds if add is not None]
        if not changed:
            return None, 0
        with begin(snapshot, COMPUTE_STATS, parameters) as transaction:
            transaction.reads.note_files(pa.chunked_array([[add.path for add in changed]], pa.string()))
            try:
                return transaction.commit(changed, metrics={}).version, len(changed)
            except ConcurrentModificationError:
                snapshot = log.update()
                if attempt == _ATTEMPTS or snapshot.metadata.id != table:
                    raise


def _added_again(add: AddFile, text: str, vector: Any) -> AddFile | None:
    if add.deletion_vector != vector or _read(add.stats) == _read(text):
        return None
    return replace(add, stats=text, data_change=False)


def _read(stats: str | None) -> Any:
    """Parse statistics so that equal ones compare equal."""
    try:
        found = json.loads(stats or "null", parse_float=Decimal, parse_int=Decimal)
    except (ValueError, RecursionError):
        return None
    return {"tightBounds": True, **found} if isinstance(found, dict) else None


def _says_anything(add: AddFile) -> bool:
    found = _read(add.stats)
    return found is not None and found.get("numRecords") is not None


def _in_partitions(snapshot: Snapshot, where: Filters) -> pa.Array:
    """Return a mask of the files in the partitions that a filter leaves; it may only name partition columns."""
    physical = set(snapshot.partition_texts())
    others = sorted(".".join(path) for path in columns(to_predicate(where, snapshot.schema)) if path[0] not in physical)
    if others:
        raise failed(
            "DELTA_NON_PARTITION_COLUMN_REFERENCE/statistics",
            at=snapshot,
            option="where",
            column=others[0],
            partition_columns=snapshot.partition_columns,
        )
    return snapshot.may_match(where)


def _footer(log: LogReader, add: AddFile) -> pq.FileMetaData:
    root, path = place_in_store(add.path, log.table_uri)
    try:
        with store_of(log, root, None).open(path) as source:
            return pq.read_metadata(source)
    except StorageError:  # a failure of the store says nothing about the file
        raise
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise footer_error(error, add, log.table_uri) from error


def footer_error(error: Exception, add: AddFile, table: str) -> DeltaError:
    """Return the error for a file whose footer cannot be read."""
    if isinstance(error, FileNotFoundError):
        return failed("DELTA_FILE_NOT_FOUND_DETAILED/live", table=table, file=add.path)
    return failed("FAILED_READ_FILE", table=table, file=add.path, reason=reason(error))
