# SPDX-License-Identifier: Apache-2.0
"""What a client of Spark Connect replaces in its requests: the reads of Delta tables, and the commands that change them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.connect import proto

from bayou.errors import failed
from bayou.log.commit.active_transactions import note_read
from bayou.plan.predicates.predicate import And
from bayou.plan.predicates.predicate import columns as columns_of
from bayou.protocol.types.char_varchar import char_width
from bayou.protocol.types.schema import parse_schema
from bayou.spark.portable.changes import feed_frame
from bayou.spark.portable.client import note_version
from bayou.spark.portable.commands.frame_writes import write_of, write_to
from bayou.spark.portable.commands.merges import merge_into
from bayou.spark.portable.commands.sql_commands import run_sql
from bayou.spark.portable.commands.tables.catalog_methods import catalog_answer
from bayou.spark.portable.names import path_in
from bayou.spark.portable.pruning.plans import PlanConditions
from bayou.spark.portable.references import references_in
from bayou.spark.portable.requests.answers import WithMetadata
from bayou.spark.portable.requests.metadata import METADATA, use_in_plan
from bayou.spark.portable.scan.carrier import lists_are_whole
from bayou.spark.portable.scan.listed_files import ListedFiles
from bayou.spark.portable.scan.metadata import frame_with_metadata
from bayou.spark.portable.scan.rows import is_grouped, scan_frame
from bayou.spark.portable.scan.runs import case_changes
from bayou.spark.portable.scan.session_settings import ScanSettings
from bayou.spark.portable.streams.sink import write_batches
from bayou.spark.portable.streams.source import TableStreams
from bayou.spark.portable.streams.user_functions import enable_in_function
from bayou.spark.portable.text.filter_values import ZONE, zone_of
from bayou.spark.portable.text.filters import predicate_of
from bayou.spark.read.change_scan import changes_now
from bayou.spark.read.reader import check_has_columns
from bayou.spark.read.request import TableRequest, resolve
from bayou.spark.scan.pruning import choose
from bayou.spark.session.given_options import report_unknown_of_read
from bayou.spark.sql.statements.context import Context
from bayou.spark.types.types import incompatible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.predicates.predicate import Predicate
    from bayou.spark.portable.pruning.conditions import Conditions
    from bayou.spark.portable.requests.answers import CommandAnswer, Reference, Views
    from bayou.spark.portable.requests.messages import Outside, Place
    from bayou.spark.portable.requests.metadata import MetadataUse
    from bayou.spark.portable.streams.source import Started
    from bayou.spark.session.application import Application

_DELTA: Final = "delta"
_KEPT: Final = 64
"""So many DataFrames of tables are kept, so that the server analyses the same request once."""


class TableAnswers:
    """The answers for one session: see `requests.answers.Answers`."""

    def __init__(self, application: Application, spark: SparkSession) -> None:
        self._application = application
        self._spark = spark
        self._streams = TableStreams(application, spark)
        self._frames: OrderedDict[tuple[object, ...], DataFrame] = OrderedDict()
        self._lock = threading.Lock()
        self._of_request = threading.local()

    def read(self, read: proto.Read, place: Place | Outside | None = None) -> DataFrame | WithMetadata | None:
        """Return the rows of a Delta table, or None if the request is for the server.

        Files in which no row satisfies the conditions above it are left out.
        """
        kind = read.WhichOneof("read_type")
        if kind == "named_table":
            path = path_in(read.named_table.unparsed_identifier)
            if path is not None and read.is_streaming:
                return self._stream({**read.named_table.options, "path": path}, place)
            return None if path is None else self._placed({**read.named_table.options, "path": path}, place)
        source = read.data_source
        if kind != "data_source" or source.format.lower() != _DELTA:
            return None
        if len(source.paths) > 1:
            raise failed("DELTA_ILLEGAL_OPTION/several-paths", option="path", num_paths=len(source.paths))
        options = {**source.options, **({"path": source.paths[0]} if source.paths else {})}
        if not read.is_streaming:
            report_unknown_of_read(options, options.get("path", ""))
        answer = self._stream(options, place) if read.is_streaming else self._placed(options, place)
        self._check_schema(source, answer.frame.drop(METADATA) if isinstance(answer, WithMetadata) else answer)
        return answer

    def _stream(self, options: Mapping[str, str], place: Place | Outside | None) -> DataFrame:
        """Return the rows of a stream that a reader's options ask for at a place in a plan."""
        return self._streams.frame(options, lambda snapshot: self._predicate(snapshot, PlanConditions(place)))

    def _placed(self, options: Mapping[str, str], place: Place | Outside | None) -> DataFrame | WithMetadata:
        """Return the rows that a reader's options ask for at a place in a plan."""
        use = use_in_plan(place)
        frame, has_metadata = self._read(options, PlanConditions(place), use)
        return WithMetadata(frame, use.hidden_in) if has_metadata and use is not None else frame

    def _check_schema(self, source: proto.Read.DataSource, frame: DataFrame) -> None:
        """Raise SchemaMismatchError if the schema of a reader, as JSON or SQL, does not fit the table's."""
        text = source.schema
        if not text:
            return
        given = text if text.lstrip().startswith("{") else self._application.backend.columns_in_json(self._spark, text)
        problems = list(incompatible(parse_schema(given).fields, self._application.backend.columns_of(frame)))
        if problems:
            table = source.paths[0] if source.paths else None
            raise failed("DELTA_READ_SOURCE_SCHEMA_CONFLICT", table=table, differences="; ".join(problems))

    def catalog(self, request: proto.Catalog) -> DataFrame | None:
        """Return the rows that answer a method about a table by path, or None if the server answers."""
        return catalog_answer(self._application, self._spark, request)

    def references(self, sql: proto.SQL, place: Place | Outside | None = None, views: Views | None = None) -> Sequence[Reference]:
        """Return the tables in a query, and the views of which it needs only some files."""
        above = None if place is None else PlanConditions(place)
        return references_in(sql, self.rows, Context(self._application, self._spark), above, views)

    def command(self, command: proto.Command) -> CommandAnswer | None:
        """Run a command on a Delta table, or return None if it is for the server."""
        kind = command.WhichOneof("command_type")
        if kind == "write_operation":
            return write_of(self._application, self._spark, command.write_operation)
        if kind == "write_operation_v2":
            return write_to(self._application, self._spark, command.write_operation_v2)
        if kind == "merge_into_table_command":
            return merge_into(self._application, self._spark, command.merge_into_table_command)
        if kind == "sql_command":
            return self._statement(command.sql_command)
        if kind == "write_stream_operation_start":
            enable_in_function(command.write_stream_operation_start)
            write_batches(self._spark, command.write_stream_operation_start)
            self._streams.before_start(command.write_stream_operation_start)
        elif kind == "streaming_query_command":
            self._streams.catch_up(command.streaming_query_command)
        return None

    def starting(self, start: proto.WriteStreamOperationStart) -> AbstractContextManager[Started | None]:
        """Replace the reads of Delta tables of a query that starts; see `Answers`."""
        return self._streams.starting(start)

    def _statement(self, command: proto.SqlCommand) -> CommandAnswer | None:
        """Run a statement of Delta Lake; None if it is the server's."""
        relation = command.input
        if not command.HasField("input"):  # clients before 4.0
            relation = proto.Relation(sql=proto.SQL(query=command.sql))
        return run_sql(self._application, self._spark, relation)

    def rows(self, options: Mapping[str, str], conditions: Conditions | None = None, use: MetadataUse | None = None) -> DataFrame:
        """Return the rows that a reader's options ask for: see `_read`."""
        return self._read(options, conditions, use)[0]

    def _read(self, options: Mapping[str, str], conditions: Conditions | None, use: MetadataUse | None) -> tuple[DataFrame, bool]:
        """Return the rows that a reader's options ask for, of the version that is the latest now if they name none.

        The same request of the same version of a table has the same DataFrame. A change data feed ends at that version.

        Args:
            options: the reader's options, with the path.
            conditions: conditions on the rows. Files in which no row satisfies them may be left out.
            use: what is asked of their metadata.

        Returns:
            The rows, and whether they have a column `_metadata` that the table does not have.
        """
        request, snapshot = self._resolved(TableRequest.from_options(options))
        feed, positions, has_metadata = None, None, False
        if request.changes is not None:
            feed = changes_now(self._application, self._spark, snapshot, request.changes, request.storage_options)
        else:
            check_has_columns(snapshot)
            predicate, positions = self._pruned(snapshot, conditions)
            has_metadata = (
                use is not None
                and snapshot.schema.field(METADATA) is None
                and (not use.is_known or is_grouped(self._spark, snapshot.schema.fields))
            )
            if request.version is None:
                note_read(snapshot, predicate, lambda: positions)
        key = (
            feed,
            has_metadata,
            case_changes(self._spark),
            self._pads_partitions(snapshot),
            *(snapshot.table_uri, snapshot.version, snapshot.metadata.id, request.partition),
            *sorted(request.storage_options.items()),
            None if positions is None else positions.buffers()[1].to_pybytes(),
        )
        with self._lock:
            frame = self._frames.get(key)
        if frame is None or not lists_are_whole(frame):
            if feed is None:
                files = ListedFiles(
                    snapshot, name=request.partition or ""
                )  # of a partition's folder, the snapshot has its files only
                scan = frame_with_metadata if has_metadata else scan_frame
                frame = scan(self._spark, snapshot, positions, storage_options=request.storage_options, files=files)
            else:
                frame = feed_frame(self._spark, feed, request.storage_options)
        is_latest = request.version is None and feed is None
        note_version(frame, snapshot.table_uri, snapshot.version if is_latest else None)
        with self._lock:
            self._frames[key] = frame
            self._frames.move_to_end(key)
            while len(self._frames) > _KEPT:
                self._frames.popitem(last=False)
        return frame, has_metadata

    def _pads_partitions(self, snapshot: Snapshot) -> bool:
        """Whether a read pads partition values, which depends on the session's settings. Without chars it asks for none."""
        fields = (field for field in snapshot.schema.fields if field.name in snapshot.partition_columns)
        return any(map(char_width, fields)) and ScanSettings.of(self._spark).pads_chars

    @contextmanager
    def of_one_version(self) -> Iterator[None]:
        """Read one version of each table, as a query of a classic session does, whose parts are planned one after the other."""
        outer, self._of_request.resolved = getattr(self._of_request, "resolved", None), {}
        try:
            yield
        finally:
            self._of_request.resolved = outer

    def _resolved(self, request: TableRequest) -> tuple[TableRequest, Snapshot]:
        known = getattr(self._of_request, "resolved", None)
        if known is None:
            return resolve(self._application, self._spark, request)
        key = (request.path, request.version, request.timestamp, request.changes is None, *sorted(request.storage_options.items()))
        if key not in known:
            known[key] = resolve(self._application, self._spark, request)
        resolved, snapshot = known[key]
        return replace(
            request, path=resolved.path, version=resolved.version, timestamp=None, partition=resolved.partition
        ), snapshot

    def _pruned(self, snapshot: Snapshot, conditions: Conditions | None) -> tuple[Predicate | None, pa.Array | None]:
        """Return the predicate that all conditions imply, and the files that may hold such a row; None for all rows or files."""
        predicate = self._predicate(snapshot, conditions)
        if predicate is None:
            return None, None
        chosen = choose(self._application, self._spark, snapshot, predicate)
        return predicate if columns_of(predicate) else None, None if chosen is None else chosen.cast(pa.int64())

    def _predicate(self, snapshot: Snapshot, conditions: Conditions | None) -> Predicate | None:
        """Return the predicate that all conditions imply; None without conditions."""
        backend, schema = self._application.backend, snapshot.schema
        found = [] if conditions is None else conditions.on(schema, cache(lambda: backend.settings(self._spark)))
        if not found:
            return None
        used = frozenset().union(*(each.columns for each in found))
        # Only literals of times depend on the time zone, which is another request.
        has_times = any(field.name.lower() in used and field.type == "timestamp" for field in schema.fields)
        zone = zone_of({**backend.settings(self._spark), ZONE: backend.time_zone(self._spark)}) if has_times else None
        return And(tuple(predicate_of(each.tree, each.scope, time_zone=zone) for each in found))
