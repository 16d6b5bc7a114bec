# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, Sidecar Files, Checkpoint Schema, and the last checkpoint file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.checks.checkpoint import Checkpoint
from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Reads, Section, first, in_action, in_rows, without_max
from bayou.checks.timeline import differing, missing_from
from bayou.log.checkpoint.last_checkpoint import json_checksum
from bayou.log.checkpoint.part_hash import parts_of
from bayou.protocol.actions.file_names import LogFileKind

_CHECKPOINT = Section("Checkpoints", "checkpoint", Reads.CHECKPOINT)
_SIDECAR = Section("Sidecar Files", "sidecar", Reads.CHECKPOINT)
_HINT = Section("Last Checkpoint File Schema", "hint", Reads.HINT)
SECTIONS = (_CHECKPOINT, _SIDECAR, _HINT)

_FORBIDDEN = ("commitInfo", "cdc")
_COMPARED = ("protocol", "metaData")
_PLAIN = {"name", "description", "createdTime"}
_PARQUET = ({"provider": "parquet", "options": {}}, {"provider": "parquet"})


@_CHECKPOINT.broken("readable", "A checkpoint is a Parquet file, or JSON.")
def checkpoints_are_readable(log: RawLog) -> Iterator[Found]:
    for file in (each for checkpoint in log.checkpoints for each in checkpoint.all_files):
        yield from first(Found(each.detail, file) for each in file.problems if each.kind == "parquet")


@_CHECKPOINT.risky("parts", "A multi-part checkpoint has all its parts.")
def parts_are_complete(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        if len(each.files) != each.parts:
            yield Found(f"{len(each.files)} of {each.parts} parts exist, so readers ignore them", each.files[0])


@_CHECKPOINT.odd("multi-part", "Writers avoid multi-part checkpoints, which are deprecated.")
def parts_are_deprecated(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        if each.kind is LogFileKind.CHECKPOINT_PART:
            yield Found(f"the checkpoint has {each.parts} parts", each.files[0])


@_CHECKPOINT.odd("part-hash", "A part has the file actions whose path, with the deletion vector, has its hash.")
def parts_are_hashed(log: RawLog) -> Iterator[Found]:
    for each in (each for each in log.checkpoints if each.parts > 1):
        epoch = log.timeline.epoch_at(each.version)
        has_vectors = epoch is not None and epoch.supports("deletionVectors")
        parts = {file.number: file.name.part for file in each.files if file.name is not None}
        rows = each.rows.filter(pc.is_valid(each.rows["path"]))
        vectors = rows["vectorId"] if has_vectors else pa.chunked_array([pa.nulls(rows.num_rows, pa.string())])
        wanted = pc.add(parts_of(rows["path"], vectors, each.parts), 1)
        found = pa.array([parts.get(number) for number in rows["file"].to_pylist()], pa.int64())
        wrong = rows.append_column("part", wanted).filter(pc.not_equal(wanted, found))
        yield from in_rows(log, wrong, "{path} belongs to the part {part}")


@_CHECKPOINT.broken("multi-part-v2", "A table with the feature v2Checkpoint has no multi-part checkpoint.")
def v2_tables_have_no_parts(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        epoch = log.timeline.epoch_at(each.version)
        if each.kind is LogFileKind.CHECKPOINT_PART and epoch and epoch.supports("v2Checkpoint"):
            yield Found("the table supports v2Checkpoint", each.files[0])


@_CHECKPOINT.broken("v2-feature", "A checkpoint of the V2 spec requires the feature v2Checkpoint.")
def v2_checkpoints_need_their_feature(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        epoch = log.timeline.epoch_at(each.version)
        if each.is_v2 and epoch and not epoch.supports("v2Checkpoint"):
            yield Found("writerFeatures lacks v2Checkpoint", each.files[0])


@_CHECKPOINT.broken("metadata-action", "A checkpoint of the V2 spec has exactly one checkpointMetadata, with its version.")
def v2_checkpoints_have_metadata(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        found = [action for action in each.actions if action.kind == "checkpointMetadata"]
        if each.is_v2 and each.is_complete and len(found) != 1:
            yield Found(f"it has {len(found)} checkpointMetadata actions", each.files[0])
        for action in found:
            if action.value.get("version") != each.version:
                yield in_action(action, f"the version is {action.value.get('version')!r}")


@_CHECKPOINT.broken("after-commit", "A checkpoint is written after the commit of its version.")
def checkpoints_follow_commits(log: RawLog) -> Iterator[Found]:
    last = max(log.commits, default=None)
    for each in log.checkpoints:
        if last is not None and each.version > last:
            yield Found(f"the latest commit is version {last}", each.files[0])


@_CHECKPOINT.broken("has-protocol", "A checkpoint has one protocol and one metaData action.")
def checkpoints_have_protocol(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        for kind in _COMPARED if each.is_complete else ():
            count = sum(action.kind == kind for action in each.actions)
            if count != 1:
                yield Found(f"it has {count} {kind} actions", each.files[0], action=kind)


@_CHECKPOINT.broken("no-provenance", "A checkpoint has neither commitInfo nor cdc actions.")
def checkpoints_have_no_provenance(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        yield from first(in_action(action, "it is not valid here") for action in each.actions if action.kind == "commitInfo")
        yield from in_rows(log, each.rows.filter(pc.equal(each.rows["kind"], "cdc")), "it has the cdc of {path}")


@_CHECKPOINT.broken("heads-equal-commits", "The protocol and metaData of a checkpoint are those of its version.")
def heads_equal_commits(log: RawLog) -> Iterator[Found]:
    for each in _comparable(log):
        epoch = log.timeline.epoch_at(each.version)
        for kind, wanted in (("protocol", epoch and epoch.protocol), ("metaData", epoch and epoch.metadata)):
            for action in each.actions:
                if wanted and action.kind == kind and _plain(action.value) != _plain(wanted.value):
                    names = [name for name in {**wanted.value, **action.value} if _field(wanted, name) != _field(action, name)]
                    yield in_action(action, f"{', '.join(sorted(names))} differ from {wanted.file.path}")


@_CHECKPOINT.broken("txns-equal-commits", "The txn and domainMetadata actions of a checkpoint are those of its version.")
def small_actions_equal_commits(log: RawLog) -> Iterator[Found]:
    by_version: dict[int, list[Checkpoint]] = {}
    for each in _comparable(log):
        by_version.setdefault(each.version, []).append(each)
    for version, heads in log.timeline.heads_at(by_version):
        for each in by_version[version]:
            for kind, name, wanted in (("txn", "appId", heads.transactions), ("domainMetadata", "domain", heads.domains)):
                found = {str(action.value.get(name)): action for action in each.actions if action.kind == kind}
                for key in wanted:
                    if key not in found and not (kind == "txn" and _expires(log, version)):
                        yield Found(f"it lacks the {kind} of {key!r}", each.files[0], action=kind)
                for key, action in found.items():
                    value = "version" if kind == "txn" else "configuration"
                    if action.value.get("removed"):
                        yield in_action(action, f"{key!r} is removed")
                    elif key not in wanted or action.value.get(value) != wanted[key].value.get(value):
                        yield in_action(action, f"no commit leaves {key!r} with {action.value.get(value)!r:.60}")


@_CHECKPOINT.broken("files-equal-commits", "The add actions of a checkpoint are the live files of its version.")
def files_equal_commits(log: RawLog) -> Iterator[Found]:
    for each in _comparable(log):
        live = log.timeline.live_at(each.version)
        adds = each.rows.filter(pc.equal(each.rows["kind"], "add"))
        for row in in_rows(log, missing_from(live, adds), "the checkpoint lacks {path}, which is live"):
            yield Found(row.detail, each.files[0], None, "add", row.more)
        yield from in_rows(log, missing_from(adds, live), "{path} is not live in version {version}")


@_CHECKPOINT.broken("values-equal-commits", "The add actions of a checkpoint have the partition values and sizes of the commits.")
def values_equal_commits(log: RawLog) -> Iterator[Found]:
    for each in _comparable(log):
        adds = each.rows.filter(pc.equal(each.rows["kind"], "add"))
        other = differing(adds, log.timeline.live_at(each.version))
        yield from in_rows(log, other, "{path} has other partition values or another size than in the commits")


@_CHECKPOINT.broken("unique-files", "A checkpoint has each logical file once, as an add or as a remove.")
def files_are_unique(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        rows = each.rows.filter(pc.and_(pc.not_equal(each.rows["kind"], "cdc"), pc.is_valid(each.rows["key"])))
        counts = rows.group_by("key").aggregate(
            [("line", "count"), ("line", "max"), ("file", "max"), ("kind", "max"), ("path", "max")]
        )
        twice = counts.filter(pc.greater(counts["line_count"], 1))
        yield from in_rows(log, without_max(twice), "{path} occurs {line_count} times")


@_CHECKPOINT.odd("remove-fields", "A remove in a checkpoint has neither stats nor tags.")
def removes_are_small(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        filled = pc.or_(pc.is_valid(each.rows["stats"]), pc.is_valid(each.rows["tags"]))
        chosen = each.rows.filter(pc.and_(pc.equal(each.rows["kind"], "remove"), filled))
        yield from in_rows(log, chosen, "{path} has stats or tags")


@_CHECKPOINT.risky("parsed-columns", "A checkpoint has stats_parsed if delta.checkpoint.writeStatsAsStruct is true.")
def parsed_columns_exist(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        epoch = log.timeline.epoch_at(each.version)
        if not epoch or not epoch.is_on("delta.checkpoint.writeStatsAsStruct"):
            continue
        for file in each.all_files:
            columns = (file.columns or {}).get("add")
            if columns and epoch.partition_columns and "partitionValues_parsed" not in columns and each.rows.num_rows:
                yield Found("the add column lacks partitionValues_parsed", file, action="add")


@_CHECKPOINT.odd("stats-column", "A checkpoint has no JSON statistics if delta.checkpoint.writeStatsAsJson is false.")
def stats_column_is_absent(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        epoch = log.timeline.epoch_at(each.version)
        if epoch and epoch.configuration.get("delta.checkpoint.writeStatsAsJson", "true").lower() == "false":
            adds = each.rows.filter(pc.and_(pc.equal(each.rows["kind"], "add"), pc.is_valid(each.rows["stats"])))
            yield from in_rows(log, adds, "{path} has stats")


@_SIDECAR.broken("fields", "A sidecar action has path, sizeInBytes and modificationTime.")
def sidecar_actions_are_complete(log: RawLog) -> Iterator[Found]:
    for action in (action for each in log.checkpoints for action in each.actions if action.kind == "sidecar"):
        for name, kind in (("path", str), ("sizeInBytes", int), ("modificationTime", int)):
            if type(action.value.get(name)) is not kind:
                yield in_action(action, f"{name} is {action.value.get(name)!r}")


@_SIDECAR.broken("exists", "The sidecar files of a checkpoint exist.")
def sidecars_exist(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        missing = [name for name in each.sidecar_names if name not in each.sidecars]
        yield from first(Found(f"_sidecars/{name} does not exist", each.files[0], action="sidecar") for name in missing)


@_SIDECAR.broken("size", "A sidecar file has the size that its action states.")
def sidecar_sizes_are_right(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        for action in each.actions:
            name = str(action.value.get("path")).rpartition("/")[2]
            size = action.value.get("sizeInBytes")
            if action.kind == "sidecar" and name in each.sidecars and type(size) is int and size != each.sidecars[name].size:
                yield in_action(action, f"{name} has {each.sidecars[name].size} bytes, and the action states {size}")


@_SIDECAR.broken("only-files", "A sidecar file has add and remove actions only.")
def sidecars_have_files_only(log: RawLog) -> Iterator[Found]:
    for file in (file for each in log.checkpoints for file in each.sidecars.values()):
        yield from first(in_action(action, "it belongs into the checkpoint itself") for action in file.actions)


@_SIDECAR.broken("all-or-none", "File actions are all in sidecars, or all in the checkpoint.")
def sidecars_have_all_files(log: RawLog) -> Iterator[Found]:
    for each in log.checkpoints:
        if each.sidecars and sum(file.file_actions for file in each.files):
            yield Found("the checkpoint has file actions and sidecars", each.files[0])


@_SIDECAR.odd("orphan", "Cleanup deletes sidecar files older than a day that no checkpoint refers to.")
def sidecars_are_used(log: RawLog) -> Iterator[Found]:
    used = {name for each in log.checkpoints for name in each.sidecars}
    old = (time.time() - 2 * 86_400) * 1000
    orphans = [each for name, each in log.sidecar_names.items() if name not in used and each.modification_time < old]
    if orphans and log.files:
        yield Found(f"no checkpoint refers to _sidecars/{orphans[0].name}", log.files[-1], more=len(orphans) - 1)


def _hint(log: RawLog) -> dict[str, Any]:
    return log.hint.document if log.hint is not None and isinstance(log.hint.document, dict) else {}


@_HINT.risky("json", "_last_checkpoint is a JSON object with version and size.")
def hint_is_json(log: RawLog) -> Iterator[Found]:
    if log.hint is not None and log.hint.problems:
        yield Found(log.hint.problems[0].detail, log.hint)
    elif log.hint is not None:
        wrong = [name for name in ("version", "size") if type(_hint(log).get(name)) is not int]
        if wrong:
            yield Found(f"{', '.join(wrong)} is missing or not a number", log.hint)


@_HINT.risky("exists", "The checkpoint that _last_checkpoint names exists.")
def hint_names_a_checkpoint(log: RawLog) -> Iterator[Found]:
    version, parts = _hint(log).get("version"), _hint(log).get("parts")
    found = [each for each in log.checkpoints if each.version == version and each.is_complete]
    if log.hint and type(version) is int and (not found or (parts and all(each.parts != parts for each in found))):
        shown = f" in {parts} parts" if parts else ""
        yield Found(f"the log has no complete checkpoint of version {version}{shown}", log.hint)


@_HINT.odd("latest", "_last_checkpoint names the latest checkpoint.")
def hint_is_up_to_date(log: RawLog) -> Iterator[Found]:
    latest = max((each.version for each in log.checkpoints if each.is_complete), default=-1)
    version = _hint(log).get("version")
    if log.hint and type(version) is int and version < latest:
        yield Found(f"it names version {version}, and the latest checkpoint is {latest}", log.hint)


@_HINT.odd("size", "The number of actions in _last_checkpoint is right.")
def hint_counts_are_right(log: RawLog) -> Iterator[Found]:
    document = _hint(log)
    for each in log.checkpoints:
        if log.hint is None or each.version != document.get("version") or not each.is_complete:
            continue
        adds = pc.sum(pc.equal(each.rows["kind"], "add")).as_py() or 0
        for name, found in (("numOfAddFiles", adds), ("sizeInBytes", sum(file.size for file in each.all_files))):
            if (
                type(document.get(name)) is int
                and document[name] != found
                and sum(o.version == each.version for o in log.checkpoints) == 1
            ):
                yield Found(f"{name} is {document[name]}, and the checkpoint has {found}", log.hint)


@_HINT.risky("checksum", "The checksum of _last_checkpoint is the MD5 digest of its canonical form.")
def hint_checksum_is_right(log: RawLog) -> Iterator[Found]:
    checksum = _hint(log).get("checksum")
    if log.hint and checksum is not None and checksum != json_checksum(_hint(log)):
        yield Found(f"it is {checksum!r}, and the document has {json_checksum(_hint(log))!r}", log.hint)


def _comparable(log: RawLog) -> Iterator[Checkpoint]:
    """Yield the checkpoints whose state also follows from commits."""
    timeline = log.timeline
    for each in log.checkpoints:
        is_base = timeline.base is not None and each.version == timeline.base.version
        if each.is_complete and each.version in timeline.known and not is_base:
            yield each


def _plain(value: Any) -> dict[str, Any]:
    """Return the fields that are compared. Absent and empty ones are alike, and the order of features does not matter."""
    return {
        name: sorted(map(str, each)) if name.endswith("Features") else each
        for name, each in value.items()
        if each and name not in _PLAIN and each not in _PARQUET
    }


def _field(action: Any, name: str) -> Any:
    return _plain(action.value).get(name)


def _expires(log: RawLog, version: int) -> bool:
    epoch = log.timeline.epoch_at(version)
    return bool(epoch and "delta.setTransactionRetentionDuration" in epoch.configuration)
