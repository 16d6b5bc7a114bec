# SPDX-License-Identifier: Apache-2.0
"""Streams from Delta tables on Spark Connect: the DataFrame of `readStream`, and what happens when a query on it starts."""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.errors import PySparkException
from pyspark.sql.connect import proto
from pyspark.sql.connect.streaming.query import StreamingQuery

from bayou.errors import failed
from bayou.plan.predicates.predicate import columns as columns_of
from bayou.spark.portable.client import client_of
from bayou.spark.portable.names import path_in
from bayou.spark.portable.requests.messages import RELATION
from bayou.spark.portable.scan.rows import stream_frame
from bayou.spark.portable.scan.session_settings import ScanSettings
from bayou.spark.portable.scratch.scratch import SETTING, lasting_scratch_of, scratch_of
from bayou.spark.portable.streams.changes import StreamedChanges
from bayou.spark.portable.streams.checkpoints import has_run, reached
from bayou.spark.portable.streams.facts import FactReader
from bayou.spark.portable.streams.folder import StreamFolder
from bayou.spark.portable.streams.follower import Follower, follower_of
from bayou.spark.portable.streams.rows import StreamedRows
from bayou.spark.portable.streams.running import SourceRun, Trigger
from bayou.spark.portable.streams.start_lock import StartLock
from bayou.spark.session.given_options import report_unknown_of_stream
from bayou.spark.streaming.opening import open_source
from bayou.spark.types.types import spark_data_type

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.streaming.request.options import StreamOptions
    from bayou.plan.predicates.predicate import Predicate
    from bayou.spark.portable.scratch.folders import Scratch
    from bayou.spark.portable.streams.checkpoints import Reached
    from bayou.spark.session.application import Application
    from bayou.spark.streaming.opening import OpenedSource

_DELTA: Final = "delta"
_INDEX: Final = "__bayou_source"
"""The option of a read with its position among the sources of a query that starts."""
_CHECKPOINT: Final = "checkpointLocation"
_CHECKPOINTS: Final = "spark.sql.streaming.checkpointLocation"
_VECTORS: Final = "deletionVectors"
Started = Callable[[Any], None]
"""What is done with the result of a start."""


@dataclass
class _Start:
    """The start of a query in this thread."""

    checkpoint: str | None
    trigger: Trigger
    runs: list[SourceRun] = field(default_factory=list)
    locks: dict[str, StartLock] = field(default_factory=dict)
    """By the folders with the folders of the runs."""

    def lock(self, scratch: Scratch, table: str) -> None:
        """Keep other clients from starting the query, until the server has started it here."""
        if self.checkpoint is not None and scratch.uri not in self.locks:
            lock = StartLock(scratch, self.checkpoint, table)
            lock.acquire()
            self.locks[scratch.uri] = lock

    def release(self) -> None:
        """Let other clients start the query."""
        for lock in self.locks.values():
            lock.release()


class TableStreams:
    """The streams from tables of one session. Threads share it."""

    def __init__(self, application: Application, spark: SparkSession) -> None:
        self._application = application
        self._spark = spark
        self._of_thread = threading.local()
        self._shown: dict[tuple[str, str, int], StreamFolder] = {}

    @contextlib.contextmanager
    def starting(self, command: proto.WriteStreamOperationStart) -> Iterator[Started | None]:
        """Within it, this thread replaces the reads of a query that starts. It yields what to call when the server has started it.

        Args:
            command: the start. Reads of Delta tables in it are marked.
        """
        if not _mark(command.input):
            yield None
            return
        self._release_refused()
        start = self._of_thread.latest = _Start(self._checkpoint(command), _trigger(command))
        self._of_thread.replaced = start
        try:
            yield lambda result: self._started(start, result)
        except BaseException:
            start.release()
            raise
        finally:
            self._of_thread.replaced = None
        self._of_thread.ready = start

    def _release_refused(self) -> None:
        """Release what the last start of this thread holds if the server refused it."""
        latest: _Start | None = getattr(self._of_thread, "latest", None)
        if latest is not None:
            latest.release()

    def before_start(self, command: proto.WriteStreamOperationStart) -> None:
        """Publish the first batches of a query, before the server gets its start, as `starting` has changed it.

        If it goes on with a checkpoint, the server first runs the batches that an earlier run has left, and nothing else. This also
        stops an earlier run that the server still has.
        """
        start: _Start | None = getattr(self._of_thread, "ready", None)
        self._of_thread.ready = None
        if start is None:
            return
        try:
            if start.checkpoint is not None and has_run(self._spark, start.checkpoint):
                self._run_pending(command)
                for run in start.runs:
                    run.look_again()
            for run in start.runs:
                run.publish()
            for lock in start.locks.values():
                lock.check()
        except BaseException:
            start.release()
            raise

    def _run_pending(self, command: proto.WriteStreamOperationStart) -> None:
        own = proto.WriteStreamOperationStart()
        own.CopyFrom(command)
        own.available_now = True
        client: Any = client_of(self._spark)
        # If it fails, the program's own start will fail in the same way.
        with contextlib.suppress(PySparkException):
            _, answer, _ = client.execute_command(proto.Command(write_stream_operation_start=own))
            result = answer["write_stream_operation_start_result"]
            StreamingQuery(cast("Any", self._spark), result.query_id.id, result.query_id.run_id).awaitTermination()

    def frame(self, options: Mapping[str, str], predicate: Callable[[Snapshot], Predicate | None]) -> DataFrame:
        """Return the rows of a stream from a table.

        Outside of `starting` it only serves to be analysed: a query on it fails.

        Args:
            options: the reader's options, with the path.
            predicate: returns a predicate that all rows satisfy that the query keeps, for the version whose schema the stream has.

        Raises:
            DeltaError: the table does not exist or cannot be read as a stream, or an option is not valid.
        """
        given = {name: value for name, value in options.items() if name != _INDEX}
        backend = self._application.backend
        opened = open_source(self._application, given, backend.settings(self._spark), backend.time_zone(self._spark))
        snapshot = opened.snapshot
        _refuse(opened.options, snapshot.table_uri)
        report_unknown_of_stream(given, snapshot.table_uri)
        ScanSettings.of(self._spark).check_lists(snapshot)
        start: _Start | None = getattr(self._of_thread, "replaced", None)
        if start is None or _INDEX not in options:
            return stream_frame(self._rows(opened, self._folder_to_show(snapshot, opened.storage_options)))
        return self._begun(start, int(options[_INDEX]), opened, predicate(snapshot))

    def catch_up(self, command: proto.StreamingQueryCommand) -> None:
        """Before Spark processes all that is available, publish what is committed now."""
        follower = follower_of(command.query_id.run_id) if command.process_all_available else None
        if follower is not None:
            follower.wait_until_all_is_read()

    def _begun(self, start: _Start, index: int, opened: OpenedSource, where: Predicate | None) -> DataFrame:
        checkpoint, spark, snapshot, storage_options = start.checkpoint, self._spark, opened.snapshot, opened.storage_options
        scratch = lasting_scratch_of(spark, snapshot, checkpoint, storage_options)
        if scratch is None:
            raise failed("stream-folder-not-shared", at=snapshot, setting=SETTING)
        start.lock(scratch, snapshot.table_uri)
        folder = StreamFolder(scratch)
        rows = self._rows(opened, folder)

        def look() -> Reached | None:
            return None if checkpoint is None else reached(spark, checkpoint, index, snapshot.table_uri)

        where = where if where is not None and columns_of(where) else None
        facts = FactReader(tuple(rows.partitions), rows.has_vectors, storage_options, where)
        run = SourceRun(spark, opened.source, folder, look, start.trigger, facts, storage_options)
        start.runs.append(run)
        _unstarted.append(run)
        run.prepare()
        return stream_frame(rows)

    def _started(self, start: _Start, result: Any) -> None:
        start.release()
        for run in start.runs:
            _unstarted.remove(run)
        Follower(self._spark, start.runs, result.query_id.id, result.query_id.run_id).start()

    def _rows(self, opened: OpenedSource, folder: StreamFolder) -> StreamedRows:
        snapshot = opened.snapshot
        fields = {each.name: each for each in snapshot.schema.fields}
        partitions = {fields[name].physical_name: spark_data_type(fields[name]) for name in snapshot.partition_columns}
        has_vectors = _VECTORS in (snapshot.protocol.reader_features or ())
        kind = StreamedChanges if opened.options.read_change_feed else StreamedRows
        return kind(self._spark, snapshot, folder.place, folder.first, partitions, has_vectors)

    def _folder_to_show(self, snapshot: Snapshot, storage_options: Mapping[str, str]) -> StreamFolder:
        """Return a folder for a plan that is not started here. A query on it fails, such as one on a temporary view."""
        scratch = scratch_of(self._spark, snapshot, storage_options)
        if scratch is None:
            raise failed("stream-folder-not-shared", at=snapshot, setting=SETTING)
        key = (scratch.uri, snapshot.table_uri, snapshot.version)
        folder = self._shown.get(key)
        if folder is None or not folder.has_list():
            folder = StreamFolder(scratch)
            folder.create()
            folder.put_failure("not-started", failed("stream-of-view", at=snapshot))
            folder.publish("not-started")
            self._shown[key] = folder
            atexit.register(folder.delete)
        return folder

    def _checkpoint(self, command: proto.WriteStreamOperationStart) -> str | None:
        """Return the checkpoint as Spark chooses it; None for a temporary one."""
        given = next((value for name, value in command.options.items() if name.lower() == _CHECKPOINT.lower()), "")
        if given:
            return given
        folder = self._spark.conf.get(_CHECKPOINTS, "")
        return f"{folder.rstrip('/')}/{command.query_name}" if folder and command.query_name else None


_unstarted: Final[list[SourceRun]] = []


def _delete_unstarted() -> None:
    for run in _unstarted:
        run.delete()


atexit.register(_delete_unstarted)


def _refuse(options: StreamOptions, table: str) -> None:
    """Raise UnsupportedFeatureError for an option that only classic sessions have."""
    refused = {
        "schemaTrackingLocation": options.schema_location is not None,
        "withEventTimeOrder": options.with_event_time_order,
    }
    for name, is_set in refused.items():
        if is_set:
            what = f"The option {name} of a stream"
            raise failed(
                "DELTA_OPERATION_NOT_ALLOWED/connect-stream", table=table, what=what, features=(f"{name} on Spark Connect",)
            )


def _trigger(command: proto.WriteStreamOperationStart) -> Trigger:
    if command.once:
        return Trigger.ONCE
    return Trigger.AVAILABLE_NOW if command.available_now else Trigger.ALWAYS


def _mark(relation: proto.Relation) -> bool:
    """Number the streaming reads of a query in the order in which Spark numbers its sources. Return whether one reads a table."""
    has_table = False
    for index, read in enumerate(_streaming_reads(relation)):
        if read.HasField("named_table"):
            if path_in(read.named_table.unparsed_identifier) is not None:
                has_table = True
                read.named_table.options[_INDEX] = str(index)
        elif read.data_source.format.lower() == _DELTA:
            has_table = True
            read.data_source.options[_INDEX] = str(index)
    return has_table


def _streaming_reads(message: Message) -> Iterator[Any]:
    """Yield the streaming reads of a message, from left to right."""
    waiting = [message]
    while waiting:
        each: Any = waiting.pop()
        if each.DESCRIPTOR.full_name == RELATION and each.HasField("read") and each.read.is_streaming:
            yield each.read
            continue
        below = []
        for descriptor, value in each.ListFields():
            if descriptor.message_type is None or descriptor.message_type.GetOptions().map_entry:
                continue
            below += [value] if hasattr(value, "DESCRIPTOR") else list(value)
        waiting += reversed(below)
