# SPDX-License-Identifier: Apache-2.0
"""CONVERT on a session: resolve a name or a path, read the catalog's metadata, and read the files through Spark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, TableNotFoundError, failed
from bayou.log.operations.convert import OPERATION, ConvertRequest, convert, history_parameters
from bayou.protocol.actions import paths
from bayou.protocol.evolution.property_rules import allows_arbitrary, validated
from bayou.protocol.features.protocol_rules import upgraded
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.partition_values import partition_folder
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.protocol.types.sql_text import quoted_name
from bayou.protocol.types.traverse import as_nullable
from bayou.report.units import count_text
from bayou.spark.read.session_table import SessionTable
from bayou.spark.scan.footers import read_footers
from bayou.spark.session.operations import log_operation
from bayou.spark.session.progress import concluded
from bayou.spark.session.session_transaction import session_transaction
from bayou.spark.session.settings import is_on
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    from bayou.log.commit.transaction import Transaction
    from bayou.log.operations.convert import SourceFile
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.catalog import ParquetEntry
    from bayou.spark.session.application import Application

_PARQUET: Final = "parquet"
_ZONE: Final = "spark.sql.session.timeZone"
_SINK_LOG: Final = "spark.databricks.delta.convert.useMetadataLog"
_CATALOG_PARTITIONS: Final = "spark.databricks.delta.convert.useCatalogPartitions"
_CATALOG_SCHEMA: Final = "spark.databricks.delta.convert.useCatalogSchema"
_METADATA_CHECK: Final = "spark.databricks.delta.convert.metadataCheck.enabled"
_ANY_TEXT: Final = "spark.databricks.delta.convert.partitionValues.ignoreCastFailure"
_IGNORE_CORRUPT: Final = "spark.sql.files.ignoreCorruptFiles"


@dataclass(frozen=True, slots=True)
class Converted:
    """A converted table: its folder, and whether it was named by its name in the catalog."""

    uri: str
    is_named: bool


def convert_table(
    application: Application,
    spark: SparkSession,
    identifier: str,
    partition_schema: StructType | None = None,
    *,
    collects_statistics: bool = True,
) -> Converted:
    """Convert a folder of Parquet files, or a Parquet table in the session's catalog, to Delta. A no-op if it is a Delta table.

    Args:
        identifier: ``parquet.`/a/path` ``, or the name of a table in the session's catalog.
        partition_schema: the partition columns with their types; None if the files have none, or the catalog knows them.
        collects_statistics: whether files get the statistics of their columns; otherwise only their number of rows.

    Raises:
        DeltaError: see `bayou.log.operations.convert.convert`; or the name is wrong.
    """
    source = _source(application, spark, identifier)
    table = SessionTable.of(application, spark, source.uri, {})
    present = _present(table)
    if present is None and not source.is_delta:
        request = _request(table, source, partition_schema, collects_statistics=collects_statistics)

        def begin(snapshot: Snapshot | None, operation: str, parameters: Mapping[str, object]) -> Transaction:
            return session_transaction(application, spark, table.log, snapshot, operation, parameters, settings=table.settings)

        with log_operation("CONVERT", "reading footers", table.spark, table.settings, table.shown):
            count = convert(table.log, request, _SessionFooters(table), begin)
            concluded(count_text(count, "file"))
    elif present is not None and source.entry is not None:
        _take_properties(table, present, source.entry)
    if source.entry is not None:  # after the commit: if this fails, the next CONVERT repeats it
        source.entry.become_delta()
        application.backend.catalog(spark).refresh(source.entry.name)
    return Converted(source.uri, source.is_named)


def plan_conversion(application: Application, spark: SparkSession, identifier: str) -> Converted | None:
    """Return what `convert_table` would convert, without reading the files; None if it is a Delta table."""
    source = _source(application, spark, identifier)
    present = _present(SessionTable.of(application, spark, source.uri, {}))
    return None if present is not None or source.is_delta else Converted(source.uri, source.is_named)


@dataclass(frozen=True, slots=True)
class _Source:
    """The table that an identifier names.

    Attributes:
        entry: the entry of a table of Parquet files in the catalog; None for a path, and for a Delta table.
        is_delta: whether it is the name of a Delta table.
        is_named: whether it is a name in the catalog.
    """

    uri: str
    entry: ParquetEntry | None = None
    is_delta: bool = False
    is_named: bool = False


def _source(application: Application, spark: SparkSession, identifier: str) -> _Source:
    catalog = application.backend.catalog(spark)
    name = catalog.name(identifier)
    found = catalog.entry(name)
    if found is None:
        return _at_path(identifier, name.database or "", name.table)
    if found.is_view:
        raise failed("DELTA_OPERATION_NOT_ALLOWED/convert-view", table=identifier, option="identifier")
    uri = qualify(found.location).uri
    if found.provider == "delta":
        return _Source(uri, is_delta=True, is_named=True)
    entry = application.backend.parquet_entry(spark, name)
    if found.provider != _PARQUET and not entry.is_hives:
        raise _no_parquet(identifier, found.provider)
    return _Source(uri, entry, is_named=True)


def _at_path(identifier: str, provider: str, table: str) -> _Source:
    """Return the table for a name that the catalog lacks: a path after its format."""
    if not paths.is_absolute(table):
        raise failed("TABLE_OR_VIEW_NOT_FOUND/convert", table=identifier)
    if not provider:
        raise failed("DELTA_MISSING_PROVIDER_FOR_CONVERT", table=table, option="identifier", name=quoted_name(table))
    if provider.lower() not in {_PARQUET, "delta"}:
        raise _no_parquet(identifier, provider)
    return _Source(qualify(table).uri, is_delta=provider.lower() == "delta")


def _no_parquet(identifier: str, provider: str) -> DeltaError:
    return failed("DELTA_CONVERT_NON_PARQUET_TABLE", table=identifier, option="identifier", provider=provider or "unknown")


def _present(table: SessionTable) -> Snapshot | None:
    try:
        return table.log.update()
    except TableNotFoundError:
        return None


def _request(table: SessionTable, source: _Source, declared: StructType | None, *, collects_statistics: bool) -> ConvertRequest:
    settings = table.settings
    request = ConvertRequest(
        () if declared is None else declared.fields,
        None if declared is None else declared.names,
        collects_statistics=collects_statistics,
        settings=settings,
        time_zone=str(table.spark.conf.get(_ZONE)),
        uses_sink_log=is_on(settings, _SINK_LOG, default=True),
        ignores_corrupt_files=is_on(settings, _IGNORE_CORRUPT),
        takes_any_text=is_on(settings, _ANY_TEXT),
    )
    if source.entry is None:
        return request
    known = parse_schema(source.entry.partition_schema)
    if declared is not None and not _is_same(known, declared):
        raise failed(
            "DELTA_UNEXPECTED_PARTITION_SCHEMA_FROM_USER", table=table.uri, known=type_text(known), declared=type_text(declared)
        )
    has_partitions = is_on(settings, _CATALOG_PARTITIONS, default=True)
    return replace(
        request,
        partition_fields=known.fields,
        properties=source.entry.properties,
        catalog_table=source.entry.full_name,
        schema=_columns(source.entry) if has_partitions and is_on(settings, _CATALOG_SCHEMA, default=True) else None,
        partitions=_partitions(table, source.entry, known) if has_partitions else None,
    )


def _columns(entry: ParquetEntry) -> StructType:
    """Return the columns as Spark reads them: all nullable, whatever the catalog says."""
    return as_nullable(parse_schema(entry.schema))


def _is_same(known: StructType, declared: StructType) -> bool:
    sides = ([(field.name.lower(), field.type) for field in schema.fields] for schema in (known, declared))
    return next(sides) == next(sides)


def _partitions(table: SessionTable, entry: ParquetEntry, columns: StructType) -> dict[str, Mapping[str, str | None]]:
    """Return the catalog's partitions by their folders relative to the table; only the table's folder without partition columns."""
    if not columns.fields:
        return {"": {}}
    partitions: dict[str, Mapping[str, str | None]] = {}
    for location, texts in entry.partitions():
        texts_by_name = {name.lower(): text for name, text in texts.items()}
        folder = partition_folder([(field.name, texts_by_name.get(field.name.lower())) for field in columns.fields])
        path = paths.canonical(paths.encode_uri(location), table.uri) if location else folder
        if paths.is_absolute(path):
            raise failed(
                "DELTA_DUPLICATE_ACTIONS_FOUND/partition-outside",
                table=table.uri,
                file=location,
                partition=folder,
                relation=entry.full_name,
            )
        partitions[path] = dict(texts)
    if not partitions:
        raise failed("DELTA_CONVERSION_NO_PARTITION_FOUND", table=table.uri, option="identifier", relation=entry.full_name)
    return partitions


def _take_properties(table: SessionTable, present: Snapshot, entry: ParquetEntry) -> None:
    """Add the properties of a catalog entry to a table that an earlier CONVERT of its path created. No-op without new ones."""
    before = present.metadata.configuration
    given = entry.properties
    if all(before.get(key) == value for key, value in given.items()):
        return
    is_checked = is_on(table.settings, _METADATA_CHECK, default=True)
    if before and is_checked:
        raise _other_properties(table, given, before)
    change = validated(given, table=table.uri, current=before, allow_arbitrary=allows_arbitrary(table.settings))
    after = {**before, **change.configuration}
    protocol = upgraded(present.protocol, present.schema, after, table=table.uri, features=change.features)
    if protocol != present.protocol:
        raise _other_properties(table, given, before)
    parameters = history_parameters(0, (), entry.full_name, collects_statistics=False)
    table.commit(present, OPERATION, parameters, [replace(present.metadata, configuration=after)])


def _other_properties(table: SessionTable, given: Mapping[str, str], before: Mapping[str, str]) -> DeltaError:
    return failed(
        "DELTA_CONVERT_METASTORE_METADATA_MISMATCH",
        table=table.uri,
        option="properties",
        given=dict(given),
        known=dict(before),
        setting=_METADATA_CHECK,
    )


@dataclass(frozen=True, slots=True)
class _SessionFooters:
    """Reads the footers of a table's files through a session."""

    table: SessionTable

    def footers(self, files: Sequence[SourceFile]) -> list[pq.FileMetaData | OSError]:
        """See `FooterReader`."""
        places = [(self._uri(file), file.size) for file in files]
        return read_footers(self.table.application.backend, places, self.table.options)

    def schemas(self, files: Sequence[SourceFile]) -> list[StructType]:
        """See `FooterReader`."""
        uris = [self._uri(file) for file in files]
        derived = self.table.application.backend.parquet_schemas(self.table.spark, uris, self.table.options)
        return [self._parsed(file, schema) for file, schema in zip(files, derived, strict=True)]

    def _parsed(self, file: SourceFile, schema: str | ValueError) -> StructType:
        """Parse the schema of a file, which Spark returned as JSON. Raise an error if it is Spark's refusal instead."""
        if isinstance(schema, str):
            return parse_schema(schema)
        raise failed("DELTA_FAILED_MERGE_SCHEMA_FILE/unreadable", table=self.table.uri, file=file.path, reason=str(schema))

    def _uri(self, file: SourceFile) -> str:
        return f"{self.table.uri.rstrip('/')}/{file.path}"
