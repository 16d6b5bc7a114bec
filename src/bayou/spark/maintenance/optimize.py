# SPDX-License-Identifier: Apache-2.0
"""OPTIMIZE: coalesce small files, and files with many deleted rows, into fewer, larger ones.

One Spark job writes the files of one commit, one task for each new file. No row is shuffled or changed. Source:
delta-spark's `OptimizeExecutor`.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import ConcurrentModificationError, redact_uri
from bayou.log.actions.keys import canonical_paths
from bayou.log.maintenance.file_facts import file_facts
from bayou.plan.maintenance.auto_compaction import plan_auto_compaction
from bayou.plan.maintenance.clustering import ClusteringPlan
from bayou.plan.maintenance.compaction import (
    COMPACTED_TAG,
    TARGET_TAG,
    CompactionPlan,
    SizeRules,
    plan_compaction,
)
from bayou.protocol import properties
from bayou.spark.data_files.uncommitted_files import UncommittedFiles
from bayou.spark.maintenance.clustered_files import Order, order_of, plan_order, write_cubes
from bayou.spark.maintenance.conditions import files_matching
from bayou.spark.maintenance.optimize_result import OptimizeResult
from bayou.spark.maintenance.reorg import files_to_purge
from bayou.spark.maintenance.rewrite import Rewritten, rewrite_uncommitted
from bayou.spark.maintenance.written_bins import WrittenBins, task_of
from bayou.spark.session.operations import bins_text, described_jobs, operation
from bayou.spark.session.progress import committed
from bayou.spark.session.settings import bytes_of, share_of
from bayou.spark.types.readable_types import check_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.maintenance.auto_compaction import AutoCompactionRules
    from bayou.protocol.actions.actions import AddFile
    from bayou.spark.read.session_table import SessionTable

_logger = logging.getLogger("bayou")
_MAX_SIZE: Final = "spark.databricks.delta.optimize.maxFileSize"
_MIN_SIZE: Final = "spark.databricks.delta.optimize.minFileSize"
_MAX_DELETED: Final = "spark.databricks.delta.optimize.maxDeletedRowsRatio"
_BATCH_SIZE: Final = "spark.databricks.delta.optimize.batchSize"
_MOST_COMMITS: Final = 10
"""How often a commit is tried after winning commits, without the bins whose files they removed."""


@dataclass(frozen=True, slots=True)
class AddedFiles:
    """The files that the commit before an auto compaction added, by canonical path, and the rules for compacting a partition."""

    paths: pa.Array
    rules: AutoCompactionRules


@dataclass(frozen=True, slots=True)
class OptimizeRequest:
    """The arguments of an OPTIMIZE.

    Attributes:
        where: conditions on partition columns, as SQL; all of them must be true.
        where_files: conditions on any columns, as SQL. Files that cannot hold a row for which all are true are not rewritten.
        purges: whether files are rewritten to drop what the table no longer has (REORG), and not for their sizes.
        z_order: the columns of ZORDER BY, as the user names them.
        is_full: whether all files of a clustered table are clustered again.
        auto: the commit that an auto compaction follows; None if a user asks for it.
    """

    where: tuple[str, ...] = ()
    where_files: tuple[str, ...] = ()
    purges: bool = False
    z_order: tuple[str, ...] = ()
    is_full: bool = False
    auto: AddedFiles | None = None

    @property
    def operation(self) -> str:
        """Return the operation's name in the history."""
        return "REORG" if self.purges else "OPTIMIZE"

    def parameters(self, order: Order | None) -> dict[str, object]:
        """Return its parameters in the history. `order` is None if files are compacted."""
        predicate = json.dumps(list(self.predicates))
        if self.purges:
            return {"predicate": predicate, "applyPurge": True}
        others = {"zOrderBy": "[]", "clusterBy": "[]", "auto": self.auto is not None} if order is None else order.parameters
        return {"predicate": predicate, **others}

    @property
    def predicates(self) -> tuple[str, ...]:
        """Return all conditions."""
        return (*self.where, *self.where_files)


@dataclass(slots=True)
class _Done:
    """The result of an OPTIMIZE's commits so far."""

    versions: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    vectors: int = 0
    rows: int = 0
    left_out: int = 0


def plan_optimize(table: SessionTable, request: OptimizeRequest, snapshot: Snapshot | None = None) -> CompactionPlan:
    """Return what an OPTIMIZE would do to a snapshot, the latest if None.

    Raises:
        InvalidOptionError: a condition of `where` names a column that is not a partition column, or a setting is not a number; for
            columns see `order_of`.
        UnsupportedFeatureError: bayou cannot write to the table; a condition holds a subquery.
    """
    planned_on = table.snapshot() if snapshot is None else snapshot
    return _planned(table, request, planned_on, _order(table, request, planned_on))


def _order(table: SessionTable, request: OptimizeRequest, snapshot: Snapshot) -> Order | None:
    check_types(table.application, snapshot)
    if request.purges:
        return None
    return order_of(table, snapshot, request.z_order, is_full=request.is_full, where=request.where)


def _planned(table: SessionTable, request: OptimizeRequest, snapshot: Snapshot, order: Order | None) -> CompactionPlan:
    facts = file_facts(snapshot)
    if request.auto is not None:
        paths = canonical_paths(snapshot.files(["path"])["path"], snapshot.table_uri).combine_chunks()
        return plan_auto_compaction(facts, pc.is_in(paths, value_set=request.auto.paths), request.auto.rules)
    sizes, chosen = _sizes(table.settings, snapshot), _chosen(table, snapshot, request)
    if order is not None:
        return plan_order(table.settings, snapshot, order, facts, sizes, chosen)
    purged = files_to_purge(table, snapshot, chosen) if request.purges else None
    return plan_compaction(facts, sizes, chosen, purged)


def optimize(table: SessionTable, request: OptimizeRequest) -> OptimizeResult:
    """Compact a table; see `plan_optimize`.

    Raises:
        StorageError: the store failed; earlier commits of the operation are final.
        ConcurrentModificationError: a winning commit changed the table's definition.
    """
    started = int(time.time() * 1000)
    snapshot = table.snapshot()
    order = _order(table, request, snapshot)
    plan = _planned(table, request, snapshot, order)
    done = _Done()
    most = bytes_of(table.settings, _BATCH_SIZE, snapshot.table_uri)
    if plan.num_bins:
        try:
            with operation(request.operation, table.spark, table.settings, table.shown):
                for first, last in plan.batches(most):
                    which = bins_text(first, last, plan.num_bins)
                    with UncommittedFiles(snapshot.table_uri, table.options) as uncommitted:
                        with described_jobs(table.spark, f"{request.operation} {table.shown}, {which}"):
                            written = _written(table, snapshot, order, plan, (first, last), uncommitted)
                        _commit(table, snapshot, (request.operation, request.parameters(order)), written, done)
                if done.versions:
                    committed(done.versions[-1], {"numAddedFiles": len(done.added), "numRemovedFiles": len(done.removed)})
        finally:  # commits before a failure stay
            if done.versions:
                table.refresh_caches()
    if done.left_out:
        _logger.warning(
            "%s of %s left out %d of %d new files: other commits removed or changed files that they were made of",
            request.operation,
            redact_uri(snapshot.table_uri),
            done.left_out,
            plan.num_bins,
        )
    columns = len(snapshot.schema.fields)
    indexed = properties.NUM_INDEXED_COLUMNS.read(snapshot.properties)
    return OptimizeResult(
        table.uri,
        plan,
        tuple(done.versions),
        tuple(sorted(done.added)),
        tuple(sorted(done.removed)),
        done.vectors,
        done.rows,
        done.left_out,
        started,
        int(time.time() * 1000),
        columns,
        columns if indexed < 0 else min(columns, indexed),
        order is not None and order.is_clustering,
    )


def _sizes(settings: Mapping[str, str], snapshot: Snapshot) -> SizeRules:
    table = snapshot.table_uri
    target = bytes_of(settings, _MAX_SIZE, table, least=1)
    if target is None:
        target = properties.TARGET_FILE_SIZE.read(snapshot.properties) or None  # another engine may have stored 0
    small, deleted = bytes_of(settings, _MIN_SIZE, table), share_of(settings, _MAX_DELETED, table)
    return SizeRules.of(
        snapshot.size_bytes,
        target=target,
        small=small,
        **({} if deleted is None else {"max_deleted": deleted}),
    )


def _chosen(table: SessionTable, snapshot: Snapshot, request: OptimizeRequest) -> pa.Array | None:
    """Return for each file whether it satisfies the conditions; None for all files."""
    if not request.predicates:
        return None
    chosen = np.ones(snapshot.num_files, bool)
    for texts, is_about_partitions in ((request.where, True), (request.where_files, False)):
        for text in texts:
            positions = files_matching(table, snapshot, request.operation, text, partitions_only=is_about_partitions)
            matching = np.zeros(snapshot.num_files, bool)
            matching[np.asarray(positions)] = True
            chosen &= matching
    return pa.array(chosen)


def _written(
    table: SessionTable,
    snapshot: Snapshot,
    order: Order | None,
    plan: CompactionPlan,
    bins: tuple[int, int],
    uncommitted: UncommittedFiles,
) -> WrittenBins:
    """Write some bins in one job."""
    if order is not None and isinstance(plan, ClusteringPlan):
        cubes, cube_of_task = write_cubes(table, snapshot, order, plan, bins, uncommitted)
        counts, sizes = Counter(cube_of_task), _sums(cubes.numbers, cubes.old["size"].combine_chunks())
        of_files = (cube_of_task[task_of(add)] for add in cubes.added.files)
        with_cubes = zip(cubes.added.files, of_files, strict=True)
        files = [_tagged(add, plan.sizes, sizes[cube] // counts[cube]) for add, cube in with_cubes]
        return replace(cubes, added=replace(cubes.added, files=files))
    positions, numbers = plan.positions(*bins)
    added, old = rewrite_uncommitted(table, snapshot, positions, uncommitted, tasks=numbers), snapshot.files().take(positions)
    sizes = _sums(numbers, old["size"].combine_chunks())
    files = [_tagged(add, plan.sizes, sizes[task_of(add)]) for add in added.files]
    return WrittenBins(table, uncommitted, replace(added, files=files), old, numbers, snapshot)


def _sums(numbers: pa.Array, values: pa.Array) -> dict[int, int]:
    sums = pa.table({"number": numbers, "value": values}).group_by("number").aggregate([("value", "sum")])
    return dict(zip(sums["number"].to_pylist(), sums["value_sum"].to_pylist(), strict=True))


def _tagged(add: AddFile, sizes: SizeRules, size: int) -> AddFile:
    """Return a new file, made of files with `size` bytes, with the tags by which later runs recognise it."""
    filled = {TARGET_TAG: str(sizes.target)} if size >= sizes.full else {}
    return replace(add, tags={**(add.tags or {}), COMPACTED_TAG: "true", **filled})


def _commit(table: SessionTable, snapshot: Snapshot, said: tuple[str, dict[str, object]], bins: WrittenBins, done: _Done) -> None:
    """Commit bins. Leave out those whose files a winning commit removed or changed. `said` is the operation and its parameters."""
    base = snapshot
    for attempt in range(_MOST_COMMITS):
        try:
            with table.begin(base, *said) as transaction:
                transaction.reads.note_files(bins.old["path"])
                transaction.remove_files(bins.old_with_moves(), data_change=False)
                metrics = Rewritten.of(bins.old, bins.added).as_reorg()
                outcome = bins.uncommitted.commit(transaction, bins.added, metrics, keeps_row_ids=True)
        except ConcurrentModificationError:
            base = table.snapshot()
            if attempt + 1 == _MOST_COMMITS or not _is_same_table(snapshot, base):
                raise
            bins, left_out = bins.rebased_on(base)
            done.left_out += left_out
            if not bins.old.num_rows:
                return
        else:
            version = getattr(outcome, "version", None)
            if version is not None:
                done.versions.append(version)
                _count(bins, done)
            return


def _is_same_table(before: Snapshot, after: Snapshot) -> bool:
    """Return whether files that were written for one snapshot are valid for a later one.

    Columns and properties may have been added, but what decides how files are written must be the same.
    """
    if before.metadata.id != after.metadata.id or before.partition_columns != after.partition_columns:
        return False
    modes = {properties.COLUMN_MAPPING_MODE.read(each.properties) for each in (before, after)}
    tracks = {bool(properties.ENABLE_ROW_TRACKING.read(each.properties)) for each in (before, after)}
    return len(modes) == len(tracks) == 1 and all(after.schema.field(each.name) is not None for each in before.schema.fields)


def _count(bins: WrittenBins, done: _Done) -> None:
    done.added += [add.size for add in bins.added.files]
    done.removed += bins.old["size"].to_pylist()
    vectors = bins.old["deletion_vector"].combine_chunks()
    done.vectors += len(vectors) - vectors.null_count
    done.rows += pc.sum(pc.struct_field(vectors, "cardinality")).as_py() or 0
