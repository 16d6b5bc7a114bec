# SPDX-License-Identifier: Apache-2.0
"""Read the rows of chosen files as DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.jvm.core.session import dataset, java_session
from bayou.spark.native.scan.scan import PlannedScan, Scan
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.types.types import spark_data_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.scan.row_ids import RowIdColumns
    from bayou.spark.session.application import Application


def file_rows(
    application: Application,
    spark: SparkSession,
    snapshot: Snapshot,
    fields: Sequence[StructField],
    positions: pa.Array | None,
    *,
    constants: Mapping[str, pa.Array] | None,
    ids: RowIdColumns | None,
    options: Mapping[str, str] | None,
    with_row_index: bool,
    has_tasks: bool,
) -> DataFrame:
    """Return the rows of some files, without deleted ones; see `spark.read.file_rows`."""
    hidden = dict(constants or {})
    if ids is not None and positions is not None:
        hidden |= ids.constants(snapshot, positions)
    scan = Scan(
        application,
        java_session(spark),
        snapshot,
        [*fields, *(() if ids is None else ids.fields)],
        metadata=["row_index"] if with_row_index or ids is not None else None,
        positions=positions,
        hidden=hidden,
        options=options or {},
        rewrites=True,
        file_tasks=has_tasks,
    )
    return scan_frame(scan, spark)


def scan_frame(scan: Scan, spark: SparkSession) -> DataFrame:
    """Return the rows of a scan as a DataFrame: the table's columns under their logical names, then the hidden constants.

    The metadata of a row's file comes last, under the scan's name for it.
    """
    planned = scan.planned()
    metadata = planned.columns[-1:] if scan.metadata is not None else []
    return named_frame(scan.application, spark, planned, scan.fields, [*scan.hidden, *metadata])


def named_frame(
    application: Application, spark: SparkSession, planned: PlannedScan, fields: Sequence[StructField], more: Iterable[str] = ()
) -> DataFrame:
    """Return a planned scan as a DataFrame: the table's columns under their logical names and types, then further columns.

    Args:
        fields: the table's columns in the scan.
        more: the names of the further columns.
    """
    frame = DataFrame(dataset(jvm_of(application), java_session(spark), planned.plan), spark)
    return frame.select(
        *(
            F.col(quoted_name(physical)).cast(spark_data_type(f)).alias(f.name)
            for f, physical in zip(fields, planned.columns, strict=False)
        ),
        *more,
    )
