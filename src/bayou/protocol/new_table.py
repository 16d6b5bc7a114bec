# SPDX-License-Identifier: Apache-2.0
"""What a new table may look like: column names, types, partition columns, and the protocol that they ask for.

Sources: delta-spark's `SchemaUtils.checkFieldNames`, `DeltaColumnMapping`, and the rules of `PartitionUtils`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import InvalidSchemaError
from bayou.protocol import properties
from bayou.protocol.actions import Protocol
from bayou.protocol.features import FEATURES
from bayou.protocol.schema import ArrayType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bayou.protocol.schema import DataType

_FORBIDDEN_CHARACTERS = " ,;{}()\n\t="
_PRIMITIVES = frozenset(
    [
        "boolean",
        "byte",
        "short",
        "integer",
        "long",
        "float",
        "double",
        "string",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "variant",
        "void",
        "null",
    ]
)
# The types that need a table feature, by what the feature is called.
_TYPE_FEATURES = {"timestamp_ntz": "timestampNtz", "variant": "variantType"}
# The properties that need one, where they are on.
_PROPERTY_FEATURES: tuple[tuple[Callable[[Mapping[str, str]], bool], str], ...] = (
    (properties.ENABLE_DELETION_VECTORS.read, "deletionVectors"),
    (properties.ENABLE_IN_COMMIT_TIMESTAMPS.read, "inCommitTimestamp"),
    (properties.ENABLE_TYPE_WIDENING.read, "typeWidening"),
    (lambda configuration: properties.CHECKPOINT_POLICY.read(configuration).lower() == "v2", "v2Checkpoint"),
)
_DEFAULT_PROTOCOL = Protocol(1, 2)
_IMPLIED_BY_DEFAULT = ("appendOnly", "invariants")
_NO_PARTITION_TYPES = ("variant", "void", "null")


def check_schema(schema: StructType, partition_columns: Sequence[str], table: str) -> None:
    """Refuses a schema that no table can have.

    Raises:
        InvalidSchemaError: a name, a type or a partition column is not possible; the text says which and why.
    """
    if not schema.fields:
        raise _invalid("a table needs at least one column", table, "DELTA_EMPTY_DATA", "428GU")
    _check_names(schema, (), table)
    for path, kind in _primitives(schema, ()):
        if kind not in _PRIMITIVES and not kind.startswith(("decimal", "char(", "varchar(")):
            message = f"Delta tables have no type {kind!r}, which column {'.'.join(path)!r} has"
            raise _invalid(message, table, "DELTA_UNSUPPORTED_DATA_TYPES", "0AKDC")
    _check_partitions(schema, partition_columns, table)


def _check_names(schema: StructType, parent: tuple[str, ...], table: str) -> None:
    seen: dict[str, str] = {}
    for field in schema.fields:
        name = ".".join((*parent, field.name))
        twin = seen.setdefault(field.name.lower(), name)
        if twin is not name:
            message = f"the columns {twin!r} and {name!r} have one name: column names are not case-sensitive"
            raise _invalid(message, table, "DELTA_DUPLICATE_COLUMNS_FOUND", "42711")
        bad = sorted({character for character in field.name if character in _FORBIDDEN_CHARACTERS})
        if bad:
            message = f"the column name {name!r} has characters that need column mapping: {bad}"
            raise _invalid(message, table, "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", "42K05")
        for inner in _structs(field.type):
            _check_names(inner, (*parent, field.name), table)


def _check_partitions(schema: StructType, partition_columns: Sequence[str], table: str) -> None:
    for name in partition_columns:
        field = schema.field(name)
        if field is None:
            message = f"the partition column {name!r} is not among the columns {list(schema.names)}"
            raise _invalid(message, table, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "42703")
        if not isinstance(field.type, str) or field.type in _NO_PARTITION_TYPES:
            message = f"the column {name!r} cannot be a partition column: its values are no single texts"
            raise _invalid(message, table, "DELTA_INVALID_PARTITION_COLUMN_TYPE", "42996")
    if len({name.lower() for name in partition_columns}) < len(partition_columns):
        message = f"a partition column is named twice in {list(partition_columns)}"
        raise _invalid(message, table, "DELTA_DUPLICATE_COLUMNS_FOUND", "42711")
    if len(partition_columns) == len(schema.fields):
        message = "not every column can be a partition column: the files would be empty"
        raise _invalid(message, table, "DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION", "428FT")


def protocol_for(schema: StructType, configuration: Mapping[str, str] | None = None) -> Protocol:
    """The lowest protocol that a new table can have; (1, 2) where neither a type nor a property needs a feature.

    Args:
        schema: the table's schema.
        configuration: its properties.
    """
    needed = {_TYPE_FEATURES[kind] for _, kind in _primitives(schema, ()) if kind in _TYPE_FEATURES}
    needed |= {feature for wanted, feature in _PROPERTY_FEATURES if wanted(configuration or {})}
    if not needed:
        return _DEFAULT_PROTOCOL
    names = tuple(sorted(needed))
    readers = tuple(name for name in names if FEATURES[name].reader_writer)
    return Protocol(3 if readers else 1, 7, readers or None, (*_IMPLIED_BY_DEFAULT, *names))


def differences(table: StructType, given: StructType) -> Iterator[str]:
    """What of some rows' columns does not fit a table's, one text each; nothing where they can be appended as they are.

    Columns match by name, whatever the case; a column that the rows lack is NULL in them. Nullability is no difference.
    """
    for field in given.fields:
        known = table.field(field.name)
        if known is None:
            yield f"column {field.name!r} is not in the table"
        elif _text(known.type) != _text(field.type):
            yield f"column {field.name!r} is {_text(known.type)} in the table and {_text(field.type)} in the rows"


def _text(kind: DataType) -> str:
    """A type as text, without nullability and metadata."""
    if isinstance(kind, StructType):
        return f"struct<{', '.join(f'{f.name.lower()}: {_text(f.type)}' for f in kind.fields)}>"
    if isinstance(kind, ArrayType):
        return f"array<{_text(kind.element_type)}>"
    if isinstance(kind, MapType):
        return f"map<{_text(kind.key_type)}, {_text(kind.value_type)}>"
    return kind


def _structs(kind: DataType) -> Iterator[StructType]:
    if isinstance(kind, StructType):
        yield kind
    elif isinstance(kind, ArrayType):
        yield from _structs(kind.element_type)
    elif isinstance(kind, MapType):
        yield from _structs(kind.key_type)
        yield from _structs(kind.value_type)


def _primitives(kind: DataType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield from _primitives(field.type, (*path, field.name))
    elif isinstance(kind, ArrayType):
        yield from _primitives(kind.element_type, (*path, "element"))
    elif isinstance(kind, MapType):
        yield from _primitives(kind.key_type, (*path, "key"))
        yield from _primitives(kind.value_type, (*path, "value"))
    else:
        yield path, kind


def _invalid(message: str, table: str, error_class: str, sql_state: str) -> InvalidSchemaError:
    text = f"The schema is no table's: {message}."
    return InvalidSchemaError(text, table=table, error_class=error_class, sql_state=sql_state)
