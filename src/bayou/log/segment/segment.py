# SPDX-License-Identifier: Apache-2.0
"""Log segments: the files of `_delta_log` that make up the table at a version."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Final

from bayou.errors import DeltaError, failed, sample
from bayou.log.segment.listing import CheckpointFiles, LogListing, list_versions, read_last_checkpoint
from bayou.protocol.actions.file_names import commit_path
from bayou.storage.store import FileStatus, LogStore

_MOST_MISSING: Final = 100


@dataclass(frozen=True, slots=True)
class LogSegment:
    """The files that a snapshot is built from.

    Guarantees: commits and compacted files cover every version after the checkpoint (or from 0) to `version`, once.

    Attributes:
        checkpoint: where replay starts; None for the first commit.
        deltas: commits and compacted files in the order of their versions.
        last_commit: the commit of `version`; None if only its checkpoint exists.
        checksum: the checksum file of `version`, or None.
    """

    version: int
    checkpoint: CheckpointFiles | None
    deltas: tuple[tuple[int, FileStatus], ...]
    last_commit: FileStatus | None
    checksum: FileStatus | None

    @property
    def files(self) -> tuple[FileStatus, ...]:
        """All files of the segment, the checkpoint first."""
        start = self.checkpoint.files if self.checkpoint else ()
        return (*start, *(status for _, status in self.deltas))


def find_segment(
    store: LogStore,
    table: str,
    version: int | None = None,
    *,
    unreadable: frozenset[str] = frozenset(),
) -> LogSegment:
    """Return the files of a version, or of the latest one.

    `_last_checkpoint` only states where the listing begins. If no segment is found from there, the whole log is listed.

    Args:
        unreadable: checkpoints (by their first file) and compacted files that could not be read.

    Raises:
        TableNotFoundError: there is neither a commit nor a checkpoint.
        VersionNotFoundError: the version is after the latest, or its log is gone.
        VersionGapError: commits are missing.
    """
    hint = read_last_checkpoint(store)
    if hint and (version is None or hint <= version):
        listing = list_versions(store, hint)
        segment = _segment_of(listing, version, unreadable)
        if segment is not None and segment.checkpoint is not None:
            return segment
    listing = list_versions(store)
    if listing.is_empty:
        raise failed("DELTA_TABLE_NOT_FOUND", table=table)
    segment = _segment_of(listing, version, unreadable)
    if segment is None:
        raise _why_not(listing, table, version, unreadable)
    return segment


def extend_segment(segment: LogSegment, listing: LogListing) -> LogSegment | None:
    """Return the segment of the latest version in a listing that begins at the segment's version.

    Return the same segment if there is nothing new, and None if the listing does not continue it, so that the whole log is needed.
    """
    known = segment.last_commit
    if known is None or listing.commits.get(segment.version) != known:
        return None
    latest = listing.latest
    if latest is None or latest < segment.version:
        return None
    if latest == segment.version:
        return segment
    deltas = sorted(_commits_between(listing, segment.version + 1, latest))
    if len(deltas) != latest - segment.version:
        return None
    return LogSegment(
        latest,
        segment.checkpoint,
        (*segment.deltas, *((version, listing.commits[version]) for version in deltas)),
        listing.commits.get(latest),
        listing.checksums.get(latest),
    )


def earliest_version(listing: LogListing, last: int | None = None) -> int | None:
    """Return the first version from which all versions up to a last one (default: the latest) can be reconstructed, or None."""
    end = listing.latest if last is None else last
    if end is None:
        return None
    checkpoints = {found.version for found in listing.checkpoints if found.version <= end}
    first = _start_of_run(listing.commits.keys() | checkpoints, end)
    return 0 if first == 0 else min((version for version in checkpoints if version >= first), default=None)


def newest_recreatable(listing: LogListing, *, before: int) -> int | None:
    """Return the newest version before another one that, by the file names, can be reconstructed, or None."""
    present = listing.commits.keys() | {found.version for found in listing.checkpoints}
    while (found := max((version for version in present if version < before), default=None)) is not None:
        if earliest_version(listing, found) is not None:
            return found
        before = _start_of_run(present, found)
    return None


def _start_of_run(present: AbstractSet[int], end: int) -> int:
    """Return the first of the consecutive versions up to the end."""
    first = end + 1
    while first - 1 in present:
        first -= 1
    return first


def _segment_of(listing: LogListing, version: int | None, unreadable: frozenset[str]) -> LogSegment | None:
    """Return the segment of a version, or of the latest one, from the first checkpoint of the listing that makes one possible.

    Replay from the first commit is the last resort. Return None if the listing does not have the version.
    """
    latest = listing.latest
    if latest is None:
        return None
    wanted = latest if version is None else version
    if wanted > latest or wanted < 0:
        return None
    for checkpoint in listing.checkpoints:
        if checkpoint.version <= wanted and checkpoint.files[0].path not in unreadable:
            segment = _starting_at(listing, checkpoint, wanted, unreadable)
            if segment is not None:
                return segment
    return _starting_at(listing, None, wanted, unreadable)


def _starting_at(
    listing: LogListing, checkpoint: CheckpointFiles | None, wanted: int, unreadable: frozenset[str]
) -> LogSegment | None:
    """Return the segment from a checkpoint, or from the first commit, to a version. Return None if a commit is missing."""
    first = checkpoint.version + 1 if checkpoint else 0
    if len(_commits_between(listing, first, wanted)) != wanted + 1 - first:
        return None
    if checkpoint is None and wanted not in listing.commits:
        return None
    deltas = tuple(_shortest_cover(listing, first, wanted, unreadable))
    return LogSegment(wanted, checkpoint, deltas, listing.commits.get(wanted), listing.checksums.get(wanted))


def _commits_between(listing: LogListing, first: int, last: int) -> list[int]:
    """Return the versions of a range that have a commit, at the cost of the listing: a file name may state any version."""
    return [version for version in listing.commits if first <= version <= last]


def _shortest_cover(listing: LogListing, first: int, last: int, unreadable: frozenset[str]) -> Iterator[tuple[int, FileStatus]]:
    """Yield commits and, in the place of several commits, the longest compacted files."""
    version = first
    while version <= last:
        known = listing.compacted.get(version, ())
        fitting = [found for found in known if found[0] <= last and found[1].path not in unreadable]
        end, status = max(fitting, key=lambda found: found[0], default=(version, listing.commits[version]))
        yield end, status
        version = end + 1


def _why_not(listing: LogListing, table: str, version: int | None, unreadable: frozenset[str]) -> DeltaError:
    """Return the error for a version without a segment: the log does not reach it, or a commit that it needs is missing."""
    latest = listing.latest
    earliest = earliest_version(listing)
    if version is not None and latest is not None and (version > latest or version < 0):
        return version_not_found(table, version, earliest, latest)
    if version is not None and earliest is not None and version < earliest:
        return version_not_found(table, version, earliest, latest)
    return _gap(listing, table, latest if version is None else version, unreadable)


def version_not_found(table: str, version: int, earliest: int | None, latest: int | None) -> DeltaError:
    """Return the error for a version that cannot be read; its message has the range of readable versions."""
    if version < 0:
        why = "versions count from 0"
    elif latest is not None and version > latest:
        why = f"the latest version is {latest}"
    elif earliest is not None and version >= earliest:
        why = "its commit is not in the log"
    else:
        why = "the log that led to it has been cleaned up"
    return failed(
        "DELTA_VERSION_NOT_FOUND" if earliest is not None and latest is not None else "DELTA_VERSION_NOT_FOUND/empty-log",
        table=table,
        version=version,
        why=why,
        earliest=earliest,
        latest=latest,
    )


def _gap(listing: LogListing, table: str, wanted: int | None, unreadable: frozenset[str]) -> DeltaError:
    last = -1 if wanted is None else wanted
    usable = [found.version for found in listing.checkpoints if found.version <= last and found.files[0].path not in unreadable]
    first = max(usable, default=-1) + 1
    num_missing = last + 1 - first - len(_commits_between(listing, first, last))
    missing = tuple(islice(_missing(listing, first, last), _MOST_MISSING))
    notes = [f"the checkpoint of version {version} lacks a part" for version in listing.incomplete]
    notes += [f"{path} cannot be read" for path in sorted(unreadable)]
    problem = "holds no commit and no complete checkpoint"
    if missing:
        shown = sample(missing, total=num_missing)
        problem = f"is not contiguous: no commit for version {shown}, and no checkpoint that makes up for it"
    return failed(
        "DELTA_VERSIONS_NOT_CONTIGUOUS",
        table=table,
        version=wanted,
        file=commit_path(missing[0]) if missing else None,
        problem=f"{problem} ({sample(notes, '; ')})" if notes else problem,
        missing=missing,
    )


def _missing(listing: LogListing, first: int, last: int) -> Iterator[int]:
    """Yield the versions of a range without a commit. The cost does not depend on the width of the gaps."""
    edges = [first - 1, *sorted(_commits_between(listing, first, last)), last + 1]
    return chain.from_iterable(range(before + 1, after) for before, after in pairwise(edges))
