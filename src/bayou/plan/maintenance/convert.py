# SPDX-License-Identifier: Apache-2.0
"""Plan a CONVERT TO DELTA: which Parquet files of a folder to convert, their partition values, and their merged schema.

Sources: Spark's `PartitioningUtils` and `FileStreamSinkLog`, and delta-spark's `ConvertUtils`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bayou.errors import InvalidSchemaError, SchemaMismatchError, failed, reason
from bayou.protocol.evolution.schema_changes import COMMENT
from bayou.protocol.evolution.schema_merge import merge_schemas
from bayou.protocol.stats.file_stats import COLLATIONS
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.partition_values import NULL_FOLDER, is_string_type, parse, serialise
from bayou.protocol.types.schema import StructField, StructType
from bayou.protocol.types.sql_text import quoted_name
from bayou.protocol.types.traverse import map_fields

SINK_LOG: Final = "_spark_metadata"
"""The folder in which Spark's streaming file sink lists the files that it wrote."""

_KEPT_METADATA: Final = (COMMENT, COLLATIONS)
_ESCAPE: Final = re.compile(r"%([0-9a-fA-F]{2})")
_COMPACT: Final = ".compact"
_LONGEST_SCHEMA: Final = 20


@dataclass(frozen=True, slots=True)
class FolderRules:
    """The partition columns that the folder names (`day=2024-01-01`) must have, and the rules to parse their values.

    Attributes:
        fields: the partition columns, in the order of the folders; char and varchar are strings.
        is_declared: whether the user or a catalog declared the partition columns, or the absence of any.
        time_zone: the zone of timestamp strings without one.
        takes_any_text: whether to store a string that is not a value of its column's type, which readers then read as NULL. If
            not, it raises an error.
    """

    table: str
    fields: tuple[StructField, ...] = ()
    is_declared: bool = True
    time_zone: str = "UTC"
    takes_any_text: bool = False

    def values(self, file: str) -> dict[str, str | None]:
        """Return the partition values in a file's path, serialised as in the log.

        Args:
            file: the path, relative to the table, not percent-encoded.

        Raises:
            InvalidSchemaError: the folders do not match the partition columns, or a string is not a value of its column.
        """
        folders = partition_texts(file.rpartition("/")[0])
        if len(folders) != len(self.fields):
            raise failed(
                "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME",
                table=self.table,
                file=file,
                found=[name for name, _ in folders],
                columns=[field.name for field in self.fields],
                example=", ".join(f"{_in_sql(name)} string" for name, _ in folders),
            )
        for column, (name, _) in zip(self.fields, folders, strict=True):
            if column.name.lower() != name.lower():
                raise failed(
                    "DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME", table=self.table, file=file, column=column.name, name=name
                )
        return {column.name: self._value(column, text, file) for column, (_, text) in zip(self.fields, folders, strict=True)}

    def typed(self, texts: Mapping[str, str | None], file: str) -> dict[str, str | None]:
        """Return a catalog's partition values of a file, serialised as in the log. Raise InvalidSchemaError if one is invalid."""
        by_name = {name.lower(): text for name, text in texts.items()}
        values = ((column, by_name.get(column.name.lower())) for column in self.fields)
        return {column.name: self._value(column, None if text in {"", NULL_FOLDER} else text, file) for column, text in values}

    def _value(self, column: StructField, text: str | None, file: str) -> str | None:
        """Return the string to store in the log; None for NULL. An empty string is not a value of any type, as in Spark."""
        kind = column.type if isinstance(column.type, str) else type_text(column.type)
        if text is None or (text and is_string_type(kind)):
            return text
        value = parse(text, kind, time_zone=self.time_zone)
        if value is None:
            if self.takes_any_text and text:
                return text
            raise failed(
                "DELTA_FAILED_CAST_PARTITION_VALUE", table=self.table, file=file, column=column.name, type=kind, value=text
            )
        # Store a timestamp with its zone, because a reader may have another default zone.
        return serialise(value, kind) if kind == "timestamp" else text


def partition_texts(folder: str) -> list[tuple[str, str | None]]:
    """Return the partition columns in a folder's path, not percent-encoded, with their values as strings; None for NULL.

    The path is parsed from its end. Folders without `=` below the innermost partition folder are ignored. The first folder without
    `=` above it ends the search.
    """
    pairs: list[tuple[str, str | None]] = []
    for part in reversed(folder.split("/")):
        name, equals, text = part.partition("=")
        if equals:
            pairs.append((_unescaped(name), None if text == NULL_FOLDER else _unescaped(text)))
        elif pairs:
            break
    return pairs[::-1]


def is_hidden_folder(folder: str) -> bool:
    """Return whether a folder or a parent of it is hidden: its name begins with `_` or `.` and is not a partition (`_a=1`)."""
    return any(part.startswith(("_", ".")) and "=" not in part for part in folder.split("/"))


def is_hidden_file(name: str) -> bool:
    """Return whether a file is hidden, by the last part of its path."""
    return name.startswith(("_", "."))


def sink_log_files(names: Iterable[str]) -> list[str]:
    """Return the files to read in the log of a streaming file sink, in order: the last compaction and later batches."""
    batches = {name: number for name in names if (number := _batch_number(name)) is not None}
    compacted = max((number for name, number in batches.items() if name.endswith(_COMPACT)), default=-1)
    later = [name for name, number in batches.items() if number > compacted]
    first = [f"{compacted}{_COMPACT}"] if compacted >= 0 else []
    return first + sorted(later, key=batches.__getitem__)


def sink_files(texts: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the size in bytes and the modification time in ms of the files in a sink's log, by URI.

    Args:
        texts: the content of the files of the log, in order.

    Raises:
        ValueError: a string is not the content of such a file.
    """
    files: dict[str, tuple[int, int]] = {}
    for text in texts:
        version, _, lines = text.partition("\n")
        if version.strip() != "v1":
            raise ValueError(f"it begins with {version[:20]!r} and not with 'v1'")
        for line in filter(None, lines.splitlines()):
            entry = _entry(line)
            if entry.get("action", "add") == "delete":
                files.pop(entry["path"], None)
            elif not entry.get("isDir", False):
                files[entry["path"]] = (int(entry["size"]), int(entry["modificationTime"]))
    return files


@dataclass(slots=True)
class MergedSchema:
    """The merged schema of the files that were added so far."""

    table: str
    schema: StructType = field(default_factory=StructType)

    def add(self, schema: StructType, file: str) -> None:
        """Merge the schema of one more file, as Spark derives it from the footer.

        Raises:
            SchemaMismatchError: a column's type cannot be merged with earlier files, or a file has two columns of one name.
        """
        try:
            self.schema = merge_schemas(self.schema, map_fields(schema, _as_column), table_uri=self.table)
        except (SchemaMismatchError, InvalidSchemaError) as error:
            raise failed(
                "DELTA_FAILED_MERGE_SCHEMA_FILE", table=self.table, file=file, reason=reason(error), schema=_shown(schema)
            ) from error

    def with_partitions(self, fields: Sequence[StructField]) -> StructType:
        """Return the table's schema: a partition column replaces a column of its name in the files, or is appended."""
        by_name = {partition.name.lower(): partition for partition in fields}
        columns = [by_name.pop(column.name.lower(), column) for column in self.schema.fields]
        return StructType((*columns, *by_name.values()))


def _as_column(column: StructField) -> StructField:
    """Return the table column for a file's column: nullable, and with only the metadata that is valid for any table."""
    metadata = {key: column.metadata[key] for key in _KEPT_METADATA if key in column.metadata}
    return replace(column, nullable=True, metadata=metadata)


def _unescaped(text: str) -> str:
    """Decode Spark's escapes (`%3A`), each of which is one character, not one byte."""
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)


def _in_sql(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else quoted_name(name)


def _shown(schema: StructType) -> str:
    lines = [f"{column.name}: {type_text(column.type)}" for column in schema.fields[:_LONGEST_SCHEMA]]
    more = len(schema.fields) - len(lines)
    return "\n".join([*lines, f"and {more} more columns"] if more else lines)


def _batch_number(name: str) -> int | None:
    number = name.removesuffix(_COMPACT)
    return int(number) if number.isascii() and number.isdigit() else None


def _entry(line: str) -> dict[str, Any]:
    entry = json.loads(line)
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise ValueError(f"{line[:80]!r} does not describe a file")  # noqa: TRY004  (of what the log holds)
    return entry
