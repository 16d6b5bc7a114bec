# SPDX-License-Identifier: Apache-2.0
"""The options of a stream that reads a table, checked.

Source: delta-spark's `DeltaOptions` (`DeltaReadOptions`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from bayou.errors import DeltaError, failed
from bayou.log.streaming.request.limits import DEFAULT_MAX_FILES, ReadLimits
from bayou.log.streaming.request.path_filter import PathFilter

if TYPE_CHECKING:
    from typing_extensions import Self

LATEST: Final = "latest"
ALWAYS: Final = "always"
_INTEGER: Final = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_BYTES: Final = re.compile(r"(\d+)([a-z]*)", re.ASCII)
_UNITS: Final = {"": 0, "b": 0} | {f"{unit}{b}": power for power, unit in enumerate("kmgtp", 1) for b in ("", "b")}
_INT_MAX: Final = (1 << 31) - 1
_LONG_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options of a stream.

    Attributes:
        starting_version: `startingVersion`; "latest" for what is committed from now on.
        ignore_deletes: whether to skip commits that only remove files.
        ignore_changes: whether to read the added files of a commit that also removes files; `ignoreFileDeletion` too.
        skip_change_commits: whether to skip commits that remove files, with the files that they add.
        fail_on_data_loss: whether a missing commit stops the stream.
        exclude_regex: data files whose path matches are not read.
        read_change_feed: whether the stream reads the change data feed.
        schema_location: `schemaTrackingLocation`, or its alias `schemaLocation`.
        tracking_id: `streamingSourceTrackingId`.
        allow_rename: `allowSourceColumnRename`: a version, or "always"; the next two likewise.
        with_event_time_order: whether the first snapshot's files are read in the order of the event time.
    """

    max_files: int | None = None
    max_bytes: int | None = None
    starting_version: int | Literal["latest"] | None = None
    starting_timestamp: str | None = None
    ignore_deletes: bool = False
    ignore_changes: bool = False
    skip_change_commits: bool = False
    fail_on_data_loss: bool = True
    exclude_regex: str | None = None
    read_change_feed: bool = False
    schema_location: str | None = None
    tracking_id: str | None = None
    allow_rename: str | None = None
    allow_drop: str | None = None
    allow_type_change: str | None = None
    with_event_time_order: bool = False

    @property
    def has_start(self) -> bool:
        """Whether the options name a start."""
        return self.starting_version is not None or self.starting_timestamp is not None

    @property
    def limits(self) -> ReadLimits:
        """The limits of a batch."""
        if self.max_files is None and self.max_bytes is None:
            return ReadLimits(DEFAULT_MAX_FILES)
        return ReadLimits(self.max_files, self.max_bytes)

    @classmethod
    def from_options(cls, options: Mapping[str, str], table: str) -> StreamOptions:
        """Read a reader's options, whose names may be in any case; unknown ones are ignored.

        Raises:
            InvalidOptionError: an option has an invalid value, or two options cannot be combined.
            TimeTravelError: the options name a version or time of the table.
        """
        given = _Given({name.lower(): value for name, value in options.items()}, table)
        given.check_no_time_travel()
        found = cls._read(given)
        given.check_together(found)
        return found

    @classmethod
    def _read(cls, given: _Given) -> Self:
        return cls(
            max_files=given.integer("maxFilesPerTrigger", 1, _INT_MAX, "must be a positive integer"),
            max_bytes=given.size("maxBytesPerTrigger"),
            starting_version=given.starting_version(),
            starting_timestamp=given.text("startingTimestamp"),
            ignore_deletes=given.flag("ignoreDeletes"),
            # Both are read, so that an invalid value of either is found.
            ignore_changes=any([given.flag("ignoreChanges"), given.flag("ignoreFileDeletion")]),
            skip_change_commits=given.flag("skipChangeCommits"),
            fail_on_data_loss=given.flag("failOnDataLoss", default=True),
            exclude_regex=given.regex("excludeRegex"),
            read_change_feed=any([given.flag("readChangeFeed"), given.flag("readChangeData")]),
            schema_location=given.location("schemaTrackingLocation", "schemaLocation"),
            tracking_id=given.text("streamingSourceTrackingId"),
            allow_rename=given.permission("allowSourceColumnRename"),
            allow_drop=given.permission("allowSourceColumnDrop"),
            allow_type_change=given.permission("allowSourceColumnTypeChange"),
            with_event_time_order=given.flag("withEventTimeOrder"),
        )


def option_names() -> tuple[str, ...]:
    """Return the names of all options of a stream, recorded while none is set."""
    given = _Given({}, "")
    StreamOptions._read(given)  # noqa: SLF001  (of this module)
    return tuple(dict.fromkeys(given.asked))


class _Given:
    """Options by their names in lower case, with the names that were `asked` for."""

    def __init__(self, options: Mapping[str, str], table: str) -> None:
        self._options = options
        self._table = table
        self.asked: list[str] = []

    def text(self, name: str) -> str | None:
        self.asked.append(name)
        value = self._options.get(name.lower())
        return None if value is None else str(value)

    def location(self, *names: str) -> str | None:
        """Return the first of some options that is set, the path of a folder."""
        found = [(name, text) for name in names if (text := self.text(name)) is not None]
        for name, text in found:
            if not text.strip():
                raise self._illegal(name, text, "must be the path of a folder")
        return found[0][1] if found else None

    def flag(self, name: str, *, default: bool = False) -> bool:
        text = self.text(name)
        if text is not None and text.lower() not in ("true", "false"):
            raise self._illegal(name, text, "must be 'true' or 'false'")
        return default if text is None else text.lower() == "true"

    def integer(self, name: str, least: int, most: int, explain: str) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        value = int(text) if _INTEGER.fullmatch(text) else None
        if value is None or not least <= value <= most:
            raise self._illegal(name, text, explain)
        return value

    def size(self, name: str) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        value = _byte_size(text)
        if not value:
            raise self._illegal(name, text, "must be a size configuration such as '10g'")
        return value

    def starting_version(self) -> int | Literal["latest"] | None:
        name = "startingVersion"
        if self.text(name) == LATEST:
            return "latest"
        return self.integer(name, 0, _LONG_MAX, "must be greater than or equal to zero")

    def permission(self, name: str) -> str | None:
        text = self.text(name)
        if text is None or text.lower() == ALWAYS:
            return None if text is None else ALWAYS
        return str(self.integer(name, 0, _LONG_MAX, "must be a version or 'always'"))

    def regex(self, name: str) -> str | None:
        text = self.text(name)
        if text is not None and not PathFilter.is_valid(text):
            raise failed("DELTA_REGEX_OPT_SYNTAX_ERROR", table=self._table, option=name, value=text)
        return text

    def check_no_time_travel(self) -> None:
        for name in ("versionAsOf", "timestampAsOf"):
            if self.text(name) is not None:
                raise failed("DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS/stream", table=self._table, option=name)

    def check_together(self, found: StreamOptions) -> None:
        if found.starting_version is not None and found.starting_timestamp is not None:
            raise failed("DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET", table=self._table)
        if found.schema_location is not None and not found.fail_on_data_loss:
            raise failed("DELTA_ILLEGAL_OPTION/schema-log-data-loss", table=self._table, option="failOnDataLoss")

    def _illegal(self, name: str, value: str, needs: str) -> DeltaError:
        return failed("DELTA_ILLEGAL_OPTION/value", table=self._table, option=name, value=value, needs=needs)


def _byte_size(text: str) -> int | None:
    """Parse a number of bytes such as "10g" as Spark does (`JavaUtils.byteStringAs`); None if it is invalid."""
    found = _BYTES.fullmatch(text.strip().lower())
    if found is None:
        return None
    power = _UNITS.get(found[2])
    if power is None:
        return None
    value = int(found[1]) << (10 * power)
    return value if value <= _LONG_MAX else None
