# SPDX-License-Identifier: Apache-2.0
"""Streams on a classic session that is served by the documented functions of PySpark: into Delta tables, and not from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.connect import proto
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from bayou.errors import failed
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.portable.classic.reads import DELTA, note_options
from bayou.spark.portable.classic.writes import names_of
from bayou.spark.portable.names import path_in
from bayou.spark.portable.streams.batches import BatchWriter
from bayou.spark.portable.streams.sink import batch_facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class StreamReader(DataStreamReader):
    """`spark.readStream`, which refuses Delta tables."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self._source = ""

    def format(self, source: str) -> DataStreamReader:
        """Remember the data source."""
        self._source = source
        return super().format(source)

    @raised_as_pyspark
    def load(self, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> DataFrame:  # noqa: A002
        """Return the rows that Spark reads.

        Raises:
            UnsupportedFeatureError: the source is a Delta table.
        """
        if (format or self._source).lower() == DELTA:
            raise _no_source()
        return super().load(path, format, schema, **options)

    @raised_as_pyspark
    def table(self, tableName: str) -> DataFrame:  # noqa: N803  (PySpark's name)
        """Return the rows of a table of Spark.

        Raises:
            UnsupportedFeatureError: the name is that of a Delta table by its path.
        """
        if path_in(tableName) is not None:
            raise _no_source()
        return super().table(tableName)


class StreamWriter(DataStreamWriter):
    """`df.writeStream`, which writes the batches of a stream into a Delta table with `foreachBatch`."""

    def __init__(self, frame: DataFrame) -> None:
        super().__init__(frame)
        self._asked: Any = proto.WriteStreamOperationStart()

    def format(self, source: str) -> DataStreamWriter:
        """Remember the sink."""
        self._asked.format = source
        return super().format(source)

    def outputMode(self, outputMode: str) -> DataStreamWriter:  # noqa: N802, N803  (PySpark's names)
        """Remember the output mode."""
        self._asked.output_mode = outputMode
        return super().outputMode(outputMode)

    def queryName(self, queryName: str) -> DataStreamWriter:  # noqa: N802, N803  (PySpark's names)
        """Remember the name of the query."""
        self._asked.query_name = queryName
        return super().queryName(queryName)

    def option(self, key: str, value: Any) -> DataStreamWriter:
        """Remember an option."""
        return self.options(**{key: value})

    def options(self, **options: Any) -> DataStreamWriter:
        """Remember options."""
        note_options(self._asked, options)
        return super().options(**options)

    def partitionBy(self, *cols: Any) -> DataStreamWriter:  # noqa: N802  (PySpark's name)
        """Remember the partition columns. Spark allows none with `foreachBatch`, so it gets them when the query starts."""
        self._asked.partitioning_column_names[:] = names_of(cols)
        return self

    def clusterBy(self, *cols: Any) -> DataStreamWriter:  # noqa: N802  (PySpark's name)
        """Remember the clustering columns, as `partitionBy` does."""
        self._asked.clustering_column_names[:] = names_of(cols)
        return self

    def foreachBatch(self, func: Callable[[DataFrame, int], None]) -> DataStreamWriter:  # noqa: N802  (PySpark's name)
        """Remember that the program has a function of its own."""
        self._asked.foreach_batch.SetInParent()
        return super().foreachBatch(func)

    def foreach(self, f: Any) -> DataStreamWriter:
        """Remember that the program has a function of its own."""
        self._asked.foreach_writer.SetInParent()
        return super().foreach(f)

    @raised_as_pyspark
    def start(
        self,
        path: str | None = None,
        format: str | None = None,  # noqa: A002  (PySpark's name)
        outputMode: str | None = None,  # noqa: N803  (PySpark's name)
        partitionBy: Any = None,  # noqa: N803  (PySpark's name)
        queryName: str | None = None,  # noqa: N803  (PySpark's name)
        **options: Any,
    ) -> StreamingQuery:
        """Start a stream into a Delta table, or one of Spark."""
        self._remember(format, outputMode, partitionBy, queryName, options)
        if path is not None:
            self._asked.path = path
        return self._batches() or self._of_spark().start(path)

    @raised_as_pyspark
    def toTable(  # noqa: N802  (PySpark's name)
        self,
        tableName: str,  # noqa: N803  (PySpark's name)
        format: str | None = None,  # noqa: A002  (PySpark's name)
        outputMode: str | None = None,  # noqa: N803  (PySpark's name)
        partitionBy: Any = None,  # noqa: N803  (PySpark's name)
        queryName: str | None = None,  # noqa: N803  (PySpark's name)
        **options: Any,
    ) -> StreamingQuery:
        """Start a stream into a Delta table by its path, or into a table of Spark."""
        self._remember(format, outputMode, partitionBy, queryName, options)
        self._asked.table_name = tableName
        return self._batches() or self._of_spark().toTable(tableName)

    def _remember(self, source: Any, output_mode: Any, partition_by: Any, name: Any, options: dict[str, Any]) -> None:
        self.options(**options)
        for value, method in (
            (source, self.format),
            (output_mode, self.outputMode),
            (partition_by, self.partitionBy),
            (name, self.queryName),
        ):
            if value is not None:
                method(value)

    def _batches(self) -> StreamingQuery | None:
        """Start a stream into a Delta table; None if it is one of Spark."""
        facts = batch_facts(self._spark, self._asked)
        if facts is None:
            return None
        self.option("checkpointLocation", facts["checkpoint"])
        super().foreachBatch(BatchWriter(**facts).write)
        return super().start()

    def _of_spark(self) -> Any:
        """Return PySpark's own methods, after it got the columns that were kept from it."""
        if self._asked.partitioning_column_names:
            super().partitionBy(*self._asked.partitioning_column_names)
        if self._asked.clustering_column_names:
            super().clusterBy(*self._asked.clustering_column_names)
        return super()


def _no_source() -> Exception:
    what, instead = "A stream from a Delta table", "bayou.read with changes= to read what is new in batches"
    return failed("DELTA_OPERATION_NOT_ALLOWED/documented", what=what, instead=instead, features=("streams",))
