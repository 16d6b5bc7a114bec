# SPDX-License-Identifier: Apache-2.0
"""Read a snapshot with a column `_metadata` that has what Spark's own does not know: row ids, and the times of files in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.portable.scan.rows import scan_frame
from bayou.spark.scan.file_metadata import FILE_METADATA
from bayou.spark.scan.row_ids import BASE, BASE_VERSION, METADATA, RowIdColumns, has_row_id_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.portable.scan.listed_files import ListedFiles

_FIELDS: Final = (
    "file_path",
    "file_name",
    "file_size",
    "file_block_start",
    "file_block_length",
    "file_modification_time",
    "row_index",
)


def frame_with_metadata(
    spark: SparkSession,
    snapshot: Snapshot,
    positions: pa.Array | None,
    *,
    storage_options: Mapping[str, str] | None,
    files: ListedFiles,
) -> DataFrame:
    """Return the rows of some files with the table's columns and `_metadata`. See `scan_frame`."""
    ids = RowIdColumns.of(snapshot) if has_row_id_columns(snapshot) else None
    rows = scan_frame(
        spark,
        snapshot,
        positions,
        with_metadata=True,
        with_ids=ids is not None,
        storage_options=storage_options,
        files=files,
    )
    members = [F.col(f"{METADATA}.{name}").alias(name) for name in _FIELDS]
    if ids is not None:
        row_id = F.coalesce(F.col(quoted_name(ids.id)), F.col(BASE) + F.col(f"{METADATA}.row_index"))
        version = F.coalesce(F.col(quoted_name(ids.version)), F.col(BASE_VERSION))
        of_rows = {"row_id": row_id, "base_row_id": F.col(BASE), "default_row_commit_version": F.col(BASE_VERSION)}
        members += [column.alias(name) for name, column in {**of_rows, "row_commit_version": version}.items()]
    columns = (F.col(quoted_name(name)) for name in snapshot.schema.names)
    return rows.select(*columns, F.struct(*members).alias(FILE_METADATA))
