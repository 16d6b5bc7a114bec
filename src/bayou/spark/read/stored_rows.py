# SPDX-License-Identifier: Apache-2.0
"""Read the stored rows of some files of a table together with their row ids, to rewrite or compare them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol import properties
from bayou.protocol.schema.reserved_names import check_no_own_names
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.backend import FileTasks
from bayou.spark.read.change_rows import AuxiliaryColumns
from bayou.spark.read.file_rows import file_rows
from bayou.spark.scan.file_metadata import OUR_METADATA
from bayou.spark.scan.row_ids import RowIdColumns
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application

_TASK: Final = "__bayou_task"
"""The hidden column with the number of the task that reads the row's file."""
GROUP: Final = "__bayou_group"
"""The column with the number of the group of the row's file."""
FILE: Final = "__bayou_file"
"""The column with the number of the row's file, in the order of the positions passed."""
ROW: Final = "__bayou_row"
"""The column with a row's position in its file."""


def stored_rows(
    application: Application,
    spark: SparkSession,
    snapshot: Snapshot,
    positions: pa.Array,
    options: Mapping[str, str] | None = None,
    tasks: pa.Array | None = None,
) -> DataFrame:
    """Return the rows of some files. If the table tracks rows, add the columns that store their row ids.

    Args:
        positions: the positions of the files in the snapshot.
        tasks: the number of each file's task, if one task reads several files (see `file_tasks`). Each file is then a partition of
            the scan.

    Raises:
        UnsupportedFeatureError: the table tracks rows, and one of its columns has a name that bayou needs for row ids.
    """
    ids, fields = RowIdColumns.of(snapshot), readable_schema(snapshot.schema).fields
    if ids is not None:
        check_no_own_names(snapshot.schema, "read with their ids", snapshot.table_uri, snapshot.version)
    rows = file_rows(
        application,
        spark,
        snapshot,
        fields,
        positions.cast(pa.int64()),
        constants=None if tasks is None else {_TASK: tasks},
        ids=ids,
        options=options,
        has_tasks=tasks is not None,
    )
    names = [field.name for field in fields]
    if ids is None:
        return rows if tasks is None else rows.select(*map(quoted_name, names))
    return ids.known(rows, OUR_METADATA).select(*map(quoted_name, names), *ids.columns())


def rows_by_group(
    application: Application,
    spark: SparkSession,
    snapshot: Snapshot,
    positions: pa.Array,
    groups: pa.Array,
    *,
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the rows of some files, with the columns `GROUP`, `FILE` and `ROW`.

    Args:
        positions: the positions of the files in the snapshot.
        groups: the number of each file's group, int32.
        columns: the columns of the table to read; None for all, with the columns that store row ids.

    Raises:
        UnsupportedFeatureError: the table has columns with the names of the added ones.
    """
    check_no_own_names(snapshot.schema, "sorted", snapshot.table_uri, snapshot.version)
    ids = RowIdColumns.of(snapshot) if columns is None else None
    fields = [each for each in readable_schema(snapshot.schema).fields if columns is None or each.name in columns]
    rows = file_rows(
        application,
        spark,
        snapshot,
        fields,
        positions.cast(pa.int64()),
        constants={GROUP: groups.cast(pa.int32()), FILE: pa.array(range(len(groups)), pa.int32())},
        ids=ids,
        with_row_index=True,
        options=options,
    )
    names = [quoted_name(field.name) for field in fields]
    added = [F.col(GROUP), F.col(FILE), F.col(f"{OUR_METADATA}.row_index").alias(ROW)]
    return rows.select(*names, *added) if ids is None else ids.known(rows, OUR_METADATA).select(*names, *ids.columns(), *added)


def file_tasks(snapshot: Snapshot, tasks: pa.Array) -> FileTasks:
    """Return the tasks of a job that reads `stored_rows` with `tasks`, the number of each file's task from 0 on."""
    # The hidden column with the task numbers follows the partition columns.
    return FileTasks(pc.max(tasks).as_py() + 1, len(snapshot.partition_columns))


def auxiliary_of_stored(snapshot: Snapshot) -> AuxiliaryColumns:
    """Return the auxiliary columns of a table's rows when they are rewritten."""
    ids = RowIdColumns.of(snapshot)
    feeds = properties.ENABLE_CHANGE_DATA_FEED.read(snapshot.metadata.configuration)
    return AuxiliaryColumns(() if ids is None else ids.names, bool(feeds))
