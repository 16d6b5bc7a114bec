# SPDX-License-Identifier: Apache-2.0
"""char(n) and varchar(n), as they are declared and as the log stores them.

The log stores strings. The metadata of a column that is or contains a char or a varchar has the declared type. Writers check
lengths by it, with the conditions of `length_check`, and readers pad char values.

Source: Spark's `CharVarcharUtils`; the declared type is in the form of `DataType.catalogString`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from bayou.errors import DeltaError, failed
from bayou.protocol.types.partition_values import is_string_type
from bayou.protocol.types.schema import ArrayType, DataType, MapType, StructField, StructType, UserDefinedType
from bayou.protocol.types.sql_text import quoted_name, short_name
from bayou.protocol.types.traverse import leaves, map_fields, map_leaves, map_twins, walk

DECLARED_TYPE: Final = "__CHAR_VARCHAR_TYPE_STRING"
"""The key of a field's metadata for its declared type."""

_BOUNDED: Final = re.compile(r"(char|varchar)\(\s*(\d{1,10})\s*\)", re.IGNORECASE | re.ASCII)
_QUOTED_NAME: Final = re.compile(r"`((?:[^`]|``)*)`")
_PRIMITIVE: Final = re.compile(r"[^<>,():`]+(?:\([^()<>]*\))?[^<>,():`]*")
_SQL_NAMES: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "null": "void"}
_LOG_NAMES: Final = {sql: log for log, sql in _SQL_NAMES.items() if log != "null"}


def bounded_length(kind: DataType) -> tuple[str, int] | None:
    """Return "char" or "varchar", and the length; None for any other type."""
    found = _BOUNDED.fullmatch(kind) if isinstance(kind, str) else None
    return None if found is None else (found[1].lower(), int(found[2]))


def type_with_chars(field: StructField) -> str | None:
    """Return the declared type, as SQL, of a top-level column that is or contains a char; None for any other.

    It has the names and the order of the stored type. Raise InvalidSchemaError if the declared type cannot be parsed.
    """
    text = field.metadata.get(DECLARED_TYPE)
    if not isinstance(text, str) or "char" not in text.lower():
        return None
    declared = _overlay(field.type, parse_type_text(text))
    bounds = (bounded_length(kind) for _, kind in walk(declared))
    return type_text(declared) if any(each is not None and each[0] == "char" for each in bounds) else None


def char_width(field: StructField) -> int:
    """Return the length to which queries pad the values of a top-level column; 0 if it is not a char.

    Raise InvalidSchemaError if the declared type cannot be parsed.
    """
    bounded = bounded_length(type_with_chars(field) or "")
    return bounded[1] if bounded is not None else 0


def char_lengths(schema: StructType) -> dict[tuple[str, ...], int]:
    """Return the lengths of the columns of type char, by physical path; parts of arrays and maps are left out."""
    bounds = {path: bounded_length(leaf.type) for _, path, leaf in leaves(from_stored(schema))}
    return {path: bound[1] for path, bound in bounds.items() if bound is not None and bound[0] == "char"}


def to_stored(schema: StructType) -> StructType:
    """Convert a declared schema for the log, with strings, and the declared type in the metadata of the top-level column."""
    return StructType(tuple(_stored_field(field) for field in schema.fields))


def from_stored(schema: StructType) -> StructType:
    """Convert a schema of the log to its declared types, without the metadata for them.

    Ignore nested fields that only the declared type has. Raise InvalidSchemaError if a declared type cannot be parsed.
    """
    return map_fields(schema, _declared_field)


def type_text(kind: DataType) -> str:
    """Return a type as SQL, such as `struct<a:int,b:array<varchar(5)>>`, without nullability and metadata.

    Names with other characters than letters, digits and `_` are in backticks.
    """
    match kind:
        case StructType(fields):
            return f"struct<{','.join(f'{short_name(field.name)}:{type_text(field.type)}' for field in fields)}>"
        case ArrayType(element, _):
            return f"array<{type_text(element)}>"
        case MapType(key, value, _):
            return f"map<{type_text(key)},{type_text(value)}>"
        case UserDefinedType(stored=stored):
            return type_text(stored)
        case str():
            return _SQL_NAMES.get(kind, kind)


def parse_type_text(text: str) -> DataType:
    """Parse the result of `type_text`, or of Spark's `catalogString`, as a nullable type. Raise InvalidSchemaError otherwise."""
    try:
        kind, position = _parse(text, 0)
    except RecursionError:
        raise _unreadable(text) from None
    if position != len(text):
        raise _unreadable(text)
    return kind


def _stored_field(field: StructField) -> StructField:
    stored = map_leaves(field.type, lambda kind: kind if bounded_length(kind) is None else "string")
    if stored == field.type:
        return field
    return replace(field, type=stored, metadata={**field.metadata, DECLARED_TYPE: type_text(field.type)})


def _declared_field(field: StructField) -> StructField:
    """Convert a field, which may be nested: fields that were added to a struct have their own declared type."""
    text = field.metadata.get(DECLARED_TYPE)
    if text is not None and not isinstance(text, str):
        raise _unreadable(repr(text))
    if text is None:
        return field
    metadata = {key: value for key, value in field.metadata.items() if key != DECLARED_TYPE}
    return replace(field, type=_overlay(field.type, parse_type_text(text)), metadata=metadata)


def _overlay(stored: DataType, declared: DataType) -> DataType:
    """Return the stored type with the lengths of the declared type."""
    if isinstance(stored, str) and is_string_type(stored) and bounded_length(declared) is not None:
        return declared
    return map_twins(stored, declared, _overlay)


def _parse(text: str, start: int) -> tuple[DataType, int]:
    position = _skip_spaces(text, start)
    opening = re.compile(r"(struct|array|map)\s*<", re.IGNORECASE).match(text, position)
    if opening is None:
        return _parse_primitive(text, position)
    position, kind = opening.end(), opening[1].lower()
    if kind == "struct":
        return _parse_struct(text, position)
    first, position = _parse(text, position)
    if kind == "array":
        return ArrayType(first), _expect(text, position, ">")
    value, position = _parse(text, _expect(text, position, ","))
    return MapType(first, value), _expect(text, position, ">")


def _parse_struct(text: str, position: int) -> tuple[StructType, int]:
    fields: list[StructField] = []
    position = _skip_spaces(text, position)
    while text[position : position + 1] != ">":
        if fields:
            position = _expect(text, position, ",")
        name, position = _parse_name(text, _skip_spaces(text, position))
        kind, position = _parse(text, _expect(text, position, ":"))
        fields.append(StructField(name, kind))
        position = _skip_spaces(text, position)
    return StructType(tuple(fields)), position + 1


def _parse_name(text: str, position: int) -> tuple[str, int]:
    """Parse a name in backticks, or, as Spark writes names, the characters before the colon."""
    quoted = _QUOTED_NAME.match(text, position)
    if quoted is not None:
        return quoted[1].replace("``", "`"), quoted.end()
    end = text.find(":", position)
    if end < 0:
        raise _unreadable(text)
    return text[position:end].strip(), end


def _parse_primitive(text: str, position: int) -> tuple[str, int]:
    """Parse a name up to a comma or a bracket, except for commas in parentheses."""
    found = _PRIMITIVE.match(text, position)
    name = "" if found is None else found[0].strip()
    if found is None or not name:
        raise _unreadable(text)
    bounded = bounded_length(name)
    if bounded is not None:
        return f"{bounded[0]}({bounded[1]})", found.end()
    return _LOG_NAMES.get(name.lower(), name), found.end()


def _skip_spaces(text: str, position: int) -> int:
    while text[position : position + 1].isspace():
        position += 1
    return position


def _expect(text: str, position: int, character: str) -> int:
    position = _skip_spaces(text, position)
    if text[position : position + 1] != character:
        raise _unreadable(text)
    return position + 1


def _unreadable(text: str) -> DeltaError:
    return failed("DELTA_SCHEMA_NOT_SET/declared-type", type=text, key=DECLARED_TYPE)


def length_check(field: StructField) -> str | None:
    """Return the SQL condition that no string in a top-level column is too long; None if nothing in it has a limit.

    It is never NULL. Raise InvalidSchemaError if the declared type cannot be parsed. Source: delta-spark's
    `CharVarcharConstraint`, which also counts trailing spaces.
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
    # Each depth has another variable, since an inner one would hide the outer one.
    variable = f"x{depth}"
    inner = _condition(variable, kind, depth + 1)
    return None if inner is None else f"({value} IS NULL OR forall({elements}, {variable} -> {inner}))"


def _all(*conditions: str | None) -> str | None:
    found = [condition for condition in conditions if condition is not None]
    if len(found) > 1:
        return f"({' AND '.join(found)})"
    return found[0] if found else None
