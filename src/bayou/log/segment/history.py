# SPDX-License-Identifier: Apache-2.0
"""The history of a table: who committed what, and the actions of each commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bayou.log.actions.action_files import ActionFile
from bayou.log.actions.commit_info import read_commit_info
from bayou.log.segment.commit_times import CommitTimes
from bayou.log.segment.listing import LogListing
from bayou.log.segment.segment import earliest_version, version_not_found
from bayou.protocol.actions import exact_json
from bayou.protocol.actions.actions import CommitInfo
from bayou.report.html import rows_html
from bayou.report.units import age_text
from bayou.storage.parallel import read_each
from bayou.storage.store import LogStore


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One commit, as `DESCRIBE HISTORY` shows it. What its writer left out is None; `raw` is the whole `commitInfo`."""

    version: int
    timestamp: int
    user_id: str | None = None
    user_name: str | None = None
    operation: str | None = None
    operation_parameters: Mapping[str, str | None] | None = None
    job: Mapping[str, Any] | None = None
    notebook: Mapping[str, Any] | None = None
    cluster_id: str | None = None
    read_version: int | None = None
    isolation_level: str | None = None
    is_blind_append: bool | None = None
    operation_metrics: Mapping[str, str | None] | None = None
    user_metadata: str | None = None
    engine_info: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)


class History(list[HistoryEntry]):
    """Commits of a table, which a notebook shows as rows."""

    def _repr_html_(self) -> str:
        rows = (
            (
                str(each.version),
                age_text(each.timestamp),
                each.operation,
                each.operation_parameters,
                each.operation_metrics,
                each.engine_info,
            )
            for each in self
        )
        return rows_html("History", ("version", "age", "operation", "parameters", "metrics", "engine"), rows)


@dataclass(frozen=True, slots=True)
class HistoryPart:
    """The part of a history to return.

    Attributes:
        first: the first version, `last` the last one; None for no bound.
        since: the earliest time, `until` the latest one, in ms since the epoch; None for no bound.
        newest: the number of newest commits to which the other bounds apply; None for all.
        oldest: whether a limit keeps the oldest commits instead of the newest.
        reads: whether to read `commitInfo`. Without it, an entry has its version and time only.
    """

    first: int | None = None
    last: int | None = None
    since: int | None = None
    until: int | None = None
    newest: int | None = None
    oldest: bool = False
    reads: bool = True


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """The actions of one commit, each an object with one key, and when it was committed, in ms since the epoch."""

    version: int
    timestamp: int
    actions: list[dict[str, Any]]


def read_history(
    store: LogStore,
    listing: LogListing,
    times: CommitTimes,
    table: str,
    *,
    last: int,
    limit: int | None,
    part: HistoryPart | None = None,
) -> History:
    """Return the commits of a listing up to a version, newest first; usually only the first line of each is read.

    Skipped are commits before the first version that can be reconstructed: a cleanup has yet to delete them, or a stalled writer
    made them after one. Commits outside the part are not read.
    """
    part = part or HistoryPart()
    first = earliest_version(listing, last) or 0
    versions = sorted((version for version in listing.commits if first <= version <= last), reverse=True)
    versions = versions if part.newest is None else versions[: max(part.newest, 0)]
    lowest, highest = part.first or 0, last if part.last is None else part.last
    versions = times.between([version for version in versions if lowest <= version <= highest], part.since, part.until)
    count = len(versions) if limit is None else max(limit, 0)
    chosen = versions[max(len(versions) - count, 0) :] if part.oldest else versions[:count]
    if not part.reads and not times.are_in_commits:
        return History(HistoryEntry(version, times.of(version)) for version in chosen)

    def read(version: int) -> tuple[bool, CommitInfo | None]:
        try:
            return True, read_commit_info(store, listing.commits[version], version, table)
        except FileNotFoundError:  # cleaned up since it was listed
            return False, None

    found = zip(chosen, read_each(store, chosen, read), strict=True)
    return History(_entry(version, times.given(version, info), info) for version, (is_there, info) in found if is_there)


def read_changes(
    store: LogStore, listing: LogListing, times: CommitTimes, table: str, *, start: int, end: int | None
) -> Iterator[CommitChanges]:
    """Yield the actions of the commits from `start` to `end`, both included, oldest first; each is read when reached."""
    last = max(listing.commits, default=-1) if end is None else end
    missing = next((version for version in range(start, last + 1) if version not in listing.commits), None)
    if missing is not None or start < 0 or (end is None and start > last):
        version = start if missing is None else missing
        raise version_not_found(table, version, min(listing.commits, default=None), max(listing.commits, default=None))
    versions = range(start, last + 1)
    files = read_each(store, versions, lambda version: ActionFile.of_commit(store, version, table))
    for version, file in zip(versions, files, strict=True):
        yield CommitChanges(version, times.given(version, file.commit_info()), file.actions())


def _entry(version: int, timestamp: int, info: CommitInfo | None) -> HistoryEntry:
    if info is None:
        return HistoryEntry(version, timestamp)
    raw = info.raw
    return HistoryEntry(
        version=version,
        timestamp=timestamp,
        user_id=_text(raw, "userId"),
        user_name=_text(raw, "userName"),
        operation=_text(raw, "operation"),
        operation_parameters=_texts(raw, "operationParameters"),
        job=_object(raw, "job"),
        notebook=_object(raw, "notebook"),
        cluster_id=_text(raw, "clusterId"),
        read_version=_integer(raw, "readVersion"),
        isolation_level=_text(raw, "isolationLevel"),
        is_blind_append=info.is_blind_append,
        operation_metrics=_texts(raw, "operationMetrics"),
        user_metadata=_text(raw, "userMetadata"),
        engine_info=_text(raw, "engineInfo"),
        raw=raw,
    )


def _text(raw: Mapping[str, Any], name: str) -> str | None:
    value = raw.get(name)
    return value if value is None or isinstance(value, str) else _as_text(value)


def _integer(raw: Mapping[str, Any], name: str) -> int | None:
    value = raw.get(name)
    return value if type(value) is int else None


def _object(raw: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    value = raw.get(name)
    return value if isinstance(value, dict) else None


def _texts(raw: Mapping[str, Any], name: str) -> Mapping[str, str | None] | None:
    values = _object(raw, name)
    return None if values is None else {key: _as_text(value) for key, value in values.items()}


def _as_text(value: object) -> str | None:
    """Return a parameter as a string: a JSON value other than a string is shown as JSON."""
    return value if value is None or isinstance(value, str) else exact_json.dumps(value)
