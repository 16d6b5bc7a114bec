# SPDX-License-Identifier: Apache-2.0
"""Row Tracking."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from bayou.checks.raw_log import RawLog
from bayou.checks.rule import Found, Section, in_action, in_rows
from bayou.checks.rules.other_actions import domain_value
from bayou.checks.timeline import Part

_TRACKING = Section("Row Tracking", "row-tracking")
SECTIONS = (_TRACKING,)

_FEATURE = "rowTracking"
_ENABLED = "delta.enableRowTracking"
_SUSPENDED = "delta.rowTrackingSuspended"
_NAMES = ("delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName")
_FIELDS = ("baseRowId", "defaultRowCommitVersion")
_DOMAIN = "delta.rowTracking"


def _tracked(log: RawLog) -> Iterator[Part]:
    """Yield the parts whose writers must assign row ids."""
    for part in log.parts:
        if part.epoch.supports(_FEATURE) and not part.epoch.is_on(_SUSPENDED):
            yield part


@_TRACKING.broken("feature", "delta.enableRowTracking is only true if the feature rowTracking is supported.")
def tracking_needs_its_feature(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        if epoch.metadata and epoch.is_on(_ENABLED) and not epoch.supports(_FEATURE):
            yield in_action(epoch.metadata, "writerFeatures lacks rowTracking")


@_TRACKING.risky("suspended", "delta.rowTrackingSuspended and delta.enableRowTracking are not both true.")
def enabled_tracking_is_not_suspended(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        if epoch.metadata and epoch.is_on(_ENABLED) and epoch.is_on(_SUSPENDED):
            yield in_action(epoch.metadata, "both are true")


@_TRACKING.broken("materialized-names", "With row tracking the two materialized columns have names that no column has.")
def materialized_columns_have_names(log: RawLog) -> Iterator[Found]:
    for epoch in log.epochs:
        if not epoch.metadata or not epoch.is_on(_ENABLED) or not epoch.supports(_FEATURE):
            continue
        names = [epoch.configuration.get(each) for each in _NAMES]
        taken = {(each.physical_path if epoch.is_mapped else each.path)[0] for each in epoch.columns}
        for key, name in zip(_NAMES, names, strict=True):
            if not name:
                yield in_action(epoch.metadata, f"{key} is missing")
            elif name in taken or names.count(name) > 1:
                yield in_action(epoch.metadata, f"{key} is {name!r}, which another column has")


@_TRACKING.broken("base-row-id", "With row tracking each add has baseRowId and defaultRowCommitVersion.")
def adds_have_row_ids(log: RawLog) -> Iterator[Found]:
    for part in _tracked(log):
        if part.checkpoint is None or part.epoch.is_on(_ENABLED):
            for name in _FIELDS:
                yield from in_rows(log, part.adds.filter(pc.is_null(part.adds[name])), f"{name} is missing, of {{path}}")


@_TRACKING.broken("enabled-all", "While row tracking is enabled each live file has baseRowId and defaultRowCommitVersion.")
def live_files_have_row_ids(log: RawLog) -> Iterator[Found]:
    if log.latest and log.latest.is_on(_ENABLED) and log.latest.supports(_FEATURE):
        for name in _FIELDS:
            yield from in_rows(log, log.live.filter(pc.is_null(log.live[name])), f"{name} is missing, of {{path}}")


@_TRACKING.broken("commit-version", "defaultRowCommitVersion is the version of the first add of the path, and never a later one.")
def commit_versions_are_first(log: RawLog) -> Iterator[Found]:
    for part in _tracked(log):
        later = pc.greater(part.adds["defaultRowCommitVersion"], part.adds["version"])
        yield from in_rows(log, part.adds.filter(later), "it is {defaultRowCommitVersion} for {path}")
    if log.timeline.base is None and log.timeline.known:
        events = log.timeline.events
        adds = events.filter(pc.equal(events["kind"], "add"))
        first_add = adds.group_by("path").aggregate([("version", "min")])
        at = pc.index_in(adds["path"], first_add["path"].combine_chunks())
        first_version = pc.take(first_add["version_min"].combine_chunks(), at)
        new = pc.and_(pc.equal(adds["version"], first_version), pc.less(adds["defaultRowCommitVersion"], adds["version"]))
        for part in _tracked(log):
            if part.checkpoint is None:
                within = pc.and_(
                    pc.greater_equal(adds["version"], part.epoch.start), pc.less_equal(adds["version"], part.epoch.end)
                )
                yield from in_rows(log, adds.filter(pc.and_(new, within)), "it is {defaultRowCommitVersion} for the new {path}")


@_TRACKING.broken("recommitted", "Later actions of a path keep its baseRowId and defaultRowCommitVersion.")
def recommitted_files_keep_row_ids(log: RawLog) -> Iterator[Found]:
    if not log.timeline.known or not any(_tracked(log)):
        return
    rows = log.timeline.events
    rows = rows.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    rows = rows.sort_by([("path", "ascending"), ("place", "ascending")]).combine_chunks()
    if rows.num_rows < 2:  # noqa: PLR2004  (an action and a later one)
        return
    earlier, later = rows.slice(0, rows.num_rows - 1), rows.slice(1)
    same = pc.and_(pc.equal(earlier["path"], later["path"]), pc.equal(earlier["kind"], "add"))
    for name in _FIELDS:
        odd = pc.and_(same, pc.fill_null(pc.not_equal(earlier[name], later[name]), False))
        yield from in_rows(log, later.filter(odd), f"{name} of {{path}} is {{{name}}}, and another one was committed before")


@_TRACKING.broken("unique-row-ids", "The default row ids of the live files are unique.")
def row_ids_are_unique(log: RawLog) -> Iterator[Found]:
    if not log.latest or not log.latest.supports(_FEATURE):
        return
    live = Part(log.latest, log.live)
    rows = live.adds.append_column("records", pa.chunked_array([live.statistics.records.cast(pa.int64())]))
    rows = (
        rows.filter(pc.and_(pc.is_valid(rows["baseRowId"]), pc.greater(rows["records"], 0))).sort_by("baseRowId").combine_chunks()
    )
    if rows.num_rows > 1:
        ends = pc.add(rows["baseRowId"], rows["records"]).slice(0, rows.num_rows - 1)
        overlap = pc.less(rows["baseRowId"].slice(1), ends)
        yield from in_rows(log, rows.slice(1).filter(overlap), "the ids of {path} start at {baseRowId}, which another file has")


@_TRACKING.broken("high-water-mark", "The domain delta.rowTracking has the highest row id that was assigned.")
def high_water_marks_are_high(log: RawLog) -> Iterator[Found]:
    known = log.timeline.known
    if not known or not log.latest or not log.latest.supports(_FEATURE) or log.latest.metadata is None:
        return
    live = Part(log.latest, log.live)
    ends = pc.add(live.adds["baseRowId"], pc.subtract(pc.fill_null(live.statistics.records.cast(pa.int64()), 1), 1))
    highest = pc.max(ends).as_py()
    for _, heads in log.timeline.heads_at([known[-1]]):
        action = heads.domains.get(_DOMAIN)
        mark = (domain_value(action) or {}).get("rowIdHighWaterMark") if action else None
        if highest is not None and (type(mark) is not int or mark < highest):
            yield in_action(action or log.latest.metadata, f"the mark is {mark!r}, and the highest row id is {highest}")
