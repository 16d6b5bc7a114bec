# SPDX-License-Identifier: Apache-2.0
"""Parse and format dates and timestamps as days and microseconds since 1970-01-01.

The grammar is that of Spark's cast of a string (`SparkDateTimeUtils.stringToDate`, `parseTimestampString`), in the proleptic
Gregorian calendar. It is computed on integers, since Python's `datetime` ends with the year 9999 and Spark's types do not.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

MICROS_PER_SECOND = 1_000_000
MICROS_PER_MILLISECOND = 1_000
MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1

_INT32_MIN, _INT32_MAX = -(1 << 31), (1 << 31) - 1
_DAYS_PER_ERA = 146_097
_YEARS_PER_ERA = 400
# The days from 0000-03-01, where the eras of the algorithm start, to 1970-01-01.
_ERA_TO_EPOCH = 719_468
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FEBRUARY = 2
_HOURS, _SIXTY = 24, 60
_MAX_OFFSET_SECONDS = 18 * 3600
_FRACTION_DIGITS = 6
_YEAR_WIDTH = 4

# The characters that Spark trims: white space and control characters of ASCII.
TRIMMED = "".join(map(chr, range(0x21))) + "\x7f"
# The characters that Java's `String.trim` trims.
JAVA_TRIMMED = TRIMMED[:-1]

_DATE = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
# Trailing fields may be missing; a zone can only follow the seconds.
_TIMESTAMP = re.compile(
    r"([+-]?)([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9].*)?)?)?)?)?)?",
    re.DOTALL,
)
# The forms of java.time.ZoneOffset, and those that Spark converts to them, with one digit for the hour or the minute.
_OFFSETS = tuple(
    re.compile(pattern)
    for pattern in (
        r"([+-])([0-9]{1,2})(?::([0-9]{1,2}))?",
        r"([+-])([0-9]{1,2}):([0-9]{2}):([0-9]{2})",
        r"([+-])([0-9]{2})([0-9]{2})([0-9]{2})?",
    )
)
_UTC_NAMES = ("UTC", "GMT", "UT")
_REGION = re.compile(r"[A-Za-z][A-Za-z0-9~/._+-]+")
# Files in the folder of time zones that Java does not accept as zones.
_NO_JAVA_ZONES = ("posix/", "right/", "posixrules", "localtime", "Factory")

# java.time.ZoneId.SHORT_IDS, which Spark uses whenever it looks up a zone.
_SHORT_IDS = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}


def days_from_civil(year: int, month: int, day: int) -> int | None:
    """Return the days since 1970-01-01 of a date, or None if the calendar does not have the date. See `civil_from_days`."""
    if not 1 <= month <= len(_MONTH_DAYS) or not 1 <= day <= _days_in(year, month):
        return None
    shifted = year - (month <= _FEBRUARY)
    era, year_of_era = divmod(shifted, _YEARS_PER_ERA)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _DAYS_PER_ERA + day_of_era - _ERA_TO_EPOCH


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Convert days since 1970-01-01 to a year, month and day.

    Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`. Years begin in March, so that the leap
    day is the last day of a year, and repeat in eras of 400 years.
    """
    era, day_of_era = divmod(days + _ERA_TO_EPOCH, _DAYS_PER_ERA)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9  # noqa: PLR2004  (March is month 0)
    year = era * _YEARS_PER_ERA + year_of_era + (month <= _FEBRUARY)
    return year, month, day_of_year - (153 * shifted_month + 2) // 5 + 1


def parse_date(text: str) -> int | None:
    """Return days since 1970-01-01, or None if Spark's cast returns NULL."""
    found = _DATE.fullmatch(text.strip(TRIMMED))
    if found is None:
        return None
    sign, year, month, day = found.groups()
    days = days_from_civil(_signed(sign, year), int(month or 1), int(day or 1))
    return days if days is not None and _INT32_MIN <= days <= _INT32_MAX else None


def parse_timestamp(text: str, time_zone: str | None = "UTC") -> int | None:
    """Return microseconds since 1970-01-01T00:00:00Z, or None if Spark's cast returns NULL.

    A time without a date is None too. Spark would use today's date, and partition values and statistics do not depend on the day.

    Args:
        text: a timestamp, with or without a zone.
        time_zone: the zone of timestamps that do not state one; if it is None, the result for them is None.
    """
    parsed = _parse_local(text)
    if parsed is None:
        return None
    local, zone = parsed
    name = zone or time_zone
    if name is None:
        return None
    offset = _offset_seconds(local, name)
    return None if offset is None else _in_range(local - offset * MICROS_PER_SECOND)


def parse_timestamp_ntz(text: str) -> int | None:
    """Return microseconds of local time since 1970-01-01T00:00:00, or None if Spark's cast returns NULL.

    As in the cast, a zone must be valid and is ignored.
    """
    parsed = _parse_local(text)
    if parsed is None:
        return None
    local, zone = parsed
    if zone is not None and _offset_seconds(local, zone) is None:
        return None
    return _in_range(local)


def format_date(days: int) -> str:
    """Format a date as ISO 8601. A year with more than four digits has a sign, as in Java."""
    year, month, day = civil_from_days(days)
    sign = "-" if year < 0 else "+" if abs(year) >= 10**_YEAR_WIDTH else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def format_timestamp(micros: int, separator: str = "T", fraction_digits: int = _FRACTION_DIGITS) -> str:
    """Format a timestamp as ISO 8601 without a zone, with the fraction of the second truncated."""
    days, micros_of_day = divmod(micros, MICROS_PER_DAY)
    seconds, fraction = divmod(micros_of_day, MICROS_PER_SECOND)
    minutes, second = divmod(seconds, _SIXTY)
    hour, minute = divmod(minutes, _SIXTY)
    digits = f"{fraction:06d}"[:fraction_digits]
    return f"{format_date(days)}{separator}{hour:02d}:{minute:02d}:{second:02d}.{digits}"


def _days_in(year: int, month: int) -> int:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % _YEARS_PER_ERA == 0)
    return 29 if month == _FEBRUARY and is_leap else _MONTH_DAYS[month - 1]


def _signed(sign: str, digits: str) -> int:
    return -int(digits) if sign == "-" else int(digits)


def _in_range(micros: int) -> int | None:
    return micros if INT64_MIN <= micros <= INT64_MAX else None


def _parse_local(text: str) -> tuple[int, str | None] | None:
    """Return the microseconds of local time, and the name of the zone."""
    found = _TIMESTAMP.fullmatch(text.strip(TRIMMED))
    if found is None:
        return None
    sign, year, month, day, hour, minute, second, fraction, zone = found.groups()
    days = days_from_civil(_signed(sign, year), int(month or 1), int(day or 1))
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if days is None or hours >= _HOURS or minutes >= _SIXTY or seconds >= _SIXTY:
        return None
    micros = int((fraction or "")[:_FRACTION_DIGITS].ljust(_FRACTION_DIGITS, "0"))
    local = days * MICROS_PER_DAY + ((hours * 60 + minutes) * 60 + seconds) * MICROS_PER_SECOND + micros
    # The grammar allows a zone of blanks, which is not valid.
    return local, None if zone is None else zone.strip(JAVA_TRIMMED) or "?"


def _offset_seconds(local: int, zone: str) -> int | None:
    """Return the offset of a zone from UTC at a local time. If the clock changes, it is the earlier offset, as in Java."""
    name = _SHORT_IDS.get(zone, zone)
    fixed = _fixed_offset(name)
    if fixed is not None:
        return fixed
    if not _REGION.fullmatch(name) or name.startswith(_NO_JAVA_ZONES):
        return None
    try:
        region = ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return None
    offset = _representable(local).replace(tzinfo=region).utcoffset()
    return None if offset is None else offset.days * 86_400 + offset.seconds


def _fixed_offset(name: str) -> int | None:
    if name in {"Z", *_UTC_NAMES}:
        return 0
    prefix = next((prefix for prefix in _UTC_NAMES if name.startswith(prefix)), "")
    matches = (pattern.fullmatch(name, len(prefix)) for pattern in _OFFSETS)
    found = next((match for match in matches if match), None)
    if found is None:
        return None
    sign, hours, minutes, seconds = (*found.groups(), None)[:4]
    if int(minutes or 0) >= _SIXTY or int(seconds or 0) >= _SIXTY:
        return None
    total = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    if total > _MAX_OFFSET_SECONDS:
        return None
    return -total if sign == "-" else total


def _representable(local: int) -> datetime:
    """Return a local time that `datetime` can represent and at which every zone has the same offset.

    The calendar, and so daylight saving, repeats every 400 years. Before its first transition a zone has a single offset.
    """
    days, micros_of_day = divmod(local, MICROS_PER_DAY)
    year, month, day = civil_from_days(days)
    if not 1 <= year <= 9998:  # noqa: PLR2004  (in the last year of `datetime` an offset could lead beyond its end)
        year = year % _YEARS_PER_ERA + (9200 if year > 0 else _YEARS_PER_ERA)
    seconds, fraction = divmod(micros_of_day, MICROS_PER_SECOND)
    hour, rest = divmod(seconds, 3600)
    clock = datetime(year, month, day, hour, rest // 60, rest % 60, fraction, tzinfo=timezone.utc)
    return clock.replace(tzinfo=None)
