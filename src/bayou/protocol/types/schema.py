# SPDX-License-Identifier: Apache-2.0
"""The types of a schema, and their JSON in the log, which is Spark's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from bayou.errors import DeltaError, failed

PHYSICAL_NAME = "delta.columnMapping.physicalName"
FIELD_ID = "delta.columnMapping.id"
VOID_TYPES: Final = frozenset({"void", "null"})
"""The two names of the type of a column that only has NULL."""

_PLAIN_COLLATION: Final = " collate utf8_binary"
"""Spark 4.3 appends it to string, char and varchar if SQL names the default collation, as SHOW CREATE TABLE does."""


@dataclass(frozen=True, slots=True)
class StructField:
    """One column of a struct.

    Attributes:
        name: the logical name.
        type: the name of a primitive type, or a nested type.
        nullable: whether the column may be NULL.
        metadata: the field's metadata, as in the log.
    """

    name: str
    type: DataType
    nullable: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def physical_name(self) -> str:
        """The name in data files, statistics and partition values."""
        physical = self.metadata.get(PHYSICAL_NAME)
        return physical if isinstance(physical, str) else self.name

    @property
    def field_id(self) -> int | None:
        """The Parquet field id of column mapping, or None."""
        identifier = self.metadata.get(FIELD_ID)
        return identifier if isinstance(identifier, int) else None


class _NameIndex:
    """A cache in addition to the fields of a dataclass. It is neither compared nor pickled."""

    __slots__ = ("_by_name",)
    _by_name: dict[str, StructField]


@dataclass(frozen=True, slots=True)
class StructType(_NameIndex):
    """A struct. A table's schema is one too."""

    fields: tuple[StructField, ...] = ()

    def field(self, name: str) -> StructField | None:
        """Return the first field of a name, case-insensitively, or None."""
        try:
            found = self._by_name
        except AttributeError:  # an index, since a table may have thousands of columns and each is looked up
            found = {each.name.lower(): each for each in reversed(self.fields)}
            object.__setattr__(self, "_by_name", found)
        return found.get(name.lower())

    @property
    def names(self) -> tuple[str, ...]:
        """The logical names, in order."""
        return tuple(found.name for found in self.fields)


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array."""

    element_type: DataType
    contains_null: bool = True


@dataclass(frozen=True, slots=True)
class MapType:
    """A map."""

    key_type: DataType
    value_type: DataType
    value_contains_null: bool = True


@dataclass(frozen=True, slots=True)
class UserDefinedType:
    """A user-defined type, such as a vector of Spark's machine learning, whose values are stored as values of another type.

    It is one column even if it is stored as a struct. Its description is passed on unchanged.

    Attributes:
        name: the full name of its class in the JVM, or otherwise in Python.
        stored: the stored type, nullable at every depth, and without user-defined types.
        description: its JSON by Spark. It names classes and code that the writer of the table chose, so do not pass it to Spark.
    """

    name: str
    stored: DataType
    description: str = field(compare=False)


DataType: TypeAlias = str | StructType | ArrayType | MapType | UserDefinedType


def parse_schema(json_text: str) -> StructType:
    """Parse a `schemaString`. Raise InvalidSchemaError if it is not JSON, or not a struct of fields with names and types."""
    try:
        document = json.loads(json_text)
    except (ValueError, RecursionError, TypeError) as error:
        raise _invalid(f"it is not readable: {error}") from error
    try:
        parsed = _parse_type(document)
    except RecursionError as error:
        raise _invalid("its types are nested too deeply") from error
    if not isinstance(parsed, StructType):
        raise _invalid("it is not a struct")
    return parsed


def schema_to_json(schema: StructType) -> str:
    """Return a schema as a `schemaString`. Raise InvalidSchemaError if metadata have a value that JSON cannot represent."""
    try:
        return json.dumps(_type_to_json(schema), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise failed("DELTA_SCHEMA_NOT_SET/no-json", reason=str(error)) from error


def required_and_absent(table: StructType, given: StructType) -> Iterator[tuple[str, ...]]:
    """Yield the paths of NOT NULL columns and nested fields of a table that some rows lack, except in arrays and maps."""
    for found in table.fields:
        twin = given.field(found.name)
        if twin is None and not found.nullable:
            yield (found.name,)
        elif isinstance(found.type, StructType):
            inner = twin.type if twin is not None else StructType(())
            if isinstance(inner, StructType):
                yield from ((found.name, *path) for path in required_and_absent(found.type, inner))


def _parse_type(document: object) -> DataType:
    if isinstance(document, str):
        if not document:
            raise _invalid("a column has an empty type")
        return document[: -len(_PLAIN_COLLATION)] if document.lower().endswith(_PLAIN_COLLATION) else document
    if not isinstance(document, dict):
        raise _invalid(f"{document!r} is not a type")
    match document.get("type"):
        case "struct":
            fields = document.get("fields")
            if not isinstance(fields, list):
                raise _invalid("a struct has no list of fields")
            return StructType(tuple(_parse_field(each) for each in fields))
        case "array":
            return ArrayType(_parse_type(document.get("elementType")), _flag(document, "containsNull"))
        case "map":
            return MapType(
                _parse_type(document.get("keyType")),
                _parse_type(document.get("valueType")),
                _flag(document, "valueContainsNull"),
            )
        case "udt":
            return _user_defined(document)
        case other:
            raise _invalid(f"{other!r} is not a nested type")


def _user_defined(document: Mapping[str, Any]) -> UserDefinedType:
    name = document.get("class") or document.get("pyClass")
    if not isinstance(name, str):
        raise _invalid(f"a user-defined type names no class: {document!r}")
    description = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    return UserDefinedType(name, _as_stored(_parse_type(document.get("sqlType"))), description)


def _as_stored(data_type: DataType) -> DataType:
    """Return the type nullable at every depth, and with stored types instead of user-defined types."""
    match data_type:
        case StructType(fields):
            return StructType(tuple(replace(each, type=_as_stored(each.type), nullable=True) for each in fields))
        case ArrayType(element, _):
            return ArrayType(_as_stored(element))
        case MapType(key, value, _):
            return MapType(_as_stored(key), _as_stored(value))
        case UserDefinedType(stored=stored):
            return stored
        case _:
            return data_type


def _parse_field(document: object) -> StructField:
    if not isinstance(document, dict) or not isinstance(document.get("name"), str):
        raise _invalid(f"a field has no name: {document!r}")
    name = document["name"]
    metadata = document.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise _invalid(f"the metadata of column {name!r} is not an object")
    if "type" not in document:
        raise _invalid(f"column {name!r} has no type")
    return StructField(name, _parse_type(document["type"]), _flag(document, "nullable"), metadata)


def _flag(document: Mapping[str, Any], name: str) -> bool:
    value = document.get(name, True)
    return value if isinstance(value, bool) else str(value).lower() != "false"


def _type_to_json(data_type: DataType) -> Any:
    match data_type:
        case StructType(fields):
            return {"type": "struct", "fields": [_field_to_json(each) for each in fields]}
        case ArrayType(element, contains_null):
            return {"type": "array", "elementType": _type_to_json(element), "containsNull": contains_null}
        case MapType(key, value, contains_null):
            key_json, value_json = _type_to_json(key), _type_to_json(value)
            return {"type": "map", "keyType": key_json, "valueType": value_json, "valueContainsNull": contains_null}
        case UserDefinedType(description=description):
            return json.loads(description)
        case _:
            return data_type


def _field_to_json(found: StructField) -> dict[str, Any]:
    return {
        "name": found.name,
        "type": _type_to_json(found.type),
        "nullable": found.nullable,
        "metadata": dict(found.metadata),
    }


def _invalid(reason: str) -> DeltaError:
    return failed("DELTA_SCHEMA_NOT_SET", reason=reason)


def simple_type(kind: DataType) -> str:
    """Return a type in the format of Spark's `simpleString`, for example array<struct<a:long>>."""
    match kind:
        case StructType(fields):
            return f"struct<{','.join(f'{field.name}:{simple_type(field.type)}' for field in fields)}>"
        case ArrayType(element, _):
            return f"array<{simple_type(element)}>"
        case MapType(key, value, _):
            return f"map<{simple_type(key)},{simple_type(value)}>"
        case UserDefinedType(name):
            return name.rpartition(".")[2]
        case _:
            return kind
