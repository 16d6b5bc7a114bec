# SPDX-License-Identifier: Apache-2.0
"""Post-commit hooks, in order. The commit is final even if a hook fails."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bayou.errors import failed, reason
from bayou.log import events
from bayou.log.actions.action_files import ActionFile
from bayou.log.actions.commit_info import COUNTABLE_TAG, MAY_DO_ANYTHING
from bayou.protocol import properties
from bayou.protocol.actions.file_names import checksum_path, commit_path

if TYPE_CHECKING:
    from bayou.log.checkpoint.writer import WrittenCheckpoint
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.staged import StagedActions
    from bayou.protocol.actions.actions import Metadata

_MOST_STEPS: Final = 30
"""The most versions between the last checksum and a commit."""


@dataclass(frozen=True, slots=True)
class CommittedVersion:
    """A version that was just committed.

    Attributes:
        log: the table's log.
        version: the version.
        staged: its actions.
        commit_info: its provenance.
        configuration: the table's properties.
        before: the table's metadata before the commit; None if it created the table.
    """

    log: LogReader
    version: int
    staged: StagedActions
    commit_info: Mapping[str, Any]
    configuration: Mapping[str, str]
    before: Metadata | None = None

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether a checkpoint is due, by `delta.checkpointInterval`."""
        interval = properties.CHECKPOINT_INTERVAL.read(self.configuration)
        return self.version > 0 and interval > 0 and self.version % interval == 0

    def snapshot(self) -> Snapshot:
        """The table at that version."""
        return self.log.snapshot(version=self.version)


Hook: TypeAlias = Callable[[CommittedVersion], object]


def write_version_checksum(committed: CommittedVersion) -> None:
    """Write the checksum of the version, computed from the previous one. Without one it is skipped, to avoid loading the state.

    If a checkpoint is due, the state is loaded anyway, and the checksum is computed from it.
    """
    from bayou.log.checksum.state import MOST_FILES  # noqa: PLC0415  (readers of a log need none)
    from bayou.log.checksum.writer import next_checksum, write_checksum  # noqa: PLC0415

    if committed.is_checkpoint_due:
        return
    log, document, staged = committed.log, None, committed.staged
    added, removed = (None if each is None else each.files for each in (staged.added_files, staged.removed_files))
    if max(0 if each is None else each.num_rows for each in (added, removed)) > MOST_FILES:
        # The checksum lists no files, so that no object per file is needed.
        staged = replace(staged, added_files=None, removed_files=None)
    else:
        added = removed = None
    if committed.commit_info.get("operation") not in MAY_DO_ANYTHING:
        document, commits = _since_last_checksum(committed, staged)
        for version, actions in commits:
            info, is_own = actions[0].get("commitInfo", {}), version == committed.version
            document = next_checksum(
                document,
                actions,
                version=version,
                txn_id=info.get("txnId"),
                in_commit_timestamp=info.get("inCommitTimestamp"),
                table=log.table_uri,
                countable=_is_countable(info),
                more_added=added if is_own else None,
                more_removed=removed if is_own else None,
            )
    if document is None:
        log.note_end_of_checksums(committed.version)
    else:
        _put_checksum(write_checksum, log, committed.version, document)


def _is_countable(info: Mapping[str, Any]) -> bool:
    tags = info.get("tags")
    return isinstance(tags, dict) and tags.get(COUNTABLE_TAG) == "true"


def _since_last_checksum(
    committed: CommittedVersion, staged: StagedActions
) -> tuple[Mapping[str, Any] | None, list[tuple[int, list[dict[str, Any]]]]]:
    """Return the last checksum before a commit, and the commits since then. The checksum is None if they start at version 0.

    The list of commits is empty if the checksum of this commit cannot be derived from an earlier one.

    Concurrent writers reach their checksums in any order. Only commits of bayou are used: others may add files that are already
    live. The log caches where the checksums end, so that later commits do not search for them again.
    """
    log = committed.log
    own: list[dict[str, Any]] = [{"commitInfo": dict(committed.commit_info)}, *staged.documents()]
    found: list[tuple[int, list[dict[str, Any]]]] = [(committed.version, own)]
    for version in range(committed.version - 1, committed.version - _MOST_STEPS, -1):
        if version < 0:
            return None, found[::-1]
        if version <= log.end_of_checksums:
            return None, []
        document = log.last_checksum(version) or _checksum(log, version)
        if document is not None:
            return document, found[::-1]
        actions = _own_commit(log, version)
        if actions is None:
            return None, []
        found.append((version, actions))
    return None, []


def _own_commit(log: LogReader, version: int) -> list[dict[str, Any]] | None:
    """Return the actions of a commit of bayou, `commitInfo` first. None, after reading one line, if no checksum follows from it."""
    path = commit_path(version)
    try:
        file = log.store.open(path)
    except FileNotFoundError:  # cleaned up
        return None
    with file:
        line = file.readline()
        info = ActionFile(line, table=log.table_uri, path=path, version=version).commit_info()
        if info is None or "bayou" not in str(info.raw.get("engineInfo")) or info.operation in MAY_DO_ANYTHING:
            return None
        rest = file.read()
    actions = ActionFile(rest, table=log.table_uri, path=path, version=version).actions() if rest.strip() else []
    return [{"commitInfo": dict(info.raw)}, *(each for each in actions if "commitInfo" not in each)]


def write_manifests(committed: CommittedVersion) -> None:
    """Write manifests for the partitions of the commit if `delta.compatibility.symlinkFormatManifest.enabled` is set."""
    from bayou.log.maintenance.manifests import follow_commit  # noqa: PLC0415  (most tables have none)

    if properties.SYMLINK_MANIFEST.read(committed.configuration):
        follow_commit(committed.log, committed.staged, committed.before)


def write_due_checkpoint(committed: CommittedVersion) -> None:
    """Write a checkpoint every `delta.checkpointInterval` commits, and the version's checksum from the loaded state."""
    from bayou.log.checksum.writer import checksum_of, write_checksum  # noqa: PLC0415  (most commits need none)

    if not committed.is_checkpoint_due:
        return
    snapshot = committed.snapshot()
    with contextlib.ExitStack() as stack:
        # The file list was loaded for this. A process that only appends does not need it again.
        stack.callback(committed.log.forget)
        stack.callback(checkpoint, snapshot)  # even if the checksum fails
        document = checksum_of(snapshot, txn_id=committed.commit_info["txnId"])
        _put_checksum(write_checksum, committed.log, committed.version, document)


def clean_up_log(committed: CommittedVersion) -> None:
    """Delete expired log files after a checkpoint, unless `delta.enableExpiredLogCleanup` is false."""
    from bayou.log.maintenance.log_cleanup import clean_up  # noqa: PLC0415  (most commits need none)

    if not committed.is_checkpoint_due:
        return
    if not properties.ENABLE_EXPIRED_LOG_CLEANUP.read(committed.configuration):
        return
    snapshot = committed.log.update()
    started = time.monotonic()
    found = clean_up(snapshot)
    if found.files:
        events.emit(
            events.LogCleanupEvent(
                table=committed.log.table_uri,
                version=snapshot.version if found.first_kept is None else found.first_kept,
                num_deleted=len(found.files),
                size_bytes=found.size_bytes,
                duration_seconds=time.monotonic() - started,
            )
        )


_HOOKS: Final[dict[str, Hook]] = {
    "checksum": write_version_checksum,
    "manifests": write_manifests,
    "checkpoint": write_due_checkpoint,
    "cleanup": clean_up_log,
}


def run_hooks(committed: CommittedVersion, hooks: Mapping[str, Hook] = _HOOKS) -> None:
    """Run the hooks in order. If one fails, emit an event and continue.

    Args:
        hooks: the hooks, by the names that the events show.

    Raises:
        StorageError: the manifests could not be written. Their readers would not notice that they are out of date.
    """
    stale: Exception | None = None
    for name, hook in hooks.items():
        started = time.monotonic()
        try:
            hook(committed)
        except Exception as error:  # noqa: BLE001  (the commit stands, and its writer must hear so)
            stale = error if hook is write_manifests else stale
            events.emit(
                events.HookFailedEvent(
                    table=committed.log.table_uri,
                    version=committed.version,
                    hook=name,
                    error=f"{type(error).__name__}: {error}",
                    duration_seconds=time.monotonic() - started,
                )
            )
    if stale is not None:
        raise failed(
            "DELTA_POST_COMMIT_HOOK_FAILED",
            table=committed.log.table_uri,
            version=committed.version,
            reason=reason(stale),
            outcome="committed",
            txn_id=committed.commit_info.get("txnId"),
        ) from stale


def checkpoint(snapshot: Snapshot, *, part_size: int | None = None) -> WrittenCheckpoint:
    """Write a snapshot's checkpoint and emit an event."""
    from bayou.log.checkpoint.writer import write_checkpoint  # noqa: PLC0415  (readers of a log need none)

    started = time.monotonic()
    written = write_checkpoint(snapshot, part_size=part_size)
    events.emit(
        events.CheckpointEvent(
            table=snapshot.table_uri,
            version=written.version,
            kind="multipart" if part_size is not None else ("classic" if len(written.files) == 1 else "v2"),
            num_actions=written.size,
            num_parts=len(written.files),
            size_bytes=written.size_in_bytes,
            duration_seconds=time.monotonic() - started,
        )
    )
    return written


def _checksum(log: LogReader, version: int) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] = json.loads(log.store.read(checksum_path(version)))
    except FileNotFoundError:
        return None
    return found


def _put_checksum(
    write: Callable[[Any, str, int, Mapping[str, Any]], bool], log: LogReader, version: int, document: Mapping[str, Any]
) -> None:
    started = time.monotonic()
    if write(log.store, log.table_uri, version, document):
        log.note_checksum(version, document)
        seconds = time.monotonic() - started
        events.emit(events.ChecksumEvent(table=log.table_uri, version=version, duration_seconds=seconds))
