# SPDX-License-Identifier: Apache-2.0
"""Parquet files of another program as `add` actions: checked against the table, with statistics from their footers."""

from __future__ import annotations

import datetime as dt
import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.errors import failed
from bayou.log.staging.footer_statistics import bounds_of, columns_of, facts_of
from bayou.protocol import arguments
from bayou.protocol.actions import paths as encoded_paths
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol
from bayou.protocol.features.features import check_takes_files
from bayou.protocol.stats.file_stats import indexed_leaves
from bayou.protocol.types.partition_values import INTEGER_BITS, NULL_FOLDER, decimal_type, is_string_type, parse, serialise
from bayou.protocol.types.schema import ArrayType, DataType, MapType, StructField, StructType, UserDefinedType, parse_schema

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.storage.store import LogStore

_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001  (the type distinguishes wall clocks from UTC)
# Spark does not read nanoseconds, and the protocol does not name them.
_UNITS: Final = ("ms", "us")
_ARROW: Final[Mapping[str, tuple[Any, ...]]] = {
    "long": (pa.types.is_int64,),
    "integer": (pa.types.is_int32,),
    # A plain INT32 could hold values outside their range, which a reader would truncate.
    "short": (pa.types.is_int16,),
    "byte": (pa.types.is_int8,),
    "boolean": (pa.types.is_boolean,),
    "float": (pa.types.is_float32,),
    "double": (pa.types.is_float64,),
    "binary": (pa.types.is_binary, pa.types.is_large_binary),
    "date": (pa.types.is_date32,),
    "timestamp": (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None and kind.unit in _UNITS,),
    "timestamp_ntz": (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None and kind.unit in _UNITS,),
}
_NEXT_STEP_NANOSECONDS: Final = "Write timestamps with milliseconds or microseconds: Spark reads no others."
_MOMENTS: Final = ("timestamp", "timestamp_ntz")
# The types with their own string form; all others use Python's `str`.
_SERIALISED: Final = ("float", "double", "binary")
# The types for which equal bounds in a footer, or a string, do not determine one value.
_UNSURE: Final = ("float", "double", "timestamp")


def describe_files(
    store: LogStore,
    table: str,
    metadata: Metadata,
    paths: Sequence[str],
    partition_values: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[AddFile]:
    """Return the `add` actions of files that are in the table's folder already; reads one footer each.

    Args:
        partition_values: the values by path and logical column name, typed or as the log's strings. If None, the path's folders
            (`day=2024-01-01/`) state them.

    Raises:
        DataFileNotFoundError: a file does not exist.
        InvalidCommitError: a path leaves the table, a file is not a Parquet file, or its partition values are unknown.
        SchemaMismatchError: a file's columns are not the table's.
    """
    schema = parse_schema(metadata.schema_string)
    leaves = indexed_leaves(schema, metadata.configuration, metadata.partition_columns)
    now = int(time.time() * 1000)
    partitions = _partition_fields(schema, metadata.partition_columns)
    given_values = None if partition_values is None else _given_values(partition_values, table)
    adds = []
    for path in paths:
        _check_path(store, table, path, [each for field in partitions for each in (field.physical_name, field.name)])
        footer, size = _footer(store, table, path)
        _check_columns(schema, partitions, columns_of(footer), table, path)
        given = None if given_values is None else given_values.get(path, {})
        values = _values(partitions, path, given, table)
        _check_held(footer, partitions, values, table, path)
        adds.append(
            AddFile(
                path=encoded_paths.encode(path),
                partition_values=values,
                size=size,
                modification_time=now,
                stats=facts_of(footer, leaves).stats,
            )
        )
    return adds


def _given_values(values: Mapping[str, Mapping[str, Any]], table: str) -> dict[str, dict[str, Any]]:
    by_path = arguments.mapping(values, "partition_values", table)
    return {path: arguments.mapping(each, f"partition_values[{path!r}]", table) for path, each in by_path.items()}


def metadata_for_files(staged: Sequence[object], snapshot: Snapshot | None, table: str) -> Metadata:
    """Return the metadata of the table that a transaction adds files to.

    Args:
        snapshot: the snapshot that it reads; None if it creates the table.

    Raises:
        InvalidCommitError: the table does not exist, and the transaction has not staged its metadata.
        UnsupportedFeatureError: the table has requirements for each row that a file does not show.
    """
    metadata = next((each for each in staged if isinstance(each, Metadata)), None if snapshot is None else snapshot.metadata)
    protocol = next((each for each in staged if isinstance(each, Protocol)), None if snapshot is None else snapshot.protocol)
    if metadata is None:
        raise failed("DELTA_METADATA_ABSENT/staged", table=table)
    check_takes_files(protocol, metadata, table, None if snapshot is None else snapshot.version)
    return metadata


def _partition_fields(schema: StructType, columns: Sequence[str]) -> list[StructField]:
    found = ((name, schema.field(name)) for name in columns)
    return [StructField(name, "string") if field is None else field for name, field in found]


def _check_path(store: LogStore, table: str, path: str, partitions: Sequence[str]) -> None:
    """Check that a path leads to a file in the table's folder that no engine treats as hidden."""
    why = ""
    if path.startswith(("/", "..")) or posixpath.normpath(path) != path or "://" in path:
        why = "is not the path of a data file under the table"
    elif "\0" in path:
        why = "is not a path, because it has a NUL"
    elif any(_is_hidden(part, partitions) for part in path.split("/")):
        why = "is not the path of a data file, because VACUUM and other engines skip names that begin with '_' or '.'"
    else:
        root, place = store.local_path(""), store.local_path(path)
        if root is not None and place is not None and not Path(place).resolve().is_relative_to(Path(root).resolve()):
            why = "is not the path of a data file under the table, because a link leads out of it"
    if why:
        raise failed("DELTA_INVALID_PATH", table=table, file=path, problem=why)


def _is_hidden(part: str, partitions: Sequence[str]) -> bool:
    """Return whether engines skip a name, unless it is a partition folder.

    Source: delta-spark, `DeltaTableUtils.isHiddenDirectory`.
    """
    return part.startswith(("_", ".")) and not part.startswith(tuple(f"{name}=" for name in partitions))


def _footer(store: LogStore, table: str, path: str) -> tuple[pq.FileMetaData, int]:
    try:
        with store.open(path) as source:
            return pq.read_metadata(source), store.size(path)
    except FileNotFoundError as error:
        raise failed("DELTA_FILE_NOT_FOUND_DETAILED/added", table=table, file=path) from error
    except (pa.ArrowException, UnicodeDecodeError) as error:  # the latter if a column name is not UTF-8
        raise failed("DELTA_FAILED_READ_FILE_FOOTER/added", table=table, file=path, reason=str(error)) from error


def _check_columns(schema: StructType, partitions: Sequence[StructField], found: pa.Schema, table: str, path: str) -> None:
    """Check that a file has the table's columns; it may hold partition columns, which readers ignore."""
    by_name = {field.physical_name: field for field in schema.fields}
    held = {field.physical_name: by_name.pop(field.physical_name, field) for field in partitions}
    problems = list(_differences(by_name, [each for each in found if each.name not in held], ""))
    for each in found:
        if each.name in held:
            problems.extend(_type_differences(held[each.name].type, each.type, each.name))
    if problems:
        raise failed(
            "DELTA_METADATA_MISMATCH/file-columns",
            table=table,
            file=path,
            next_step=_NEXT_STEP_NANOSECONDS if "[ns" in "".join(problems) else None,
            problems=problems,
        )


def _check_held(
    footer: pq.FileMetaData, partitions: Sequence[StructField], values: Mapping[str, str | None], table: str, path: str
) -> None:
    """Check that a partition column in a file has the partition value of the log."""
    for field in partitions:
        kind = field.type if isinstance(field.type, str) else "string"
        bounds = None if kind in _UNSURE else bounds_of(footer, field.physical_name, kind)
        text = values[field.physical_name]
        if bounds is not None and not _agrees(bounds, parse(text, kind), kind):
            raise failed(
                "DELTA_INVALID_PARTITIONING_SCHEMA/rows",
                table=table,
                file=path,
                column=field.name,
                least=bounds[0],
                greatest=bounds[1],
                value=text,
            )


def _agrees(bounds: tuple[Any, Any], value: Any, kind: str) -> bool:
    low, high = bounds
    if value is None:
        return False
    # Writers truncate the bounds of long strings.
    return bool(low <= value <= high if is_string_type(kind) or kind == "binary" else low == value == high)


def _differences(fields: Mapping[str, StructField], found: Sequence[pa.Field] | pa.Schema, parent: str) -> Iterator[str]:
    present = set()
    for each in found:
        name = f"{parent}{each.name}"
        present.add(each.name)
        field = fields.get(each.name)
        if field is None:
            yield f"{name} is not a column of the table"
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
        case UserDefinedType(stored=stored):
            yield from _type_differences(stored, found, name)
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


def _values(partitions: Sequence[StructField], path: str, given: Mapping[str, Any] | None, table: str) -> dict[str, str | None]:
    named = _folder_values(path) if given is None else dict(given)
    columns = [field.name for field in partitions]
    missing = [name for name in columns if name not in named]
    if missing or (given is not None and len(named) > len(columns)):
        raise failed("DELTA_INVALID_PARTITIONING_SCHEMA/file", table=table, file=path, names=sorted(named), columns=columns)
    found = {}
    for field in partitions:
        kind = field.type if isinstance(field.type, str) else "string"
        try:
            found[field.physical_name] = _text(named[field.name], kind)
        except (ValueError, TypeError, ArithmeticError) as error:
            shown = arguments.shown_text(named[field.name])
            raise failed(
                "DELTA_PARTITION_COLUMN_CAST_FAILED", table=table, file=path, column=field.name, type=kind, value=shown
            ) from error
    return found


def _folder_values(path: str) -> dict[str, str | None]:
    folders = (part.partition("=") for part in path.split("/")[:-1])
    values = {unquote(name): unquote(text) for name, equals, text in folders if equals}
    return {name: None if text in {"", NULL_FOLDER} else text for name, text in values.items()}


def _text(value: Any, kind: str) -> str | None:
    """Return a value, typed or a string, as the log's string, or raise ValueError if it is not exactly a value of the type."""
    text = _as_text(value, kind)
    if not text:
        return None
    if is_string_type(kind):
        return text.encode("utf-8").decode("utf-8")
    found = parse(text, kind)
    exact = kind not in INTEGER_BITS and decimal_type(kind) is None
    if found is None or not (exact or Decimal(text.strip()) == found):
        raise ValueError(text)
    # A timestamp without a zone is in its reader's zone.
    return text if kind == "timestamp" else serialise(found, kind)


def _as_text(value: Any, kind: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and decimal_type(kind) is not None:
        raise ValueError(value)  # a float is not exactly the decimal that was written
    if isinstance(value, dt.datetime) and kind in _MOMENTS:
        plain = value.astimezone(dt.timezone.utc).replace(tzinfo=None) if value.tzinfo is not None else value
        return serialise((plain - _EPOCH) // dt.timedelta(microseconds=1), kind)
    if isinstance(value, dt.date) and kind in (*_MOMENTS, "date"):
        if isinstance(value, dt.datetime) or kind != "date":
            raise ValueError(value)
        return serialise((value - _EPOCH.date()).days, kind)
    return serialise(value, kind) if kind in _SERIALISED else str(value)
