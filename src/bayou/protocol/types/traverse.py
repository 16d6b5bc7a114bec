# SPDX-License-Identifier: Apache-2.0
"""Traverse nested types: the parts of structs, arrays and maps.

In a path the parts of an array or a map are named `element`, `key` and `value`. A user-defined type has no parts.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias, overload

from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType, UserDefinedType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bayou.protocol.types.schema import DataType

_Path: TypeAlias = tuple[str, ...]


def parts(kind: DataType) -> tuple[StructField, ...]:
    """Return the fields of a struct, or the types in an array or a map as fields `element`, or `key` and `value`."""
    match kind:
        case str() | UserDefinedType():
            return ()
        case StructType(fields):
            return fields
        case ArrayType(element, contains_null):
            return (StructField("element", element, contains_null),)
        case MapType(key, value, contains_null):
            return StructField("key", key, nullable=False), StructField("value", value, contains_null)


@overload
def with_parts(kind: StructType, found: Iterable[StructField]) -> StructType: ...
@overload
def with_parts(kind: DataType, found: Iterable[StructField]) -> DataType: ...
def with_parts(kind: DataType, found: Iterable[StructField]) -> DataType:
    """Return the type with other parts, in the order of `parts`."""
    match kind:
        case str() | UserDefinedType():
            return kind
        case StructType():
            return StructType(tuple(found))
        case ArrayType():
            (element,) = found
            return ArrayType(element.type, element.nullable)
        case MapType():
            key, value = found
            return MapType(key.type, value.type, value.nullable)


def with_type(field: StructField, kind: DataType) -> StructField:
    """Return the field with another type."""
    # dataclasses.replace takes three times as long, and a table may have thousands of columns.
    return field if kind is field.type else StructField(field.name, kind, field.nullable, field.metadata)


@overload
def map_fields(kind: StructType, change: Callable[[StructField], StructField]) -> StructType: ...
@overload
def map_fields(kind: DataType, change: Callable[[StructField], StructField]) -> DataType: ...
def map_fields(kind: DataType, change: Callable[[StructField], StructField]) -> DataType:
    """Return the type with each part changed, at every depth, inner parts first."""
    return with_parts(kind, (change(with_type(each, map_fields(each.type, change))) for each in parts(kind)))


@overload
def map_leaves(kind: StructType, change: Callable[[DataType], DataType]) -> StructType: ...
@overload
def map_leaves(kind: DataType, change: Callable[[DataType], DataType]) -> DataType: ...
def map_leaves(kind: DataType, change: Callable[[DataType], DataType]) -> DataType:
    """Return the type with each type in it changed that is not a struct, an array or a map."""
    if isinstance(kind, StructType | ArrayType | MapType):
        return with_parts(kind, (with_type(each, map_leaves(each.type, change)) for each in parts(kind)))
    return change(kind)


def walk(kind: DataType, path: _Path = ()) -> Iterator[tuple[_Path, DataType]]:
    """Yield the type and each type inside it, with their logical paths, outer types first."""
    yield path, kind
    for each in parts(kind):
        yield from walk(each.type, (*path, each.name))


def innermost(kind: DataType) -> Iterator[str | UserDefinedType]:
    """Yield the types in a type that have no parts."""
    yield from (each for _, each in walk(kind) if isinstance(each, str | UserDefinedType))


def primitives(kind: DataType) -> Iterator[str]:
    """Yield the names of all primitive types in a type, including the stored types of user-defined types."""
    for each in innermost(kind):
        if isinstance(each, str):
            yield each
        else:
            yield from primitives(each.stored)


def has_struct(kind: DataType) -> bool:
    """Whether a type is or contains a struct."""
    return any(isinstance(each, StructType) for _, each in walk(kind))


def duplicates(schema: StructType) -> list[str]:
    """Return the dotted paths, in lower case, of names that a struct has more than once, case-insensitively, at every depth.

    Source: delta-spark's `SchemaMergingUtils.checkColumnNameDuplication`.
    """
    found = []
    for path, kind in walk(schema):
        if isinstance(kind, StructType):
            counts = Counter(name.lower() for name in kind.names)
            found += [".".join((*path, name)) for name, count in counts.items() if count > 1]
    return found


def all_fields(kind: DataType, logical: _Path = (), physical: _Path = ()) -> Iterator[tuple[_Path, _Path, StructField]]:
    """Yield the fields of structs at every depth, outer fields first: (logical path, physical path, field)."""
    for each in parts(kind):
        names, place = (*logical, each.name), (*physical, each.physical_name)
        if isinstance(kind, StructType):
            yield names, place, each
        yield from all_fields(each.type, names, place)


def leaves(schema: StructType) -> Iterator[tuple[_Path, _Path, StructField]]:
    """Yield the leaf columns depth first: (logical path, physical path, field). An array or a map is one leaf."""
    for found in schema.fields:
        if isinstance(found.type, StructType):
            for logical, physical, leaf in leaves(found.type):
                yield (found.name, *logical), (found.physical_name, *physical), leaf
        else:
            yield (found.name,), (found.physical_name,), found


def same_form(one: DataType, other: DataType) -> bool:
    """Whether both types are structs, arrays or maps."""
    return type(one) is type(other) and isinstance(one, StructType | ArrayType | MapType)


def twins(one: DataType, other: DataType) -> Iterator[tuple[StructField, StructField | None]]:
    """Return the parts of a type, each with the part of the same name in another type, case-insensitively.

    The second is None if the other type has no such part, or does not have the same form.
    """
    if isinstance(one, StructType) and isinstance(other, StructType):
        return ((each, other.field(each.name)) for each in one.fields)
    if same_form(one, other):
        return zip(parts(one), parts(other), strict=True)
    return ((each, None) for each in parts(one))


def map_twins(one: DataType, other: DataType, change: Callable[[DataType, DataType], DataType]) -> DataType:
    """Return a type with the types of its parts changed, given the types of their twins. Parts without a twin stay."""
    pairs = twins(one, other)
    return with_parts(one, (each if twin is None else with_type(each, change(each.type, twin.type)) for each, twin in pairs))


@overload
def as_nullable(kind: StructType) -> StructType: ...
@overload
def as_nullable(kind: DataType) -> DataType: ...
def as_nullable(kind: DataType) -> DataType:
    """Return the type with all parts nullable, at every depth."""
    return map_fields(kind, lambda each: StructField(each.name, each.type, metadata=each.metadata))


def to_physical(schema: StructType) -> StructType:
    """Return the schema with physical names, at every depth."""
    return map_fields(schema, lambda each: StructField(each.physical_name, each.type, each.nullable, each.metadata))
