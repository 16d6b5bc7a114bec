# SPDX-License-Identifier: Apache-2.0
"""Add File and Remove File, Add CDC File, Append-only Tables."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Section, in_rows, without_max

_FILES = Section("Add File and Remove File", "file")
_CDC = Section("Add CDC File", "cdc")
_APPEND_ONLY = Section("Append-only Tables", "append-only")
SECTIONS = (_FILES, _CDC, _APPEND_ONLY)

_REQUIRED = ("path", "partitionValues", "size", "modificationTime", "dataChange")


@_FILES.broken("add-required", "An add action has path, partitionValues, size, modificationTime and dataChange.")
def adds_are_complete(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        for name in _REQUIRED:
            yield from in_rows(log, part.adds.filter(pc.is_null(part.adds[name])), f"{name} is missing, of {{path}}")


@_FILES.broken("remove-required", "A remove action has path and dataChange.")
def removes_are_complete(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        for name in ("path", "dataChange"):
            yield from in_rows(
                log,
                part.removes.filter(pc.is_null(part.removes[name])),
                f"{name} is missing, of {{path}}",
            )


@_FILES.odd("remove-timestamp", "A remove action has a deletionTimestamp.")
def removes_have_times(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        chosen = part.removes.filter(pc.is_null(part.removes["deletionTimestamp"]))
        yield from in_rows(log, chosen, "VACUUM takes {path} as expired")


@_FILES.broken("path", "A path is not empty and does not point into the log.")
def paths_name_data_files(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        odd = pc.match_substring_regex(part.rows["path"], r"^$|^/?$|^_delta_log/|^\.\.?(/|$)|/\.\.(/|$)")
        yield from in_rows(log, part.rows.filter(odd), "the path is {path!r}")


@_FILES.risky("path-encoding", "A path is a URI.")
def paths_are_uris(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        odd = pc.match_substring_regex(part.rows["path"], r'[ "<>\\^`{|}]|%(?:[^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)')
        yield from in_rows(log, part.rows.filter(odd), "{path!r} has characters that a URI escapes")


@_FILES.broken("size", "Sizes are not negative.")
def sizes_are_not_negative(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        yield from in_rows(log, part.rows.filter(pc.less(part.rows["size"], 0)), "the size of {path} is {size}")


@_FILES.risky("empty", "A data file has at least one byte.")
def files_have_bytes(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        yield from in_rows(log, part.adds.filter(pc.equal(part.adds["size"], 0)), "the size of {path} is 0")


@_FILES.odd("time", "Times are milliseconds since the epoch.")
def times_are_milliseconds(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        for name in ("modificationTime", "deletionTimestamp"):
            # Seconds and microseconds of this century lie outside of these bounds.
            odd = pc.or_(pc.less(part.rows[name], 0), pc.greater(part.rows[name], 100_000_000_000_000))
            yield from in_rows(log, part.rows.filter(odd), f"{name} is {{{name}}}")


@_FILES.broken("unique-in-commit", "A commit has at most one add and at most one remove of a path.")
def paths_are_unique_in_commits(log: RawLog) -> Iterator[Found]:
    rows = log.rows.filter(pc.and_(pc.not_equal(log.rows["kind"], "cdc"), pc.is_valid(log.rows["path"])))
    counts = rows.group_by(["file", "kind", "path"]).aggregate([("line", "max"), ("line", "count")])
    twice = without_max(counts.filter(pc.greater(counts["line_count"], 1)))
    yield from in_rows(log, twice, "{path} has {line_count} {kind} actions")


@_FILES.broken("add-and-remove", "A commit does not add and remove the same logical file.")
def commits_do_not_contradict(log: RawLog) -> Iterator[Found]:
    rows = log.rows.filter(pc.and_(pc.not_equal(log.rows["kind"], "cdc"), pc.is_valid(log.rows["key"])))
    removed = pc.unique(rows.filter(pc.equal(rows["kind"], "remove"))["key"])
    counts = (
        rows.filter(pc.is_in(rows["key"], removed))
        .group_by(["file", "key"])
        .aggregate([("kind", "count_distinct"), ("line", "max"), ("path", "max"), ("kind", "max")])
    )
    both = counts.filter(pc.greater(counts["kind_count_distinct"], 1))
    yield from in_rows(log, without_max(both), "{path} is added and removed with the same deletion vector")


@_FILES.broken("one-vector-per-path", "A path is live with one deletion vector only.")
def live_paths_are_unique(log: RawLog) -> Iterator[Found]:
    counts = log.live.group_by("path").aggregate([("key", "count"), ("file", "max"), ("line", "max"), ("kind", "max")])
    twice = counts.filter(pc.greater(counts["key_count"], 1))
    yield from in_rows(log, without_max(twice), "{path} is live {key_count} times")


@_FILES.risky("remove-of-unknown", "A remove action names a logical file that was added before.")
def removed_files_were_added(log: RawLog) -> Iterator[Found]:
    timeline = log.timeline
    if timeline.base is not None or not timeline.known:
        return
    removes = timeline.events.filter(pc.equal(timeline.events["kind"], "remove"))
    # A feature that is dropped leaves tombstones of the files of deletion vectors, so that VACUUM keeps them for a while.
    is_vector = pc.match_substring_regex(removes["path"], r"(^|/)deletion_vector_[0-9a-f-]{36}\.bin$")
    removes = removes.filter(pc.invert(is_vector))
    adds = timeline.events.filter(pc.equal(timeline.events["kind"], "add"))
    added = adds.filter(pc.is_in(adds["key"], pc.unique(removes["key"]))).group_by("key").aggregate([("version", "min")])
    at = pc.index_in(removes["key"], added["key"].combine_chunks())
    first_add = pc.take(added["version_min"].combine_chunks(), at.combine_chunks() if isinstance(at, pa.ChunkedArray) else at)
    unknown = pc.fill_null(pc.greater_equal(first_add, removes["version"]), True)
    yield from in_rows(log, removes.filter(unknown), "no earlier version added {path} with this deletion vector")


@_FILES.broken("data-change", "An add with dataChange=false is already in the table, or the version removes files.")
def rearranging_adds_replace_something(log: RawLog) -> Iterator[Found]:
    rows = log.rows
    quiet = rows.filter(pc.and_(pc.equal(rows["kind"], "add"), pc.equal(rows["dataChange"], False)))
    if not quiet.num_rows:
        return
    removing = pc.unique(rows.filter(pc.equal(rows["kind"], "remove"))["version"])
    alone = quiet.filter(pc.invert(pc.is_in(quiet["version"], removing)))
    known = log.timeline.known
    alone = alone.filter(pc.is_in(alone["version"], pa.array(known, pa.int64())))
    adds = rows.filter(pc.equal(rows["kind"], "add"))
    first_add = adds.group_by("path").aggregate([("version", "min")])
    new = pc.take(first_add["version_min"].combine_chunks(), pc.index_in(alone["path"], first_add["path"].combine_chunks()))
    fresh = alone.filter(pc.equal(new, alone["version"]))
    if log.timeline.base is None:
        yield from in_rows(log, fresh, "{path} is new, and the version removes nothing")


@_FILES.risky("extended-metadata", "A remove with extendedFileMetadata has partitionValues and size.")
def extended_removes_are_complete(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        if part.checkpoint is None:
            lacking = pc.or_(pc.is_null(part.removes["partitionValues"]), pc.is_null(part.removes["size"]))
            chosen = part.removes.filter(pc.and_(pc.fill_null(part.removes["extendedFileMetadata"], False), lacking))
            yield from in_rows(log, chosen, "partitionValues or size of {path} is missing")


@_CDC.broken("required", "A cdc action has path, partitionValues, size and dataChange.")
def changes_are_complete(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        for name in ("path", "partitionValues", "size", "dataChange"):
            yield from in_rows(
                log,
                part.changes.filter(pc.is_null(part.changes[name])),
                f"{name} is missing, of {{path}}",
            )


@_CDC.broken("data-change", "A cdc action has dataChange=false.")
def changes_do_not_change_data(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        yield from in_rows(log, part.changes.filter(part.changes["dataChange"]), "{path} has dataChange=true")


@_CDC.odd("folder", "Change data files are in the folder _change_data, or also added as data files.")
def changes_are_in_their_folder(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        if part.changes.num_rows:
            inside = pc.match_substring_regex(part.changes["path"], "(^|/)_change_data/")
            added = pc.is_in(part.changes["path"], part.adds["path"].combine_chunks())
            yield from in_rows(log, part.changes.filter(pc.invert(pc.or_(inside, added))), "the path is {path}")


@_CDC.risky("enabled", "A table with cdc actions has delta.enableChangeDataFeed.")
def changes_need_the_property(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        if part.changes.num_rows and not part.epoch.is_on("delta.enableChangeDataFeed"):
            yield from in_rows(log, part.changes.slice(0, 1), "delta.enableChangeDataFeed is not true")


@_APPEND_ONLY.broken("no-removes", "A version of an append-only table does not remove data.")
def append_only_tables_keep_data(log: RawLog) -> Iterator[Found]:
    for part in log.parts:
        if part.checkpoint is None and part.epoch.is_on("delta.appendOnly") and part.epoch.supports("appendOnly"):
            # The commit that makes the table append-only may still remove data.
            later = pc.greater(part.removes["version"], part.epoch.start)
            chosen = part.removes.filter(pc.and_(later, part.removes["dataChange"]))
            yield from in_rows(log, chosen, "{path} is removed with dataChange=true")
