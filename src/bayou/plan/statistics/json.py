# SPDX-License-Identifier: Apache-2.0
"""Parse the JSON statistics of many files with Arrow's JSON reader, one row per string.

Arrow's reader is fast and strict: it rejects all strings because of one. Therefore a slice that it rejects is read again in small
pieces, and a piece that it rejects is parsed string by string in Python. A malformed string only affects its own file.
"""

from __future__ import annotations

import json
import math
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from bayou.protocol.arguments import is_unicode

if TYPE_CHECKING:
    from collections.abc import Iterator

_SLICE_BYTES = 64 << 20
_SLICE_ROWS = 1 << 18
_PIECES = 16
_SMALLEST_PIECE = 256
_BLOCK_BYTES = 1 << 21
_EMPTY = "{}"
# A special float as a value; inside a string the quotes would be escaped.
_QUOTED_SPECIALS = r':\s*"[+-]?(?:NaN|nan|Infinity|inf|INF)"'
_SPECIALS = {"NaN": math.nan, "Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}
_INT64_LIMIT = 1 << 63
_EXACT_BELOW = {pa.float32(): 1 << 24, pa.float64(): 1 << 53}
"""Below these limits, a whole number of the float type is exact; from there on it may be a rounded neighbour."""
_DOUBLE = pa.float64()
_WIDE = Context(prec=76, rounding=ROUND_HALF_EVEN)
_DECIMAL128_DIGITS = 38


def read_rows(texts: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    """Parse JSON objects to one row each; null, empty and invalid strings give a row of nulls.

    Args:
        schema: the members to read: bool, int64, float64, decimal128 and string, and structs of them. Other members are ignored. If
            a value does not fit its type, only this value becomes null.
    """
    tables = [_read(piece, schema) for piece in _slices(texts)]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def exact_integers(values: pa.Array) -> pa.Array:
    """Return floats that hold integers as doubles; null if one is so large that it may be rounded. Return other types unchanged."""
    limit = _EXACT_BELOW.get(values.type)
    if limit is None:
        return values
    wide = values.cast(_DOUBLE)
    return pc.if_else(pc.less(pc.abs(wide), float(limit)), wide, None)


def _slices(texts: pa.ChunkedArray) -> Iterator[pa.Array]:
    for chunk in texts.chunks:
        plain = chunk if pa.types.is_string(chunk.type) else chunk.cast(pa.string())
        average = max(1, plain.nbytes // max(1, len(plain)))
        rows = max(1, min(_SLICE_ROWS, _SLICE_BYTES // average))
        for start in range(0, len(plain), rows):
            yield _objects(plain.slice(start, rows))


def _objects(texts: pa.Array) -> pa.Array:
    """Replace each string that cannot be a JSON object by an empty object, so that joined lines give one row per string.

    A malformed string with braces at both ends cannot continue in the next line: after its last brace this would need a comma, or
    a line break inside a quoted string, which is invalid JSON. So if there are as many rows as strings, each string is one row.
    """
    texts = pc.fill_null(texts, _EMPTY)
    if pc.all(_is_braced(texts)).as_py() is not False:
        return texts
    trimmed = pc.utf8_trim(texts, " \t\r\n")
    return pc.if_else(_is_braced(trimmed), trimmed, _EMPTY)


def _is_braced(texts: pa.Array) -> pa.Array:
    return pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))


def _read(texts: pa.Array, schema: pa.Schema) -> pa.Table:
    """Parse one slice, in smaller and smaller pieces while Arrow rejects it."""
    table = _read_bulk(texts, schema)
    if table is None:
        # "NaN" is common in statistics, and Arrow rejects it. An unknown bound prunes as much as NaN or infinity.
        table = _read_bulk(pc.replace_substring_regex(texts, _QUOTED_SPECIALS, ":null"), schema)
    if table is not None:
        return table
    if len(texts) <= _SMALLEST_PIECE:
        return _read_each(texts, schema)
    rows = max(_SMALLEST_PIECE, -(-len(texts) // _PIECES))
    pieces = (texts.slice(start, rows) for start in range(0, len(texts), rows))
    return pa.concat_tables([_read(piece, schema) for piece in pieces])


def _read_bulk(texts: pa.Array, schema: pa.Schema) -> pa.Table | None:
    """Parse strings by Arrow in one call; None if it rejects one, or finds another number of rows than strings."""
    try:
        lines = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts), "\n")
        longest = pc.max(pc.binary_length(texts)).as_py() or 0
        block = max(_BLOCK_BYTES, 2 * longest)
        data = lines[0].as_buffer()
        table = pj.read_json(
            pa.BufferReader(data),
            # One block is read by one thread, and starting other threads can take long.
            read_options=pj.ReadOptions(use_threads=data.size > block, block_size=block),
            parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowException:
        return None
    return table if table.num_rows == len(texts) else None


def _read_each(texts: pa.Array, schema: pa.Schema) -> pa.Table:
    struct = pa.struct(list(schema))
    rows = [_fitted(_loads(text), struct) or {} for text in texts.to_pylist()]
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(pa.array(rows, struct))], schema)


def _loads(text: str) -> Any:
    try:
        # Decimal keeps every digit; the default would turn decimals into floats.
        return json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError, InvalidOperation):
        return None


def _fitted(value: Any, target: pa.DataType) -> Any:
    """Return the value for Arrow; None if it does not fit the type."""
    if pa.types.is_struct(target):
        if not isinstance(value, dict):
            return None
        return {field.name: _fitted(value.get(field.name), field.type) for field in target}
    if pa.types.is_boolean(target):
        return value if isinstance(value, bool) else None
    if pa.types.is_string(target):
        return value if isinstance(value, str) and is_unicode(value) else None
    if isinstance(value, bool):
        return None
    return _fitted_number(value, target)


def _fitted_number(value: Any, target: pa.DataType) -> int | float | Decimal | None:
    if pa.types.is_floating(target):
        if isinstance(value, str):
            return _SPECIALS.get(value)
        return _as_float(value) if isinstance(value, int | float | Decimal) else None
    if not isinstance(value, int | Decimal):
        return None
    if pa.types.is_decimal(target):
        return _as_decimal(value, target.scale)
    number = _integral(value)
    return number if number is not None and -_INT64_LIMIT <= number < _INT64_LIMIT else None


def _as_float(value: float | Decimal) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _as_decimal(value: int | Decimal, scale: int) -> Decimal | None:
    try:
        rounded = Decimal(value).quantize(Decimal((0, (1,), -scale)), context=_WIDE)
    except InvalidOperation:
        return None
    return rounded if rounded.adjusted() + 1 + scale <= _DECIMAL128_DIGITS else None


def _integral(value: int | Decimal) -> int | None:
    if isinstance(value, int):
        return value
    # Some writers write whole numbers with a decimal point, after a conversion to double.
    is_exact = value.is_finite() and value.copy_abs() < _EXACT_BELOW[_DOUBLE] and value == value.to_integral_value(context=_WIDE)
    return int(value) if is_exact else None
