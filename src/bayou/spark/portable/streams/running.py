# SPDX-License-Identifier: Apache-2.0
"""One source of a running query: it publishes batches as the log of the table grows.

Which files a batch has is decided as on a classic session. At most two batches wait for Spark, so that a batch has what was
committed until shortly before it runs. If a query reads what is there and then ends, all its batches are published before it
starts.

A batch is only published while no other run of the query can take one. Otherwise both could have the same rows. A query with a
checkpoint therefore first runs without new batches: Spark stops an earlier run, and completes the batches that it has left.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, failed
from bayou.log.changes.feed import ChangeFeed
from bayou.log.streaming.request.limits import ReadLimits
from bayou.spark.portable.scratch.scratch import SETTING, scratch_at
from bayou.spark.portable.streams.facts import NO_FACTS, joined
from bayou.spark.portable.streams.folder import delete_batch, delete_run, put_list
from bayou.spark.portable.streams.planned_batches import PlannedBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from bayou.log.streaming.request.offsets import SourceOffset
    from bayou.log.streaming.source import StreamingSource
    from bayou.spark.portable.streams.checkpoints import Entry, Reached
    from bayou.spark.portable.streams.facts import BatchFiles, FactReader, Facts
    from bayou.spark.portable.streams.folder import StreamFolder

_AHEAD: Final = 2
"""So many batches are published that Spark has not completed."""
_MOST_WORDS: Final = 1 << 20
"""The most words of deletion vectors in the note, which Spark sends to each task."""
_logger = logging.getLogger("bayou")


class Trigger(Enum):
    """When a query runs its batches."""

    ONCE = "one batch with everything"
    AVAILABLE_NOW = "batches until everything is read that was there at the start"
    ALWAYS = "batches until the query is stopped"


@dataclass(eq=False)
class _Published:
    """A batch that Spark has not completed."""

    batch: PlannedBatch
    first: int
    facts: Facts
    count: int
    parent: str | None = None
    """The URI of the folder of another run that has it; None for this run's folder."""


@dataclass(eq=False)
class SourceRun:
    """One source in one run of a query.

    Attributes:
        source: the table as the stream reads it.
        folder: where its batches are published.
        look: returns how far the query has come.
        trigger: when the query runs.
        facts: reads what the rows of the files need.
        storage_options: credentials for this process.
    """

    spark: SparkSession
    source: StreamingSource
    folder: StreamFolder
    look: Callable[[], Reached | None]
    trigger: Trigger
    facts: FactReader
    storage_options: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        """Begin without batches."""
        self._waiting: list[_Published] = []
        self._unpublished: list[str] = []
        """The names of the last batches, if their lists are written and the list of batches does not name them yet."""
        self._end: SourceOffset | None = None
        self._next_batch = 0
        self._next_file = 0
        self._waits_for_all = False
        self.is_stuck = False
        """Whether the last batch fails with an error, after which none is published."""
        self._error: DeltaError | None = None

    def prepare(self) -> None:
        """Write what Spark needs before the query starts, without new batches.

        Raises:
            DeltaError: the beginning of a new stream cannot be found, or the batches of an earlier run cannot be rewritten.
        """
        known = self.look()
        self.folder.create(0 if known is None else known.last.time)
        if known is None:
            self.source.beginning()  # an error now, because no batch could hold it
            return
        self._go_on_after(known)
        for entry in known.pending:
            self._rewrite(entry, is_last=entry is known.pending[-1])
        self._write_note()

    def look_again(self) -> None:
        """Find out what earlier runs have done, after the last one was stopped, and rewrite the lists of what they have left."""
        known = self.look()
        if known is None:
            return
        left = {entry.batch for entry in known.pending}
        self._drop([each for each in self._waiting if each.batch not in left])
        self._go_on_after(known)
        written = {each.batch for each in self._waiting}
        for entry in known.pending:
            if entry.batch not in written:
                self._rewrite(entry, is_last=entry is known.pending[-1])
        for parent in {known.last.parent, *(entry.parent for entry in known.pending)}:
            scratch = scratch_at(self.spark, parent, self.storage_options)
            if scratch is not None:
                delete_run(scratch, kept={batch.name for batch in left})

    def publish(self) -> None:
        """Publish the first batches. If the query ends without being stopped, these are all that it reads."""
        if self.trigger is Trigger.AVAILABLE_NOW:
            self.source.fix_end()
        while not self._waits_for_all and self._write_next():
            if self.trigger is Trigger.ONCE or (self.trigger is Trigger.ALWAYS and len(self._waiting) >= _AHEAD):
                break
        self._publish()

    def advance(self, completed: int) -> bool:
        """Drop the batches that Spark has completed, and publish the next one.

        Args:
            completed: the number of the last completed batch; -1 before the first one is.

        Returns:
            Whether everything that is committed was read.
        """
        done = [each for each in self._waiting if each.batch.number <= completed]
        if done:
            self._complete(done)
        if self._unpublished:  # the store failed when they were published
            self._publish()
            return False
        if self.trigger is not Trigger.ALWAYS or self.is_stuck:
            return not self._waiting
        if len(self._waiting) >= (1 if self._waits_for_all else _AHEAD):
            return False
        self._waits_for_all = False
        if not self._write_next():
            return not self._waiting
        self._publish()
        return False

    def delete(self) -> None:
        """Delete the folder after the query has ended. Batches that it may have left to its next run stay."""
        self.folder.delete(kept={each.batch.name for each in self._waiting})

    def _go_on_after(self, known: Reached) -> None:
        last = known.last.batch
        self._end, self._next_batch = self.source.parse_offset(last.end.to_json()), last.number + 1
        self._waits_for_all = known.is_interrupted

    def _rewrite(self, entry: Entry, *, is_last: bool) -> None:
        batch = entry.batch
        scratch = scratch_at(self.spark, entry.parent, self.storage_options)
        if scratch is None:
            raise failed("stream-batch-lost", table=self.source.table_uri, folder=entry.parent, batch=batch.number, setting=SETTING)
        name, folder = batch.name, self.folder
        try:
            planned = self.source.batch(batch.start, batch.end)
            if is_last and batch.start == batch.end:  # it may be one that failed
                self.source.latest_offset(batch.end, self.source.limits)
            files = self.facts.read(planned)
        except DeltaError as error:
            self._fail(error)
            put_list(scratch, name, folder.failure_list(error))
            self._waiting.append(_Published(batch, self._next_file, NO_FACTS, 0, entry.parent))
            return
        put_list(scratch, name, folder.batch_list(files.snapshot, files.files, self._next_file))
        self._waiting.append(self._numbered(batch, files, entry.parent))

    def _write_next(self) -> bool:
        """Write the list of the next batch. Return whether there is one."""
        if self.is_stuck:
            return False
        begin = self.source.beginning() if self._end is None else self._end
        try:
            limits = ReadLimits() if self.trigger is Trigger.ONCE else self.source.limits
            end = self.source.latest_offset(self._end, limits)
            if end is None or end == self._end:
                return False
            end, files = self._fitting(begin, end)
        except DeltaError as error:
            self._write_failure(begin, error)
            return True
        if files is None:
            return False
        batch = PlannedBatch(self._next_batch, begin, end)
        self.folder.put_batch(batch.name, files.snapshot, files.files, self._next_file)
        self._waiting.append(self._numbered(batch, files))
        self._unpublished.append(batch.name)
        self._end = end
        self._next_batch += 1
        return True

    def _write_failure(self, begin: SourceOffset, error: DeltaError) -> None:
        """Write the list of a last batch, which fails with an error."""
        batch = PlannedBatch(self._next_batch, begin, begin)
        self.folder.put_failure(batch.name, error)
        self._fail(error)
        self._waiting.append(_Published(batch, self._next_file, NO_FACTS, 0))
        self._unpublished.append(batch.name)
        self._next_batch += 1

    def _publish(self) -> None:
        """Let Spark read the batches whose lists are written. If the store fails, the next call publishes them."""
        self._write_note()
        self.folder.publish(*self._unpublished)
        self._unpublished.clear()

    def _fail(self, error: DeltaError) -> None:
        self.is_stuck = True
        self._error = error
        _logger.info("a stream cannot go on: %s", error)

    def _fitting(self, begin: SourceOffset, end: SourceOffset) -> tuple[SourceOffset, BatchFiles | None]:
        """Return a batch that fits into a list, which has no path twice. It ends earlier if necessary."""
        planned = self.source.batch(begin, end)
        repeated = None if isinstance(planned, ChangeFeed) else _first_repeated(planned.files)
        if repeated is not None:
            shorter = self.source.latest_offset(self._end, ReadLimits(repeated))
            assert shorter is not None and shorter < end  # noqa: PT018, S101  (it has fewer files)
            end, planned = shorter, self.source.batch(begin, shorter)
        files = self.facts.read(planned)
        words = files.facts.num_words
        waiting = sum(each.facts.num_words for each in self._waiting)
        if words + waiting > _MOST_WORDS:
            if waiting and self.trigger is Trigger.ALWAYS:
                return begin, None
            raise failed(
                "stream-vectors-too-large",
                table=self.source.table_uri,
                num_files=files.files.num_rows,
                most=_MOST_WORDS * 8,
                size=(words + waiting) * 8,
            )
        return end, files

    def _numbered(self, batch: PlannedBatch, files: BatchFiles, parent: str | None = None) -> _Published:
        first, count = self._next_file, files.files.num_rows
        self._next_file += count
        return _Published(batch, first, files.facts, count, parent)

    def _write_note(self) -> None:
        waiting = self._waiting
        base = waiting[0].first if waiting else self._next_file
        facts = joined([each.facts for each in waiting], self.facts.partitions)
        self.folder.put_note(base, facts, sum(each.count for each in waiting))

    def _complete(self, done: list[_Published]) -> None:
        if self._error is not None and done[-1] is self._waiting[-1]:
            _logger.error("a query went past an error, because its plan needs no rows of the table: %s", self._error)
        own = [each for each in done if each.parent is None]
        gone = next((each for each in own if not self.folder.is_whole(each.batch.name)), None)
        if gone is not None and not self.is_stuck:
            error = failed(
                "stream-list-gone", table=self.source.table_uri, folder=self.folder.place, batch=gone.batch.number, setting=SETTING
            )
            _logger.error("%s", error)
            self._write_failure(done[-1].batch.end, error)
        self._drop(done)
        self.source.commit(done[-1].batch.end)

    def _drop(self, done: list[_Published]) -> None:
        self._waiting = [each for each in self._waiting if each not in done]
        self.folder.forget(*(each.batch.name for each in done if each.parent is None))
        for each in done:
            self._delete_elsewhere(each)

    def _delete_elsewhere(self, published: _Published) -> None:
        if published.parent is not None:
            scratch = scratch_at(self.spark, published.parent, self.storage_options)
            if scratch is not None:
                delete_batch(scratch, published.batch.name)


def _first_repeated(files: pa.Table) -> int | None:
    """Return the place of the first file whose path occurs before it; None if each path occurs once."""
    seen: set[str] = set()
    for place, path in enumerate(files["path"].to_pylist()):
        if path in seen:
            return place
        seen.add(path)
    return None
