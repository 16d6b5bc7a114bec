# SPDX-License-Identifier: Apache-2.0
"""Read Delta tables with `spark.read` on a classic session that is served by the documented functions of PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.connect import proto
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.types import StructType
from pyspark.sql.utils import to_str

from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.portable.answers import TableAnswers
from bayou.spark.portable.names import path_in
from bayou.spark.session.application import Application

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

DELTA: Final = "delta"


def answers_of(spark: SparkSession) -> TableAnswers:
    """Return what knows the Delta tables in the requests of a session."""
    return TableAnswers(Application.of(spark), spark)


def table_at(spark: SparkSession, name: str, options: Mapping[str, str]) -> DataFrame | None:
    """Return the rows of a Delta table, given its name by path; None for another name."""
    path = path_in(name)
    return None if path is None else answers_of(spark).rows({**options, "path": path})


def note_options(asked: Any, options: Mapping[str, Any]) -> None:
    """Put the options of a reader or a writer into a request, as a client of Spark Connect does."""
    for name, value in options.items():
        if value is not None:
            asked.options[name] = to_str(value)


class Reader(DataFrameReader):
    """`spark.read`, which remembers what the program asks for. PySpark's own reader keeps it where only the JVM reads it."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self._asked: Any = proto.Read.DataSource()

    def format(self, source: str) -> DataFrameReader:
        """Remember the data source."""
        self._asked.format = source
        return super().format(source)

    def schema(self, schema: StructType | str) -> DataFrameReader:
        """Remember the schema."""
        reader = super().schema(schema)
        self._asked.schema = schema.json() if isinstance(schema, StructType) else schema
        return reader

    def option(self, key: str, value: Any) -> DataFrameReader:
        """Remember an option."""
        return self.options(**{key: value})

    def options(self, **options: Any) -> DataFrameReader:
        """Remember options."""
        note_options(self._asked, options)
        return super().options(**options)

    @raised_as_pyspark
    def load(self, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> DataFrame:  # noqa: A002
        """Return the rows of a Delta table, or what Spark reads."""
        if (format or self._asked.format).lower() != DELTA:
            return super().load(path, format, schema, **options)
        self.options(**options)
        self._asked.format = DELTA
        if schema is not None:
            self.schema(schema)
        if path is not None:
            self._asked.paths.extend([path] if isinstance(path, str) else path)
        found = answers_of(self._spark).read(proto.Read(data_source=self._asked))
        assert found is not None and not hasattr(found, "hidden_in")  # noqa: S101, PT018  (nothing stands above the read)
        return found  # type: ignore[return-value]

    @raised_as_pyspark
    def table(self, tableName: str) -> DataFrame:  # noqa: N803  (PySpark's name)
        """Return the rows of a table."""
        found = table_at(self._spark, tableName, dict(self._asked.options))
        return super().table(tableName) if found is None else found
