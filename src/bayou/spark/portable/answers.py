# SPDX-License-Identifier: Apache-2.0
"""What a client of Spark Connect replaces in its requests: the reads of Delta tables, and the commands that change them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.connect import proto

from bayou.errors import DeltaError, failed
from bayou.plan.predicates.predicate import And
from bayou.plan.predicates.predicate import columns as columns_of
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.portable.changes import feed_frame
from bayou.spark.portable.commands.frame_writes import write_of, write_to
from bayou.spark.portable.commands.merges import merge_into
from bayou.spark.portable.commands.sql_commands import run_sql
from bayou.spark.portable.commands.tables.catalog_methods import catalog_answer
from bayou.spark.portable.names import path_in
from bayou.spark.portable.references import references_in
from bayou.spark.portable.scan.carrier import lists_are_whole
from bayou.spark.portable.scan.rows import scan_frame
from bayou.spark.portable.streams.sink import write_batches
from bayou.spark.portable.text.filters import Table, predicate_of
from bayou.spark.portable.text.protobufs import expression_of
from bayou.spark.portable.text.tree import Name, UnreadableTextError, all_nodes
from bayou.spark.read.change_scan import changes_now
from bayou.spark.read.reader import check_has_columns
from bayou.spark.read.request import TableRequest, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.portable.requests.answers import CommandAnswer, Reference
    from bayou.spark.session.application import Application

_DELTA: Final = "delta"
_KEPT: Final = 64
"""So many DataFrames of tables are kept, so that the server analyses the same request once."""


class TableAnswers:
    """The answers for one session: see `requests.answers.Answers`."""

    def __init__(self, application: Application, spark: SparkSession) -> None:
        self._application = application
        self._spark = spark
        self._frames: OrderedDict[tuple[object, ...], DataFrame] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, read: proto.Read, conditions: Sequence[proto.Expression] = ()) -> DataFrame | None:
        """Return the rows of a Delta table, or None if the request is for the server.

        Files in which no row satisfies the conditions are left out.
        """
        kind = read.WhichOneof("read_type")
        if kind == "named_table":
            path = path_in(read.named_table.unparsed_identifier)
            if path is not None and read.is_streaming:
                raise _no_stream()
            return None if path is None else self.rows({**read.named_table.options, "path": path})
        source = read.data_source
        if kind != "data_source" or source.format.lower() != _DELTA:
            return None
        if read.is_streaming:
            raise _no_stream()
        paths = {"path": source.paths[0]} if source.paths else {}
        return self.rows({**source.options, **paths}, conditions)

    def catalog(self, request: proto.Catalog) -> DataFrame | None:
        """Return the rows that answer a method about a table by path, or None if the server answers."""
        return catalog_answer(self._application, self._spark, request)

    @raised_as_pyspark
    def references(self, sql: proto.SQL) -> Sequence[Reference]:
        """Return the tables in a query."""
        return references_in(sql, self.rows, self._spark)

    @raised_as_pyspark
    def command(self, command: proto.Command) -> CommandAnswer | None:
        """Run a command on a Delta table, or return None if it is for the server."""
        kind = command.WhichOneof("command_type")
        if kind == "write_operation":
            return write_of(self._application, self._spark, command.write_operation)
        if kind == "write_operation_v2":
            return write_to(self._application, self._spark, command.write_operation_v2)
        if kind == "write_stream_operation_start":
            write_batches(self._spark, command.write_stream_operation_start)
            return None
        if kind == "merge_into_table_command":
            return merge_into(self._application, self._spark, command.merge_into_table_command)
        if kind == "sql_command":
            return self._statement(command.sql_command)
        return None

    def _statement(self, command: proto.SqlCommand) -> CommandAnswer | None:
        """Run a statement of Delta Lake; None if it is the server's."""
        relation = command.input
        if not command.HasField("input"):  # clients before 4.0
            relation = proto.Relation(sql=proto.SQL(query=command.sql))
        return run_sql(self._application, self._spark, relation)

    def rows(self, options: Mapping[str, str], conditions: Sequence[proto.Expression] = ()) -> DataFrame:
        """Return the rows that a reader's options ask for, of the version that is the latest now if they name none.

        The same request of the same version of a table has the same DataFrame. A change data feed ends at that version.

        Args:
            options: the reader's options, with the path.
            conditions: filters on the rows. Files in which no row satisfies them may be left out.
        """
        request, snapshot = resolve(self._application, self._spark, TableRequest.from_options(options))
        feed, positions = None, None
        if request.changes is not None:
            feed = changes_now(self._application, self._spark, snapshot, request.changes, request.storage_options)
        else:
            check_has_columns(snapshot)
            positions = self._positions(snapshot, conditions)
        key = (
            feed,
            *(snapshot.table_uri, snapshot.version, snapshot.metadata.id, request.partition),
            *sorted(request.storage_options.items()),
            None if positions is None else positions.buffers()[1].to_pybytes(),
        )
        with self._lock:
            frame = self._frames.get(key)
        if frame is None or not lists_are_whole(frame):
            if feed is None:
                frame = scan_frame(self._spark, snapshot, positions, storage_options=request.storage_options)
            else:
                frame = feed_frame(self._spark, feed, request.storage_options)
        with self._lock:
            self._frames[key] = frame
            self._frames.move_to_end(key)
            while len(self._frames) > _KEPT:
                self._frames.popitem(last=False)
        return frame

    def _positions(self, snapshot: Snapshot, conditions: Sequence[proto.Expression]) -> pa.Array | None:
        """Return the files that may hold a row that satisfies all conditions; None for all files."""
        try:
            trees = [expression_of(each) for each in conditions]
        except UnreadableTextError:
            return None
        if not trees:
            return None
        used = {part.lower() for tree in trees for node in all_nodes(tree) if isinstance(node, Name) for part in node.parts}
        # Only literals of times depend on the time zone, which is another request.
        has_times = any(field.name.lower() in used and field.type == "timestamp" for field in snapshot.schema.fields)
        zone = self._application.backend.time_zone(self._spark) if has_times else None
        table = Table(snapshot.schema)
        predicate = And(tuple(predicate_of(tree, table, time_zone=zone) for tree in trees))
        if not columns_of(predicate):
            return None
        may_match = snapshot.may_match(predicate)
        return None if pc.all(may_match).as_py() is not False else pc.indices_nonzero(may_match).cast(pa.int64())


def _no_stream() -> DeltaError:
    return failed("DELTA_OPERATION_NOT_ALLOWED/connect", what="A stream that reads a Delta table", features=("Spark Connect",))
