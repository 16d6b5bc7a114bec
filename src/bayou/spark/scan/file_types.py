# SPDX-License-Identifier: Apache-2.0
"""Find the types that files hold, if a table's columns were widened and Spark does not widen on reads.

Spark 4.0 and later reads a narrower Parquet type as the table's, except for integers that became decimals of few digits. Spark 3.5
reads hardly any. If it matters, the files are grouped by their footers, and each group is read with its own types and cast.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from bayou.protocol.actions import paths
from bayou.protocol.types.schema import ArrayType, MapType, StructType
from bayou.protocol.types.traverse import all_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    import pyarrow.parquet as pq

    from bayou.protocol.types.schema import DataType, StructField

    FooterReader: TypeAlias = Callable[[Sequence[tuple[str, int]]], list[pq.FileMetaData | OSError]]

_FIRST_SPARK_THAT_WIDENS = (4, 0)
_DIGITS = {"byte": 10, "short": 10, "integer": 10, "long": 20}
"""The digits before the point that a decimal needs so that Spark reads the Parquet type of an integer as one."""
_PRIMITIVES = {
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
}


def must_be_grouped(fields: Sequence[StructField], spark_version: tuple[int, int]) -> bool:
    """Whether a column may be stored in a type that this Spark cannot read as the table's."""
    changes = list(_changes(fields))
    if spark_version < _FIRST_SPARK_THAT_WIDENS:
        return bool(changes)
    return any(source in _DIGITS and _integer_digits(target) < _DIGITS[source] for source, target in changes)


def _integer_digits(kind: str) -> int:
    if not kind.startswith("decimal("):
        return 99
    precision, scale = kind[8:-1].split(",")
    return int(precision) - int(scale)


def _changes(fields: Sequence[StructField]) -> Iterator[tuple[str, str]]:
    for _, _, field in all_fields(StructType(tuple(fields))):
        for change in field.metadata.get("delta.typeChanges") or ():
            yield str(change.get("fromType")), str(change.get("toType"))


def group_by_types(
    files: pa.Table, table_uri: str, positions: pa.Array, fields: Sequence[StructField], read_footers: FooterReader
) -> list[tuple[pa.Array, tuple[StructField, ...]]]:
    """Group files by the types that their footers state: the positions of each group, and the columns as its files have them.

    Args:
        files: the `path`, as in the log, and the `size` of files.
        read_footers: returns the footers of files, or the errors, by URI and size.

    Raises:
        StorageError: an existing footer cannot be read.
    """
    chosen = files.take(positions)
    places = [paths.to_uri(path, table_uri) for path in chosen["path"].to_pylist()]
    footers = read_footers(list(zip(places, chosen["size"].to_pylist(), strict=True)))
    groups: defaultdict[tuple[StructField, ...], list[int]] = defaultdict(list)
    for position, footer in zip(positions.to_pylist(), footers, strict=True):
        groups[_stored(fields, footer)].append(position)
    return [(pa.array(members, pa.int64()), stored) for stored, members in groups.items()]


def _stored(fields: Sequence[StructField], footer: pq.FileMetaData | OSError) -> tuple[StructField, ...]:
    if isinstance(footer, FileNotFoundError):  # the scan itself reports the missing file
        return tuple(fields)
    if isinstance(footer, OSError):
        raise footer
    kinds = {column.name: column.type for column in footer.schema.to_arrow_schema()}
    return tuple(replace(f, type=_narrowed(f.type, kinds[f.name])) if f.name in kinds else f for f in fields)


def _narrowed(wanted: DataType, stored: pa.DataType) -> DataType:
    """Return the type that a column is stored as, if it is narrower than the table's; otherwise the table's."""
    if isinstance(wanted, StructType) and pa.types.is_struct(stored):
        kinds = {stored.field(i).name: stored.field(i).type for i in range(stored.num_fields)}
        return StructType(tuple(replace(f, type=_narrowed(f.type, kinds[f.name])) if f.name in kinds else f for f in wanted.fields))
    if isinstance(wanted, ArrayType) and pa.types.is_list(stored):
        return replace(wanted, element_type=_narrowed(wanted.element_type, stored.value_type))
    if isinstance(wanted, MapType) and pa.types.is_map(stored):
        key, value = _narrowed(wanted.key_type, stored.key_type), _narrowed(wanted.value_type, stored.item_type)
        return replace(wanted, key_type=key, value_type=value)
    if pa.types.is_decimal(stored):
        return f"decimal({stored.precision},{stored.scale})"
    return _PRIMITIVES.get(stored, wanted) if isinstance(wanted, str) and wanted != "timestamp" else wanted
