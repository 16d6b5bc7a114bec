# SPDX-License-Identifier: Apache-2.0
"""Version checksum files: the facts about a version that its writer noted down.

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
# What delta-spark before 4.3 and other writers call the same field.
_HISTOGRAM_ALIAS: Final = "histogramOpt"


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
        num_deleted_records: how many rows deletion vectors delete.
        num_deletion_vectors: how many live files have a deletion vector.
        histogram: the live files by size.
        deleted_record_counts: the live files by their number of deleted rows.
        transactions: the latest `txn` of each application.
        domains: the domain metadata, without removed ones.
        document: the file itself, for the checksum of the next version; the histogram has its name of the protocol.
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
    """Read a checksum file. It is a help, not a part of the log: one that cannot be read counts as absent."""
    if status is None:
        return None
    try:
        document = json.loads(store.read(status.path))
        return parse_checksum(document, status.path) if isinstance(document, dict) else None
    except (OSError, StorageError, CorruptLogError, ValueError, RecursionError):
        return None


def parse_checksum(document: Mapping[str, Any], path: str) -> VersionChecksum:
    """Read the JSON object of a checksum file.

    Raises:
        CorruptLogError: a part of it is no action of the log.
        ValueError: a histogram is none.
    """
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
