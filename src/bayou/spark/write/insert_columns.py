# SPDX-License-Identifier: Apache-2.0
"""The columns to which the rows of an INSERT with schema evolution are aligned.

Spark aligns rows to given columns. With schema evolution these are the table's columns and the additional columns of the rows.
Source: delta-spark's `DeltaAnalysis`.
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
    """Return the table's columns with the new columns, nested fields and wider types of the rows.

    Args:
        by_name: whether columns are matched by name, in any case. Otherwise columns and nested fields are matched by position.
        widening: which types of the table may be widened to the type of the rows.

    Returns:
        The columns, the table's first. If matched by position, two may have the same name, which tables refuse later.
    """
    return _Evolution(by_name, widening).structs(table, given)


def matches_fields_by_name(table: StructType, given: StructType, *, widening: Widening = Widening.NEVER) -> bool:
    """Whether an INSERT by position matches struct fields by name, because all its columns have the table's names and types.

    If one column has another name or type, all fields are matched by position. If all fields are in their places already, both ways
    are the same. Source: delta-spark's `needsSchemaAdjustmentByOrdinal`.

    Args:
        given: the columns of the rows, at least as many as the table has.
        widening: which types of the table may be widened to the type of the rows.
    """
    names = given.names
    head = StructType(given.fields[: len(table.fields)])
    if head.names != table.names or len({name.lower() for name in names}) < len(names) or same_names_and_types(head, table):
        return False
    return _has_all_of(table, head, widening)


def _has_all_of(table: DataType, given: DataType, widening: Widening) -> bool:
    """Whether a type of the rows has all fields of the table's type by exact name, each of the same type or a wider one."""
    if same_form(table, given):
        return all(_has_its_twin(field, twin, widening) for field, twin in twins(table, given))
    return table == given or (isinstance(table, str) and isinstance(given, str) and is_widening(table, given, widening))


def _has_its_twin(field: StructField, twin: StructField | None, widening: Widening) -> bool:
    if twin is None or twin.name != field.name or twin.metadata.get(COLLATIONS) != field.metadata.get(COLLATIONS):
        return False
    return _has_all_of(field.type, twin.type, widening)


@dataclass(frozen=True, slots=True)
class ShortStruct:
    """A struct in the rows with fewer fields than in the table.

    Attributes:
        path: its path.
        wanted: the number of fields in the table.
        found: the number of fields in the rows.
    """

    path: tuple[str, ...]
    wanted: int
    found: int


def short_structs(table: DataType, given: DataType, *, by_name: bool, path: tuple[str, ...] = ()) -> Iterator[ShortStruct]:
    """Yield the structs in the columns of an INSERT that have too few fields. Missing fields, unlike columns, are never filled."""
    if not same_form(table, given):
        return
    fields, columns = parts(table), parts(given)
    if path and len(columns) < len(fields):
        yield ShortStruct(path, len(fields), len(columns))
    for field, twin in twins(table, given) if by_name else zip(fields, columns, strict=False):
        if twin is not None:
            yield from short_structs(field.type, twin.type, by_name=by_name, path=(*path, field.name))


@dataclass(frozen=True, slots=True)
class _Evolution:
    """The evolution of types by the rows of an INSERT; see `evolved_columns`."""

    by_name: bool
    widening: Widening

    def structs(self, table: StructType, given: StructType) -> StructType:
        """Return a struct of the table, or all its columns, with the wider types and the new fields of the rows.

        New fields are last and nullable, because existing rows have no value in them.
        """
        if self.by_name:
            pairs = list(twins(table, given))
            added = [field for field, table_field in twins(given, table) if table_field is None]
        else:
            count = len(table.fields)
            matched: list[StructField | None] = [*given.fields[:count], *[None] * (count - len(given.fields))]
            pairs, added = list(zip(table.fields, matched, strict=True)), list(given.fields[count:])
        existing = (field if twin is None else replace(field, type=self._type(field.type, twin.type)) for field, twin in pairs)
        return StructType((*existing, *(replace(field, nullable=True) for field in added)))

    def _type(self, table: DataType, given: DataType) -> DataType:
        """Return a type of the table, evolved at any depth by the type of the rows. A void type becomes theirs."""
        if isinstance(table, StructType) and isinstance(given, StructType):
            return self.structs(table, given)
        is_wider = isinstance(table, str) and isinstance(given, str) and is_widening(table, given, self.widening)
        return given if is_wider or table in VOID_TYPES else map_twins(table, given, self._type)
