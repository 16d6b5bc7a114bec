# SPDX-License-Identifier: Apache-2.0
"""Dynamic partition overwrite: replace the partitions that the new rows are in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.protocol.types import partition_values
from bayou.protocol.types.char_varchar import char_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.log.commit.transaction import Transaction
    from bayou.protocol.actions.actions import AddFile
    from bayou.protocol.types.schema import StructField


def replaced_partitions(
    transaction: Transaction, added: Sequence[AddFile], time_zone: str, *, keeps_null: bool = False
) -> pa.Table:
    """Return the files in the partitions of the new files. The commit then depends on these partitions.

    Partitions are compared by value, as in queries. Other writers, and columns that had a narrower type before, serialise the same
    value differently.

    Args:
        keeps_null: whether to append to partitions that have a NULL value instead.
    """
    snapshot = transaction.snapshot
    assert snapshot is not None  # noqa: S101  (there is a table to replace partitions of)
    fields = [f for name in snapshot.partition_columns if (f := snapshot.schema.field(name)) is not None]
    partitions = {tuple(file.partition_values.get(f.physical_name) or None for f in fields) for file in added}
    partitions = {values for values in partitions if not (keeps_null and None in values)}
    if not partitions:
        return snapshot.files().slice(0, 0)
    transaction.files(["path"], where=[[_equals(*pair) for pair in zip(fields, values, strict=True)] for values in partitions])
    texts, files = snapshot.partition_texts(), snapshot.files()
    numbers = [_Numbers(field, time_zone) for field in fields]
    keys = [numbering.of_all(texts[field.physical_name].combine_chunks()) for numbering, field in zip(numbers, fields, strict=True)]
    new = ["/".join(str(numbering.of(text)) for numbering, text in zip(numbers, values, strict=True)) for values in partitions]
    return files.filter(pc.is_in(pc.binary_join_element_wise(*keys, "/"), value_set=pa.array(new, pa.string())))


class _Numbers:
    """Assigns a number to each value of a partition column, regardless of its serialisation."""

    def __init__(self, field: StructField, time_zone: str) -> None:
        self._kind = _kind(field)
        self._width = char_width(field)
        self._time_zone = time_zone
        self._numbers: dict[Any, int] = {}

    def of(self, text: str | None) -> int:
        """Return the number of a serialised value. NULL equals the empty string (PROTOCOL.md, "Partition Value Serialization")."""
        value = partition_values.parse(text, self._kind, time_zone=self._time_zone)
        if self._width and value is not None:
            value = value.ljust(self._width)  # as in queries, for all writers
        key = "NaN" if value != value else value  # noqa: PLR0124  (NaN equals nothing, and to Spark itself)
        return self._numbers.setdefault(key, len(self._numbers))

    def of_all(self, texts: pa.Array) -> pa.Array:
        """Return the numbers of serialised values, as strings. Each distinct value is parsed once."""
        codes = texts.dictionary_encode(null_encoding="encode")
        return pa.array([str(self.of(text)) for text in codes.dictionary.to_pylist()], pa.string()).take(codes.indices)


def _kind(field: StructField) -> str:
    return field.type if isinstance(field.type, str) else "string"


def _equals(field: StructField, text: str | None) -> tuple[Any, ...]:
    kind = _kind(field)
    value = partition_values.parse(text, kind)
    if value is None:
        return (field.name, "is null")
    if char_width(field):
        return (field.name, "is not null")  # another writer may serialise the same value differently
    # Filters use the serialised form of dates and timestamps, and not the number.
    return (field.name, "==", text if kind in ("date", "timestamp", "timestamp_ntz") else value)
