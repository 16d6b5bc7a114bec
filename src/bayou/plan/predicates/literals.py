# SPDX-License-Identifier: Apache-2.0
"""Constants in predicates, and their conversion from Python values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bayou.errors import failed
from bayou.protocol.arguments import shown_text
from bayou.protocol.types import instants, partition_values

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NO_FLOAT = "Give a Decimal or a string: a float does not hold the decimal that was written."
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of a primitive type, with the value that `bayou.protocol.types.partition_values.parse` returns; None is NULL."""

    value: Any
    type: str


def literal(value: Any, data_type: str, *, column: str = "") -> Literal:
    """Return a constant of a column's type from a Python value.

    Strings are also accepted for dates, timestamps and decimals, in the form of partition values. A float is not accepted for a
    decimal: it is not exactly the number that was written.

    Raises:
        InvalidOptionError: the value has no meaning for the type.
    """
    if value is None:
        return Literal(None, data_type)
    try:
        converted = _converter(data_type)(value)
    except (ValueError, ArithmeticError):  # a signalling NaN, or a timestamp outside the calendar
        converted = None
    if converted is None:
        is_decimal = partition_values.decimal_type(data_type) is not None
        raise failed(
            "DELTA_ILLEGAL_OPTION/literal",
            next_step=_NO_FLOAT if isinstance(value, float) and is_decimal else None,
            option="where",
            value=value,
            shown=shown_text(value),
            type=f"{data_type} for column {column!r}" if column else data_type,
        )
    return Literal(converted, data_type)


def _converter(data_type: str) -> Callable[[Any], Any]:
    if partition_values.is_string_type(data_type):
        return lambda value: value if isinstance(value, str) else None
    if partition_values.decimal_type(data_type) is not None:
        return _decimal
    if data_type in partition_values.INTEGER_BITS:
        return lambda value: _integer(value, partition_values.INTEGER_BITS[data_type])
    return _CONVERTERS.get(data_type, lambda _: None)


def _integer(value: Any, bits: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if not math.isfinite(value) or value != int(value):
        return None
    return int(value) if -(1 << (bits - 1)) <= value < 1 << (bits - 1) else None


def _float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _float32(value: Any) -> float | None:
    converted = _float(value)
    return None if converted is None else partition_values.to_float32(converted)


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    try:
        converted = Decimal(value)
    except ArithmeticError:
        return None
    return converted if converted.is_finite() else None


def _date(value: Any) -> int | None:
    if isinstance(value, str):
        return instants.parse_date(value)
    if isinstance(value, datetime) or not isinstance(value, date):
        return None
    return value.toordinal() - _EPOCH.toordinal()


def _timestamp(value: Any) -> int | None:
    if isinstance(value, str):
        return instants.parse_timestamp(value)
    if not isinstance(value, datetime):
        return None
    return ((value if value.tzinfo else value.replace(tzinfo=timezone.utc)) - _EPOCH) // _MICROSECOND


def _timestamp_ntz(value: Any) -> int | None:
    if isinstance(value, str):
        return instants.parse_timestamp_ntz(value)
    if not isinstance(value, datetime) or value.tzinfo is not None:
        return None
    return (value.replace(tzinfo=timezone.utc) - _EPOCH) // _MICROSECOND


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "boolean": lambda value: value if isinstance(value, bool) else None,
    "binary": lambda value: bytes(value) if isinstance(value, bytes | bytearray) else None,
    "float": _float32,
    "double": _float,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_ntz,
}
