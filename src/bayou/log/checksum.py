# SPDX-License-Identifier: Apache-2.0
"""Version checksum files: the facts about a version that its writer noted down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayou.errors import CorruptLogError, StorageError
from bayou.protocol.actions import Metadata, Protocol
from bayou.storage.store import FileStatus, LogStore


@dataclass(frozen=True, slots=True)
class VersionChecksum:
    """What a checksum file says of its version; None where it does not say.

    Attributes:
        path: the file, relative to the table.
        num_files: the number of live files.
        size_bytes: their size.
        protocol: the table's protocol.
        metadata: the table's metadata.
        in_commit_timestamp: the version's in-commit timestamp.
    """

    path: str
    num_files: int | None
    size_bytes: int | None
    protocol: Protocol | None
    metadata: Metadata | None
    in_commit_timestamp: int | None


def read_checksum(store: LogStore, status: FileStatus | None) -> VersionChecksum | None:
    """Read a checksum file. It is a help, not a part of the log: one that cannot be read counts as absent."""
    if status is None:
        return None
    try:
        document = json.loads(store.read(status.path))
        if not isinstance(document, dict):
            return None
        return VersionChecksum(
            status.path,
            _count(document, "numFiles"),
            _count(document, "tableSizeBytes"),
            Protocol.from_json(document["protocol"]) if document.get("protocol") else None,
            Metadata.from_json(document["metadata"]) if document.get("metadata") else None,
            _count(document, "inCommitTimestampOpt"),
        )
    except (OSError, StorageError, CorruptLogError, ValueError, RecursionError):
        return None


def _count(document: Mapping[str, Any], name: str) -> int | None:
    value = document.get(name)
    return value if type(value) is int and value >= 0 else None
