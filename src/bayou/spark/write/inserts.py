# SPDX-License-Identifier: Apache-2.0
"""Write rows to an existing table, after adapting them to its columns as an INSERT or a writer by name does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.protocol.features.type_widening import Widening
from bayou.protocol.schema.validity import check_has_data
from bayou.protocol.types.schema import schema_to_json
from bayou.spark.data_files.request import WriteOptions, WriteRequest, merges_schema
from bayou.spark.data_files.target import is_filled, merge_widening
from bayou.spark.dml.replace.replace_on import check_using_places
from bayou.spark.expressions.default_checks import harmless_defaults
from bayou.spark.types.catalog_columns import insert_schema, with_absent_columns, without_filled
from bayou.spark.types.store_assignment import with_ansi_casts
from bayou.spark.types.types import readable_schema
from bayou.spark.write.insert_columns import evolved_columns, matches_fields_by_name, short_structs
from bayou.spark.write.row_types import with_types_of
from bayou.spark.write.writer import write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructType
    from bayou.spark.backend import Backend
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class InsertStatement:
    """A write to an existing table: INSERT, `saveAsTable`, `insertInto` or `writeTo`.

    Attributes:
        name: the table's name in SQL.
        how: append, overwrite, replace (by a condition) or dynamic (by partitions).
        condition: the rows to replace, in SQL.
        columns: how columns are matched: position, name, or frame (by name, with the rules of a DataFrame's writer).
        options: the writer's options.
    """

    name: str
    how: str
    condition: str
    columns: str
    options: Mapping[str, str] = field(repr=False)

    def writer_options(self, location: str) -> dict[str, str]:
        """Return the options of this write to the table at a location."""
        by_match = not {"replaceon", "replaceusing"}.isdisjoint(name.lower() for name in self.options)
        match self.how:
            case "overwrite" if by_match:
                return {**self.options, "path": location}
            # Here Spark derived `dynamic` from the session's setting, and not from a call of overwritePartitions.
            case "dynamic" if by_match and self.columns != "frame":
                return {**self.options, "path": location}
            case "overwrite":
                return {"partitionOverwriteMode": "static", **self.options, "path": location}
            case "replace":
                more = {"replaceWhere": self.condition, "path": location}
                return {"partitionOverwriteMode": "static", **self.options, **more}
            case "dynamic":
                return {**self.options, "partitionOverwriteMode": "dynamic", "path": location}
            case _:
                return {**self.options, "path": location}


def insert(application: Application, rows: DataFrame, statement: InsertStatement, location: str) -> None:
    """Write rows to the table at a location."""
    backend, spark = application.backend, rows.sparkSession
    if not statement.columns:
        raise failed("insert-without-rule", table=statement.name)
    mode = "append" if statement.how == "append" else "overwrite"
    options = WriteOptions.parse(statement.writer_options(location), mode)
    if statement.columns == "position" and options.replace_on is not None:
        raise failed(
            "DELTA_OPERATION_NOT_ALLOWED/replace-on-by-position", table=statement.name, features=["replaceOn with insertInto"]
        )
    evolves = merges_schema(options, backend.settings(spark))

    def adapted(rows_of_query: DataFrame, snapshot: Snapshot | None) -> DataFrame:
        if snapshot is None or options.overwrite_schema:
            return rows_of_query
        if statement.columns == "position":
            check_using_places(options, backend.names_of(rows_of_query), snapshot)
        if statement.columns != "frame":
            return _aligned(backend, rows_of_query, statement, snapshot, evolves=evolves)
        check_has_data(backend.columns_of(rows_of_query), snapshot.table_uri, version=snapshot.version)
        rows_of_query = with_types_of(backend, rows_of_query, options, snapshot, statement.name)
        # Add no NULLs if the write replaces a part of the table: the values of the absent columns would decide which part.
        replaces_all = statement.how in ("append", "overwrite") and not options.replaces_a_part
        if not replaces_all:
            return rows_of_query
        is_append = statement.how == "append"
        return with_absent_columns(rows_of_query, snapshot.schema, snapshot.partition_columns, is_append=is_append)

    write(application, rows, WriteRequest(options), adapted)


def _aligned(backend: Backend, rows: DataFrame, statement: InsertStatement, snapshot: Snapshot, *, evolves: bool) -> DataFrame:
    """Return the rows of an INSERT aligned to the table's columns, without columns that are filled on write.

    Spark fills columns that an INSERT leaves out with their default or NULL. Columns of the rows that are not in the table
    remain: the write adds them to the schema or refuses them.
    """
    by_name, schema = statement.columns == "name", snapshot.schema
    names = backend.names_of(rows)
    if not by_name and len(names) < len(schema.fields):
        raise failed(
            "DELTA_INSERT_COLUMN_ARITY_MISMATCH",
            table=statement.name,
            num_found=len(names),
            found=names,
            num_wanted=len(schema.fields),
            wanted=schema.names,
        )
    if by_name:
        _refuse_left_out(names, statement.name, snapshot)
    widening = merge_widening(snapshot) if evolves else Widening.NEVER
    columns = backend.columns_of(rows)
    by_name = by_name or matches_fields_by_name(readable_schema(schema), readable_schema(columns), widening=widening)
    _refuse_short_structs(schema, columns, statement.name, by_name=by_name)
    rows = with_ansi_casts(backend, rows, schema, by_name=by_name, widening=widening)
    columns = backend.columns_of(rows)
    visible_schema = insert_schema(harmless_defaults(backend, rows.sparkSession, snapshot))
    target_schema = evolved_columns(visible_schema, columns, by_name=by_name, widening=widening)
    rows = backend.aligned_rows(rows, statement.name, schema_to_json(target_schema), by_name=by_name)
    return without_filled(backend, rows, schema, {name.lower() for name in names} if by_name else None)


def _refuse_left_out(columns: Sequence[str], name: str, snapshot: Snapshot) -> None:
    """Refuse rows matched by name that lack a NOT NULL column which is not filled automatically."""
    names = {each.lower() for each in columns}
    for each in snapshot.schema.fields:
        if not each.nullable and each.name.lower() not in names and not is_filled(snapshot, each):
            raise failed(
                "DELTA_INSERT_COLUMN_MISMATCH",
                table=name,
                version=snapshot.version,
                column=each.name,
                problems=(f"column {each.name!r} is missing",),
            )


def _refuse_short_structs(table: StructType, rows: StructType, name: str, *, by_name: bool) -> None:
    """Refuse rows with a struct that lacks fields of the table's struct."""
    for short in short_structs(table, rows, by_name=by_name):
        path = ".".join(short.path)
        raise failed(
            "DELTA_INSERT_COLUMN_ARITY_MISMATCH/nested",
            table=name,
            column=path,
            found=short.found,
            wanted=short.wanted,
            problems=(f"struct {path!r} has {short.found} of {short.wanted} fields",),
        )
