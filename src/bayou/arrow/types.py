# SPDX-License-Identifier: Apache-2.0
"""The Arrow types of a table's columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from bayou.errors import DeltaError, InvalidSchemaError, Located, failed
from bayou.plan.predicates import partition_values
from bayou.protocol.types.schema import ArrayType, DataType, MapType, StructField, StructType, UserDefinedType
from bayou.protocol.types.traverse import walk


def arrow_type(kind: DataType) -> pa.DataType:
    """Return the Arrow type of a column's type. Everything is nullable, since other writers may not check NOT NULL.

    Raise InvalidSchemaError if Arrow has no such type.
    """
    match kind:
        case StructType(fields):
            return pa.struct([pa.field(each.name, arrow_type(each.type)) for each in fields])
        case ArrayType(element, _):
            return pa.list_(arrow_type(element))
        case MapType(key, value, _):
            return pa.map_(arrow_type(key), arrow_type(value))
        case UserDefinedType(stored=stored):
            return arrow_type(stored)
        case _:
            return partition_values.arrow_type(kind)


def arrow_schema(fields: Iterable[StructField]) -> pa.Schema:
    """Return the Arrow schema of some columns, by their logical names."""
    return pa.schema([pa.field(each.name, arrow_type(each.type)) for each in fields])


def check_types(fields: Iterable[StructField], at: Located) -> None:
    """Raise UnsupportedFeatureError if a column has or contains a type that is not read without Spark, such as variant."""
    for each in fields:
        for path, kind in _unknown(each):
            raise _unreadable(".".join((each.name, *path)), kind, at)


def _unknown(field: StructField) -> Iterator[tuple[tuple[str, ...], str]]:
    stored = field.type.stored if isinstance(field.type, UserDefinedType) else field.type
    for path, kind in walk(stored):
        inner = kind.stored if isinstance(kind, UserDefinedType) else kind
        if inner is not kind:
            yield from (((*path, *more), name) for more, name in _unknown(StructField("", inner)))
        elif isinstance(kind, str) and not _is_known(kind):
            yield path, kind


def _is_known(kind: str) -> bool:
    try:
        partition_values.arrow_type(kind)
    except InvalidSchemaError:
        return False
    return True


def _unreadable(column: str, kind: str, at: Located) -> DeltaError:
    return failed("DELTA_UNSUPPORTED_DATA_TYPES/arrow", at=at, column=column, type=kind)
