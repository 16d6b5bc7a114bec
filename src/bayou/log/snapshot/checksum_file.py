# SPDX-License-Identifier: Apache-2.0
"""Version checksum files: facts about a version that its writer recorded.

Source: PROTOCOL.md, "Version Checksum File".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from bayou.errors import CorruptLogError, StorageError
from bayou.log.snapshot.file_size_histogram import FileSizeHistogram, read_record_counts
from bayou.protocol.actions.actions import DomainMetadata, Metadata, Protocol, SetTransaction
from bayou.storage.store import FileStatus, LogStore

T = TypeVar("T")

HISTOGRAM: Final = "fileSizeHistogram"
# The name of the field in delta-spark before 4.3 and other writers.
_HISTOGRAM_ALIAS: Final = "histogramOpt"


@dataclass(frozen=True, slots=True)
class VersionChecksum:
    """The contents of a checksum file; None for what it leaves out.

    Attributes:
        path: the file, relative to the table.
        num_deleted_records: how many rows deletion vectors delete.
        num_deletion_vectors: how many live files have a deletion vector.
        histogram: the live files by size.
        deleted_record_counts: the live files by their number of deleted rows.
        transactions: the latest `txn` of each application.
        domains: the domain metadata, without removed ones.
        document: the whole document, for the next version's checksum; the histogram has the protocol's name.
    """

    path: str
    num_files: int | None
    size_bytes: int | None
    protocol: Protocol | None
    metadata: Metadata | None
    in_commit_timestamp: int | None
    num_deleted_records: int | None = None
    num_deletion_vectors: int | None = None
    histogram: FileSizeHistogram | None = None
    deleted_record_counts: tuple[int, ...] | None = None
    transactions: tuple[SetTransaction, ...] | None = None
    domains: tuple[DomainMetadata, ...] | None = None
    document: Mapping[str, Any] = field(default_factory=dict)


def read_checksum(store: LogStore, status: FileStatus | None) -> VersionChecksum | None:
    """Read a checksum file. It is optional: one that cannot be read counts as absent."""
    if status is None:
        return None
    try:
        document = json.loads(store.read(status.path))
        return parse_checksum(document, status.path) if isinstance(document, dict) else None
    except (OSError, StorageError, CorruptLogError, ValueError, RecursionError):
        return None


def parse_checksum(document: Mapping[str, Any], path: str) -> VersionChecksum:
    """Parse the JSON object of a checksum file, or raise CorruptLogError or ValueError if a part of it is invalid."""
    if HISTOGRAM not in document and _HISTOGRAM_ALIAS in document:
        document = {**document, HISTOGRAM: document[_HISTOGRAM_ALIAS]}
    return VersionChecksum(
        path,
        _count(document, "numFiles"),
        _count(document, "tableSizeBytes"),
        Protocol.from_json(document["protocol"]) if document.get("protocol") else None,
        Metadata.from_json(document["metadata"]) if document.get("metadata") else None,
        _count(document, "inCommitTimestampOpt"),
        _count(document, "numDeletedRecordsOpt"),
        _count(document, "numDeletionVectorsOpt"),
        _part(document, HISTOGRAM, FileSizeHistogram.from_json),
        _part(document, "deletedRecordCountsHistogramOpt", read_record_counts),
        _list(document, "setTransactions", SetTransaction.from_json),
        _list(document, "domainMetadata", DomainMetadata.from_json),
        document,
    )


def _count(document: Mapping[str, Any], name: str) -> int | None:
    value = document.get(name)
    return value if type(value) is int and value >= 0 else None


def _part(document: Mapping[str, Any], name: str, parse: Callable[[object], T]) -> T | None:
    value = document.get(name)
    return None if value is None else parse(value)


def _list(document: Mapping[str, Any], name: str, parse: Callable[[Mapping[str, Any]], T]) -> tuple[T, ...] | None:
    values = document.get(name)
    return tuple(parse(value) for value in values) if isinstance(values, list) else None
