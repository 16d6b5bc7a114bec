# SPDX-License-Identifier: Apache-2.0
"""A table as the source of a stream: the next offset, and the files between two offsets.

Source: delta-spark's `DeltaSource`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, TimestampOutOfRangeError, UnsupportedFeatureError, failed
from bayou.log.segment.commit_times import CommitTimes, InCommitTimestamps
from bayou.log.segment.listing import list_versions
from bayou.log.segment.segment import version_not_found
from bayou.log.segment.time_travel import to_milliseconds
from bayou.log.streaming.batches.batches import Batches, BatchParts, ReadCommit, RowBatches
from bayou.log.streaming.batches.change_batches import ChangeBatches
from bayou.log.streaming.batches.files import InitialPart, StreamFiles
from bayou.log.streaming.progress import Backlog, backlog, first_commit, last_commit, span, taken
from bayou.log.streaming.request.limits import Admission, ReadLimits
from bayou.log.streaming.request.offsets import BASE_INDEX, METADATA_CHANGE_INDEX, SourceOffset, check_order
from bayou.log.streaming.request.options import LATEST, StreamOptions
from bayou.log.streaming.request.path_filter import PathFilter
from bayou.log.streaming.request.settings import StreamSettings
from bayou.log.streaming.schema.tracking import open_tracking
from bayou.log.streaming.table import StreamTable

if TYPE_CHECKING:
    from bayou.log.changes.feed import ChangeFeed
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.streaming.batches.initial_files import InitialFiles
    from bayou.log.streaming.request.options import StreamOptions
    from bayou.protocol.types.schema import StructType
    from bayou.storage.store import LogStore

_NO_SETTINGS: Final[Mapping[str, str]] = {}


class StreamingSource:
    """A table that a stream reads, from its first snapshot or from a version on.

    Guarantees: the files between two offsets are always the same, also after a restart. A commit is read once, and dropped when the
    stream has passed it; memory does not grow with the number of batches.

    A commit that stops the stream does so when the stream reaches it: earlier commits are read first.

    Attributes:
        event_time: the column that orders the files of the first snapshot, or None. It may be set before the first offset is
            requested, and must stay the same while the first snapshot is read, across restarts too.
    """

    def __init__(
        self,
        log: LogReader,
        snapshot: Snapshot,
        options: StreamOptions,
        *,
        time_zone: str = "UTC",
        settings: Mapping[str, str] = _NO_SETTINGS,
        event_time: str | None = None,
        source_path: str | None = None,
        schema_store: LogStore | None = None,
    ) -> None:
        """Begin to read a table.

        Args:
            snapshot: the version that the query was analysed at; its schema is that of the stream's rows.
            event_time: the column that orders the files of the first snapshot, by its minimum in each file. A file whose rows are
                all later is then never read before one with an earlier row. Files without statistics come first. The order of rows
                within a batch, and between files whose ranges overlap, is undefined.
            source_path: the folder of the source in the query's checkpoint; None while the query is analysed.
            schema_store: the store of the schema log's folder, `log_location`; None opens it by its scheme.

        Raises:
            DeltaError: as `open_tracking`, if the options have a schemaTrackingLocation.
        """
        self._log = log
        self._options = options
        self._time_zone = time_zone
        self.event_time = event_time
        self._settings = StreamSettings.of(settings)
        self._exclude = None if options.exclude_regex is None else PathFilter(options.exclude_regex)
        self._tracking = open_tracking(log, snapshot, options, settings, source_path=source_path, store=schema_store)
        self._snapshot = snapshot if self._tracking is None else self._tracking.snapshot
        self._batches: Batches = RowBatches(self._snapshot, options, self._exclude)
        if options.read_change_feed:
            self._batches = ChangeBatches(log, self._snapshot, self._exclude)
        self._table = StreamTable(log, snapshot, self._batches, options, self._settings, self._tracking)
        self._begin: SourceOffset | None = None
        self._end: SourceOffset | None = None
        self._is_to_end = False

    @property
    def table_uri(self) -> str:
        """The table's URI."""
        return self._log.table_uri

    @property
    def table_id(self) -> str:
        """The table's id, which is part of every offset."""
        return self._snapshot.metadata.id

    @property
    def schema(self) -> StructType:
        """The schema of the stream's rows."""
        return self._batches.schema

    @property
    def schema_log(self) -> str | None:
        """The folder of the stream's schema log; None if it has none."""
        return None if self._tracking is None else self._tracking.location

    @property
    def limits(self) -> ReadLimits:
        """The limits of a batch unless the engine sets others."""
        return self._options.limits

    def parse_offset(self, text: str) -> SourceOffset:
        """Parse an offset from a checkpoint of this table."""
        return SourceOffset.parse(text, self.table_id, self._log.table_uri)

    def fix_end(self) -> None:
        """Limit the stream to what is committed when the next offset is requested."""
        self._is_to_end = True

    def latest_offset(self, start: SourceOffset | None, limits: ReadLimits | None) -> SourceOffset | None:
        """Return where the next batch ends. Costs a listing of new commits, and the reading of the batch's commits.

        Args:
            start: where the batch begins; None if nothing was read yet.
            limits: how much it reads; None for everything.

        Returns:
            The end; the start if there is nothing new, which is None for a stream that has read nothing. A stream from the latest
            version on gets its first offset immediately, so that a restart knows where it began.

        Raises:
            StreamingSourceError: the stream cannot read the table or its next commit.
            SchemaChangedError: the next commit changes the schema.
            VersionNotFoundError: a commit is missing.
        """
        begin = self.beginning() if start is None else start
        if start is None and self._options.starting_version == LATEST:
            return begin  # an empty batch stores where the query began: a replay would begin later without it
        if self._tracking is not None:
            self._tracking.begin(begin.version, None)
            held = self._tracking.next_offset(begin)
            if held is not None:
                return held
        end = self._advance(begin, None if limits == ReadLimits() else limits, is_resumed=start is not None)
        if self._settings.checks_offsets:
            check_order(begin, end, self._log.table_uri)
        return None if start is None and end == begin else end

    def batch(self, start: SourceOffset | None, end: SourceOffset) -> StreamFiles | ChangeFeed:
        """Return the files between two offsets; for a stream of changes, a change data feed.

        Args:
            start: None for the first batch.

        Raises:
            StreamingSourceError: the stream cannot read a commit of the batch.
            SchemaChangedError: the schema of a commit is not compatible.
            VersionNotFoundError: a commit of the batch is gone.
        """
        begin = self.resume(start, end)
        if begin >= end:
            return self._batches.empty(end)
        initial = self._initial_part(begin, end)
        commits = ((commit, *span(commit, begin, end)) for commit in self._commits_of(begin, end))
        return self._batches.batch(BatchParts(begin, end, initial, commits))

    def resume(self, start: SourceOffset | None, end: SourceOffset) -> SourceOffset:
        """Return where a batch that was planned earlier begins, after checking its schema; the batch is not read.

        Args:
            start: None for the first batch.

        Raises:
            SchemaChangedError: the schema of the batch is not compatible.
            StreamingSourceError: the offsets are not in order, or no single schema can read the batch.
        """
        begin = self._beginning_of(end) if start is None else start
        if begin != end and self._settings.checks_offsets:
            check_order(begin, end, self._log.table_uri)
        if begin < end:
            if self._tracking is not None:
                self._tracking.begin(begin.version, last_commit(end))
            self._table.check_start(begin.version)
        return begin

    def commit(self, end: SourceOffset) -> None:
        """Drop what is before an offset, up to which the engine has written everything.

        At a schema change, the change is added to the schema log and SchemaChangedError raised.
        """
        self._table.tail.let_go(end.version)
        if not end.is_starting_version:
            self._table.initial = None
        if self._tracking is not None:
            self._tracking.follow(end)

    def backlog(self, offset: SourceOffset | None) -> Backlog:
        """Return what lies after an offset, according to the last listing; see `progress.backlog`. Reads nothing."""
        begin = offset or self._begin
        return Backlog(0, 0) if begin is None else backlog(self._table, begin)

    def beginning(self) -> SourceOffset:
        """Return where a new stream begins; found once, so that "latest" stays the same.

        Raises:
            DeltaError: as `starting_version`.
        """
        if self._begin is None:
            version = starting_version(self._log, self._options, self._settings, self._time_zone)
            if version is None:
                self._begin = SourceOffset(self.table_id, self._snapshot.version, BASE_INDEX, is_starting_version=True)
            else:
                self._begin = SourceOffset(self.table_id, version)
        return self._begin

    def _beginning_of(self, end: SourceOffset) -> SourceOffset:
        """Return where the first batch began: after a restart, the checkpoint only has its end."""
        known = self._begin
        if self._options.has_start:
            return min(self.beginning(), end)
        if known is not None and (known.version == end.version if end.is_starting_version else known.version < end.version):
            return known
        version = end.version if end.is_starting_version else end.version - 1
        if version < 0:
            raise failed("DELTA_INVALID_SOURCE_OFFSET_FORMAT/end", table=self._log.table_uri, offset=end.to_json())
        return SourceOffset(self.table_id, version, BASE_INDEX, is_starting_version=True)

    def _advance(self, begin: SourceOffset, limits: ReadLimits | None, *, is_resumed: bool) -> SourceOffset:
        """Return the offset up to which a batch has capacity, or up to which everything is committed."""
        tail, has_snapshot = self._table.tail, begin.is_starting_version
        if self._is_to_end and self._end is None:
            tail.look(first_commit(begin), is_resumed=is_resumed or has_snapshot)
            self._end = SourceOffset(self.table_id, max(tail.latest + 1, first_commit(begin)))
        admission = Admission(limits)
        at = begin
        if has_snapshot:
            self._table.check_start(begin.version)
            at = taken(self._initial_files(begin.version).indexed, begin, admission)
            if at.is_starting_version:
                return at
        if self._end is None or not tail.knows(at.version, self._end.version - 1):
            tail.look(at.version, is_resumed=is_resumed or has_snapshot)
        if at.version <= tail.latest:
            self._table.check_start(begin.version)
        return self._through_commits(begin, at, admission, is_limited=limits is not None)

    def _through_commits(self, begin: SourceOffset, at: SourceOffset, admission: Admission, *, is_limited: bool) -> SourceOffset:
        """Return the offset that a batch reaches in commits from `at` on. It also ends at a change of the schema."""
        try:
            for commit in self._table.commits(at.version, None if self._end is None else self._end.version - 1):
                here = at if at.version == commit.version else SourceOffset(self.table_id, commit.version)
                if here.index < METADATA_CHANGE_INDEX and self._table.changes_metadata(commit):
                    return replace(here, index=METADATA_CHANGE_INDEX)
                at = taken(commit.indexed, here, admission, is_atomic=commit.is_atomic)
                if at.version == commit.version:
                    break
        except DeltaError:
            # The offsets before the failing commit are read first, unless this is the last batch.
            if at == begin or not is_limited:
                raise
        return at

    def _commits_of(self, begin: SourceOffset, end: SourceOffset) -> Iterator[ReadCommit]:
        """Return the commits between two offsets. Read the log again if they are not cached, as after a restart."""
        first, last = first_commit(begin), last_commit(end)
        if first > last:
            return iter(())
        if not self._table.tail.knows(first, last):
            self._table.tail.look(first)
        return self._table.commits(first, last)

    def _initial_files(self, version: int) -> InitialFiles:
        return self._table.initial_files(version, self._exclude, self.event_time)

    def _initial_part(self, begin: SourceOffset, end: SourceOffset) -> InitialPart | None:
        """Return the files of the initial snapshot between two offsets; None if the first is after the snapshot."""
        if not begin.is_starting_version:
            return None
        files = self._initial_files(begin.version)
        first = files.indexed.position_after(begin.index)
        last = files.indexed.position_after(end.index) if end.is_starting_version else len(files.indexed)
        return InitialPart(files, files.places(first, last))


def starting_version(log: LogReader, options: StreamOptions, settings: StreamSettings, time_zone: str) -> int | None:
    """Return the first version whose commit a stream reads; None if it begins with a snapshot.

    Raises:
        VersionNotFoundError: the version is after the latest one, or its commit is gone.
        TimestampOutOfRangeError: the timestamp is after the latest commit.
        InvalidTimestampError: the string is not a timestamp.
        UnsupportedFeatureError: bayou cannot read the version.

    Source: delta-spark's `DeltaSource.getStartingVersion`.
    """
    if options.starting_version == LATEST:
        return log.version() + 1
    if options.starting_version is not None:
        return _version(log, int(options.starting_version), options, settings)
    if options.starting_timestamp is not None:
        return _version_at(log, options.starting_timestamp, settings, time_zone)
    return None


def _version(log: LogReader, version: int, options: StreamOptions, settings: StreamSettings) -> int:
    """Return the version of the option `startingVersion`, if a stream may begin there.

    A later version than the latest is allowed if the session's settings allow it, and an earlier one than the first commit if the
    stream ignores lost data.
    """
    latest = log.version()
    commits = list_versions(log.store).commits
    earliest = min(commits, default=None)
    is_early = earliest is None or version < earliest
    if (version > latest and not settings.allows_out_of_range) or (is_early and options.fail_on_data_loss):
        raise version_not_found(log.table_uri, version, earliest, latest)
    _check_readable(log, version)
    return version


def _version_at(log: LogReader, timestamp: str, settings: StreamSettings, time_zone: str) -> int:
    """Return the first version that was committed at or after the option `startingTimestamp`.

    If the time is after the latest commit and the session's settings allow that, this is the next version.
    """
    wanted = to_milliseconds(timestamp, time_zone)
    latest = log.update()
    listing = list_versions(log.store)
    times = CommitTimes(log.store, listing, InCommitTimestamps.of(latest.metadata.configuration), log.table_uri)
    try:
        found = times.first_at_or_after(wanted)
    except TimestampOutOfRangeError as error:
        if settings.allows_out_of_range and error.error_class == "DELTA_TIMESTAMP_GREATER_THAN_COMMIT":
            return latest.version + 1
        raise
    _check_readable(log, found)
    return found


def _check_readable(log: LogReader, version: int) -> None:
    """Check that bayou supports the features of a version. Skip the check if the log before the version no longer exists."""
    try:
        log.snapshot(version)
    except UnsupportedFeatureError:
        raise
    except DeltaError:
        return
