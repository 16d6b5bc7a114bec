# SPDX-License-Identifier: Apache-2.0
"""File actions as one Arrow table: one row for each `add`, `remove` and `cdc`, with the place that it was read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from bayou.checks.log_file import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bayou.checks.log_file import LogFile

FILE_KINDS: Final = ("add", "remove", "cdc")
TEXT_MAP: Final = pa.map_(pa.string(), pa.string())
VECTOR: Final = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int64()),
        ("sizeInBytes", pa.int64()),
        ("cardinality", pa.int64()),
    ]
)
_FIELDS: Final[Mapping[str, tuple[pa.DataType, type]]] = {
    "path": (pa.string(), str),
    "size": (pa.int64(), int),
    "modificationTime": (pa.int64(), int),
    "deletionTimestamp": (pa.int64(), int),
    "dataChange": (pa.bool_(), bool),
    "extendedFileMetadata": (pa.bool_(), bool),
    "stats": (pa.string(), str),
    "baseRowId": (pa.int64(), int),
    "defaultRowCommitVersion": (pa.int64(), int),
    "clusteringProvider": (pa.string(), str),
    "partitionValues": (TEXT_MAP, dict),
    "tags": (TEXT_MAP, dict),
    "deletionVector": (VECTOR, dict),
}
SCHEMA: Final = pa.schema(
    [
        ("file", pa.int32()),
        ("version", pa.int64()),
        ("line", pa.int64()),
        ("kind", pa.string()),
        *((name, kind) for name, (kind, _) in _FIELDS.items()),
        ("vectorId", pa.string()),
        ("key", pa.string()),
    ]
)
"""The columns of the table. A field of a wrong type is null here and a problem of its file. `key` identifies the logical file."""

# What no path and no id of a deletion vector contains.
_SEPARATOR: Final = "\x00"
_INT64: Final = 1 << 63


class FileRows:
    """Collects file actions of JSON files, and builds the table once."""

    def __init__(self, uri: str) -> None:
        """Begin without rows. The table's URI is what absolute paths may start with."""
        self._uri = uri
        self._places: list[tuple[LogFile, int]] = []
        self._kinds: list[str] = []
        self._values: list[Mapping[str, Any]] = []

    def append(self, file: LogFile, line: int, kind: str, value: Mapping[str, Any]) -> None:
        """Add an action."""
        self._places.append((file, line))
        self._kinds.append(kind)
        self._values.append(value)
        file.file_actions += 1

    def build(self) -> pa.Table:
        """Return the table, and note fields of a wrong type as problems of their files."""
        named = set[str]().union(*self._values)
        columns = {
            name: self._column(name) if name in named else pa.nulls(len(self._values), kind) for name, (kind, _) in _FIELDS.items()
        }
        columns |= {
            "file": pa.array([file.number for file, _ in self._places], pa.int32()),
            "version": pa.array([file.version for file, _ in self._places], pa.int64()),
            "line": pa.array([line for _, line in self._places], pa.int64()),
            "kind": pa.array(self._kinds, pa.string()),
        }
        return with_keys(columns, self._uri)

    def _column(self, name: str) -> pa.Array:
        kind, python = _FIELDS[name]
        values = [each.get(name) for each in self._values]
        convert = _CONVERTERS.get(name, _unchanged)
        if set(map(type, values)) <= {python, type(None)}:
            try:
                return convert(values, kind)
            except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
                pass
        return pa.concat_arrays([pa.array([], kind), *(self._single(name, at, value) for at, value in enumerate(values))])

    def _single(self, name: str, at: int, value: Any) -> pa.Array:
        """Return one value of a column that has values of a wrong type."""
        kind, python = _FIELDS[name]
        try:
            if value is None or type(value) is python:
                return _CONVERTERS.get(name, _unchanged)([value], kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            pass
        file, line = self._places[at]
        file.problems.append(Problem("type", f"{name} is {value!r:.80}", line, self._kinds[at]))
        return pa.nulls(1, kind)


def rows_of_struct(column: pa.ChunkedArray, file: LogFile, kind: str, uri: str, first_line: int = 1) -> pa.Table:
    """Return the file actions of a column of a checkpoint, and note fields of a wrong type as problems of the file."""
    whole = column.combine_chunks()
    whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    valid = pc.is_valid(whole)
    lines = pc.add(pc.indices_nonzero(valid).cast(pa.int64()), first_line)
    structs = whole.filter(valid)
    parts = dict(zip([each.name for each in structs.type], structs.flatten(), strict=True))
    columns = {
        "file": pa.repeat(pa.scalar(file.number, pa.int32()), len(structs)),
        "version": pa.repeat(pa.scalar(file.version, pa.int64()), len(structs)),
        "line": lines,
        "kind": pa.repeat(kind, len(structs)),
    }
    for name, (wanted, _) in _FIELDS.items():
        columns[name] = _fitted(parts.get(name), wanted, file, f"{kind}.{name}", len(structs))
    file.file_actions += len(structs)
    return with_keys(columns, uri)


def _fitted(found: pa.Array | None, wanted: pa.DataType, file: LogFile, name: str, rows: int) -> pa.Array:
    if found is None or pa.types.is_null(found.type):
        return pa.nulls(rows, wanted)
    if found.type.equals(wanted):
        return found
    try:
        if pa.types.is_struct(wanted):
            members = {each.name: part for each, part in zip(found.type, found.flatten(), strict=True)}
            parts = [_fitted(members.get(each.name), each.type, file, f"{name}.{each.name}", rows) for each in wanted]
            return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=pc.is_null(found))
        return found.cast(wanted)
    except (pa.ArrowException, ValueError):
        file.problems.append(Problem("type", f"{name} has the type {found.type}", None, name.partition(".")[0]))
        return pa.nulls(rows, wanted)


def with_keys(columns: Mapping[str, pa.Array], uri: str) -> pa.Table:
    """Return the table with the ids of deletion vectors and the keys of logical files."""
    vectors = columns["deletionVector"]
    storage, path, offset = (pc.struct_field(vectors, name) for name in ("storageType", "pathOrInlineDv", "offset"))
    suffix = pc.fill_null(pc.binary_join_element_wise("@", offset.cast(pa.string()), ""), "")
    ids = pc.binary_join_element_wise(storage, path, suffix, "")
    paths = _decoded(columns["path"], uri)
    key = pc.binary_join_element_wise(paths, pc.fill_null(ids, ""), _SEPARATOR)
    found = {**columns, "vectorId": ids, "key": key}
    return pa.table([found[each.name] for each in SCHEMA], schema=SCHEMA)


def _decoded(paths: pa.Array, uri: str) -> pa.Array:
    """Return paths relative to the table if they are in it, and without percent-encoding."""
    special = pc.or_(pc.match_substring(paths, "%"), pc.match_substring(paths, ":"))
    if not pc.any(special).as_py():
        return paths
    prefixes = (f"{uri.rstrip('/')}/", f"{unquote(uri).rstrip('/')}/", f"{unquote(uri).removeprefix('file://').rstrip('/')}/")
    return pc.replace_with_mask(
        paths,
        pc.fill_null(special, False),
        pa.array(
            [_relative(unquote(each), prefixes) for each in paths.filter(pc.fill_null(special, False)).to_pylist()], pa.string()
        ),
    )


def _relative(path: str, prefixes: Sequence[str]) -> str:
    plain = path if not path.startswith("file:/") else "/" + path.removeprefix("file:").lstrip("/")
    for each in (path, plain):
        for prefix in prefixes:
            if each.startswith(prefix):
                return each[len(prefix) :]
    return plain


def _unchanged(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind)


def _maps(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([None if each is None else list(each.items()) for each in values], kind)


def _vectors(values: list[Any], kind: pa.DataType) -> pa.Array:
    texts, numbers = ("storageType", "pathOrInlineDv"), ("offset", "sizeInBytes", "cardinality")
    for value in values:
        if value is not None and (
            any(type(value.get(name)) not in {str, type(None)} for name in texts)
            or any(type(value.get(name)) not in {int, type(None)} for name in numbers)
        ):
            msg = "a field of the deletion vector has a wrong type"
            raise TypeError(msg)
    return pa.array(values, kind)


_CONVERTERS: Final[Mapping[str, Callable[[list[Any], pa.DataType], pa.Array]]] = {
    "partitionValues": _maps,
    "tags": _maps,
    "deletionVector": _vectors,
}
EMPTY: Final = SCHEMA.empty_table()
