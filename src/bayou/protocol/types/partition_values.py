# SPDX-License-Identifier: Apache-2.0
"""Parse and serialise partition values.

Sources: PROTOCOL.md, "Partition Value Serialization"; for parsing, Spark's cast of a string without ANSI mode (`Cast`,
`UTF8String`), which scans apply. A string that cannot be cast is NULL.

Values are plain Python values: int for integers, float, `Decimal`, str, bytes, bool. A date is an int of days since 1970-01-01, a
timestamp an int of microseconds in UTC, and a timestamp_ntz an int of microseconds of local time.
"""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import failed
from bayou.protocol.types import instants
from bayou.protocol.types.instants import JAVA_TRIMMED, TRIMMED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The characters that Spark escapes in the folder of a partition.
_ESCAPED: Final = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""Spark's folder for NULL and the empty string, which are both NULL (PROTOCOL.md, "Partition Value Serialization")."""
INTEGER_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}

_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_INTEGER = re.compile(r"([+-]?)([0-9]*)(?:\.[0-9]*)?")
_JAVA_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_JAVA_HEX_FLOAT = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_JAVA_NAN = re.compile(r"[+-]?NaN")
_INFINITIES = {"inf": math.inf, "+inf": math.inf, "infinity": math.inf, "+infinity": math.inf}
_INFINITIES |= {"-inf": -math.inf, "-infinity": -math.inf}
_JAVA_DECIMAL = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?)(?=[0-9])0*([0-9]{0,10}))?")
# Longer precisions are not valid.
_DECIMAL_TYPE = re.compile(r"decimal\(\s*(\d{1,3})\s*,\s*(-?\d{1,3})\s*\)", re.ASCII)
_STRING_TYPE = re.compile(r"string|(?:char|varchar)\(\s*\d+\s*\)|string collate .*", re.IGNORECASE)
_MAX_PRECISION = 38
_INT32_MAX = (1 << 31) - 1
_FLOAT32_DIGITS = 9
# Java writes floats from 10^-3 to below 10^7 without an exponent.
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7


def partition_folder(values: Iterable[tuple[str, str | None]]) -> str:
    """Return the folder of a partition, as Spark and Hive name it, for example `day=2026-01-01/city=A%2FB`.

    Args:
        values: the partition columns in order, each with its serialised value; None for NULL.
    """
    return "/".join(f"{escaped_name(name)}={NULL_FOLDER if text is None else escaped_name(text)}" for name, text in values)


def escaped_name(text: str) -> str:
    """Escape the name or the value of a partition column for a folder."""
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)


def decimal_type(data_type: str) -> tuple[int, int] | None:
    """Return the precision and scale of a decimal, or None for any other type; plain "decimal" has (10, 0)."""
    if data_type == "decimal":
        return 10, 0
    found = _DECIMAL_TYPE.fullmatch(data_type)
    return None if found is None else (int(found[1]), int(found[2]))


def is_string_type(data_type: str) -> bool:
    """Whether the type is string, char(n) or varchar(n), with or without a collation."""
    return _STRING_TYPE.fullmatch(data_type) is not None


def parse(text: str | None, data_type: str, *, time_zone: str = "UTC") -> Any:
    """Parse a partition value like Spark's cast; None for NULL.

    Args:
        text: the string in the log; None and "" are NULL for every type.
        data_type: the column's primitive type, as in the schema's JSON.
    """
    if not text:
        return None
    if is_string_type(data_type):
        return text
    if data_type == "timestamp":
        return instants.parse_timestamp(text, time_zone)
    decimal = decimal_type(data_type)
    if decimal is not None:
        return _parse_decimal(text, *decimal)
    if data_type in INTEGER_BITS:
        return _parse_integer(text, INTEGER_BITS[data_type])
    parser = _PARSERS.get(data_type)
    return None if parser is None else parser(text)


def serialise(value: Any, data_type: str) -> str | None:
    """Serialise a value for the log; None for NULL, and for an empty string or binary, which is read as NULL.

    Timestamps are ISO 8601 in UTC, with microseconds. Raise SchemaMismatchError for binary that is not UTF-8, and for a type that
    partition columns cannot have.
    """
    if value is None:
        return None
    if is_string_type(data_type):
        return str(value) or None
    decimal = decimal_type(data_type)
    if decimal is not None:
        return format_decimal(value, decimal[1])
    if data_type in INTEGER_BITS:
        return str(int(value))
    formatter = _FORMATTERS.get(data_type)
    if formatter is None:
        raise failed("DELTA_METADATA_MISMATCH/partition-type", type=data_type)
    return formatter(value)


def format_decimal(value: Decimal, scale: int) -> str:
    """Format a decimal without an exponent, with as many digits after the point as the scale."""
    with localcontext() as context:
        context.prec = 2 * _MAX_PRECISION
        return format(value.quantize(Decimal(1).scaleb(-scale)), "f")


def shortest_digits(value: float, data_type: str) -> str:
    """Return the fewest digits that parse to the same finite value of its type, "float" or "double"."""
    if data_type != "float":
        return repr(float(value))
    single = to_float32(value)
    candidates = (f"{single:.{digits}g}" for digits in range(1, _FLOAT32_DIGITS))
    shortest = next((text for text in candidates if to_float32(float(text)) == single), f"{single:.9g}")
    return repr(float(shortest))


def to_float32(value: float) -> float:
    """Round to a 32-bit float, or to infinity."""
    try:
        nearest: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return nearest


def _parse_boolean(text: str) -> bool | None:
    lowered = text.strip(TRIMMED).lower()
    return True if lowered in _TRUE else False if lowered in _FALSE else None


def _parse_integer(text: str, bits: int) -> int | None:
    """Parse an integer. To Spark "1.9" is 1, "." is 0, and a sign without digits is not valid."""
    trimmed = text.strip(TRIMMED)
    found = _INTEGER.fullmatch(trimmed)
    if found is None or trimmed in {"", "+", "-"}:
        return None
    digits = found[2].lstrip("0") or "0"
    limit = 1 << (bits - 1)
    if len(digits) > len(str(limit)):
        return None
    value = -int(digits) if found[1] == "-" else int(digits)
    return value if -limit <= value < limit else None


def _parse_double(text: str) -> float | None:
    trimmed = text.strip(JAVA_TRIMMED)
    number = trimmed[:-1] if trimmed[-1:] in set("fFdD") else trimmed
    if _JAVA_FLOAT.fullmatch(number):
        return float(number)
    if _JAVA_HEX_FLOAT.fullmatch(number):
        return _from_hex(number)
    if _JAVA_NAN.fullmatch(trimmed) or trimmed.lower() == "nan":
        return math.nan
    return _INFINITIES.get(trimmed.lower())


def _from_hex(number: str) -> float:
    try:
        return float.fromhex(number)
    except OverflowError:
        return -math.inf if number.startswith("-") else math.inf


def _parse_float(text: str) -> float | None:
    value = _parse_double(text)
    return None if value is None else to_float32(value)


def _parse_decimal(text: str, precision: int, scale: int) -> Decimal | None:
    """Round half up to the scale; None if the value exceeds the precision."""
    found = _JAVA_DECIMAL.fullmatch(text.strip(JAVA_TRIMMED))
    if found is None:
        return None
    sign, digits, exponent_sign, exponent_digits = found.groups()
    whole, _, fraction = digits.partition(".")
    exponent = int(f"{exponent_sign or ''}{exponent_digits or 0}") - len(fraction)
    unscaled = (whole + fraction).lstrip("0") or "0"
    # The scale of a BigDecimal is an int, and Spark refuses numbers with too many digits before the point.
    if abs(exponent) > _INT32_MAX or len(unscaled) + exponent > _MAX_PRECISION:
        return None
    rounded = _shift_half_up(unscaled, exponent + scale)
    if rounded >= 10**precision:
        return None
    return Decimal(-rounded if sign == "-" else rounded).scaleb(-scale, _WIDE)


def _shift_half_up(digits: str, shift: int) -> int:
    if shift >= 0:
        return int(digits) * 10 ** min(shift, 2 * _MAX_PRECISION) if digits != "0" else 0
    if -shift > len(digits):
        return 0
    kept = digits[: len(digits) + shift] or "0"
    return int(kept) + (digits[len(digits) + shift] >= "5")


def _format_float(value: float, data_type: str) -> str:
    """Format like Java's `Double.toString` and `Float.toString`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    digits = shortest_digits(value, data_type)
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        plain = format(Decimal(digits), "f")
        return plain if "." in plain else f"{plain}.0"
    number = Decimal(digits).normalize(_WIDE)
    significand = "".join(map(str, number.as_tuple().digits))
    sign = "-" if value < 0 else ""
    return f"{sign}{significand[0]}.{significand[1:] or '0'}E{number.adjusted()}"


def _format_binary(value: bytes) -> str | None:
    try:
        return bytes(value).decode("utf-8") or None
    except UnicodeDecodeError as error:
        raise failed("DELTA_METADATA_MISMATCH/binary-partition", reason=str(error)) from error


def _wide_context() -> Any:
    with localcontext() as context:
        context.prec = 2 * _MAX_PRECISION
        return context.copy()


_WIDE = _wide_context()

_PARSERS: dict[str, Callable[[str], Any]] = {
    "boolean": _parse_boolean,
    "float": _parse_float,
    "double": _parse_double,
    "binary": lambda text: text.encode("utf-8", "surrogatepass"),
    "date": instants.parse_date,
    "timestamp_ntz": instants.parse_timestamp_ntz,
}

_FORMATTERS: dict[str, Callable[[Any], str | None]] = {
    "boolean": lambda value: "true" if value else "false",
    "float": lambda value: _format_float(value, "float"),
    "double": lambda value: _format_float(value, "double"),
    "binary": _format_binary,
    "date": instants.format_date,
    "timestamp": lambda value: f"{instants.format_timestamp(value)}Z",
    "timestamp_ntz": lambda value: instants.format_timestamp(value, " "),
}
