# SPDX-License-Identifier: Apache-2.0
"""A table as a stream reads it: the files of its first snapshot, then its commits, each checked before it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bayou.errors import VersionNotFoundError, failed
from bayou.log.streaming.batches.initial_files import InitialFiles
from bayou.log.streaming.log_tail import LogTail
from bayou.log.streaming.request.settings import StreamSettings
from bayou.log.streaming.schema.check import SchemaCheck
from bayou.protocol.features.features import check_readable

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.streaming.batches.batches import Batches, ReadCommit
    from bayou.log.streaming.request.options import StreamOptions
    from bayou.log.streaming.request.path_filter import PathFilter
    from bayou.log.streaming.schema.tracking import SchemaTracking


class StreamTable:
    """The initial files and the commits that a stream reads from a table.

    Attributes:
        initial: the files of the first snapshot while they are needed; None before they are read and afterwards.
    """

    def __init__(
        self,
        log: LogReader,
        analysed: Snapshot,
        batches: Batches,
        options: StreamOptions,
        settings: StreamSettings,
        tracking: SchemaTracking | None,
    ) -> None:
        """Begin to follow a table, at the version that the query was analysed at."""
        self._log = log
        self._analysed = analysed
        self._batches = batches
        self._tracking = tracking
        self._schemas = SchemaCheck(analysed, settings, has_start=options.has_start)
        self._is_checked = False
        self.initial: InitialFiles | None = None
        self.tail: LogTail[ReadCommit] = LogTail(
            log, analysed.metadata.id, batches.read, fail_on_data_loss=options.fail_on_data_loss
        )

    def initial_files(self, version: int, exclude: PathFilter | None, event_time: str | None) -> InitialFiles:
        """Return the files of the snapshot that the stream begins with, in order; they are cached.

        Raises:
            VersionNotFoundError: the log of the snapshot is gone.
            SchemaChangedError: the stream tracks schemas, and the snapshot has another one.
        """
        if self.initial is None or self.initial.snapshot.version != version:
            snapshot = self._analysed if version == self._analysed.version else self._older(version)
            if self._tracking is not None:
                self._tracking.check_initial(snapshot)
            self.initial = InitialFiles(snapshot, exclude, event_time)
        return self.initial

    def commits(self, first: int, last: int | None) -> Iterator[ReadCommit]:
        """Yield the known commits from one version to another, or all from it on; an unreadable one raises when reached."""
        for commit in self.tail.commits(first, last):
            header = commit.header
            if header.protocol is not None:
                check_readable(header.protocol, self._log.table_uri, commit.version)
            if header.metadata is not None:
                if not self._is_tracking:
                    self._schemas.check(header.metadata, commit.version, commit.info)
                self._batches.check_metadata(header.metadata, commit.version)
            self._batches.check(commit)
            yield commit

    def changes_metadata(self, commit: ReadCommit) -> bool:
        """Return whether a stream with schema tracking has to stop before a commit."""
        tracking, header = self._tracking, commit.header
        if tracking is None or not tracking.is_active:
            return False
        return tracking.has_change(header.metadata, header.protocol, commit.version)

    def check_start(self, version: int) -> None:
        """Check, once in a run, the version that the run begins with: it may have another schema.

        Raises:
            SchemaChangedError: the stream's schema cannot read it.
            VersionNotFoundError: its schema is unknown because the log of the version is gone.
            TimeTravelError: the stream reads changes, which were not recorded.
        """
        if self._is_checked:
            return
        metadata = self._analysed.metadata
        if version < self._analysed.version:
            try:
                metadata = self._log.snapshot(version).metadata
            except VersionNotFoundError as error:
                if self._schemas.maps_columns and not self._is_tracking:
                    raise failed(
                        "DELTA_STREAMING_CHECK_COLUMN_MAPPING_NO_SNAPSHOT", table=self._log.table_uri, version=version
                    ) from error
            if not self._is_tracking:
                self._schemas.check(metadata, version, is_start=True)
        self._batches.check_metadata(metadata, version)
        self._is_checked = True

    @property
    def _is_tracking(self) -> bool:
        return self._tracking is not None and self._tracking.is_active

    def _older(self, version: int) -> Snapshot:
        try:
            return self._log.snapshot(version)
        except VersionNotFoundError as error:
            raise failed(
                "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE",
                table=self._log.table_uri,
                version=version,
                earliest=error.facts.get("earliest"),
                latest=error.facts.get("latest"),
            ) from error
