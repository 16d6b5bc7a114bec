# SPDX-License-Identifier: Apache-2.0
"""COMPUTE STATS on a session: statistics come from footers, and from one scan of the files whose footers are not sufficient.

Source: delta-spark's `StatisticsCollection.recompute`, which scans every file and refuses tables with deletion vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.log.actions.commit_info import COMPUTE_STATS
from bayou.log.operations.compute_statistics import (
    ComputedStatistics,
    FileStatistics,
    commit_statistics,
    files_to_describe,
    footer_error,
)
from bayou.protocol import properties
from bayou.protocol.stats.file_stats import LeafStatistics, indexed_leaves
from bayou.protocol.types.partition_values import is_string_type
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.maintenance.conditions import files_matching
from bayou.spark.read.file_rows import file_rows
from bayou.spark.scan.footers import footers_in_turn
from bayou.spark.session.arrow_rows import collected
from bayou.spark.session.operations import described_jobs, operation
from bayou.spark.session.progress import concluded, phase
from bayou.spark.session.settings import string_prefix_of
from bayou.spark.types.readable_types import check_types
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.snapshot.statistics_cache import ColumnPath
    from bayou.protocol.actions.actions import AddFile
    from bayou.protocol.stats.file_stats import IndexedLeaf
    from bayou.spark.read.session_table import SessionTable

_FILE: Final = "__bayou_file"


def compute_statistics(table: SessionTable, where: str | None, *, missing_only: bool) -> ComputedStatistics:
    """Recompute the statistics of files, or only those that are not complete and tight, and commit those that differ.

    Raises:
        InvalidOptionError: the condition names a column that is not a partition column.
        InvalidCommitError: a file does not have the rows that its footer states.
        DataFileNotFoundError, UnreadableDataFileError: a file is missing, or is not Parquet.
        ConcurrentModificationError: other writers won every attempt.
    """
    snapshot = table.snapshot()
    check_types(table.application, snapshot)
    with operation(COMPUTE_STATS, table.spark, table.settings, table.shown):
        chosen = None if where is None else _chosen(table, snapshot, where)
        adds = files_to_describe(snapshot, chosen, missing_only=missing_only)
        leaves = _leaves(table, snapshot)
        computed = _from_footers(table, snapshot, adds, leaves)
        unsure = [file for file in computed if not file.is_sure]
        if unsure:
            with described_jobs(table.spark, f"{COMPUTE_STATS} {table.shown}, rows of {len(unsure)} files"):
                scanned = iter(_scanned(table, snapshot, unsure, leaves))
            computed = [file if file.is_sure else next(scanned) for file in computed]
        phase("committing")
        predicates = ("true",) if where is None else (where,)
        version, updated = commit_statistics(table.log, table.begin, snapshot, computed, predicates)
        concluded(f"{updated:,} of {len(computed):,} files updated")
    return ComputedStatistics(version, len(computed), updated, len(unsure))


def _chosen(table: SessionTable, snapshot: Snapshot, where: str) -> pa.Array:
    """Return for each file of the snapshot whether its partition matches a condition."""
    positions = files_matching(table, snapshot, COMPUTE_STATS, where, partitions_only=True)
    return pc.is_in(pa.array(range(snapshot.num_files), pa.int64()), value_set=positions.cast(pa.int64()))


def _leaves(table: SessionTable, snapshot: Snapshot) -> tuple[IndexedLeaf, ...]:
    """Return the columns that get statistics. The table's properties take precedence over the session's setting."""
    prefix = string_prefix_of(table.settings, snapshot.table_uri)
    of_session = {} if prefix is None else {properties.STRING_PREFIX_LENGTH.key: str(prefix)}
    return indexed_leaves(snapshot.schema, {**of_session, **snapshot.properties}, snapshot.partition_columns)


def _from_footers(
    table: SessionTable, snapshot: Snapshot, adds: Sequence[AddFile], leaves: Sequence[IndexedLeaf]
) -> list[FileStatistics]:
    files = pa.table({"path": pa.array([add.path for add in adds], pa.string()), "size": [add.size for add in adds]})
    computed = []
    for add, footer in zip(adds, footers_in_turn(table.application.backend, files, snapshot.table_uri, table.options), strict=True):
        if isinstance(footer, OSError):
            raise footer_error(footer, add, snapshot.table_uri) from footer
        computed.append(FileStatistics.of(add, footer, leaves))
    return computed


def _scanned(
    table: SessionTable, snapshot: Snapshot, files: Sequence[FileStatistics], leaves: Sequence[IndexedLeaf]
) -> list[FileStatistics]:
    """Complete files with the statistics that their footers lack, from their live rows, in the same order."""
    phase("reading")
    unsure = frozenset[Any]().union(*(file.unsure for file in files))
    unsure_leaves = [leaf for leaf in leaves if leaf.path in unsure]
    needed = {leaf.logical_path[0] for leaf in unsure_leaves}
    fields = [field for field in readable_schema(snapshot.schema).fields if field.name in needed]
    paths = pa.array([file.add.path for file in files], pa.string())
    positions = pc.index_in(paths, value_set=snapshot.files(["path"])["path"].combine_chunks()).cast(pa.int64())
    numbers = pa.array(range(len(files)), pa.int32())
    rows = file_rows(table.application, table.spark, snapshot, fields, positions, constants={_FILE: numbers}, options=table.options)
    aggregates = [column for number, leaf in enumerate(unsure_leaves) for column in _aggregates(number, leaf)]
    counted = rows.groupBy(_FILE).agg(F.count(F.lit(1)).alias("rows"), *aggregates)
    empty = pa.schema([(_FILE, pa.int32()), ("rows", pa.int64())])
    by_file = {row[_FILE]: row for row in _times_as_integers(collected(counted, empty)).to_pylist()}
    # A file without live rows does not appear in the result.
    return [_with_rows(snapshot, file, by_file.get(number, {}), unsure_leaves) for number, file in enumerate(files)]


def _aggregates(number: int, leaf: IndexedLeaf) -> list[Column]:
    """Return the aggregates of a column: the number of NULLs, and the minimum and maximum if the log has bounds for its type.

    Collect only as much of a string as its truncated bound may need. Bytes keep what is not valid UTF-8 (see `_bound`).
    """
    column = F.col(".".join(map(quoted_name, leaf.logical_path)))
    aggregates = [F.count(F.when(column.isNull(), 1)).alias(f"nulls_{number}")]
    if leaf.has_bounds:
        low, high = F.min(column), F.max(column)
        if is_string_type(str(leaf.field.type)):
            # A truncated maximum has at most twice the length of the prefix. Where it ends depends on the character after that.
            low, high = (F.substring(bound, 1, 2 * leaf.string_prefix + 2).cast("binary") for bound in (low, high))
        aggregates += [low.alias(f"low_{number}"), high.alias(f"high_{number}")]
    return aggregates


def _times_as_integers(collected_rows: pa.Table) -> pa.Table:
    """Convert dates to days and timestamps to microseconds: Python's types end at the year 9999, and Spark's do not."""
    columns = []
    for column in collected_rows.columns:
        if pa.types.is_timestamp(column.type):
            columns.append(column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()))
        else:
            columns.append(column.cast(pa.int32()) if pa.types.is_date32(column.type) else column)
    return pa.Table.from_arrays(columns, collected_rows.column_names)


def _with_rows(
    snapshot: Snapshot, file: FileStatistics, aggregated: Mapping[str, Any], wanted: Sequence[IndexedLeaf]
) -> FileStatistics:
    """Return a file's statistics with those of its rows.

    Args:
        aggregated: the values of `_aggregates` by name, and the number of `rows`; empty if the scan found none.
        wanted: the columns of the aggregates, in the order of their numbers.
    """
    rows = aggregated.get("rows", 0)
    if rows != file.num_live:
        raise failed("DELTA_NUM_RECORDS_MISMATCH/scanned", at=snapshot, file=file.add.path, num_live=file.num_live, found=rows)
    by_path: dict[ColumnPath, LeafStatistics] = {}
    for number, leaf in enumerate(wanted):
        kind = leaf.field.type if isinstance(leaf.field.type, str) else "nested"
        low, high = (_bound(aggregated.get(f"{side}_{number}")) for side in ("low", "high"))
        by_path[leaf.path] = LeafStatistics(leaf.path, kind, low, high, aggregated.get(f"nulls_{number}", 0), leaf.string_prefix)
    return file.with_leaves(by_path)


def _bound(value: Any) -> Any:
    """Return a bound as statistics need it; None if a string is not valid UTF-8."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None
