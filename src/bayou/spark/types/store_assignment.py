# SPDX-License-Identifier: Apache-2.0
"""Cast rows to a table's column types by the session's store assignment policy, as delta-spark does on inserts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.features.type_widening import Widening, is_widening
from bayou.protocol.types.partition_values import INTEGER_BITS, decimal_type
from bayou.protocol.types.schema import VOID_TYPES, ArrayType, MapType, StructField, StructType, schema_to_json
from bayou.protocol.types.sql_text import quoted_name
from bayou.protocol.types.traverse import as_nullable
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import DataType
    from bayou.spark.backend import Backend

_POLICY: Final = "spark.sql.storeAssignmentPolicy"


def with_table_types(
    backend: Backend, rows: DataFrame, table: StructType, name: str, *, widening: Widening = Widening.NEVER
) -> DataFrame:
    """Cast rows to a table's types, by name. Columns and nested fields that the table lacks keep their types.

    Raise pyspark.errors.AnalysisException if a type cannot be cast to the table's.

    Args:
        name: the table's name, for errors.
        widening: which types of the rows stay, because the write widens the table's.
    """
    given, known = readable_schema(backend.columns_of(rows)), readable_schema(table)

    def leaf(one: DataType, other: DataType) -> DataType:
        return one if _widens(one, other, widening) else other

    plain = StructType(tuple(replace(each, metadata={}) if known.field(each.name) else each for each in given.fields))
    wanted = _Casts(leaf, by_name=True).struct(plain, known)
    if all(each.type == cast.type for each, cast in zip(given.fields, wanted.fields, strict=True)):
        return rows
    rows = with_ansi_casts(backend, rows, table, by_name=True, widening=widening, renames=False)
    return backend.aligned_rows(rows, name, schema_to_json(wanted), by_name=True)


def with_ansi_casts(
    backend: Backend, rows: DataFrame, table: StructType, *, by_name: bool, widening: Widening, renames: bool = True
) -> DataFrame:
    """Cast values of another kind than the table's, such as strings for numbers, by ANSI rules: an invalid value is an error.

    With the policy ANSI, Spark's store assignment refuses such casts, and delta-spark allows them. This does only those casts. Left
    to Spark's store assignment, which runs afterwards, are:

    - casts between numbers, because its overflow error names the column;
    - structs, arrays and maps for strings, which it refuses;
    - the keys of maps, because two of them may become equal;
    - all casts with another policy.

    Raise pyspark.errors.AnalysisException if a type cannot be cast to the table's.

    Args:
        by_name: whether columns and fields of structs match by name; otherwise by position.
        widening: which types of the rows stay, because the write widens the table's.
        renames: whether a struct without any field name of the column's, such as one of the function `struct`, gets the
            column's names by position.
    """
    policy = backend.settings(rows.sparkSession).get(_POLICY, "ANSI").upper()

    def leaf(given: DataType, known: DataType) -> DataType:
        if given in VOID_TYPES:  # NULL fits every type, but Spark's strict policy refuses it
            return known if policy == "STRICT" else given
        is_nested_for_string = not isinstance(given, str) and isinstance(known, str) and known.startswith("string")
        is_left = policy != "ANSI" or is_nested_for_string or (_is_number(given) and _is_number(known))
        return given if is_left or _widens(given, known, widening) else known

    given = as_nullable(readable_schema(backend.columns_of(rows)))
    casts = _Casts(leaf, by_name=by_name, renames=renames, keeps_keys=True)
    wanted = as_nullable(casts.struct(given, readable_schema(table)))
    changed = [number for number, pair in enumerate(zip(given.fields, wanted.fields, strict=True)) if pair[0].type != pair[1].type]
    if not changed:
        return rows
    # Columns that match by position may have the same name. Expressions then need other names.
    has_unique_names = len({name.lower() for name in given.names}) == len(given.names)
    labels = given.names if has_unique_names else [f"{name} ({number})" for number, name in enumerate(given.names, 1)]
    labelled = rows if has_unique_names else rows.toDF(*labels)
    columns = [F.col(quoted_name(label)) for label in labels]
    for number in changed:
        name = _name_of(number, given, table, by_name=by_name)
        kinds = given.fields[number].type, wanted.fields[number].type
        columns[number] = backend.ansi_cast(rows.sparkSession, quoted_name(labels[number]), *kinds, name)
    return labelled.select(*(column.alias(field.name) for column, field in zip(columns, given.fields, strict=True)))


def _name_of(number: int, given: StructType, table: StructType, *, by_name: bool) -> str:
    """Return the table's name for a column of the rows."""
    name = given.fields[number].name
    known = table.field(name) if by_name else table.fields[number]
    return quoted_name(name if known is None else known.name)


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, str) and (kind in (*INTEGER_BITS, "float", "double") or decimal_type(kind) is not None)


def _widens(given: DataType, known: DataType, widening: Widening) -> bool:
    """Whether the write widens the table's type to the type of the rows."""
    return isinstance(given, str) and isinstance(known, str) and is_widening(known, given, widening)


@dataclass(frozen=True, slots=True)
class _Casts:
    """Computes the types to cast rows to: all fields of the rows and no others, all of them nullable.

    Attributes:
        leaf: chooses between the rows' and the table's type of a value, at least one of which is not nested.
        by_name: whether fields match by name; otherwise by position.
        renames: whether structs without any field name of the table's get the table's names.
        keeps_keys: whether the keys of maps keep the rows' type.
    """

    leaf: Callable[[DataType, DataType], DataType]
    by_name: bool
    renames: bool = False
    keeps_keys: bool = False

    def struct(self, given: StructType, known: StructType) -> StructType:
        """Return the columns to cast rows to, for the columns of a table."""
        pairs = ((each, each.type if of is None else self._type(each.type, of.type)) for each, of in self._pairs(given, known))
        return StructType(tuple(replace(each, nullable=True, type=kind) for each, kind in pairs))

    def _pairs(self, given: StructType, known: StructType) -> Iterator[tuple[StructField, StructField | None]]:
        if self.by_name:
            return ((field, known.field(field.name)) for field in given.fields)
        return zip(given.fields, (*known.fields, *[None] * len(given.fields)), strict=False)

    def _type(self, given: DataType, known: DataType) -> DataType:
        if known in VOID_TYPES:
            return given  # a void column gets the type of the rows if the write evolves the schema
        if isinstance(given, StructType) and isinstance(known, StructType):
            return self.struct(_under_names_of(known, given) if self.renames else given, known)
        if isinstance(given, ArrayType) and isinstance(known, ArrayType):
            return ArrayType(self._type(given.element_type, known.element_type), contains_null=True)
        if isinstance(given, MapType) and isinstance(known, MapType):
            key = given.key_type if self.keeps_keys else self._type(given.key_type, known.key_type)
            return MapType(key, self._type(given.value_type, known.value_type), value_contains_null=True)
        return self.leaf(given, known)


def _under_names_of(known: StructType, given: StructType) -> StructType:
    """Return a struct's fields under another's names, if it has as many fields and none of them has a name of the other."""
    if len(given.fields) != len(known.fields) or any(known.field(each.name) is not None for each in given.fields):
        return given
    return StructType(tuple(replace(each, name=of.name) for each, of in zip(given.fields, known.fields, strict=True)))
