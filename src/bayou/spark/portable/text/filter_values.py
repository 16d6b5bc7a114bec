# SPDX-License-Identifier: Apache-2.0
"""Convert the literals of a condition to constants that statistics can be compared with.

Spark casts both sides of a comparison to a common type. A literal is converted only if that cast keeps the values of the column and
their order, so that the comparison of the column's own values with the constant has the same result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from bayou.plan.predicates.predicate import Literal as Constant
from bayou.protocol.types import instants, partition_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.portable.text.tree import Literal

INTEGRAL: Final = ("byte", "short", "integer", "long")
_DIGITS: Final = {"byte": 3, "short": 5, "integer": 10, "long": 20}
"""The precisions of the decimals that Spark casts integers to."""
MAX_PRECISION: Final = 38
_EXACT_FLOAT: Final = 1 << 24
"""All integers up to this one are floats."""
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIMESTAMP: Final = re.compile(r"(\d{4})-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?P<zone>Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_SETTLED_YEARS: Final = range(1970, 2038)
"""The years for which all databases of time zones agree."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND: Final = timedelta(microseconds=1)


ZONE: Final = "spark.sql.session.timeZone"


def zone_of(settings: Mapping[str, str]) -> str | None:
    """Return the zone in which a session reads times; None if it does not say, or compares them otherwise than by default."""
    is_usual = settings.get("spark.sql.timestampType", "").upper() in ("", "TIMESTAMP_LTZ")
    compares_strings = settings.get("spark.sql.legacy.typeCoercion.datetimeToString.enabled", "false").lower() == "true"
    return settings.get(ZONE) if is_usual and not compares_strings else None


@dataclass(frozen=True, slots=True)
class Values:
    """The conversion of literals for columns of any type.

    Attributes:
        time_zone: the session's time zone; None if it is not known. Then no literal that depends on it is converted.
    """

    time_zone: str | None = None

    def constant(self, literal: Literal, column_type: str) -> Constant | None:
        """Return the constant that a column is compared with; None if the comparison is not certain to mean the same.

        Args:
            literal: a literal of any type.
            column_type: the column's primitive type.
        """
        value = literal.value
        if literal.type == "void" or value is None:
            return Constant(None, column_type)
        if column_type in INTEGRAL:
            return Constant(value, literal.type) if literal.type in INTEGRAL else None
        if column_type in ("float", "double"):
            return _fraction(literal)
        decimal = partition_values.decimal_type(column_type)
        if decimal is not None:
            return _decimal(literal, *decimal)
        if column_type in ("string", "boolean"):
            return Constant(value, column_type) if literal.type == column_type else None
        return self._time(literal, column_type)

    def _time(self, literal: Literal, column_type: str) -> Constant | None:
        value: int | None = None
        match column_type:
            case "date" if literal.type in ("date", "string"):
                value = _days(literal.value)
            case "timestamp" if literal.type in ("timestamp", "timestamp_ltz", "date", "string"):
                value = self._instant(literal.value)
            case "timestamp_ntz" if literal.type in ("timestamp_ntz", "date", "string"):
                value = _local(literal.value)
        return None if value is None else Constant(value, column_type)

    def _instant(self, value: object) -> int | None:
        """Return the microseconds since 1970 of a timestamp."""
        if isinstance(value, datetime):
            return None if value.tzinfo is None else (value - _EPOCH) // _MICROSECOND
        text = value.isoformat() if isinstance(value, date) else value
        found = _TIMESTAMP.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            return None
        if found["zone"] is not None:
            return instants.parse_timestamp(found[0], None)
        if self.time_zone is None or (self.time_zone != "UTC" and int(found[1]) not in _SETTLED_YEARS):
            return None
        return instants.parse_timestamp(found[0], self.time_zone)


def _days(value: object) -> int | None:
    """Return the days since 1970 of a date."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.toordinal() - _EPOCH.toordinal()
    return instants.parse_date(value) if isinstance(value, str) and _DATE.fullmatch(value) else None


def _local(value: object) -> int | None:
    """Return the microseconds since 1970 of a local time."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=timezone.utc) - _EPOCH) // _MICROSECOND if value.tzinfo is None else None
    text = value.isoformat() if isinstance(value, date) else value
    found = _TIMESTAMP.fullmatch(text) if isinstance(text, str) else None
    return None if found is None or found["zone"] is not None else instants.parse_timestamp_ntz(found[0])


def _fraction(literal: Literal) -> Constant | None:
    """Convert a literal for a float or a double, which Spark compares as doubles, except for floats with small numbers."""
    value = literal.value
    if literal.type in INTEGRAL and isinstance(value, int):
        return Constant(float(value), "double") if abs(value) <= _EXACT_FLOAT else None
    if literal.type == "double" or isinstance(value, Decimal):
        return Constant(float(value), "double")  # type: ignore[arg-type]
    if literal.type == "float" and isinstance(value, float) and partition_values.to_float32(value) == value:
        return Constant(value, "double")
    return None


def _decimal(literal: Literal, precision: int, scale: int) -> Constant | None:
    """Convert a literal for a decimal, if the common type of both has enough digits for both."""
    value = literal.value
    given = (_DIGITS[literal.type], 0) if literal.type in _DIGITS else partition_values.decimal_type(literal.type)
    if given is None or not isinstance(value, int | Decimal):
        return None
    common_scale = max(scale, given[1])
    if max(precision - scale, given[0] - given[1]) + common_scale > MAX_PRECISION:
        return None
    return Constant(Decimal(value), f"decimal({given[0]},{given[1]})")
