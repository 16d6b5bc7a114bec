# SPDX-License-Identifier: Apache-2.0
"""Write Delta tables with `df.write` on a classic session that is served by the documented functions of PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.connect import proto
from pyspark.sql.readwriter import DataFrameWriter
from pyspark.sql.utils import to_str

from bayou.errors import failed
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.portable.classic.reads import DELTA, note_options
from bayou.spark.portable.commands.frame_writes import write_of, write_to
from bayou.spark.portable.names import path_in
from bayou.spark.session.application import Application

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

_WRITE = proto.WriteOperation
_WRITE_TO = proto.WriteOperationV2
_MODES: Final = {
    "append": _WRITE.SAVE_MODE_APPEND,
    "overwrite": _WRITE.SAVE_MODE_OVERWRITE,
    "error": _WRITE.SAVE_MODE_ERROR_IF_EXISTS,
    "errorifexists": _WRITE.SAVE_MODE_ERROR_IF_EXISTS,
    "default": _WRITE.SAVE_MODE_ERROR_IF_EXISTS,
    "ignore": _WRITE.SAVE_MODE_IGNORE,
}


class Writer(DataFrameWriter):
    """`df.write`, which remembers what the program asks for. PySpark's own writer keeps it where only the JVM reads it."""

    def __init__(self, frame: DataFrame) -> None:
        super().__init__(frame)
        self._asked: Any = proto.WriteOperation()

    def mode(self, saveMode: str | None) -> DataFrameWriter:  # noqa: N803  (PySpark's name)
        """Remember the mode."""
        writer = super().mode(saveMode)  # which refuses other words
        if saveMode:
            self._asked.mode = _MODES[saveMode.lower()]
        return writer

    def format(self, source: str) -> DataFrameWriter:
        """Remember the data source."""
        self._asked.source = source
        return super().format(source)

    def option(self, key: str, value: Any) -> DataFrameWriter:
        """Remember an option."""
        return self.options(**{key: value})

    def options(self, **options: Any) -> DataFrameWriter:
        """Remember options."""
        note_options(self._asked, options)
        return super().options(**options)

    def partitionBy(self, *cols: Any) -> DataFrameWriter:  # noqa: N802  (PySpark's name)
        """Remember the partition columns."""
        self._asked.partitioning_columns[:] = names_of(cols)
        return super().partitionBy(*cols)

    def clusterBy(self, *cols: Any) -> DataFrameWriter:  # noqa: N802  (PySpark's name)
        """Remember the clustering columns."""
        self._asked.clustering_columns[:] = names_of(cols)
        return super().clusterBy(*cols)

    def bucketBy(self, numBuckets: int, col: Any, *cols: Any) -> DataFrameWriter:  # noqa: N802, N803  (PySpark's names)
        """Remember that there are buckets, which a Delta table cannot have."""
        self._asked.bucket_by.num_buckets = numBuckets
        return super().bucketBy(numBuckets, col, *cols)

    @raised_as_pyspark
    def save(
        self,
        path: Any = None,
        format: Any = None,  # noqa: A002  (PySpark's name)
        mode: Any = None,
        partitionBy: Any = None,  # noqa: N803  (PySpark's name)
        **options: Any,
    ) -> None:
        """Write a Delta table, or what Spark writes."""
        self._remember(format, mode, partitionBy, options)
        if self._asked.source.lower() != DELTA:
            super().save(path)
            return
        if path is not None:
            self._asked.path = path
        self._write()

    @raised_as_pyspark
    def saveAsTable(  # noqa: N802  (PySpark's name)
        self,
        name: str,
        format: Any = None,  # noqa: A002  (PySpark's name)
        mode: Any = None,
        partitionBy: Any = None,  # noqa: N803  (PySpark's name)
        **options: Any,
    ) -> None:
        """Write a Delta table by its path, or what Spark writes."""
        self._remember(format, mode, partitionBy, options)
        if not self._into(name, _WRITE.SaveTable.TABLE_SAVE_METHOD_SAVE_AS_TABLE):
            super().saveAsTable(name)

    @raised_as_pyspark
    def insertInto(self, tableName: str, overwrite: bool | None = None) -> None:  # noqa: FBT001, N802, N803  (PySpark's)
        """Write into a Delta table by its path, or into a table of Spark."""
        if overwrite is not None:
            self.mode("overwrite" if overwrite else "append")
        if not self._into(tableName, _WRITE.SaveTable.TABLE_SAVE_METHOD_INSERT_INTO):
            super().insertInto(tableName)

    def _remember(self, source: str | None, mode: str | None, partition_by: Any, options: dict[str, Any]) -> None:
        self.mode(mode).options(**options)
        if partition_by is not None:
            self.partitionBy(partition_by)
        if source is not None:
            self.format(source)

    def _into(self, name: str, method: Any) -> bool:
        """Write into a table by name, unless it is Spark's."""
        self._asked.table.table_name, self._asked.table.save_method = name, method
        return self._write()

    def _write(self) -> bool:
        return write_of(Application.of(self._spark), self._spark, self._asked, self._df) is not None


def writer_to(frame: DataFrame, table: str) -> WriterTo | None:
    """Return `df.writeTo(table)` of a Delta table by its path; None for other tables."""
    return None if path_in(table) is None else WriterTo(frame, table)


class WriterTo:
    """`df.writeTo` of a Delta table by its path."""

    def __init__(self, frame: DataFrame, table: str) -> None:
        self._frame = frame
        self._asked: Any = proto.WriteOperationV2(table_name=table)

    def using(self, provider: str) -> WriterTo:
        """Remember the data source."""
        self._asked.provider = provider
        return self

    def option(self, key: str, value: Any) -> WriterTo:
        """Remember an option."""
        return self.options(**{key: value})

    def options(self, **options: Any) -> WriterTo:
        """Remember options."""
        for name, value in options.items():
            self._asked.options[name] = to_str(value)
        return self

    def tableProperty(self, property: str, value: str) -> WriterTo:  # noqa: A002, N802  (PySpark's names)
        """Remember a property of the table."""
        self._asked.table_properties[property] = value
        return self

    def partitionedBy(self, col: Any, *cols: Any) -> WriterTo:  # noqa: N802  (PySpark's name)
        """Remember the partition columns.

        Raises:
            UnsupportedFeatureError: one is an expression.
        """
        for each in (col, *cols):
            name = self._frame.select(each).columns[0] if not isinstance(each, str) else each
            if name not in self._frame.columns:
                raise failed(
                    "DELTA_OPERATION_NOT_ALLOWED/documented",
                    what="Partitioning by an expression",
                    instead="columns",
                    features=("partitions",),
                )
            self._asked.partitioning_columns.add().unresolved_attribute.unparsed_identifier = name
        return self

    def clusterBy(self, col: str, *cols: str) -> WriterTo:  # noqa: N802  (PySpark's name)
        """Remember the clustering columns."""
        self._asked.clustering_columns[:] = [col, *cols]
        return self

    def withSchemaEvolution(self) -> WriterTo:  # noqa: N802  (PySpark's name)
        """Let the write add columns to the table."""
        return self.option("mergeSchema", "true")

    def create(self) -> None:
        """Create the table with the rows."""
        self._write(_WRITE_TO.MODE_CREATE)

    def replace(self) -> None:
        """Replace the table by the rows."""
        self._write(_WRITE_TO.MODE_REPLACE)

    def createOrReplace(self) -> None:  # noqa: N802  (PySpark's name)
        """Create or replace the table with the rows."""
        self._write(_WRITE_TO.MODE_CREATE_OR_REPLACE)

    def append(self) -> None:
        """Append the rows."""
        self._write(_WRITE_TO.MODE_APPEND)

    @raised_as_pyspark
    def overwrite(self, condition: Any) -> None:  # noqa: ARG002  (PySpark calls it so)
        """Refuse a condition as a column, whose SQL the history needs.

        Raises:
            UnsupportedFeatureError: always.
        """
        what, instead = "writeTo(...).overwrite(condition)", "bayou.write with replace_where="
        raise failed("DELTA_OPERATION_NOT_ALLOWED/documented", what=what, instead=instead, features=("replaceWhere",))

    def overwritePartitions(self) -> None:  # noqa: N802  (PySpark's name)
        """Overwrite the partitions of the rows."""
        self._write(_WRITE_TO.MODE_OVERWRITE_PARTITIONS)

    @raised_as_pyspark
    def _write(self, mode: Any) -> None:
        self._asked.mode = mode
        spark = self._frame.sparkSession
        write_to(Application.of(spark), spark, self._asked, self._frame)


def refuse_merge(table: str) -> None:
    """Raise UnsupportedFeatureError for `df.mergeInto` of a Delta table by its path."""
    if path_in(table) is not None:
        what, instead = "mergeInto of a Delta table", "bayou.DeltaTable and its method merge"
        raise failed("DELTA_OPERATION_NOT_ALLOWED/documented", what=what, instead=instead, features=("MERGE",))


def names_of(columns: Sequence[Any]) -> list[str]:
    """Return the columns of a method that takes them one by one, or as a list."""
    return list(columns[0]) if len(columns) == 1 and isinstance(columns[0], (list, tuple)) else list(columns)
