# SPDX-License-Identifier: Apache-2.0
"""How users name a moment or a version: timestamps as text or values, and suffixes of a path."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from bayou.errors import InvalidTimestampError

Timestamp: TypeAlias = str | dt.datetime | dt.date

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_TEXT: Final = re.compile(
    r"(?P<year>\d{4,6})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})"
    r"(?:[ T](?:(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d{0,9}))?)?)?"
    r"\s*(?P<zone>[A-Za-z+-][A-Za-z0-9_/:+-]*)?)?)?)?",
    re.ASCII,
)
_OFFSET: Final = re.compile(
    r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2}))?(?::?(?P<seconds>\d{2}))?", re.ASCII
)
_SUFFIX: Final = re.compile(r"(?P<path>.+)@(?:[vV](?P<version>\d{1,18})|(?P<timestamp>\d{17}))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TimeTravelPath:
    """A path with a version or a timestamp at its end, taken apart."""

    path: str
    version: int | None = None
    timestamp: dt.datetime | None = None


def to_milliseconds(value: Timestamp, time_zone: str = "UTC") -> int:
    """Milliseconds since the epoch of a timestamp.

    Args:
        value: a datetime, a date (its midnight), or a text as Spark casts it: `2026`, `2026-01-02`,
            `2026-01-02 03:04:05.678`, with `T` for the blank and a zone at the end if wanted.
        time_zone: the zone of values that name none.

    Raises:
        InvalidTimestampError: the text is no timestamp, or the zone is unknown.
    """
    if isinstance(value, str):
        value = _parse(value, time_zone)
    elif not isinstance(value, dt.datetime):
        if not isinstance(value, dt.date):
            raise _invalid(value, "it is neither text nor a datetime")
        value = dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001  (its zone follows)
    if value.tzinfo is None:
        value = value.replace(tzinfo=_zone(time_zone, value))
    return (value - _EPOCH) // dt.timedelta(milliseconds=1)


def format_timestamp(milliseconds: int | None) -> str:
    """A time in ms since the epoch as text, UTC; for messages."""
    if milliseconds is None:
        return "unknown"
    try:
        moment = _EPOCH + dt.timedelta(milliseconds=milliseconds)
    except OverflowError:
        return f"{milliseconds} ms"
    return moment.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", " UTC")


def split_path(path: str) -> TimeTravelPath | None:
    """Take `path@v12` or `path@20260102030405678` apart; None where the path has no such suffix.

    A table may be called that literally: look for one first. The time names no zone.

    Raises:
        InvalidTimestampError: the digits are no timestamp.
    """
    found = _SUFFIX.fullmatch(path)
    if found is None:
        return None
    if found["version"] is not None:
        return TimeTravelPath(found["path"], version=int(found["version"]))
    digits = found["timestamp"]
    try:
        moment = dt.datetime.strptime(digits + "000", "%Y%m%d%H%M%S%f")  # noqa: DTZ007  (whoever reads it knows the zone)
    except ValueError as error:
        raise _invalid(digits, "it is not of the form yyyyMMddHHmmssSSS") from error
    return TimeTravelPath(found["path"], timestamp=moment)


def _parse(text: str, time_zone: str) -> dt.datetime:
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise _invalid(text, "it is not of the form yyyy-MM-dd HH:mm:ss.SSS")
    zone = found["zone"]
    fraction = ((found["fraction"] or "") + "000000")[:6]
    try:
        return dt.datetime(
            int(found["year"]),
            int(found["month"] or 1),
            int(found["day"] or 1),
            int(found["hour"] or 0),
            int(found["minute"] or 0),
            int(found["second"] or 0),
            int(fraction),
            tzinfo=_zone(zone or time_zone, text),
        )
    except ValueError as error:
        raise _invalid(text, str(error)) from error


def _zone(name: str, value: object) -> dt.tzinfo:
    if name.upper() in {"Z", "UTC", "GMT", "UT"}:
        return dt.timezone.utc
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        parts = (int(offset["hours"]), int(offset["minutes"] or 0), int(offset["seconds"] or 0))
        delta = dt.timedelta(hours=parts[0], minutes=parts[1], seconds=parts[2])
        if delta <= dt.timedelta(hours=18):
            return dt.timezone(-delta if offset["sign"] == "-" else delta)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise _invalid(value, f"there is no time zone {name!r}") from error


def _invalid(value: object, why: str) -> InvalidTimestampError:
    return InvalidTimestampError(
        f"{value!r} is no timestamp: {why}",
        next_step="Give a datetime, or text such as '2026-01-02 03:04:05' or '2026-01-02T03:04:05.678Z'.",
    )
