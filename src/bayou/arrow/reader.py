# SPDX-License-Identifier: Apache-2.0
"""Read the rows of a snapshot in batches: which files, which columns of them, and which of their rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from bayou.arrow import filters
from bayou.arrow.conversion import Conversion, UnfitColumnError, padded
from bayou.arrow.data_files import DataFiles, live_batches, without_columns
from bayou.arrow.filters import check_exact, kept
from bayou.arrow.old_calendar import has_old_calendar
from bayou.arrow.types import arrow_schema, check_types
from bayou.errors import failed
from bayou.log.rows.vector_reader import read_vectors
from bayou.plan.predicates.predicate import columns as columns_of
from bayou.plan.predicates.predicate import only_about
from bayou.protocol.actions import paths
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.actions.actions import Protocol as TableProtocol
from bayou.protocol.features.type_widening import unsupported_changes
from bayou.protocol.properties import mapping_mode
from bayou.protocol.types.char_varchar import char_lengths, from_stored
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage.parallel import read_each

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from bayou.plan.predicates.predicate import Filters, Path, Predicate
    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.storage.store import LogStore

BATCH_SIZE: Final = 65_536
"""The rows of a batch."""

_VECTORS_AT_ONCE: Final = 256


class Readable(Protocol):
    """What a reader needs of a snapshot."""

    @property
    def table_uri(self) -> str:
        """The table's URI, not percent-encoded."""
        ...

    @property
    def version(self) -> int:
        """The table version."""
        ...

    @property
    def protocol(self) -> TableProtocol:
        """The table's protocol."""
        ...

    @property
    def metadata(self) -> Metadata:
        """The table's identity, schema and properties."""
        ...

    @property
    def schema(self) -> StructType:
        """The table's schema, partition columns included."""
        ...

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The logical names of the partition columns."""
        ...

    def files(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Return the live files, one row each."""
        ...

    def may_match(self, where: Filters) -> pa.BooleanArray:
        """Return for each file whether it may hold a row that a filter keeps."""
        ...

    def partitions(self) -> Mapping[Path, pa.Array]:
        """Return the typed partition values, by physical path, aligned with `files()`."""
        ...


@dataclass(frozen=True, slots=True)
class Rows:
    """What is asked of a snapshot.

    Attributes:
        columns: the top-level columns, in order; None for all.
        where: the filter as given, for data skipping; None keeps everything.
        predicate: the filter as a predicate; None keeps everything.
    """

    columns: Sequence[str] | None = None
    where: Filters | None = None
    predicate: Predicate | None = None


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    vector: Bitmap | None
    partitions: Mapping[str, pa.Scalar]


class TableReader:
    """Reads the rows of a snapshot. What cannot be read exactly is refused here, before anything is read.

    Args:
        snapshot: the table at one version.
        store: the table's store.
        rows: what is asked for.
        storage_options: access to files outside the table's folder, as shallow clones have them.

    Raises:
        InvalidOptionError: a column does not exist, or is named twice.
        UnsupportedFeatureError: a column has a type that is not read without Spark, the table has a type change that cannot be
            applied, or the filter compares strings with a collation.
    """

    def __init__(self, snapshot: Readable, store: LogStore, rows: Rows, storage_options: Mapping[str, str] | None = None) -> None:
        self._snapshot = snapshot
        self._store = store
        self._rows = rows
        self._files = DataFiles(store, snapshot.table_uri, storage_options)
        self._options = storage_options
        for column, old, new in unsupported_changes(snapshot.schema, snapshot.protocol):
            raise failed("DELTA_UNSUPPORTED_TYPE_CHANGE_IN_SCHEMA", at=snapshot, column=column, from_type=old, to_type=new)
        self._by_id = mapping_mode(snapshot.metadata.configuration) == "id"
        self._output = _chosen(snapshot, rows.columns)
        names = {path[0] for path in columns_of(rows.predicate)} if rows.predicate is not None else set()
        output = {each.physical_name for each in self._output}
        declared = from_stored(snapshot.schema).fields
        # What the filter needs in addition comes last, and is dropped again.
        self._read = (*self._output, *(each for each in declared if each.physical_name in names - output))
        check_types(self._read, snapshot)
        self._filter, self._pruning = rows.predicate, rows.where
        if rows.predicate is not None:
            check_exact(rows.predicate, snapshot)
            widths = char_lengths(snapshot.schema)
            if widths.keys() & columns_of(rows.predicate):
                # The log has values with and without padding, so that it says nothing about those that are read.
                unpadded = {each.physical_name for each in declared} - {path[0] for path in widths}
                self._filter, self._pruning = filters.padded(rows.predicate, widths), only_about(rows.predicate, unpadded)
        self._partitions = {
            found.physical_name for name in snapshot.partition_columns if (found := snapshot.schema.field(name)) is not None
        }

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the rows."""
        return arrow_schema(self._output)

    def batches(self, batch_size: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows file by file; at most one row group is in memory.

        Raises:
            DataFileNotFoundError, UnreadableDataFileError: a file is gone, or cannot be read.
            SchemaMismatchError: a column of a file has a type that is not read as the table's.
            DeletionVectorError: a deletion vector is missing or does not match its descriptor.
        """
        for file in self._planned():
            yield from self._of_file(file, batch_size)

    def table(self) -> pa.Table:
        """Return all rows; the errors are those of `batches`."""
        files = list(self._planned())
        found = read_each(self._store, files, lambda file: list(self._of_file(file, BATCH_SIZE)))
        return pa.Table.from_batches(itertools.chain.from_iterable(found), self.schema)

    def _of_file(self, file: _File, batch_size: int) -> Iterator[pa.RecordBatch]:
        with self._files.opened(file.path, self._snapshot) as opened:
            try:
                yield from self._converted(file, opened, batch_size)
            except UnfitColumnError as error:
                uri = paths.to_uri(file.path, self._snapshot.table_uri)
                raise failed("file-column-type", at=self._snapshot, file=uri, reason=str(error)) from error

    def _converted(self, file: _File, opened: pq.ParquetFile, batch_size: int) -> Iterator[pa.RecordBatch]:
        there = list(opened.schema_arrow)
        by_id = self._by_id and any(b"PARQUET:field_id" in (each.metadata or {}) for each in there)
        conversion = Conversion(by_id, has_old_calendar(opened.metadata))
        stored = [each for each in self._read if each.physical_name not in self._partitions]
        places = {place for place in conversion.places(there, stored) if place is not None}
        for batch in live_batches(opened, [there[place].name for place in sorted(places)], file.vector, batch_size):
            columns = zip(self._read, conversion.places(list(batch.schema), self._read), strict=True)
            found = [self._column(batch, place, each, file, conversion) for each, place in columns]
            yield from self._kept(found, batch.num_rows)

    def _column(
        self, batch: pa.RecordBatch, place: int | None, field: StructField, file: _File, conversion: Conversion
    ) -> pa.Array:
        if field.physical_name in self._partitions:
            return pa.repeat(padded(file.partitions[field.physical_name], field.type), batch.num_rows)
        return conversion.column(batch, place, field)

    def _kept(self, found: Sequence[pa.Array], size: int) -> Iterator[pa.RecordBatch]:
        if size == 0:
            return
        arrays = list(found[: len(self._output)])
        mask = None if self._filter is None else kept(self._filter, lambda path: self._at(path, found), size, self._snapshot)
        if not arrays:
            rows = size if mask is None else pc.sum(mask).as_py() or 0
            yield without_columns(rows)
            return
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        batch = batch if mask is None else batch.filter(mask)
        if batch.num_rows:
            yield batch

    def _at(self, path: Path, found: Sequence[pa.Array]) -> pa.Array:
        """Return the values at a physical path; NULL where a struct on the way is NULL."""
        position = next(number for number, each in enumerate(self._read) if each.physical_name == path[0])
        values, kind = found[position], self._read[position].type
        for part in path[1:]:
            fields: Any = kind.fields if isinstance(kind, StructType) else ()
            number = next(number for number, each in enumerate(fields) if each.physical_name == part)
            values, kind = pc.struct_field(values, [number]), fields[number].type
        return values

    def _planned(self) -> Iterator[_File]:
        """Yield the files that may hold rows, with their deletion vectors, of which some hundred are read together."""
        snapshot = self._snapshot
        listed = snapshot.files(["path", "deletion_vector"])
        places = pa.array(range(listed.num_rows), pa.int64())
        if self._pruning is not None:
            places = places.filter(snapshot.may_match(self._pruning))
        values = {path[0]: found for path, found in snapshot.partitions().items()}
        for start in range(0, len(places), _VECTORS_AT_ONCE):
            chunk = places.slice(start, _VECTORS_AT_ONCE)
            files = listed.take(chunk)
            descriptors = files["deletion_vector"].combine_chunks()
            vectors = read_vectors(snapshot, descriptors, self._options, store=self._store)
            for path, vector, place in zip(files["path"].to_pylist(), vectors, chunk.to_pylist(), strict=True):
                yield _File(path, vector, {name: found[place] for name, found in values.items()})


def _chosen(snapshot: Readable, columns: Sequence[str] | None) -> tuple[StructField, ...]:
    declared = from_stored(snapshot.schema)
    if columns is None:
        return declared.fields
    chosen = [declared.field(name) for name in columns]
    for name, found in zip(columns, chosen, strict=True):
        if found is None:
            raise failed("DELTA_ILLEGAL_OPTION/rows-column", at=snapshot, column=name, columns=declared.names)
        if chosen.count(found) > 1:
            raise failed("DELTA_ILLEGAL_OPTION/rows-column-twice", at=snapshot, column=name)
    return tuple(each for each in chosen if each is not None)
