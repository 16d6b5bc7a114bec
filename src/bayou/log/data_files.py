# SPDX-License-Identifier: Apache-2.0
"""Parquet files that another program wrote, described as `add` actions: checked against the table, statistics from footers."""

from __future__ import annotations

import datetime as dt
import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.errors import DataFileNotFoundError, InvalidCommitError, SchemaMismatchError
from bayou.log.footers import facts_of
from bayou.protocol import paths as encoded_paths
from bayou.protocol.actions import AddFile, Metadata
from bayou.protocol.partition_values import decimal_type, is_string_type, serialise
from bayou.protocol.schema import ArrayType, DataType, MapType, StructField, StructType, parse_schema
from bayou.protocol.stats import indexed_leaves

if TYPE_CHECKING:
    from bayou.storage.store import LogStore

_NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001  (wall clocks and UTC are told apart by the type)
_ARROW: Final[Mapping[str, tuple[Any, ...]]] = {
    "long": (pa.types.is_int64,),
    "integer": (pa.types.is_int32,),
    "short": (pa.types.is_int16, pa.types.is_int32),
    "byte": (pa.types.is_int8, pa.types.is_int32),
    "boolean": (pa.types.is_boolean,),
    "float": (pa.types.is_float32,),
    "double": (pa.types.is_float64,),
    "binary": (pa.types.is_binary, pa.types.is_large_binary),
    "date": (pa.types.is_date32,),
    "timestamp": (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit != "s",),
    "timestamp_ntz": (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None and kind.unit != "s",),
}


def describe_files(
    store: LogStore,
    table: str,
    metadata: Metadata,
    paths: Sequence[str],
    partition_values: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[AddFile]:
    """The `add` actions of files that are in the table's folder already; reads one footer each.

    Args:
        store: the table's store.
        table: the table's URI, for errors.
        metadata: the table's metadata.
        paths: the files, relative to the table, not percent-encoded.
        partition_values: the values by path and logical column name, typed or as the log's texts; where they are left
            out, the path's folders (`day=2024-01-01/`) say them.

    Raises:
        DataFileNotFoundError: a file is not there.
        InvalidCommitError: a path leaves the table, a file is no Parquet file, or its partition values are not known.
        SchemaMismatchError: a file's columns are not the table's.
    """
    schema = parse_schema(metadata.schema_string)
    leaves = indexed_leaves(schema, metadata.configuration, metadata.partition_columns)
    now = int(time.time() * 1000)
    adds = []
    for path in paths:
        footer, size = _footer(store, table, path)
        _check_columns(schema, metadata.partition_columns, footer.schema.to_arrow_schema(), table, path)
        given = None if partition_values is None else partition_values.get(path, {})
        adds.append(
            AddFile(
                path=encoded_paths.encode(path),
                partition_values=_values(schema, metadata.partition_columns, path, given, table),
                size=size,
                modification_time=now,
                stats=facts_of(footer, leaves).stats,
            )
        )
    return adds


def _footer(store: LogStore, table: str, path: str) -> tuple[pq.FileMetaData, int]:
    if path.startswith(("/", "_delta_log/", "..")) or posixpath.normpath(path) != path or "://" in path:
        raise InvalidCommitError(
            f"{path!r} is no path of a data file under the table",
            table=table,
            file=path,
            error_class="DELTA_INVALID_PATH",
            next_step="Write the files into the table's folder first, and give their paths relative to it.",
        )
    try:
        with store.open(path) as source:
            return pq.read_metadata(source), store.size(path)
    except FileNotFoundError as error:
        raise DataFileNotFoundError("a file that was to be added is not there", table=table, file=path) from error
    except pa.ArrowException as error:
        raise InvalidCommitError(
            f"a file that was to be added is no Parquet file: {error}",
            table=table,
            file=path,
            error_class="DELTA_FAILED_READ_FILE_FOOTER",
            sql_state="KD001",
        ) from error


def _check_columns(schema: StructType, partitions: Sequence[str], found: pa.Schema, table: str, path: str) -> None:
    fields = {field.physical_name: field for field in schema.fields if field.name not in partitions}
    problems = list(_differences(fields, found, ""))
    if problems:
        raise SchemaMismatchError(
            f"the file does not have the table's columns: {'; '.join(problems)}", table=table, file=path, problems=problems
        )


def _differences(fields: Mapping[str, StructField], found: Sequence[pa.Field] | pa.Schema, parent: str) -> Iterator[str]:
    present = set()
    for each in found:
        name = f"{parent}{each.name}"
        present.add(each.name)
        field = fields.get(each.name)
        if field is None:
            yield f"{name} is no column of the table"
        else:
            yield from _type_differences(field.type, each.type, name)
    for physical, field in fields.items():
        if physical not in present and not field.nullable:
            yield f"{parent}{field.name} may not be NULL, and the file has no such column"


def _type_differences(wanted: DataType, found: pa.DataType, name: str) -> Iterator[str]:
    match wanted:
        case StructType(fields) if pa.types.is_struct(found):
            yield from _differences({field.physical_name: field for field in fields}, list(found), f"{name}.")
        case ArrayType(element, _) if pa.types.is_list(found) or pa.types.is_large_list(found):
            yield from _type_differences(element, found.value_type, f"{name}.element")
        case MapType(key, value, _) if pa.types.is_map(found):
            yield from _type_differences(key, found.key_type, f"{name}.key")
            yield from _type_differences(value, found.item_type, f"{name}.value")
        case str() if _is_of(wanted, found):
            return
        case _:
            yield f"{name} is {found} in the file and {wanted if isinstance(wanted, str) else 'nested'} in the table"


def _is_of(wanted: str, found: pa.DataType) -> bool:
    if is_string_type(wanted):
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    decimal = decimal_type(wanted)
    if decimal is not None:
        return bool(pa.types.is_decimal(found) and (found.precision, found.scale) == decimal)
    return any(check(found) for check in _ARROW.get(wanted, ()))


def _values(
    schema: StructType, columns: Sequence[str], path: str, given: Mapping[str, Any] | None, table: str
) -> dict[str, str | None]:
    named = _folder_values(path) if given is None else dict(given)
    missing = [name for name in columns if name not in named]
    if missing or (given is not None and len(named) > len(columns)):
        raise InvalidCommitError(
            f"the file's partition values are for {sorted(named)}, and the table is partitioned by {list(columns)}",
            table=table,
            file=path,
            error_class="DELTA_INVALID_PARTITIONING_SCHEMA",
            sql_state="XXKDS",
            next_step="Give a value, which may be None, for each partition column.",
        )
    found = {}
    for name in columns:
        field = schema.field(name)
        kind = field.type if field is not None and isinstance(field.type, str) else "string"
        physical = name if field is None else field.physical_name
        found[physical] = _text(named[name], kind)
    return found


def _folder_values(path: str) -> dict[str, str | None]:
    folders = (part.partition("=") for part in path.split("/")[:-1])
    values = {unquote(name): unquote(text) for name, equals, text in folders if equals}
    return {name: None if text in {"", _NULL_FOLDER} else text for name, text in values.items()}


def _text(value: Any, kind: str) -> str | None:
    """A value as the log's text; texts are taken as they are."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, dt.datetime):
        plain = value.astimezone(dt.timezone.utc).replace(tzinfo=None) if value.tzinfo is not None else value
        value = (plain - _EPOCH) // dt.timedelta(microseconds=1)
    elif isinstance(value, dt.date):
        value = (value - _EPOCH.date()).days
    elif decimal_type(kind) is not None:
        value = Decimal(value)
    return serialise(value, kind)
