# SPDX-License-Identifier: Apache-2.0
"""Which files of the log a snapshot is made of."""

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
    """One file of the segment.

    Attributes:
        kind: what it is: a checkpoint, a part or a sidecar of one, a compacted file, a commit, a checksum.
        versions: the version that it is of, or the first and last one of a compacted file.
        size: in bytes; None where the store does not say.
        modification_time: in ms since the epoch; None where the listing did not show the file.
        path: relative to the table.
    """

    kind: str
    versions: str
    size: int | None
    modification_time: int | None
    path: str

    def to_row(self) -> tuple[str, str, int | None, str | None, str]:
        """The cells of a printed row."""
        return self.kind, self.versions, self.size, utc(self.modification_time), self.path

    def to_json(self) -> dict[str, Any]:
        """The file as JSON."""
        names = ("kind", "versions", "size", "modificationTime", "path")
        return dict(zip(names, self.to_row(), strict=True))


def files(snapshot: Snapshot, store: LogStore) -> Iterator[SegmentFile]:
    """The files of the segment: the checkpoint, what it names, the commits; then the checksum."""
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
    """What `_last_checkpoint` says: its JSON, its text where it is not JSON, None where there is no such file.

    It is a hint, so that the command goes on where it cannot be read; then the result is the reason, as text.
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
    """The version, where replay starts, and what `_last_checkpoint` said about that."""
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
