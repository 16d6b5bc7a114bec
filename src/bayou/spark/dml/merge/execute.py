# SPDX-License-Identifier: Apache-2.0
"""Run a MERGE from its clauses to its commit: resolve, prepare the source, find rows, write files, check counts, commit.

`planned` does everything up to the source and its keys. `PlannedChange.run` does the rest, and may repeat it (see `_run`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from bayou.errors import ChangedSourceError, DeltaError, failed
from bayou.log.commit.active_transactions import inside
from bayou.log.commit.transaction import Transaction
from bayou.plan.row_changes import FileTotals, RowChangePlan, Way
from bayou.protocol.features.features import check_writable
from bayou.protocol.features.protocol_rules import check_not_append_only
from bayou.protocol.schema.reserved_names import check_takes_rows
from bayou.spark.backend import part_of
from bayou.spark.data_files.uncommitted_files import UncommittedFiles
from bayou.spark.dml.core.commit import Stopwatch
from bayou.spark.dml.core.reruns import with_reruns
from bayou.spark.dml.core.result import PlannedChange, RowChangeResult
from bayou.spark.dml.core.target import latest_snapshot
from bayou.spark.dml.merge.any_merge import MATERIALIZE, Found
from bayou.spark.dml.merge.commit import commit_merge, marked, metrics_of
from bayou.spark.dml.merge.counts import FoundRows, check_counts, check_source
from bayou.spark.dml.merge.first_pass import clauses_with, positions_of
from bayou.spark.dml.merge.resolution.clauses import Action, Clause, Kind, check_clauses
from bayou.spark.session.after_writes import NewVersion, notify_written
from bayou.spark.session.operations import operation
from bayou.spark.session.progress import phase
from bayou.spark.session.session_transaction import session_transaction
from bayou.spark.session.settings import REPLAYED, batch_of, merges_schemas, reset_txn_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from bayou.log.rows.deleted_rows import DeletedRows
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.merge.any_merge import AnyMerge
    from bayou.spark.read.session_table import SessionTable

_LOST_BLOCK: Final = ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "Checkpoint block")
"""Texts in Spark's error if a block of materialised rows is lost."""
_ATTEMPTS: Final = 4
"""How many times a MERGE runs at most if blocks of its materialised source are lost, as in delta-spark."""


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """A MERGE as the user or a statement requests it.

    Attributes:
        name: the alias of the table in expressions, or an empty tuple.
        condition: the condition under which a row of the table and a row of the source match.
        evolves: whether the table's schema may change; if False, the session decides.
        txn: an application id and a version. A MERGE with a pair that is already in the log is a replay.
        node: the table's node in a statement that Spark resolved; None if names are not resolved yet.
        latest_by: the column of the source that selects the latest row of each key; None uses all rows.
    """

    target: SessionTable
    source: DataFrame
    name: tuple[str, ...]
    condition: Any
    clauses: Sequence[Clause]
    evolves: bool = False
    txn: tuple[str, int] | None = None
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    node: Any = None
    latest_by: str | Column | None = None

    @property
    def transaction_id(self) -> tuple[str, int] | None:
        """The id and version of the request, or the session's."""
        return batch_of(self.settings, self.target.log.table_uri) if self.txn is None else self.txn

    @property
    def may_evolve(self) -> bool:
        """Whether the table's schema may change. A statement that Spark resolved only contains existing columns."""
        return self.node is None and (self.evolves or merges_schemas(self.settings))


def planned(request: MergeRequest) -> PlannedChange:
    """Plan a MERGE. Count its source, and materialise it if evaluations may return different rows.

    Raises:
        InvalidOptionError: clauses contradict each other.
        SchemaMismatchError: a column does not exist, or is set twice.
        UnsupportedFeatureError: a condition contains a subquery or is not deterministic, or bayou lacks a feature of the table.
    """
    watch = Stopwatch()
    clauses = [each for each in request.clauses if not each.does_nothing]
    request = replace(request, clauses=clauses, settings=request.target.application.backend.settings(request.target.spark))
    check_clauses(request.clauses, request.target.log.table_uri)
    snapshot = latest_snapshot(request.target)
    if _is_replay(request, snapshot):
        return PlannedChange(_empty_plan(snapshot), lambda: _ended(request, _nothing(request, snapshot.version, REPLAYED)))
    ready = [_merge(request, snapshot)]
    plan, spent = _plan(ready[0]), watch.seconds
    done: list[RowChangeResult] = []

    def run() -> RowChangeResult:
        if done and request.transaction_id is None:
            raise _executed_before(plan, done[0].version)
        # An execution drops the materialised rows that it uses. The next execution then evaluates the source again.
        merge = ready.pop() if ready else _merge(request, snapshot)
        if not merge.source.is_materialised:
            ready.append(merge)
        result = _run(request, merge, Stopwatch(spent))
        if result.committed:
            done.append(result)
        return result

    return PlannedChange(plan, run)


def _executed_before(plan: RowChangePlan, version: int) -> DeltaError:
    return failed("merge-executed-before", table=plan.table, version=plan.version, committed_version=version)


def _is_replay(request: MergeRequest, snapshot: Snapshot) -> bool:
    txn = request.transaction_id
    committed = None if txn is None else snapshot.transactions.get(txn[0])
    return txn is not None and committed is not None and committed.version >= txn[1]


def _merge(request: MergeRequest, snapshot: Snapshot) -> AnyMerge:
    """Return the resolved MERGE with its source.

    If the source reads the table itself, it reads the same snapshot, and the commit depends on these reads.
    """
    with operation("MERGE", request.target.spark, request.settings, request.target.shown, closes=False):
        phase("reading the source")
        return _read(request, snapshot)


def _read(request: MergeRequest, snapshot: Snapshot) -> AnyMerge:
    target = request.target
    check_writable(snapshot.protocol, snapshot.metadata, snapshot.table_uri, snapshot.version)
    check_takes_rows(snapshot.schema, snapshot.metadata, snapshot.table_uri, snapshot.version)
    reading = session_transaction(target.application, target.spark, target.log, snapshot, "MERGE", {}, settings=request.settings)
    with inside(reading):
        return cast("AnyMerge", part_of(target.application.backend, "merge.reader").read(request, snapshot, reading.reads))


def _way(merge: AnyMerge) -> Way:
    if merge.resolution.is_insert_only or not len(merge.change.files.candidates):
        return Way.APPEND if merge.source.rows and clauses_with(merge, Action.INSERT) else Way.NOTHING
    return Way.VECTORS if merge.change.uses_vectors else Way.REWRITE


def _plan(merge: AnyMerge) -> RowChangePlan:
    way, files = _way(merge), merge.change.files.candidates
    steps = () if way is Way.NOTHING else tuple(merge.steps)
    return replace(merge.change.plan(way, reads=files), steps=steps)


def _empty_plan(snapshot: Snapshot) -> RowChangePlan:
    total = FileTotals.of(snapshot.files(["size"])["size"])
    return RowChangePlan("MERGE", snapshot.table_uri, snapshot.version, None, Way.NOTHING, total)


def _nothing(request: MergeRequest, version: int, reason: str) -> RowChangeResult:
    return RowChangeResult("MERGE", version, committed=False, reason=reason, spark=request.target.spark)


def _run(request: MergeRequest, merge: AnyMerge, watch: Stopwatch) -> RowChangeResult:
    """Run a MERGE. If a winning commit only moved the table's rows, rerun it on the latest version."""

    def again(before: AnyMerge) -> AnyMerge:
        return _merge(request, latest_snapshot(before.change.target))

    return with_reruns(merge, lambda each: _run_on(request, each, watch), again)


def _run_on(request: MergeRequest, merge: AnyMerge, watch: Stopwatch) -> RowChangeResult:
    """Run a MERGE on the version that it was planned for.

    Run it again if a block of a materialised source was lost, or if files of a source that is not materialised changed.
    """
    for attempt in range(_ATTEMPTS):
        try:
            try:
                return _once(request, merge, watch).by(_plan(merge))
            finally:
                merge.source.close()
        except ChangedSourceError:  # materialise the source this time, unless the user excluded that
            if request.settings.get(MATERIALIZE, "auto").lower() == "none":
                raise
            request = replace(request, settings={**request.settings, MATERIALIZE: "all"})
        except merge.change.target.application.backend.failures as error:
            last = attempt == _ATTEMPTS - 1
            if last or not merge.source.is_materialised or not any(text in str(error) for text in _LOST_BLOCK):
                raise
        merge = _merge(request, merge.change.snapshot)
    raise AssertionError


def _once(request: MergeRequest, merge: AnyMerge, watch: Stopwatch) -> RowChangeResult:
    target = request.target
    with operation("MERGE", target.spark, request.settings, target.shown), _transaction(request, merge) as transaction:
        replayed = _nothing(request, merge.change.snapshot.version, REPLAYED)
        result = replayed if transaction.is_replay else _execute(merge, transaction, watch)
    if result.committed:
        target.refresh_caches()
        notify_written(NewVersion(target.application, target.spark, target.log, result.version, target.options, request.settings))
    return _ended(request, result)


def _ended(request: MergeRequest, result: RowChangeResult) -> RowChangeResult:
    reset_txn_version(request.target.spark, request.settings, request.txn, result)
    return result


def _transaction(request: MergeRequest, merge: AnyMerge) -> Transaction:
    search, conditions = merge.shown

    def clauses(kind: Kind) -> list[dict[str, str]]:
        described = []
        for each in merge.resolution.of_kind(kind):
            when = {"predicate": conditions[each.number]} if each.number in conditions else {}
            described.append({**when, "actionType": each.action.value})
        return described

    parameters = {
        "predicate": [search],
        "matchedPredicates": clauses(Kind.MATCHED),
        "notMatchedPredicates": clauses(Kind.NOT_MATCHED),
        "notMatchedBySourcePredicates": clauses(Kind.NOT_MATCHED_BY_SOURCE),
    }
    transaction = session_transaction(
        request.target.application,
        request.target.spark,
        request.target.log,
        merge.change.snapshot,
        "MERGE",
        parameters,
        settings=request.settings,
        txn=request.transaction_id,
    )
    if merge.source.reads is not None:
        transaction.reads.include(merge.source.reads)
    if merge.resolution.reads_table:
        transaction.read_whole_table()
    return transaction


def _execute(merge: AnyMerge, transaction: Transaction, watch: Stopwatch) -> RowChangeResult:
    watch.begin()
    merge.check_values()
    if merge.resolution.is_insert_only or not len(merge.change.files.candidates):
        return _change(merge, Found(), transaction, watch)
    with merge.found() as found:
        return _change(merge, found, transaction, watch)


def _change(merge: AnyMerge, found: Found, transaction: Transaction, watch: Stopwatch) -> RowChangeResult:
    change = merge.change
    rewrites = not change.uses_vectors
    watch.lap("scanTimeMs")
    changed = found.changed()
    if changed:
        snapshot, what = change.snapshot, "MERGE changes its rows"
        check_not_append_only(snapshot.metadata, what, snapshot.table_uri, snapshot.version, instead="only insert")
    deleted: DeletedRows | None = None
    with UncommittedFiles(change.snapshot.table_uri, change.target.options) as uncommitted:
        writer = merge.writer(found, uncommitted, rewrites=rewrites)
        written = writer.write()
        check_source(merge)
        removed = positions_of(changed) if rewrites else positions_of(())
        rows = FoundRows.of(merge, found, removed)
        check_counts(merge, rows, written, feeds=writer.feeds, is_counted=writer.counts_rows)
        if rewrites and changed:
            change.note_reads(transaction.reads)
        else:  # also if no row changes: the inserted rows depend on the rows that matched (see `marked`)
            deleted = marked(merge, found)
            transaction.delete_rows(deleted)
        watch.lap("rewriteTimeMs")
        metrics = metrics_of(merge, rows, written, removed, deleted) | dict(watch.times())
        if len(removed):
            transaction.remove_files(change.snapshot.files().take(removed))
        return commit_merge(merge, transaction, written, metrics, uncommitted, rewritten=len(removed))
