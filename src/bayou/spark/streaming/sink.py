# SPDX-License-Identifier: Apache-2.0
"""Write each micro-batch of a streaming query to a table in one commit, exactly once.

The commit records the query's id and the number of the batch in a `txn` action. A query may stop after the commit and before its
own checkpoint records the batch. After a restart it repeats the batch, and the sink skips it because the log already has it.
Source: delta-spark's `DeltaSink`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import failed, redact_uri
from bayou.spark.data_files.request import StreamBatch, WriteContext, WriteOptions, WriteRequest
from bayou.spark.jvm.catalyst.frames import columns_of
from bayou.spark.jvm.core.messages import Message
from bayou.spark.jvm.relations.streaming import PlannedBatch, roots_read, stream_sink
from bayou.spark.types.types import contains_void, readable_schema
from bayou.spark.write.row_types import with_types_of
from bayou.spark.write.writer import write
from bayou.storage.paths import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

_logger = logging.getLogger("bayou")
_MODES: Final = {"Append": "append", "Complete": "overwrite"}


def sink_of(application: Application, options: Mapping[str, str], partitions: list[str], output_mode: str) -> JavaObject:
    """Return the sink for a streaming query, as an object of the JVM.

    Raises:
        UnsupportedFeatureError: the output mode is update.
        InvalidOptionError: the path is missing, or the value of an option is not valid.
    """
    table = redact_uri(options.get("path", ""))
    if output_mode not in _MODES:
        raise failed(
            "DELTA_UNSUPPORTED_OUTPUT_MODE", table=table, output_mode=output_mode, features=[f"output mode {output_mode.lower()}"]
        )
    write_options = WriteOptions.parse(options, _MODES[output_mode], partitions or None)
    # A batch consists of new rows or, in complete mode, of all rows. Options that replace a part of the table do not apply.
    write_options = replace(
        write_options, dynamic_partitions=False, replace_where=None, replace_on=None, replace_using=None, data_change=True
    )
    if output_mode == "Append" and _is_true(options, "overwriteSchema"):
        raise failed("DELTA_ILLEGAL_USAGE/append", table=table, option="overwriteSchema")
    sink = _Sink(application, write_options, output_mode)
    return stream_sink(application.jvm, f"DeltaSink[{redact_uri(write_options.path)}]", sink)


def _is_true(options: Mapping[str, str], name: str) -> bool:
    return any(key.lower() == name.lower() and value.strip().lower() == "true" for key, value in options.items())


@dataclass(frozen=True, slots=True)
class _Sink:
    """Writes each batch of one query, on a call of the Java class `bayou.StreamSink`.

    Attributes:
        application: the Spark application.
        options: the options of the writer.
        output_mode: Append or Complete.
    """

    application: Application
    options: WriteOptions
    output_mode: str

    def __call__(self, facts: str, data: Any) -> None:
        """Write a batch, or skip it if the log already has it.

        Args:
            facts: the encoded message: the number of the batch, and the query's id.
            data: the batch as a DataFrame of the JVM.
        """
        number, query_id = Message.decode(facts).texts
        jvm, table = self.application.jvm, self.options.path.rstrip("/")
        # The rows of a query that reads the table depend on it, so that the commit is not a blind append.
        reads_itself = any(qualify(root).uri.rstrip("/") == table for root in roots_read(jvm, data))
        batch = PlannedBatch.of(data)
        stream = StreamBatch(query_id, int(number), self.output_mode, batch, reads_itself=reads_itself)
        request = WriteRequest(replace(self.options, txn=(query_id, int(number))), WriteContext(stream=stream))
        result = write(self.application, batch.rows, request, self._cast)
        if result.reason == "replayed":
            shown = redact_uri(self.options.path)
            _logger.info("batch %s of query %s is already in the table and is skipped (table: %s)", number, query_id, shown)

    def _cast(self, rows: DataFrame, snapshot: Snapshot | None) -> DataFrame:
        """Cast the rows to the table's types, like every write that matches columns by name; see `with_types_of`."""
        schema = readable_schema(columns_of(rows))
        void = [each.name for each in schema.fields if contains_void(each.type)]
        if void:
            raise failed(
                "DELTA_NULL_SCHEMA_IN_STREAMING_WRITE",
                table=self.options.path,
                version=None if snapshot is None else snapshot.version,
                columns=void,
            )
        name = f"delta.`{redact_uri(self.options.path)}`"
        return with_types_of(self.application.backend, rows, self.options, snapshot, name)
