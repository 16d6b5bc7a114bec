# SPDX-License-Identifier: Apache-2.0
"""Snapshots: the table at one version, as an immutable value that reads on demand."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import DeltaError, InvalidSchemaError, failed, redact_uri
from bayou.log.actions.action_files import DerivedFileError
from bayou.log.actions.columns import ADD_SCHEMA, TEXT_MAP
from bayou.log.segment.segment import LogSegment
from bayou.log.snapshot.partition_columns import partition_texts, physical_names, typed_partitions
from bayou.log.snapshot.source import SnapshotSource
from bayou.protocol import arguments, properties
from bayou.protocol.actions.actions import DomainMetadata, Metadata, Protocol, SetTransaction
from bayou.protocol.types.schema import DataType, StructType, parse_schema

if TYPE_CHECKING:
    from bayou.arrow.reader import TableReader
    from bayou.plan.predicates.predicate import Filters
    from bayou.plan.statistics.columns import FileStatistics

ColumnPath: TypeAlias = tuple[str, ...]
T = TypeVar("T")

_MOST_ROWS_OF_A_BATCH: Final = (1 << 31) - 1
"""More rows than a row group has. PyArrow takes 64 bits."""


class Snapshot:
    """The table at one version.

    Guarantees: a snapshot never changes, whatever is committed later. `files()`, `partitions()`, `partition_texts()` and
    `statistics()` list the live files in one fixed order, so that positions agree. Columns are read from the log on first use and
    cached; threads may share a snapshot. If a checkpoint cannot be read and the commits before it still exist, these are replayed
    instead.
    """

    def __init__(self, source: SnapshotSource, described: tuple[Protocol, Metadata] | None = None) -> None:
        """Begin with the source to read from; `described` replaces its protocol and metadata."""
        self._source = source
        self._lock = threading.RLock()
        self._checked = source.checked_header() if described is None else described

    def __repr__(self) -> str:
        return f"Snapshot({redact_uri(self.table_uri)!r}, version={self.version})"

    def _repr_html_(self) -> str:
        from bayou.report.html import facts_html  # noqa: PLC0415  (only notebooks need it)

        return facts_html(f"Snapshot of {redact_uri(self.table_uri)}", self.facts_in_memory())

    def facts_in_memory(self) -> dict[str, Any]:
        """Return what a notebook shows, by name, without a request to the store. The value of an unknown fact is None."""
        from bayou.report.tables import table_facts  # noqa: PLC0415  (only notebooks need it)

        checksum = vars(self._source).get("checksum")
        try:
            columns = [field.name for field in self.schema.fields]
        except InvalidSchemaError:  # a caller that reads the schema gets the error
            columns = []
        return table_facts(
            version=self.version,
            columns=columns,
            partition_columns=self.partition_columns,
            num_files=vars(self).get("num_files", checksum and checksum.num_files),
            size_bytes=vars(self).get("size_bytes", checksum and checksum.size_bytes),
            properties=self.properties,
        )

    @property
    def table_uri(self) -> str:
        """The table's URI, not percent-encoded."""
        return self._source.table_uri

    @property
    def version(self) -> int:
        """The table version."""
        return self._source.segment.version

    @property
    def segment(self) -> LogSegment:
        """The files of the log that the snapshot is built from."""
        return self._source.segment

    @property
    def source(self) -> SnapshotSource:
        """The source that the snapshot reads from, for the log that extends it."""
        return self._source

    def described_as(self, protocol: Protocol, metadata: Metadata) -> Snapshot:
        """Return the same files under the protocol and metadata of another version."""
        return Snapshot(self._source, (protocol, metadata))

    @property
    def protocol(self) -> Protocol:
        """The table's protocol."""
        return self._checked[0]

    @property
    def metadata(self) -> Metadata:
        """The table's identity, schema and properties."""
        return self._checked[1]

    @cached_property
    def schema(self) -> StructType:
        """The table's schema, partition columns included. An invalid schema string raises InvalidSchemaError."""
        with self._placed():
            return parse_schema(self.metadata.schema_string)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The logical names of the partition columns, in order."""
        return self.metadata.partition_columns

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's configuration."""
        return MappingProxyType(dict(self.metadata.configuration))

    @cached_property
    def timestamp(self) -> int:
        """When the version was committed, in ms since the epoch: the in-commit timestamp, otherwise the file's time."""
        return self._source.timestamp(self.metadata)

    @cached_property
    def num_files(self) -> int:
        """The number of live files, from the version's checksum if there is one.

        Examples:
            >>> snapshot.num_files
        """
        known = self._source.checksum
        if known is not None and known.num_files is not None and not self._source.has_state:
            return known.num_files
        return self._read(lambda source: source.state().num_files)

    @cached_property
    def size_bytes(self) -> int:
        """The size of the live files, from the version's checksum if there is one."""
        known = self._source.checksum
        if known is not None and known.size_bytes is not None and not self._source.has_state:
            return known.size_bytes
        return pc.sum(self._columns(["size"])["size"]).as_py() or 0

    @cached_property
    def transactions(self) -> Mapping[str, SetTransaction]:
        """The latest `txn` of each application, except those that delta.setTransactionRetentionDuration expired."""
        found = self._read(lambda source: source.transactions())
        retention = properties.SET_TRANSACTION_RETENTION_MS.read(self.metadata.configuration)
        if retention is not None:
            oldest = time.time() * 1000 - retention
            found = {name: each for name, each in found.items() if (each.last_updated or 0) > oldest}
        return MappingProxyType(found)

    @cached_property
    def domain_metadata(self) -> Mapping[str, DomainMetadata]:
        """The domain metadata by domain, without removed ones."""
        found = self._read(lambda source: source.domains())
        return MappingProxyType({name: each for name, each in found.items() if not each.removed})

    def files(self, columns: Iterable[str] | None = None, where: Filters | None = None) -> pa.Table:
        """Return the live files, one row each, in the snapshot's order.

        Columns: path (percent-encoded, as in the log), partition_values (by physical name), size in bytes, modification_time in ms,
        data_change, stats (JSON), tags, deletion_vector, base_row_id, default_row_commit_version, clustering_provider. Reading
        fewer is faster.

        Args:
            columns: the columns to return, in order; None for all.
            where: keep files that may hold a matching row: `(column, op, value)` tuples that must all hold, a list of such lists of
                which one must hold, or a Predicate. Partition columns are matched exactly.

        Raises:
            InvalidOptionError: a column or a filter is invalid.

        Examples:
            >>> snapshot.files(["path", "size"], where=[("day", "==", "2026-11-01")])
        """
        names = list(ADD_SCHEMA.names if columns is None else arguments.texts(columns, "columns", table=self.table_uri))
        unknown = [name for name in names if name not in ADD_SCHEMA.names]
        if unknown:
            raise failed("DELTA_ILLEGAL_OPTION/files-column", table=self.table_uri, column=unknown[0], columns=ADD_SCHEMA.names)
        found = self._columns(names)
        schema = pa.schema([ADD_SCHEMA.field(name) for name in names])
        table = pa.Table.from_arrays([found[name] for name in names], schema=schema)
        return table if where is None else table.filter(self.may_match(where))

    def to_arrow(
        self,
        columns: Iterable[str] | None = None,
        where: Filters | None = None,
        *,
        storage_options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """Return the rows as an Arrow table, read without Spark.

        Args:
            columns: the top-level columns to return, in order; None for all.
            where: keep matching rows: filters as in `files`, or a Predicate. Files that hold none are not opened.
            storage_options: access to files outside the table's folder, as shallow clones have them.

        Raises:
            InvalidOptionError: a column or a filter is invalid.
            UnsupportedFeatureError: a column has a type that is not read without Spark, such as variant, or the filter compares
                strings with a collation. Nothing was read.
            DataFileNotFoundError, UnreadableDataFileError, DeletionVectorError: a file is gone, or cannot be read.
            SchemaMismatchError: a column of a file has a type that is not read as the table's.

        Examples:
            >>> snapshot.to_arrow(columns=["id"], where=[("day", ">=", "2026-01-01")])
        """
        return self._reader(columns, where, storage_options).table()

    def to_batches(
        self,
        columns: Iterable[str] | None = None,
        where: Filters | None = None,
        *,
        batch_size: int = 65_536,
        storage_options: Mapping[str, str] | None = None,
    ) -> pa.RecordBatchReader:
        """Return the rows as a stream of Arrow batches, for tables that do not fit into memory.

        One row group is in memory at a time. DuckDB, Polars and other libraries take the stream as it is.

        Args:
            columns: the top-level columns to return, in order; None for all.
            where: keep matching rows, as in `to_arrow`.
            batch_size: the most rows of a batch.
            storage_options: access to files outside the table's folder, as shallow clones have them.

        Raises:
            InvalidOptionError, UnsupportedFeatureError: see `to_arrow`. The other errors of `to_arrow` come with the batches.

        Examples:
            >>> sum(batch.num_rows for batch in snapshot.to_batches(["id"]))
        """
        size = min(arguments.integer(batch_size, "batch_size", table=self.table_uri, least=1), _MOST_ROWS_OF_A_BATCH)
        reader = self._reader(columns, where, storage_options)
        return pa.RecordBatchReader.from_batches(reader.schema, reader.batches(size))

    def to_pandas(
        self,
        columns: Iterable[str] | None = None,
        where: Filters | None = None,
        *,
        storage_options: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the rows as a pandas DataFrame; arguments and errors are those of `to_arrow`.

        Raises:
            MissingPackageError: pandas is not installed.

        Examples:
            >>> snapshot.to_pandas(where=[("day", "==", "2026-01-01")])
        """
        from bayou.arrow.frames import to_pandas  # noqa: PLC0415  (not needed to open a table)

        return to_pandas(self._reader(columns, where, storage_options))

    def to_polars(
        self,
        columns: Iterable[str] | None = None,
        where: Filters | None = None,
        *,
        storage_options: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the rows as a Polars DataFrame; arguments and errors are those of `to_arrow`.

        Raises:
            MissingPackageError: Polars is not installed.

        Examples:
            >>> snapshot.to_polars(columns=["id"])
        """
        from bayou.arrow.frames import to_polars  # noqa: PLC0415  (not needed to open a table)

        return to_polars(self._reader(columns, where, storage_options))

    def to_pyarrow_dataset(self) -> Any:
        """Return the table as a `pyarrow.dataset.Dataset`, if a dataset reads exactly the table's rows.

        It reads the footer of each file to find out.

        Raises:
            UnsupportedFeatureError: a dataset would read other rows or values, because of deletion vectors, column mapping, widened
                types or missing nested fields. Use `to_batches`.
            DataFileNotFoundError, UnreadableDataFileError: a file is gone, or cannot be read.

        Examples:
            >>> snapshot.to_pyarrow_dataset().count_rows()
        """
        from bayou.arrow.dataset import to_dataset  # noqa: PLC0415  (not needed to open a table)

        return to_dataset(self, self._source.store)

    def _reader(
        self, columns: Iterable[str] | None, where: Filters | None, storage_options: Mapping[str, str] | None
    ) -> TableReader:
        from bayou.arrow.reader import Rows, TableReader  # noqa: PLC0415  (not needed to open a table)
        from bayou.log.snapshot.data_skipping import to_predicate  # noqa: PLC0415

        chosen = None if columns is None else arguments.texts(columns, "columns", table=self.table_uri)
        with self._placed():
            predicate = None if where is None else to_predicate(where, self.schema)
        return TableReader(self, self._source.store, Rows(chosen, where, predicate), storage_options)

    def may_match(self, where: Filters) -> pa.BooleanArray:
        """Return for each file of `files()` whether it may hold a row that a filter keeps; true if unknown.

        Examples:
            >>> snapshot.may_match([("day", "==", "2026-11-01")])
        """
        from bayou.log.snapshot.data_skipping import may_match  # noqa: PLC0415  (planning is not needed to open a table)

        with self._placed():
            return may_match(self, where)

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:
        """Return the partition values as in the log, by physical name, aligned with `files()`."""
        with self._lock:
            if self._partition_texts is None:
                names = physical_names(self.schema, self.partition_columns)
                maps = self._columns(["partition_values"])["partition_values"] if names else pa.chunked_array([], TEXT_MAP)
                self._partition_texts = partition_texts(maps, names)
            return self._partition_texts

    _partition_texts: dict[str, pa.ChunkedArray] | None = None

    @cached_property
    def _partitions(self) -> Mapping[ColumnPath, pa.Array]:
        texts = self.partition_texts()
        with self._placed():
            return typed_partitions(self.schema, texts)

    def partitions(self) -> Mapping[ColumnPath, pa.Array]:
        """Return the typed partition values, by physical path, aligned with `files()`."""
        return self._partitions

    def statistics(self, fields: Mapping[ColumnPath, DataType]) -> FileStatistics:
        """Return statistics of some columns, by physical path, aligned with `files()`; each column is parsed once."""
        arguments.instance(fields, Mapping, "fields", "a dictionary of types by physical path", table=self.table_uri)
        return self._read(lambda source: source.state().statistics(fields))

    def live_rows(self, positions: pa.Array) -> pa.Array:
        """Return the number of live rows of the files at some positions in `files()`, according to the log; null if unknown."""
        arguments.instance(positions, (pa.Array, pa.ChunkedArray), "positions", "an Arrow array of integers", table=self.table_uri)
        counts = self.statistics({}).num_records.take(positions)
        vectors = self.files(["deletion_vector"])["deletion_vector"].take(positions)
        deleted = pc.struct_field(vectors, "cardinality").cast(pa.int64())
        return pc.subtract(counts, pc.fill_null(pa.concat_arrays([pa.array([], pa.int64()), *deleted.chunks]), 0))

    def tombstones(self) -> pa.Table:
        """Return the `remove` actions of files that are no longer live and have not expired."""
        return self._read(lambda source: source.state().tombstones(self.table_uri))

    def read_source(self, read: Callable[[SnapshotSource], T]) -> T:
        """Call a function with the source that the snapshot reads from, and again if a checkpoint cannot be read."""
        return self._read(read)

    @property
    def nbytes(self) -> int:
        """The memory of the snapshot in bytes."""
        return self._source.nbytes + sum(int(text.nbytes) for text in (self._partition_texts or {}).values())

    @contextlib.contextmanager
    def _placed(self) -> Iterator[None]:
        """Add the table and version to errors of functions that know no table."""
        try:
            yield
        except DeltaError as error:
            if error.table is not None:
                raise
            raise type(error)(
                error.message, next_step=error.next_step, at=self, file=error.file, error_class=error.error_class, **error.facts
            ) from error

    def _columns(self, names: Sequence[str]) -> Mapping[str, pa.ChunkedArray]:
        return self._read(lambda source: source.state().columns(names))

    def _read(self, read: Callable[[SnapshotSource], T]) -> T:
        """Read from the log; if a checkpoint is unreadable, fall back to an older one or to commits."""
        while True:
            source = self._source
            try:
                return read(source)
            except DerivedFileError as error:
                with self._lock:
                    # Another thread may have replaced the source already; then only the read is repeated.
                    if self._source is source:
                        try:
                            self._source = source.without(error.file)
                        except DeltaError:
                            raise error from None
