# SPDX-License-Identifier: Apache-2.0
"""What a client of Spark Connect replaces in its requests: the reads of Delta tables, and the commands that change them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from pyspark.sql.connect import proto

from bayou.spark.portable.commands.frame_writes import write_of, write_to
from bayou.spark.portable.commands.merges import merge_into
from bayou.spark.portable.commands.sql_commands import run_sql
from bayou.spark.portable.names import path_in
from bayou.spark.portable.references import references_in
from bayou.spark.portable.scan.rows import scan_frame
from bayou.spark.read.request import TableRequest, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

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

    def read(self, read: proto.Read) -> DataFrame | None:
        """Return the rows of a Delta table, or None if the request is for the server."""
        kind = read.WhichOneof("read_type")
        if kind == "named_table":
            path = path_in(read.named_table.unparsed_identifier)
            return None if path is None else self.rows({**read.named_table.options, "path": path})
        source = read.data_source
        if kind != "data_source" or source.format.lower() != _DELTA or read.is_streaming:
            return None
        paths = {"path": source.paths[0]} if source.paths else {}
        return self.rows({**source.options, **paths})

    def catalog(self, request: proto.Catalog) -> DataFrame | None:
        """None: the server answers."""
        del request
        return None

    def references(self, sql: proto.SQL) -> Sequence[Reference]:
        """Return the tables in a query."""
        return references_in(sql, self.rows)

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
        return None

    def _statement(self, command: proto.SqlCommand) -> CommandAnswer | None:
        """Run a statement of Delta Lake; None if it is the server's."""
        relation = command.input
        if not command.HasField("input"):  # clients before 4.0
            relation = proto.Relation(sql=proto.SQL(query=command.sql))
        return run_sql(self._application, self._spark, relation)

    def rows(self, options: Mapping[str, str]) -> DataFrame:
        """Return the rows that a reader's options ask for, of the version that is the latest now if they name none."""
        request, snapshot = resolve(self._application, self._spark, TableRequest.from_options(options))
        key = (
            snapshot.table_uri,
            snapshot.version,
            snapshot.metadata.id,
            request.partition,
            *sorted(request.storage_options.items()),
        )
        with self._lock:
            frame = self._frames.get(key)
        if frame is None:
            frame = scan_frame(self._spark, snapshot, storage_options=request.storage_options)
        with self._lock:
            self._frames[key] = frame
            self._frames.move_to_end(key)
            while len(self._frames) > _KEPT:
                self._frames.popitem(last=False)
        return frame
