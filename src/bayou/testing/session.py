# SPDX-License-Identifier: Apache-2.0
"""A local Spark session tuned for tests (small, quiet, and in UTC), and temporary Delta tables on it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

import bayou

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql.types import StructType

    from bayou import DeltaTable

# Tests run much code a few times. Optimised compilation and a concurrent garbage collector cost more processor time than they save.
# This level of compilation has a smaller code cache by default, which would evict hot code: it gets the usual size.
# The JVM sets the time zone, and not the session, as for most users.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseParallelGC -Duser.timezone=UTC"
_SETTINGS = {
    "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.bayou.progress": "off",
    "spark.sql.shuffle.partitions": "2",
}


def local_session(settings: Mapping[str, str] | None = None, *, master: str = "local[2]") -> SparkSession:
    """A Spark session on this machine, without bayou on it.

    Args:
        settings: Spark settings on top of the tuned ones.
        master: where it runs.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("bayou")
    for name, value in {**_SETTINGS, **(settings or {})}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def enabled_session(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Provide a local session with bayou on it: the one that runs, or one that is stopped at the end.

    Args:
        settings: Spark settings on top of the tuned ones, for a session that is started. `spark.master` may be among them.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield bayou.enable(running)
        return
    others = {name: value for name, value in settings.items() if name != "spark.master"}
    session = local_session(others, master=settings.get("spark.master", "local[2]"))
    try:
        yield bayou.enable(session)
    finally:
        session.stop()


class DeltaTables:
    """Creates the tables of one test. The fixture `delta_table` is an instance."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._count = 0
        self._names: list[str] = []

    def __call__(
        self,
        rows: DataFrame | Iterable[Any] = (),
        schema: str | StructType | None = None,
        *,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> DeltaTable:
        """Create a Delta table in a folder of this test.

        Args:
            rows: A DataFrame, or rows as `spark.createDataFrame` takes them; none create an empty table.
            schema: The columns, for example `"id BIGINT, name STRING"`. A DataFrame brings its own.
            partition_by: The names of the partition columns.
            properties: Table properties, for example `{"delta.enableChangeDataFeed": "true"}`.
            name: A name in the catalog, for jobs that find the table by name. It is dropped after the test.

        Returns:
            The table, with the rows in its first append.
        """
        given = rows if isinstance(rows, DataFrame) else list(rows)
        frame = given if isinstance(given, DataFrame) else self._spark.createDataFrame(given, schema)
        self._count += 1
        path = str(self._folder / f"table_{self._count}")
        create = bayou.DeltaTable.create(self._spark).location(path).addColumns(frame.schema)
        if name is not None:
            create = create.tableName(name)
            self._names.append(name)
        if partition_by:
            create = create.partitionedBy(*partition_by)
        for key, value in (properties or {}).items():
            create = create.property(key, value)
        table: DeltaTable = create.execute()
        if isinstance(given, DataFrame) or given:
            bayou.write(frame, path, mode="append")
        return table

    def drop(self) -> None:
        """Drop the names that the tables have in the catalog."""
        for name in self._names:
            self._spark.sql(f"DROP TABLE IF EXISTS {name}")
