# SPDX-License-Identifier: Apache-2.0
"""What SHOW PARTITIONS and SHOW TBLPROPERTIES return for a Delta table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.log.snapshot.partition_columns import typed_partitions
from bayou.plan.predicates.partition_values import to_arrow
from bayou.protocol.types.char_varchar import char_width
from bayou.protocol.types.partition_values import NULL_FOLDER
from bayou.protocol.types.schema import StructType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.snapshot.snapshot import Snapshot


def partitions(snapshot: Snapshot, filters: Mapping[str, str]) -> tuple[StructType, pa.Table]:
    """Return the partition columns, and their distinct values in order.

    Args:
        filters: the values of some partition columns, as strings. Only partitions with these values are returned.

    Raises:
        InvalidOptionError: the table is not partitioned, or a filter is not about a partition column.
    """
    if not snapshot.partition_columns:
        raise failed("DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_TABLE", at=snapshot)
    fields = {name.lower(): snapshot.schema.field(name) for name in snapshot.partition_columns}
    unknown = [name for name in filters if name.lower() not in fields]
    if unknown:
        raise failed(
            "DELTA_SHOW_PARTITION_IN_NON_PARTITIONED_COLUMN",
            at=snapshot,
            columns=unknown,
            partition_columns=snapshot.partition_columns,
        )
    columns = StructType(tuple(field for field in fields.values() if field is not None))
    typed = typed_partitions(snapshot.schema, snapshot.partition_texts())
    table = pa.table({field.name: typed[(field.physical_name,)] for field in columns.fields})
    for name, text in filters.items():
        field = columns.field(name)
        assert field is not None  # noqa: S101  (it is a partition column)
        padded = None if text == NULL_FOLDER else text.ljust(char_width(field))
        value = to_arrow(pa.array([padded]), str(field.type))[0]
        column = table[field.name]
        table = table.filter(column.is_null() if not value.is_valid else pc.fill_null(pc.equal(column, value), False))
    # Deduplicate before sorting: there are far more files than partitions.
    table = table.group_by(columns.names).aggregate([]).select(columns.names)
    return columns, table.sort_by([(name, "ascending") for name in columns.names])


def shown_properties(snapshot: Snapshot) -> dict[str, str]:
    """Return a table's properties, sorted, with its protocol and its comment, as delta-spark shows them."""
    protocol = snapshot.protocol
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    properties = {
        **snapshot.metadata.configuration,
        "delta.minReaderVersion": str(protocol.min_reader_version),
        "delta.minWriterVersion": str(protocol.min_writer_version),
        **{f"delta.feature.{name}": "supported" for name in features},
    }
    if snapshot.metadata.description is not None:
        properties["comment"] = snapshot.metadata.description
    return dict(sorted(properties.items()))
