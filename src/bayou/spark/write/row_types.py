# SPDX-License-Identifier: Apache-2.0
"""Cast the rows of a write by name to the table's types, or keep wider types if the write may widen the table's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.features.type_widening import Widening
from bayou.spark.data_files.request import merges_schema
from bayou.spark.data_files.target import merge_widening
from bayou.spark.types.store_assignment import with_table_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.backend import Backend
    from bayou.spark.data_files.request import WriteOptions


def with_types_of(backend: Backend, rows: DataFrame, options: WriteOptions, snapshot: Snapshot | None, name: str) -> DataFrame:
    """Return the rows of a write by name with the table's types, or with wider types if the write may widen the table's.

    All writes by name cast their rows here, also batches of streams.

    Args:
        snapshot: the table; None if it does not exist.

    Raises:
        pyspark.errors.AnalysisException: a type cannot be cast to the table's.
    """
    if snapshot is None or options.overwrite_schema:
        return rows
    widening = merge_widening(snapshot) if merges_schema(options, backend.settings(rows.sparkSession)) else Widening.NEVER
    return with_table_types(backend, rows, snapshot.schema, name, widening=widening)
