# SPDX-License-Identifier: Apache-2.0
"""The partition values of files as columns: as the log's strings, and typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from bayou.protocol.types.schema import StructType


def physical_names(schema: StructType, columns: Sequence[str]) -> dict[str, str]:
    """Return the physical names of partition columns, by their logical names, in order."""
    fields = {name: schema.field(name) for name in columns}
    return {name: name if found is None else found.physical_name for name, found in fields.items()}


def partition_texts(maps: pa.ChunkedArray, names: Mapping[str, str]) -> dict[str, pa.ChunkedArray]:
    """Return the partition values as in the log, by physical name."""
    return {physical: partition_text(maps, physical, logical) for logical, physical in names.items()}


def typed_partitions(schema: StructType, texts: Mapping[str, pa.ChunkedArray]) -> dict[tuple[str, ...], pa.Array]:
    """Return the typed partition values, by physical path."""
    from bayou.plan.predicates.partition_values import to_arrow  # noqa: PLC0415  (not needed to open a table)

    types = {found.physical_name: found.type for found in schema.fields}
    return {(name,): to_arrow(text, str(types.get(name, "string"))) for name, text in texts.items()}


def partition_text(maps: pa.ChunkedArray | pa.Array, name: str, logical: str) -> pa.ChunkedArray | pa.Array:
    """Return the strings of one partition column."""
    found = pc.map_lookup(maps, pa.scalar(name), "first")
    if name != logical and found.null_count:
        # Files from before column mapping was enabled carry the logical name.
        found = pc.coalesce(found, pc.map_lookup(maps, pa.scalar(logical), "first"))
    return found
