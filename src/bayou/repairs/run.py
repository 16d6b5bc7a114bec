# SPDX-License-Identifier: Apache-2.0
"""Repair a table: check it, plan the steps, carry them out, and check it again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayou.checks.raw_log import RawLog, read_raw_log
from bayou.checks.run import report_of
from bayou.errors import DeltaError, StorageError
from bayou.log.actions.columns import to_objects
from bayou.log.checkpoint.writer import write_checkpoint
from bayou.log.checksum.writer import checksum_of, write_checksum
from bayou.log.delta_log import DeltaLog
from bayou.log.operations.fsck import FsckResult, fsck
from bayou.log.operations.maintained import writable_snapshot
from bayou.protocol import arguments, properties
from bayou.protocol.actions.file_names import checksum_path
from bayou.repairs.plan import NEEDS_CONSENT, Plan, Step, plan_of
from bayou.repairs.repair import Repair
from bayou.report.html import facts_html
from bayou.storage import LogStore, open_store, qualify

if TYPE_CHECKING:
    from bayou.checks.report import Finding, Report


@dataclass(frozen=True, slots=True)
class RepairResult:
    """The outcome of a repair.

    Attributes:
        before: what the check found before.
        steps: the steps. Those that are blocked state the reason.
        lost: the files that left the log, or would leave it, and their rows; None if no step removes files.
        without_repair: the findings that bayou cannot repair.
        after: what the check found afterwards; None for a dry run.
    """

    before: Report
    steps: tuple[Step, ...]
    lost: FsckResult | None
    without_repair: tuple[Finding, ...]
    after: Report | None

    def to_json(self) -> dict[str, Any]:
        """Return the result as one JSON document."""
        return {
            "table": self.before.table,
            "version": self.before.version,
            "dryRun": self.after is None,
            "steps": [each.to_json() for each in self.steps],
            "committedVersion": self.lost and self.lost.version,
            "lostRows": self.lost and self.lost.lost_rows,
            "lostFiles": [] if self.lost is None else to_objects(self.lost.files.to_struct_array()),
            "withoutRepair": [each.to_json() for each in self.without_repair],
            "after": self.after and self.after.to_json(),
        }

    def __str__(self) -> str:
        shown = [
            f"{each.state}: {each.repair.value} for {', '.join(each.rules)}. {each.blocked or each.loss}".rstrip()
            for each in self.steps
        ]
        return "\n".join([f"{self.before.table} at version {self.before.version}: {len(self.steps)} steps", *shown])

    def _repr_html_(self) -> str:
        facts = {
            f"{number}. {each.repair.value}": f"{each.state}: {', '.join(each.rules)}" for number, each in enumerate(self.steps, 1)
        }
        return facts_html(f"Repair of {self.before.table}", facts)


def repair(
    path: str | os.PathLike[str],
    *,
    files: bool = False,
    footers: bool = False,
    allow_loss: bool = False,
    dry_run: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> RepairResult:
    """Repair what `bayou.check` finds in a table, without Spark. No commit is changed or deleted.

    Checkpoints, compacted files, checksums and `_last_checkpoint` follow from commits: wrong ones are replaced or deleted. A
    checkpoint or a compacted file is deleted only if all versions can be read without it, with the same data files, schema and
    protocol.

    Example:
        print(bayou.repair("/data/orders", files=True, dry_run=True))

    Args:
        path: the table's path or URI.
        files: look also whether the data files and the deletion vectors exist and have the stated sizes.
        footers: compare also the footers of data files with the schema and the statistics.
        allow_loss: remove files that do not exist or cannot be read from the log, by a commit, and delete a checkpoint even if it
            names files that the rest of the log lacks. Their rows are lost. This implies `files`.
        dry_run: only return the plan.
        storage_options: credentials and settings of the store.

    Returns:
        The steps, the lost files, and what the check finds afterwards.

    Raises:
        TableNotFoundError: the path has no Delta log.
        UnsupportedFeatureError: bayou cannot write to the table.
        ConcurrentModificationError: other writers committed first in all attempts.
        StorageError: the store failed. The table can still be read.
    """
    place = qualify(path)
    options = arguments.text_map(storage_options, "storage_options", table=place.uri, shown=False)
    store = open_store(place, options)
    return repair_store(place.uri, store, options, files=files, footers=footers, allow_loss=allow_loss, dry_run=dry_run)


def repair_store(
    uri: str,
    store: LogStore,
    storage_options: Mapping[str, str],
    *,
    files: bool = False,
    footers: bool = False,
    allow_loss: bool = False,
    dry_run: bool = False,
) -> RepairResult:
    """Repair the table of a store; see `repair`."""
    flags = {"files": files, "footers": footers, "allow_loss": allow_loss, "dry_run": dry_run}
    files, footers, allow_loss, dry_run = (arguments.flag(value, name, table=uri) for name, value in flags.items())
    # Statistics come from files, and a missing one has to leave the log first.
    files = files or footers or allow_loss
    log = read_raw_log(uri, store, storage_options)
    plan = plan_of(log, report_of(log, files=files, footers=footers), allow_loss=allow_loss)
    table = DeltaLog(uri, store)
    lost = _plan_commits(plan, table, storage_options, allow_loss=allow_loss)
    if dry_run:
        return RepairResult(plan.report, tuple(plan.steps), lost, plan.without_repair, None)
    _replace_derived_files(plan)
    # Statistics are read from files, so that those that cannot be read leave the log first.
    if plan.steps_of(Repair.FILES):
        lost = fsck(table, unreadable=plan.unreadable, storage_options=storage_options)
        plan.note_done(Repair.FILES)
    if plan.steps_of(Repair.STATISTICS):
        table.compute_statistics()
        plan.note_done(Repair.STATISTICS)
    after = report_of(read_raw_log(uri, store, storage_options), files=files, footers=footers)
    return RepairResult(plan.report, tuple(plan.steps), lost, plan.without_repair, after)


def _plan_commits(plan: Plan, table: DeltaLog, storage_options: Mapping[str, str], *, allow_loss: bool) -> FsckResult | None:
    """Block the steps that commit if they cannot, and return the files that would leave the log."""
    if not plan.steps_of(Repair.FILES, Repair.STATISTICS):
        return None
    try:
        writable = writable_snapshot(table, "repair")
    except StorageError:
        raise
    except DeltaError as error:
        for each in (Repair.FILES, Repair.STATISTICS):
            plan.block(each, f"bayou cannot commit to the table: {error.message}")
        return None
    if not plan.steps_of(Repair.FILES):
        return None
    lost = fsck(table, dry_run=True, unreadable=plan.unreadable, storage_options=storage_options)
    if not lost.files.num_rows:
        plan.block(Repair.FILES, "Readers of the table do not use the files.")
    elif properties.APPEND_ONLY.read(writable.properties):
        plan.block(Repair.FILES, "The table accepts only appends (delta.appendOnly). Unset the property first.")
    elif not allow_loss:
        plan.block(Repair.FILES, NEEDS_CONSENT)
    if lost.files.num_rows and not plan.steps_of(Repair.FILES):
        plan.block(Repair.STATISTICS, "Files cannot be read, and have to leave the log first.")
    return lost


def _replace_derived_files(plan: Plan) -> None:
    """Write the new checkpoint before the wrong ones are deleted, so that the log is readable at each moment."""
    log, snapshot = plan.log, plan.snapshot
    if snapshot is None:
        return
    written: set[str] = set()
    if plan.steps_of(Repair.CHECKPOINT, Repair.HINT):
        written = set(write_checkpoint(snapshot).files)
        plan.note_done(Repair.HINT)
    for step in plan.steps_of(Repair.CHECKPOINT, Repair.CHECKSUM, Repair.COMPACTION):
        for path in step.files:
            if path not in written:
                log.store.delete(path)
    plan.note_done(Repair.CHECKPOINT, Repair.COMPACTION)
    own = checksum_path(snapshot.version)
    if any(own in step.files for step in plan.steps_of(Repair.CHECKSUM)):
        write_checksum(log.store, log.uri, snapshot.version, checksum_of(snapshot, txn_id=_txn_id(log, snapshot.version)))
    plan.note_done(Repair.CHECKSUM)


def _txn_id(log: RawLog, version: int) -> str | None:
    commit = log.commits.get(version)
    info = next(commit.of_kind("commitInfo"), None) if commit is not None else None
    found = info.value.get("txnId") if info is not None else None
    return found if isinstance(found, str) else None
