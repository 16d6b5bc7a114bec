# SPDX-License-Identifier: Apache-2.0
"""The commits that a stream has yet to read: listed incrementally, read on demand, and kept until the stream has passed them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from bayou.errors import failed
from bayou.log.actions.action_files import ActionFile
from bayou.log.segment.listing import list_versions

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.storage.store import FileStatus

C = TypeVar("C")

_AT_ONCE: Final = 16
"""How many commits are read concurrently at most."""


class LogTail(Generic[C]):
    """The commits of a table from a version on.

    A listing begins at the last known commit, so it costs only what is new. Each commit is read once while it is held.
    """

    def __init__(self, log: LogReader, table_id: str, read: Callable[[ActionFile, int], C], *, fail_on_data_loss: bool) -> None:
        """Begin to follow a table.

        Args:
            read: converts a commit and its file's modification time to what the stream needs.
            fail_on_data_loss: whether a missing commit raises an error; otherwise it is skipped.
        """
        self._log = log
        self._table_id = table_id
        self._parse = read
        self._fail_on_data_loss = fail_on_data_loss
        self._versions: list[int] = []
        self._times: dict[int, int] = {}
        self._begin: int | None = None
        self._last: tuple[int, FileStatus] | None = None
        self._last_time = -1
        self._unparsed: dict[int, ActionFile] = {}
        self._parsed: dict[int, C] = {}

    @property
    def latest(self) -> int:
        """The last known version; -1 if none is known."""
        return -1 if self._last is None else self._last[0]

    @property
    def held(self) -> int:
        """How many commits are held in memory."""
        return len(self._unparsed) + len(self._parsed)

    def look(self, first: int, *, is_resumed: bool = True) -> None:
        """List the commits since the last listing.

        Args:
            is_resumed: whether the stream has read all earlier versions, so that a shorter log is an error.

        Raises:
            StreamingSourceError: the table was replaced by another one, or the log ends before what the stream has read.
        """
        if self._begin is None or first < self._begin:
            self._list_again(first, is_resumed=is_resumed)
            return
        last = self._last
        found = self._list(first - 1 if last is None else last[0])
        # The last known commit is gone or another file: the table was replaced or its log cleaned up.
        if last is not None and found.get(last[0]) != last[1]:
            self._check_same_table()
            self._list_again(first, is_resumed=is_resumed)
            return
        self._append(found)

    def knows(self, first: int, last: int) -> bool:
        """Return whether the versions from `first` to `last` were listed."""
        return self._begin is not None and self._begin <= first and last <= self.latest

    def count_from(self, version: int) -> int:
        """Return the number of known commits from a version on."""
        return len(self._versions) - bisect_left(self._versions, version)

    def commits(self, first: int, last: int | None = None) -> Iterator[C]:
        """Yield the known commits from a version on.

        Args:
            last: the last version, which was known once; None for all known commits.

        Raises:
            VersionNotFoundError: a version is missing and `fail_on_data_loss` is set.
            CorruptLogError: a commit cannot be read.
        """
        start = bisect_left(self._versions, first)
        end = len(self._versions) if last is None else bisect_left(self._versions, last + 1)
        expected, window = first, 1
        while start < end:
            some = self._versions[start : min(start + window, end)]
            self._load(some)
            for version in some:
                if version in self._parsed or version in self._unparsed:
                    self._check_follows(expected, version)
                    expected = version + 1
                    yield self._commit(version)
            start += len(some)
            window = min(2 * window, _AT_ONCE)
        if last is not None:
            self._check_follows(expected, last + 1)

    def read_commits(self) -> list[tuple[int, C]]:
        """Return the parsed commits with their versions, in order."""
        return sorted(self._parsed.items(), key=lambda item: item[0])

    def let_go(self, before: int) -> None:
        """Drop the commits before a version."""
        if self._begin is None or before <= self._begin:
            return
        self._begin = before
        del self._versions[: bisect_left(self._versions, before)]
        for held in (self._unparsed, self._parsed, self._times):
            for version in [version for version in held if version < before]:
                del held[version]

    def _list_again(self, first: int, *, is_resumed: bool) -> None:
        self._versions, self._last, self._begin, self._last_time = [], None, first, -1
        for held in (self._unparsed, self._parsed, self._times):
            held.clear()
        found = self._list(first - 1)
        if not found and is_resumed:
            self._check_same_table()
            latest = self._log.known_version
            if latest < first - 1 and self._fail_on_data_loss:
                raise failed("DELTA_STREAMING_TRAILING_COMMIT_MISSING", table=self._log.table_uri, version=latest, last=first - 1)
        self._append(found)

    def _list(self, first: int) -> dict[int, FileStatus]:
        return list_versions(self._log.store, max(first, 0)).commits

    def _append(self, found: dict[int, FileStatus]) -> None:
        known, begin = self.latest, self._begin or 0
        for version in sorted(version for version in found if version > known):
            time = found[version].modification_time
            # As in the table's history: a file system's clock may go backwards, but the order of versions holds.
            time = self._last_time = max(time, self._last_time + 1)
            if version >= begin:
                self._versions.append(version)
                self._times[version] = time
        latest = max(found, default=None)
        if latest is not None and latest >= known:
            self._last = (latest, found[latest])

    def _load(self, versions: Sequence[int]) -> None:
        missing = [each for each in versions if each not in self._parsed and each not in self._unparsed]
        if len(missing) <= 1:
            found = list(map(self._read, missing))
        else:
            with ThreadPoolExecutor(len(missing)) as pool:
                found = list(pool.map(self._read, missing))
        self._unparsed |= {file.version: file for file in found if file is not None}

    def _read(self, version: int) -> ActionFile | None:
        try:
            return ActionFile.of_commit(self._log.store, version, self._log.table_uri)
        except FileNotFoundError:  # cleaned up since it was listed
            return None

    def _commit(self, version: int) -> C:
        known = self._parsed.get(version)
        if known is None:
            known = self._parsed[version] = self._parse(self._unparsed[version], self._times[version])
            del self._unparsed[version]
        return known

    def _check_same_table(self) -> None:
        found = self._log.update().metadata.id
        if found != self._table_id:
            raise failed(
                "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", table=self._log.table_uri, new_id=found, old_id=self._table_id
            )

    def _check_follows(self, expected: int, version: int) -> None:
        if version > expected and self._fail_on_data_loss:
            raise failed(
                "DELTA_MISSING_FILES_UNEXPECTED_VERSION",
                table=self._log.table_uri,
                version=expected,
                earliest=version,
                latest=self.latest,
            )
