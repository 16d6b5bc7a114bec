# SPDX-License-Identifier: Apache-2.0
"""The rows of chosen files as they are stored, to be written again or compared: with the columns that keep their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.protocol import properties
from bayou.protocol.schema.reserved_names import check_no_own_names
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.file_tasks import FileTasks
from bayou.spark.read.change_rows import BesideColumns
from bayou.spark.read.reader import scan_frame
from bayou.spark.scan.row_ids import RowIdColumns
from bayou.spark.scan.scan import OUR_METADATA, Scan
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application

_TASK: Final = "__bayou_task"
"""The hidden column with the number of a file's task."""


def stored_rows(
    application: Application,
    spark: SparkSession,
    snapshot: Snapshot,
    positions: pa.Array,
    options: Mapping[str, str] | None = None,
    tasks: pa.Array | None = None,
) -> DataFrame:
    """The rows of some files, with the columns that keep their ids where the table keeps them.

    Args:
        application: the application.
        spark: the session.
        snapshot: the table's state.
        positions: the files.
        options: options for the file system.
        tasks: the number of each file's task, where the job has one task for several files (see `file_tasks`). Each file is then
            one partition of the scan.

    Raises:
        UnsupportedFeatureError: the table keeps ids, and has columns that are called like those in which they are read.
    """
    ids, fields = RowIdColumns.of(snapshot), readable_schema(snapshot.schema).fields
    if ids is not None:
        check_no_own_names(snapshot.schema, "told by their ids", snapshot.table_uri, snapshot.version)
    scan = Scan(
        application,
        java_session(spark),
        snapshot,
        [*fields, *(() if ids is None else ids.fields)],
        metadata=None if ids is None else ["row_index"],
        positions=positions.cast(pa.int64()),
        hidden={
            **({} if tasks is None else {_TASK: tasks}),
            **({} if ids is None else ids.constants(snapshot, positions)),
        },
        options=options or {},
        rewrites=True,
        file_tasks=tasks is not None,
    )
    rows = scan_frame(scan, spark)
    names = [field.name for field in fields]
    if ids is None:
        return rows if tasks is None else rows.select(*map(quoted_name, names))
    return ids.known(rows, OUR_METADATA).select(*map(quoted_name, names), *ids.columns())


def file_tasks(snapshot: Snapshot, tasks: pa.Array) -> FileTasks:
    """The tasks of a job that reads `stored_rows` with `tasks`.

    Args:
        snapshot: the table's state.
        tasks: the number of each file's task, from 0 on.
    """
    return FileTasks(
        pc.max(tasks).as_py() + 1, len(snapshot.partition_columns)
    )  # the numbers come right after the partition values


def beside_stored_rows(snapshot: Snapshot) -> BesideColumns:
    """What rows of a table have beside its columns when they are written again."""
    ids = RowIdColumns.of(snapshot)
    feeds = properties.ENABLE_CHANGE_DATA_FEED.read(snapshot.metadata.configuration)
    return BesideColumns(() if ids is None else ids.names, bool(feeds))
