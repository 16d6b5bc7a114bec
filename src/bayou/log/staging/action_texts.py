# SPDX-License-Identifier: Apache-2.0
"""File actions as the log's JSON, built by Arrow from columns, without an object per file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.columns import VECTOR_JSON_NAMES, to_objects

# An Arrow array of strings holds 2 GiB, and statistics may have some ten thousand characters.
_BATCH: Final = 20_000
_CONTROL: Final = r"[\x00-\x1f]"
_ESCAPED: Final = r'["\\]'


def joined_lines(files: pa.Table, texts: Callable[[pa.Table], pa.ChunkedArray]) -> Iterator[bytes]:
    """Yield the lines of many actions, thousands per piece. Line ends separate the lines of a piece."""
    for start in range(0, files.num_rows, _BATCH):
        lines = texts(files.slice(start, _BATCH))
        yield "\n".join(lines.to_pylist()).encode("utf-8")


def parsed(pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the actions of some lines as JSON objects."""
    for piece in pieces:
        for line in piece.split(b"\n"):
            yield json.loads(line)


def number(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return integers as JSON numbers; null if the value is null."""
    return column.cast(pa.string())


def member(name: str, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a field with its comma; empty if the value is null, because the log leaves nulls out."""
    return pc.fill_null(pc.binary_join_element_wise(f',"{name}":', texts, ""), "")


def quoted(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return JSON strings; null if the value is null."""
    if pc.any(pc.match_substring_regex(column, _CONTROL)).as_py():
        texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
    if pc.any(pc.match_substring_regex(column, _ESCAPED)).as_py():
        column = pc.replace_substring(pc.replace_substring(column, "\\", "\\\\"), '"', '\\"')
    return pc.binary_join_element_wise('"', column, '"', "")


def map_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return maps of strings as JSON objects; null if the map is null."""
    return pa.chunked_array([_map_chunk(chunk) for chunk in column.chunks], pa.string())


def _map_chunk(chunk: pa.Array) -> pa.Array:
    if chunk.null_count == len(chunk):
        return pa.nulls(len(chunk), pa.string())
    items = pc.fill_null(quoted(pa.chunked_array([chunk.items])), "null")
    members = pc.binary_join_element_wise(quoted(pa.chunked_array([chunk.keys])), items, ":")
    # `keys` and `items` are the whole child arrays, to which the offsets of a slice refer.
    lists = pa.ListArray.from_arrays(chunk.offsets, pa.concat_arrays([*members.chunks, pa.array([], pa.string())]))
    objects = pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")
    return pc.if_else(pc.is_valid(chunk), objects, pa.scalar(None, pa.string()))


def vector_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return deletion vector descriptors as JSON objects; null for a file without one."""
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), pa.string())])
    texts = []
    for value in to_objects(column):
        present = None if value is None else {VECTOR_JSON_NAMES[name]: item for name, item in value.items() if item is not None}
        texts.append(None if present is None else json.dumps(present, separators=(",", ":"), ensure_ascii=False))
    return pa.chunked_array([pa.array(texts, pa.string())])
