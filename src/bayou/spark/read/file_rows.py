# SPDX-License-Identifier: Apache-2.0
"""Read the rows of chosen files of a snapshot on any session."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from bayou.spark.backend import part_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.scan.row_ids import RowIdColumns
    from bayou.spark.session.application import Application


def file_rows(
    application: Application,
    spark: SparkSession,
    snapshot: Snapshot,
    fields: Sequence[StructField],
    positions: pa.Array | None = None,
    *,
    constants: Mapping[str, pa.Array] | None = None,
    ids: RowIdColumns | None = None,
    with_row_index: bool = False,
    options: Mapping[str, str] | None = None,
    has_tasks: bool = False,
) -> DataFrame:
    """Return the rows of some files, without deleted ones. A file that cannot be read is an error, whatever the settings are.

    The columns are the table's, the constants, and with row ids or a row index also `OUR_METADATA` with `row_index`.

    Args:
        fields: the columns of the table to read.
        positions: the positions of the files in the snapshot; None for all.
        constants: further columns by their names: an int32 or int64 for each of the files.
        ids: the columns with row ids, to read them and what `RowIdColumns.known` needs; None for none.
        with_row_index: whether to return the number of each row in its file.
        options: options for the file system.
        has_tasks: whether each file is one partition of the scan, whatever its size, so that one task can read several files. A
            session of Spark Connect has no such tasks.

    Raises:
        UnsupportedFeatureError: Spark cannot read a type of the table, or a column has the name of an auxiliary column.
    """
    if not application.backend.is_native:
        portable_frame: Callable[..., DataFrame] = part_of(application.backend, "scan.rows").scan_frame

        names = [field.name for field in fields]
        return portable_frame(
            spark,
            snapshot,
            positions,
            names,
            with_metadata=with_row_index,
            with_ids=ids is not None,
            rewrites=True,
            constants=constants,
            storage_options=options,
        )
    frame = part_of(application.backend, "scan.rows").file_rows(
        application,
        spark,
        snapshot,
        fields,
        positions,
        constants=constants,
        ids=ids,
        options=options,
        with_row_index=with_row_index,
        has_tasks=has_tasks,
    )
    return cast("DataFrame", frame)
