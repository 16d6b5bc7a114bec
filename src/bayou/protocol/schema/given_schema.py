# SPDX-License-Identifier: Apache-2.0
"""Check user-supplied schemas: all parts have the right types, and Spark can read the metadata."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from bayou.errors import DeltaError, failed
from bayou.protocol import arguments
from bayou.protocol.arguments import shown_text
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, UserDefinedType, parse_schema, schema_to_json

_WANTED: Final = "a StructType of bayou.protocol.types.schema, or the schema's JSON as Spark spells it"


def given_schema(schema: object, *, table: str | None = None) -> StructType:
    """Return a schema that can be stored in the log.

    Args:
        schema: a `StructType`, or a schema as JSON in Spark's form.

    Raises:
        InvalidOptionError: it is something else.
        InvalidSchemaError: a part of it has the wrong type, or metadata that readers of the log could not read.
    """
    if isinstance(schema, str):
        found = parse_schema(arguments.text(schema, "schema", table=table))
    else:
        arguments.instance(schema, StructType, "schema", _WANTED, table=table)
        found = schema  # type: ignore[assignment]
    check_parts(found, table=table)
    return parse_schema(schema_to_json(found))


def check_parts(data_type: object, *, table: str | None = None, column: str = "") -> None:
    """Raise InvalidSchemaError if a part of a type, at any depth, has the wrong Python type."""
    match data_type:
        case StructType(fields):
            if not isinstance(fields, (tuple, list)):
                raise _wrong(f"The list of fields of {_named(column)}", fields, "a tuple of StructField", table)
            for each in fields:
                _check_field(each, column, table)
        case ArrayType(element, contains_null):
            _check_flag(contains_null, "contains_null", column, table)
            check_parts(element, table=table, column=f"{column}.element")
        case MapType(key, value, contains_null):
            _check_flag(contains_null, "value_contains_null", column, table)
            check_parts(key, table=table, column=f"{column}.key")
            check_parts(value, table=table, column=f"{column}.value")
        case UserDefinedType(description=description):
            arguments.text(description, f"the description of the type of column {column!r}", table=table)
        case str():
            arguments.text(data_type, f"the type of column {column!r}", table=table)
        case _:
            raise _wrong(f"The type of {_named(column)}", data_type, "a type's name or a nested type", table)


def _check_field(field: object, parent: str, table: str | None) -> None:
    if not isinstance(field, StructField):
        raise _wrong(f"A field of {_named(parent)}", field, "a StructField", table)
    name = arguments.text(field.name, f"the name of a field of {_named(parent)}", table=table)
    column = f"{parent}.{name}" if parent else name
    _check_flag(field.nullable, "nullable", column, table)
    if not isinstance(field.metadata, Mapping):
        raise _wrong(f"The metadata of column {column!r}", field.metadata, "a dictionary", table)
    why = _unreadable(field.metadata)
    if why:
        raise failed("DELTA_SCHEMA_NOT_SET/metadata", table=table, column=column, reason=why)
    check_parts(field.type, table=table, column=column)


def _check_flag(value: object, name: str, column: str, table: str | None) -> None:
    if not isinstance(value, bool):
        raise _wrong(f"The value of {name} of {_named(column)}", value, "True or False", table)


def _unreadable(value: Any) -> str:
    """Return why Spark cannot read a value of metadata; empty if it can.

    Source: Spark's `Metadata.fromJson`, for strings, booleans, longs, doubles, objects, and arrays of one of these.
    """
    if isinstance(value, Mapping):
        parts: list[Any] = list(value.values())
        odd = next((key for key in value if not _is_text(key)), None)
        why = "" if odd is None else f"the key {shown_text(odd)} is not a string of Unicode characters"
    elif isinstance(value, (list, tuple)):
        parts = list(value)
        kinds = {_kind(each) for each in value}
        mixed = len(kinds) > 1 or kinds & {"list", "NoneType"}
        why = f"the array {shown_text(value)} is not of strings, numbers, booleans or objects of one kind" if mixed else ""
    else:
        return _unreadable_scalar(value)
    return why or next(filter(None, map(_unreadable, parts)), "")


def _unreadable_scalar(value: object) -> str:
    if isinstance(value, str):
        return "" if _is_text(value) else f"{shown_text(value)} is not a string of Unicode characters"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value!r} has no JSON"
    if type(value) is int and not -arguments.INT64_LIMIT <= value < arguments.INT64_LIMIT:
        return f"the number {shown_text(value)} is beyond 64 bits"
    plain = value is None or isinstance(value, (bool, float)) or type(value) is int
    return "" if plain else f"{shown_text(value)}, of type {type(value).__name__}, has no JSON"


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return "object"
    return "list" if isinstance(value, (list, tuple)) else type(value).__name__


def _is_text(value: object) -> bool:
    return isinstance(value, str) and arguments.is_unicode(value)


def _named(column: str) -> str:
    return f"column {column!r}" if column else "the schema"


def _wrong(part: str, value: object, wanted: str, table: str | None) -> DeltaError:
    return failed("DELTA_SCHEMA_NOT_SET/part", table=table, part=part, given=shown_text(value), wanted=wanted)
