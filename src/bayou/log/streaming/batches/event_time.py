# SPDX-License-Identifier: Apache-2.0
"""The event time of files: the least value of a column, from the statistics of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from bayou.errors import InvalidOptionError
from bayou.protocol.stats.file_stats import skipping_types
from bayou.protocol.types.schema import leaves

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot


def least_values(snapshot: Snapshot, column: str, count: int) -> pa.Array | pa.ChunkedArray:
    """The least value of a column in each file of a snapshot; NULL where the log does not say.

    Args:
        snapshot: the snapshot.
        column: the column's name, with dots for nested ones; its case does not matter.
        count: how many files there are.

    Raises:
        InvalidOptionError: there is no such column.
    """
    wanted = column.replace("`", "").lower()
    physical = next((place for names, place, _ in leaves(snapshot.schema) if ".".join(names).lower() == wanted), None)
    if physical is None:
        raise InvalidOptionError(
            f"the event time is {column!r}, and the table has no such column",
            table=snapshot.table_uri,
            version=snapshot.version,
            next_step="Name a column of the table in withWatermark.",
            option="withEventTimeOrder",
        )
    if physical in snapshot.partitions():
        return snapshot.partitions()[physical]
    kind = skipping_types(snapshot.schema).get(physical)
    if kind is None:
        return pa.nulls(count, pa.int64())
    found = snapshot.statistics({physical: kind}).columns.get(physical)
    return pa.nulls(count, pa.int64()) if found is None or found.min is None else found.min
