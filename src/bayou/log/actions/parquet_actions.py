# SPDX-License-Identifier: Apache-2.0
"""Actions in a Parquet file: a checkpoint, one part of it, or a sidecar.

Writers differ in the columns they write, in how they spell maps and lists, and in what they leave out. Only the requested leaf
columns are read, and each is converted to the types of `columns`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bayou.log.actions.columns import (
    ADD_SCHEMA,
    DELETION_VECTOR,
    JSON_NAMES,
    REMOVE_SCHEMA,
    TEXT_MAP,
    VECTOR_JSON_NAMES,
    to_objects,
)
from bayou.log.actions.selection import Selection
from bayou.protocol.deletion_vectors.descriptor import REQUIRED, incomplete_descriptor
from bayou.storage.store import LogStore

_BATCH_ROWS = 65_536
# A nested array holds at most 2 GB of strings.
_BATCH_BYTES = 512 << 20

STATS_PARSED = "stats_parsed"
"""The column that `ParquetActions.batches` adds to ADD_SCHEMA if the file has it."""

# A remote file of up to this size is read whole with its footer, in one request.
_SMALL_BYTES: Final = 64 << 10


class ParquetActions:
    """One Parquet file of actions. Only the footer is kept in memory, and small remote files; each call reads its columns."""

    def __init__(self, store: LogStore, path: str) -> None:
        """Read the footer."""
        self.path = path
        self._store = store
        self._lock = threading.Lock()
        self._whole: pa.Buffer | None = None
        with self._open() as source, pq.ParquetFile(source) as file:
            self._metadata = file.metadata
            self._end = _end_of(source)  # to detect that the file was replaced
            if store.local_path(path) is None and source.size() <= _SMALL_BYTES:
                source.seek(0)
                self._whole = source.read_buffer()
        schema = self._metadata.schema
        self._leaves = {schema.column(place).path: place for place in range(len(schema))}

    @property
    def num_rows(self) -> int:
        """The number of actions."""
        return int(self._metadata.num_rows)

    def has(self, name: str) -> bool:
        """Return whether the file has a column of that dotted name, or columns under it."""
        return name in self._leaves or any(leaf.startswith(f"{name}.") for leaf in self._leaves)

    def leaf_names(self, name: str) -> list[str]:
        """Return the dotted names of the leaf columns under a column."""
        return [leaf for leaf in self._leaves if leaf == name or leaf.startswith(f"{name}.")]

    def values(self, action: str, *wanted: str) -> list[dict[str, Any]]:
        """Return the actions of one kind that have one of the `wanted` fields, as JSON-like objects."""
        fields = [name for name in wanted if f"{action}.{name}" in self._leaves]
        groups = sorted({group for name in fields for group in self._groups_with(f"{action}.{name}")})
        found = self._read([action], groups)
        if found is None:
            return []
        column = found[action]
        present = functools.reduce(pc.or_, (pc.is_valid(pc.struct_field(column, name)) for name in fields))
        return [{name: item for name, item in value.items() if item is not None} for value in to_objects(column.filter(present))]

    def load(self, names: Iterable[str]) -> Mapping[str, pa.ChunkedArray]:
        """Return columns of the live files by the names of ADD_SCHEMA; null if the file lacks one."""
        wanted = {name: self._source(name) for name in names}
        selection = self._adds
        present = [column for column in wanted.values() if self.has(column)]
        found = self._read(present, self._add_groups) if present else None
        structs = found["add"] if found is not None else None
        return {
            name: self._column(structs, name, selection) if self.has(column) else _nulls(name, selection.length)
            for name, column in wanted.items()
        }

    def structs(self, leaves: Sequence[str]) -> pa.ChunkedArray | None:
        """Return the `add` structs of the live files with only some leaf columns; None if the file has none of these."""
        present = [leaf for leaf in leaves if self.has(leaf)]
        found = self._read(present, self._add_groups) if present else None
        return None if found is None else self._adds.apply(found["add"])

    def parsed_stats(self) -> pa.ChunkedArray | None:
        """Return the statistics of the live files as structs; None if the file has no such column."""
        structs = self.structs(self.leaf_names(f"add.{STATS_PARSED}"))
        return None if structs is None else pc.struct_field(structs, STATS_PARSED)

    def batches(self, rows: int) -> Iterator[pa.Table]:
        """Yield the live files in tables of at most `rows` rows: ADD_SCHEMA, and `stats_parsed` if the file has it.

        The file is read sequentially, and nothing is cached.
        """
        if not self._add_groups:
            return
        columns = [column for name in ADD_SCHEMA.names if self.has(column := self._source(name))]
        extra = [f"add.{STATS_PARSED}"] if self.has(f"add.{STATS_PARSED}") else []
        with self._opened() as file:
            batches = file.iter_batches(self._fitting(rows), row_groups=self._add_groups, columns=columns + extra)
            for batch in batches:
                _check_texts(batch)
                structs = pa.chunked_array([batch["add"]])
                selection = Selection.of(pc.is_valid(pc.struct_field(structs, "path")))
                arrays = [
                    self._column(structs, name, selection) if self.has(self._source(name)) else _nulls(name, selection.length)
                    for name in ADD_SCHEMA.names
                ]
                arrays += [selection.apply(pc.struct_field(structs, STATS_PARSED)) for _ in extra]
                yield pa.Table.from_arrays(arrays, names=[*ADD_SCHEMA.names, *(STATS_PARSED for _ in extra)])

    def removes(self) -> pa.Table:
        """Return the tombstones, REMOVE_SCHEMA."""
        if "remove.path" not in self._leaves:
            return REMOVE_SCHEMA.empty_table()
        found = self._read(["remove"], self._groups_with("remove.path"))
        if found is None:
            return REMOVE_SCHEMA.empty_table()
        column = found["remove"]
        present = column.filter(pc.is_valid(pc.struct_field(column, "path")))
        names = {each.name for each in present.type}
        columns = [
            _canonical(pc.struct_field(present, JSON_NAMES[each.name]), each.type)
            if JSON_NAMES[each.name] in names
            else pa.chunked_array([pa.nulls(len(present), each.type)])
            for each in REMOVE_SCHEMA
        ]
        return pa.Table.from_arrays(columns, schema=REMOVE_SCHEMA)

    @functools.cached_property
    def _add_groups(self) -> list[int]:
        return self._groups_with("add.path") if "add.path" in self._leaves else []

    @functools.cached_property
    def _adds(self) -> Selection:
        found = self._read(["add.path"], self._add_groups) if self._add_groups else None
        if found is None:
            return Selection.everything(0)
        return Selection.of(pc.is_valid(pc.struct_field(found["add"], "path")))

    def _source(self, name: str) -> str:
        column = f"add.{JSON_NAMES[name]}"
        typed = f"{column}_parsed"
        return typed if name == "partition_values" and not self.has(column) and self.has(typed) else column

    def _column(self, structs: pa.ChunkedArray | None, name: str, selection: Selection) -> pa.ChunkedArray:
        wanted = ADD_SCHEMA.field(name).type
        if structs is None:
            return _nulls(name, selection.length)
        field = self._source(name).removeprefix("add.")
        values = selection.apply(pc.struct_field(structs, field))
        return _texts_of_typed(values) if field.endswith("_parsed") else _canonical(values, wanted)

    def _fitting(self, rows: int) -> int:
        """Return how many rows to read at once, so that rows with long strings stay within bounds."""
        groups = [self._metadata.row_group(group) for group in self._add_groups]
        group_bytes: int = sum(group.total_byte_size for group in groups)
        group_rows: int = sum(group.num_rows for group in groups)
        return max(1, min(rows, _BATCH_BYTES * group_rows // max(1, group_bytes)))

    def _groups_with(self, leaf: str) -> list[int]:
        """Return the row groups that can hold a value of a leaf column, by their statistics."""
        place = self._leaves[leaf]
        groups = []
        for group in range(self._metadata.num_row_groups):
            chunk = self._metadata.row_group(group).column(place)
            statistics = chunk.statistics
            if statistics is None or not statistics.has_null_count or statistics.null_count < chunk.num_values:
                groups.append(group)
        return groups

    def _read(self, columns: list[str], groups: list[int]) -> pa.Table | None:
        if not groups:
            return None
        with self._opened() as file:
            try:
                found = file.read_row_groups(groups, columns=columns)
            except pa.ArrowNotImplementedError:
                # A row group with more than 2 GB of strings does not fit one nested array; batches do.
                batches = file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=columns)
                found = pa.Table.from_batches(list(batches))
        _check_texts(found)
        return found

    @contextlib.contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        # INT96 is read as microseconds: as nanoseconds, years before 1678 and after 2261 would wrap around.
        is_remote = self._store.local_path(self.path) is None
        options = {"metadata": self._metadata, "coerce_int96_timestamp_unit": "us", "pre_buffer": is_remote}
        with self._open() as source:
            if self._whole is None and _end_of(source) != self._end:  # the footer's offsets are wrong for it
                raise OSError("another program replaced the file while it was read")
            with pq.ParquetFile(source, **options) as file:
                yield file

    def _open(self) -> Any:
        if self._whole is not None:
            return pa.BufferReader(self._whole)
        local = self._store.local_path(self.path)
        return pa.OSFile(local) if local is not None else pa.PythonFile(self._store.open(self.path), mode="r")


def _end_of(source: Any) -> tuple[int, bytes]:
    """Return the size of a file and a digest of its last bytes, which hold the footer or most of it."""
    size = source.size()
    source.seek(max(size - _SMALL_BYTES, 0))
    return size, hashlib.blake2b(source.read(_SMALL_BYTES)).digest()


def _check_texts(rows: pa.Table | pa.RecordBatch) -> None:
    """Raise ArrowInvalid if a string is not UTF-8: Arrow reads it, and Python fails on it later."""
    rows.validate(full=True)


def _nulls(name: str, length: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.nulls(length, ADD_SCHEMA.field(name).type)])


def _canonical(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if column.type == wanted and wanted != TEXT_MAP:
        return column
    if wanted == DELETION_VECTOR:
        return pa.chunked_array([_vector_chunk(chunk) for chunk in column.chunks], wanted)
    return column.cast(wanted)


def _vector_chunk(chunk: pa.Array) -> pa.Array:
    names = {each.name for each in chunk.type}
    fields = [
        pc.struct_field(chunk, VECTOR_JSON_NAMES[each.name]).cast(each.type)
        if VECTOR_JSON_NAMES[each.name] in names
        else pa.nulls(len(chunk), each.type)
        for each in DELETION_VECTOR
    ]
    # Some writers write a struct of nulls for a file without a deletion vector.
    present = functools.reduce(pc.or_, map(pc.is_valid, fields))
    lacking = [
        VECTOR_JSON_NAMES[each.name]
        for each, values in zip(DELETION_VECTOR, fields, strict=True)
        if VECTOR_JSON_NAMES[each.name] in REQUIRED and pc.any(pc.and_not(present, pc.is_valid(values))).as_py()
    ]
    if lacking:
        raise incomplete_descriptor(lacking)
    return pa.StructArray.from_arrays(fields, fields=list(DELETION_VECTOR), mask=pc.invert(present))


def _texts_of_typed(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return partition values as strings, from a file that only has typed ones."""
    names = [each.name for each in values.type]
    chunks = []
    for chunk in values.chunks:
        columns = [pc.struct_field(chunk, name).cast(pa.string()).to_pylist() for name in names]
        items = [item for row in zip(*columns, strict=True) for item in row]
        offsets = pa.array(range(0, len(items) + 1, len(names)), pa.int32())
        chunks.append(pa.MapArray.from_arrays(offsets, pa.array(names * len(chunk), pa.string()), pa.array(items, pa.string())))
    return pa.chunked_array(chunks, TEXT_MAP)
