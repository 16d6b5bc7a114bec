# SPDX-License-Identifier: Apache-2.0
"""The files of the log, and the data files that it no longer needs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.health_report.facts import LogFacts, RemovedFiles
from bayou.log.actions.keys import canonical_paths
from bayou.log.operations.vacuum import VacuumRequest, examined_version, vacuum
from bayou.log.segment.listing import list_versions
from bayou.plan.statistics.members import one_array
from bayou.protocol import properties

if TYPE_CHECKING:
    from bayou.log.segment.commit_times import CommitTimes
    from bayou.log.segment.listing import LogListing
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot

_NEVER: Final = -1


def log_facts(log: LogReader, snapshot: Snapshot) -> LogFacts:
    """Return the sizes and ages of the files of the log. Costs a listing."""
    listing = list_versions(log.store)
    checkpoint = snapshot.segment.checkpoint
    opened = snapshot.source.state().checkpoint
    sidecars = [] if checkpoint is None or opened is None else opened.sidecar_actions()
    own_bytes = 0 if checkpoint is None else sum(each.size for each in checkpoint.files)
    return LogFacts(
        timestamp=snapshot.timestamp,
        oldest_version=min(listing.commits, default=None),
        commits=len(listing.commits),
        bytes=_listed_bytes(listing),
        checkpoint_version=None if checkpoint is None else checkpoint.version,
        checkpoint_time=None if checkpoint is None else checkpoint.files[0].modification_time,
        checkpoint_bytes=own_bytes + sum(each.get("sizeInBytes") or 0 for each in sidecars),
        checkpoint_parts=0 if checkpoint is None else len(checkpoint.files),
        sidecars=len(sidecars),
        commits_since=snapshot.version - (_NEVER if checkpoint is None else checkpoint.version),
        bytes_since=sum(status.size for _, status in snapshot.segment.deltas),
        checkpoint_interval=properties.CHECKPOINT_INTERVAL.read(snapshot.properties),
    )


def removed_files(log: LogReader, snapshot: Snapshot, *, folders: bool) -> RemovedFiles:
    """Return the files that VACUUM deletes now or later.

    Args:
        folders: list the table's folder too, as VACUUM does. It also finds files that no commit names.
    """
    retention = properties.DELETED_FILE_RETENTION_MS.read(snapshot.properties)
    found = _not_needed(log, snapshot)
    is_old = pc.less(pc.fill_null(found["time"], 0), int(time.time() * 1000) - retention)
    expired, kept = found.filter(is_old), found.filter(pc.invert(is_old))
    listed = vacuum(log, VacuumRequest(dry_run=True, is_logged=False)) if folders else None
    return RemovedFiles(
        expired_files=expired.num_rows,
        expired_bytes=_total(expired["size"]),
        kept_files=kept.num_rows,
        kept_bytes=_total(kept["size"]),
        unknown_sizes=found["size"].null_count,
        retention_ms=retention,
        listed_files=None if listed is None else listed.files.num_rows,
        listed_bytes=None if listed is None else listed.size_bytes,
    )


def _not_needed(log: LogReader, snapshot: Snapshot) -> pa.Table:
    """Return path, size and time of each removed file, without those that a VACUUM deleted."""
    removed = snapshot.tombstones()
    paths = one_array(canonical_paths(removed["path"], snapshot.table_uri))
    table = pa.table({"path": paths, "size": removed["size"], "time": removed["deletion_timestamp"]})
    examined = examined_version(log.store, snapshot.version) if table.num_rows else _NEVER
    if examined != _NEVER:
        _, times = log.commit_times(snapshot)
        # The time of a removal is that of its commit, or shortly before.
        table = table.filter(pc.greater(pc.fill_null(table["time"], 0), _time_of(times, examined)))
    if not table.num_rows:
        return table
    # A file that got another deletion vector was removed and added under the same path.
    live = canonical_paths(snapshot.files(["path"])["path"], snapshot.table_uri)
    still = one_array(live.filter(pc.is_in(live, value_set=table["path"].combine_chunks())))
    table = table.filter(pc.invert(pc.is_in(table["path"], value_set=still)))
    return table.group_by("path").aggregate([("size", "max"), ("time", "max")]).rename_columns(["path", "size", "time"])


def _time_of(times: CommitTimes, version: int) -> int:
    try:
        return times.of(version)
    except KeyError:
        return _NEVER


def _listed_bytes(listing: LogListing) -> int:
    groups = (
        listing.commits.values(),
        (file for each in listing.checkpoints for file in each.files),
        (file for each in listing.compacted.values() for _, file in each),
        listing.checksums.values(),
    )
    return sum(file.size for group in groups for file in group)


def _total(sizes: pa.ChunkedArray) -> int:
    return pc.sum(sizes).as_py() or 0
