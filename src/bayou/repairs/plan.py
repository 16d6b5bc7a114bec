# SPDX-License-Identifier: Apache-2.0
"""The plan of a repair: the steps that follow from the findings of a check, and what is left of the log while they run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from bayou.checks.rules.deletion_vectors import live_vectors, wrong_bytes
from bayou.checks.timeline import Timeline
from bayou.errors import DeltaError
from bayou.log.snapshot.loading import load
from bayou.protocol.actions.file_names import LAST_CHECKPOINT
from bayou.repairs.hidden_files import HiddenFiles
from bayou.repairs.repair import OF_ANY_FILE, REPAIRS, Repair

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from bayou.checks.checkpoint import Checkpoint
    from bayou.checks.raw_log import RawLog
    from bayou.checks.report import Finding, Report
    from bayou.log.operations.fsck import LogicalFile
    from bayou.log.snapshot.snapshot import Snapshot

_ONLY_SOURCE: Final = "Versions of the table follow from this checkpoint only."


@dataclass(frozen=True, slots=True)
class Step:
    """A repair of some files.

    Attributes:
        repair: the repair.
        rules: the rules whose findings it repairs.
        files: the log files that it replaces or deletes, or the data files that leave the log, as the log names them.
        blocked: why the step is not done; empty if it can be done.
        done: whether it was done.
    """

    repair: Repair
    rules: tuple[str, ...]
    files: tuple[str, ...]
    blocked: str = ""
    done: bool = False

    @property
    def state(self) -> str:
        """One of "planned", "blocked" and "done"."""
        return "done" if self.done else "blocked" if self.blocked else "planned"

    def to_json(self) -> dict[str, Any]:
        """Return the step as one JSON object."""
        return {
            "repair": self.repair.value,
            "losesRows": self.repair.loses_rows,
            "rules": list(self.rules),
            "files": list(self.files),
            "blocked": self.blocked or None,
            "done": self.done,
        }


@dataclass(slots=True)
class Plan:
    """The steps of a repair.

    Attributes:
        log: the log as it was read.
        report: what the check found.
        steps: the steps, in the order in which they run.
        unreadable: the files that exist and cannot be read, and the reason of each, if a step removes files.
        snapshot: the latest version as it follows from the log without the files that steps replace; None if no step does.
    """

    log: RawLog
    report: Report
    steps: list[Step] = field(default_factory=list)
    unreadable: Mapping[LogicalFile, str] = field(default_factory=dict)
    snapshot: Snapshot | None = None

    def steps_of(self, *repairs: Repair) -> list[Step]:
        """Return the steps of some repairs that are not blocked."""
        return [each for each in self.steps if each.repair in repairs and not each.blocked]

    def block(self, repair: Repair, reason: str) -> None:
        """Block the steps of a repair."""
        self.steps = [replace(each, blocked=reason) if each.repair is repair else each for each in self.steps]

    def note_done(self, *repairs: Repair) -> None:
        """Note that the steps of some repairs were done, unless they are blocked."""
        self.steps = [replace(each, done=not each.blocked) if each.repair in repairs else each for each in self.steps]

    @property
    def without_repair(self) -> tuple[Finding, ...]:
        """The findings that no step repairs."""
        by_commit = {rule for each in self.steps if each.repair.commits for rule in each.rules}
        by_file = {rule for each in self.steps if not each.repair.commits for rule in each.rules}
        replaced = {path for each in self.steps if not each.repair.commits for path in each.files}
        commits = {file.path for file in self.log.commits.values()}
        return tuple(
            each
            for each in self.report.findings
            if each.rule not in by_commit and (each.file in commits or (each.rule not in by_file and each.file not in replaced))
        )


def plan_of(log: RawLog, report: Report) -> Plan:
    """Return the plan that follows from a report. Nothing is changed."""
    plan = Plan(log, report)
    by_repair = _by_repair(log, report.findings)
    _plan_derived_files(plan, by_repair)
    _plan_data_files(plan, by_repair)
    return plan


def _by_repair(log: RawLog, findings: Iterable[Finding]) -> dict[Repair, dict[str, set[str]]]:
    """Return the rules that each file breaks, by repair."""
    kinds = {
        **{file.path: Repair.CHECKPOINT for each in log.checkpoints for file in each.all_files},
        **{file.path: Repair.COMPACTION for file in log.compactions},
        **{file.path: Repair.CHECKSUM for file in log.checksums.values()},
        LAST_CHECKPOINT: Repair.HINT,
    }
    found: dict[Repair, dict[str, set[str]]] = {}
    for each in findings:
        of_file = kinds.get(each.file)
        repair = of_file if each.rule in OF_ANY_FILE else REPAIRS.get(each.rule)
        # A finding may name a commit that the wrong file contradicts. Commits are never replaced.
        if repair is not None and (repair is of_file or repair.commits):
            found.setdefault(repair, {}).setdefault(each.file, set()).add(each.rule)
    return found


def _plan_derived_files(plan: Plan, by_repair: Mapping[Repair, Mapping[str, set[str]]]) -> None:
    """Add the steps that replace or delete files that follow from commits."""
    log = plan.log
    steps = _checkpoint_steps(log, by_repair.get(Repair.CHECKPOINT, {}))
    steps += [
        Step(repair, tuple(sorted(rules)), (path,))
        for repair in (Repair.HINT, Repair.CHECKSUM, Repair.COMPACTION)
        for path, rules in by_repair.get(repair, {}).items()
    ]
    if not steps:
        return
    hidden = [path for each in steps if not each.blocked for path in each.files]
    try:
        plan.snapshot = load(HiddenFiles(log.store, hidden), log.uri)
        reason = _difference(log, plan.snapshot, hidden)
    except DeltaError as error:
        reason = f"Without the files the log cannot be read: {error.message}"
    if reason:
        steps = [replace(each, blocked=each.blocked or reason) for each in steps]
    plan.steps += steps


def _difference(log: RawLog, snapshot: Snapshot, hidden: Collection[str]) -> str:
    """Return how the latest version differs from what the check read; an empty string if it does not."""
    if snapshot.version != log.version:
        return f"The latest version is {snapshot.version}, and the check read version {log.version}."
    kept = [each for each in log.checkpoints if not any(file.path in hidden for file in each.files)]
    expected = Timeline(log.commits, log.rows, kept).live_at(log.version).num_rows
    found = snapshot.files(["path"]).num_rows
    return "" if found == expected else f"Without the files the table has {found} data files, and the check counts {expected}."


def _checkpoint_steps(log: RawLog, broken: Mapping[str, set[str]]) -> list[Step]:
    kept = list(log.checkpoints)
    steps = []
    for each in log.checkpoints:
        rules = {rule for file in each.all_files for rule in broken.get(file.path, ())}
        if not rules:
            continue
        others = [other for other in kept if other is not each]
        blocked = "" if _is_readable(log, each, others) else _ONLY_SOURCE
        kept = kept if blocked else others
        steps.append(Step(Repair.CHECKPOINT, tuple(sorted(rules)), tuple(file.path for file in each.files), blocked))
    return steps


def _is_readable(log: RawLog, removed: Checkpoint, others: Sequence[Checkpoint]) -> bool:
    """Whether all versions that follow from a log follow from it without a checkpoint, too."""
    known = Timeline(log.commits, log.rows, others).known
    if not known or known[-1] != log.version:
        return False
    return not removed.is_complete or known[0] <= min(log.timeline.known, default=removed.version)


def _plan_data_files(plan: Plan, by_repair: Mapping[Repair, Mapping[str, set[str]]]) -> None:
    """Add the steps that commit."""
    log = plan.log
    statistics = {rule for rules in by_repair.get(Repair.STATISTICS, {}).values() for rule in rules}
    if statistics:
        plan.steps.append(Step(Repair.STATISTICS, tuple(sorted(statistics)), ()))
    rules = {rule for each in by_repair.get(Repair.FILES, {}).values() for rule in each}
    if not rules:
        return
    missing, plan.unreadable = _unreadable(log, checks_footers="footer-readable" in rules)
    lost = (*missing, *(path for path, _ in plan.unreadable))
    blocked = "" if lost else "The files can be read. Only their sizes in the log are wrong."
    plan.steps.append(Step(Repair.FILES, tuple(sorted(rules)), lost, blocked))


def _unreadable(log: RawLog, *, checks_footers: bool) -> tuple[list[str], dict[LogicalFile, str]]:
    """Return the live files that are missing or whose deletion vector is, and the reason of each one that cannot be read."""
    names = ["file", "line", "kind", "path", "size", "vectorId", "stored"]
    live = log.live_files.append_column("stored", log.stored_sizes).select(names).to_pylist()
    logical = {(row["file"], row["line"], row["kind"]): (row["path"], row["vectorId"] or "") for row in live}
    missing = dict.fromkeys(row["path"] for row in live if row["stored"] is None)
    found: dict[LogicalFile, str] = {}
    for (file, line, kind), data, vector in live_vectors(log):
        name = logical.get((file.number, line, kind))
        if name is None or name[0] in missing:
            continue
        if data is None:
            missing[name[0]] = None
        elif why := wrong_bytes(vector, data):
            found[name] = why
    for row in live:
        size = row["stored"]
        is_suspect = size != row["size"] or (checks_footers and isinstance(log.folder.footer(row["path"]), str))
        if size is not None and is_suspect and (why := log.folder.damage(row["path"])):
            found[row["path"], row["vectorId"] or ""] = why
    return list(missing), found
