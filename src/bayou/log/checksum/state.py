# SPDX-License-Identifier: Apache-2.0
"""The content of a version checksum: compute it from a snapshot, write it as JSON, compare it with an existing one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.columns import JSON_NAMES, VECTOR_JSON_NAMES, to_objects
from bayou.log.snapshot.checksum_file import HISTOGRAM, VersionChecksum
from bayou.log.snapshot.file_size_histogram import FileSizeHistogram, deleted_record_counts
from bayou.protocol import properties
from bayou.protocol.actions.actions import AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.actions.paths import canonical
from bayou.protocol.features.features import reader_features

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot

MOST_FILES: Final = 50
"""The most live files that a checksum lists. Source: delta-spark, allFilesInCrc."""

MOST_TRANSACTIONS: Final = 100
"""The most transactions that a checksum lists."""

MOST_DOMAINS: Final = 10
"""The most domain metadata that a checksum lists."""

_MOST_INDEXED_COLUMNS: Final = 32


@dataclass(frozen=True, slots=True)
class FileNumbers:
    """The numbers of files from which checksums are computed.

    Attributes:
        sizes: the files' sizes in bytes.
        cardinalities: the number of deleted rows of each file.
        num_vectors: the number of files with a deletion vector.
    """

    sizes: pa.Array | pa.ChunkedArray
    cardinalities: pa.Array | pa.ChunkedArray
    num_vectors: int

    @classmethod
    def of(cls, snapshot: Snapshot) -> FileNumbers:
        """Return the numbers of the live files."""
        found = cls.of_columns(snapshot.files(["size", "deletion_vector"]))
        return cls(pc.fill_null(found.sizes, 0), found.cardinalities, found.num_vectors)

    @classmethod
    def of_columns(cls, files: pa.Table) -> FileNumbers:
        """Return the numbers of files, given the columns `size` and `deletion_vector`. Unknown sizes are null."""
        vectors = files["deletion_vector"]
        cardinalities = pc.fill_null(pc.struct_field(vectors, "cardinality"), 0)
        return cls(files["size"], cardinalities, len(vectors) - vectors.null_count)

    def plus(self, other: FileNumbers) -> FileNumbers:
        """Return the combined numbers of these and other files."""
        sizes, cardinalities = (
            pa.chunked_array([*_chunks(mine), *_chunks(more)], pa.int64())
            for mine, more in ((self.sizes, other.sizes), (self.cardinalities, other.cardinalities))
        )
        return FileNumbers(sizes, cardinalities, self.num_vectors + other.num_vectors)

    @property
    def size_bytes(self) -> int:
        """The size of the files together."""
        return _sum(self.sizes)

    @property
    def num_deleted_records(self) -> int:
        """The number of deleted rows."""
        return _sum(self.cardinalities)


@dataclass(frozen=True, slots=True)
class DeletionVectorFacts:
    """Facts about deletion vectors. None if unknown, or not part of the checksum."""

    num_records: int | None = None
    num_vectors: int | None = None
    counts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ChecksumState:
    """The content of a checksum. None for fields that it does not have."""

    num_files: int
    size_bytes: int
    protocol: Protocol
    metadata: Metadata
    histogram: FileSizeHistogram | None
    transactions: Sequence[SetTransaction] | None
    domains: Sequence[DomainMetadata] | None
    files: Sequence[AddFile] | None
    vectors: DeletionVectorFacts

    @classmethod
    def of(cls, snapshot: Snapshot) -> ChecksumState:
        """Compute the content from a version's replayed state, without its checksum file."""
        numbers = FileNumbers.of(snapshot)
        protocol, metadata = snapshot.read_source(lambda source: source.replayed_header())
        protocol, metadata = protocol or snapshot.protocol, metadata or snapshot.metadata
        return cls(
            num_files=len(numbers.sizes),
            size_bytes=numbers.size_bytes,
            protocol=protocol,
            metadata=metadata,
            histogram=FileSizeHistogram.of(numbers.sizes),
            transactions=None if forgets_transactions(metadata) else tuple(snapshot.transactions.values()),
            domains=tuple(snapshot.domain_metadata.values()),
            files=_files_of(snapshot, metadata, len(numbers.sizes)),
            vectors=_vectors_of(numbers, protocol, metadata),
        )

    def document(self, *, txn_id: str | None, in_commit_timestamp: int | None) -> dict[str, Any]:
        """Return the JSON object, with fields in delta-spark's order. Lists that are too long are omitted."""
        counts = self.vectors.counts
        fields = {
            "txnId": txn_id,
            "tableSizeBytes": self.size_bytes,
            "numFiles": self.num_files,
            "numDeletedRecordsOpt": self.vectors.num_records,
            "numDeletionVectorsOpt": self.vectors.num_vectors,
            "numMetadata": 1,
            "numProtocol": 1,
            "inCommitTimestampOpt": in_commit_timestamp,
            "setTransactions": _objects(self.transactions, MOST_TRANSACTIONS),
            "domainMetadata": _objects(self.domains, MOST_DOMAINS),
            "metadata": self.metadata.to_json(),
            "protocol": self.protocol.to_json(),
            HISTOGRAM: None if self.histogram is None else self.histogram.to_json(),
            "deletedRecordCountsHistogramOpt": None if counts is None else {"deletedRecordCounts": list(counts)},
            "allFiles": None if self.files is None else [replace(file, data_change=False).to_json() for file in self.files],
        }
        return {name: value for name, value in fields.items() if value is not None}


def mismatches(snapshot: Snapshot, known: VersionChecksum) -> dict[str, tuple[Any, Any]]:
    """Compare a checksum with the replayed state.

    Returns:
        The fields that differ, with the values of the checksum and of the log. For lists, the elements that only one of them has.
    """
    numbers = FileNumbers.of(snapshot)
    protocol, metadata = snapshot.read_source(lambda source: source.replayed_header())
    facts: list[tuple[str, Any, Any]] = [
        ("numFiles", known.num_files, len(numbers.sizes)),
        ("tableSizeBytes", known.size_bytes, numbers.size_bytes),
        ("protocol", known.protocol and _comparable(known.protocol), protocol and _comparable(protocol)),
        ("metadata", known.metadata, metadata),
    ]
    if known.histogram is not None:
        facts.append((HISTOGRAM, known.histogram, FileSizeHistogram.of(numbers.sizes, known.histogram.boundaries)))
    if supports_deletion_vectors(protocol or snapshot.protocol):
        facts += [
            ("numDeletedRecordsOpt", known.num_deleted_records, numbers.num_deleted_records),
            ("numDeletionVectorsOpt", known.num_deletion_vectors, numbers.num_vectors),
            ("deletedRecordCountsHistogramOpt", known.deleted_record_counts, deleted_record_counts(numbers.cardinalities)),
        ]
    if not forgets_transactions(metadata or snapshot.metadata):
        facts.append(("setTransactions", *_differences(known.transactions, snapshot.transactions.values())))
    facts.append(("domainMetadata", *_differences(known.domains, snapshot.domain_metadata.values())))
    facts.append(("allFiles", *_file_differences(snapshot, known)))
    return {name: (noted, found) for name, noted, found in facts if noted is not None and noted != found}


def supports_deletion_vectors(protocol: Protocol) -> bool:
    """Whether files of the table may have deletion vectors."""
    return "deletionVectors" in reader_features(protocol)


def forgets_transactions(metadata: Metadata) -> bool:
    """Whether transactions expire. Checksums then omit them, because their number depends on the time."""
    return properties.SET_TRANSACTION_RETENTION_MS.read(metadata.configuration) is not None


def lists_files(metadata: Metadata) -> bool:
    """Whether the table's checksums may list its files.

    Not if checkpoints omit statistics, because lists before and after a checkpoint would differ, or if statistics are long. Source:
    delta-spark, Snapshot.allFilesInCrcWritePathEnabled.
    """
    configuration = metadata.configuration
    in_checkpoints = (properties.CHECKPOINT_STATS_AS_JSON, properties.CHECKPOINT_STATS_AS_STRUCT)
    few_columns = properties.NUM_INDEXED_COLUMNS.read(configuration) <= _MOST_INDEXED_COLUMNS
    return few_columns and any(each.read(configuration) for each in in_checkpoints)


def file_key(file: AddFile | RemoveFile, table: str) -> tuple[str, str | None]:
    """Return the key of a logical file."""
    return canonical(file.path, table), file.deletion_vector.unique_id if file.deletion_vector else None


def _vectors_of(numbers: FileNumbers, protocol: Protocol, metadata: Metadata) -> DeletionVectorFacts:
    enabled = properties.ENABLE_DELETION_VECTORS.read(metadata.configuration)
    if not supports_deletion_vectors(protocol) or not (enabled or numbers.num_vectors):
        return DeletionVectorFacts()
    counts = deleted_record_counts(numbers.cardinalities)
    return DeletionVectorFacts(numbers.num_deleted_records, numbers.num_vectors, counts)


def _files_of(snapshot: Snapshot, metadata: Metadata, num_files: int) -> list[AddFile] | None:
    """Return the live files if they are few, and bayou reads all of their fields; otherwise None."""
    if not num_files:
        return []
    if num_files > MOST_FILES or not lists_files(metadata):
        return None
    if snapshot.segment.checkpoint is not None and not properties.CHECKPOINT_STATS_AS_JSON.read(metadata.configuration):
        return None
    files = [AddFile.from_json(value) for value in _add_values(snapshot.files())]
    # delta-spark qualifies a path without a scheme. A list with the path as in the log would not match.
    return None if any(file.path.startswith("/") for file in files) else files


def _add_values(files: pa.Table) -> Iterator[dict[str, Any]]:
    columns = [to_objects(column) for column in files.columns]
    for row in zip(*columns, strict=True):
        value = {JSON_NAMES[name]: item for name, item in zip(files.column_names, row, strict=True) if item is not None}
        vector = value.get("deletionVector")
        if vector is not None:
            value["deletionVector"] = {VECTOR_JSON_NAMES[name]: item for name, item in vector.items()}
        yield value


def _objects(actions: Sequence[SetTransaction | DomainMetadata] | None, most: int) -> list[dict[str, Any]] | None:
    return None if actions is None or len(actions) > most else [action.to_json() for action in actions]


def _differences(noted: Iterable[Hashable] | None, found: Iterable[Hashable]) -> tuple[list[Any] | None, list[Any]]:
    if noted is None:
        return None, []
    listed, live = Counter(noted), Counter(found)
    return list((listed - live).elements()), list((live - listed).elements())


def _file_differences(snapshot: Snapshot, known: VersionChecksum) -> tuple[list[Any] | None, list[Any]]:
    noted = known.document.get("allFiles")
    if not isinstance(noted, list):
        return None, []
    listed = {(*file_key(file, snapshot.table_uri), file.size) for file in map(AddFile.from_json, noted)}
    columns = ["path", "partition_values", "size", "deletion_vector"]
    live = map(AddFile.from_json, _add_values(snapshot.files(columns)))
    found = {(*file_key(file, snapshot.table_uri), file.size) for file in live}
    return sorted(listed - found, key=repr), sorted(found - listed, key=repr)


def _comparable(protocol: Protocol) -> tuple[int, int, frozenset[str], frozenset[str]]:
    return (
        protocol.min_reader_version,
        protocol.min_writer_version,
        frozenset(protocol.reader_features or ()),
        frozenset(protocol.writer_features or ()),
    )


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _sum(column: pa.Array | pa.ChunkedArray) -> int:
    total: int = pc.sum(column, min_count=0).as_py()
    return total
