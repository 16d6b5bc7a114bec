# SPDX-License-Identifier: Apache-2.0
"""Read, write and stream tables on behalf of Spark's data source `delta`.

The Java class `delta.DefaultSource` is the data source. It sends each call of Spark here as a message.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from bayou.errors import failed
from bayou.protocol.types.schema import parse_schema
from bayou.spark.data_files.request import PARTITION_COLUMNS_OPTION, WriteOptions, WriteRequest
from bayou.spark.dml.statements.changed_table import changed_table
from bayou.spark.jvm.core.messages import Message
from bayou.spark.jvm.core.session import session_in, session_of
from bayou.spark.jvm.relations.parser import statement_at
from bayou.spark.jvm.relations.plans import schema_of as columns_of
from bayou.spark.native.scan import relations
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.streaming.sink import sink_of
from bayou.spark.native.streaming.source import schema_of, source_of
from bayou.spark.read.request import TableRequest
from bayou.spark.session.given_options import report_unknown_of_read
from bayou.spark.types.catalog_columns import without_filled
from bayou.spark.types.types import incompatible
from bayou.spark.write.writer import write

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


class Provider:
    """Answers the calls of `delta.DefaultSource` and of `bayou.DeltaTable`, which receives the rows of an INSERT."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, facts: str, objects: Any) -> Any:
        """Answer a call of `delta.DefaultSource`.

        Args:
            facts: the message: the kind of call, and the options as pairs.
            objects: further arguments of the call, which depend on its kind.
        """
        message = Message.decode(facts)
        options = message.pairs
        match message.word:
            case "read":
                return self._read(options, objects)
            case "write":
                return self._write(options, objects)
            case "stream schema":
                return schema_of(self._application, options, *objects)
            case "source":
                return source_of(self._application, options, *objects)
            case "sink":
                partitions, mode = objects
                names = list(map(str, jvm_of(self._application).list_of(partitions)))
                return sink_of(self._application, options, names, str(mode))
        raise message.unknown()

    def _read(self, options: dict[str, str], objects: Any) -> JavaObject:
        session, scala_options, schema, origin = objects
        options_with_path: dict[str, str | None] = dict(options)
        if all(name.lower() != "path" for name in options_with_path):
            options_with_path["path"] = self._path_in_sql(origin)
        request = TableRequest.from_options(options_with_path)
        report_unknown_of_read(options_with_path, request.path)
        relation = relations.relation(self._application, session, request, scala_options)
        if schema is not None:
            self._check_schema(schema, relation, request.path)
        return relation

    def _path_in_sql(self, origin: JavaObject) -> str | None:
        """Return the path of ``delta.`path` `` in a statement, which Spark does not pass as an option.

        Args:
            origin: the position of the relation in the statement.
        """
        text = statement_at(jvm_of(self._application), origin)
        match = re.search(r"(?:\bdelta|`delta`)\s*\.\s*`((?:[^`]|``)+)`", text, re.IGNORECASE)
        return str(match.group(1)).replace("``", "`") if match else None

    def _check_schema(self, schema_of_reader: str, relation: JavaObject, path: str) -> None:
        """Raise SchemaMismatchError if the schema of the reader or of the catalog entry does not fit the table's."""
        problems = list(incompatible(parse_schema(schema_of_reader).fields, columns_of(relation)))
        if problems:
            raise failed("DELTA_READ_SOURCE_SCHEMA_CONFLICT", table=path, differences="; ".join(problems))

    def _write(self, options: dict[str, str], objects: Any) -> JavaObject:
        session, mode, data = objects
        request = WriteRequest(WriteOptions.parse(options, _MODES[mode], options.get(PARTITION_COLUMNS_OPTION)))
        write(self._application, DataFrame(data, session_of(session)), request)
        return relations.written_relation(self._application, session, request.options.path, dict(request.options.storage_options))

    def insert(self, table: str, arguments: Any) -> None:
        """Write the rows of an INSERT, which Spark has cast to the table's columns. `bayou.DeltaTable` calls this."""
        data, overwrite = arguments
        target = changed_table(table, "INSERT")
        spark = session_in(data)
        mode = "overwrite" if overwrite else "append"
        request = WriteRequest(WriteOptions.parse({**target.storage_options, "path": target.path}, mode))
        write(self._application, DataFrame(data, spark), request, self._without_filled)

    def _without_filled(self, rows: DataFrame, snapshot: Snapshot | None) -> DataFrame:
        return rows if snapshot is None else without_filled(self._application.backend, rows, snapshot.schema)


_MODES = {"Append": "append", "Overwrite": "overwrite", "ErrorIfExists": "error", "Ignore": "ignore"}
