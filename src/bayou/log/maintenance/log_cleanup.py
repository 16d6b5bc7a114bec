# SPDX-License-Identifier: Apache-2.0
"""Log cleanup: which files of the log have expired, and deleting them.

The log is cut at a checkpoint: everything before it goes, it and everything after it stays, its own commit too. So every
version from the cut on is made from files that stay, and it does not matter for them where a cleanup is interrupted.

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

# The hidden file in which a local store keeps a file until it has its name.
_TEMPORARY: Final = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{32}\.tmp", re.ASCII)

_PROTECTED_BEFORE: Final = properties.TableProperty("delta.requireCheckpointProtectionBeforeVersion", 0, int)

_CHECKPOINTS: Final = frozenset({LogFileKind.CLASSIC_CHECKPOINT, LogFileKind.CHECKPOINT_PART, LogFileKind.V2_CHECKPOINT})


@dataclass(frozen=True, slots=True)
class ExpiredFiles:
    """What a cleanup deletes.

    Attributes:
        files: the files in the order in which they are deleted.
        cutoff_ms: versions that were no longer the latest at this time have expired, in ms since the epoch.
        first_kept: the version of the checkpoint at which the log is cut; None where it is not cut.
        reason: why the log is not cut; empty where it is.
    """

    files: tuple[FileStatus, ...]
    cutoff_ms: int
    first_kept: int | None
    reason: str = ""

    @property
    def size_bytes(self) -> int:
        """The size of the files together."""
        return sum(status.size for status in self.files)


def expired_files(snapshot: Snapshot, *, now_ms: int, retention_ms: int | None = None) -> ExpiredFiles:
    """What a cleanup would delete; nothing is changed.

    That is nothing where delta.enableExpiredLogCleanup is false, or where the table has writer features that bayou does
    not know. The cutoff is midnight UTC of the day that lies delta.logRetentionDuration back. The version that was the latest at
    the cutoff can still be read afterwards, and so can every later one; the log is cut at the newest checkpoint at or
    before that version. A checkpoint is passed over where it cannot be opened, and where file times of the commits after
    it were adjusted because of commits before it: cutting there would move versions in time.

    Lists the log and the folder of sidecars; on tables with in-commit timestamps, reads some commits.

    Args:
        snapshot: the table's latest version, whose properties say what expires.
        retention_ms: how long the log is kept, in ms, for the TRUNCATE HISTORY of DROP FEATURE. Then the cutoff is a full
            minute, and it makes no difference what delta.enableExpiredLogCleanup says.

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
    """Delete what has expired, see `expired_files`.

    Where the newest checkpoint is a V2 one with a name of its own, it first gets a second name, that of a classic checkpoint.

    The order of deletion: compacted files, commits and checksums, checkpoints, sidecars, each from the oldest on. Nothing
    is deleted before what relies on it: a reader that meets the log half-way finds that history begins later, and each
    checkpoint that is still there is whole. A cleanup that was interrupted is finished by the next one.

    Args:
        now_ms: the time, in ms since the epoch; the clock's where None.

    Returns:
        What was deleted.

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
    """Before the first commits go: a checkpoint that clients find who know no V2 checkpoints, and that sends them away."""
    newest = snapshot.segment.checkpoint
    if newest is not None and newest.version >= first_kept:
        with contextlib.suppress(DerivedFileError):
            write_compatible_checkpoint(snapshot, newest)


def _forbidden(snapshot: Snapshot, *, asked: bool) -> str:
    """Why the table's log may not be cleaned up at all; empty where it may."""
    if not asked and not properties.ENABLE_EXPIRED_LOG_CLEANUP.read(snapshot.metadata.configuration):
        return f"{properties.ENABLE_EXPIRED_LOG_CLEANUP.key} is false"
    # Such a feature can be about the log itself, as checkpointProtection is.
    unknown = sorted(writer_features(snapshot.protocol) - FEATURES.keys())
    return f"the table has writer features that bayou does not know: {', '.join(unknown)}" if unknown else ""


def _midnight(timestamp: int) -> int:
    return timestamp - timestamp % _DAY_MS


def _cut(snapshot: Snapshot, listing: LogListing, cutoff: int) -> CheckpointFiles | None:
    """The newest checkpoint that is not newer than the version of the cutoff, and that the log may begin with."""
    store = snapshot.source.store
    ict = InCommitTimestamps.of(snapshot.metadata.configuration)
    at_cutoff = _version_at(CommitTimes(store, listing, ict, snapshot.table_uri), listing, cutoff)
    if at_cutoff is None:
        return None
    # Readers may rely on the checkpoint that `_last_checkpoint` names.
    hint = read_last_checkpoint(store)
    newest = min(at_cutoff, snapshot.version, at_cutoff if hint is None else hint)
    unmoved = _versions_with_own_times(listing, ict)
    for found in listing.checkpoints:
        if found.version <= newest and _first_commit(listing, found.version) in unmoved and _opens(snapshot, found):
            return found
    return None


def _version_at(times: CommitTimes, listing: LogListing, cutoff: int) -> int | None:
    """The version that was the latest one at the cutoff."""
    latest = max(listing.commits, default=None)
    if latest is None:
        return None
    try:
        return latest if times.of(latest) <= cutoff else times.version_at(cutoff)
    except (TimestampOutOfRangeError, FileNotFoundError):  # all commits are newer, or another cleanup is at work
        return None


def _versions_with_own_times(listing: LogListing, ict: InCommitTimestamps) -> set[int | None]:
    """The versions that keep their times, and all later ones with them, when the commits before them are gone; and None."""
    adjusted = adjusted_times(listing)
    return {None} | {
        version for version, time in adjusted.items() if ict.covers(version) or time == listing.commits[version].modification_time
    }


def _first_commit(listing: LogListing, version: int) -> int | None:
    return version if version in listing.commits else min((each for each in listing.commits if each > version), default=None)


def _opens(snapshot: Snapshot, found: CheckpointFiles) -> bool:
    """Whether a checkpoint can stand for the commits before it: all its files are there, and protocol and metadata."""
    checkpoint = Checkpoint(found.files, found.version, snapshot.source.store, snapshot.table_uri)
    try:
        header = checkpoint.header()
        checkpoint.parts()
    except DerivedFileError:
        return False
    return header.protocol is not None and header.metadata is not None


def _protected_before(snapshot: Snapshot) -> int:
    """The version before which history goes all at once or not at all, 0 where there is none.

    Source: the RFC of the feature checkpointProtection.
    """
    if "checkpointProtection" not in writer_features(snapshot.protocol):
        return 0
    return _PROTECTED_BEFORE.read(snapshot.metadata.configuration)


def _before(statuses: Iterable[FileStatus], cut: int) -> list[FileStatus]:
    """The log's files before the cut, in the order of deletion. A compacted file that begins at it is of no use either."""
    found = []
    for status in statuses:
        name = parse_log_file_name(status.name)
        if name is not None and (name.version < cut or (name.kind is LogFileKind.COMPACTED and name.version == cut)):
            step = 0 if name.kind is LogFileKind.COMPACTED else 1 + (name.kind in _CHECKPOINTS)
            found.append((step, name.version, status.name, status))
    return [status for *_, status in sorted(found, key=lambda item: item[:3])]


def _kind(status: FileStatus) -> LogFileKind | None:
    name = parse_log_file_name(status.name)
    return None if name is None else name.kind


def _unreferenced_sidecars(snapshot: Snapshot, listing: LogListing, cut: int, older_than: int) -> list[FileStatus]:
    store = snapshot.source.store
    found = [status for status in list_log(store, f"{SIDECAR_FOLDER}/") if status.modification_time < older_than]
    old = [status for status in found if _is_sidecar(status.name)]
    lost = [status for status in found if _is_sidecar(_name_meant(status))]
    if not old:
        return lost
    kept = [found for found in listing.checkpoints if found.version >= cut]
    try:
        referenced = set(_references(store, snapshot.table_uri, kept))
    except DerivedFileError:  # what it refers to is not known
        return lost
    return [*(status for status in old if status.path not in referenced), *lost]


def _is_sidecar(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith((".", "_"))


def _references(store: LogStore, table: str, checkpoints: Sequence[CheckpointFiles]) -> Iterator[str]:
    for found in checkpoints:
        yield from Checkpoint(found.files, found.version, store, table).sidecars()


def _temporary_files(statuses: Iterable[FileStatus], older_than: int) -> tuple[FileStatus, ...]:
    """What writers that crashed left behind: hidden files named after a file of the log."""
    return tuple(status for status in statuses if status.modification_time < older_than and _is_log_file(_name_meant(status)))


def _is_log_file(name: str) -> bool:
    return parse_log_file_name(name) is not None or f"{LOG_FOLDER}/{name}" == LAST_CHECKPOINT


def _name_meant(status: FileStatus) -> str:
    """The name that a temporary file was going to get; empty for other files."""
    found = _TEMPORARY.fullmatch(status.name)
    return "" if found is None else found["name"]
