# SPDX-License-Identifier: Apache-2.0
"""The Parquet files of a checkpoint, built in memory row group by row group."""

from __future__ import annotations

import io
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

# Columns whose values repeat. A dictionary of any other column would be built and then dropped.
_REPEATING: Final = (
    "add.partitionValues.key_value.key",
    "add.partitionValues.key_value.value",
    "add.tags.key_value.key",
    "add.tags.key_value.value",
    "add.deletionVector.storageType",
    "add.clusteringProvider",
    "remove.partitionValues.key_value.key",
    "remove.partitionValues.key_value.value",
    "remove.deletionVector.storageType",
)


# Smaller tables are coalesced: a row group costs a kilobyte of footer for every few columns.
_SMALLEST_ROW_GROUP: Final = 16_384


class CheckpointFile:
    """A Parquet file that grows by row groups and is kept compressed in memory until it is finished."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.rows = 0
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        self._buffer = io.BytesIO()
        self._writer = pq.ParquetWriter(
            self._buffer,
            schema,
            compression="snappy",
            use_dictionary=list(_REPEATING),
            # Spark reads the Parquet types; Arrow's own schema would repeat them.
            store_schema=False,
        )

    def write(self, table: pa.Table) -> None:
        """Add rows; a table that is not small becomes a row group."""
        self.rows += table.num_rows
        self._pending.append(table)
        self._pending_rows += table.num_rows
        if self._pending_rows >= _SMALLEST_ROW_GROUP:
            self._flush()

    def finish(self) -> bytes:
        """Close the file and return its bytes."""
        if self._pending_rows:
            self._flush()
        self._writer.close()
        return self._buffer.getvalue()

    def _flush(self) -> None:
        self._writer.write_table(pa.concat_tables(self._pending), row_group_size=self._pending_rows)
        self._pending = []
        self._pending_rows = 0
