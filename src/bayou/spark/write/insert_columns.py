# SPDX-License-Identifier: Apache-2.0
"""The columns that the rows of an INSERT become before they are written, where they may change the table's schema.

Spark aligns rows to columns that it is told. A schema that evolves is told it by the table's columns and by what the rows have
beyond them. Source: delta-spark's `DeltaAnalysis`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bayou.protocol.features.type_widening import Widening, is_widening
from bayou.protocol.stats.file_stats import COLLATIONS
from bayou.protocol.types.schema import VOID_TYPES, ArrayType, DataType, MapType, StructField, StructType
from bayou.spark.types.alignment import same_names_and_types

if TYPE_CHECKING:
    from collections.abc import Iterator


def evolved_columns(table: StructType, given: StructType, *, by_name: bool, widening: Widening = Widening.NEVER) -> StructType:
    """The table's columns with what the rows have beyond them: columns, nested fields, wider types.

    Args:
        by_name: whether columns go by their names, whatever the case; else by their positions, nested fields too.
        widening: which types the table takes over from the rows where they are wider.

    Returns:
        The columns, the table's first. By position there may be two of one name; no table can have them.
    """
    return _Evolution(by_name, widening).structs(table, given)


def goes_by_name(table: StructType, given: StructType, *, widening: Widening = Widening.NEVER) -> bool:
    """Whether fields of structs go by name in an INSERT by position: its columns have the table's names and types.

    Where one column has another name or another type, all fields go by their positions; and where they are in their places already,
    there is nothing to tell. Source: delta-spark's `needsSchemaAdjustmentByOrdinal`.

    Args:
        given: those of the rows, as many at least.
        widening: which types of the table may become those of the rows.
    """
    names = given.names
    head = StructType(given.fields[: len(table.fields)])
    if head.names != table.names or len({name.lower() for name in names}) < len(names) or same_names_and_types(head, table):
        return False
    return _has_all_of(table, head, widening)


def _has_all_of(table: DataType, given: DataType, widening: Widening) -> bool:
    match table, given:
        case StructType(), StructType():
            return all(_has_its_twin(each, given.field(each.name), widening) for each in table.fields)
        case ArrayType(element, _), ArrayType(other, _):
            return _has_all_of(element, other, widening)
        case MapType(key, value, _), MapType(other_key, other_value, _):
            return _has_all_of(key, other_key, widening) and _has_all_of(value, other_value, widening)
        case str(), str():
            return table == given or is_widening(table, given, widening)
        case _:
            return table == given


def _has_its_twin(field: StructField, twin: StructField | None, widening: Widening) -> bool:
    if twin is None or twin.name != field.name or twin.metadata.get(COLLATIONS) != field.metadata.get(COLLATIONS):
        return False
    return _has_all_of(field.type, twin.type, widening)


@dataclass(frozen=True, slots=True)
class ShortStruct:
    """A struct of the rows that has fewer fields than the table's.

    Attributes:
        path: the names that lead to it.
        wanted: how many fields the table's has.
        found: how many there are.
    """

    path: tuple[str, ...]
    wanted: int
    found: int


def short_structs(table: DataType, given: DataType, *, by_name: bool, path: tuple[str, ...] = ()) -> Iterator[ShortStruct]:
    """The structs within the columns of an INSERT that have too few fields: unlike columns, fields are never filled."""
    match table, given:
        case StructType(), StructType():
            if path and len(given.fields) < len(table.fields):
                yield ShortStruct(path, len(table.fields), len(given.fields))
            twins = [given.field(each.name) for each in table.fields] if by_name else given.fields
            for each, twin in zip(table.fields, twins, strict=False):
                if twin is not None:
                    yield from short_structs(each.type, twin.type, by_name=by_name, path=(*path, each.name))
        case ArrayType(element, _), ArrayType(other, _):
            yield from short_structs(element, other, by_name=by_name, path=(*path, "element"))
        case MapType(key, value, _), MapType(other_key, other_value, _):
            yield from short_structs(key, other_key, by_name=by_name, path=(*path, "key"))
            yield from short_structs(value, other_value, by_name=by_name, path=(*path, "value"))
        case _:
            return


@dataclass(frozen=True, slots=True)
class _Evolution:
    by_name: bool
    widening: Widening

    def structs(self, table: StructType, given: StructType) -> StructType:
        if self.by_name:
            names = {each.name.lower() for each in table.fields}
            new = {each.name.lower(): each for each in given.fields}
            pairs = [(each, new.get(each.name.lower())) for each in table.fields]
            more = [each for each in given.fields if each.name.lower() not in names]
        else:
            count = len(table.fields)
            found: list[StructField | None] = [*given.fields[:count], *[None] * (count - len(given.fields))]
            pairs, more = list(zip(table.fields, found, strict=True)), list(given.fields[count:])
        kept = (each if twin is None else replace(each, type=self._type(each.type, twin.type)) for each, twin in pairs)
        return StructType((*kept, *(replace(each, nullable=True) for each in more)))

    def _type(self, table: DataType, given: DataType) -> DataType:
        match table, given:
            case StructType(), StructType():
                return self.structs(table, given)
            case ArrayType(element, _), ArrayType(other, _):
                return replace(table, element_type=self._type(element, other))
            case MapType(key, value, _), MapType(other_key, other_value, _):
                return replace(table, key_type=self._type(key, other_key), value_type=self._type(value, other_value))
            case str(), str() if is_widening(table, given, self.widening):
                return given
            case _:
                return given if table in VOID_TYPES else table
