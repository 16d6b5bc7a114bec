# SPDX-License-Identifier: Apache-2.0
"""The length limits of CHAR and VARCHAR columns as SQL conditions.

Source: delta-spark's `CharVarcharConstraint`, which counts every character; trailing spaces too.
"""

from __future__ import annotations

from bayou.protocol.types.char_varchar import bounded_length, from_stored
from bayou.protocol.types.schema import ArrayType, DataType, MapType, StructField, StructType
from bayou.protocol.types.sql_text import quoted_name


def length_check(field: StructField) -> str | None:
    """The condition that no string in a top-level column is too long; None where nothing in it has a limit.

    It is never NULL: a NULL string has no length to exceed.

    Raises:
        InvalidSchemaError: the text of the declared type cannot be understood.
    """
    (declared,) = from_stored(StructType((field,))).fields
    return _condition(quoted_name(field.name), declared.type, depth=0)


def _condition(value: str, kind: DataType, depth: int) -> str | None:
    if isinstance(kind, StructType):
        return _all(*(_condition(f"{value}.{quoted_name(each.name)}", each.type, depth) for each in kind.fields))
    if isinstance(kind, ArrayType):
        return _for_all(value, value, kind.element_type, depth)
    if isinstance(kind, MapType):
        keys = _for_all(value, f"map_keys({value})", kind.key_type, depth)
        return _all(keys, _for_all(value, f"map_values({value})", kind.value_type, depth))
    limit = bounded_length(kind)
    return None if limit is None else f"({value} IS NULL OR length({value}) <= {limit[1]})"


def _for_all(value: str, elements: str, kind: DataType, depth: int) -> str | None:
    # Each depth has a variable of its own: an inner one would hide the outer one.
    variable = f"x{depth}"
    inner = _condition(variable, kind, depth + 1)
    return None if inner is None else f"({value} IS NULL OR forall({elements}, {variable} -> {inner}))"


def _all(*conditions: str | None) -> str | None:
    found = [condition for condition in conditions if condition is not None]
    if len(found) > 1:
        return f"({' AND '.join(found)})"
    return found[0] if found else None
