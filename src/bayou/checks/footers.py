# SPDX-License-Identifier: Apache-2.0
"""Parquet footers of data files: the columns, their field ids, and what the file says of its values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from bayou.protocol.types.partition_values import decimal_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow.parquet as pq

_FIELD_ID: Final = b"PARQUET:field_id"
_GREGORIAN: Final = date(1582, 10, 15)
_INTEGERS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}


@dataclass(frozen=True, slots=True)
class FooterColumn:
    """A column of a data file, at any depth.

    Attributes:
        kind: its type.
        field_id: its id; None if it has none.
    """

    kind: pa.DataType
    field_id: int | None


@dataclass(slots=True)
class Values:
    """What the row groups say of a column together.

    Attributes:
        low: the minimum; None if a row group has none.
        high: the maximum; None if a row group has none.
        nulls: the number of nulls; None if a row group does not state it.
    """

    low: Any = None
    high: Any = None
    nulls: int | None = 0


@dataclass(frozen=True, slots=True)
class Footer:
    """The footer of a data file.

    Attributes:
        rows: the number of rows.
        columns: the columns by path; the parts of arrays and maps are left out.
        values: what is known of the values of each leaf outside arrays and maps.
        int96: the dotted names of the timestamps of 96 bits, those in arrays and maps included.
    """

    rows: int
    columns: Mapping[tuple[str, ...], FooterColumn]
    values: Mapping[tuple[str, ...], Values] = field(default_factory=dict)
    int96: tuple[str, ...] = ()


def read_footer(metadata: pq.FileMetaData) -> Footer:
    """Return what a footer says."""
    schema = metadata.schema.to_arrow_schema()
    columns = dict(_columns(schema, ()))
    # `path_in_schema` joins names with dots, which names may contain, too.
    leaves = [leaf for each in schema for leaf in _leaves(each.type, (each.name,))]
    leaves = leaves if len(leaves) == metadata.num_columns else []  # a type that Arrow does not have
    values: dict[tuple[str, ...], Values] = {}
    for group in range(metadata.num_row_groups):
        for place, path in enumerate(leaves):
            if path is not None:
                chunk = metadata.row_group(group).column(place)
                _add(values, path, chunk.statistics if chunk.is_stats_set else None, is_first=group == 0)
    physical = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    int96 = tuple(each.path for each in physical if each.physical_type == "INT96")
    return Footer(metadata.num_rows, columns, values, int96)


def _leaves(kind: pa.DataType, path: tuple[str, ...] | None) -> Iterator[tuple[str, ...] | None]:
    """Yield the path of each Parquet column of a type, in their order; None for the parts of arrays and maps."""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    if pa.types.is_struct(kind):
        for each in kind:
            yield from _leaves(each.type, None if path is None else (*path, each.name))
    elif pa.types.is_map(kind):
        yield from _leaves(kind.key_type, None)
        yield from _leaves(kind.item_type, None)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _leaves(kind.value_type, None)
    else:
        yield path


def _columns(fields: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], FooterColumn]]:
    for each in fields:
        path = (*above, each.name)
        text = (each.metadata or {}).get(_FIELD_ID)
        yield path, FooterColumn(each.type, None if text is None else int(text))
        if pa.types.is_struct(each.type):
            yield from _columns(each.type, path)


def _add(values: dict[tuple[str, ...], Values], path: tuple[str, ...], found: Any, *, is_first: bool) -> None:
    known = values.setdefault(path, Values())
    nulls = found.null_count if found is not None and found.has_null_count else None
    known.nulls = None if nulls is None or known.nulls is None else known.nulls + nulls
    bounds = (found.min, found.max) if found is not None and found.has_min_max else (None, None)
    if is_first:
        known.low, known.high = bounds
    else:
        known.low = None if bounds[0] is None or known.low is None else min(known.low, bounds[0])
        known.high = None if bounds[1] is None or known.high is None else max(known.high, bounds[1])


def fits(kind: pa.DataType, wanted: Any) -> bool:
    """Whether a column of a file can be read as a type of the schema, widened if necessary."""
    if not isinstance(wanted, str):
        name = wanted.get("type") if isinstance(wanted, dict) else None
        nested = {"struct": pa.types.is_struct, "array": pa.types.is_list, "map": pa.types.is_map}
        return bool(nested[name](kind)) if name in nested else True
    if wanted in _INTEGERS:
        return bool(pa.types.is_signed_integer(kind) and kind.bit_width <= _INTEGERS[wanted])
    decimal = decimal_type(wanted)
    if decimal is not None:
        is_narrower = (
            pa.types.is_decimal(kind) and kind.scale <= decimal[1] and kind.precision - kind.scale <= decimal[0] - decimal[1]
        )
        return bool(is_narrower or pa.types.is_signed_integer(kind))
    return bool(_PRIMITIVES[wanted](kind)) if wanted in _PRIMITIVES else True


def _is_text(kind: pa.DataType) -> bool:
    return any(each(kind) for each in _TEXTS)


def _is_double(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind)) or fits(kind, "integer")


def _is_local(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def is_adjusted(kind: pa.DataType) -> bool | None:
    """Whether a timestamp is adjusted to UTC; None for other types and for 96 bits, which have no flag."""
    # Timestamps of 96 bits have nanoseconds.
    return kind.tz is not None if pa.types.is_timestamp(kind) and kind.unit != "ns" else None


_TEXTS: Final = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary),
)
_PRIMITIVES: Final = {
    "string": _is_text,
    "binary": _is_text,
    "boolean": pa.types.is_boolean,
    "float": pa.types.is_float32,
    "double": _is_double,
    "date": pa.types.is_date,
    "timestamp": pa.types.is_timestamp,
    "timestamp_ntz": _is_local,
}


def as_bound(value: Any, kind: str) -> Any:
    """Return a minimum or maximum of a footer as the statistics of the log have it; None if they are not compared."""
    if kind in _INTEGERS and isinstance(value, int):
        return value
    if kind in {"float", "double"} and isinstance(value, (int, float)):
        return float(value)
    if kind == "date" and isinstance(value, date):
        # Earlier dates may be of the Julian calendar.
        return value.isoformat() if value >= _GREGORIAN else None
    return value if kind == "string" and isinstance(value, str) else None
