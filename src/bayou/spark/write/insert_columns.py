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
from bayou.protocol.types.schema import VOID_TYPES, DataType, StructField, StructType
from bayou.protocol.types.traverse import map_twins, parts, same_form, twins
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
    if same_form(table, given):
        return all(_has_its_twin(each, twin, widening) for each, twin in twins(table, given))
    return table == given or (isinstance(table, str) and isinstance(given, str) and is_widening(table, given, widening))


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
    """Yield the structs within the columns of an INSERT that have too few fields: unlike columns, fields are never filled."""
    if not same_form(table, given):
        return
    wanted, found = parts(table), parts(given)
    if path and len(found) < len(wanted):
        yield ShortStruct(path, len(wanted), len(found))
    for each, twin in twins(table, given) if by_name else zip(wanted, found, strict=False):
        if twin is not None:
            yield from short_structs(each.type, twin.type, by_name=by_name, path=(*path, each.name))


@dataclass(frozen=True, slots=True)
class _Evolution:
    by_name: bool
    widening: Widening

    def structs(self, table: StructType, given: StructType) -> StructType:
        if self.by_name:
            pairs = list(twins(table, given))
            more = [each for each, known in twins(given, table) if known is None]
        else:
            count = len(table.fields)
            found: list[StructField | None] = [*given.fields[:count], *[None] * (count - len(given.fields))]
            pairs, more = list(zip(table.fields, found, strict=True)), list(given.fields[count:])
        kept = (each if twin is None else replace(each, type=self._type(each.type, twin.type)) for each, twin in pairs)
        return StructType((*kept, *(replace(each, nullable=True) for each in more)))

    def _type(self, table: DataType, given: DataType) -> DataType:
        if isinstance(table, StructType) and isinstance(given, StructType):
            return self.structs(table, given)
        is_wider = isinstance(table, str) and isinstance(given, str) and is_widening(table, given, self.widening)
        return given if is_wider or table in VOID_TYPES else map_twins(table, given, self._type)
