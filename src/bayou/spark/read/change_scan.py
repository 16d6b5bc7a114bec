# SPDX-License-Identifier: Apache-2.0
"""Find the files of a change data feed, in at most three groups, each of which is read in one way.

Change files contain the `_change_type` of each row. For all other files it is a constant, as are the version and the time of the
commit. If a commit only replaced the deletion vector of a file, a scan reads only the rows in which the two vectors differ.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.changes.checks import SchemaMode
from bayou.log.changes.feed import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, FEED_COLUMNS, ChangeFeed
from bayou.log.changes.files import CDC, CHANGE_FILES
from bayou.log.changes.range import ChangeBounds
from bayou.protocol.features.features import check_readable
from bayou.protocol.types.schema import StructType
from bayou.spark.read.change_request import ChangeSettings, PinnedChanges
from bayou.spark.scan import vector_columns
from bayou.spark.scan.vector_loading import encoded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.spark.session.application import Application

FEED_NAMES: Final = tuple(column.name for column in FEED_COLUMNS)
"""The names of the columns that the feed adds to the table's columns."""
KEPT_FEEDS: Final = 4
"""The number of change feeds that an application caches, so that later queries do not read the commits again."""


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """Files of a change feed that are read in the same way, as a source of files.

    Attributes:
        table: the files, in the columns of `ChangeFeed.files`.
        rows: for each file, the rows to skip because they were deleted before; None without such rows. If `are_differences`, the
            rows to read instead.
        are_differences: whether only the rows in which two deletion vectors differ are read.
        name: a prefix of the key that distinguishes the feed from others of the same versions.
    """

    feed: ChangeFeed
    table: pa.Table
    rows: Sequence[Bitmap | None]
    are_differences: bool
    name: str = ""

    @property
    def key(self) -> str:  # noqa: D102  (of FileSource, as all below)
        return f" changes {self.name}{self.feed.start}-{self.feed.end} {self.has_types} {self.are_differences}"

    @property
    def has_types(self) -> bool:
        """Whether the files contain the `_change_type` of their rows."""
        return bool(self.table.num_rows) and self.table["kind"][0].as_py() == CDC

    def files(self, columns: Sequence[str]) -> pa.Table:  # noqa: D102
        return self.table.select(list(columns))

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:  # noqa: D102
        return replace(self.feed, files=self.table).partition_texts()

    def vectors(self, positions: pa.Array | None, options: Mapping[str, str]) -> dict[str, pa.Array]:  # noqa: D102
        del options  # the feed has already read the deletion vectors, with the application's options
        rows = self.rows if positions is None else [self.rows[position] for position in positions.to_pylist()]
        vectors = encoded(rows, self.feed.snapshot.table_uri)
        return {} if all(each is None for each in vectors) else vector_columns.to_arrow(vectors)

    def row_condition(self, vectors: dict[str, pa.Array], row: str) -> str:  # noqa: D102
        if self.are_differences:
            return vector_columns.row_is_marked(vectors, row)
        return vector_columns.row_is_live(vectors, row)

    def constants(self) -> dict[str, pa.Array]:
        """Return the feed's columns that are constant for each file."""
        types = {} if self.has_types else {CHANGE_TYPE: self.table["kind"].combine_chunks()}
        times = self.table["commit_timestamp"].combine_chunks()
        return {
            **types,
            COMMIT_VERSION: self.table["commit_version"].combine_chunks(),
            COMMIT_TIMESTAMP: times.cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC")),
        }


class Changes:
    """A change feed for planning queries. The first query that needs its deletion vectors reads them for all later ones."""

    def __init__(self, feed: ChangeFeed, options: Mapping[str, str], name: str = "") -> None:
        self.feed = feed
        self.options = options
        self._name = name

    @cached_property
    def groups(self) -> list[ChangedFiles]:
        """Return the files grouped by the way they are read. At least one group, because the plan needs columns."""
        changed = self.feed.changed_rows(self.options)
        is_change = pc.equal(changed.files["kind"], CDC)
        is_difference = changed.files["is_difference"]
        kinds_of_reading = (is_change, pc.and_not(pc.invert(is_change), is_difference), is_difference)
        groups = [
            ChangedFiles(
                self.feed,
                changed.files.take(places),
                [changed.rows[each] for each in places.to_pylist()],
                number == len(kinds_of_reading) - 1,
                self._name,
            )
            for number, is_member in enumerate(kinds_of_reading)
            if len(places := pc.indices_nonzero(is_member))
        ]
        return groups or [ChangedFiles(self.feed, CHANGE_FILES.empty_table(), [], are_differences=False, name=self._name)]


class FeedCache:
    """The most recently used change feeds of an application."""

    _instances: WeakKeyDictionary[Application, FeedCache] = WeakKeyDictionary()

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[object, ...], Changes] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, application: Application) -> FeedCache:
        """Return the cache of an application, created at its first use."""
        return cls._instances.setdefault(application, cls())

    def get(self, key: tuple[object, ...]) -> Changes | None:
        """Return the feed with this key, or None."""
        with self._lock:
            changes = self._found.get(key)
            if changes is not None:
                self._found.move_to_end(key)
            return changes

    def put(self, key: tuple[object, ...], changes: Changes) -> None:
        """Cache a feed, and drop the least recently used one if the cache is full."""
        with self._lock:
            self._found[key] = changes
            self._found.move_to_end(key)
            while len(self._found) > KEPT_FEEDS:
                self._found.popitem(last=False)


def pin(
    application: Application, session: Any, latest: Snapshot, bounds: ChangeBounds, options: Mapping[str, str]
) -> tuple[PinnedChanges, Changes]:
    """Resolve the range that a reader requests, in which timestamps become versions.

    Args:
        session: a `SparkSession`, or its side in the JVM.

    Raises:
        DeltaError: as `DeltaLog.change_feed`.
    """
    settings = ChangeSettings.of(application.backend.conf(session))
    log = application.logs.get(latest.table_uri, options)
    feed = log.change_feed(settings.applied(bounds), schema_mode=settings.schema_mode, check_schemas=settings.check_schemas)
    check_readable(feed.snapshot.protocol, feed.snapshot.table_uri, feed.snapshot.version)
    pinned, changes = PinnedChanges.of(bounds, feed, settings), Changes(feed, options)
    # If another writer committed after `latest`, the feed has more versions than its key would say: do not cache it.
    if feed.end <= latest.version:
        FeedCache.of(application).put(_key(pinned, latest, options), changes)
    return pinned, changes


def changes_now(
    application: Application, session: Any, latest: Snapshot, bounds: ChangeBounds, options: Mapping[str, str]
) -> Changes:
    """Return the change data feed that a reader requests, up to the version of `latest`. The most recent ones are kept.

    Args:
        session: a `SparkSession`, or its side in the JVM.

    Raises:
        DeltaError: as `DeltaLog.change_feed`.
    """
    settings = ChangeSettings.of(application.backend.conf(session))
    key = (latest.table_uri, latest.metadata.id, latest.version, settings, bounds, tuple(sorted(options.items())))
    cache = FeedCache.of(application)
    changes = cache.get(key)
    if changes is None:
        _, changes = pin(application, session, latest, bounds, options)
        if changes.feed.end <= latest.version:
            cache.put(key, changes)
    return changes


def changes_at(application: Application, pinned: PinnedChanges, latest: Snapshot, options: Mapping[str, str]) -> Changes:
    """Return the change feed that a relation reads, up to the version of `latest`.

    Raises:
        DeltaError: as `DeltaLog.change_feed`.
    """
    key = _key(pinned, latest, options)
    cache = FeedCache.of(application)
    changes = cache.get(key)
    if changes is None:
        changes = Changes(_feed(application, pinned, latest, options), options)
        cache.put(key, changes)
    return changes


def _feed(application: Application, pinned: PinnedChanges, latest: Snapshot, options: Mapping[str, str]) -> ChangeFeed:
    log = application.logs.get(latest.table_uri, options)
    if pinned.is_empty:
        schema = StructType((*latest.schema.fields, *FEED_COLUMNS))
        return ChangeFeed(pinned.start, pinned.start - 1, schema, latest, CHANGE_FILES.empty_table(), log.store)
    bounds = ChangeBounds(starting_version=pinned.start, ending_version=_end(pinned, latest))
    feed = log.change_feed(bounds, schema_mode=SchemaMode(pinned.schema_mode), check_schemas=pinned.check_schemas)
    check_readable(feed.snapshot.protocol, feed.snapshot.table_uri, feed.snapshot.version)
    return feed


def _end(pinned: PinnedChanges, latest: Snapshot) -> int:
    return latest.version if pinned.end is None else min(pinned.end, latest.version)


def _key(pinned: PinnedChanges, latest: Snapshot, options: Mapping[str, str]) -> tuple[object, ...]:
    settled = astuple(replace(pinned, end=_end(pinned, latest)))
    return (latest.table_uri, latest.metadata.id, latest.version, settled, tuple(sorted(options.items())))
