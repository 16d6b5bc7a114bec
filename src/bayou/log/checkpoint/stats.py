# SPDX-License-Identifier: Apache-2.0
"""The statistics of checkpointed files: `stats_parsed` from JSON or from an older `stats_parsed`.

Whatever cannot be read becomes null for its file or value only: statistics never make a checkpoint fail.

Source: delta-spark's `StatisticsCollection` (`statsSchema`) for the members of the struct.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import InvalidSchemaError
from bayou.plan.predicates.partition_values import arrow_type
from bayou.plan.statistics.json import exact_integers, read_rows
from bayou.plan.statistics.members import TEXT_PARSERS, column_members, one_array, parsed_texts
from bayou.protocol.stats.file_stats import IndexedLeaf

_NUM_RECORDS: Final = "numRecords"
_JSON_DECIMAL_DIGITS: Final = 38


def stats_type(leaves: Iterable[IndexedLeaf], *, tight_bounds: bool) -> pa.StructType:
    """Return the type of `stats_parsed`, with `tightBounds` if the table may have deletion vectors."""
    wanted = list(leaves)
    bounds = {leaf.path: bound for leaf in wanted if (bound := _bound_type(leaf)) is not None}
    members = [(_NUM_RECORDS, pa.int64()), *column_members(bounds, (leaf.path for leaf in wanted))]
    if tight_bounds:
        members.append(("tightBounds", pa.bool_()))
    return pa.struct(members)


def parsed_stats(texts: pa.Array, parsed: pa.Array | None, target: pa.StructType) -> pa.Array:
    """Return the `stats_parsed` of some files; null if nothing is known."""
    if parsed is None:
        return _from_texts(texts, target)
    known = _conformed(parsed, target, len(texts))
    wanted = pc.is_valid(texts)
    if _has_all(parsed.type, target):
        # The struct repeats the JSON; few files only have JSON.
        wanted = pc.and_(wanted, pc.is_null(pc.struct_field(known, _NUM_RECORDS)))
    if not pc.any(wanted).as_py():
        return known
    from_texts = _from_texts(pc.if_else(wanted, texts, None), target)
    return pc.if_else(pc.is_valid(from_texts), from_texts, known)


def _bound_type(leaf: IndexedLeaf) -> pa.DataType | None:
    if not leaf.has_bounds or not isinstance(leaf.field.type, str):
        return None
    try:
        return arrow_type(leaf.field.type)
    except InvalidSchemaError:
        return None


def _from_texts(texts: pa.Array, target: pa.StructType) -> pa.Array:
    rows = read_rows(pa.chunked_array([texts]), pa.schema([(each.name, _json_type(each.type)) for each in target]))
    arrays = [one_array(column) for column in rows.columns]
    members = [_conformed(array, each.type, len(texts)) for array, each in zip(arrays, target, strict=True)]
    return pa.StructArray.from_arrays(members, fields=list(target), mask=_all_null(arrays))


def _all_null(arrays: list[pa.Array]) -> pa.Array:
    mask = pc.is_null(arrays[0])
    for array in arrays[1:]:
        mask = pc.and_(mask, pc.is_null(array))
    return mask


def _json_type(target: pa.DataType) -> pa.DataType:
    """Return the type for Arrow's JSON reader, wide enough to detect values beyond the target type."""
    if pa.types.is_struct(target):
        return pa.struct([(each.name, _json_type(each.type)) for each in target])
    if pa.types.is_integer(target):
        return pa.int64()
    if pa.types.is_floating(target):
        return pa.float64()
    if pa.types.is_decimal(target):
        return pa.decimal128(_JSON_DECIMAL_DIGITS, target.scale)
    return pa.bool_() if pa.types.is_boolean(target) else pa.string()


def _has_all(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a type has every leaf of another, with the same types. INT96 has no zone, and means UTC."""
    if pa.types.is_timestamp(target):
        return source in (target, pa.timestamp("us"))
    if not pa.types.is_struct(target):
        return bool(source == target)
    if not pa.types.is_struct(source):
        return False
    found = {each.name: each.type for each in source}
    return all(each.name in found and _has_all(found[each.name], each.type) for each in target)


def _conformed(values: pa.Array | None, target: pa.DataType, size: int) -> pa.Array:
    """Convert values to a type; null if they are missing or do not fit."""
    if values is None:
        return pa.nulls(size, target)
    if pa.types.is_struct(target):
        return _conformed_struct(values, target, size)
    if pa.types.is_decimal(values.type) and pa.types.is_decimal(target) and values.type.scale == target.scale:
        return _within_precision(values, min(values.type.precision, target.precision)).cast(target)
    if values.type == target:
        return values
    if pa.types.is_string(values.type) and target in TEXT_PARSERS:
        return parsed_texts(values, target)
    return _cast(values, target)


def _conformed_struct(values: pa.Array, target: pa.StructType, size: int) -> pa.Array:
    if not pa.types.is_struct(values.type):
        return pa.nulls(size, target)
    places = {each.name: place for place, each in enumerate(values.type)}
    members = [
        _conformed(pc.struct_field(values, [places[each.name]]) if each.name in places else None, each.type, size)
        for each in target
    ]
    return pa.StructArray.from_arrays(members, fields=list(target), mask=pc.is_null(values))


def _within_precision(values: pa.Array, digits: int) -> pa.Array:
    """Return decimals of at most `digits` digits; Arrow's JSON reader accepts whatever 128 bits hold."""
    nines = (9,) * digits
    low, high = (pa.scalar(Decimal((sign, nines, -values.type.scale)), values.type) for sign in (1, 0))
    return pc.if_else(pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high)), values, None)


def _cast(values: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_integer(target):
        values = exact_integers(values)
    try:
        # A double is rounded to the nearest float: the log has the float's digits.
        return values.cast(target, safe=not pa.types.is_floating(target))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _cast_fitting(values, target)


def _cast_fitting(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Cast each distinct value separately, so that only values that do not fit are lost."""

    def fitted(value: pa.Array) -> pa.Array:
        try:
            return value.cast(target)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return pa.nulls(1, target)

    try:
        encoded = values.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return pa.nulls(len(values), target)
    distinct = [fitted(encoded.dictionary.slice(place, 1)) for place in range(len(encoded.dictionary))]
    return pa.concat_arrays([*distinct, pa.array([], target)]).take(encoded.indices)
