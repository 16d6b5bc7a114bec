# SPDX-License-Identifier: Apache-2.0
"""Answer Spark's calls on one source of one streaming query: the latest offset, the rows of a batch, metrics."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from bayou.errors import failed, redact_uri
from bayou.log.streaming.batches.initial_files import check_event_order
from bayou.log.streaming.request.limits import ReadLimits
from bayou.log.streaming.schema.tracking_log import conflict
from bayou.protocol.types.schema import parse_schema
from bayou.spark.jvm.core.messages import Message
from bayou.spark.jvm.relations.streaming import numbers_of_sources, stream_leaf
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.streaming.batch import BatchRequest, rows_of
from bayou.spark.scan.file_metadata import is_file_metadata
from bayou.spark.types.types import readable_schema
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bayou.log.streaming.request.offsets import SourceOffset
    from bayou.log.streaming.source import StreamingSource
    from bayou.protocol.types.schema import StructField
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.jvm.relations.streaming import StreamLeaf
    from bayou.spark.session.application import Application

_logger = logging.getLogger("bayou")
_running: WeakValueDictionary[int, StreamingSource] = WeakValueDictionary()
"""The sources of all running queries, by number."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One source of one query.

    Attributes:
        application: the Spark application.
        session: the JVM session of the reader.
        source: the table as it is read.
        number: a unique number of the source in the application, by which Spark's plan of the query is found.
        checkpoint: the folder of the source in the query's checkpoint.
        by_event_time: whether to read the initial snapshot in the order of the watermark's column.
        storage_options: options for the file system.
    """

    application: Application
    session: JavaObject
    source: StreamingSource
    number: int
    checkpoint: str
    by_event_time: bool
    storage_options: Mapping[str, str] = field(repr=False)


class StreamReader:
    """Answers Spark's calls on a source.

    The query's thread makes the calls one after the other. Only `metrics` may come from another thread at the same time, so a lock
    protects the state.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._source = reading.source
        self._is_checked = False
        self._metadata: StructField | None = None
        self._lock = threading.Lock()
        _running[reading.number] = reading.source

    def __call__(self, facts: str, _: Any) -> Any:
        """Answer a call of `bayou.StreamSource`.

        Args:
            facts: the message: the kind of call and two arguments. They are offsets, or a limit, or empty, depending on the call.
        """
        message = Message.decode(facts)
        first, second = message.texts
        answers: dict[str, Callable[[str, str], Any]] = {
            "latest": self._latest,
            "batch": self._batch,
            "resume": self._resume,
            "commit": self._commit,
            "fix": self._fix,
            "metrics": self._metrics,
        }
        if message.word not in answers:
            raise message.unknown()
        with self._lock:
            if not self._is_checked and message.word in ("latest", "batch", "resume"):
                self._check(self._offset(first) or (None if message.word == "latest" else self._offset(second)))
            return answers[message.word](first, second)

    def _check(self, reached: SourceOffset | None) -> None:
        """Check the query before its first batch. This is not possible earlier, because it needs Spark's analysed plan.

        Args:
            reached: the offset that the query has already reached; None for a new query.
        """
        reading = self._reading
        leaf = stream_leaf(jvm_of(reading.application), reading.session, reading.number)
        if leaf is not None:
            self._check_columns(leaf)
        self._check_schema_log()
        if reading.by_event_time:
            self._source.event_time = None if leaf is None else leaf.event_time
            if self._source.event_time is None:
                table = redact_uri(self._source.table_uri)
                _logger.warning("withEventTimeOrder does nothing: no watermark is on a column of the table (table: %s)", table)
        store = open_store(qualify(reading.checkpoint), reading.storage_options)
        check_event_order(store, self._source.event_time, reached, self._source.table_uri)
        self._is_checked = True

    def _check_columns(self, leaf: StreamLeaf) -> None:
        """Check that the plan has the table's columns in the same order, because Spark binds them by position."""
        fields_in_plan = parse_schema(leaf.columns).fields
        self._metadata = next((each for each in fields_in_plan if is_file_metadata(each)), None)
        columns_in_plan = [(each.name, each.type) for each in fields_in_plan if not is_file_metadata(each)]
        if columns_in_plan != [(each.name, each.type) for each in readable_schema(self._source.schema).fields]:
            raise failed("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS/stream", table=self._source.table_uri)

    def _check_schema_log(self) -> None:
        """Refuse two sources of one query with the same schema log, before either writes its first entry."""
        location, reading = self._source.schema_log, self._reading
        if location is None:
            return
        for number in numbers_of_sources(jvm_of(reading.application), reading.session) - {reading.number}:
            other = _running.get(number)
            if other is not None and other.schema_log == location:
                raise conflict(location, self._source.table_uri)

    def _latest(self, start: str, limit: str) -> str | None:
        limits = ReadLimits(None, None) if limit == "all" else self._source.limits
        offset = self._source.latest_offset(self._offset(start), limits)
        return None if offset is None else offset.to_json()

    def _batch(self, start: str, end: str) -> JavaObject:
        last, reading = self._offset(end), self._reading
        assert last is not None  # noqa: S101  (Spark has an end for each batch)
        files = self._source.batch(self._offset(start), last)
        metadata = self._metadata
        request = BatchRequest(f"{reading.number} {start}..{end} ", metadata, reading.storage_options)
        return rows_of(reading.application, reading.session, files, request)

    def _resume(self, start: str, end: str) -> None:
        last = self._offset(end)
        assert last is not None  # noqa: S101  (Spark has an end for each batch)
        self._source.resume(self._offset(start), last)

    def _commit(self, _: str, end: str) -> None:
        last = self._offset(end)
        if last is not None:
            self._source.commit(last)

    def _fix(self, _first: str, _second: str) -> None:
        self._source.fix_end()

    def _metrics(self, latest: str, _: str) -> str:
        backlog = self._source.backlog(self._offset(latest))
        return f"numFilesOutstanding {backlog.files} numBytesOutstanding {backlog.bytes}"

    def _offset(self, text: str) -> SourceOffset | None:
        return self._source.parse_offset(text) if text else None
