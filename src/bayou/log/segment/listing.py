# SPDX-License-Identifier: Apache-2.0
"""The files of a `_delta_log` listing, sorted by kind."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from bayou.errors import StorageError
from bayou.protocol.actions.file_names import LAST_CHECKPOINT, LogFileKind, LogFileName, parse_log_file_name, version_prefix
from bayou.storage.store import FileStatus, LogStore


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    """A complete checkpoint by its file names: one file, or all the parts.

    Checkpoints are ordered by preference: a later version first, then V2, then multi-part with more parts, then classic.
    """

    version: int
    rank: int
    parts: int
    files: tuple[FileStatus, ...]

    @property
    def preference(self) -> tuple[int, int, int, str]:
        """The sort key; higher is better."""
        return (self.version, self.rank, self.parts, self.files[0].path)


@dataclass(frozen=True, slots=True)
class LogListing:
    """The files of a log from some version on.

    Attributes:
        checkpoints: the complete checkpoints, best first.
        compacted: the log compaction files by first version, with the last version of each.
        incomplete: the versions of multi-part checkpoints that lack a part.
    """

    commits: dict[int, FileStatus] = field(default_factory=dict)
    checkpoints: tuple[CheckpointFiles, ...] = ()
    compacted: dict[int, list[tuple[int, FileStatus]]] = field(default_factory=dict)
    checksums: dict[int, FileStatus] = field(default_factory=dict)
    incomplete: tuple[int, ...] = ()

    @property
    def latest(self) -> int | None:
        """The last version with a commit or a checkpoint; None if there is neither."""
        versions = [*self.commits, *(found.version for found in self.checkpoints)]
        return max(versions, default=None)

    def up_to(self, version: int) -> LogListing:
        """Return the listing without the commits, checkpoints and checksums of later versions."""
        return LogListing(
            {each: status for each, status in self.commits.items() if each <= version},
            tuple(found for found in self.checkpoints if found.version <= version),
            self.compacted,
            {each: status for each, status in self.checksums.items() if each <= version},
            tuple(each for each in self.incomplete if each <= version),
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a commit nor a checkpoint, complete or not."""
        return not self.commits and not self.checkpoints and not self.incomplete


_RANK: Final = {
    LogFileKind.CLASSIC_CHECKPOINT: 0,
    LogFileKind.CHECKPOINT_PART: 1,
    LogFileKind.V2_CHECKPOINT: 2,
}


def sort_listing(statuses: Iterable[FileStatus]) -> LogListing:
    """Sort a listing by kind, leaving out unknown files and empty checkpoints."""
    listing = LogListing()
    whole: list[CheckpointFiles] = []
    parts: dict[tuple[int, int], dict[int, FileStatus]] = defaultdict(dict)
    for status in statuses:
        found = parse_log_file_name(status.name)
        if found is None:
            continue
        match found.kind:
            case LogFileKind.COMMIT:
                listing.commits[found.version] = status
            case LogFileKind.CHECKSUM:
                listing.checksums[found.version] = status
            case LogFileKind.COMPACTED:
                _add_compacted(listing, found, status)
            case LogFileKind.CHECKPOINT_PART:
                if status.size and found.part and found.parts:
                    parts[found.version, found.parts][found.part] = status
            case kind:
                if status.size:
                    whole.append(CheckpointFiles(found.version, _RANK[kind], 1, (status,)))
    # Parts are numbered from one, so a multi-part checkpoint is complete if it has as many parts as their names state.
    complete = {key: files for key, files in parts.items() if len(files) == key[1] and max(files) == key[1]}
    whole += [_multi_part(version, files) for (version, _), files in complete.items()]
    best_first = tuple(sorted(whole, key=lambda found: found.preference, reverse=True))
    incomplete = tuple(sorted(version for version, count in parts if (version, count) not in complete))
    return LogListing(listing.commits, best_first, listing.compacted, listing.checksums, incomplete)


def _multi_part(version: int, files: Mapping[int, FileStatus]) -> CheckpointFiles:
    ordered = tuple(files[part] for part in sorted(files))
    return CheckpointFiles(version, _RANK[LogFileKind.CHECKPOINT_PART], len(ordered), ordered)


def _add_compacted(listing: LogListing, found: LogFileName, status: FileStatus) -> None:
    if found.end_version is not None and found.end_version > found.version and status.size:
        listing.compacted.setdefault(found.version, []).append((found.end_version, status))


def read_last_checkpoint(store: LogStore) -> int | None:
    """Return the version that `_last_checkpoint` names; None if the file, which is only a hint, cannot be read."""
    try:
        document = json.loads(store.read(LAST_CHECKPOINT))
    except (OSError, StorageError, ValueError, RecursionError):
        return None
    version = document.get("version") if isinstance(document, dict) else None
    return version if type(version) is int and version >= 0 else None


def list_log(store: LogStore, path: str) -> Iterator[FileStatus]:
    """List the log from a path on; yield nothing if the folder does not exist."""
    try:
        yield from store.list_from(path)
    except FileNotFoundError:
        return


def list_versions(store: LogStore, first: int = 0) -> LogListing:
    """List the versions of the log, from one of them on.

    The listing ends where the names of versions end: on an object store, listing later names would cost further requests.
    """
    return sort_listing(takewhile(lambda status: status.name[:1] <= "9", list_log(store, version_prefix(first))))
