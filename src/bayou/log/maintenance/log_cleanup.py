# SPDX-License-Identifier: Apache-2.0
"""Log cleanup: find the expired files of the log and delete them.

The log is cut at a checkpoint. Everything before the checkpoint is deleted; the checkpoint, its own commit and everything later
stay. The versions from the cut on need no deleted file, so a cleanup may be interrupted at any point.

Source: PROTOCOL.md, "Metadata Cleanup"; delta-spark, MetadataCleanup.scala.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.errors import TimestampOutOfRangeError
from bayou.log.actions.action_files import DerivedFileError
from bayou.log.checkpoint.classic_name import write_compatible_checkpoint
from bayou.log.segment.commit_times import CommitTimes, InCommitTimestamps, adjusted_times
from bayou.log.segment.listing import CheckpointFiles, LogListing, list_log, read_last_checkpoint, sort_listing
from bayou.log.snapshot.checkpoint_reader import Checkpoint
from bayou.protocol import properties
from bayou.protocol.actions.file_names import LAST_CHECKPOINT, LOG_FOLDER, SIDECAR_FOLDER, LogFileKind, parse_log_file_name
from bayou.protocol.features.features import FEATURES, writer_features
from bayou.storage.store import FileStatus, LogStore

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot

_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 86_400_000

# The hidden file that a local store writes before it renames it.
_TEMPORARY: Final = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{32}\.tmp", re.ASCII)

_PROTECTED_BEFORE: Final = properties.TableProperty("delta.requireCheckpointProtectionBeforeVersion", 0, int)

_CHECKPOINTS: Final = frozenset({LogFileKind.CLASSIC_CHECKPOINT, LogFileKind.CHECKPOINT_PART, LogFileKind.V2_CHECKPOINT})


@dataclass(frozen=True, slots=True)
class ExpiredFiles:
    """The files that a cleanup deletes.

    Attributes:
        files: the files in the order of their deletion.
        cutoff_ms: versions that were no longer the latest at this time have expired, in ms since the epoch.
        first_kept: the version of the checkpoint at which the log is cut; None if it is not cut.
        reason: why the log is not cut; empty if it is.
    """

    files: tuple[FileStatus, ...]
    cutoff_ms: int
    first_kept: int | None
    reason: str = ""

    @property
    def size_bytes(self) -> int:
        """The total size of the files."""
        return sum(status.size for status in self.files)


def expired_files(snapshot: Snapshot, *, now_ms: int, retention_ms: int | None = None) -> ExpiredFiles:
    """Return the files that a cleanup would delete.

    Empty if delta.enableExpiredLogCleanup is false, or if the table has writer features unknown to bayou. The cutoff is
    midnight UTC, delta.logRetentionDuration ago. The version that was the latest at the cutoff stays readable, as do all later
    ones: the log is cut at the newest checkpoint at or before that version. It skips checkpoints that cannot be opened, and those
    followed by commits whose times were adjusted because of earlier commits: a cut there would change the times of versions.

    Lists the log and the folder of sidecars; on tables with in-commit timestamps, reads some commits.

    Args:
        snapshot: the table's latest version, whose properties define what expires.
        retention_ms: how long TRUNCATE HISTORY of DROP FEATURE keeps the log, in ms. The cutoff is then a full minute, and
            delta.enableExpiredLogCleanup is ignored.

    Raises:
        CorruptLogError: a commit lacks the timestamp that the table's properties promise.
    """
    configuration = snapshot.metadata.configuration
    if retention_ms is None:
        cutoff = _midnight(now_ms - properties.LOG_RETENTION_MS.read(configuration))
    else:
        cutoff = (now_ms - retention_ms) // _MINUTE_MS * _MINUTE_MS
    forbidden = _forbidden(snapshot, asked=retention_ms is not None)
    if forbidden:
        return ExpiredFiles((), cutoff, None, forbidden)
    store = snapshot.source.store
    statuses = list(list_log(store, f"{LOG_FOLDER}/"))
    listing = sort_listing(statuses)
    temporaries = _temporary_files(statuses, min(cutoff, now_ms - _DAY_MS))
    cut = _cut(snapshot, listing, cutoff)
    if cut is None:
        return ExpiredFiles(temporaries, cutoff, None, "no checkpoint is old enough")
    protected = _protected_before(snapshot)
    if cut.version < protected:
        reason = f"versions before {protected} may only be cleaned up all at once"
        return ExpiredFiles(temporaries, cutoff, None, reason)
    expired = _before(statuses, cut.version)
    sidecars: Sequence[FileStatus] = ()
    if any(_kind(status) in _CHECKPOINTS for status in expired):
        # Sidecars of a checkpoint that is being written are not referenced yet.
        sidecars = _unreferenced_sidecars(snapshot, listing, cut.version, min(cutoff, _midnight(now_ms) - _DAY_MS))
    return ExpiredFiles((*expired, *sidecars, *temporaries), cutoff, cut.version)


def clean_up(snapshot: Snapshot, *, now_ms: int | None = None, retention_ms: int | None = None) -> ExpiredFiles:
    """Delete the expired files and return them; see `expired_files`.

    If the newest checkpoint is a V2 one with a UUID in its name, it first gets a copy under a classic name.

    Compacted files are deleted first, then commits and checksums, then checkpoints, then sidecars, the oldest of each first.
    Nothing is deleted before what relies on it: a concurrent reader finds that the history begins later, and every remaining
    checkpoint is complete. The next cleanup finishes an interrupted one.

    Raises:
        StorageError: the store failed; some files are deleted.
    """
    found = expired_files(snapshot, now_ms=int(time.time() * 1000) if now_ms is None else now_ms, retention_ms=retention_ms)
    if found.first_kept is not None and found.files:
        _keep_for_old_clients(snapshot, found.first_kept)
    for status in found.files:
        snapshot.source.store.delete(status.path)
    return found


def _keep_for_old_clients(snapshot: Snapshot, first_kept: int) -> None:
    """Write a classic checkpoint before the first commits go: clients without V2 checkpoints find it and refuse the table."""
    newest = snapshot.segment.checkpoint
    if newest is not None and newest.version >= first_kept:
        with contextlib.suppress(DerivedFileError):
            write_compatible_checkpoint(snapshot, newest)


def _forbidden(snapshot: Snapshot, *, asked: bool) -> str:
    """Return why the table's log must not be cleaned up; empty if it may."""
    if not asked and not properties.ENABLE_EXPIRED_LOG_CLEANUP.read(snapshot.metadata.configuration):
        return f"{properties.ENABLE_EXPIRED_LOG_CLEANUP.key} is false"
    # An unknown feature may be about the log itself, as checkpointProtection is.
    unknown = sorted(writer_features(snapshot.protocol) - FEATURES.keys())
    return f"the table has writer features that bayou does not know: {', '.join(unknown)}" if unknown else ""


def _midnight(timestamp: int) -> int:
    return timestamp - timestamp % _DAY_MS


def _cut(snapshot: Snapshot, listing: LogListing, cutoff: int) -> CheckpointFiles | None:
    """Return the newest checkpoint at or before the version of the cutoff at which the log may begin."""
    store = snapshot.source.store
    ict = InCommitTimestamps.of(snapshot.metadata.configuration)
    at_cutoff = _version_at(CommitTimes(store, listing, ict, snapshot.table_uri), listing, cutoff)
    if at_cutoff is None:
        return None
    # Readers may rely on the checkpoint that `_last_checkpoint` names.
    hint = read_last_checkpoint(store)
    newest = min(at_cutoff, snapshot.version, at_cutoff if hint is None else hint)
    with_own_times = _versions_with_own_times(listing, ict)
    for found in listing.checkpoints:
        if found.version <= newest and _first_commit(listing, found.version) in with_own_times and _opens(snapshot, found):
            return found
    return None


def _version_at(times: CommitTimes, listing: LogListing, cutoff: int) -> int | None:
    """Return the version that was the latest at the cutoff."""
    latest = max(listing.commits, default=None)
    if latest is None:
        return None
    try:
        return latest if times.of(latest) <= cutoff else times.version_at(cutoff)
    except (TimestampOutOfRangeError, FileNotFoundError):  # all commits are newer, or a cleanup runs concurrently
        return None


def _versions_with_own_times(listing: LogListing, ict: InCommitTimestamps) -> set[int | None]:
    """Return the versions that, with all later ones, keep their times when earlier commits are deleted; and None."""
    adjusted = adjusted_times(listing)
    return {None} | {
        version for version, time in adjusted.items() if ict.covers(version) or time == listing.commits[version].modification_time
    }


def _first_commit(listing: LogListing, version: int) -> int | None:
    """Return the first version from a version on that has a commit, or None."""
    return version if version in listing.commits else min((each for each in listing.commits if each > version), default=None)


def _opens(snapshot: Snapshot, found: CheckpointFiles) -> bool:
    """Return whether a checkpoint can replace the commits before it: it is complete and has a protocol and metadata."""
    checkpoint = Checkpoint(found.files, found.version, snapshot.source.store, snapshot.table_uri)
    try:
        header = checkpoint.header()
        checkpoint.parts()
    except DerivedFileError:
        return False
    return header.protocol is not None and header.metadata is not None


def _protected_before(snapshot: Snapshot) -> int:
    """Return the version before which history is deleted as a whole or not at all, or 0.

    Source: the RFC of the feature checkpointProtection.
    """
    if "checkpointProtection" not in writer_features(snapshot.protocol):
        return 0
    return _PROTECTED_BEFORE.read(snapshot.metadata.configuration)


def _before(statuses: Iterable[FileStatus], cut: int) -> list[FileStatus]:
    """Return the log's files before the cut, and the compacted files that begin at it, in the order that `clean_up` states.

    A compacted file that begins at the cut repeats the checkpoint's own commit, so no later version needs it.
    """
    found = []
    for status in statuses:
        name = parse_log_file_name(status.name)
        if name is not None and (name.version < cut or (name.kind is LogFileKind.COMPACTED and name.version == cut)):
            order = 0 if name.kind is LogFileKind.COMPACTED else 2 if name.kind in _CHECKPOINTS else 1
            found.append((order, name.version, status.name, status))
    return [status for *_, status in sorted(found, key=lambda item: item[:3])]


def _kind(status: FileStatus) -> LogFileKind | None:
    name = parse_log_file_name(status.name)
    return None if name is None else name.kind


def _unreferenced_sidecars(snapshot: Snapshot, listing: LogListing, cut: int, older_than: int) -> list[FileStatus]:
    store = snapshot.source.store
    found = [status for status in list_log(store, f"{SIDECAR_FOLDER}/") if status.modification_time < older_than]
    old = [status for status in found if _is_sidecar(status.name)]
    leftover = [status for status in found if _is_sidecar(_final_name(status))]
    if not old:
        return leftover
    kept = [found for found in listing.checkpoints if found.version >= cut]
    try:
        referenced = set(_references(store, snapshot.table_uri, kept))
    except DerivedFileError:  # its references are unknown
        return leftover
    return [*(status for status in old if status.path not in referenced), *leftover]


def _is_sidecar(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith((".", "_"))


def _references(store: LogStore, table: str, checkpoints: Sequence[CheckpointFiles]) -> Iterator[str]:
    for found in checkpoints:
        yield from Checkpoint(found.files, found.version, store, table).sidecars()


def _temporary_files(statuses: Iterable[FileStatus], older_than: int) -> tuple[FileStatus, ...]:
    """Return the hidden files that crashed writers left, named after a file of the log."""
    return tuple(status for status in statuses if status.modification_time < older_than and _is_log_file(_final_name(status)))


def _is_log_file(name: str) -> bool:
    return parse_log_file_name(name) is not None or f"{LOG_FOLDER}/{name}" == LAST_CHECKPOINT


def _final_name(status: FileStatus) -> str:
    """Return the final name of a temporary file; empty for other files."""
    found = _TEMPORARY.fullmatch(status.name)
    return "" if found is None else found["name"]
