# SPDX-License-Identifier: Apache-2.0
"""The partitions that an overwrite replaces: those that its rows are in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.protocol import partition_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.log.transaction import Transaction
    from bayou.protocol.actions import AddFile
    from bayou.protocol.schema import StructField


def replaced_partitions(transaction: Transaction, added: Sequence[AddFile], *, keeps_null: bool = False) -> pa.Table:
    """The files that lie in a partition in which new ones do; the commit depends on these partitions from then on.

    Args:
        transaction: the write's transaction.
        added: the new files.
        keeps_null: whether partitions with a NULL among their values are added to instead.
    """
    snapshot = transaction.snapshot
    assert snapshot is not None  # noqa: S101  (there is a table to replace partitions of)
    fields = [f for name in snapshot.partition_columns if (f := snapshot.schema.field(name)) is not None]
    wanted = {tuple(file.partition_values.get(f.physical_name) or None for f in fields) for file in added}
    wanted = {values for values in wanted if not (keeps_null and None in values)}
    groups = [[_equals(field, text) for field, text in zip(fields, values, strict=True)] for values in wanted]
    found = transaction.files(where=groups) if groups else snapshot.files().slice(0, 0)
    if not found.num_rows:
        return found
    # NULL and the empty text are one partition (PROTOCOL.md, "Partition Value Serialization").
    texts = [pc.fill_null(pc.map_lookup(found["partition_values"], f.physical_name, "first"), "") for f in fields]
    keys = pa.array(["\x1f".join(text or "" for text in values) for values in wanted], pa.string())
    return found.filter(pc.is_in(pc.binary_join_element_wise(*texts, "\x1f"), value_set=keys))


def _equals(field: StructField, text: str | None) -> tuple[Any, ...]:
    kind = field.type if isinstance(field.type, str) else "string"
    value = partition_values.parse(text, kind)
    if value is None:
        return (field.name, "is null")
    # Of days and instants filters know the text, and not the number.
    return (field.name, "==", text if kind in ("date", "timestamp", "timestamp_ntz") else value)
