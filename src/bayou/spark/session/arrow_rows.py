# SPDX-License-Identifier: Apache-2.0
"""Collect the rows of a DataFrame as an Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def collected(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    """Return the rows of a DataFrame as an Arrow table. `schema` is used only if it has no rows."""
    to_arrow: Any = getattr(type(frame), "toArrow", None)
    if to_arrow is not None:
        table: pa.Table = to_arrow(frame)
        return table
    collect_batches: Any = frame._collect_as_arrow()  # type: ignore[operator]  # noqa: SLF001  (Spark 3.5 has no public way)
    return pa.Table.from_batches(collect_batches) if collect_batches else schema.empty_table()
