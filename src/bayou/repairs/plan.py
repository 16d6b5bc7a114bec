# SPDX-License-Identifier: Apache-2.0
"""The plan of a repair: the steps that follow from the findings of a check, and what is left of the log while they run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from bayou.checks.rules.deletion_vectors import live_vectors, wrong_bytes
from bayou.errors import DeltaError, StorageError, UnsupportedFeatureError
from bayou.log.actions.keys import vector_ids
from bayou.log.snapshot.loading import load
from bayou.protocol.actions.file_names import LAST_CHECKPOINT
from bayou.repairs.hidden_files import HiddenFiles
from bayou.repairs.repair import OF_ANY_FILE, REPAIRS, Repair
from bayou.report.units import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from bayou.checks.raw_log import RawLog
    from bayou.checks.report import Finding, Report
    from bayou.log.operations.fsck import LogicalFile
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import Protocol

_ONLY_SOURCE: Final = "Versions of the table follow from this file only."
NEEDS_CONSENT: Final = "It loses rows. Allow that with allow_loss=True or --allow-loss."
"""Why a step is blocked that loses rows."""


@dataclass(frozen=True, slots=True)
class Step:
    """A repair of some files.

    Attributes:
        repair: the repair.
        rules: the rules whose findings it repairs.
        files: the log files that it replaces or deletes, or the data files that leave the log, as the log names them.
        blocked: why the step is not done; empty if it can be done.
        done: whether it was done.
        loss: what a step that usually loses nothing would take from a version; empty if nothing.
    """

    repair: Repair
    rules: tuple[str, ...]
    files: tuple[str, ...]
    blocked: str = ""
    done: bool = False
    loss: str = ""

    @property
    def state(self) -> str:
        """One of "planned", "blocked" and "done"."""
        return "done" if self.done else "blocked" if self.blocked else "planned"

    def to_json(self) -> dict[str, Any]:
        """Return the step as one JSON object."""
        return {
            "repair": self.repair.value,
            "losesRows": self.repair.loses_rows or bool(self.loss),
            "loss": self.loss or None,
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
        self.steps = [replace(each, blocked=each.blocked or reason) if each.repair is repair else each for each in self.steps]

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


def plan_of(log: RawLog, report: Report, *, allow_loss: bool = False) -> Plan:
    """Return the plan that follows from a report. Nothing is changed.

    Args:
        allow_loss: plan also the steps that take rows from a version.
    """
    plan = Plan(log, report)
    by_repair = _by_repair(log, report.findings)
    _plan_derived_files(plan, by_repair, allow_loss=allow_loss)
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


def _plan_derived_files(plan: Plan, by_repair: Mapping[Repair, Mapping[str, set[str]]], *, allow_loss: bool) -> None:
    """Add the steps that replace or delete files that follow from commits."""
    log = plan.log
    steps: list[Step] = []
    for file in log.compactions:
        rules = by_repair.get(Repair.COMPACTION, {}).get(file.path)
        if rules:
            steps.append(_deletion(log, Repair.COMPACTION, rules, (file.path,), file.version, steps, allow_loss=allow_loss))
    by_file = by_repair.get(Repair.CHECKPOINT, {})
    for each in log.checkpoints:
        rules = {rule for file in each.all_files for rule in by_file.get(file.path, ())}
        if rules:
            files = tuple(file.path for file in each.files)
            step = _deletion(log, Repair.CHECKPOINT, rules, files, each.version, steps, allow_loss=allow_loss)
            if any(earlier.blocked for earlier in steps if earlier.repair is Repair.CHECKPOINT):
                step = replace(step, blocked=step.blocked or "An earlier checkpoint has to be repaired first.")
            steps.append(step)
    steps += [
        Step(repair, tuple(sorted(rules)), (path,))
        for repair in (Repair.HINT, Repair.CHECKSUM)
        for path, rules in by_repair.get(repair, {}).items()
    ]
    if not steps:
        return
    hidden = [path for each in steps if not each.blocked for path in each.files]
    try:
        plan.snapshot = _loaded(log, None, hidden)
        reason = "" if plan.snapshot.version >= log.version else f"Without the files the latest version is {plan.snapshot.version}."
    except StorageError:
        raise
    except DeltaError as error:
        reason = f"Without the files the log cannot be read: {error.message}"
    if reason:
        steps = [replace(each, blocked=each.blocked or reason) for each in steps]
    plan.steps += steps


def _deletion(
    log: RawLog,
    repair: Repair,
    rules: Iterable[str],
    files: tuple[str, ...],
    version: int,
    earlier: Iterable[Step],
    *,
    allow_loss: bool,
) -> Step:
    """Return the step that deletes a checkpoint or a compacted file, planned as if the earlier steps were done.

    A file that differs from the rest of the log can be the one that is right: an earlier checkpoint or a commit may lack an action.
    Readers use the file today, so a deletion that takes data files or columns from a version needs consent.
    """
    hidden = [path for step in earlier if not step.blocked for path in step.files]
    blocked = loss = ""
    try:
        for each in _affected(log, version):
            before = _state(log, each, hidden)
            after = None if before is None else _state(log, each, [*hidden, *files])
            if before is not None and after is None:
                blocked = _ONLY_SOURCE
            elif before is not None and after is not None:
                loss = loss or before.lost_in(after)
    except UnsupportedFeatureError as error:
        blocked = f"bayou cannot read the versions of this file: {error.message}"
    if loss and not allow_loss:
        blocked = blocked or f"{loss} {NEEDS_CONSENT}"
    return Step(repair, tuple(sorted(rules)), files, blocked, loss=loss)


def _affected(log: RawLog, version: int) -> list[int]:
    """Return the versions whose state may depend on a checkpoint or compacted file, as far as other files make a difference.

    They end before the next checkpoint. Between them, each version follows from the one before and its commit.
    """
    ends = {each.version for each in log.checkpoints} | {each.version for each in log.compactions}
    following = min((each.version for each in log.checkpoints if each.is_complete and each.version > version), default=None)
    last = log.version if following is None else following - 1
    return sorted({version, last, *(each for each in ends if version <= each <= last)})


def _state(log: RawLog, version: int, hidden: Iterable[str]) -> _State | None:
    """Return what readers get from a version of the log without some files; None if the log does not give the version.

    Raises:
        StorageError: the store failed. Then nothing is known of the version.
        UnsupportedFeatureError: bayou cannot read the version, and other readers may.
    """
    try:
        snapshot = _loaded(log, version, hidden)
    except (StorageError, UnsupportedFeatureError):
        raise
    except DeltaError:
        return None
    files = snapshot.files(["path", "deletion_vector"])
    keys = pc.binary_join_element_wise(files["path"], pc.fill_null(vector_ids(files["deletion_vector"]), ""), "\0")
    return _State(version, keys, snapshot.metadata.schema_string, snapshot.metadata.partition_columns, snapshot.protocol)


def _loaded(log: RawLog, version: int | None, hidden: Iterable[str]) -> Snapshot:
    """Load a version of the log without some files, and read it whole. A failure of the store does not count as a broken file."""
    store = HiddenFiles(log.store, hidden)
    try:
        snapshot = load(store, log.uri, version)
        snapshot.files(["path", "deletion_vector"])
    except DeltaError as error:
        raise store.failure or error from error
    if store.failure is not None:
        raise store.failure
    return snapshot


@dataclass(frozen=True, slots=True)
class _State:
    """A version as readers see it: the keys of its files, its schema, and its protocol."""

    version: int
    files: pa.ChunkedArray
    schema: str
    partition_columns: Sequence[str]
    protocol: Protocol

    def lost_in(self, other: _State) -> str:
        """Return what another state of the version lacks or has in another way; an empty string if it lacks nothing."""
        lost = self.files.filter(pc.invert(pc.is_in(self.files, value_set=other.files)))
        if len(lost):
            name = lost[0].as_py().partition("\0")[0]
            files = count_text(len(lost), "data file")
            return f"Version {self.version} would lose {files} that only this file names, such as {name}."
        for what, is_same in (
            ("schema", self.schema == other.schema),
            ("partition columns", self.partition_columns == other.partition_columns),
            ("protocol", self.protocol == other.protocol),
        ):
            if not is_same:
                return f"The {what} of version {self.version} would change."
        return ""


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
