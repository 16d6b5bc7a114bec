# SPDX-License-Identifier: Apache-2.0
"""The columns of a Z-order or of a clustering: check and name them, and compute the values that define their order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.protocol.columns.clustering import fields_on
from bayou.protocol.stats.file_stats import indexed_leaves, parse_column_list
from bayou.protocol.types import partition_values
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.schema import ArrayType, StructType
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.session.settings import is_on
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.columns.clustering import ClusteringColumns
    from bayou.protocol.types.schema import DataType

_CHECK: Final = "spark.databricks.delta.optimize.zorder.checkStatsCollection.enabled"
_KINDS: Final = {
    "date": ("{}", "int"),
    "integer": ("{}", "int"),
    "short": ("cast({} as int)", "int"),
    "byte": ("cast({} as int)", "int"),
    "boolean": ("cast({} as int)", "int"),
    "long": ("{}", "long"),
    "timestamp": ("{}", "long"),
    "timestamp_ntz": ("{}", "long"),
    "double": ("{}", "double"),
    "float": ("cast({} as double)", "double"),
    "binary": ("hex({})", "object"),
}
"""For each type the SQL of a value with the same order, and its type in Java."""
_DECIMAL: Final = re.compile(r"decimal\b.*")


@dataclass(frozen=True, slots=True)
class CurveColumn:
    """A column of a curve.

    Attributes:
        top: the table's column that is it, or contains it.
        value: SQL of the value that defines its order.
        kind: the type of that value in Java.
    """

    top: str
    value: str
    kind: str

    @property
    def cut(self) -> str:
        """Return the SQL of the part of the value that a bound keeps: the start of a string."""
        return f"left({self.value}, 64)" if self.kind == "object" else self.value


def curve_columns(snapshot: Snapshot, columns: ClusteringColumns) -> list[CurveColumn]:
    """Return the columns with the values that define their order.

    Raises:
        UnsupportedFeatureError: a column's type has no order.
        InvalidSchemaError: another program wrote clustering columns that the table lacks.
    """
    schema = readable_schema(snapshot.schema)
    curve = []
    for path in columns:
        fields = fields_on(path, schema)
        if not fields:
            raise failed("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA/order", at=snapshot, columns=(name_of(path),), known=schema.names)
        names = [field.name for field in fields]
        value = _ordered(".".join(map(quoted_name, names)), fields[-1].type)
        if value is None:
            kind = type_text(fields[-1].type)
            raise failed(
                "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
                at=snapshot,
                column=name_of(path),
                type=kind.upper(),
                features=(f"order of {kind}",),
            )
        curve.append(CurveColumn(names[0], *value))
    return curve


def _ordered(text: str, kind: DataType) -> tuple[str, str] | None:
    """Return SQL of the value that defines a column's order, and its type in Java; None if the type has no order.

    A struct or an array is ordered by its first value, which Spark compares first, too.
    """
    if isinstance(kind, StructType):
        return _ordered(f"{text}.{quoted_name(kind.fields[0].name)}", kind.fields[0].type) if kind.fields else None
    if isinstance(kind, ArrayType):
        return _ordered(f"get({text}, 0)", kind.element_type)
    if not isinstance(kind, str):
        return None
    if partition_values.is_string_type(kind):
        return text, "object"
    if _DECIMAL.fullmatch(kind):
        return f"cast({text} as double)", "double"
    value, java = _KINDS.get(kind, ("", ""))
    return (value.format(text), java) if value else None


def z_order_columns(snapshot: Snapshot, texts: Sequence[str], settings: Mapping[str, str]) -> ClusteringColumns:
    """Return the logical paths of the columns of ZORDER BY, in the schema's spelling.

    Raises:
        InvalidOptionError: a column is a partition column, or does not exist.
        InvalidSchemaError: files have no statistics of a column.

    Source: delta-spark's `validateZorderByColumns`.
    """
    partitions = {name.lower() for name in snapshot.partition_columns}
    leaves = indexed_leaves(snapshot.schema, snapshot.properties, snapshot.partition_columns)
    indexed = [tuple(part.lower() for part in leaf.logical_path) for leaf in leaves]
    order, without = [], []
    for text in texts:
        path = _parsed(text, snapshot)
        name = name_of(path)
        if name.lower() in partitions:
            raise failed("DELTA_ZORDERING_ON_PARTITION_COLUMN", at=snapshot, option="zOrderBy", column=name)
        fields = fields_on(path, snapshot.schema)
        if not fields or path[0].lower() in partitions:
            raise failed("DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST", at=snapshot, option="zOrderBy", column=name)
        order.append(tuple(field.name for field in fields))
        lower = tuple(part.lower() for part in path)
        if not any(leaf[: len(lower)] == lower for leaf in indexed):
            without.append(name)
    if without and is_on(settings, _CHECK, default=True):
        raise failed("DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS", at=snapshot, columns=without, setting=_CHECK)
    return tuple(order)


def name_of(path: Sequence[str]) -> str:
    """Return a column as the history and errors of Z-order show it. Only a name with a dot is in backticks."""
    return ".".join(quoted_name(part) if "." in part else part for part in path)


def _parsed(text: str, snapshot: Snapshot) -> tuple[str, ...]:
    paths = parse_column_list(text)
    if len(paths) != 1:
        raise failed("PARSE_SYNTAX_ERROR/z-order-column", at=snapshot, option="zOrderBy", column=text)
    return paths[0]
