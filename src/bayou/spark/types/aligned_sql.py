# SPDX-License-Identifier: Apache-2.0
"""SQL expressions that give a value the table's type: they rename, reorder, complete and widen by name, at every depth."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayou.protocol.types.schema import ArrayType, MapType, StructType
from bayou.protocol.types.sql_text import quoted_name
from bayou.protocol.types.traverse import parts, same_form
from bayou.spark.types.types import contains_user_defined, sql_type

if TYPE_CHECKING:
    from bayou.protocol.types.schema import DataType

# What ends a string, and what may escape in one.
_SPECIAL: Final = re.compile(r"(['\\])")


def aligned(source: str, given: DataType, wanted: DataType, depth: int = 0) -> str:
    """Return a SQL expression that gives a value the table's type; the source itself if it already has it.

    Fields of structs match by name, ignoring case. A missing field becomes NULL, a field that the table lacks is dropped, and
    nullability is ignored. A NULL of a user-defined type, which SQL cannot name, gets no type: see `selected`.

    Args:
        depth: how many collections contain the value, for the names of lambda variables.
    """
    if same_names_and_types(given, wanted):
        return source
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        members = []
        for field in wanted.fields:
            found = given.field(field.name)
            value = (
                cast_sql("null", field.type)
                if found is None
                else aligned(f"{source}.{quoted_name(found.name)}", found.type, field.type, depth)
            )
            members.append(f"{_text(field.name)}, {value}")
        return f"if({source} is null, null, named_struct({', '.join(members)}))"
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        each = f"x{depth}"
        return f"transform({source}, {each} -> {aligned(each, given.element_type, wanted.element_type, depth + 1)})"
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        return _aligned_map(source, given, wanted, depth)
    return cast_sql(source, wanted)


def cast_sql(source: str, wanted: DataType) -> str:
    """Return the SQL of a value cast to a type; the value itself if SQL cannot name the type."""
    return source if contains_user_defined(wanted) else f"cast({source} as {sql_type(wanted)})"


def _aligned_map(source: str, given: MapType, wanted: MapType, depth: int) -> str:
    key, value = f"k{depth}", f"v{depth}"
    found = source
    if not same_names_and_types(given.key_type, wanted.key_type):
        found = f"transform_keys({found}, ({key}, {value}) -> {aligned(key, given.key_type, wanted.key_type, depth + 1)})"
    if not same_names_and_types(given.value_type, wanted.value_type):
        found = f"transform_values({found}, ({key}, {value}) -> {aligned(value, given.value_type, wanted.value_type, depth + 1)})"
    return found


def same_names_and_types(one: DataType, other: DataType) -> bool:
    """Return whether two types are the same but for nullability and metadata; names of fields count, with their case and order."""
    if not same_form(one, other):
        return one == other
    left, right = parts(one), parts(other)
    return len(left) == len(right) and all(
        first.name == second.name and same_names_and_types(first.type, second.type)
        for first, second in zip(left, right, strict=True)
    )


def _text(name: str) -> str:
    """Return a name as a SQL string that no `spark.sql.parser.escapedStringLiterals` changes: special characters are `char` calls.

    Spark accepts as the name of a field only what it can fold before it optimizes anything.
    """
    parts = _SPECIAL.split(name)
    texts = [f"char({ord(part)})" if _SPECIAL.fullmatch(part) else f"'{part}'" for part in parts]
    return texts[0] if len(texts) == 1 else f"concat({', '.join(texts)})"
