# SPDX-License-Identifier: Apache-2.0
"""Cast and pad values with documented functions, whose result no setting of the session changes.

Source of the rules: Spark's `Cast.canUpCast`, `Cast.canANSIStoreAssign` and `CharVarcharUtils.addPaddingForScan`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.types.char_varchar import bounded_length, parse_type_text, type_text
from bayou.protocol.types.partition_values import INTEGER_BITS, decimal_type
from bayou.protocol.types.schema import VOID_TYPES, ArrayType, MapType, StructType, UserDefinedType
from bayou.protocol.types.sql_text import quoted_name
from bayou.protocol.types.traverse import innermost
from bayou.spark.portable.stored_values import FLOATS, checked, legacy, plain, stored
from bayou.spark.types.alignment import same_names_and_types
from bayou.spark.types.types import sql_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column, DataFrame

    from bayou.protocol.types.schema import DataType
    from bayou.spark.portable.stored_values import Cast

POLICY: Final = "spark.sql.storeAssignmentPolicy"
_FILLS: Final = "spark.sql.defaultColumn.useNullsForMissingDefaultValues"
_TIMES: Final = ("date", "timestamp", "timestamp_ntz")
_INTEGER_DIGITS: Final = {"byte": 3, "short": 5, "integer": 10, "long": 20}
"""The precision of the decimal that Spark takes for each type of integers."""


def aligned_rows(
    frame: DataFrame, given: StructType, wanted: StructType, table: str, *, settings: Mapping[str, str], by_name: bool
) -> DataFrame:
    """Return rows with a table's columns and types.

    Args:
        given: the columns of the rows.
        wanted: the table's columns.
        table: its name, for errors.
        settings: the session's settings, such as its store assignment policy.
        by_name: whether columns match by name; otherwise by position.

    Raises:
        AnalysisException: a type cannot be stored as the column's.
    """
    # Columns that match by position may have the same name.
    policy, fills = settings.get(POLICY, "ANSI").upper(), settings.get(_FILLS, "true").lower() != "false"
    labels = [f"{name} ({number})" for number, name in enumerate(given.names)] if not by_name else given.names
    labelled, cast = frame if by_name else frame.toDF(*labels), _cast_of(policy)
    columns = []
    for number, field in enumerate(wanted.fields):
        source = given.field(field.name) if by_name else given.fields[number]
        if source is None:
            if not fills and CURRENT_DEFAULT not in field.metadata:
                raise _missing(table, field.name)
            if CURRENT_DEFAULT not in field.metadata and any(isinstance(each, UserDefinedType) for each in innermost(field.type)):
                continue  # SQL has no such type, and a write fills what is missing with null
            default = field.metadata.get(CURRENT_DEFAULT, "null")
            value = f"cast(({default}\n) as {sql_type(field.type)})"
            columns.append(F.expr(value).alias(field.name))
            continue
        if not _may_store(source.type, field.type, policy, by_name=by_name):
            raise _incompatible(table, field.name, source.type, field.type)
        label = source.name if by_name else labels[number]
        made = stored(F.col(quoted_name(label)), source.type, field.type, quoted_name(field.name), cast, by_name=by_name)
        columns.append(made.alias(field.name))
    return labelled.select(*columns)


def ansi_cast(value: Column, given: DataType, wanted: DataType, name: str) -> Column:
    """Cast a value at any depth, fields by position. A part of it that the type cannot hold is an error that names the column.

    Args:
        name: the name of the table's column, for the error.
    """
    return stored(value, given, wanted, name, _cast_of("ANSI"), by_name=False)


def stored_value(value: Column, given: DataType, wanted: DataType, name: str, *, is_legacy: bool) -> Column:
    """Cast a value other than a struct, an array or a map.

    Args:
        name: the name of the table's column, for the error of a value that the type cannot hold.
        is_legacy: whether such a value becomes NULL, or is truncated, instead.
    """
    return _cast_of("LEGACY" if is_legacy else "ANSI")(value, given, wanted, name)


def padded_chars(name: str, declared: str) -> Column:
    """Return a column with its char values padded to their length at any depth.

    Args:
        declared: its type in SQL, with chars and varchars.
    """
    return F.expr(_padded(quoted_name(name), parse_type_text(declared), 0))


def may_upcast(given: DataType, wanted: DataType) -> bool:
    """Whether each value of a type is the same in another type."""
    if given == wanted or given in VOID_TYPES:
        return True
    if not isinstance(given, str) or not isinstance(wanted, str):
        return _each(given, wanted, may_upcast)
    if given in INTEGER_BITS and wanted in INTEGER_BITS:
        return INTEGER_BITS[given] <= INTEGER_BITS[wanted]
    is_text = wanted == "string" and given != "binary"
    is_float = wanted in FLOATS and (given in INTEGER_BITS or (given, wanted) == ("float", "double"))
    is_time = wanted in ("timestamp", "timestamp_ntz") and given in _TIMES
    return is_text or is_float or is_time or _fits_decimal(given, wanted)


def _fits_decimal(given: str, wanted: str) -> bool:
    target = decimal_type(wanted)
    if target is None:
        return False
    precision, scale = target
    if given in _INTEGER_DIGITS:
        return precision - scale >= _INTEGER_DIGITS[given]
    source = decimal_type(given)
    return source is not None and precision - scale >= source[0] - source[1] and scale >= source[1]


def _may_store(given: DataType, wanted: DataType, policy: str, *, by_name: bool) -> bool:
    if given == wanted or given in VOID_TYPES or same_names_and_types(given, wanted):
        return True
    if not isinstance(given, str) or not isinstance(wanted, str):
        return _each(given, wanted, lambda one, other: _may_store(one, other, policy, by_name=by_name), by_name=by_name)
    if policy == "STRICT":
        return may_upcast(given, wanted)
    if policy == "LEGACY" or wanted == "string" or (_is_number(given) and _is_number(wanted)):
        return True
    return given in _TIMES and wanted in _TIMES


def _each(given: DataType, wanted: DataType, test: Callable[[DataType, DataType], bool], *, by_name: bool = True) -> bool:
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return test(given.element_type, wanted.element_type)
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        return test(given.key_type, wanted.key_type) and test(given.value_type, wanted.value_type)
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        sources = [given.field(field.name) for field in wanted.fields] if by_name else [*given.fields]
        return all(one is None or test(one.type, other.type) for one, other in zip(sources, wanted.fields, strict=False))
    return False


def casts_implicitly(wanted: DataType, given: DataType) -> bool:
    """Whether Spark casts values of a type to another implicitly. A void column accepts any type, and stays void.

    Source: Spark's `TypeCoercion.implicitCast`.
    """
    if wanted in VOID_TYPES or given in VOID_TYPES or same_names_and_types(given, wanted):
        return True
    if not isinstance(wanted, str) or not isinstance(given, str):
        return not isinstance(wanted, StructType) and _each(given, wanted, lambda one, other: casts_implicitly(other, one))
    if wanted.startswith("string"):
        return True
    if given.startswith("string"):
        return _is_number(wanted) or wanted in _TIMES or wanted == "binary"
    return (_is_number(given) and _is_number(wanted)) or (given in _TIMES and wanted in _TIMES)


def _is_number(kind: str) -> bool:
    return kind in INTEGER_BITS or kind in FLOATS or decimal_type(kind) is not None


def _cast_of(policy: str) -> Cast:
    """Return how values are cast by a store assignment policy."""
    checked_or_truncated = legacy if policy == "LEGACY" else checked

    def cast(value: Column, given: DataType, wanted: DataType, name: str) -> Column:
        is_plain = given in VOID_TYPES or not isinstance(given, str) or not isinstance(wanted, str) or may_upcast(given, wanted)
        return (plain if is_plain else checked_or_truncated)(value, given, wanted, name)

    return cast


def _padded(value: str, kind: DataType, depth: int) -> str:
    if isinstance(kind, StructType):
        members = (f"{_padded(f'{value}.{quoted_name(f.name)}', f.type, depth)} as {quoted_name(f.name)}" for f in kind.fields)
        return f"if({value} is null, null, struct({', '.join(members)}))"
    if isinstance(kind, ArrayType):
        inner = _padded(f"x{depth}", kind.element_type, depth + 1)
        return value if inner == f"x{depth}" else f"transform({value}, x{depth} -> {inner})"
    if isinstance(kind, MapType):
        key, item = f"k{depth}", f"v{depth}"
        keys, items = _padded(key, kind.key_type, depth + 1), _padded(item, kind.value_type, depth + 1)
        if (keys, items) == (key, item):
            return value
        return f"transform_values(transform_keys({value}, ({key}, {item}) -> {keys}), ({key}, {item}) -> {items})"
    bounded = bounded_length(kind)
    if bounded is None or bounded[0] != "char":
        return value
    return f"if(length({value}) < {bounded[1]}, rpad({value}, {bounded[1]}, ' '), {value})"


def _missing(table: str, column: str) -> AnalysisException:
    """Return Spark's error for a column without a value."""
    return AnalysisException(
        f"[INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA] Cannot write incompatible data for the table {table}: "
        f"Cannot find data for the output column {quoted_name(column)}."
    )


def _incompatible(table: str, column: str, given: DataType, wanted: DataType) -> AnalysisException:
    """Return Spark's error for a type that cannot be stored."""
    shown = json.dumps(type_text(given).upper()), json.dumps(type_text(wanted).upper())
    return AnalysisException(
        f"[INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST] Cannot write incompatible data for the table {table}: "
        f"Cannot safely cast {quoted_name(column)} {shown[0]} to {shown[1]}."
    )
