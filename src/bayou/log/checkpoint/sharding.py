# SPDX-License-Identifier: Apache-2.0
"""Sharded work on checkpoints of logs with more files than one process should hold, by jobs of an engine.

An engine registers its jobs here. A shard is some rows of a checkpoint. A job runs the same code that a smaller log runs in its own
process, on a state that only holds the shard's files.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bayou.log.actions.action_files import Header
from bayou.log.actions.columns import ADD_SCHEMA
from bayou.log.actions.keys import action_keys
from bayou.log.segment.segment import LogSegment
from bayou.log.snapshot.checkpoint_reader import Checkpoint
from bayou.log.snapshot.replay import FileState
from bayou.log.snapshot.snapshot import Snapshot
from bayou.log.snapshot.source import SnapshotSource
from bayou.storage.memory import MemoryStore
from bayou.storage.store import FileStatus

if TYPE_CHECKING:
    from bayou.plan.predicates.predicate import Predicate
    from bayou.protocol.actions.actions import Metadata
    from bayou.protocol.actions.actions import Protocol as TableProtocol

MIN_FILES: Final = 5_000_000
"""The number of files from which jobs are used; so many take about 3 GB of memory."""
SHARD_FILES: Final = 200_000
"""How many files a task holds at once."""
_SHARD_FILE: Final = "shard.checkpoint.parquet"

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_logger = logging.getLogger("bayou")


class LogJobError(Exception):
    """A job failed or could not be started; this process does its work instead."""


class LogJobs(Protocol):
    """An engine that can run a function over the rows of checkpoint files, in any number of tasks."""

    @property
    def min_files(self) -> int:
        """The number of files from which the engine is used."""
        ...

    def run(
        self, source: SnapshotSource, files: Sequence[str], work: Work, schema: pa.Schema, *, stream: bool = False
    ) -> Iterable[pa.Table]:
        """Call a function once per task, with the columns `add` and `remove` of the task's rows.

        Args:
            files: Parquet files of a checkpoint, relative to the table.
            work: the function, which is pickled.
            stream: whether the result may be too large to be held at once.

        Raises:
            LogJobError: the job failed, or could not be started.
        """
        ...


_JOBS: list[LogJobs] = []


def register_log_jobs(jobs: LogJobs) -> Callable[[], None]:
    """Register an engine's jobs for logs of many files, and return a function that undoes it; the latest registration is used."""
    _JOBS.append(jobs)
    return lambda: _JOBS.remove(jobs) if jobs in _JOBS else None


def jobs_for(source: SnapshotSource) -> LogJobs | None:
    """Return the jobs to use for a snapshot's log; None if this process can hold it, or holds it already."""
    if not _JOBS or source.has_state:
        return None
    checkpoint = source.checkpoint
    jobs = _JOBS[-1]
    return jobs if checkpoint is not None and checkpoint.most_files >= jobs.min_files and checkpoint.shard_files else None


def narrowed(snapshot: Snapshot, predicate: Predicate) -> Snapshot:
    """Return the snapshot with only the files that may hold a row for which a predicate is true.

    Return the snapshot itself if the log has few files, or no engine has registered its jobs.
    """
    jobs = jobs_for(snapshot.source)
    return snapshot if jobs is None else snapshot.read_source(lambda source: _narrowed(snapshot, source, predicate, jobs))


def _narrowed(snapshot: Snapshot, source: SnapshotSource, predicate: Predicate, jobs: LogJobs) -> Snapshot:
    checkpoint = source.checkpoint
    if checkpoint is None:
        return snapshot
    tail = source.tail()
    work = Prune(Shards.of(snapshot, tail), predicate)
    try:
        tables = list(jobs.run(source, checkpoint.shard_files, work, ADD_SCHEMA))
    except LogJobError as error:
        _logger.warning("%s: the log is read in this process, because its job failed: %s", source.table_uri, error)
        return snapshot
    later = Snapshot(source.with_state(tail)).files(where=predicate)
    found = pa.concat_tables([*(table.cast(ADD_SCHEMA) for table in tables), later])
    _logger.debug("%s: %d of at most %d files are left by a job", source.table_uri, found.num_rows, checkpoint.most_files)
    return Snapshot(source.with_state(FileState.initial(None).with_adds(found, source.table_uri)))


@dataclass(frozen=True, slots=True)
class Shards:
    """How the rows of a checkpoint become separate states; `touched` are the keys of files with later actions."""

    table_uri: str
    segment: LogSegment
    protocol: TableProtocol
    metadata: Metadata
    touched: pa.ChunkedArray

    @classmethod
    def of(cls, snapshot: Snapshot, tail: FileState) -> Shards:
        """Return the shards of a snapshot's checkpoint; `tail` is the state of the commits after it."""
        return cls(snapshot.table_uri, snapshot.segment, snapshot.protocol, snapshot.metadata, tail.touched)

    def states(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Snapshot]:
        """Yield snapshots of some rows of the checkpoint each, without the files with later actions."""
        gathered: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            gathered.append(batch)
            rows += batch.num_rows
            if rows >= SHARD_FILES:
                yield self._state(gathered)
                gathered, rows = [], 0
        if gathered:
            yield self._state(gathered)

    def _state(self, batches: list[pa.RecordBatch]) -> Snapshot:
        store = MemoryStore()
        data = io.BytesIO()
        pq.write_table(pa.Table.from_batches(batches), data, compression="none", use_dictionary=False, store_schema=False)
        store.put(_SHARD_FILE, data.getvalue())
        checkpoint = Checkpoint(
            [FileStatus(_SHARD_FILE, 0, 0)], self.segment.version, store, self.table_uri, metadata=self.metadata
        )
        state = FileState.initial(checkpoint).without(self.touched, self.table_uri)
        header = Header(self.protocol, self.metadata)
        source = SnapshotSource(self.segment, store, self.table_uri, checkpoint=checkpoint, header=header, pending=(), base=state)
        return Snapshot(source)

    def tombstones(self, snapshot: Snapshot, oldest_ms: int) -> pa.Table:
        """Return the tombstones in one of the states that are younger than a time and not cancelled by a later commit."""
        gone = snapshot.tombstones()
        young = gone.filter(pc.greater(pc.fill_null(gone["deletion_timestamp"], 0), oldest_ms))
        keys = action_keys(young["path"], young["deletion_vector"], self.table_uri)
        return young.filter(pc.invert(pc.is_in(keys, value_set=self.touched.combine_chunks())))


@dataclass(frozen=True, slots=True)
class Prune:
    """A job's work: return the files of a checkpoint that may hold a row for which a predicate is true, ADD_SCHEMA."""

    shards: Shards
    predicate: Predicate

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Any]:
        """See Work."""
        for snapshot in self.shards.states(batches):
            yield from snapshot.files(where=self.predicate).combine_chunks().to_batches()
