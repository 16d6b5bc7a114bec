# SPDX-License-Identifier: Apache-2.0
"""The log segment of a snapshot: the log files that it was built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayou.cli.output import utc
from bayou.errors import StorageError, reason
from bayou.protocol.actions import exact_json
from bayou.protocol.actions.file_names import LAST_CHECKPOINT, parse_log_file_name
from bayou.protocol.arguments import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.storage.store import FileStatus, LogStore


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A file of a log segment.

    Attributes:
        kind: checkpoint, checkpoint part, sidecar, compacted file, commit or checksum.
        versions: its version, or the first and last version of a compacted file.
        size: in bytes; None if the store does not report it.
        modification_time: in ms since the epoch; None if the file was not listed.
        path: relative to the table.
    """

    kind: str
    versions: str
    size: int | None
    modification_time: int | None
    path: str

    def to_row(self) -> tuple[str, str, int | None, str | None, str]:
        """Return the cells of a printed row."""
        return self.kind, self.versions, self.size, utc(self.modification_time), self.path

    def to_json(self) -> dict[str, Any]:
        """Return the file as JSON."""
        names = ("kind", "versions", "size", "modificationTime", "path")
        return dict(zip(names, self.to_row(), strict=True))


def files(snapshot: Snapshot, store: LogStore) -> Iterator[SegmentFile]:
    """Return the files of a segment: the checkpoint, its sidecars, the commits, the checksum."""
    segment = snapshot.segment
    if segment.checkpoint:
        yield from map(_listed, segment.checkpoint.files)
        opened = snapshot.source.state().checkpoint
        for path in opened.sidecars() if opened else ():
            yield SegmentFile("sidecar", str(segment.checkpoint.version), _size(store, path), None, path)
    for _, status in segment.deltas:
        yield _listed(status)
    if segment.checksum:
        yield _listed(segment.checksum)


def last_checkpoint(store: LogStore) -> Any:
    """Return the content of `_last_checkpoint`: its JSON, its text if it is not JSON, or None if it does not exist.

    The file is only a hint. If it cannot be read, the result is the reason, as a string.
    """
    try:
        text = store.read(LAST_CHECKPOINT).decode(errors="replace")
    except FileNotFoundError:
        return None
    except (OSError, StorageError) as error:
        return f"cannot be read: {reason(error)}"
    try:
        return exact_json.loads(text)
    except (ValueError, RecursionError):
        return text


def summary(snapshot: Snapshot, hint: Any) -> dict[str, Any]:
    """Return the version, the version at which replay starts, and the content of `_last_checkpoint`."""
    checkpoint = snapshot.segment.checkpoint
    return {
        "version": snapshot.version,
        "starts": f"at the checkpoint of version {checkpoint.version}" if checkpoint else "at the first commit",
        "_last_checkpoint": _spelled(hint),
    }


def _spelled(hint: Any) -> str:
    if hint is None:
        return "is not there"
    if not isinstance(hint, dict):
        return f"is not valid: {shown_text(str(hint))}"
    shown = {name: value for name, value in hint.items() if isinstance(value, (int, str)) and name != "checksum"}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def _listed(status: FileStatus) -> SegmentFile:
    name = parse_log_file_name(status.name)
    kind, versions = "file", "-"
    if name is not None:
        kind = f"{name.kind.value} {name.part}/{name.parts}" if name.part else name.kind.value
        versions = str(name.version) if name.end_version is None else f"{name.version}-{name.end_version}"
    return SegmentFile(kind, versions, status.size, status.modification_time, status.path)


def _size(store: LogStore, path: str) -> int | None:
    try:
        return store.size(path)
    except (OSError, StorageError):
        return None
