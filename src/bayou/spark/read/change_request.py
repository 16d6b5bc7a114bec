# SPDX-License-Identifier: Apache-2.0
"""Parse a reader's request for the change data feed: its options, the session's settings, and the resulting range of versions."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bayou.errors import failed
from bayou.log.changes.checks import SCHEMA_MODE_CONF, UNSAFE_READ_CONF, SchemaMode
from bayou.log.changes.range import OUT_OF_RANGE_CONF, ChangeBounds
from bayou.spark.session.settings import is_on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.changes.feed import ChangeFeed
    from bayou.spark.backend import Conf

READ_OPTIONS = ("readChangeFeed", "readChangeData")
"""The options that request the feed; the second is an older name of the first."""
_TWO = 2
_VERSION = re.compile(r"[+-]?[0-9]{1,19}")


def bounds_of(options: Mapping[str, Any], path: str, *, travels: bool) -> ChangeBounds | None:
    """Return the range of the change data feed that a reader's options request; None if they request the table.

    Args:
        options: the options by their names in lower case, without those that are None.
        travels: whether the request also names a version or a time of the table.

    Raises:
        InvalidOptionError: an option is not a boolean, or not a version.
        TimeTravelError: the request travels in time.
    """
    feed_options = {name for name in READ_OPTIONS if _is_true(options, name, path)}
    if not feed_options:
        return None
    if travels:
        raise failed("DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS/changes", table=path)
    return ChangeBounds(
        starting_version=_version(options, "startingVersion", path),
        starting_timestamp=options.get("startingtimestamp"),
        ending_version=_version(options, "endingVersion", path),
        ending_timestamp=options.get("endingtimestamp"),
    )


def options_of(bounds: ChangeBounds) -> dict[str, str]:
    """Return the reader's options that request a range of the change data feed."""
    stated = {
        "startingVersion": bounds.starting_version,
        "startingTimestamp": bounds.starting_timestamp,
        "endingVersion": bounds.ending_version,
        "endingTimestamp": bounds.ending_timestamp,
    }
    return {READ_OPTIONS[0]: "true", **{name: str(value) for name, value in stated.items() if value is not None}}


def change_options(changes: Any) -> dict[str, Any]:
    """Return the reader's options for the `changes` of `bayou.read`: a start and an end, each a version, a timestamp or None.

    Raise InvalidOptionError if they are anything else.
    """
    if changes is None:
        return {}
    if not isinstance(changes, tuple | list) or len(changes) != _TWO:
        raise failed("DELTA_ILLEGAL_OPTION/changes", option="changes", given=repr(changes))
    sides = zip(("starting", "ending"), changes, strict=True)
    named = {_option(side, value): value for side, value in sides if value is not None}
    return {READ_OPTIONS[0]: "true", **named}


def _option(side: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str | dt.date):
        raise failed("DELTA_ILLEGAL_OPTION/changes-bound", option="changes", given=repr(value))
    return f"{side}{'Version' if isinstance(value, int) else 'Timestamp'}"


def _is_true(options: Mapping[str, Any], name: str, path: str) -> bool:
    text = str(options.get(name.lower(), "false")).lower()
    if text not in ("true", "false"):
        raise failed("DELTA_ILLEGAL_OPTION/value", table=path, option=name, value=text, needs="must be 'true' or 'false'")
    return text == "true"


def _version(options: Mapping[str, Any], name: str, path: str) -> int | None:
    value = options.get(name.lower())
    if value is None:
        return None
    text = str(value)
    if not _VERSION.fullmatch(text) or int(text) >= 1 << 63:
        raise failed("DELTA_VERSION_INVALID", table=path, option=name, value=text)
    return int(text)


@dataclass(frozen=True, slots=True)
class PinnedChanges:
    """The range of the change data feed that a relation reads. It is resolved when the relation is created.

    Attributes:
        start: the first version.
        end: the last version; None for the latest one of each execution.
        is_empty: whether the range contains no version. Later commits do not change that.
        schema_mode: the value of a `SchemaMode`, which decides the schema of rows if the table has column mapping.
        check_schemas: whether to refuse rows whose schema does not fit.
    """

    start: int
    end: int | None
    is_empty: bool
    schema_mode: str
    check_schemas: bool

    @classmethod
    def of(cls, bounds: ChangeBounds, feed: ChangeFeed, settings: ChangeSettings) -> PinnedChanges:
        """Return the range for some bounds, after the feed has resolved them with the settings."""
        end = bounds.ending_version if bounds.ending_timestamp is None else feed.end
        mode, check = settings.schema_mode, settings.check_schemas
        return cls(feed.start, end, feed.end < feed.start, mode.value, check)

    def __str__(self) -> str:
        return f"changes {self.start}-{'' if self.end is None else self.end} {self.schema_mode} {self.check_schemas}"


@dataclass(frozen=True, slots=True)
class ChangeSettings:
    """A session's settings for the change data feed.

    Attributes:
        schema_mode: decides the schema of rows if the table has column mapping.
        check_schemas: whether to refuse rows whose schema does not fit.
        allow_out_of_range: whether a range may begin or end after the latest commit.
        time_zone: the zone of timestamps without one.
    """

    schema_mode: SchemaMode
    check_schemas: bool
    allow_out_of_range: bool
    time_zone: str

    @classmethod
    def of(cls, conf: Conf) -> ChangeSettings:
        """Read the settings of a session. Raise InvalidOptionError if a setting has an invalid value."""
        text = conf.get(SCHEMA_MODE_CONF, SchemaMode.END_VERSION.value)
        mode = next((each for each in SchemaMode if each.value.lower() == text.lower()), None)
        if mode is None:
            known = ", ".join(each.value for each in SchemaMode)
            raise failed("DELTA_ILLEGAL_OPTION/setting", option=SCHEMA_MODE_CONF, value=text, wanted=f"one of {known}")
        return cls(
            mode,
            not is_on(conf, UNSAFE_READ_CONF),
            is_on(conf, OUT_OF_RANGE_CONF),
            conf.time_zone,
        )

    def applied(self, bounds: ChangeBounds) -> ChangeBounds:
        """Return bounds with the session's time zone and limits."""
        return replace(bounds, time_zone=self.time_zone, allow_out_of_range=self.allow_out_of_range)
