# SPDX-License-Identifier: Apache-2.0
"""Cast values for columns of a table with documented functions, whose result no setting of the session changes.

Source of the rules: Spark's `Cast` in its modes ANSI and LEGACY, `TableOutputResolver` and `CheckOverflowInTableInsert`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.errors import ArithmeticException, DateTimeException, NumberFormatException, PySparkException, SparkRuntimeException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.partition_values import INTEGER_BITS, decimal_type
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.types.alignment import same_names_and_types
from bayou.spark.types.types import sql_type

if TYPE_CHECKING:
    from pyspark.sql import Column

    from bayou.protocol.types.schema import DataType

Cast: TypeAlias = "Callable[[Column, DataType, DataType, str], Column]"
"""Casts a value, given its type, the type to cast it to and the name of the column in the error."""

FLOATS: Final = ("float", "double")
_LONG_DIGITS: Final = 18
"""A decimal with so many digits before the point fits a long."""
_FRACTION: Final = "^([ ]*[-+]?[0-9]+)[.][0-9]*([ ]*)$"
_RAISED: Final = re.compile(
    r"\[USER_RAISED_EXCEPTION\] (\[(CAST_OVERFLOW_IN_TABLE_INSERT|CAST_INVALID_INPUT)\].*?)(?: SQLSTATE:|$)", re.MULTILINE
)


def stored(value: Column, given: DataType, wanted: DataType, name: str, cast: Cast, *, by_name: bool = True) -> Column:
    """Return a value with another type.

    Args:
        name: the column's name in errors.
        cast: casts values other than structs, arrays and maps.
        by_name: whether fields of structs match by name, so that a field without a value is NULL; otherwise by position.
    """
    if same_names_and_types(given, wanted):
        return value
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        sources = [given.field(each.name) for each in wanted.fields] if by_name else [*given.fields]
        members = [
            _member(value, source, field, name, cast, by_name=by_name).alias(field.name)
            for source, field in zip(sources, wanted.fields, strict=False)
        ]
        return F.when(value.isNotNull(), F.struct(*members))
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        kinds = given.element_type, wanted.element_type
        return F.transform(value, lambda each: stored(each, *kinds, name, cast, by_name=by_name))
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        keys, items = (given.key_type, wanted.key_type), (given.value_type, wanted.value_type)
        if not same_names_and_types(*keys):
            value = F.transform_keys(value, lambda key, _: stored(key, *keys, name, cast, by_name=by_name))
        if not same_names_and_types(*items):
            value = F.transform_values(value, lambda _, item: stored(item, *items, name, cast, by_name=by_name))
        return value
    return cast(value, given, wanted, name)


def _member(value: Column, source: StructField | None, field: StructField, name: str, cast: Cast, *, by_name: bool) -> Column:
    if source is None:
        return F.lit(None).cast(sql_type(field.type))
    inner = f"{name}.{quoted_name(field.name)}"
    return stored(value.getField(source.name), source.type, field.type, inner, cast, by_name=by_name)


def plain(value: Column, _given: DataType, wanted: DataType, _name: str) -> Column:
    """Cast a value that fits."""
    return value.cast(sql_type(wanted))


def checked(value: Column, given: DataType, wanted: DataType, name: str) -> Column:
    """Cast a value by ANSI rules. A value that the type cannot hold is an error that names the column."""
    kind = sql_type(wanted)
    made = value.try_cast(kind)
    if isinstance(given, str) and given.startswith("string"):
        shown = F.concat(
            F.lit("[CAST_INVALID_INPUT] The value '"),
            value.cast("string"),
            F.lit(f'\' of the type "STRING" cannot be cast to "{kind.upper()}" because it is malformed. Column: {name}.'),
        )
    else:
        shown = F.lit(
            f'[CAST_OVERFLOW_IN_TABLE_INSERT] Fail to assign a value of "{type_text(given).upper()}" type to the '
            f'"{type_text(wanted).upper()}" type column or variable {name} due to an overflow.'
        )
    return F.when(value.isNotNull() & made.isNull(), F.raise_error(shown)).otherwise(made)


def legacy(value: Column, given: DataType, wanted: DataType, _name: str) -> Column:
    """Cast a value without ANSI rules. If the type cannot hold it, it becomes NULL, or an integer is truncated."""
    kind = sql_type(wanted)
    if given == "date" and isinstance(wanted, str) and (wanted in (*INTEGER_BITS, *FLOATS, "boolean") or decimal_type(wanted)):
        return F.lit(None).cast(kind)
    if isinstance(given, str) and isinstance(wanted, str) and wanted in INTEGER_BITS:
        return _truncated(value, given, wanted)
    return value.try_cast(kind)


def _truncated(value: Column, given: str, wanted: str) -> Column:
    """Return a value as an integer, of which the lowest bits remain."""
    kind, bits = sql_type(wanted), INTEGER_BITS[wanted]
    if given.startswith("string"):
        return F.regexp_replace(value, _FRACTION, "$1$2").try_cast(kind)
    if given in FLOATS:
        return _lowest(_nearest(value, max(bits, 32)), bits).cast(kind)
    digits = decimal_type(given)
    if given in INTEGER_BITS or given == "timestamp" or (digits is not None and digits[0] - digits[1] <= _LONG_DIGITS):
        return _lowest(value.cast("bigint"), bits).cast(kind)
    return value.try_cast(kind)


def _nearest(value: Column, bits: int) -> Column:
    """Return the integer of some bits next to a float, without its fraction."""
    most = 2 ** (bits - 1)
    whole = (
        F.when(F.isnan(value), F.lit(0)).when(value >= float(most - 1), F.lit(most - 1)).when(value <= float(-most), F.lit(-most))
    )
    return whole.otherwise(value.try_cast("bigint"))


def _lowest(value: Column, bits: int) -> Column:
    if bits == INTEGER_BITS["long"]:
        return value
    sign = 2 ** (bits - 1)
    return value.bitwiseAND(F.lit(2 * sign - 1)).bitwiseXOR(F.lit(sign)) - F.lit(sign)


def error_of_cast(error: Exception) -> PySparkException | None:
    """Return the error of a failed cast as Spark's own cast raises it; None for other errors."""
    found = _RAISED.search(str(error))
    if found is None:
        return None
    name = found[2]
    text = found[1].removeprefix(f"[{name}] ")  # which PySpark adds
    if name == "CAST_OVERFLOW_IN_TABLE_INSERT":
        return ArithmeticException(text, name)
    is_time = re.search(r'cast to "(DATE|TIMESTAMP|TIMESTAMP_NTZ)"', text) is not None
    is_number = re.search(r'cast to "BOOLEAN|BINARY"', text) is None
    kind = DateTimeException if is_time else NumberFormatException if is_number else SparkRuntimeException
    return kind(text, name)
