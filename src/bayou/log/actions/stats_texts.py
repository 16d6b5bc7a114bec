# SPDX-License-Identifier: Apache-2.0
"""Statistics structs converted to JSON in bulk, for logs whose checkpoint only has `stats_parsed`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.statistics.members import Path
from bayou.protocol.types import instants
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.traverse import leaves

_EMPTY: Final = "{}"
# JSON strings must escape these characters.
_TO_ESCAPE: Final = r'[\x00-\x1f"\\]'
# Arrow formats the years 0 to 9999; the log may hold others.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_MILLIS_PER_DAY: Final = 86_400_000
_MICROS_PER_MILLISECOND: Final = 1_000


def stats_texts(texts: pa.Array, parsed: pa.Array | None, wall_clocks: frozenset[Path]) -> pa.Array:
    """Return the JSON statistics of some files, converted from the checkpoint's `stats_parsed` if the JSON is missing."""
    if parsed is None or not texts.null_count:
        return texts
    missing = pc.is_null(texts)
    return pc.replace_with_mask(texts, missing, to_texts(parsed.filter(missing), wall_clocks))


def wall_clocks(schema: StructType) -> frozenset[Path]:
    """Return the physical paths of the columns of type timestamp_ntz."""
    return frozenset(path for _, path, leaf in leaves(schema) if leaf.type == "timestamp_ntz")


def to_texts(structs: pa.Array, wall_clocks: frozenset[Path]) -> pa.Array:
    """Return the JSON object of each struct without null members; null if it would be empty.

    Timestamps are cut to milliseconds, as all writers do. Members of types without statistics are left out.

    Args:
        wall_clocks: the physical paths of the columns of type timestamp_ntz; other timestamps are in UTC, even if their type does
            not say so, like INT96.
    """
    texts = _object(structs, (), wall_clocks)
    return pc.if_else(pc.equal(texts, _EMPTY), None, texts)


def _object(structs: pa.Array, path: Path, wall_clocks: frozenset[Path]) -> pa.Array:
    members = []
    for place, each in enumerate(structs.type):
        text = _value(pc.struct_field(structs, [place]), (*path, each.name), wall_clocks)
        if text is not None:
            # Arrow loses rows if it skips nulls and every value is null, so each member brings its own comma.
            members.append(pc.fill_null(_joined(f",{json.dumps(each.name, ensure_ascii=False)}:", text), ""))
    whole = _joined("{", pc.replace_substring_regex(_joined(*members), "^,", ""), "}") if members else _EMPTY
    return pc.if_else(pc.is_valid(structs), whole, pa.scalar(None, pa.string()))


def _joined(*parts: Any) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _value(values: pa.Array, path: Path, wall_clocks: frozenset[Path]) -> pa.Array | None:
    kind = values.type
    if pa.types.is_struct(kind):
        return _object(values, path, wall_clocks)
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        return values.cast(pa.string())
    if pa.types.is_floating(kind):
        return _float_texts(values)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _string_texts(values.cast(pa.string()))
    # The first element of the path is "minValues" or "maxValues".
    return _instant_texts(values, "" if path[1:] in wall_clocks else "Z")


def _float_texts(values: pa.Array) -> pa.Array:
    texts = values.cast(pa.string())
    if pc.all(pc.is_finite(values)).as_py() is not False:
        return texts
    infinite = pc.if_else(pc.greater(values, 0), '"Infinity"', '"-Infinity"')
    return pc.if_else(pc.is_finite(values), texts, pc.if_else(pc.is_nan(values), '"NaN"', infinite))


def _string_texts(values: pa.Array) -> pa.Array:
    quoted = _joined('"', values, '"')
    odd = pc.fill_null(pc.match_substring_regex(values, _TO_ESCAPE), False)
    return _replaced(quoted, odd, values, lambda text: json.dumps(text, ensure_ascii=False))


def _instant_texts(values: pa.Array, zone: str) -> pa.Array | None:
    if values.type == pa.date32():
        return _joined('"', _date_texts(values), '"')
    if pa.types.is_timestamp(values.type) and values.type.unit != "ns":
        return _joined('"', _timestamp_texts(values), zone, '"')
    return None


def _date_texts(values: pa.Array) -> pa.Array:
    days = values.view(pa.int32())
    odd = pc.fill_null(pc.or_(pc.less(days, _FIRST_DAY), pc.greater(days, _LAST_DAY)), False)
    texts = pc.if_else(odd, 0, days).cast(pa.int32()).view(pa.date32()).cast(pa.string())
    return _replaced(texts, odd, days, instants.format_date)


def _timestamp_texts(values: pa.Array) -> pa.Array:
    """Format as ISO 8601 without a zone, with the fraction cut to milliseconds."""
    micros = values.cast(pa.timestamp("us", values.type.tz)).view(pa.int64())
    millis = pc.divide(pc.subtract(micros, _positive_rest(micros)), _MICROS_PER_MILLISECOND)
    odd = pc.or_(pc.less(millis, _FIRST_DAY * _MILLIS_PER_DAY), pc.greater_equal(millis, (_LAST_DAY + 1) * _MILLIS_PER_DAY))
    odd = pc.fill_null(odd, False)
    texts = pc.if_else(odd, 0, millis).view(pa.timestamp("ms")).cast(pa.string())
    texts = pc.replace_substring(texts, " ", "T")
    return _replaced(texts, odd, micros, lambda value: instants.format_timestamp(value, fraction_digits=3))


def _positive_rest(micros: pa.Array) -> pa.Array:
    """Return the part above the whole millisecond: division truncates towards zero, but a bound must be rounded down."""
    rest = pc.subtract(micros, pc.multiply(pc.divide(micros, _MICROS_PER_MILLISECOND), _MICROS_PER_MILLISECOND))
    return pc.if_else(pc.less(rest, 0), pc.add(rest, _MICROS_PER_MILLISECOND), rest)


def _replaced(texts: pa.Array, odd: pa.Array, values: pa.Array, write: Callable[[Any], str]) -> pa.Array:
    """Return the strings, with those of odd values written one by one."""
    if not pc.any(odd).as_py():
        return texts
    return pc.replace_with_mask(texts, odd, pa.array([write(value) for value in values.filter(odd).to_pylist()], pa.string()))
