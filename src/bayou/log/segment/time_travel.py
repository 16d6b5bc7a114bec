# SPDX-License-Identifier: Apache-2.0
"""How users name a time or a version: timestamps as strings or values, and suffixes of a path."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from bayou.errors import DeltaError, failed
from bayou.protocol import arguments
from bayou.protocol.types import instants
from bayou.protocol.types.instants import INT64_MAX, INT64_MIN, MICROS_PER_MILLISECOND, parse_timestamp

Timestamp: TypeAlias = str | dt.datetime | dt.date

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_SUFFIX: Final = re.compile(r"(?P<path>.+)@(?:[vV](?P<version>\d{1,18})|(?P<timestamp>\d{17}))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TimeTravelPath:
    """A path without its suffix, and the version or timestamp that the suffix named."""

    path: str
    version: int | None = None
    timestamp: dt.datetime | None = None


def to_milliseconds(value: Timestamp, time_zone: str = "UTC") -> int:
    """Return a timestamp in milliseconds since the epoch.

    Args:
        value: a datetime, a date (its midnight), or a string as Spark casts it: `2026`, `2026-01-02`, `2026-01-02 03:04:05.678`,
            with `T` for the blank and optionally a zone at the end: an offset, or a name that Java knows, such as `PST`.

    Raises:
        InvalidTimestampError: the string is not a timestamp, or the zone is unknown.
    """
    time_zone = arguments.text(time_zone, "time_zone")
    if isinstance(value, dt.datetime):
        value = value if value.tzinfo is not None else _in_zone(value, time_zone)
        if value.tzinfo is not None:  # otherwise only Java may know the zone: the value is parsed as a string
            return (value - _EPOCH) // dt.timedelta(milliseconds=1)
    elif not isinstance(value, (str, dt.date)):
        raise _invalid(value, "it is neither a string nor a datetime")
    text = value if isinstance(value, str) else value.isoformat()
    micros = parse_timestamp(text, time_zone)
    if micros is not None:
        return micros // MICROS_PER_MILLISECOND
    if parse_timestamp(text, "UTC") is not None:
        raise _invalid(value, f"the time zone {time_zone!r} does not exist")
    raise _invalid(value, "it is not of the form yyyy-MM-dd HH:mm:ss.SSS, optionally followed by a zone")


def _in_zone(value: dt.datetime, time_zone: str) -> dt.datetime:
    """Return a naive datetime in a zone, with its `fold`; unchanged if Python does not know the zone."""
    try:
        return value.replace(tzinfo=ZoneInfo(time_zone))
    except (KeyError, ValueError, OSError):
        return value


def format_timestamp(milliseconds: int | None) -> str:
    """Format a time in ms since the epoch for messages, in UTC."""
    if milliseconds is None:
        return "unknown"
    micros = milliseconds * MICROS_PER_MILLISECOND
    if not INT64_MIN <= micros <= INT64_MAX:
        return f"{milliseconds} ms"
    return instants.format_timestamp(micros, " ", fraction_digits=3) + " UTC"


def split_path(path: str) -> TimeTravelPath | None:
    """Split `path@v12` or `path@20260102030405678`; None if the path has no such suffix.

    A table may literally have such a name: look for one first. The time has no zone.

    Raises:
        InvalidTimestampError: the digits are not a timestamp.
    """
    found = _SUFFIX.fullmatch(path)
    if found is None:
        return None
    if found["version"] is not None:
        return TimeTravelPath(found["path"], version=int(found["version"]))
    digits = found["timestamp"]
    try:
        timestamp = dt.datetime.strptime(digits + "000", "%Y%m%d%H%M%S%f")  # noqa: DTZ007  (the caller knows the zone)
    except ValueError as error:
        raise _invalid(digits, "it is not of the form yyyyMMddHHmmssSSS") from error
    return TimeTravelPath(found["path"], timestamp=timestamp)


def _invalid(value: object, why: str) -> DeltaError:
    return failed("DELTA_TIMESTAMP_INVALID", value=arguments.shown_text(value), reason=why)
