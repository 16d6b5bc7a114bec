# SPDX-License-Identifier: Apache-2.0
"""Delta Log Entries and Log Compaction Files."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow.compute as pc

from bayou.checks.log_file import Action, LogFile
from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Section, first, in_rows
from bayou.checks.timeline import differing, missing_from, reconciled

_ENTRIES = Section("Delta Log Entries", "log")
_COMPACTION = Section("Log Compaction Files", "compaction")
SECTIONS = (_ENTRIES, _COMPACTION)

_ALMOST = re.compile(r"\d+(\.checkpoint.*\.(parquet|json)|\.compacted\.json|\.json|\.crc)$", re.ASCII)


@_ENTRIES.broken("contiguous", "Versions are contiguous: each version after the oldest commit or checkpoint has its commit.")
def versions_are_contiguous(log: RawLog) -> Iterator[Found]:
    for earlier, later in itertools.pairwise(log.commits):
        if later != earlier + 1:
            covered = "; a checkpoint covers them" if _is_covered(log, later) else ""
            missing = f"version {later - 1} is" if later == earlier + 2 else f"versions {earlier + 1} to {later - 1} are"
            yield Found(f"{missing} missing{covered}", log.commits[later])
    oldest = next(iter(log.commits), 0)
    if oldest > 0 and not _is_covered(log, oldest):
        yield Found(f"the versions before {oldest} are missing, and no checkpoint covers them", log.commits[oldest])


def _is_covered(log: RawLog, version: int) -> bool:
    """Whether a complete checkpoint holds the versions before a commit."""
    return any(each.is_complete and each.version >= version - 1 for each in log.checkpoints)


@_ENTRIES.risky("cleanup-keeps-checkpoint", "Metadata cleanup keeps a checkpoint for the oldest kept version.")
def cleanup_keeps_a_checkpoint(log: RawLog) -> Iterator[Found]:
    oldest = next(iter(log.commits), 0)
    complete = [each.version for each in log.checkpoints if each.is_complete]
    if oldest > 0 and complete and min(complete) > oldest:
        yield Found(f"the oldest commit is {oldest}, and the oldest checkpoint is {min(complete)}", log.commits[oldest])


@_ENTRIES.broken("json", "Each line of a commit is a JSON document.")
def lines_are_json(log: RawLog) -> Iterator[Found]:
    for file in _json_files(log):
        yield from first(Found(each.detail, file, each.line) for each in file.problems if each.kind == "json")


@_ENTRIES.risky("unicode", "Strings in a commit are Unicode.")
def lines_are_unicode(log: RawLog) -> Iterator[Found]:
    for file in _json_files(log):
        yield from first(Found(each.detail, file, each.line) for each in file.problems if each.kind == "unicode")


@_ENTRIES.broken("one-action-per-line", "Each line of a commit is one action.")
def lines_are_single_actions(log: RawLog) -> Iterator[Found]:
    for file in _json_files(log):
        yield from first(Found(each.detail, file, each.line) for each in file.problems if each.kind == "action")


@_ENTRIES.broken("field-type", "Each field of an action has the type of its schema.")
def fields_have_their_types(log: RawLog) -> Iterator[Found]:
    for file in log.files:
        yield from first(Found(each.detail, file, each.line, each.action) for each in file.problems if each.kind == "type")


@_ENTRIES.risky("empty", "A commit has at least one action.")
def commits_have_actions(log: RawLog) -> Iterator[Found]:
    for file in log.commits.values():
        if not (file.actions or file.file_actions or file.problems):
            yield Found("the file has no action", file)


@_ENTRIES.odd("name", "Names of log files have versions of 20 digits.")
def names_are_padded(log: RawLog) -> Iterator[Found]:
    yield from first(
        Found("readers ignore this name", each) for each in log.other_names if _ALMOST.search(each.path.rpartition("/")[2])
    )


@_ENTRIES.broken("starts-with-protocol", "The first version has a protocol and a metaData action.")
def first_version_is_complete(log: RawLog) -> Iterator[Found]:
    if 0 in log.commits:
        kinds = {each.kind for each in log.commits[0].actions}
        for kind in ("protocol", "metaData"):
            if kind not in kinds:
                yield Found(f"it has no {kind} action", log.commits[0])


@_ENTRIES.broken("checkpoint-actions", "Actions of V2 checkpoints are not in commits.")
def commits_have_no_checkpoint_actions(log: RawLog) -> Iterator[Found]:
    for file in (*log.commits.values(), *log.compactions):
        for each in file.actions:
            if each.kind in {"sidecar", "checkpointMetadata"}:
                yield Found(f"a {each.kind} action is only valid in a checkpoint", file, each.line, each.kind)


@_COMPACTION.broken("range", "The last version of a compacted file is greater than the first.")
def range_ascends(log: RawLog) -> Iterator[Found]:
    for file in log.compactions:
        if file.name is not None and file.name.version >= file.version:
            yield Found(f"the range is {file.name.version} to {file.version}", file)


@_COMPACTION.broken("equals-commits", "A compacted file has the reconciled file actions of the commits in its range.")
def compactions_equal_commits(log: RawLog) -> Iterator[Found]:
    for file in log.compactions:
        start = file.name.version if file.name else 0
        if any(version not in log.commits for version in range(start, file.version + 1)):
            continue
        versions = log.rows["version"]
        kind = log.rows["kind"]
        chosen = pc.and_(
            pc.and_(pc.greater_equal(versions, start), pc.less_equal(versions, file.version)), pc.not_equal(kind, "cdc")
        )
        wanted = reconciled(log.rows.filter(chosen))
        found = log.compacted_rows.filter(pc.equal(log.compacted_rows["file"], file.number))
        for row in in_rows(log, missing_from(wanted, found), "the compacted file lacks the {kind} of {path}"):
            yield Found(row.detail, file, None, row.action, row.more)
        yield from in_rows(log, missing_from(found, wanted), "no commit of the range leaves the {kind} of {path}")
        adds = (each.filter(pc.equal(each["kind"], "add")) for each in (found, wanted))
        yield from in_rows(log, differing(*adds), "{path} has other partition values or another size than in the commits")


@_COMPACTION.broken(
    "heads", "A compacted file has the last protocol, metaData, txn and domainMetadata actions of the commits in its range."
)
def compactions_have_the_heads(log: RawLog) -> Iterator[Found]:
    for file in log.compactions:
        versions = range(file.name.version if file.name else 0, file.version + 1)
        if all(version in log.commits for version in versions):
            wanted = _heads(each for version in versions for each in log.commits[version].actions)
            found = _heads(file.actions)
            for name in sorted({name for name in {**wanted, **found} if wanted.get(name) != found.get(name)}):
                yield Found(f"it has not the {' '.join(name)} of the commits", file, None, name[0])


def _heads(actions: Iterable[Action]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the last action of each kind, and of each application or domain, without absent fields."""
    keys = {"protocol": "", "metaData": "", "txn": "appId", "domainMetadata": "domain"}
    return {
        (each.kind, str(each.value.get(keys[each.kind], ""))): {
            name: value for name, value in each.value.items() if value is not None
        }
        for each in actions
        if each.kind in keys
    }


@_COMPACTION.risky("no-commit-info", "A compacted file has no commitInfo and no cdc.")
def compactions_have_no_commit_info(log: RawLog) -> Iterator[Found]:
    for file in log.compactions:
        yield from first(Found("readers do not expect it", file, each.line, each.kind) for each in file.of_kind("commitInfo"))
    changes = log.compacted_rows.filter(pc.equal(log.compacted_rows["kind"], "cdc"))
    yield from in_rows(log, changes, "the compacted file has a cdc action for {path}")


def _json_files(log: RawLog) -> Iterator[LogFile]:
    yield from log.commits.values()
    yield from log.compactions
    yield from (file for each in log.checkpoints for file in each.files if not file.is_parquet)
