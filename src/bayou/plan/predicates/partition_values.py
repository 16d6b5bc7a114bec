# SPDX-License-Identifier: Apache-2.0
"""Partition values of many files: the log's strings as typed Arrow arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.protocol.types import partition_values

if TYPE_CHECKING:
    from collections.abc import Callable

_ARROW_TYPES: dict[str, pa.DataType] = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
    "null": pa.null(),
}
_MAX_PRECISION = 38


def arrow_type(data_type: str) -> pa.DataType:
    """Return the Arrow type of a primitive type, or raise InvalidSchemaError if a partition column cannot have the type."""
    if partition_values.is_string_type(data_type):
        return pa.string()
    decimal = partition_values.decimal_type(data_type)
    if decimal is not None and 0 <= decimal[1] <= decimal[0] <= _MAX_PRECISION:
        return pa.decimal128(*decimal)
    found = _ARROW_TYPES.get(data_type)
    if found is None:
        raise failed("DELTA_SCHEMA_NOT_SET/partition-type", type=data_type)
    return found


def to_arrow(texts: pa.ChunkedArray | pa.Array, data_type: str, *, time_zone: str = "UTC") -> pa.Array:
    """Return the typed values of partition strings, aligned with them; NULL for null, "" and what cannot be cast.

    Each distinct string is parsed once. A type that partition columns cannot have is an InvalidSchemaError.
    """
    target = arrow_type(data_type)
    if pa.types.is_null(target):
        return pa.nulls(len(texts))
    if pa.types.is_string(target):
        plain = _combined(texts).cast(pa.string())
        return pc.if_else(pc.equal(plain, ""), None, plain)
    return parse_distinct(texts, target, lambda text: partition_values.parse(text, data_type, time_zone=time_zone))


def parse_distinct(texts: pa.ChunkedArray | pa.Array, target: pa.DataType, parse: Callable[[str], Any]) -> pa.Array:
    """Apply a parser once to each distinct string; null if it returns None."""
    encoded = _combined(texts)
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode()
    values = pa.array([None if text is None else parse(text) for text in encoded.dictionary.to_pylist()], target)
    return values.take(encoded.indices)


def _combined(texts: pa.ChunkedArray | pa.Array) -> pa.Array:
    if not isinstance(texts, pa.ChunkedArray):
        return texts
    combined = texts.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
