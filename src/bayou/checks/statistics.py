# SPDX-License-Identifier: Apache-2.0
"""Statistics of data files as Arrow columns, parsed at once if all are valid, and otherwise one by one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from bayou.protocol.arguments import is_unicode

if TYPE_CHECKING:
    from bayou.checks.schema_json import Column

_INTEGERS: Final = frozenset({"byte", "short", "integer", "long"})
_TEXTS: Final = frozenset({"string", "date", "timestamp", "timestamp_ntz"})
_NOT_FINITE: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_BOUNDS: Final = ("minValues", "maxValues")
_MOST_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Leaf:
    """The statistics of one column.

    Attributes:
        column: the column.
        low: the values of `minValues`.
        high: the values of `maxValues`.
        nulls: the values of `nullCount`.
    """

    column: Column
    low: pa.Array
    high: pa.Array
    nulls: pa.Array


@dataclass(slots=True)
class Statistics:
    """The statistics of some files, one row for each.

    Attributes:
        records: `numRecords`.
        tight: `tightBounds`.
        leaves: the columns that have statistics.
        problems: the row and the reason of statistics that are not valid.
    """

    records: pa.Array
    tight: pa.Array
    leaves: list[Leaf]
    problems: list[tuple[int, str]] = field(default_factory=list)


def read_statistics(texts: pa.ChunkedArray, columns: Sequence[Column], *, is_mapped: bool) -> Statistics:
    """Parse the JSON of each row; a null row has no statistics."""
    leaves = {(each.physical_path if is_mapped else each.path): each for each in columns if each.is_leaf and not each.in_list}
    problems: list[tuple[int, str]] = []
    documents = texts.fill_null("{}")
    table = _at_once(documents, leaves)
    if table is None:
        sound = [_checked(row, text, leaves, problems) for row, text in enumerate(documents.to_pylist())]
        table = pa.Table.from_pylist(sound, schema=_schema(leaves))
    whole = {name: table[name].combine_chunks() for name in table.column_names}
    found = []
    for path, column in leaves.items():
        low, high, nulls = (_member(whole.get(name), path, len(documents)) for name in (*_BOUNDS, "nullCount"))
        if any(each.null_count < len(each) for each in (low, high, nulls)):
            found.append(Leaf(column, low, high, nulls))
    return Statistics(whole["numRecords"], whole["tightBounds"], found, problems)


def _at_once(texts: pa.ChunkedArray, leaves: Mapping[tuple[str, ...], Column]) -> pa.Table | None:
    """Return the columns of valid statistics; None if some are not valid."""
    if len(texts) == 0:
        return _schema(leaves).empty_table()
    # A line without braces can crash Arrow's reader.
    if not pc.all(pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))).as_py():
        return None
    if pc.any(pc.match_substring(texts, "\n")).as_py() or texts.nbytes > _MOST_BYTES:
        return None
    lines = pc.binary_join_element_wise(texts.combine_chunks(), "", "\n")
    data = lines.buffers()[2]
    try:
        table = pa.json.read_json(
            pa.BufferReader(data),
            read_options=pa.json.ReadOptions(block_size=data.size + 1),
            parse_options=pa.json.ParseOptions(explicit_schema=_schema(leaves), unexpected_field_behavior="ignore"),
        )
    except pa.ArrowException:
        return None
    return table if table.num_rows == len(texts) else None


def _schema(leaves: Mapping[tuple[str, ...], Column]) -> pa.Schema:
    values = {path: kind for path, column in leaves.items() if (kind := _type(column.type)) is not None}
    fields: list[tuple[str, pa.DataType]] = [("numRecords", pa.int64()), ("tightBounds", pa.bool_())]
    fields += [(name, _tree(values)) for name in _BOUNDS if values]
    if leaves:
        fields.append(("nullCount", _tree(dict.fromkeys(leaves, pa.int64()))))
    return pa.schema(fields)


def _type(kind: str) -> pa.DataType | None:
    if kind in _INTEGERS:
        return pa.int64()
    if kind in {"float", "double"} or kind.startswith("decimal"):
        return pa.float64()
    # Variants are Z85 text.
    return pa.string() if kind in _TEXTS or kind == "variant" else None


def _tree(leaves: Mapping[tuple[str, ...], pa.DataType]) -> pa.DataType:
    """Return the struct that holds a value for each path."""
    inner: dict[str, dict[tuple[str, ...], pa.DataType]] = {}
    for (name, *rest), kind in leaves.items():
        inner.setdefault(name, {})[tuple(rest)] = kind
    return pa.struct([(name, below[()] if () in below else _tree(below)) for name, below in inner.items()])


def _member(array: pa.Array | None, path: Sequence[str], rows: int) -> pa.Array:
    for name in path:
        if array is None or not pa.types.is_struct(array.type) or array.type.get_field_index(name) < 0:
            return pa.nulls(rows)
        names = [each.name for each in array.type]
        array = array.flatten()[names.index(name)]
    return pa.nulls(rows) if array is None else array


def _checked(row: int, text: str, leaves: Mapping[tuple[str, ...], Column], problems: list[tuple[int, str]]) -> Mapping[str, Any]:
    """Return the valid part of a file's statistics, and note what is not valid."""
    document = _object(row, text, problems)
    sound: dict[str, Any] = {}
    for name, python in (("numRecords", int), ("tightBounds", bool)):
        value = document.get(name)
        if type(value) is python and (python is bool or _fits(value, "long")):
            sound[name] = value
        elif value is not None:
            problems.append((row, f"{name} is {value!r:.60}"))
    for name in (*_BOUNDS, "nullCount"):
        members = document.get(name)
        if isinstance(members, dict):
            for path, column in leaves.items():
                kind = "long" if name == "nullCount" else column.type
                value = _value_at(members, path)
                if value is not None and not _fits(value, kind):
                    problems.append((row, f"{name} of {'.'.join(path)} is {value!r:.60}, and the column is {column.type}"))
                elif value is not None and not _is_not_finite(value) and _type(kind) is not None:
                    _put(sound.setdefault(name, {}), path, float(value) if _type(kind) == pa.float64() else value)
        elif members is not None:
            problems.append((row, f"{name} is {members!r:.60}"))
    return sound


def _object(row: int, text: str, problems: list[tuple[int, str]]) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        problems.append((row, f"they are not JSON: {error}"))
        return {}
    if not isinstance(document, dict):
        # The text null stands for statistics that are missing.
        problems.extend([] if document is None else [(row, "they are not an object")])
        return {}
    return document


def _value_at(members: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(members, dict):
            return None
        members = members.get(name)
    return members


def _is_not_finite(value: Any) -> bool:
    return isinstance(value, str) and value in _NOT_FINITE


def _put(members: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *parents, last = path
    for name in parents:
        members = members.setdefault(name, {})
    members[last] = value


def _fits(value: Any, kind: str) -> bool:
    wanted = _type(kind)
    if wanted is None:
        return True
    if wanted == pa.int64():
        return type(value) is int and -(1 << 63) <= value < 1 << 63
    if wanted == pa.float64():
        is_small = type(value) is int and abs(value) <= sys.float_info.max
        return type(value) is float or is_small or _is_not_finite(value)
    return isinstance(value, str) and is_unicode(value)
