# SPDX-License-Identifier: Apache-2.0
"""CONVERT: write the first commit of a folder of Parquet files, from its listing and the files' footers.

No row is read. Source: delta-spark's `ConvertToDeltaCommand`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from bayou.errors import DeltaError, StorageError, failed, reason
from bayou.log.operations.create import first_actions
from bayou.log.operations.maintained import Begin, plain_transactions
from bayou.log.staging.footer_statistics import FOOTERS_AT_ONCE, facts_of
from bayou.log.staging.foreign_footers import shape_of, spark_schema, sure_leaves
from bayou.plan.maintenance.convert import (
    SINK_LOG,
    FolderRules,
    MergedSchema,
    is_hidden_file,
    is_hidden_folder,
    sink_files,
    sink_log_files,
)
from bayou.protocol.actions import paths
from bayou.protocol.actions.actions import AddFile
from bayou.protocol.actions.file_names import LOG_FOLDER
from bayou.protocol.evolution.property_rules import session_defaults
from bayou.protocol.properties import mapping_mode
from bayou.protocol.stats.file_stats import indexed_leaves
from bayou.protocol.types.char_varchar import to_stored
from bayou.protocol.types.schema import StructField, StructType, parse_schema
from bayou.storage.trees import EVERY_NAME, TreeStore, delete_many, linked_folders, list_tree

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from bayou.log.snapshot.log_reader import LogReader
    from bayou.protocol.stats.file_stats import IndexedLeaf
    from bayou.storage.store import LogStore

OPERATION: Final = "CONVERT"
"""The operation's name in the history."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A Parquet file to convert. Its path is relative to the table and not percent-encoded; its values are as in the log."""

    path: str
    size: int
    modification_time: int
    values: Mapping[str, str | None] = field(default_factory=dict)


class FooterReader(Protocol):
    """Reads the footers of many files at a time."""

    def footers(self, files: Sequence[SourceFile]) -> list[pq.FileMetaData | OSError]:
        """Return the footer of each file, or the error of reading it: FileNotFoundError or another OSError."""
        ...

    def schemas(self, files: Sequence[SourceFile]) -> list[StructType]:
        """Return the schema that Spark derives from the Parquet types of each file, or raise InvalidSchemaError with the file."""
        ...


@dataclass(frozen=True, slots=True)
class ConvertRequest:
    """The options of a CONVERT.

    Attributes:
        partition_fields: the partition columns, in the order of the folders.
        partitioned_by: the partition columns that the user declared; None if the user declared none.
        collects_statistics: whether files get column statistics; otherwise they only get their row count.
        settings: the session's settings, for the defaults of properties.
        catalog_table: the name of the converted table in a catalog.
        schema: the catalog's columns, partition columns included; None derives them from the files.
        partitions: the catalog's partitions: partition values by folder, relative to the table. Only the files directly in these
            folders are converted. None converts all files at any depth.
        uses_sink_log: whether the log of a streaming sink, if the folder has one, decides which files are converted.
        ignores_corrupt_files: whether files without a readable footer are skipped.
        takes_any_text: whether a partition value that does not fit its column's type reads as NULL instead of raising an error.
    """

    partition_fields: tuple[StructField, ...] = ()
    partitioned_by: tuple[str, ...] | None = None
    collects_statistics: bool = True
    properties: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    catalog_table: str | None = None
    schema: StructType | None = None
    partitions: Mapping[str, Mapping[str, str | None]] | None = None
    time_zone: str = "UTC"
    uses_sink_log: bool = True
    ignores_corrupt_files: bool = False
    takes_any_text: bool = False


def convert(log: LogReader, request: ConvertRequest, reader: FooterReader, begin: Begin | None = None) -> int:
    """Convert a folder of Parquet files to a table, whose log does not exist yet, and return the number of files.

    Raises:
        TableExistsError: the folder, or a folder below it, is a table.
        PathNotFoundError: the folder does not exist.
        TableNotFoundError: the folder has no files.
        InvalidCommitError: a folder is a link to another one.
        InvalidSchemaError: the folder names do not match the partition columns, or a table cannot have the files' columns.
        SchemaMismatchError: the files' schemas cannot be merged.
        UnreadableDataFileError: a file is not a Parquet file.
        UnsupportedFeatureError: the session's defaults require column mapping or an unsupported feature.
    """
    files = sorted(_files(log, request), key=lambda each: each.path)
    if not files:
        raise _empty(log)
    described = _Described(log.table_uri, request, reader)
    for start in range(0, len(files), FOOTERS_AT_ONCE):
        described.read(files[start : start + FOOTERS_AT_ONCE])
    names = [each.name for each in request.partition_fields]
    first = first_actions(described.schema, names, request.properties, table=log.table_uri, settings=request.settings)
    _check_mapping(first.metadata.configuration, log.table_uri)
    stored = parse_schema(first.metadata.schema_string)
    adds = described.adds(indexed_leaves(stored, first.metadata.configuration, first.metadata.partition_columns))
    if not adds:
        raise _empty(log)
    declared, catalog_table = request.partitioned_by or (), request.catalog_table
    parameters = history_parameters(len(adds), declared, catalog_table, collects_statistics=request.collects_statistics)
    # The files must be durable before a commit names them.
    log.store.sync([paths.decode(each.path) for each in adds])
    with _without_traces(log.store), (begin or plain_transactions(log))(None, OPERATION, parameters) as transaction:
        transaction.stage(*first.actions)
        transaction.commit(adds, metrics={"numConvertedFiles": len(adds)})
    return len(adds)


def history_parameters(
    num_files: int, partitioned_by: Sequence[str], catalog_table: str | None, *, collects_statistics: bool
) -> dict[str, Any]:
    """Return the history's parameters of a CONVERT."""
    return {
        "numFiles": num_files,
        "partitionedBy": list(partitioned_by),
        "collectStats": collects_statistics,
        "sourceFormat": "parquet",
        **({} if catalog_table is None else {"catalogTable": catalog_table}),
    }


def _check_mapping(configuration: Mapping[str, str], table: str) -> None:
    mode = mapping_mode(configuration)
    if mode != "none":
        raise failed("DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING", table=table, mode=mode, features=("columnMapping",))


class _Described:
    """The files that were examined so far: their merged schema and their statistics.

    Which columns get statistics depends on the schema of all files. To read each footer only once, statistics are computed for the
    columns known so far. If later files change these columns, the earlier footers are read again at the end.
    """

    def __init__(self, table: str, request: ConvertRequest, reader: FooterReader) -> None:
        self.merged = MergedSchema(table)
        self._request = request
        self._reader = reader
        self._configuration = {**session_defaults(request.settings, request.properties), **request.properties}
        self._batches: list[tuple[Sequence[SourceFile], tuple[IndexedLeaf, ...], list[str]]] = []
        self._known: set[tuple[str, bytes]] = set()
        self._sure: dict[tuple[str, bytes], tuple[IndexedLeaf, ...]] = {}
        self._sure_of: tuple[IndexedLeaf, ...] = ()

    @property
    def schema(self) -> StructType:
        """The table's columns: the catalog's if there is one, otherwise those of all files."""
        if self._request.schema is not None:
            return self._request.schema
        return self.merged.with_partitions(self._request.partition_fields)

    def read(self, files: Sequence[SourceFile]) -> None:
        """Examine further files."""
        found = [
            (file, footer)
            for file, footer in zip(files, self._reader.footers(files), strict=True)
            if self._is_readable(file, footer)
        ]
        if self._request.schema is None:
            self._merge(found)
        names = [each.name for each in self._request.partition_fields]
        leaves = indexed_leaves(to_stored(self.schema), self._configuration, names)
        self._batches.append(([file for file, _ in found], leaves, self._statistics(found, leaves)))

    def adds(self, leaves: tuple[IndexedLeaf, ...]) -> list[AddFile]:
        """Return the actions that add all files."""
        actions: list[AddFile] = []
        for files, used, texts in self._batches:
            if self._request.collects_statistics and used != leaves:
                footers = zip(files, self._reader.footers(files), strict=True)
                texts = self._statistics([(file, self._readable(file, footer)) for file, footer in footers], leaves)  # noqa: PLW2901
            actions.extend(_action(file, text) for file, text in zip(files, texts, strict=True))
        return actions

    def _merge(self, found: Sequence[tuple[SourceFile, pq.FileMetaData]]) -> None:
        """Merge the schemas of files; files with the same footer shape share a schema."""
        new: dict[tuple[str, bytes], tuple[SourceFile, StructType | None]] = {}
        for file, footer in found:
            shape = shape_of(footer)
            if shape not in self._known and shape not in new:
                new[shape] = file, spark_schema(footer)
        foreign = [file for file, schema in new.values() if schema is None]
        derived = iter(self._reader.schemas(foreign) if foreign else ())
        for file, schema in new.values():
            self.merged.add(next(derived) if schema is None else schema, file.path)
        self._known.update(new)

    def _statistics(self, found: Sequence[tuple[SourceFile, pq.FileMetaData]], leaves: tuple[IndexedLeaf, ...]) -> list[str]:
        if not self._request.collects_statistics:
            return [json.dumps({"numRecords": footer.num_rows}, separators=(",", ":")) for _, footer in found]
        if leaves != self._sure_of:
            self._sure, self._sure_of = {}, leaves
        return [facts_of(footer, self._sure_leaves(footer, leaves)).stats for _, footer in found]

    def _sure_leaves(self, footer: pq.FileMetaData, leaves: tuple[IndexedLeaf, ...]) -> tuple[IndexedLeaf, ...]:
        shape = shape_of(footer)
        if shape not in self._sure:
            self._sure[shape] = sure_leaves(footer, leaves)
        return self._sure[shape]

    def _is_readable(self, file: SourceFile, footer: pq.FileMetaData | OSError) -> bool:
        if isinstance(footer, OSError) and not isinstance(footer, FileNotFoundError) and self._request.ignores_corrupt_files:
            return False
        self._readable(file, footer)
        return True

    def _readable(self, file: SourceFile, footer: pq.FileMetaData | OSError) -> pq.FileMetaData:
        if isinstance(footer, FileNotFoundError):
            raise failed("DELTA_FILE_NOT_FOUND_DETAILED/listed", table=self.merged.table, file=file.path) from footer
        if isinstance(footer, OSError):
            raise failed(
                "DELTA_FAILED_READ_FILE_FOOTER", table=self.merged.table, file=file.path, reason=reason(footer)
            ) from footer
        return footer


def _action(file: SourceFile, statistics: str) -> AddFile:
    return AddFile(
        path=paths.encode(file.path),
        partition_values=dict(file.values),
        size=file.size,
        modification_time=file.modification_time,
        stats=statistics,
    )


def _files(log: LogReader, request: ConvertRequest) -> Iterator[SourceFile]:
    """Return the files to convert with their partition values, in no order."""
    rules = FolderRules(
        log.table_uri,
        to_stored(StructType(request.partition_fields)).fields,
        is_declared=request.partitioned_by is not None or request.catalog_table is not None,
        time_zone=request.time_zone,
        takes_any_text=request.takes_any_text,
    )
    noted = _noted_files(log) if request.uses_sink_log else None
    if noted is None and request.partitions is not None:
        yield from _files_of_partitions(log.store, request.partitions, rules)
        return
    for path, size, modified in _listed_files(log) if noted is None else noted:
        yield SourceFile(path, size, modified, rules.values(path))


def _listed_files(log: LogReader) -> Iterator[tuple[str, int, int]]:
    """Return all files of the folder that are not hidden, at any depth."""
    hidden: dict[str, bool] = {}
    folders = [""]
    for batch in list_tree(log.store, EVERY_NAME):
        for path, size, modified, is_folder in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            folder, _, name = path.rpartition("/")
            if folder not in hidden:
                hidden[folder] = is_hidden_folder(folder)
            if hidden[folder]:
                continue
            if is_folder:
                if name == LOG_FOLDER and folder:
                    raise failed("DELTA_PATH_EXISTS/nested", table=log.table_uri, file=folder)
                folders.append(path)
            elif not is_hidden_file(name):
                yield path, size, modified
    for path in linked_folders(log.store, folders):
        if not is_hidden_folder(path):
            raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/linked-folder", table=log.table_uri, file=path)


def _files_of_partitions(
    store: LogStore, partitions: Mapping[str, Mapping[str, str | None]], rules: FolderRules
) -> Iterator[SourceFile]:
    folders = list(partitions)
    if isinstance(store, TreeStore):
        listed: Iterable[Sequence[pa.RecordBatch]] = [each.files for each in store.list_folders(folders, ())]
    else:
        listed = [list(list_tree(store, (), folder)) for folder in folders]
    for folder, batches in zip(folders, listed, strict=True):
        values = rules.typed(partitions[folder], folder)
        for batch in batches:
            for path, size, modified, is_folder in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if not is_folder and path.rpartition("/")[0] == folder:
                    yield SourceFile(path, size, modified, values)


def _noted_files(log: LogReader) -> list[tuple[str, int, int]] | None:
    """Return the files that a streaming sink's log names; None if the log does not exist."""
    try:
        names = [each.name for each in log.store.list_from(f"{SINK_LOG}/")]
    except FileNotFoundError:
        return None
    chosen = [f"{SINK_LOG}/{name}" for name in sink_log_files(names)]
    if not chosen:
        return None
    try:
        noted = sink_files(log.store.read(path).decode("utf-8") for path in chosen)
    except (ValueError, KeyError, TypeError) as error:
        raise failed("sink-log-unreadable", table=log.table_uri, file=SINK_LOG, reason=str(error)) from error
    found = []
    for uri, (size, modified) in noted.items():
        path = paths.canonical(uri, log.table_uri)
        if paths.is_absolute(path):
            raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/sink-log-outside", table=log.table_uri, file=path)
        found.append((path, size, modified))
    return found


@contextlib.contextmanager
def _without_traces(store: LogStore) -> Iterator[None]:
    """On a failure, delete the empty log folder: other programs would take its parent for a table."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(StorageError):
            delete_many(store, [LOG_FOLDER])
        raise


def _empty(log: LogReader) -> DeltaError:
    try:
        next(iter(log.store.list_from("")), None)
    except FileNotFoundError:
        return failed("DELTA_PATH_DOES_NOT_EXIST", table=log.table_uri)
    return failed("DELTA_EMPTY_DIRECTORY", table=log.table_uri)
