# SPDX-License-Identifier: Apache-2.0
"""Read chosen files of a snapshot as a DataFrame with the table's columns, on any session that has the documented DataFrame API."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.types.char_varchar import char_width
from bayou.protocol.types.schema import StructField, StructType
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.portable.scan.constants import Constants
from bayou.spark.portable.scan.exact import unfiltered
from bayou.spark.portable.scan.footers import FooterReader
from bayou.spark.portable.scan.guards import BY_IDS, REWRITES, find_columns_by_ids, read_as_stored
from bayou.spark.portable.scan.listed_files import ListedFiles
from bayou.spark.portable.scan.session_settings import ScanSettings
from bayou.spark.portable.scan.sources import source_of
from bayou.spark.portable.scan.vectors import MOST_WORDS_IN_REQUEST, count_words, has_bit, with_bit
from bayou.spark.scan.file_types import group_by_types, must_be_grouped
from bayou.spark.scan.row_ids import BASE, BASE_VERSION, FILE, METADATA, RowIdColumns
from bayou.spark.types.aligned_sql import aligned
from bayou.spark.types.char_columns import padded_texts
from bayou.spark.types.types import (
    contains_void,
    physical_field,
    readable_schema,
    spark_data_type,
    spark_schema,
    stored_fields,
    stored_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType as SparkType
    from pyspark.sql.types import StructType as SparkSchema

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.portable.scan.sources import Source

_METADATA: Final = "_metadata"
_FACTS: Final = ("file_path", "file_name", "file_size", "file_block_start", "file_block_length")
_OLDEST: Final = (3, 0)
"""A version of Spark that reads no narrower type as the table's."""
_NUMBER, _ROW = "__bayou_file_number", "__bayou_row"


def scan_frame(
    spark: SparkSession,
    snapshot: Snapshot,
    positions: pa.Array | None = None,
    columns: Sequence[str | StructField] | None = None,
    *,
    with_numbers: bool = False,
    with_metadata: bool = False,
    with_ids: bool = False,
    rewrites: bool = False,
    constants: Mapping[str, pa.Array] | None = None,
    storage_options: Mapping[str, str] | None = None,
    files: ListedFiles | None = None,
    exact: bool = False,
) -> DataFrame:
    """Return the rows of some files of a snapshot, without those in deletion vectors.

    The columns have the table's names and types, and partition values come from the log. Filters on partition columns prune files
    when Spark plans, wherever they come from. If Spark reads a file that is not in the log, or the list of files is missing or
    ignored, the query fails; it never returns fewer rows.

    Args:
        positions: which files, by their positions in `Snapshot.files`; None for all.
        columns: the names of the columns, in order; None for all. A field is a column of the files that the table does not have.
        with_numbers: whether to add `FILE`, an int with the position of the row's file in `Snapshot.files`, and `METADATA` with
            `row_index`, the number of the row in its file.
        with_metadata: whether to add `METADATA` with all fields of Spark's `_metadata`. Its `file_modification_time` is that of
            the log. Spark's own `_metadata` stays available too, but its `file_modification_time` is a number of the file.
        with_ids: whether to add the stored columns of row ids, their constants, and `METADATA`, for `RowIdColumns.known`.
        rewrites: whether the rows are rewritten, or a check depends on them, so that no setting changes their values.
        constants: further columns by their names: an int32 or int64 for each of the files, in the order of `positions`.
        storage_options: credentials for this process to read deletion vectors and footers. They are not sent to Spark.
        files: other files to read instead of the snapshot's. Positions are then those in this list. They have no partition values.
        exact: whether to keep filters from the reader that Parquet evaluates differently from Spark.

    Raises:
        SessionError: client and server share no folder and the files are too many; or a setting makes Spark ignore lists.
        DeletionVectorError: a deletion vector cannot be read.
        UnsupportedFeatureError: a column of the table has the name of an auxiliary column.
    """
    wanted = [_field(snapshot, each) for each in columns] if columns is not None else list(snapshot.schema.fields)
    listed = ListedFiles(snapshot) if files is None else files
    ids = RowIdColumns.of(snapshot) if with_ids else None
    chosen = None if positions is None else positions.cast(pa.int64())
    of_files = {name: _by_file(listed, chosen, values) for name, values in (constants or {}).items()}
    settings, options = ScanSettings.of(spark), dict(storage_options or {})
    scan = _Scan(spark, snapshot, listed, wanted, with_numbers, with_metadata, ids, of_files, settings, rewrites, options, exact)
    scan.check_names(chosen)
    if is_grouped(spark, wanted):
        return scan.by_stored_types(chosen)
    return scan.frame(chosen)


def is_grouped(spark: SparkSession, wanted: Sequence[StructField]) -> bool:
    """Whether files must be read by the types that they hold, because this Spark cannot read them as the columns' types."""
    # Asking for the version is a request to the server, so it comes last.
    return must_be_grouped(wanted, _OLDEST) and must_be_grouped(wanted, _version(spark))


def _field(snapshot: Snapshot, column: str | StructField) -> StructField:
    found = snapshot.schema.field(column) if isinstance(column, str) else column
    if found is None:
        raise failed("nested-field-missing", column=column)
    return found


def _by_file(files: ListedFiles, chosen: pa.Array | None, values: pa.Array) -> pa.Array:
    """Return values of some files as an array with a value for each file of the snapshot: 0 for the others."""
    if chosen is None:
        return values
    everything = np.zeros(files.count, values.type.to_pandas_dtype())
    everything[chosen.to_numpy()] = values.to_numpy(zero_copy_only=False)
    return pa.array(everything, values.type)


def _version(spark: SparkSession) -> tuple[int, int]:
    major, minor = spark.version.split(".")[:2]
    return int(major), int(minor)


class Streamed(Protocol):
    """The rows of a stream, and constants of their files."""

    @property
    def spark(self) -> SparkSession:
        """The session."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """The version whose schema the stream has."""
        ...

    def read(self, schema: SparkSchema) -> DataFrame:
        """Return the rows of the files."""
        ...

    @property
    def further_fields(self) -> Sequence[StructField]:
        """Columns of the files to read that the table does not have."""
        ...

    def chosen(self, rows: DataFrame, metadata: str) -> DataFrame:
        """Return the rows that the stream has. They may have auxiliary columns.

        Args:
            metadata: the name of Spark's column of file metadata.
        """
        ...

    def further_columns(self) -> Sequence[Column]:
        """Return the stream's columns after the table's."""
        ...

    def partition(self, name: str, metadata: str) -> Column:
        """Return the value of a partition column, by its physical name."""
        ...


def stream_frame(streamed: Streamed) -> DataFrame:
    """Return the rows of a stream from a table, with the table's columns. See `scan_frame`.

    Raises:
        UnsupportedFeatureError: a column has the name of an auxiliary column, or Spark cannot read older types of a column.
    """
    snapshot, spark = streamed.snapshot, streamed.spark
    wanted = list(snapshot.schema.fields)
    settings = ScanSettings.of(spark)
    scan = _Scan(spark, snapshot, ListedFiles(snapshot), wanted, False, False, None, {}, settings, False, {})
    scan.check_names(None)
    if is_grouped(spark, wanted):
        raise failed(
            "DELTA_OPERATION_NOT_ALLOWED/connect-stream", at=snapshot, what="A table with widened types", features=("typeWidening",)
        )
    return scan.of_stream(streamed)


@dataclass(frozen=True)
class _Scan:
    spark: SparkSession
    snapshot: Snapshot
    files: ListedFiles
    wanted: Sequence[StructField]
    with_numbers: bool
    with_metadata: bool
    ids: RowIdColumns | None
    constants: Mapping[str, pa.Array]
    settings: ScanSettings
    rewrites: bool
    storage_options: Mapping[str, str] = field(repr=False)
    exact: bool = False
    stored: Mapping[str, StructField] | None = None
    """The columns as the files hold them, by physical name; None if they hold the table's types."""

    def frame(self, positions: pa.Array | None) -> DataFrame:
        source = source_of(self.spark, self.files, positions, self.storage_options, self.settings)
        marks = {}
        if self._by_id:
            find_columns_by_ids(self.spark)
            marks[BY_IDS] = "true"
        if self.rewrites:
            read_as_stored(self.spark)
            marks[REWRITES] = "true"
        rows = source.read(spark_schema(self._read_fields()), marks)
        metadata = self._metadata_name()
        number, row = source.number(metadata), F.col(f"{metadata}.row_index")
        constants = Constants(self.snapshot, number)
        # Also a query that needs no constant of its files must fail for a file of another list.
        known = number >= F.lit(0) if source.chosen is None else constants.is_among(source.chosen, self.files.count)
        known = known & self.settings.condition()
        condition = known
        vectors = source.vectors(self.storage_options)
        in_request = count_words(vectors) <= MOST_WORDS_IN_REQUEST
        if vectors and in_request:
            condition = known & has_bit(constants, vectors, row, wanted=False)
        rows = rows.where(condition)

        def partition(name: str, kind: SparkType) -> Column:
            values = self._padded(name, self.snapshot.partition_texts()[name].combine_chunks())
            return constants.texts(values if source.listed is None else values.take(source.listed), kind)

        projection = [*self._columns(partition), *self._auxiliary(source, constants, metadata)]
        if not vectors or in_request:
            return rows.select(*projection)
        rows = rows.select(*projection, number.alias(_NUMBER), row.alias(_ROW))
        return with_bit(rows, source.blocks(vectors), F.col(_NUMBER), F.col(_ROW), wanted=False).drop(_NUMBER, _ROW)

    def of_stream(self, streamed: Streamed) -> DataFrame:
        """Return the rows of a stream."""
        if self._by_id:
            find_columns_by_ids(self.spark)
        rows = streamed.read(spark_schema([*self._read_fields(), *streamed.further_fields]))
        metadata = self._metadata_name()
        rows = streamed.chosen(rows, metadata)

        def partition(name: str, _: SparkType) -> Column:
            column, width = streamed.partition(name, metadata), self._width(self._partition_field(name))
            return F.when(F.length(column) < F.lit(width), F.rpad(column, width, " ")).otherwise(column) if width else column

        columns = self._columns(partition)
        return rows.select(*columns, *streamed.further_columns())

    def by_stored_types(self, positions: pa.Array | None) -> DataFrame:
        """Return the union of a scan for each group of files with the same types, each cast to the table's types."""
        everything = pa.array(np.arange(self.files.count)) if positions is None else positions
        files = self.files.facts(["path", "size"])
        fields = self._stored_fields()
        footers = FooterReader(self.snapshot, self.storage_options)
        groups = group_by_types(files, self.snapshot.table_uri, everything, fields, footers) or [(everything, tuple(fields))]
        frames = [replace(self, stored={f.name: f for f in stored}).frame(chosen) for chosen, stored in groups]
        rows = frames[0]
        for each in frames[1:]:
            rows = rows.union(each)
        return rows

    def check_names(self, positions: pa.Array | None) -> None:
        """Raise UnsupportedFeatureError if a column has the name of an auxiliary one, and SessionError if Spark cannot find one."""
        taken = {FILE, METADATA, BASE, BASE_VERSION, _NUMBER, _ROW}
        for each in self.snapshot.schema.fields:
            if not taken.isdisjoint((each.name.lower(), each.physical_name.lower())):
                raise failed(
                    "DELTA_OPERATION_NOT_ALLOWED/physical-name",
                    at=self.snapshot,
                    column=each.name,
                    physical_name=each.physical_name,
                    features=(f"columns that are called {each.physical_name}",),
                )

        if not self._by_id:
            footers = FooterReader(self.snapshot, self.storage_options)
            self.settings.check_names(self.files, positions, self._stored_fields(), footers)

    def _stored_fields(self) -> list[StructField]:
        return stored_fields(self._physical(f) for f in self.wanted if f.name not in self.snapshot.partition_columns)

    @property
    def _by_id(self) -> bool:
        return self.snapshot.properties.get("delta.columnMapping.mode") == "id"

    def _physical(self, wanted: StructField) -> StructField:
        return physical_field(wanted, wanted, by_id=self._by_id)

    def _read_fields(self) -> list[StructField]:
        """Return the columns to read, with the metadata that users see, such as comments and declared types of strings."""
        partitions = set(self.snapshot.partition_columns)
        stored = self.stored or {}
        found = []
        for each in self.wanted:
            if each.name in partitions:
                continue
            for physical in stored_fields([self._physical(each)]):
                shown = readable_schema(StructType((each,))).fields[0].metadata
                read = stored.get(physical.name, physical)
                found.append(replace(read, metadata={**shown, **physical.metadata}))
        return [*found, *(() if self.ids is None else self.ids.fields)]

    def _metadata_name(self) -> str:
        """Return Spark's name for its column of file metadata: it adds underscores if a column has the same name.

        The session's setting decides whether names in other cases are the same.
        """
        is_exact = self.settings.is_case_sensitive
        name, taken = _METADATA, {f.name if is_exact else f.name.lower() for f in self._read_fields()}
        while name in taken:
            name = f"_{name}"
        return name

    def _padded(self, name: str, values: pa.Array) -> pa.Array:
        """Return the values of a partition column, padded as Spark pads columns of files."""
        return padded_texts(values, self._width(self._partition_field(name)))

    def _partition_field(self, physical_name: str) -> StructField:
        return next(each for each in self.snapshot.schema.fields if each.physical_name == physical_name)

    def _width(self, field: StructField) -> int:
        """Return the length to which reads pad the values of a partition column; 0 if they do not."""
        return char_width(field) if self.settings.pads_chars else 0

    def _columns(self, constant: Callable[[str, SparkType], Column]) -> list[Column]:
        """Return the table's columns.

        Args:
            constant: returns the value of a partition column, by its physical name and type.
        """
        partitions = set(self.snapshot.partition_columns)
        found = []
        for each in self.wanted:
            physical = self._physical(each)
            if each.name in partitions:
                shown = readable_schema(StructType((each,))).fields[0].metadata
                column = constant(physical.name, spark_data_type(StructField(physical.name, each.type)))
                found.append(column.alias(each.name, metadata=dict(shown)) if shown else column.alias(each.name))
            else:
                column = self._expression(each, physical)
                found.append((unfiltered(column, each.type) if self.exact else column).alias(each.name))
        return found

    def _expression(self, wanted: StructField, physical: StructField) -> Column:
        target = readable_schema(StructType((wanted,))).fields[0].type
        held = stored_type(physical.type)
        if held is None:
            return F.lit(None).cast(spark_data_type(StructField(wanted.name, target)))
        if self.stored is not None and physical.name in self.stored:
            held = self.stored[physical.name].type
        column = F.col(quoted_name(physical.name))
        if contains_void(physical.type):  # of a struct: files do not have it
            text = aligned(quoted_name(physical.name), held, physical.type)
            column = F.expr(text)
        elif held == wanted.type:
            return column
        # Spark casts structs by position, so that this gives nested fields their logical names.
        return column.cast(spark_data_type(StructField(wanted.name, target)))

    def _fact(self, source: Source, name: str) -> pa.Array:
        facts = self.files.facts([name])[name].combine_chunks()
        return facts if source.listed is None else facts.take(source.listed)

    def _auxiliary(self, source: Source, constants: Constants, metadata: str) -> list[Column]:
        ids, found = self.ids, []
        if ids is not None:
            found += [F.col(quoted_name(name)) for name in ids.names]
        if self.with_numbers:
            numbers = pa.array(np.arange(self.files.count)) if source.listed is None else source.listed
            found.append(constants.integers(numbers.cast(pa.int32())).alias(FILE))
        for name, values in self.constants.items():
            found.append(constants.integers(values if source.listed is None else values.take(source.listed)).alias(name))
        if ids is not None:
            found.append(constants.integers(self._fact(source, "base_row_id")).alias(BASE))
            found.append(constants.integers(self._fact(source, "default_row_commit_version")).alias(BASE_VERSION))
        if self.with_metadata or self.with_numbers or ids is not None:
            facts = [F.col(f"{metadata}.{name}") for name in _FACTS] if self.with_metadata else []
            if self.with_metadata:
                time = constants.integers(self._fact(source, "modification_time"))
                facts.append(F.timestamp_millis(time).alias("file_modification_time"))
            facts.append(F.col(f"{metadata}.row_index"))
            found.append(F.struct(*facts).alias(METADATA))
        return found
