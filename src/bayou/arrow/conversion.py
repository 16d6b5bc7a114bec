# SPDX-License-Identifier: Apache-2.0
"""The columns of a data file as the table's columns: found by name or id, cast to the table's types, NULL if they are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.arrow.old_calendar import LEAST_SURE
from bayou.arrow.types import arrow_type
from bayou.protocol.types.char_varchar import bounded_length
from bayou.protocol.types.schema import ArrayType, DataType, MapType, StructField, StructType, UserDefinedType

_FIELD_ID: Final = b"PARQUET:field_id"
_LISTS: Final = ("list<", "large_list<", "fixed_size_list<")
_EXACT_IN_DOUBLE: Final = 32
_MAX_PRECISION: Final = 38


class UnfitColumnError(Exception):
    """A file's column does not have a type that is read as the table's type. The text says which, for an error of the table."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """How the columns of one file become the table's.

    Attributes:
        by_id: whether columns are found by their field ids.
        has_old_calendar: whether early dates and timestamps are in the Julian calendar, so that they are refused.
    """

    by_id: bool
    has_old_calendar: bool = False

    def places(self, fields: Sequence[pa.Field], wanted: Sequence[StructField]) -> list[int | None]:
        """Return the positions of columns among a file's columns, or among the fields of a struct; None if one is missing.

        The time is linear, because tables can have thousands of columns.
        """
        if self.by_id:
            ids = _first_positions((each.metadata or {}).get(_FIELD_ID) for each in fields)
            return [ids.get(str(each.field_id).encode()) for each in wanted]
        names = [each.name for each in fields]
        exact, lower = _first_positions(names), _first_positions(name.lower() for name in names)
        # Spark's names are case-insensitive, and so are those of the files that other writers made for it.
        return [exact.get(each.physical_name, lower.get(each.physical_name.lower())) for each in wanted]

    def column(self, batch: pa.RecordBatch, place: int | None, wanted: StructField) -> pa.Array:
        """Return a column of the table for the rows of a batch of the file, which has it at a place of `places`."""
        if place is None:
            return pa.nulls(batch.num_rows, arrow_type(wanted.type))
        try:
            return self._array(batch.column(place), wanted.type)
        except (UnfitColumnError, pa.ArrowException) as error:
            raise UnfitColumnError(f"column {wanted.name!r}: {error}") from error

    def _array(self, found: pa.Array, kind: DataType) -> pa.Array:
        found = _plain(found)
        if pa.types.is_null(found.type):
            return pa.nulls(len(found), arrow_type(kind))
        match kind:
            case UserDefinedType(stored=stored):
                return self._array(found, stored)
            case StructType(fields) if pa.types.is_struct(found.type):
                return self._struct(found, fields)
            case ArrayType(element, _) if str(found.type).startswith(_LISTS):
                return pa.ListArray.from_arrays(_list_offsets(found), self._array(pc.list_flatten(found), element))
            case MapType(key, value, _) if pa.types.is_map(found.type):
                offsets, start, end = _map_offsets(found)
                keys, items = (self._array(part.slice(start, end - start), inner) for part, inner in _entries(found, key, value))
                return pa.MapArray.from_arrays(offsets, keys, items)
            case str():
                return self._leaf(found, kind)
        raise UnfitColumnError(f"it is {found.type} in the file, and nested in another way in the table")

    def _struct(self, found: pa.StructArray, fields: Sequence[StructField]) -> pa.Array:
        there = [found.type.field(number) for number in range(found.type.num_fields)]
        target = arrow_type(StructType(tuple(fields)))
        if not fields:
            return pa.nulls(len(found), target) if found.null_count == len(found) else pa.array([{}] * len(found), target)
        arrays = []
        for each, place in zip(fields, self.places(there, fields), strict=True):
            missing = place is None
            arrays.append(pa.nulls(len(found), arrow_type(each.type)) if missing else self._array(found.field(place), each.type))
        return pa.StructArray.from_arrays(arrays, fields=list(target), mask=found.is_null() if found.null_count else None)

    def _leaf(self, found: pa.Array, kind: str) -> pa.Array:
        target = arrow_type(kind)
        cast = _cast(found, target)
        if self.has_old_calendar and kind in LEAST_SURE:
            least = pa.scalar(LEAST_SURE[kind], pa.int32() if kind == "date" else pa.int64()).cast(target)
            if pc.any(pc.less(cast, least)).as_py():
                raise UnfitColumnError(f"it has a {kind} in the Julian calendar of an older Spark, which only Spark converts")
        return padded(cast, kind)


def _first_positions(values: Iterable[Any]) -> dict[Any, int]:
    """Return the first position of each value."""
    found: dict[Any, int] = {}
    for position, value in enumerate(values):
        found.setdefault(value, position)
    return found


def padded(values: Any, kind: DataType) -> Any:
    """Return strings, or one string of Arrow, padded to the length of their type if it is CHAR(n); other values as they are."""
    bounded = bounded_length(kind)
    return pc.utf8_rpad(values, bounded[1]) if bounded is not None and bounded[0] == "char" else values


def _plain(found: pa.Array) -> pa.Array:
    """Return the values in a plain layout: writers such as pandas and Polars note other layouts of Arrow in their files."""
    kind = found.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(found.storage)
    if pa.types.is_dictionary(kind):
        return _plain(found.dictionary_decode())
    return found


def _list_offsets(found: pa.Array) -> pa.Array:
    """Return the offsets of lists in what `list_flatten` gives, null for NULL."""
    lengths = pc.fill_null(pc.list_value_length(found), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    return _with_nulls(pa.concat_arrays([pa.array([0], pa.int32()), ends]), found)


def _map_offsets(found: pa.MapArray) -> tuple[pa.Array, int, int]:
    """Return the offsets of maps from 0 on, null for NULL, and where their entries start and end."""
    whole = found.offsets
    start, end = whole[0].as_py(), whole[len(whole) - 1].as_py()
    return _with_nulls(pc.subtract(whole, start).cast(pa.int32()), found), start, end


def _with_nulls(offsets: pa.Array, found: pa.Array) -> pa.Array:
    if not found.null_count:
        return offsets
    return pc.if_else(pa.concat_arrays([found.is_null(), pa.array([False])]), None, offsets)


def _entries(found: pa.MapArray, key: DataType, value: DataType) -> tuple[tuple[pa.Array, DataType], tuple[pa.Array, DataType]]:
    return (found.keys, key), (found.items, value)


def _cast(found: pa.Array, target: pa.DataType) -> pa.Array:
    """Return values in the table's type, if that loses nothing and readers of tables do the same."""
    kind = found.type
    if kind == target:
        return found
    if not _fits(kind, target):
        raise UnfitColumnError(f"it is {kind} in the file and {target} in the table")
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        # Readers drop what is below a microsecond; a cast would round values before 1970 up.
        found = pc.floor_temporal(found, unit="microsecond")
        return found.cast(pa.timestamp("us", kind.tz), safe=False).cast(target)
    if pa.types.is_integer(kind) and pa.types.is_decimal(target):
        return found.cast(pa.decimal128(_MAX_PRECISION, 0)).cast(target)
    return found.cast(target)


def _fits(kind: pa.DataType, target: pa.DataType) -> bool:
    types = pa.types
    if types.is_integer(kind):
        to_double = bool(target == pa.float64() and kind.bit_width <= _EXACT_IN_DOUBLE)
        return bool(types.is_integer(target) or types.is_decimal(target) or to_double)
    if _is_bytes(kind):
        return _is_bytes(target)
    if types.is_date(kind):
        return bool(types.is_date(target) or (types.is_timestamp(target) and target.tz is None))
    same = (types.is_decimal, types.is_timestamp)
    widens = types.is_floating(kind) and types.is_floating(target) and kind.bit_width < target.bit_width
    return bool(widens or any(is_of(kind) and is_of(target) for is_of in same))


def _is_bytes(kind: pa.DataType) -> bool:
    names = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return str(kind) in names or bool(pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind))
