# SPDX-License-Identifier: Apache-2.0
"""Write each micro-batch of a streaming query to a table in one commit, exactly once.

The commit records the query's id and the number of the batch in a `txn` action. A query may stop after the commit and before its
own checkpoint records the batch. After a restart it repeats the batch, and the sink skips it because the log already has it.
Source: delta-spark's `DeltaSink`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayou.errors import redact_uri
from bayou.spark.jvm.core.messages import Message
from bayou.spark.jvm.relations.streaming import PlannedBatch, roots_read, stream_sink
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.streaming.batch_writes import sink_options, write_batch
from bayou.storage.paths import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.data_files.request import WriteOptions
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


def sink_of(application: Application, options: Mapping[str, str], partitions: list[str], output_mode: str) -> JavaObject:
    """Return the sink for a streaming query, as an object of the JVM.

    Raises:
        UnsupportedFeatureError: the output mode is update.
        InvalidOptionError: the path is missing, or the value of an option is not valid.
    """
    sink = _Sink(application, sink_options(options, partitions, output_mode), output_mode)
    return stream_sink(jvm_of(application), f"DeltaSink[{redact_uri(sink.options.path)}]", sink)


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
        jvm, table = jvm_of(self.application), self.options.path.rstrip("/")
        # The rows of a query that reads the table depend on it, so that the commit is not a blind append.
        reads_itself = any(qualify(root).uri.rstrip("/") == table for root in roots_read(jvm, data))
        batch = PlannedBatch.of(data)
        write_batch(
            self.application,
            self.options,
            batch.rows,
            (query_id, int(number)),
            output_mode=self.output_mode,
            batch=batch,
            reads_itself=reads_itself,
        )
