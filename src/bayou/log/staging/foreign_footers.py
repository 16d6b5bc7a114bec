# SPDX-License-Identifier: Apache-2.0
"""Footers of Parquet files that were not written for a Delta table: their schema, and the statistics that hold for a table.

A file's column may have another type than the table's, or another spelling of its name. Then a footer's bounds are not those of the
values that readers of the table get, and a column that seems to be missing is not.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayou.errors import InvalidSchemaError
from bayou.protocol.types.partition_values import INTEGER_BITS, decimal_type, is_string_type
from bayou.protocol.types.schema import parse_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    import pyarrow.parquet as pq

    from bayou.protocol.stats.file_stats import IndexedLeaf
    from bayou.protocol.types.schema import StructType

_SPARK_SCHEMA: Final = b"org.apache.spark.sql.parquet.row.metadata"
_TEXTS: Final = frozenset({"String", "None", "Enum", "JSON"})
_PHYSICAL: Final = {"float": "FLOAT", "double": "DOUBLE"}
_MOMENTS: Final = {"timestamp": "Timestamp(isAdjustedToUTC=true", "timestamp_ntz": "Timestamp(isAdjustedToUTC=false"}


def spark_schema(footer: pq.FileMetaData) -> StructType | None:
    """Return the schema that Spark wrote into a footer; None for another writer, or a Spark before 1.3."""
    text = (footer.metadata or {}).get(_SPARK_SCHEMA)
    if text is None:
        return None
    try:
        return parse_schema(text.decode("utf-8"))
    except (InvalidSchemaError, UnicodeDecodeError):
        return None


def shape_of(footer: pq.FileMetaData) -> tuple[str, bytes]:
    """Return a key: files with the same key have the same schema, and the same columns whose statistics hold."""
    columns = str(footer.schema).partition("\n")[2]  # the first line has the object's address
    return columns, (footer.metadata or {}).get(_SPARK_SCHEMA, b"")


def sure_leaves(footer: pq.FileMetaData, leaves: Sequence[IndexedLeaf]) -> tuple[IndexedLeaf, ...]:
    """Return the table's columns for which a footer's statistics hold; without bounds if only its null counts do."""
    columns = {(each := footer.schema.column(position)).path: each for position in range(footer.num_columns)}
    spellings: defaultdict[str, set[str]] = defaultdict(set)
    for path in columns:
        parts = path.split(".")
        for depth in range(1, len(parts) + 1):
            spelled = ".".join(parts[:depth])
            spellings[spelled.lower()].add(spelled)
    has_dots = any("." in name for name in _names(footer.schema.to_arrow_schema()))
    return tuple(_sure(leaf, columns) for leaf in leaves if _is_found(leaf, spellings, has_dots=has_dots))


def _is_found(leaf: IndexedLeaf, spellings: dict[str, set[str]], *, has_dots: bool) -> bool:
    """Return whether a column's path leads to the column that readers use for it, or to none."""
    if has_dots and (len(leaf.path) > 1 or "." in leaf.path[0]):
        return False
    dotted = ".".join(leaf.path)
    return spellings.get(dotted.lower(), {dotted}) == {dotted}


def _sure(leaf: IndexedLeaf, columns: dict[str, pq.ColumnSchema]) -> IndexedLeaf:
    column = columns.get(".".join(leaf.path))
    if column is None or not leaf.has_bounds or not isinstance(leaf.field.type, str):
        return leaf
    return leaf if _holds(column, leaf.field.type) else replace(leaf, has_bounds=False)


def _holds(column: pq.ColumnSchema, kind: str) -> bool:
    """Return whether a file's column stores values of a type in the way in which bounds are read."""
    logical, physical = str(column.logical_type), str(column.physical_type)
    decimal = decimal_type(kind)
    if decimal is not None:
        return logical == f"Decimal(precision={decimal[0]}, scale={decimal[1]})"
    if kind in INTEGER_BITS:
        return logical == "None" or (logical.startswith("Int(") and "isSigned=true" in logical)
    if is_string_type(kind):
        return physical == "BYTE_ARRAY" and logical in _TEXTS
    if kind == "date":
        return logical == "Date"
    return logical.startswith(_MOMENTS[kind]) if kind in _MOMENTS else physical == _PHYSICAL.get(kind, physical)


def _names(fields: pa.Schema | pa.DataType) -> Iterator[str]:
    for each in fields:
        yield each.name
        if each.type.num_fields:
            yield from _names([each.type.field(number) for number in range(each.type.num_fields)])
