# SPDX-License-Identifier: Apache-2.0
"""Find the files that REORG rewrites: those with deletion vectors, and those with columns that the table no longer has.

The log does not state which columns a file holds; its footer does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.protocol import properties
from bayou.protocol.types.schema import ArrayType, MapType, StructType
from bayou.spark.scan.footers import footers_in_turn
from bayou.spark.types.types import stored_fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType, StructField
    from bayou.spark.read.session_table import SessionTable


def files_to_purge(table: SessionTable, snapshot: Snapshot, chosen: pa.Array | None) -> pa.Array:
    """Return for each file of a snapshot whether REORG rewrites it. Raise OSError if a footer cannot be read."""
    files = snapshot.files(["path", "size", "deletion_vector"])
    purged = pc.is_valid(files["deletion_vector"].combine_chunks())
    unknown = pc.invert(purged) if chosen is None else pc.and_(pc.invert(purged), chosen)
    positions = pc.indices_nonzero(unknown)
    own = {item.read(snapshot.properties) for item in (properties.MATERIALIZED_ROW_ID, properties.MATERIALIZED_ROW_COMMIT_VERSION)}
    fields = stored_fields(snapshot.schema.fields)
    with_dropped: list[int] = []
    footers = footers_in_turn(table.application.backend, files.take(positions), snapshot.table_uri, table.options)
    for position, footer in zip(positions.to_pylist(), footers, strict=True):
        if isinstance(footer, OSError):
            raise footer
        columns = [item for item in footer.schema.to_arrow_schema() if item.name not in own]
        if holds_others(columns, fields):
            with_dropped.append(position)
    all_positions = pa.array(range(files.num_rows), pa.int64())
    return pc.or_(purged, pc.is_in(all_positions, value_set=pa.array(with_dropped, pa.int64())))


def holds_others(columns: Iterable[pa.Field], fields: Iterable[StructField]) -> bool:
    """Return whether a file has columns or nested fields that a table lacks."""
    types = {column.physical_name.lower(): column.type for column in fields}
    return any(column.name.lower() not in types or _has_others(column.type, types[column.name.lower()]) for column in columns)


def _has_others(stored: pa.DataType, kind: DataType) -> bool:
    if isinstance(kind, StructType) and pa.types.is_struct(stored):
        return holds_others([stored.field(i) for i in range(stored.num_fields)], kind.fields)
    if isinstance(kind, ArrayType) and pa.types.is_list(stored):
        return _has_others(stored.value_type, kind.element_type)
    if isinstance(kind, MapType) and pa.types.is_map(stored):
        return _has_others(stored.key_type, kind.key_type) or _has_others(stored.item_type, kind.value_type)
    return False
